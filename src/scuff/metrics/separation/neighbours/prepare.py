"""Points made ready for the search: sorted by class and by place, with the sums that bound their distances.

Exact distances are computed from the points as they were given: they are neither copied nor moved.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from scuff.metrics.separation.neighbours.blocks import choose_blocks
from scuff.metrics.separation.neighbours.bounds import Bounds, describe, make_level, margin_of, slack_of
from scuff.metrics.separation.neighbours.exact import Points, make_points
from scuff.metrics.separation.neighbours.tree import Tree, grow

LARGE = 6  # from this p on, the L-infinity norm is the closer bound of the p-norm: for gaps that spread like a normal
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
    levels = [make_level(blocks, q, middle, scale) for blocks in choose_blocks(flat, x.shape[1:], q)]

    coarse = describe(flat, rows, levels[0])
    order, tree = grow(coarse, starts)
    rows, coarse = rows[order], coarse[order]
    widths = np.array([len(level.weights) for level in levels])
    edges = np.cumsum([0, 0, *widths[1:]]) * len(rows)
    fine = np.empty(edges[-1], np.float32)
    parts = [fine[a:b].reshape(len(rows), -1) for a, b in pairwise(edges[1:])]
    sums = [coarse, *(describe(flat, rows, level, part) for level, part in zip(levels[1:], parts, strict=True))]
    top = 255.0 if is_bytes else 1 / scale
    bounds = Bounds(
        q=q,
        spread=max(1.0, flat.shape[1] ** (1 / q - 1 / p)),
        coarse=coarse,
        columns=np.ascontiguousarray(coarse.T),
        fine=fine,
        starts=edges[:-1],
        widths=widths,
        slack=np.array([slack_of(part, level, q, top) for part, level in zip(sums, levels, strict=True)]),
        margin=np.array([margin_of(count) for count in widths]),
    )
    return Prepared(make_points(flat, rows, p, scale), starts, bounds, tree)


def _power_of_two(x: np.ndarray) -> float:
    """The smallest power of two that exceeds all values, short of those whose inverse is no number."""
    _, exponent = math.frexp(max(-float(x.min()), float(x.max())))
    return 2.0 ** min(max(exponent, -1000), 1000)
