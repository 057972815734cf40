"""Correlations over resampled models, as sums with weights.

A resample draws as many models as there are, with replacement: it is a count for every model. So the correlations of
all resamples are weighted sums, computed for many variables at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from scuff.metrics.intervals import DEFAULT, Resampling
from scuff.metrics.score import Score
from scuff.metrics.validity.shifts import LEAST_MODELS
from scuff.words import join_notes

Kind = Literal["pearson", "spearman", "partial"]
VALUES = 1 << 20  # of all variables in a block of resamples: 8 MiB. This bounds the memory; results do not depend on it
SPENT = 1e-16  # of the sum of squares of a power: as little of it is rounding, in what lower powers leave
ROUNDING = 1e-24  # of a sum of squares: deviations of 1e-12 of the values are rounding, and no variation


def resample_models(n: int, resampling: Resampling = DEFAULT, families: ArrayLike | None = None) -> np.ndarray:
    """How often each of n models occurs in every resample, which draws n of them with replacement: (count, n).

    With families, as many of them are drawn as there are, each with all its models. The draws depend only on the seed
    and the number of models or families: all statistics of the same models see the same resamples.

    >>> resample_models(4, Resampling(count=2)).sum(axis=1).tolist()
    [4, 4]
    >>> resample_models(6, Resampling(count=1), families=["a", "a", "b", "c", "d", "e"]).tolist()
    [[0, 0, 2, 1, 1, 1]]
    """
    if families is None:
        return _draw(n, resampling)
    family, names = pd.factorize(np.asarray(families, object))
    if len(family) != n or (family < 0).any():
        raise ValueError(f"families must name one for each of {n} models, got {np.sum(family >= 0)}")
    if len(names) < LEAST_MODELS:
        raise ValueError(
            f"the bootstrap draws whole families and needs at least {LEAST_MODELS} of them, got {len(names)}; without "
            "families it draws single models"
        )
    return _draw(len(names), resampling)[:, family]


def resampled(
    kind: Kind, x: np.ndarray, y: np.ndarray, times: np.ndarray, given: np.ndarray | None = None, degree: int = 1
) -> np.ndarray:
    """Correlations of all x (a, n) with all y (b, n), of which each model occurs so many `times` (count, n).

    They are (count, a, b), and NaN where a variable does not vary. `given` (n,) and the degree of the polynomial in it
    belong to the partial correlation.

    >>> x, y = np.array([[1.0, 2, 3, 4]]), np.array([[1.0, 3, 2, 9], [4.0, 3, 2, 1]])
    >>> resampled("spearman", x, y, np.array([[1, 1, 1, 1], [2, 0, 1, 1]])).round(3).tolist()
    [[[0.8, -1.0]], [[1.0, -1.0]]]
    """

    def prepare(variables: np.ndarray, times: np.ndarray) -> np.ndarray:
        if kind == "spearman":
            variables = np.stack([ranks(values, times) for values in variables], axis=1)
        centred = centre(variables, times)
        return centred if given is None or kind != "partial" else free_of(centred, variables, given, times, degree)

    return in_blocks(lambda block: weigh(prepare(x, block), prepare(y, block), block), times, len(x) + len(y))


def in_blocks(statistic: Callable[[np.ndarray], np.ndarray], times: np.ndarray, variables: int) -> np.ndarray:
    """A statistic of `times` (count, n) that holds so many variables in memory, block by block: (count, ...)."""
    times, step = np.asarray(times, float), max(1, VALUES // (variables * times.shape[1]))
    return np.concatenate([statistic(times[start : start + step]) for start in range(0, len(times), step)])


def centre(variables: np.ndarray, times: np.ndarray, origin: np.ndarray | None = None) -> np.ndarray:
    """Variables (a, n) or (count, a, n) minus their means in every resample: (count, a, n).

    All NaN where nothing is left but the rounding of the values that they were computed from, by default themselves.
    """
    means = variables @ times[..., None] / times.sum(axis=1)[:, None, None]
    return _without_rounding(variables - means, variables if origin is None else origin, times)


def weigh(x: np.ndarray, y: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Pearson's correlations of centred variables (count, a, n) and (count, b, n): (count, a, b)."""
    weighted = x * times[:, None]
    squares = _squares(x, times)[:, :, None] * _squares(y, times)[:, None]
    return np.clip(weighted @ y.swapaxes(1, 2) / np.sqrt(squares), -1, 1)


def ranks(values: np.ndarray, times: np.ndarray) -> np.ndarray:
    """The ranks of values (n,) that occur so many `times` (count, n); equal values share the mean of theirs.

    >>> ranks(np.array([5.0, 3.0, 5.0]), np.array([[1, 1, 1], [0, 2, 1]])).tolist()
    [[2.5, 1.0, 2.5], [3.0, 1.5, 3.0]]
    """
    place = np.unique(values, return_inverse=True)[1]
    order = np.argsort(place, kind="stable")
    equal = np.add.reduceat(times[:, order], np.flatnonzero(np.diff(place[order], prepend=-1)), axis=1)
    return (np.cumsum(equal, axis=1) - (equal - 1) / 2)[:, place]


def percentiles(
    values: np.ndarray, level: float, units: str = "models", need: str = "a spread"
) -> tuple[float, float, str]:
    """The ends of the middle part of all resamples; those that lack what they need are left out, and said to be."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return math.nan, math.nan, f"no resample of {units} has {need}"
    tail = (1 - level) / 2
    left = len(values) - len(finite)
    note = f"{left} of {len(values)} resamples of {units} have no {need.split()[-1]} and are left out" if left else ""
    low, high = np.quantile(finite, [tail, 1 - tail])
    return float(low), float(high), note


def score_draws(
    value: float, draws: np.ndarray, n: int, level: float, interval: str, notes: Iterable[str] = ()
) -> Score:
    """A statistic over n models with the interval of its resamples; without one, if it is not defined."""
    if not np.isfinite(value):
        return Score(value, math.nan, math.nan, n, "no interval", join_notes(notes))
    low, high, note = percentiles(draws, level)
    return Score(value, low, high, n, interval, join_notes([*notes, note]))


def varies(values: np.ndarray) -> bool:
    """Whether values (n,) differ by more than rounding."""
    return bool(np.isfinite(centre(values[None], np.ones((1, len(values))))).all())


def free_of(
    centred: np.ndarray, origin: np.ndarray, given: np.ndarray, times: np.ndarray, degree: int = 1
) -> np.ndarray:
    """Centred variables (count, a, n) minus the polynomial in `given` (n,) that is nearest to them; a line by default.

    Powers are freed of lower ones first, so that one after the other can be taken away.
    """
    spread = given.std()
    scaled = (given - given.mean()) / (spread if spread > 0 else 1.0)  # powers of numbers around 1 are told apart best
    rest = centred
    lower: list[np.ndarray] = []
    for power in range(1, degree + 1):
        whole = np.nan_to_num(centre(scaled[None] ** power, times))  # without variation it explains nothing
        column = whole
        for other in lower:
            column = column - _nearest(column, other, times)
        # What lower powers explain but for rounding, as in a resample of few different models, explains nothing more.
        column[_squares(column, times)[:, 0] <= SPENT * _squares(whole, times)[:, 0]] = 0
        rest = rest - _nearest(rest, column, times)
        lower.append(column)
    return _without_rounding(rest, origin, times)


def _nearest(variables: np.ndarray, column: np.ndarray, times: np.ndarray) -> np.ndarray:
    """The multiples of a centred column (count, 1, n) that are nearest to centred variables (count, a, n)."""
    squares = _squares(column, times)[..., None]
    slopes = (variables * times[:, None]) @ column.swapaxes(1, 2) / np.where(squares > 0, squares, 1)
    return slopes * column


def _draw(n: int, resampling: Resampling) -> np.ndarray:
    draws = np.random.default_rng(resampling.seed).integers(0, n, (resampling.count, n))
    lines = np.arange(resampling.count)[:, None] * n
    return np.bincount((draws + lines).ravel(), minlength=draws.size).reshape(draws.shape)


def _squares(centred: np.ndarray, times: np.ndarray) -> np.ndarray:
    return (centred * centred @ times[..., None])[..., 0]


def _without_rounding(rest: np.ndarray, origin: np.ndarray, times: np.ndarray) -> np.ndarray:
    """The rest of what the origin was, NaN where it is rounding only."""
    rest[_squares(rest, times) <= ROUNDING * _squares(origin, times)] = np.nan
    return rest
