"""Run models over a suite: the library behind `scuff evaluate`.

The unit of work is a cell: one model on all images, corrupted by one entry of a suite at one severity. A cell's rows
are one Parquet file, written atomically. A run that was stopped resumes when it is repeated: existing cells are reused.

Names are imported on first use: the command line reads the options, and its help must not wait for torch.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scuff.evaluation.choices import CLEAN, EvaluatedImages, open_images
    from scuff.evaluation.plan import Cell, Plan, plan_evaluation
    from scuff.evaluation.results import Evaluation, read_evaluation
    from scuff.evaluation.run import EvaluationStopped, evaluate, run_plan
    from scuff.evaluation.runner import Timing

_HOMES = {
    "CLEAN": "choices",
    "Cell": "plan",
    "EvaluatedImages": "choices",
    "Evaluation": "results",
    "EvaluationStopped": "run",
    "Plan": "plan",
    "Timing": "runner",
    "evaluate": "run",
    "open_images": "choices",
    "plan_evaluation": "plan",
    "read_evaluation": "results",
    "run_plan": "run",
}

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


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'scuff.evaluation' has no attribute {name!r}")
    return getattr(importlib.import_module(f"scuff.evaluation.{_HOMES[name]}"), name)
