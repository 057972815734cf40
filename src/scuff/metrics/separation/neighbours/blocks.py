"""Which features are summed up into the few numbers that bound a distance from below.

For disjoint blocks B of features and any p >= 1 (Jensen's inequality; a block may be a single feature):

    sum over B of |B|^(1 - p) * |sum of B in x - sum of B in y|^p  <=  ||x - y||_p^p

A level is a set of blocks. The first level has at most 16, and each further one three or four times as many as the one
before: a pair that the first does not rule out meets sharper and sharper bounds before it is measured.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

COARSE = 16  # blocks of the first level at most
FINER = 3  # times as many in the next one at least
SPARSE = 4  # features for each block of the last level at least: beyond that, measuring is as fast
MOST_PATCHES, MOST_FEATURES = 1024, 256  # of the last level at most: this bounds the memory
PAIRS, VALUES = 256, 1 << 22  # of the sample on which levels are tried: pairs at most, and their values


def choose_blocks(x: np.ndarray, shape: tuple[int, ...], p: float) -> list[np.ndarray]:
    """The levels that suit the points x (n, features): of each, the block of every feature, -1 for none.

    Patches of neighbouring features suit images and signals; single features suit L-infinity, and tables whose columns
    differ in scale. Which bound is higher is tried on a sample of pairs. `shape` is that of one point.
    """
    if x.shape[1] <= COARSE:
        return [np.arange(x.shape[1])]
    pairs = np.random.default_rng(0).integers(0, len(x), (2, max(1, min(PAIRS, VALUES // x.shape[1]))))
    gaps = x[pairs[0]].astype(np.float64) - x[pairs[1]]
    choices = patches(shape), single_features(np.abs(gaps), p)
    return max(choices, key=lambda levels: _mean_bound(gaps, levels[0], p))


def patches(shape: tuple[int, ...]) -> list[np.ndarray]:
    """Levels of patches: again and again, the axis with the longest pieces is cut in two.

    So the channels of an image, which have much in common, are the last that are told apart.

    >>> [len(set(level)) for level in patches((32, 32, 3))], [len(set(level)) for level in patches((100,))]
    ([16, 64, 256], [16])
    """
    levels: list[Any] = []
    cuts = [1] * len(shape)
    while True:
        pieces = [size / cut for size, cut in zip(shape, cuts, strict=True)]
        axis = pieces.index(max(pieces))
        finer = [min(shape[a], 2 * cut) if a == axis else cut for a, cut in enumerate(cuts)]
        if math.prod(finer) > COARSE and (not levels or math.prod(cuts) >= FINER * (levels[-1].max() + 1)):
            levels.append(_number_patches(shape, cuts))
        if levels and math.prod(finer) > min(MOST_PATCHES, math.prod(shape) // SPARSE):
            return levels
        cuts = finer


def _number_patches(shape: tuple[int, ...], cuts: list[int]) -> np.ndarray:
    """The number of the patch that each feature belongs to."""
    places = [np.arange(size) * cut // size for size, cut in zip(shape, cuts, strict=True)]
    return np.ravel_multi_index(np.meshgrid(*places, indexing="ij"), cuts).ravel()


def single_features(gaps: np.ndarray, p: float) -> list[np.ndarray]:
    """Levels of single features: one after the other those that raise the bound most, on average over pairs.

    `gaps` (pairs, features) are absolute differences.

    >>> level, = single_features(np.array([[1.0] * 30 + [2.0, 0.0]]), 2)
    >>> level[[30, 0, 14, 15, 31]].tolist()
    [0, 1, 15, -1, -1]
    """
    features, counts = gaps.shape[1], [COARSE]
    while 4 * counts[-1] <= min(MOST_FEATURES, features // SPARSE):
        counts.append(4 * counts[-1])
    chosen = _raise_largest(gaps, counts[-1]) if math.isinf(p) else np.argsort(-(gaps**p).sum(axis=0), kind="stable")
    levels = []
    for count in counts:
        levels.append(np.full(features, -1))
        levels[-1][chosen[:count]] = np.arange(count)
    return levels


def _raise_largest(gaps: np.ndarray, count: int) -> list[int]:
    """Features each of which raises the sum over pairs of the largest gap most."""
    chosen: list[int] = []
    largest = np.zeros((len(gaps), 1))
    for _ in range(count):
        sums = np.maximum(gaps, largest).sum(axis=0)
        sums[chosen] = -1
        chosen.append(int(sums.argmax()))
        largest = np.maximum(largest, gaps[:, chosen[-1:]])
    return chosen


def _mean_bound(gaps: np.ndarray, blocks: np.ndarray, p: float) -> float:
    """The mean over pairs of the bound that a level gives."""
    sums = np.zeros((len(gaps), blocks.max() + 1))
    np.add.at(sums, (slice(None), blocks[blocks >= 0]), gaps[:, blocks >= 0])  # type: ignore[arg-type]
    return float(np.linalg.norm(sums * weights(blocks, p), p, axis=1).mean())


def weights(blocks: np.ndarray, p: float) -> np.ndarray:
    """What the sum over each block is multiplied with, so that the p-norm of all of them is a lower bound.

    >>> weights(np.array([0, 0, 0, 0, 1, -1]), 2).tolist()
    [0.5, 1.0]
    """
    return np.bincount(blocks[blocks >= 0]) ** (1 / p - 1)
