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
from scuff.metrics.neighbours.gaps import boxes_beyond, near_pairs
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
    node, end = tree.roots[c], tree.roots[c + 1]
    places = place + 1 + by_row * (last - first - 1)
    widest = bars[place:places, 0].max()
    found = np.empty((LEAF * LEAF, 2), np.int64)
    fine, starts, widths = bounds.fine, bounds.starts, bounds.widths
    while node < end:
        if boxes_beyond(low, high, leaf, node, q, widest):
            node = skip[node]
            continue
        if skip[node] == node + 1:
            count = near_pairs(first, last, start[node], stop[node], low, high, node, q, coarse, columns, fine, starts, widths, bars, place, by_row, found)
            for k in range(count):
                i, j = found[k]
                measure(points.rows[i], points.rows[j], place + by_row * (i - first), bars, best, points, bounds)
            if count:
                widest = bars[place:places, 0].max()
        node += 1


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
