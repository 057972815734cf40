"""A KD-tree over points that are sorted by class: boxes around boxes around leaves, a tree for each class.

Nodes are numbered in the order in which they are visited. If a box is too far away, the search goes on with node
`skip`; otherwise with the next one, which is the node's first child, or what follows a leaf.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

LEAF = 128  # points of a leaf at most


class Tree(NamedTuple):
    """Nodes, each with the box around its points."""

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
