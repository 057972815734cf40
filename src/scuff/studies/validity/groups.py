"""Groups of benchmarks in a study of validity: by the number of categories and corruptions, and by their balance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from scuff import design
from scuff.design.validity.trends import BASE_K
from scuff.metrics import Resampling, Shifts
from scuff.studies.validity.benchmarks import Members

FEWEST_GROUPS = 2  # one alone shows no trend


def score_groups(
    shifts: Shifts,
    categories: Members,
    pairs: Sequence[tuple[int, int]] | None,
    count: int,
    resampling: Resampling,
) -> tuple[pd.DataFrame | None, pd.DataFrame | None, list[str]]:
    """Mean correlations of groups of benchmarks, trends in them, and why some may be missing.

    There are about `count` benchmarks for each of the pairs (n, k), by default for all that are possible; and those,
    often more, that substitutions make of two corruptions from each of as many categories as possible, by their spread.
    """
    even = design.nk_groups(categories, pairs, count, resampling.seed)
    n, uneven = _spread_groups(categories, count, resampling.seed)
    notes = [] if uneven else ["no groups by spread: too few benchmarks of different spread"]
    if not even and not uneven:
        return None, None, [*notes, "no groups by n and k: there are too few different benchmarks"]
    found = design.group_validity(shifts, even | uneven, resampling=resampling)
    about = {label: _about_pair(label) for label in even}
    for label in uneven:
        spread = float(label.removeprefix("std "))
        about[label] = {"kind": "std", "n": n, "k": BASE_K, "std": spread, "size": n * BASE_K}
    table = found.to_frame()
    front = pd.DataFrame([about[label] for label in table["group"]])
    table = pd.concat([table[["group"]], front, table.drop(columns="group")], axis=1)
    compared = design.trends(shifts, categories, pairs=pairs, count=count, resampling=resampling)
    return table, compared if len(compared) else None, notes


def _about_pair(label: str) -> dict[str, Any]:
    n, k = map(int, label.split(","))
    return {"kind": "n,k", "n": n, "k": k, "std": 0.0, "size": n * k}


def _spread_groups(categories: Members, count: int, seed: int) -> tuple[int, dict[str, design.Group]]:
    """The number of categories, and groups of benchmarks of these with the same spread; none if no n gives several."""
    most = sum(len(members) >= BASE_K for members in categories.values())
    for n in range(most, 1, -1):
        found = design.spread_groups(categories, n, BASE_K, count, seed)
        if len(found) >= FEWEST_GROUPS:
            return n, found
    return 0, {}
