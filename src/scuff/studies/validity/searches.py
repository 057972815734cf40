"""The most predictive benchmarks in a study of validity, as lines of a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scuff import design
from scuff.metrics import Shifts
from scuff.metrics.validity.shifts import BETWEEN

SCORES = ("chosen", "held_out", "random", "whole", "gain", "gain_over_whole", "drop")

Progress = Callable[[str, int, int], None]


def search_line(shifts: Shifts, size: int, seed: int, progress: Progress) -> dict[str, Any]:
    """The most predictive benchmark of a size among all corruptions. Other scores have other units, and do not mix."""
    found = design.find_predictive(shifts, size, seed=seed, progress=progress)
    line = {"size": found.size, "members": BETWEEN.join(found.members), "fitted": found.fitted}
    for name in SCORES:
        score = getattr(found, name)
        line |= {name: score.value, f"{name}_low": score.low, f"{name}_high": score.high}
    return line | {"stability": found.stability, "exact": found.exact, "warning": found.warning}
