"""What groups of benchmarks say about natural shifts: mean correlations, with intervals of their differences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from scuff.metrics.estimate import without_noise
from scuff.metrics.score import Difference, Score
from scuff.metrics.validity.correlation import Correlation
from scuff.metrics.validity.resampled import score_draws
from scuff.metrics.validity.shifts import MEAN


@dataclass(frozen=True, eq=False)
class GroupValidity:
    """Mean correlations of G groups of benchmarks with N natural benchmarks, the last of which is "mean".

    Parameters
    ----------
    groups, natural
        Names. "mean" is the mean of the correlations with the other natural benchmarks, NaN if one of them is.
    counts
        Benchmarks of each group.
    values, spreads, p_values
        (G, N): the mean over benchmarks of the Pearson correlation, its standard deviation over them, and the mean of
        its p-values; with the same weight for every cell, where a group has cells.
    draws
        (R, G, N): the means in resamples of models. NaN where the models of a resample do not differ.
    n, level, interval
        The number of models, the level of intervals, and how these are found.
    notes
        What a reader must know about each group, often nothing.
    """

    groups: tuple[str, ...]
    natural: tuple[str, ...]
    counts: tuple[int, ...]
    values: np.ndarray = field(repr=False)
    spreads: np.ndarray = field(repr=False)
    p_values: np.ndarray = field(repr=False)
    draws: np.ndarray = field(repr=False)
    n: int
    level: float
    interval: str
    notes: tuple[str, ...] = field(repr=False)

    def score(self, group: str, natural: str = MEAN) -> Correlation:
        """The mean correlation of one group with a natural benchmark, or its mean over all natural benchmarks."""
        score, _ = self._combine({group: 1.0}, natural)
        place = self.groups.index(group), self.natural.index(natural)
        return Correlation(**vars(score), p_value=float(self.p_values[place]))

    def difference(self, larger: str, smaller: str, natural: str = MEAN) -> Difference:
        """The mean correlation of one group minus that of another, in the same resamples of models."""
        if larger == smaller:
            raise ValueError(f"a difference needs two groups, got {larger!r} twice")
        return self.contrast({larger: 1.0, smaller: -1.0}, natural)

    def contrast(self, weights: Mapping[str, float], natural: str = MEAN) -> Difference:
        """A weighted sum of mean correlations of groups, in the same resamples of models."""
        score, draws = self._combine({group: weight for group, weight in weights.items() if weight}, natural)
        if not np.isfinite(score.low):
            return Difference(**vars(score), other_sign_share=np.nan)
        signs = np.sign(without_noise(draws[np.isfinite(draws)]))
        sign = np.sign(without_noise(np.array(score.value)))
        share = float(np.mean((signs != sign) | (sign == 0)))
        return Difference(**vars(replace(score, interval=f"paired {score.interval}")), other_sign_share=share)

    def to_frame(self) -> pd.DataFrame:
        """One row per group and natural benchmark."""
        rows = []
        for place, group in enumerate(self.groups):
            for column, natural in enumerate(self.natural):
                score = self.score(group, natural)
                row = {"group": group, "benchmarks": self.counts[place], "natural": natural}
                row |= {"value": score.value, "low": score.low, "high": score.high}
                row |= {"spread": float(self.spreads[place, column]), "p_value": score.p_value, "note": score.note}
                rows.append(row)
        return pd.DataFrame(rows)

    def _combine(self, weights: Mapping[str, float], natural: str) -> tuple[Score, np.ndarray]:
        """The weighted sum of groups' mean correlations, and the same in every resample."""
        for name in weights:
            _check_known(name, self.groups, "group")
        _check_known(natural, self.natural, "natural benchmark")
        places, column = [self.groups.index(group) for group in weights], self.natural.index(natural)
        factors = np.array(list(weights.values()))
        value = float(factors @ self.values[places, column])
        draws = self.draws[:, places, column] @ factors
        notes = [self.notes[place] for place in places]
        return score_draws(value, draws, self.n, self.level, self.interval, notes), draws


def _check_known(name: str, names: tuple[str, ...], what: str) -> None:
    if name not in names:
        raise ValueError(f"there is no {what} {name!r}; there are {', '.join(names)}")
