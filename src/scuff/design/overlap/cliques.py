"""The largest cliques of a graph: the largest sets of vertices that are all joined to each other.

A whole number serves as a set of vertices, bit v for vertex v, so that a set of a hundred of them is intersected with
another at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np

Narrow = Callable[[tuple[int, ...], int], int]  # (vertices chosen so far, candidates) -> those still worth trying


class Graph(NamedTuple):
    """For each vertex the set of those that it is joined to, and the set of the other ones without itself."""

    near: tuple[int, ...]
    far: tuple[int, ...]

    @property
    def all(self) -> int:
        """The set of all vertices."""
        return (1 << len(self.near)) - 1


def make_graph(joined: np.ndarray) -> Graph:
    """A graph from a symmetric matrix of truth values; the diagonal does not matter.

    >>> [bin(near) for near in make_graph(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], bool)).near]
    ['0b10', '0b101', '0b10']
    """
    others = ~np.eye(len(joined), dtype=bool)
    near, far = (tuple(_pack(row) for row in matrix & others) for matrix in (joined, ~joined))
    return Graph(near, far)


def search_order(joined: np.ndarray) -> np.ndarray:
    """The order of vertices in which `cliques` is fastest: the densest part first.

    The vertex that is joined to the fewest others is taken away, again and again; the first to go is the last in order.

    >>> star = np.array([[0, 1, 1, 1], [1, 0, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0]], bool)
    >>> search_order(star).tolist()
    [2, 1, 0, 3]
    """
    joined = joined & ~np.eye(len(joined), dtype=bool)
    degrees = joined.sum(axis=0)
    order: list[int] = []
    for _ in range(len(joined)):
        degrees[order] = len(joined)  # more than any that is left
        vertex = int(degrees.argmin())
        degrees -= joined[vertex]
        order.append(vertex)
    return np.array(order[::-1])


def largest_cliques(graph: Graph, most: int) -> list[tuple[int, ...]]:
    """The cliques of the largest size there is, up to `most` of them.

    >>> square = make_graph(np.array([[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]], bool))
    >>> sorted(map(sorted, largest_cliques(square, 10)))
    [[0, 1], [0, 3], [1, 2], [2, 3]]
    """
    size = len(split(graph, graph.all, len(graph.near))[0])
    while not (largest := list(islice(cliques(graph, size), most))):
        size -= 1
    return largest


def cliques(graph: Graph, size: int, narrow: Narrow | None = None) -> Iterator[tuple[int, ...]]:
    """All cliques of a size, each once. `narrow` may leave out candidates that are of no interest.

    Branch and bound after Tomita and Seki, with sets of bits after San Segundo. The candidates are split into classes
    of vertices that are not joined to each other. A clique has at most one of each class, so if m vertices are missing,
    m - 1 classes cannot hold them all: at least one is among the candidates that are left. Only these are tried.
    """
    return _extend(graph, size, (), graph.all, narrow)


def _extend(
    graph: Graph, size: int, chosen: tuple[int, ...], candidates: int, narrow: Narrow | None
) -> Iterator[tuple[int, ...]]:
    missing = size - len(chosen)
    if missing == 0:
        yield chosen
        return
    if narrow is not None:
        candidates = narrow(chosen, candidates)
    if candidates.bit_count() < missing:
        return
    _, tried = split(graph, candidates, missing - 1)
    while tried:
        vertex = tried.bit_length() - 1  # from the sparse end, where little is left to search
        tried ^= 1 << vertex
        candidates ^= 1 << vertex
        yield from _extend(graph, size, (*chosen, vertex), candidates & graph.near[vertex], narrow)


def split(graph: Graph, candidates: int, count: int) -> tuple[list[int], int]:
    """At most `count` classes of candidates that are not joined to each other, and the candidates that are left."""
    far = graph.far
    classes: list[int] = []
    while candidates:
        members, free = 0, candidates
        while free:
            lowest = free & -free
            members |= lowest
            free &= far[lowest.bit_length() - 1]
        candidates ^= members
        classes.append(members)
    classes.sort(key=int.bit_count, reverse=True)  # what is left is little, and begins with what cannot be avoided
    kept, rest = classes[:count], sum(classes[count:])
    return kept, _squeeze(graph.near, kept, rest)


def _squeeze(near: tuple[int, ...], classes: list[int], rest: int) -> int:
    """Put vertices of the rest into classes, and return those that fit nowhere.

    A vertex fits into a class if it is joined to none of it, or to one alone that can move to another class. This takes
    time, and saves far more: what is left has to be tried.
    """
    unplaced = rest
    while unplaced:
        lowest = unplaced & -unplaced
        unplaced ^= lowest
        if _place(near, classes, lowest):
            rest ^= lowest
    return rest


def _place(near: tuple[int, ...], classes: list[int], vertex: int) -> bool:
    neighbours = near[vertex.bit_length() - 1]
    for place, members in enumerate(classes):
        hindrance = members & neighbours
        if hindrance & (hindrance - 1):
            continue  # two or more
        if not hindrance:
            classes[place] |= vertex
            return True
        others = near[hindrance.bit_length() - 1]
        for elsewhere, class_ in enumerate(classes):
            if not class_ & others and elsewhere != place:
                classes[elsewhere] |= hindrance
                classes[place] ^= hindrance | vertex
                return True
    return False


def vertices(members: int) -> list[int]:
    """The vertices of a set, in order.

    >>> vertices(0b1101)
    [0, 2, 3]
    """
    places = []
    while members:
        lowest = members & -members
        places.append(lowest.bit_length() - 1)
        members ^= lowest
    return places


def _pack(row: np.ndarray) -> int:
    return sum(1 << int(vertex) for vertex in np.flatnonzero(row))
