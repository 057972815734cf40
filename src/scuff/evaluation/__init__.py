"""Run models over a suite: the library behind `scuff evaluate`.

The unit of work is a cell: one model on all images, corrupted by one entry of a suite at one severity. A cell's rows
are one Parquet file, written atomically. A run that was stopped resumes when it is
repeated: existing cells are reused.
"""

from scuff.evaluation.choices import CLEAN, EvaluatedImages, open_images
from scuff.evaluation.plan import Cell, Plan, plan_evaluation
from scuff.evaluation.results import Evaluation, read_evaluation
from scuff.evaluation.run import EvaluationStopped, evaluate, run_plan
from scuff.evaluation.runner import Timing

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
