"""The search for benchmarks that correlate best: exhaustive where possible, else greedy.

It runs over many sets of models at once, because cross-validation chooses on many parts of the models.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np

from scuff.design.validity.moments import FLAT, Moments, inverse_deviations

MOST_PRODUCTS = 1 << 27  # of benchmarks and pairs of candidates: a few seconds for a hundred sets of models
PIECE = 1 << 14  # benchmarks that are looked at together
STARTS = 10  # single corruptions to begin with
LEAST_GAIN = 1e-12  # smaller ones are rounding, and would go round in circles

Advance = Callable[[int, int], None]


def is_exact(candidates: int, size: int) -> bool:
    """Whether all benchmarks of that size are tried."""
    return math.comb(candidates, size) * candidates * (candidates + 1) // 2 <= MOST_PRODUCTS


def find_best(moments: Moments, size: int, advance: Advance) -> np.ndarray:
    """The members (R, C) of the benchmark that correlates best over each of R sets of models.

    `moments` must have one natural benchmark; where this does not vary, there is no member. `advance` is called with
    (done, to do). Of several that correlate equally, the one whose members come first is taken. If there are too many
    benchmarks to try all, a greedy search from several single corruptions adds the best one by one, then exchanges.

    >>> from scuff.design.validity.moments import find_moments
    >>> x = np.array([[0.0, 1.0, 0.0], [1.0, 1.0, 0.0], [2.0, 0.0, 2.0], [3.0, 3.0, 5.0]])
    >>> find_best(find_moments(x, x[:, :1] + x[:, 2:]), 2, lambda done, total: None).tolist()
    [[1.0, 0.0, 1.0]]
    """
    candidates = moments.cross.shape[1]
    if is_exact(candidates, size):
        return _try_all(moments, size, advance)
    found = []
    for number in range(len(moments.pairs)):
        advance(number, len(moments.pairs))
        landscape = _Landscape(moments, number)
        known = np.isfinite(landscape.cross).all()
        found.append(_climb_from_several(landscape, size) if known else np.zeros(candidates))
    advance(len(found), len(found))
    return np.array(found)


def _try_all(moments: Moments, size: int, advance: Advance) -> np.ndarray:
    sets, candidates = len(moments.pairs), moments.cross.shape[1]
    best, members = np.full(sets, -np.inf), np.zeros((sets, candidates))
    done, total = 0, math.comb(candidates, size)
    combinations = itertools.combinations(range(candidates), size)
    while places := list(itertools.islice(combinations, PIECE)):
        advance(done, total)
        piece = np.zeros((len(places), candidates))
        np.put_along_axis(piece, np.array(places), 1, axis=1)
        for block, inverse in inverse_deviations(piece, moments):
            values = moments.cross[:, :, 0] @ piece[block].T * inverse
            values[inverse == 0] = -np.inf  # does not vary
            first = values.argmax(axis=1)
            highest = values[np.arange(sets), first]
            better = highest > best
            best[better], members[better] = highest[better], piece[block][first[better]]
        done += len(places)
    advance(total, total)
    return members


class _Landscape:
    """Correlations over one set of models, of a benchmark and of those that differ by one corruption."""

    def __init__(self, moments: Moments, number: int) -> None:
        candidates = moments.cross.shape[1]
        covariances = np.zeros((candidates, candidates))
        covariances[np.triu_indices(candidates)] = moments.pairs[number]
        self.covariances = (covariances + covariances.T) / 2  # pairs of different corruptions are counted twice
        self.cross = moments.cross[number, :, 0]
        self.scales = moments.scales

    def value(self, members: np.ndarray) -> float:
        covariance, variance = members @ self.cross, members @ self.covariances @ members
        return float(self._divide(covariance, variance, members @ self.scales))

    def after_adding(self, members: np.ndarray, new: np.ndarray) -> np.ndarray:
        """Correlations when one of the new corruptions (b,) is added: (b,)."""
        with_all = self.covariances @ members
        variances = members @ with_all + 2 * with_all[new] + self.covariances[new, new]
        return self._divide(members @ self.cross + self.cross[new], variances, members @ self.scales + self.scales[new])

    def after_exchange(self, members: np.ndarray, old: np.ndarray, new: np.ndarray) -> np.ndarray:
        """Correlations when one of the old corruptions (a,) gives way to one of the new ones (b,): (a, b)."""
        with_all, own = self.covariances @ members, np.diag(self.covariances)
        gains = (own + 2 * with_all)[new] + (own - 2 * with_all)[old][:, None]
        variances = members @ with_all + gains - 2 * self.covariances[np.ix_(old, new)]
        covariances, scales = (
            members @ values + values[new] - values[old][:, None] for values in (self.cross, self.scales)
        )
        return self._divide(covariances, variances, scales)

    @staticmethod
    def _divide(covariances: np.ndarray, variances: np.ndarray, scales: np.ndarray) -> np.ndarray:
        flat = variances <= FLAT * scales
        return np.where(flat, -np.inf, covariances / np.sqrt(np.where(flat, 1.0, variances)))


def _climb_from_several(landscape: _Landscape, size: int) -> np.ndarray:
    candidates = len(landscape.cross)
    single = landscape.after_adding(np.zeros(candidates), np.arange(candidates))
    found = []
    for start in np.argsort(-single, kind="stable")[:STARTS]:
        members = np.zeros(candidates)
        members[start] = 1
        for _ in range(1, size):
            unused = np.flatnonzero(members == 0)
            members[unused[landscape.after_adding(members, unused).argmax()]] = 1
        found.append(_exchange(landscape, members))
    return max(found, key=landscape.value)


def _exchange(landscape: _Landscape, members: np.ndarray) -> np.ndarray:
    """Exchange one corruption for another, always the best of all exchanges, as long as the correlation rises."""
    value = landscape.value(members)
    while True:
        old, new = np.flatnonzero(members), np.flatnonzero(members == 0)
        values = landscape.after_exchange(members, old, new)
        a, b = np.unravel_index(values.argmax(), values.shape)
        if not values[a, b] > value + LEAST_GAIN:
            return members
        value = float(values[a, b])
        members[old[a]], members[new[b]] = 0, 1
