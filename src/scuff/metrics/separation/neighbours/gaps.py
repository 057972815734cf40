"""The compiled loops in which bounds are compared with what they must not exceed, the bar: millions of times a second.

Bounds are q-norms of differences, before the root is taken. They are written so that the compiler makes vector
instructions of them: sums in any order for q = 1 and 2, and for q = infinity the question whether any gap is larger.
The parts of `near_pairs` become one piece of code: to call a function is to count the uses of its arrays, for which
threads would wait for each other.
"""

from __future__ import annotations

import numpy as np

from scuff.metrics.separation.neighbours.compiling import compiled_loosely, inlined
from scuff.metrics.separation.neighbours.tree import LEAF

F32, I32 = np.float32, np.int32
INDEX = np.uintp  # of an unsigned index the compiler knows that it does not count from the end


@compiled_loosely
def boxes_beyond(a, b, bar, q, tree):
    """Whether the boxes of two nodes are further apart than the bar."""
    return _boxes_beyond(tree.low, tree.high, a, tree.low, tree.high, b, q, bar)


@compiled_loosely
def near_pairs(first, last, leaf, rows, bars, place, by_row, bounds, tree, pairs):
    """Those pairs that no bound rules out: of positions i, from first to last, and the rows of points in a leaf.

    The bars of i are those at place + by_row * (i - first). Pairs are written into `pairs`; returns their number.
    """
    q, coarse, columns = bounds.q, bounds.coarse, bounds.columns
    fine, starts, widths = bounds.fine, bounds.starts, bounds.widths
    low, high, start, stop = tree.low, tree.high, tree.start[leaf], tree.stop[leaf]
    apart, count = np.empty(LEAF, F32), 0
    for i in range(first, last):
        slot = place + by_row * (i - first)
        bar = bars[slot, 0]
        if _boxes_beyond(coarse, coarse, i, low, high, leaf, q, bar):
            continue
        if _bound_leaf(coarse, i, columns, start, stop, q, bar, apart) == 0:
            continue
        for j in range(start, stop):
            if apart[j - start] <= bar:
                near = True
                for level in range(1, len(widths)):
                    a, b = starts[level] + i * widths[level], starts[level] + j * widths[level]
                    if _sums_beyond(fine, a, b, widths[level], q, bars[slot, level]):
                        near = False
                        break
                if near:
                    pairs[count, 0], pairs[count, 1] = i, rows[j]
                    count += 1
    return count


@inlined
def _boxes_beyond(low, high, a, other_low, other_high, b, q, bar):
    """Whether two boxes are further apart than the bar; a point is a box of which both ends are the same."""
    a, b, total, larger = INDEX(a), INDEX(b), F32(0), I32(0)
    for k in range(INDEX(low.shape[1])):
        gap = max(max(low[a, k] - other_high[b, k], other_low[b, k] - high[a, k]), F32(0))
        if q == np.inf:
            larger |= I32(1) if gap > bar else I32(0)
        else:
            total += gap if q == 1 else gap * gap
    return larger > 0 or total > bar


@inlined
def _bound_leaf(coarse, i, columns, start, stop, q, bar, out):
    """The bounds of a point's distances to a leaf's points, and how many of them are within the bar."""
    i, start, count, near = INDEX(i), INDEX(start), INDEX(stop - start), I32(0)
    for j in range(count):
        out[j] = F32(0)
    for k in range(INDEX(coarse.shape[1])):
        value = coarse[i, k]
        for j in range(count):
            gap = abs(value - columns[k, start + j])
            if q == np.inf:
                out[j] = max(out[j], gap)
            else:
                out[j] += gap if q == 1 else gap * gap
    for j in range(count):
        near += I32(1) if out[j] <= bar else I32(0)
    return near


@inlined
def _sums_beyond(fine, a, b, count, q, bar):
    """Whether two points are further apart than the bar, by the sums that begin at a and at b."""
    a, b, total, larger = INDEX(a), INDEX(b), F32(0), I32(0)
    for k in range(INDEX(count)):
        gap = abs(fine[a + k] - fine[b + k])
        if q == np.inf:
            larger |= I32(1) if gap > bar else I32(0)
        else:
            total += gap if q == 1 else gap * gap
    return larger > 0 or total > bar
