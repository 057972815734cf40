"""The search on the CPU: leaves of the tree against nodes, then points against leaves, then points against points.

What is further apart than the best pair so far is passed over as soon as a bound says so; the few pairs that are left
are measured.
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
    found = np.empty((LEAF * LEAF, 2), np.int64)
    for leaf in leaves:
        start, stop = tree.start[leaf], tree.stop[leaf]
        place = by_row * (start - tree.start[leaves[0]])
        if by_row:
            for c in classes:
                traverse(leaf, start, start + 1, c, place, by_row, bars, found, best, points, bounds, tree)
            start, place = start + 1, place + 1
            begin_with_neighbour(start, stop, place, bars, best, points, bounds)
        if start < stop:
            for c in classes:
                traverse(leaf, start, stop, c, place + by_class * c, by_row, bars, found, best, points, bounds, tree)


@compiled
def traverse(leaf, first, last, c, place, by_row, bars, found, best, points, bounds, tree):
    """Compare points of a leaf with all points of a class."""
    x, rows, p, scale, table = points
    powers, own_bars = best.powers, bars[place : place + 1 + by_row * (last - first - 1), 0]
    widest = own_bars.max()
    node = tree.roots[c]
    while node < tree.roots[c + 1]:
        if boxes_beyond(leaf, node, widest, bounds.q, tree):
            node = tree.skip[node]
            continue
        if tree.skip[node] == node + 1:
            for k in range(near_pairs(first, last, node, bars, place, by_row, bounds, tree, found)):
                a, b, own = rows[found[k, 0]], rows[found[k, 1]], place + by_row * (found[k, 0] - first)
                distance = power(x, a, b, p, scale, table, powers[own])
                if distance <= powers[own]:
                    keep(a, b, distance, own, bars, best, p, bounds)
            widest = own_bars.max()
        node += 1


@compiled
def begin_with_neighbour(first, last, place, bars, best, points, bounds):
    """What is near the point before the first is not far from those that follow: a start that spares much."""
    row = points.rows[first - 1]
    neighbour = best.second[place - 1] if best.first[place - 1] == row else best.first[place - 1]
    for i in range(first, last):
        distance = power(points.x, points.rows[i], neighbour, points.p, points.scale, points.table, np.inf)
        keep(points.rows[i], neighbour, distance, place + i - first, bars, best, points.p, bounds)


@compiled
def keep(a, b, distance, place, bars, best, p, bounds):
    """Keep a pair that is at least as near as the best so far, if its rows come first."""
    if distance < best.powers[place]:
        set_bars(bars, place, distance, p, bounds)
    offer(best, place, distance, a, b)
