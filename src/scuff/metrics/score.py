"""What every metric returns: a value with its interval, and what the two rest on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from scuff.words import needed_decimals


@dataclass(frozen=True)
class Score:
    """A value, the ends of its interval, the number of images behind it, and how the interval was found.

    `low` and `high` are NaN only where nothing can be resampled: one image, or an undefined value. `note` says what a
    reader must know besides, for example that a score is not normalised.

    >>> print(Score(76.68, 76.31, 77.06, 50000, "bootstrap over images 95 %, 1000 resamples, seed 0"))
    76.7 [76.3, 77.1] (n = 50000; bootstrap over images 95 %)
    >>> print(Score(0.0232, 0.0118, 0.0409, 1000, "Wilson 95 %"))
    0.023 [0.012, 0.041] (n = 1000; Wilson 95 %)
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
        digits = needed_decimals(self.low, self.high)
        value, low, high = (
            f"{x:.4g}" if digits is None else f"{x:.{digits}f}" for x in (self.value, self.low, self.high)
        )
        about = [f"n = {self.n}", self.interval.split(",")[0], *([self.note] if self.note else [])]
        return f"{value} [{low}, {high}] ({'; '.join(about)})"


@dataclass(frozen=True)
class Difference(Score):
    """One model's score minus another's.

    `p_value` is that of a two-sided z-test of no difference: of the difference in units of its standard error, which is
    the standard deviation of the resampled differences. `other_sign_share` is the share of resamples in which the
    difference does not have the sign that was observed.
    """

    other_sign_share: float = math.nan
    p_value: float = math.nan


def to_frame(scores: Mapping[str, Score], name: str = "corruption") -> pd.DataFrame:
    """Scores by name as a table, one line each.

    >>> to_frame({"fog": Score(0.5, 0.4, 0.6, 96, "Wilson 95 %")})[["corruption", "value", "n"]].values.tolist()
    [['fog', 0.5, 96]]
    """
    lines = [{name: key, **{f: getattr(s, f) for f in Score.__dataclass_fields__}} for key, s in scores.items()]
    return pd.DataFrame(lines, columns=[name, *Score.__dataclass_fields__])
