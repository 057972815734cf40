"""What a study of validity will cost: seconds of one processor, from small trials on its own table."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import torch

from scuff import design
from scuff.design.validity.held_out import ask_predictive
from scuff.design.validity.moments import find_moments
from scuff.design.validity.search import find_best
from scuff.design.validity.trends import find_comparisons
from scuff.engine.cost import Estimate, StudyCost, time_once

if TYPE_CHECKING:
    from scuff.studies.validity.work import ValidityWork

TRIED = 2  # benchmarks, and sets of models, that are tried
HOW = "measured now on a part of the table"
ROW_BYTES = 120  # of a table of results


def estimate_validity(work: ValidityWork) -> StudyCost:
    """Correlations of all benchmarks, groups of benchmarks, and searches. Nothing is written."""
    cpu = torch.device("cpu")
    estimate = Estimate(cpu, threads=1)
    row_bytes = (work.shifts.natural.shape[1] + 1) * ROW_BYTES  # of a benchmark and all natural ones

    def add(kind: str, cells: int, act: Callable[[], object], rows: int, share: float = 1.0) -> None:
        estimate.add(kind, lambda: (time_once(act, cpu) / share, HOW), rows * row_bytes, cells=cells)

    some = {name: [name] for name in list(work.shifts.synthetic_residuals())[:TRIED]}
    benchmarks = sum(map(len, work.benchmarks().values())) + 2 * len(work.shifts.corrupted.columns)
    add("correlate", benchmarks, lambda: work.correlate("trial", some), 5, len(some))
    if work.settings["groups"]:
        categories, count = work.settings["categories"], work.settings["count"]
        members = [name for group in categories.values() for name in group]
        if len(members) > 1:
            pairs = np.random.default_rng(0).choice(members, (count, TRIED))
            group = {"trial": [tuple(dict.fromkeys(pair)) for pair in pairs]}
            sides = {side for each in find_comparisons(categories, work.settings["pairs"]) for side in each.sides}
            # There are about as many groups as sides of comparisons.
            score = partial(design.group_validity, work.shifts, group, resampling=work.resampling)
            add("group", 2 * len(sides), score, 1)
    for size in work.settings["search"]:
        question = ask_predictive(work.shifts, size, seed=work.settings["seed"])
        moments = find_moments(question.x, question.y.mean(axis=1, keepdims=True), ~question.parts[:TRIED])
        search = partial(find_best, moments, size, lambda done, total: None)
        add("search", 1, search, 1, TRIED / (1 + len(question.parts)))
    return estimate.total()
