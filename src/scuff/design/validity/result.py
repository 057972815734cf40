"""What groups of benchmarks say about natural shifts: mean correlations, with intervals of their differences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from scuff.metrics.estimate import without_noise
from scuff.metrics.score import Difference, Score
from scuff.metrics.validity.correlation import Correlation
from scuff.metrics.validity.resampled import percentiles
from scuff.metrics.validity.shifts import MEAN
from scuff.metrics.words import join_notes


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
        What a reader must know of each group, often nothing.
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
        p_value = float(self.p_values[self._place(group), self._column(natural)])
        return Correlation(score.value, score.low, score.high, score.n, score.interval, score.note, p_value)

    def difference(self, larger: str, smaller: str, natural: str = MEAN) -> Difference:
        """The mean correlation of one group minus that of another, in the same resamples of models."""
        if larger == smaller:
            raise ValueError(f"a difference needs two groups, got {larger!r} twice")
        return self._compare({larger: 1.0, smaller: -1.0}, natural)

    def contrast(self, weights: Mapping[str, float], natural: str = MEAN) -> Difference:
        """A sum of mean correlations of groups, each times its weight, in the same resamples of models."""
        return self._compare({group: weight for group, weight in weights.items() if weight}, natural)

    def to_frame(self) -> pd.DataFrame:
        """One line per group and natural benchmark."""
        lines = []
        for place, group in enumerate(self.groups):
            for column, natural in enumerate(self.natural):
                found = self.score(group, natural)
                lines.append(
                    {
                        "group": group,
                        "benchmarks": self.counts[place],
                        "natural": natural,
                        "value": found.value,
                        "low": found.low,
                        "high": found.high,
                        "spread": float(self.spreads[place, column]),
                        "p_value": found.p_value,
                        "note": found.note,
                    }
                )
        return pd.DataFrame(lines)

    def _place(self, group: str) -> int:
        if group not in self.groups:
            raise ValueError(f"there is no group {group!r}; there are {', '.join(self.groups)}")
        return self.groups.index(group)

    def _column(self, natural: str) -> int:
        if natural not in self.natural:
            raise ValueError(f"there is no natural benchmark {natural!r}; there are {', '.join(self.natural)}")
        return self.natural.index(natural)

    def _combine(self, weights: Mapping[str, float], natural: str) -> tuple[Score, np.ndarray]:
        """The sum of groups' mean correlations times their weights, and the same in every resample."""
        places, column = [self._place(group) for group in weights], self._column(natural)
        factors = np.array(list(weights.values()))
        value = float(factors @ self.values[places, column])
        draws = self.draws[:, places, column] @ factors
        notes = [self.notes[place] for place in places]
        if np.isnan(value):
            return Score(value, value, value, self.n, "no interval", join_notes(notes)), draws
        low, high, note = percentiles(draws, self.level)
        return Score(value, low, high, self.n, self.interval, join_notes([*notes, note])), draws

    def _compare(self, weights: Mapping[str, float], natural: str) -> Difference:
        score, draws = self._combine(weights, natural)
        signs = np.sign(without_noise(draws[np.isfinite(draws)]))
        sign = np.sign(without_noise(np.array(score.value)))
        share = float(np.mean((signs != sign) | (sign == 0))) if np.isfinite(score.low) else np.nan
        interval = f"paired {score.interval}" if np.isfinite(score.low) else score.interval
        return Difference(score.value, score.low, score.high, score.n, interval, score.note, other_sign_share=share)


__all__ = ["GroupValidity"]
