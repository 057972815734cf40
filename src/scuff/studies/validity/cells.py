"""The one form into which every reader brings its source: accuracies of models by kind, name and severity.

Kinds are "clean", whose name is empty, and those of `metrics.read_shifts`; corruptions are called `suite/entry`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from scuff.metrics.validity.shift_tables import read_shifts
from scuff.metrics.validity.shifts import CORRUPTED, SCORE, Shifts
from scuff.words import name_some

CLEAN = "clean"
NO_LEVEL = 0  # the severity of images that have none

Cell = tuple[str, str, int]  # kind, name, severity


def make_shifts(
    cells: Mapping[Cell, pd.Series], severities: Iterable[int] | None = None, *, scale: float = 1.0, **columns: Any
) -> Shifts:
    """Shifts from values that all have the same models as index, accuracies in units of 1 / `scale`.

    Corruptions count by their means over severities, the chosen ones or all. Models that lack a value are left out.
    Other `columns` are those of `metrics.read_shifts`, or None.

    >>> values = pd.Series([50, 40, 30, 20, 10], list("abcde"))
    >>> cells = {(CLEAN, "", 0): values, (CORRUPTED, "c/fog", 1): values, (CORRUPTED, "c/fog", 2): values - 10}
    >>> make_shifts(cells | {("natural:", "sketch", 0): values}, scale=100).corrupted.loc["a"].to_dict()
    {'c/fog': 0.45}
    """
    levels_of: dict[str, list[int]] = {}
    for kind, name, level in cells:
        if kind == CORRUPTED:
            levels_of.setdefault(name, []).append(level)
    values = {f"{kind}{name}": values for (kind, name, _), values in cells.items() if kind != CORRUPTED}
    for name, levels in _choose_levels(levels_of, check_severities(severities)).items():
        values[f"{CORRUPTED}{name}"] = np.mean([cells[CORRUPTED, name, level] for level in levels], axis=0)
    frame = pd.DataFrame({name: v if name.startswith(SCORE) else v / scale for name, v in values.items()})
    return read_shifts(frame.assign(model=frame.index, **{k: v for k, v in columns.items() if v is not None}))


def check_severities(severities: Iterable[int] | None, where: str = "severities") -> tuple[int, ...] | None:
    """Whole numbers from 1 on, sorted, each once; None stays None."""
    if severities is None:
        return None
    levels = list(severities) if isinstance(severities, Iterable) and not isinstance(severities, str) else [severities]
    if not levels or not all(type(level) is int and level >= 1 for level in levels):
        raise ValueError(f"{where} must be whole numbers from 1 on, as in [1, 3, 5], got {severities!r}")
    return tuple(sorted(set(levels)))


def _choose_levels(levels_of: dict[str, list[int]], severities: Sequence[int] | None) -> dict[str, list[int]]:
    """The severities of each corruption over which the mean is taken.

    Without a choice, all corruptions of a suite must have the same, or means would not be comparable.
    """
    graded = {name: sorted(levels) for name, levels in levels_of.items() if levels != [NO_LEVEL]}
    if severities is not None and not graded:
        raise ValueError(f"no corruption has severities to choose {name_some(severities)} from")
    first_of: dict[str, str] = {}
    for name, levels in graded.items():
        absent = [level for level in severities or () if level not in levels]
        if absent:
            raise ValueError(f"{name} has the severities {name_some(levels)}, not {name_some(absent)}")
        first = first_of.setdefault(name.rpartition("/")[0], name)
        if severities is None and levels != graded[first]:
            raise ValueError(
                f"corruptions must have the same severities to be comparable: {first} has {name_some(graded[first])}, "
                f"{name} has {name_some(levels)}; choose severities that all of them have"
            )
    return {name: list(severities or levels) if name in graded else levels for name, levels in levels_of.items()}
