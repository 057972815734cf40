"""What a study of validity will cost: seconds of one processor, from small trials on its own table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from scuff import design
from scuff.design.validity.held_out import ask_predictive
from scuff.design.validity.moments import find_moments
from scuff.design.validity.search import find_best
from scuff.design.validity.trends import find_comparisons
from scuff.engine.cost import CellCost, StudyCost, time_once
from scuff.environment import environment

if TYPE_CHECKING:
    from scuff.studies.validity.work import ValidityWork

TRIED = 2  # benchmarks, and sets of models, that are tried
HOW = "measured now on a part of the table"
ROW_BYTES = 120  # of a table of results


def estimate_validity(work: ValidityWork) -> StudyCost:
    """Correlations of all benchmarks, groups of benchmarks, and searches. Nothing is written."""
    cpu, parts = torch.device("cpu"), []
    naturals = work.shifts.natural.shape[1] + 1
    names = list(work.shifts.synthetic_residuals())

    def add(kind: str, cells: int, seconds: float, rows: int) -> None:
        parts.append(CellCost(kind, cells, seconds, rows * naturals * ROW_BYTES, "cpu", HOW))

    benchmarks = sum(map(len, work.benchmarks().values()))
    some = {name: [name] for name in names[:TRIED]}
    seconds = time_once(lambda: work.correlate("trial", some), cpu) / len(some)
    add("correlate", benchmarks + 2 * len(work.shifts.corrupted.columns), seconds, 5)
    if work.settings["groups"]:
        categories, count = work.settings["categories"], work.settings["count"]
        members = [name for group in categories.values() for name in group]
        pairs = np.random.default_rng(0).choice(members, (count, TRIED)) if len(members) > 1 else []  # type: ignore[var-annotated]
        group = {"trial": [tuple(dict.fromkeys(pair)) for pair in pairs]}
        sides = {side for each in find_comparisons(categories, work.settings["pairs"]) for side in each.sides}
        if group["trial"]:
            seconds = time_once(lambda: design.group_validity(work.shifts, group, resampling=work.resampling), cpu)
            add("group", 2 * len(sides), seconds, 1)  # about as many groups as sides of comparisons
    for size in work.settings["search"]:
        question = ask_predictive(work.shifts, size, seed=work.settings["seed"])
        moments = find_moments(question.x, question.y.mean(axis=1, keepdims=True), ~question.parts[:TRIED])
        seconds = time_once(lambda m=moments, s=size: find_best(m, s, lambda done, total: None), cpu)  # type: ignore[misc]
        add("search", 1, seconds * (1 + len(question.parts)) / TRIED, 1)
    return StudyCost(tuple(parts), environment(cpu)["device"])
