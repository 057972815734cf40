"""The search on the CPU: leaves of the tree against nodes, then points against leaves, then points against points.

What is further apart than the best pair so far is passed over as soon as a bound says so; the few pairs that are left
are measured. Arrays of inner loops go by names of their own: a field of a tuple is counted by all threads whenever it
is read, and they would wait for each other.
"""

from __future__ import annotations

import numpy as np

from scuff.metrics.neighbours.best import make_bars, offer, set_bars
from scuff.metrics.neighbours.compiling import compiled
from scuff.metrics.neighbours.exact import power
from scuff.metrics.neighbours.gaps import bound_leaf, box_beyond, boxes_beyond, point_beyond
from scuff.metrics.neighbours.tree import LEAF


@compiled
def scan(leaves, classes, by_row, by_class, best, points, bounds, tree):
    """Compare the points of some leaves, which follow each other, with all points of some classes."""
    bars = make_bars(best.powers, points.p, bounds)
    for leaf in leaves:
        start, stop = tree.start[leaf], tree.stop[leaf]
        place = by_row * (start - tree.start[leaves[0]])
        if by_row:  # what is near the first point is not far from the others: a good start for them
            for c in classes:
                traverse(leaf, start, start + 1, c, place, by_row, bars, best, points, bounds, tree)
            neighbour = partner(best, place, points.rows[start])
            start, place = start + 1, place + 1
            for i in range(start, stop):
                measure(points.rows[i], neighbour, place + i - start, bars, best, points, bounds)
        if start < stop:
            for c in classes:
                traverse(leaf, start, stop, c, place + by_class * c, by_row, bars, best, points, bounds, tree)


@compiled
def traverse(leaf, first, last, c, place, by_row, bars, best, points, bounds, tree):
    """Compare points of a leaf with all points of a class."""
    q, coarse, columns = bounds.q, bounds.coarse, bounds.columns
    low, high, skip, start, stop = tree.low, tree.high, tree.skip, tree.start, tree.stop
    apart = np.empty(LEAF, np.float32)
    node, end = tree.roots[c], tree.roots[c + 1]
    places = place + 1 + by_row * (last - first - 1)
    widest = bars[place:places, 0].max()
    while node < end:
        if boxes_beyond(low, high, leaf, node, q, widest):
            node = skip[node]
            continue
        if skip[node] == node + 1:
            for i in range(first, last):
                own = place + by_row * (i - first)
                if not box_beyond(coarse, i, low, high, node, q, bars[own, 0]) and bound_leaf(
                    coarse, i, columns, start[node], stop[node], q, bars[own, 0], apart
                ):
                    compare(i, start[node], stop[node], apart, own, bars, best, points, bounds)
            widest = bars[place:places, 0].max()
        node += 1


@compiled
def compare(i, start, stop, apart, place, bars, best, points, bounds):
    """Compare a point with those of a leaf that are not too far apart by the bounds of the first level."""
    q, fine, starts, widths, rows = bounds.q, bounds.fine, bounds.starts, bounds.widths, points.rows
    for j in range(start, stop):
        if apart[j - start] <= bars[place, 0] and not is_beyond(i, j, q, fine, starts, widths, bars, place):
            measure(rows[i], rows[j], place, bars, best, points, bounds)


@compiled
def is_beyond(i, j, q, fine, starts, widths, bars, place):
    """Whether two points are too far apart by the bounds of a further level."""
    for level in range(1, len(widths)):
        start, width = starts[level], widths[level]
        if point_beyond(fine, start + i * width, start + j * width, width, q, bars[place, level]):
            return True
    return False


@compiled
def measure(a, b, place, bars, best, points, bounds):
    """Measure a pair of rows, and keep it if it is the best so far."""
    found = power(points.x, a, b, points.p, points.scale, points.table, best.powers[place])
    if found < best.powers[place]:
        set_bars(bars, place, found, points.p, bounds)
    offer(best, place, found, a, b)


@compiled
def partner(best, place, row):
    """The other row of the best pair."""
    return best.second[place] if best.first[place] == row else best.first[place]
