"""The search on the CPU: leaves of the tree against nodes, then points against leaves, then points against points.

What is further apart than the best pair so far is passed over as soon as a bound says so; the few pairs that are left
are measured. Tasks of leaves that follow each other share all cores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from scuff.metrics.separation.neighbours.compiling import compiled, compiled_loosely, in_threads, inlined
from scuff.metrics.separation.neighbours.exact import power
from scuff.metrics.separation.neighbours.prepare import LEAF, Prepared
from scuff.metrics.separation.neighbours.search import Best, Competition, Task, make_bars, offer, set_bars

TASKS = 1000  # about as many are made, if there are as many leaves
F32, I32 = np.float32, np.int32
INDEX = np.uintp  # of an unsigned index the compiler knows that it does not count from the end


class Cores:
    """All cores of this machine."""

    def __init__(self, prepared: Prepared) -> None:
        tree = prepared.tree
        self.prepared = prepared
        self.leaves = np.flatnonzero(tree.skip == np.arange(len(tree.skip)) + 1)
        self.starts = tree.start[self.leaves]

    def tasks(self) -> list[Task]:
        """Leaves that follow each other. Those in the middle come first: there the nearest pairs are to be expected."""
        edges = np.union1d(self.starts[:: max(1, len(self.leaves) // TASKS)], self.prepared.starts)
        labels = np.searchsorted(self.prepared.starts, edges[:-1], side="right") - 1
        middles = np.add.reduceat(self.prepared.bounds.coarse, edges[:-1]) / np.diff(edges)[:, None]
        order = np.argsort(np.square(middles).sum(axis=1), kind="stable")
        return [Task(int(labels[k]), int(edges[k]), int(edges[k + 1])) for k in order]

    def run(self, work: Callable[[Task], Best], tasks: list[Task]) -> Iterator[tuple[Task, Best]]:
        return in_threads(work, tasks)

    def scan(self, task: Task, others: np.ndarray, competition: Competition, best: Best) -> None:
        """Compare the points of a task with all points of some other classes, and keep the nearest pairs."""
        first, last = np.searchsorted(self.starts, [task.start, task.stop])
        known = self.prepared
        scan(self.leaves[first:last], others, *competition, best, known.points, known.bounds, known.tree)


@compiled
def scan(leaves, classes, by_row, by_class, best, points, bounds, tree):
    """Compare the points of some leaves, which follow each other, with all points of some classes."""
    bars = make_bars(best.powers, points.p, bounds)
    pairs = np.empty((LEAF * LEAF, 2), np.int64)
    for leaf in leaves:
        start, stop = tree.start[leaf], tree.stop[leaf]
        place = by_row * (start - tree.start[leaves[0]])
        for part in range(1 + by_row):  # for each point: the first one, and then the others
            first, last = start + part, stop if part == by_row else start + 1
            if part:
                begin_near(first, last, place + part, by_row, pairs, bars, best, points, bounds)
            if first < last:
                for c in classes:
                    slot = place + part + by_class * c
                    traverse(leaf, first, last, c, slot, by_row, pairs, bars, best, points, bounds, tree)


@compiled
def traverse(leaf, first, last, c, place, by_row, pairs, bars, best, points, bounds, tree):
    """Compare points of a leaf with all points of a class."""
    node, widest = tree.roots[c], highest_bar(bars, place, by_row * (last - first - 1))
    while node < tree.roots[c + 1]:
        if boxes_beyond(leaf, node, widest, bounds.q, tree):
            node = tree.skip[node]
            continue
        if tree.skip[node] == node + 1:
            count = near_pairs(first, last, node, points.rows, bars, place, by_row, bounds, tree, pairs)
            measure(pairs, count, first, place, by_row, bars, best, points, bounds)
            widest = highest_bar(bars, place, by_row * (last - first - 1))
        node += 1


@compiled
def begin_near(first, last, place, by_row, pairs, bars, best, points, bounds):
    """What is near the point before the first is not far from those that follow: a start that spares much."""
    before = place - 1
    neighbour = best.second[before] if best.first[before] == points.rows[first - 1] else best.first[before]
    for i in range(first, last):
        pairs[i - first, 0], pairs[i - first, 1] = i, neighbour
    measure(pairs, last - first, first, place, by_row, bars, best, points, bounds)


@compiled
def measure(pairs, count, first, place, by_row, bars, best, points, bounds):
    """Measure pairs of a position and a row, and keep the nearest."""
    bytes_, singles, doubles, rows, p, scale, table = points
    powers = best.powers
    for k in range(count):
        a, b, slot = rows[pairs[k, 0]], pairs[k, 1], place + by_row * (pairs[k, 0] - first)
        distance = power(bytes_, singles, doubles, a, b, p, scale, table, powers[slot])
        if distance < powers[slot]:
            set_bars(bars, slot, distance, p, bounds)
        if distance <= powers[slot]:
            offer(best, slot, distance, a, b)


@compiled
def highest_bar(bars, first, more):
    """The highest bar of the first level, of one place and some more."""
    highest = bars[first, 0]
    for place in range(first, first + more + 1):
        highest = max(highest, bars[place, 0])
    return highest


# --- bounds against the bar that they must not exceed, millions of times a second -------------------------------------
#
# Bounds are q-norms of differences, before the root is taken. They are written so that the compiler makes vector
# instructions of them: sums in any order for q = 1 and 2, and for q = infinity the question whether any gap is larger.
# The parts of `near_pairs` become one piece of code: to call a function is to count the uses of its arrays, for which
# threads would wait for each other.


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
