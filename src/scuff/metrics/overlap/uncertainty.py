"""Intervals of what is computed from a table of accuracies: Student's over seeds, or the bootstrap over test images."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from scuff.metrics.intervals import DEFAULT, Resampling, percent, resample_means, student_half_width
from scuff.metrics.overlap.accuracies import Accuracies

VALUES = 1 << 24  # of a block of columns: 128 MiB. This bounds the memory; results do not depend on it


@dataclass(frozen=True, eq=False)
class Estimated:
    """Several statistics of one table, and the ends of their intervals: arrays of one shape."""

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    n: int  # seeds, or images
    interval: str


def estimate(
    accuracies: Accuracies,
    statistic: Callable[[np.ndarray], np.ndarray],
    resampling: Resampling = DEFAULT,
    mirrored: bool = False,
) -> Estimated:
    """Statistics of accuracies (..., models, tests), as one array (..., k), with their intervals.

    Several seeds: the mean of what each seed gives, and Student's interval of that mean; it holds the randomness of
    training. One seed: the bootstrap over test images, all models and tests on the same ones; it does not. One seed of
    which it is not known which images were right: NaN. `mirrored` as in `metrics.estimate.Estimate`.

    >>> values = np.array([[[0.9, 0.5]], [[0.9, 0.6]], [[0.9, 0.7]]])
    >>> scores = estimate(Accuracies(("standard",), ("clean", "a/fog"), values, (0, 1, 2)), lambda a: a[..., 0, 1:])
    >>> scores.value.round(3).tolist(), scores.high.round(3).tolist(), scores.interval
    ([0.6], [0.848], 'Student t over seeds 95 %, 3 seeds')
    """
    each = statistic(accuracies.values)
    value, seeds, images = each.mean(axis=0), len(each), _count_images(accuracies)
    if seeds > 1:
        half = student_half_width(each, resampling.level)
        interval = f"Student t over seeds {percent(resampling.level)}, {seeds} seeds"
        return Estimated(value, value - half, value + half, seeds, interval)
    if images < 2:
        why = "one image" if images else "without a record of which images were right"
        return Estimated(value, value * np.nan, value * np.nan, 1, f"no interval: one seed, {why}")
    low, high = _quantiles(_resample(accuracies.hits[0], statistic, resampling), resampling.level)  # type: ignore[index]
    if mirrored:
        low, high = 2 * value - high, 2 * value - low
    return Estimated(value, low, high, images, f"{resampling}, without the randomness of training")


def _count_images(accuracies: Accuracies) -> int:
    return 0 if accuracies.hits is None else accuracies.hits.shape[-1]


def _resample(hits: np.ndarray, statistic: Callable[[np.ndarray], np.ndarray], resampling: Resampling) -> np.ndarray:
    """The statistics of all resamples, (count, k), from hits (models, tests, images)."""
    models, tests, images = hits.shape
    rows = hits.reshape(models * tests, images)
    means = np.empty((resampling.count, len(rows)))
    step = max(1, VALUES // images)
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        means[:, part] = resample_means(rows[part].T.astype(float), resampling)  # the same images for every part
    blocks = np.array_split(means, math.ceil(means.size / VALUES))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.concatenate([statistic(block.reshape(-1, models, tests)) for block in blocks])


def _quantiles(values: np.ndarray, level: float) -> np.ndarray:
    """The ends of the middle part of all resamples; those that divide by nothing are left out."""
    tail = (1 - level) / 2
    ends = np.nanquantile(np.where(np.isfinite(values), values, np.nan), [tail, 1 - tail], axis=0)
    return ends.reshape(2, *values.shape[1:])  # which numpy forgets if there are no statistics
