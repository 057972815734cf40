"""Intervals: Wilson's for one proportion, Student's over repetitions, and the bootstrap over images for all else."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri, stdtrit
from threadpoolctl import threadpool_limits

WEIGHTS = 1 << 22  # values of one block of weights: 32 MiB. This bounds the memory; results do not depend on it


@dataclass(frozen=True)
class Resampling:
    """How intervals are found: the number of resamples, the level of the interval, and the seed of the draws.

    >>> print(Resampling(count=200, level=0.9))
    bootstrap over images 90 %, 200 resamples, seed 0
    """

    count: int = 1000
    level: float = 0.95
    seed: int = 0

    def __post_init__(self) -> None:
        if self.count < 1 or not 0 < self.level < 1:
            given = f"{self.count} and {self.level}"
            raise ValueError(f"expected at least 1 resample and a level between 0 and 1, got {given}")

    def __str__(self) -> str:
        return self.over("images")

    def over(self, units: str) -> str:
        """What is said of an interval from a bootstrap over other units than images.

        >>> Resampling().over("models")
        'bootstrap over models 95 %, 1000 resamples, seed 0'
        """
        return f"bootstrap over {units} {percent(self.level)}, {self.count} resamples, seed {self.seed}"


DEFAULT = Resampling()


def percent(level: float) -> str:
    """A level as text: 0.95 is 95 %."""
    return f"{100 * level:g} %"


def wilson(count: ArrayLike, n: ArrayLike, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
    """Wilson's interval of a proportion: all p with (count / n - p)² <= z² p (1 - p) / n; fractions 0..1.

    It has a width even where all images agree: none wrong of 100 may still be 3.7 %.

    >>> low, high = wilson(0, 100)
    >>> f"{low:.3f} {high:.3f}"
    '0.000 0.037'
    """
    count, n = np.asarray(count, float), np.asarray(n, float)
    z2 = ndtri(0.5 + level / 2) ** 2
    middle = (count + z2 / 2) / (n + z2)
    half = np.sqrt(z2 * (count * (n - count) / n + z2 / 4)) / (n + z2)
    # At the ends the two cancel but for their last bits, and the interval must hold the proportion itself.
    return np.where(count == 0, 0.0, middle - half), np.where(count == n, 1.0, middle + half)


def student_half_width(values: np.ndarray, level: float = 0.95) -> np.ndarray:
    """Half of Student's interval of a mean over repetitions, which are the first axis.

    >>> f"{student_half_width(np.array([0.5, 0.6, 0.7])):.3f}"
    '0.248'
    """
    n = len(values)
    return stdtrit(n - 1, 0.5 + level / 2) * values.std(axis=0, ddof=1) / np.sqrt(n)


def resample_means(columns: np.ndarray, resampling: Resampling, stream: int = 0) -> np.ndarray:
    """Means of all columns of an (images x columns) array over resampled images: (count, columns).

    A resample draws n of the n images with replacement. Its means are a product of how often each image was drawn with
    the columns, so that many resamples are one product of matrices. The draws depend on the seed, the stream and n
    alone: whatever rests on the same images sees the same resamples.

    >>> resample_means(np.array([[0.0], [1.0]]), Resampling(count=8)).shape
    (8, 1)
    """
    n = len(columns)
    draw = np.random.default_rng([resampling.seed, stream])
    weights = np.empty((min(resampling.count, max(1, WEIGHTS // n)), n))
    means = np.empty((resampling.count, columns.shape[1]))
    for start in range(0, resampling.count, len(weights)):
        block = weights[: resampling.count - start]
        for weight in block:
            weight[:] = np.bincount(draw.integers(0, n, n), minlength=n)
        # In several threads these narrow products are hardly faster, and many times slower where others use the cores.
        with threadpool_limits(1, user_api="blas"):
            means[start : start + len(block)] = block @ columns / n
    return means
