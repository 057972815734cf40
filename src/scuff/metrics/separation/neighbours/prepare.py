"""Points made ready for the search: sorted by class and by place, with the sums that bound their distances.

Exact distances are computed from the points as they were given: they are neither copied nor moved. Bounds are float32,
and yet never wrong. How far rounding can be off is known, and what they are compared with is raised by as much: a pair
is ruled out only if it is certain that its distance exceeds the limit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from scuff.metrics.separation.neighbours.blocks import choose_blocks, weights
from scuff.metrics.separation.neighbours.compiling import compiled, in_threads
from scuff.metrics.separation.neighbours.exact import Points, make_points

LARGE = 6  # from this p on, the L-infinity norm is the closer bound of the p-norm: for gaps that spread like a normal
LEAF = 128  # points of a leaf at most
ROWS = 500  # that one thread describes at a time
SAMPLE = 2000  # points whose mean is taken for the middle of all


@dataclass(frozen=True, eq=False)
class Prepared:
    points: Points
    starts: np.ndarray  # int64 (classes + 1,): the positions at which classes begin
    bounds: Bounds
    tree: Tree


def prepare(x: np.ndarray, labels: np.ndarray, rows: np.ndarray, p: float) -> Prepared:
    """Make those rows of x (n, ...) ready. It is uint8, float32 or float64; labels (n,) are numbered from 0."""
    flat, is_bytes = x.reshape(len(x), -1), x.dtype == np.uint8
    rows = rows[np.argsort(labels[rows], kind="stable")]
    starts = np.searchsorted(labels[rows], np.arange(labels[rows[-1]] + 2))
    scale = 1.0 if is_bytes else 1 / _power_of_two(flat)
    q = 1.0 if p < 2 else 2.0 if p < LARGE else math.inf
    middle = flat[rows[:: math.ceil(len(rows) / SAMPLE)]].mean(axis=0, dtype=np.float64)
    levels = [Level(blocks, q, middle, scale) for blocks in choose_blocks(flat, x.shape[1:], q)]
    coarse = levels[0].sums(flat, rows)
    order, tree = grow(coarse, starts)
    rows, coarse = rows[order], coarse[order]
    widths = np.array([len(level.weights) for level in levels])
    edges = np.cumsum([0, 0, *widths[1:]]) * len(rows)
    fine = np.empty(edges[-1], np.float32)
    parts = [fine[a:b].reshape(len(rows), -1) for a, b in pairwise(edges[1:])]
    sums = [coarse, *(level.sums(flat, rows, part) for level, part in zip(levels[1:], parts, strict=True))]
    top = 255.0 if is_bytes else 1 / scale
    bounds = Bounds(
        q=q,
        spread=max(1.0, flat.shape[1] ** (1 / q - 1 / p)),
        coarse=coarse,
        columns=np.ascontiguousarray(coarse.T),
        fine=fine,
        starts=edges[:-1],
        widths=widths,
        slack=np.array([level.slack(part, q, top) for part, level in zip(sums, levels, strict=True)]),
        margin=1 + (widths + 4) * 2.0**-23,  # twice what rounding adds: at most width + 4 times 2^-24, in any order
    )
    return Prepared(make_points(flat, rows, p, scale), starts, bounds, tree)


def _power_of_two(x: np.ndarray) -> float:
    """The smallest power of two that exceeds all values, short of those whose inverse is no number."""
    _, exponent = math.frexp(max(-float(x.min()), float(x.max())))
    return 2.0 ** min(max(exponent, -1000), 1000)


# --- lower bounds -----------------------------------------------------------------------------------------------------


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


class Level:
    """Blocks of features, and how their sums are made comparable: weighted, and less those of a `middle` point.

    `blocks` is the block of each feature, -1 for none. Points are multiplied by `scale`.
    """

    def __init__(self, blocks: np.ndarray, q: float, middle: np.ndarray, scale: float) -> None:
        self.features = np.flatnonzero(blocks >= 0)
        self.blocks = blocks[self.features]
        self.weights = weights(blocks, q) * scale
        self.centre = np.bincount(self.blocks, middle[self.features]) * self.weights

    def sums(self, x: np.ndarray, rows: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """The sums of some rows of x over the blocks: float32 (rows, blocks)."""
        sums = np.empty((len(rows), len(self.weights)), np.float32) if out is None else out

        def work(start: int) -> None:
            part = slice(start, start + ROWS)
            _sum_blocks(x, rows[part], self.features, self.blocks, self.weights, self.centre, sums[part])

        for _ in in_threads(work, range(0, len(rows), ROWS)):
            pass
        return sums

    def slack(self, sums: np.ndarray, q: float, top: float) -> float:
        """How much larger than the distance the q-norm of differences of these float32 sums may be.

        A sum s of m values up to `top` is off by less than m² top 2^-53 while it is float64, and by s 2^-24 when it
        becomes float32. Twice that is allowed, for each of two points; the triangle inequality does the rest.
        """
        largest = np.maximum(sums.max(axis=0), -sums.min(axis=0)).astype(np.float64)
        sizes = np.bincount(self.blocks)
        error = largest * 2.0**-23 + self.weights * sizes * (sizes + 4) * top * 2.0**-52
        return 2 * float(np.linalg.norm(error, q))


@compiled
def _sum_blocks(x, rows, features, blocks, factors, centre, out):
    sums = np.empty(len(factors))
    for k in range(len(rows)):
        sums[:] = 0
        for f in range(len(features)):
            sums[blocks[f]] += np.float64(x[rows[k], features[f]])
        for block in range(len(factors)):
            out[k, block] = sums[block] * factors[block] - centre[block]


# --- the tree ---------------------------------------------------------------------------------------------------------


class Tree(NamedTuple):
    """A KD-tree for each class: boxes around boxes around leaves.

    Nodes are numbered in the order in which they are visited. If a box is too far away, the search goes on with node
    `skip`; otherwise with the next one, which is the node's first child, or what follows a leaf.
    """

    low: np.ndarray  # float32 (nodes, dimensions): the smallest values of a node's points
    high: np.ndarray  # and the largest
    skip: np.ndarray  # int64 (nodes,): the next node after all that lie inside this one
    start: np.ndarray  # int64 (nodes,): its points are start .. stop of the order
    stop: np.ndarray
    roots: np.ndarray  # int64 (classes + 1,): the first node of each class


def grow(points: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, Tree]:
    """The order of points (n, dimensions) in which those of each node are together, and the tree over them.

    Points come sorted by class, of which class c begins at starts[c].

    >>> order, tree = grow(np.arange(300, dtype=np.float32)[::-1, None], np.array([0, 200, 300]))
    >>> tree.start.tolist(), tree.stop.tolist(), tree.skip.tolist(), tree.roots.tolist()
    ([0, 0, 100, 200], [200, 100, 200, 300], [3, 2, 3, 4], [0, 3, 4])
    """
    order = np.arange(len(points))
    nodes: list[tuple] = []

    def add(start: int, stop: int) -> None:
        members = order[start:stop]
        inside = points[members]
        low, high = inside.min(axis=0), inside.max(axis=0)
        node, axis = len(nodes), int((high - low).argmax())
        nodes.append(())
        if stop - start > LEAF:
            half = (stop - start) // 2
            order[start:stop] = members[np.argpartition(inside[:, axis], half)]
            add(start, start + half)
            add(start + half, stop)
        nodes[node] = (low, high, len(nodes), start, stop)

    roots = [0]
    for start, stop in pairwise(starts.tolist()):
        add(start, stop)
        roots.append(len(nodes))
    return order, Tree(*map(np.array, zip(*nodes, strict=True)), np.array(roots))  # type: ignore[call-arg]
