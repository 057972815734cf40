"""Lower bounds of distances: sums over blocks of features (see `blocks`), for all points.

They are float32, and yet never wrong. How far rounding can be off is known, and what they are compared with is raised
by as much: a pair is ruled out only if it is certain that its distance exceeds the limit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scuff.metrics.separation.neighbours.blocks import weights
from scuff.metrics.separation.neighbours.compiling import compiled, in_threads

ROWS = 500  # that one thread describes at a time


class Bounds(NamedTuple):
    """Weighted sums over blocks, less those of a middle point: the q-norm of their differences bounds distances.

    A position is a place in the order in which points are searched.
    """

    q: float  # 1, 2 or infinity: p if it is one of them, otherwise one for which ||v||_q <= spread * ||v||_p
    spread: float
    coarse: np.ndarray  # float32 (positions, blocks): the first level
    columns: np.ndarray  # float32 (blocks, positions): the same, for loops along positions
    fine: np.ndarray  # float32, flat: all further levels, each (positions, blocks), one after the other
    starts: np.ndarray  # int64 (levels,): where each level begins in `fine`; that of the first does not count
    widths: np.ndarray  # int64 (levels,): the number of its blocks
    slack: np.ndarray  # float64 (levels,): how much larger than the distance the q-norm may be, as sums are rounded
    margin: np.ndarray  # float64 (levels,): and the factor by which its own computation may be off


class Level(NamedTuple):
    """Blocks of features, and how their sums are made comparable."""

    blocks: np.ndarray  # int64 (features,): the block of each, -1 for none
    weights: np.ndarray  # float64 (blocks,)
    centre: np.ndarray  # float64 (blocks,): subtracted in the end, so that sums are small and rounding is fine


def make_level(blocks: np.ndarray, q: float, middle: np.ndarray, scale: float) -> Level:
    """A level for points around the point `middle` (features,), which are multiplied by `scale`."""
    factors = weights(blocks, q) * scale
    return Level(blocks, factors, np.bincount(blocks[blocks >= 0], middle[blocks >= 0]) * factors)


def describe(x: np.ndarray, rows: np.ndarray, level: Level, out: np.ndarray | None = None) -> np.ndarray:
    """The sums of some rows of x over the blocks of a level: float32 (rows, blocks)."""
    sums = np.empty((len(rows), len(level.weights)), np.float32) if out is None else out
    used = np.flatnonzero(level.blocks >= 0)

    def work(start: int) -> None:
        part = slice(start, start + ROWS)
        _sum_blocks(x, rows[part], used, level.blocks[used], level.weights, level.centre, sums[part])

    for _ in in_threads(work, range(0, len(rows), ROWS)):
        pass
    return sums


@compiled
def _sum_blocks(x, rows, features, blocks, factors, centre, out):
    sums = np.empty(len(factors))
    for k in range(len(rows)):
        sums[:] = 0
        for f in range(len(features)):
            sums[blocks[f]] += np.float64(x[rows[k], features[f]])
        for block in range(len(factors)):
            out[k, block] = sums[block] * factors[block] - centre[block]


def slack_of(sums: np.ndarray, level: Level, q: float, top: float) -> float:
    """How much larger than the distance the q-norm of differences of these float32 sums may be.

    A sum s of m values up to `top` is off by less than m² top 2^-53 while it is float64, and by s 2^-24 when it becomes
    float32. Twice that is allowed, for each of two points; the triangle inequality does the rest.
    """
    largest = np.maximum(sums.max(axis=0), -sums.min(axis=0)).astype(np.float64)
    sizes = np.bincount(level.blocks[level.blocks >= 0])
    error = largest * 2.0**-23 + level.weights * sizes * (sizes + 4) * top * 2.0**-52
    return 2 * float(np.linalg.norm(error, q))


def margin_of(count: int) -> float:
    """The factor by which a float32 sum over `count` blocks may be too large, whatever the order of its terms.

    Differences, powers and sums are rounded at most count + 4 times, by 2^-24 each. Twice that is allowed.
    """
    return 1 + (count + 4) * 2.0**-23
