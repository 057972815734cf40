"""The search for the nearest pairs of different classes: of all points, of each two classes, or for each point."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

import numpy as np

from scuff.metrics.separation.neighbours.compiling import compiled
from scuff.metrics.separation.neighbours.prepare import Prepared

NO_ROW = np.iinfo(np.int64).max


class Competition(NamedTuple):
    """Which pairs compete for a place: all with all, or those of the same point, or those of the same two classes.

    Of points of one class, the pair (i, j) competes for by_row * (i - the first i) + by_class * (the class of j).
    """

    by_row: int
    by_class: int


ALL, POINTS, CLASSES = Competition(0, 0), Competition(1, 0), Competition(0, 1)


class Task(NamedTuple):
    """Points of one class that are compared with others: positions from start to stop."""

    label: int
    start: int
    stop: int


class Best(NamedTuple):
    """Of each place the nearest pair so far. Of pairs that are equally near it is the one whose rows come first."""

    powers: np.ndarray  # float64 (places,): of the distance; infinity where there is no pair
    first: np.ndarray  # int64 (places,): the smaller row of the pair
    second: np.ndarray  # and the larger one


def no_pairs(powers: np.ndarray) -> Best:
    """Places that wait for pairs which are at most so far apart."""
    return Best(powers.copy(), np.full(len(powers), NO_ROW), np.full(len(powers), NO_ROW))


class Searcher(Protocol):
    """Where tasks run: the cores of this machine, or a GPU."""

    prepared: Prepared

    def tasks(self) -> list[Task]:
        """All points, in parts."""

    def run(self, work: Callable[[Task], Best], tasks: list[Task]) -> Iterator[tuple[Task, Best]]:
        """Each task with its result, as they end."""

    def scan(self, task: Task, others: np.ndarray, competition: Competition, best: Best) -> None:
        """Compare the points of a task with all points of some other classes, and keep the nearest pairs."""


def search(searcher: Searcher, competition: Competition, progress: Callable[[int, int], None] | None = None) -> Best:
    """The nearest pairs: one of ALL; one for each position of POINTS; and of CLASSES one for each two, the earlier
    class times their number plus the later one.

    It does not matter in what order tasks end, nor what one knew of the others: pairs as near as the best so far are
    never passed over, and of these the same one is kept in the end.
    """
    sizes = np.diff(searcher.prepared.starts)
    classes = np.arange(len(sizes))
    best = no_pairs(np.full({ALL: 1, POINTS: sizes.sum(), CLASSES: len(sizes) ** 2}[competition], np.inf))

    def places_of(task: Task) -> np.ndarray:
        if competition == POINTS:
            return np.arange(task.start, task.stop)
        return classes + len(classes) * task.label if competition == CLASSES else np.zeros(1, np.int64)

    def others_of(task: Task) -> np.ndarray:
        return classes[classes != task.label] if competition == POINTS else classes[task.label + 1 :]

    def work(task: Task) -> Best:
        local = no_pairs(best.powers[places_of(task)])
        searcher.scan(task, others_of(task), competition, local)
        return local

    tasks = searcher.tasks()
    pairs = {task: (task.stop - task.start) * int(sizes[others_of(task)].sum()) for task in tasks}
    done, total = 0, sum(pairs.values())
    for task, local in searcher.run(work, tasks):
        offer_all(best, places_of(task), *local)
        done += pairs[task]
        if progress is not None:
            progress(done, total)
    return best


@compiled
def offer(best, place, power, a, b):
    """Keep a pair if it is nearer than the best so far, or as near and its rows come first."""
    a, b = min(a, b), max(a, b)
    first, second = best.first[place], best.second[place]
    if power < best.powers[place] or (power == best.powers[place] and (a < first or (a == first and b < second))):
        best.powers[place], best.first[place], best.second[place] = power, a, b


@compiled
def offer_all(best, places, powers, first, second):
    for k in range(len(places)):
        offer(best, places[k], powers[k], first[k], second[k])


@compiled
def set_bars(bars, place, power, p, bounds):
    """What the bounds of each level must not exceed if a pair is to be at most as far apart."""
    limit = bounds.spread * (power if p == 1 or p == np.inf else power ** (1 / p))
    for level in range(len(bounds.slack)):
        bar = limit + bounds.slack[level]
        bars[place, level] = (bar * bar if bounds.q == 2 else bar) * bounds.margin[level]


@compiled
def make_bars(powers, p, bounds):
    """The bars of all places: float32 (places, levels)."""
    bars = np.empty((len(powers), len(bounds.slack)), np.float32)
    for place in range(len(powers)):
        set_bars(bars, place, powers[place], p, bounds)
    return bars
