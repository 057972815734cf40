"""An evaluation as cells of an engine: a task is one cell of the suite, for a group of models.

The models of a group see the same corrupted batch, and are in memory side by side; so a group is neither one model,
for which everything would be corrupted anew, nor all of them, which might not fit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from scuff.engine import Advance
from scuff.evaluation.plan import Cell, Plan
from scuff.evaluation.runner import Runner

MODELS = 32  # of a group, at most
PARAMETERS = 1 << 30  # of a group together: 4 GiB


@dataclass(frozen=True)
class Task:
    """A cell, and the models that are to do it."""

    cell: Cell
    models: tuple[str, ...]

    def __str__(self) -> str:
        level = "" if self.cell.severity is None else f" {self.cell.severity}"
        return f"{self.cell.entry}{level}"


@dataclass(frozen=True)
class Spent:
    """What a task has taken: predictions, seconds of corrupting and predicting; and how pixels and batches were."""

    predictions: int
    corrupting: float
    predicting: float
    pixels: str
    batch_size: int


@dataclass
class Tests:
    """The work of a worker. It opens models and images with its first task, and keeps them for the next."""

    plan: Plan
    device: str
    batch_size: int | None = None
    compile: bool = False
    workers: int | None = None
    decoding: Callable[[int, int], None] | None = None  # told of the decoding of pictures; in this process only
    _runner: Runner | None = field(default=None, repr=False)

    def __call__(self, task: Task, advance: Advance) -> Spent:
        if self._runner is None:
            device = torch.device(self.device)
            self._runner = Runner(self.plan, device, self.batch_size, self.compile, self.workers, self.decoding)
        runner = self._runner
        before = runner.clock.seconds()
        predictions = _run_each(runner, task, advance)
        after = runner.clock.seconds()
        corrupting, predicting = (after.get(part, 0.0) - before.get(part, 0.0) for part in ("corrupting", "predicting"))
        return Spent(predictions, corrupting, predicting, runner.kept, runner.limit.size)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_runner": None, "decoding": None}


def _run_each(runner: Runner, task: Task, advance: Advance) -> int:
    """The models of a task together; where that fails, one by one, so that a bad one takes no other with it."""
    try:
        return runner.run(task.cell, task.models, advance)
    except Exception:
        if len(task.models) == 1:
            raise
    predictions, errors = 0, []
    for name in task.models:
        try:
            predictions += runner.run(task.cell, (name,), advance)
        except Exception as error:
            errors.append(error)
    if errors:
        raise errors[0]
    return predictions


def split_tasks(plan: Plan, missing: Mapping[Cell, Sequence[str]]) -> list[Task]:
    """The tasks of everything that is missing, group by group."""
    tasks = []
    for group in _groups(plan):
        for cell, models in missing.items():
            its = tuple(name for name in group if name in models)
            if its:
                tasks.append(Task(cell, its))
    return tasks


def _groups(plan: Plan) -> list[list[str]]:
    groups: list[list[str]] = []
    size = 0
    for name, classifier in plan.classifiers.items():
        parameters = classifier.parameter_count() or 0
        if not groups or len(groups[-1]) == MODELS or size + parameters > PARAMETERS:
            groups.append([])
            size = 0
        groups[-1].append(name)
        size += parameters
    return groups
