"""What every metric returns: a value with its interval, and what the two rest on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd


@dataclass(frozen=True)
class Score:
    """A value, the ends of its interval, the number of images behind it, and how the interval was found.

    `low` and `high` are NaN only where nothing can be resampled: one image, or an undefined value. `note` says what a
    reader must know besides, for example that a score is not normalised.

    >>> print(Score(76.68, 76.31, 77.06, 50000, "bootstrap over images 95 %, 1000 resamples, seed 0"))
    76.7 [76.3, 77.1] (n = 50000; bootstrap over images 95 %)
    >>> print(Score(0.0, 0.0, 0.0370, 100, "Wilson 95 %"))
    0.00 [0.00, 0.04] (n = 100; Wilson 95 %)
    """

    value: float
    low: float
    high: float
    n: int
    interval: str
    note: str = ""

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        value, low, high = (_text(x, self._decimals()) for x in (self.value, self.low, self.high))
        about = [f"n = {self.n}", self.interval.split(",")[0], *([self.note] if self.note else [])]
        return f"{value} [{low}, {high}] ({'; '.join(about)})"

    def _decimals(self) -> int | None:
        """As many as half the interval's width has before its first digit that counts; None if it has no width."""
        half = (self.high - self.low) / 2
        return max(0, math.ceil(-math.log10(half))) if half > 0 else None


@dataclass(frozen=True)
class Difference(Score):
    """One model's score minus another's.

    `other_sign_share` is the share of resamples in which the difference does not have the sign that was observed.
    `two_sided_share`, twice that and at most 1, may be read like a two-sided p-value; 0 means: below 1 / resamples.
    """

    other_sign_share: float = math.nan

    @property
    def two_sided_share(self) -> float:
        return min(1.0, 2 * self.other_sign_share)


def to_frame(scores: Mapping[str, Score], name: str = "corruption") -> pd.DataFrame:
    """Scores by name as a table, one line each.

    >>> to_frame({"fog": Score(0.5, 0.4, 0.6, 96, "Wilson 95 %")})[["corruption", "value", "n"]].values.tolist()
    [['fog', 0.5, 96]]
    """
    lines = [{name: key, **{f: getattr(s, f) for f in Score.__dataclass_fields__}} for key, s in scores.items()]
    return pd.DataFrame(lines, columns=[name, *Score.__dataclass_fields__])


def _text(number: float, decimals: int | None) -> str:
    return f"{number:.4g}" if decimals is None else f"{number:.{decimals}f}"
