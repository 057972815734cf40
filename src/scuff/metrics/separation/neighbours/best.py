"""The nearest pairs so far, and which pairs compete with each other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scuff.metrics.separation.neighbours.compiling import compiled

NO_ROW = np.iinfo(np.int64).max


class Competition(NamedTuple):
    """Which pairs compete: all with all, or those of the same point, or those of the same two classes.

    Each is a competition for a place. Of points of one class, the pair (i, j) competes for the place
    by_row * (i - the first i) + by_class * (the class of j).
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
