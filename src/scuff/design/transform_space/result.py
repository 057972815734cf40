"""A benchmark that is dissimilar to another one, and how it was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from scuff.design.transform_space.groups import LEVELS
from scuff.suites import Suite, combine_suites, load_suite


@dataclass(frozen=True, eq=False)
class Dissimilar:
    """A benchmark that is dissimilar to a reference, and how it was found.

    `shifts` has a line per candidate, the largest shift first: corruption, shift (the mean over repetitions), sd (over
    repetitions) and chosen. `picks` has a line per member and level: corruption, level (1 to 5), severity (that of the
    candidate), error and distance. `error` and `distance` are those of the benchmark in the `repetition` in which it
    comes closest to the `target`. `candidate_errors` and `candidate_distances` (repetitions, benchmarks) are those of
    all benchmarks that were drawn; `spreads` are the wanted relative differences of errors, and `matched_sets` the
    numbers of sets with the right error, of `sets` that were tried; if `all_sets` is false, these were drawn.
    """

    members: tuple[str, ...]
    shifts: pd.DataFrame = field(repr=False)
    picks: pd.DataFrame = field(repr=False)
    target: float
    error: float
    distance: float
    repetition: int
    candidate_errors: np.ndarray = field(repr=False)
    candidate_distances: np.ndarray = field(repr=False)
    spreads: tuple[float, ...] = ()
    matched_sets: tuple[int, ...] = ()
    sets: int = 0
    all_sets: bool = True

    @property
    def levels(self) -> dict[str, tuple[int, ...]]:
        """The five severities of every member, as its own suite numbers them."""
        return {name: tuple(map(int, each["severity"])) for name, each in self.picks.groupby("corruption", sort=False)}

    def to_suite(self, name: str, suites: Sequence[Suite] = ()) -> Suite:
        """The members at their five severities as a benchmark; their suites are looked up in `suites`, then among the
        bundled ones."""
        given = {suite.name: suite for suite in suites}
        levels: dict[str, dict[str, tuple[int, ...]]] = {}
        for address, severities in self.levels.items():
            suite, _, entry = address.rpartition("/")
            levels.setdefault(suite, {})[entry] = severities
        cut = [_take_levels(given.get(suite) or load_suite(suite), each) for suite, each in levels.items()]
        about = f"{len(self.members)} corruptions of {', '.join(levels)} that are far from those of another benchmark"
        return combine_suites(name, self.members, cut, about=about)


def _take_levels(suite: Suite, levels: Mapping[str, Sequence[int]]) -> Suite:
    """Some entries of a suite, each at some of its levels."""
    entries = {
        entry: {
            key: [value[level - 1] for level in chosen] if isinstance(value, list) else value
            for key, value in suite.entries[entry].items()
        }
        for entry, chosen in levels.items()
    }
    nothing: dict[str, Any] = {"validation": (), "aliases": {}, "categories": {}, "compare_to_first": ()}
    return replace(suite, entries=entries, severities=LEVELS, **nothing)
