"""An evaluation as cells of an engine: a task is one cell of the suite, for a group of models.

The models of a group see the same corrupted batch, and are in memory side by side; so a group is neither one model,
for which everything would be corrupted anew, nor all of them, which might not fit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scuff.evaluation.plan import Cell, Plan

MODELS = 32  # of a group, at most
PARAMETERS = 1 << 30  # of a group together: 4 GiB


@dataclass(frozen=True)
class Task:
    """A cell, and the models that are to do it."""

    cell: Cell
    models: tuple[str, ...]

    def __str__(self) -> str:
        return str(self.cell)


def split_tasks(plan: Plan, missing: Mapping[Cell, Sequence[str]]) -> list[Task]:
    """The tasks of everything that is missing, group by group."""
    tasks = []
    for group in _groups(plan):
        for cell, models in missing.items():
            lacking = tuple(name for name in group if name in models)
            if lacking:
                tasks.append(Task(cell, lacking))
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
