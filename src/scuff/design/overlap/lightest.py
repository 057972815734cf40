"""The lightest cliques of a size: those whose pairs have the least sum of weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from scuff.design.overlap.cliques import Graph, cliques, split, vertices

MOST_TIES = 100
EFFORT = 10_000  # steps of the search: about ten seconds
SWEEPS = 15  # more of them make a step slower and the steps fewer; from here on they cost more than they save
STARTS = 100  # of known cliques, from which lighter ones are looked for
SAME = 1e-12  # means that differ by less are the same


class Lightest(NamedTuple):
    """The lightest cliques that were found, all of the same weight, and whether it is proven that none is lighter."""

    cliques: list[tuple[int, ...]]
    proven: bool


def lightest_of(known: Sequence[tuple[int, ...]], weights: np.ndarray) -> list[tuple[int, ...]]:
    """The lightest of cliques of one size, with all that tie with it.

    >>> lightest_of([(0, 1), (2, 1)], np.array([[0, 3, 2], [3, 0, 1], [2, 1, 0]]))
    [(1, 2)]
    """
    size = len(known[0])
    inside = np.zeros((len(known), len(weights)))
    np.put_along_axis(inside, np.array(known), 1, axis=1)
    totals = np.einsum("cv,vu,cu->c", inside, _without_diagonal(weights), inside, optimize=True) / 2
    ties = np.flatnonzero(totals <= totals.min() + SAME * math.comb(size, 2))
    return sorted(tuple(sorted(known[int(tie)])) for tie in ties)


def find_lightest(
    graph: Graph, weights: np.ndarray, size: int, known: Sequence[tuple[int, ...]] = (), effort: int = EFFORT
) -> Lightest:
    """The lightest of all cliques of a size, and up to 100 that tie with it. Weights are at least 0.

    Branch and bound: what can no longer become lighter than the lightest clique so far is left out. Exact, unless that
    takes more than `effort` steps. Cliques that are `known` give it a better start.

    >>> from scuff.design.overlap.cliques import make_graph
    >>> find_lightest(make_graph(np.ones((3, 3), bool)), np.array([[0, 3, 2], [3, 0, 1], [2, 1, 0]]), 2)
    Lightest(cliques=[(1, 2)], proven=True)
    """
    search = _Search(graph, weights, size, effort)
    for clique in known[:: math.ceil(len(known) / STARTS) or 1]:
        search.offer(_exchange(search.weights, clique))
    for clique in cliques(graph, size, search.narrow):
        search.offer(clique)
    return Lightest(sorted(search.lightest), search.steps <= effort)


class _Search:
    """The lightest cliques so far, and what can still join them."""

    def __init__(self, graph: Graph, weights: np.ndarray, size: int, effort: int) -> None:
        joined = np.array([[near >> v & 1 for v in range(len(graph.near))] for near in graph.near], bool)
        self.graph, self.size, self.effort = graph, size, effort
        self.weights = _without_diagonal(np.where(joined, weights, np.inf))
        self.margin = SAME * math.comb(size, 2)
        self.lightest: list[tuple[int, ...]] = []
        self.least = np.inf
        self.steps = 0

    def offer(self, clique: tuple[int, ...]) -> None:
        """Remember a clique if it is lighter than all so far, or as light as they are."""
        clique, weight = tuple(sorted(clique)), self._weigh(clique)
        if weight < self.least - self.margin:
            self.least, self.lightest = weight, [clique]
        elif weight <= self._wanted() and clique not in self.lightest:
            self.lightest.append(clique)

    def narrow(self, chosen: tuple[int, ...], candidates: int) -> int:
        """Those candidates with which the chosen vertices can become one of the lightest cliques."""
        self.steps += 1
        missing = self.size - len(chosen)
        classes, rest = split(self.graph, candidates, missing - 1)
        if not rest or self.steps > self.effort:
            return 0
        classes += split(self.graph, rest, len(self.graph.near))[0]
        members = [vertices(class_) for class_ in classes]
        places, wanted = np.concatenate(members), self._wanted() - self._weigh(chosen)
        alone = self.weights[np.ix_(np.array(chosen, int), places)].sum(axis=0)
        between = self.weights[np.ix_(places, places)]
        if len(members) == missing and np.isfinite(wanted):
            least = _least_of_all(alone, between, list(map(len, members)), wanted)
        else:
            least = _least_of_some(alone, between, list(map(len, members)), missing)
        return sum(1 << v for v in places[least <= wanted].tolist())

    def _wanted(self) -> float:
        """The largest weight that is of interest: that of a tie, or, if there are enough ties, only less than these."""
        return self.least + (self.margin if len(self.lightest) <= MOST_TIES else -self.margin)

    def _weigh(self, clique: tuple[int, ...]) -> float:
        return float(self.weights[np.ix_(clique, clique)].sum() / 2)


# Bounds. The candidates are sorted into classes of the given sizes, and a clique takes at most one of each. `alone` are
# the weights of candidates to what has been chosen, `between` those to each other. The result says for each candidate
# how much a clique that takes it adds to what has been chosen, at least.


def _least_of_some(alone: np.ndarray, between: np.ndarray, sizes: list[int], missing: int) -> np.ndarray:
    """The bound for a clique that takes `missing` candidates, one from each of as many classes.

    Each one adds its weights to what has been chosen, and half of those to the others: no less than its `missing` - 1
    smallest weights to other classes. A class adds what the best of its members does.
    """
    starts, class_of = _layout(sizes)
    to_classes = np.minimum.reduceat(between, starts, axis=1)
    to_classes[np.arange(len(class_of)), class_of] = np.inf
    halves = np.partition(to_classes, missing - 2, axis=1)[:, : missing - 1].sum(axis=1) / 2
    each = alone + halves
    of_classes = np.minimum.reduceat(each, starts)
    best = np.sort(of_classes)[:missing]
    if not np.isfinite(best[-1]):  # in some class, no candidate is joined to enough others
        return np.full(len(class_of), np.inf)
    return each + best.sum() - np.minimum(of_classes, best[-1])[class_of]


def _least_of_all(alone: np.ndarray, between: np.ndarray, sizes: list[int], wanted: float) -> np.ndarray:
    """The bound for a clique that takes one candidate of every class: sharper, because nothing can be avoided.

    The weight of a pair counts in parts, one for each of the two candidates, and any division of it gives a bound. Each
    sweep finds a better one. What a candidate has beyond the best of its class, and a pair beyond the best of the
    candidate's pairs with that class, helps no bound where it is: half of it goes to the other side, where it may.
    """
    starts, class_of = _layout(sizes)
    apart = class_of[:, None] != class_of
    parts = np.where(apart, np.minimum(between, wanted + 1) / 2, 0)  # a pair that is not joined is one too heavy
    for sweep in range(SWEEPS + 1):
        to_classes = np.minimum.reduceat(parts, starts, axis=1)
        each = alone + to_classes.sum(axis=1)
        of_classes = np.minimum.reduceat(each, starts)
        if sweep == SWEEPS or of_classes.sum() > wanted:
            break
        idle = parts - to_classes[:, class_of] + ((each - of_classes[class_of]) / max(len(sizes) - 1, 1))[:, None]
        parts += np.where(apart, (idle.T - idle) / 2, 0)
    return each + of_classes.sum() - of_classes[class_of]


def _layout(sizes: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Where classes start, and the class of each candidate."""
    return np.cumsum([0, *sizes[:-1]]), np.repeat(np.arange(len(sizes)), sizes)


def _exchange(weights: np.ndarray, clique: tuple[int, ...]) -> tuple[int, ...]:
    """A clique that is lighter, by exchanging one vertex for another as long as that helps; `weights` are inf apart."""
    far = np.isinf(weights)
    weights, inside = np.where(far, 0, weights), np.zeros(len(weights), bool)
    inside[list(clique)] = True
    while True:
        hindrances = far & inside
        enter = np.flatnonzero(~inside & (hindrances.sum(axis=1) == 1))
        leave = hindrances[enter].argmax(axis=1)
        cost = weights @ inside
        gains = cost[leave] - cost[enter]
        if not len(gains) or gains.max() <= SAME:
            return tuple(np.flatnonzero(inside).tolist())
        best = gains.argmax()
        inside[enter[best]], inside[leave[best]] = True, False


def _without_diagonal(weights: np.ndarray) -> np.ndarray:
    return np.where(np.eye(len(weights), dtype=bool), 0, weights)
