"""Run models over a suite: the library behind `scuff evaluate`.

The unit of work is a cell: one model on all images, corrupted by one entry of a suite at one severity. A cell's rows
are one Parquet file, written by rename. A run that was stopped, for whatever reason, goes on when it is repeated: cells
whose files exist are not computed again.
"""

from scuff.evaluation.choices import CLEAN, EvaluatedImages, open_images
from scuff.evaluation.plan import Cell, Plan, plan_evaluation
from scuff.evaluation.results import Evaluation, read_evaluation
from scuff.evaluation.run import EvaluationStopped, Timing, evaluate, run_plan

__all__ = [
    "CLEAN",
    "Cell",
    "EvaluatedImages",
    "Evaluation",
    "EvaluationStopped",
    "Plan",
    "Timing",
    "evaluate",
    "open_images",
    "plan_evaluation",
    "read_evaluation",
    "run_plan",
]
