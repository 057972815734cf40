"""A score before its interval: columns of numbers per image, and a statistic of their means.

Every score of this package has this form, so one bootstrap serves them all, and two scores of the same images are
compared by resampling those images for both at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, ParamSpec, Protocol, TypeVar

import numpy as np

from scuff.metrics.intervals import DEFAULT, Resampling, resample_means
from scuff.metrics.score import Difference, Score

# Takes the means of every group's columns, (..., columns) each, and returns (...): all resamples are one call.
Statistic = Callable[..., np.ndarray]
Key = TypeVar("Key", bound=Hashable)
P = ParamSpec("P")

DIGITS = 9  # of a difference that counts: sums of 0 and 1 over some millions of rows differ by more, or not at all


@dataclass(frozen=True, eq=False)
class Group:
    """Images that are resampled together: (images x columns) numbers, the ids of the images, and whose ids they are."""

    columns: np.ndarray
    images: np.ndarray
    source: str = ""

    def has_images_of(self, other: Group) -> bool:
        return self.source == other.source and np.array_equal(self.images, other.images)


@dataclass(frozen=True, eq=False)
class Estimate:
    """A statistic of the column means of one or more groups of images; each group is resampled on its own.

    `mirrored` takes the basic bootstrap interval [2v - q_high, 2v - q_low] in place of the percentiles [q_low, q_high]:
    for statistics that noise can only raise, where resamples exceed the value by as much as the value the truth. It is
    kept within `limits`, which the statistic cannot pass, and widened to hold the value where that is mostly noise.
    """

    groups: tuple[Group, ...]
    statistic: Statistic
    note: str = ""
    mirrored: bool = False
    limits: tuple[float, float] = (-np.inf, np.inf)

    def score(self, resampling: Resampling) -> Score:
        return score_together({"": self}, resampling)[""]


class Scored(Protocol[P]):
    """A score as a function of rows; `estimate` takes the same and stops before the interval, for comparisons."""

    estimate: Callable[P, Estimate]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Score: ...


def scored(estimate: Callable[P, Estimate]) -> Scored[P]:
    """Make a score of a function that returns an estimate: with the interval that its keyword `resampling` asks for."""

    @wraps(estimate)
    def score(*args: P.args, **kwargs: P.kwargs) -> Score:
        resampling: Any = kwargs.get("resampling", DEFAULT)
        return estimate(*args, **kwargs).score(resampling)

    score.__annotations__ = {**estimate.__annotations__, "return": "Score"}
    score.estimate = estimate  # type: ignore[attr-defined]
    return score  # type: ignore[return-value]


def join_groups(a: Group, b: Group, rate: Statistic) -> tuple[tuple[Group, ...], Statistic]:
    """Groups for `rate(means of a, means of b)`: the same images are resampled once, other images on their own."""
    if not a.has_images_of(b):
        return (a, b), rate
    width = a.columns.shape[1]
    both = replace(a, columns=np.hstack([a.columns, b.columns]))
    return (both,), lambda means: rate(means[..., :width], means[..., width:])


def score_together(estimates: Mapping[Key, Estimate], resampling: Resampling) -> dict[Key, Score]:
    """The scores of several estimates with one pass of draws: the same numbers as one by one, in less time."""
    values_of = resample_values(estimates, resampling)
    return {name: _with_interval(estimates[name], *values, resampling) for name, values in values_of.items()}


def resample_values(
    estimates: Mapping[Key, Estimate], resampling: Resampling
) -> dict[Key, tuple[np.ndarray, np.ndarray]]:
    """Every statistic of the images as they are, and of all resamples; not finite where it divides by nothing."""
    resampled = _resample_groups(estimates, resampling)
    values_of = {}
    with np.errstate(divide="ignore", invalid="ignore"):
        for name, estimate in estimates.items():
            value = estimate.statistic(*(g.columns.mean(axis=0) for g in estimate.groups))
            values = estimate.statistic(*(resampled[place, id(g)] for place, g in enumerate(estimate.groups)))
            values_of[name] = np.asarray(value), np.asarray(values)
    return values_of


def subtract_together(pairs: Mapping[Key, tuple[Estimate, Estimate]], resampling: Resampling) -> dict[Key, Difference]:
    """For each pair the score of the first minus that of the second, all with one pass of draws.

    The same resampled images serve for both wherever both have the same images.
    """
    joined = {key: _side_by_side(*pair) for key, pair in pairs.items()}
    values_of = resample_values({key: both for key, (both, _) in joined.items()}, resampling)
    differences = {}
    for key, (value, values) in values_of.items():
        both, paired = joined[key]
        score = _with_interval(both, value, values, resampling)
        share, p_value, interval = np.nan, np.nan, score.interval
        if np.isfinite(score.low):
            sign = np.sign(without_noise(value))
            share = float(np.mean((np.sign(without_noise(values)) != sign) | (sign == 0)))
            spread = float(without_noise(np.std(values[np.isfinite(values)])))
            p_value = math.erfc(abs(score.value) / spread / math.sqrt(2)) if spread else float(sign == 0)
            interval = f"{'paired' if paired else 'unpaired'} {interval}"
        differences[key] = Difference(score.value, score.low, score.high, score.n, interval, score.note, share, p_value)
    return differences


def _side_by_side(a: Estimate, b: Estimate) -> tuple[Estimate, bool]:
    """The estimate of a - b, and whether all images are shared: then the columns of both stand in the same groups."""
    groups, places_of_b = list(a.groups), []
    for place, group in enumerate(b.groups):
        if place < len(a.groups) and a.groups[place].has_images_of(group):
            columns_of_a = a.groups[place].columns
            groups[place] = replace(group, columns=np.hstack([columns_of_a, group.columns]))
            places_of_b.append((place, columns_of_a.shape[1]))
        else:
            groups.append(group)
            places_of_b.append((len(groups) - 1, 0))
    widths = [group.columns.shape[1] for group in a.groups]

    def statistic(*means: np.ndarray) -> np.ndarray:
        of_a = [means[place][..., :width] for place, width in enumerate(widths)]
        of_b = [means[place][..., start:] for place, start in places_of_b]
        return a.statistic(*of_a) - b.statistic(*of_b)

    note = a.note if a.note == b.note else "; ".join(filter(None, (a.note, b.note)))
    paired = len(groups) == len(a.groups) == len(b.groups)
    return Estimate(tuple(groups), statistic, note, a.mirrored and b.mirrored), paired


def bootstrap(
    columns: np.ndarray,
    statistic: Statistic = lambda means: means[..., 0],
    resampling: Resampling = DEFAULT,
    note: str = "",
) -> Score:
    """The score of any statistic of column means, with its bootstrap interval over images.

    `columns` are (images x columns) numbers: what each image adds to each mean. `statistic` takes means (..., columns)
    and returns (...); by default the mean of the first column.

    >>> right = np.array([[1, 1], [1, 0], [1, 1], [0, 0]] * 50)  # on clean images, on corrupted ones
    >>> print(bootstrap(right, lambda means: means[..., 1] / means[..., 0]))
    0.67 [0.59, 0.74] (n = 200; bootstrap over images 95 %)
    """
    group = Group(np.asarray(columns, float), np.arange(len(columns)))
    return Estimate((group,), statistic, note).score(resampling)


def bootstrap_difference(
    a: np.ndarray,
    b: np.ndarray,
    statistic: Statistic = lambda means: means[..., 0],
    resampling: Resampling = DEFAULT,
) -> Difference:
    """The statistic of `a` minus that of `b`, two (images x columns) arrays of the same images in the same order.

    >>> wrong = np.arange(100)[:, None] % 5 == 0
    >>> d = bootstrap_difference(wrong, wrong & (np.arange(100)[:, None] > 50))
    >>> f"{d.value:.2f} {d.p_value:.4f}"
    '0.11 0.0003'
    """
    if len(a) != len(b):
        raise ValueError(f"paired arrays must hold the same images, got {len(a)} and {len(b)}")
    groups = (Group(np.asarray(columns, float), np.arange(len(columns))) for columns in (a, b))
    first, second = (Estimate((group,), statistic) for group in groups)
    return subtract_together({"": (first, second)}, resampling)[""]


def _resample_groups(estimates: Mapping[Key, Estimate], resampling: Resampling) -> dict[tuple[int, int], np.ndarray]:
    """Resampled means by (place in the estimate, id of the group); groups of one size are resampled side by side."""
    sizes: dict[tuple[int, int], dict[int, np.ndarray]] = {}
    for estimate in estimates.values():
        for place, group in enumerate(estimate.groups):
            sizes.setdefault((place, len(group.columns)), {})[id(group)] = group.columns
    resampled: dict[Any, Any] = {}
    for (place, _), columns in sizes.items():
        means = resample_means(np.hstack(list(columns.values())), resampling, place)
        ends = np.cumsum([c.shape[1] for c in columns.values()])
        parts = np.split(means, ends[:-1], axis=1)
        resampled |= {(place, key): part for key, part in zip(columns, parts, strict=True)}
    return resampled


def _with_interval(estimate: Estimate, value: Any, values: np.ndarray, resampling: Resampling) -> Score:
    value = float(value)
    n = min(len(g.columns) for g in estimate.groups)
    if not np.isfinite(value):
        note = "; ".join(filter(None, (estimate.note, "undefined: it divides by zero")))
        return Score(np.nan, np.nan, np.nan, n, "no interval", note)
    if n == 1:
        return Score(value, np.nan, np.nan, n, "no interval from one image", estimate.note)
    notes = [estimate.note] if estimate.note else []
    finite = values[np.isfinite(values)]
    if len(finite) < len(values):
        notes.append(f"{len(values) - len(finite)} of {len(values)} resamples are undefined and left out")
    if not any(np.ptp(g.columns, axis=0).any() for g in estimate.groups):
        notes.append("all images score the same, of which the bootstrap makes no interval")
    tail = (1 - resampling.level) / 2
    low, high = np.quantile(finite, [tail, 1 - tail]) if len(finite) else (np.nan, np.nan)
    if estimate.mirrored:
        low, high = np.clip([2 * value - high, 2 * value - low], *estimate.limits)
        low, high = min(low, value), max(high, value)
    return Score(value, float(low), float(high), n, str(resampling), "; ".join(notes))


def without_noise(values: np.ndarray) -> np.ndarray:
    """Values without the last bits, which depend on the order of summation, so that equal ones are equal."""
    return np.round(values, DIGITS)
