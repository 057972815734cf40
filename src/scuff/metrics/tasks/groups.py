"""Groups of images that are left out in turn: what intervals of scores rest on that are no means over images."""

from __future__ import annotations

import numpy as np
from scipy import stats

from scuff.metrics.score import Score

GROUPS = 20
LEVEL = 0.95


def group_images(ids: np.ndarray) -> np.ndarray:
    """A group from 0 on for every image, by the order of a fixed shuffle; as many groups as images if they are few."""
    count = min(GROUPS, len(ids))
    groups = np.empty(len(ids), np.int64)
    order = np.random.default_rng(0).permutation(len(ids))
    groups[np.argsort(ids, kind="stable")[order]] = np.arange(len(ids)) % max(count, 1)
    return groups


def jackknife(value: float, left_out: np.ndarray, n: int, note: str = "") -> Score:
    """A score with its interval, from its values (G,) without each group: Student's t with G - 1 degrees of freedom,
    and no less than 0 if the score cannot be.

    >>> print(jackknife(0.5, np.array([0.49, 0.5, 0.51]), 30))
    0.50 [0.45, 0.55] (n = 30; jackknife over 3 groups of images 95 %)
    """
    count = len(left_out)
    words = f"jackknife over {count} groups of images 95 %"
    if count < 2 or not np.isfinite(left_out).all() or not np.isfinite(value):
        return Score(float(value), np.nan, np.nan, n, words, note)
    error = np.sqrt((count - 1) / count * ((left_out - left_out.mean()) ** 2).sum())
    half = float(stats.t.ppf((1 + LEVEL) / 2, count - 1) * error)
    low = float(value) - half
    return Score(float(value), max(low, 0.0) if (left_out >= 0).all() else low, float(value) + half, n, words, note)
