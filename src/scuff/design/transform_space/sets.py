"""Sets of corruptions whose errors match a target, benchmarks made of two of them, and what each of them adds.

Steps 6 to 8 of appendix D.1 of Mintun, Kirillov and Xie.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

MOST_SETS = 1 << 20  # beyond that, sets are drawn
MOST_SUMS = 1 << 35  # of all sets together: half a minute or so
MOST_ASSIGNMENTS = 1 << 24  # of one set: 128 MiB
ALL_PAIRS = 2048  # up to as many sets, all pairs are listed: rare disjoint ones could take long to draw
MOST_TRIES = 10_000  # rounds of drawing pairs until enough are disjoint
PIECE = 1 << 14  # sets that a thread takes at a time


@dataclass(frozen=True, eq=False)
class Sets:
    """Sets of candidates (S, h), ascending places, and which group of severities each of them has, `picks` (S, h)."""

    members: np.ndarray
    picks: np.ndarray

    def means(self, values: np.ndarray) -> np.ndarray:
        """Means over the groups of every set, (S,), of values (candidates, groups)."""
        return values[self.members, self.picks].mean(axis=1)


def choose_sets(candidates: int, half: int, groups: int, rng: np.random.Generator) -> tuple[np.ndarray, bool]:
    """All sets of `half` candidates, (S, half), or some that are drawn if they are too many; and whether it is all.

    >>> choose_sets(4, 2, 6, np.random.default_rng(0))[0].tolist()
    [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]
    """
    if groups**half > MOST_ASSIGNMENTS:
        raise ValueError(
            f"{half} corruptions with {groups} groups of severities each have {groups**half} combinations, more than "
            f"{MOST_ASSIGNMENTS}; choose a smaller benchmark, or candidates with fewer levels"
        )
    most = min(MOST_SETS, max(1, MOST_SUMS // groups**half))
    if math.comb(candidates, half) <= most:
        return np.array(list(itertools.combinations(range(candidates), half)), np.int64), True
    drawn = np.concatenate(
        [
            np.sort(np.argsort(rng.random((len(piece), candidates)), axis=1)[:, :half], axis=1)
            for piece in np.array_split(np.arange(most), math.ceil(most * candidates / (1 << 22)))
        ]
    )
    return np.unique(drawn, axis=0), False


def matched_sets(
    errors: np.ndarray, sets: np.ndarray, target: float, tolerance: float, draws: np.ndarray
) -> tuple[Sets, np.ndarray]:
    """The sets whose mean error can be the target, each with one of the assignments of groups for which it is.

    Parameters
    ----------
    errors
        Of the groups of every candidate, (candidates, groups); NaN where there is none.
    sets, draws
        Ascending places of candidates (S, h), and a number in [0, 1) for each set: which of its assignments is picked.
    tolerance
        An assignment is kept if its mean error is off by less than this share of the target.

    Returns
    -------
    tuple[Sets, np.ndarray]
        The sets that have any, and how many assignments of each of the given sets are kept, (S,).

    Examples
    --------
    >>> sets, kept = matched_sets(np.array([[0.1, 0.2], [0.3, 0.5]]), np.array([[0, 1]]), 0.2, 0.01, np.zeros(1))
    >>> sets.picks.tolist(), kept.tolist()
    ([[0, 0]], [1])
    """
    from scuff.design.transform_space.loops import match_sets
    from scuff.metrics.separation.neighbours.compiling import in_threads

    picks, kept = np.full(sets.shape, -1), np.zeros(len(sets), np.int64)
    shares = errors / (sets.shape[1] * target)

    def work(start: int) -> None:
        part = slice(start, start + PIECE)
        match_sets(shares, sets[part], draws[part], tolerance, picks[part], kept[part])

    for _ in in_threads(work, range(0, len(sets), PIECE)):
        pass
    return Sets(sets[kept > 0], picks[kept > 0]), kept


def keyed_draws(names: Sequence[str], sets: np.ndarray, seed: int, repetition: int) -> np.ndarray:
    """A number in [0, 1) for every set, which depends on the names of its members alone.

    >>> one, two = keyed_draws(["fog", "rain", "snow"], np.array([[0, 1], [0, 2]]), 0, 0)
    >>> bool(one == keyed_draws(["rain", "fog"], np.array([[0, 1]]), 0, 0)[0] != two)
    True
    """
    with np.errstate(over="ignore"):
        words = np.array([_word(name) for name in names], np.uint64)[sets].sum(axis=1, dtype=np.uint64)
        words += np.uint64(_word(f"{seed}|{repetition}"))
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):  # of SplitMix64
            words = (words ^ (words >> np.uint64(shift))) * np.uint64(factor)
        words ^= words >> np.uint64(31)
    return (words >> np.uint64(11)) * 2.0**-53


def draw_pairs(sets: Sets, count: int, rng: np.random.Generator) -> np.ndarray:
    """Ordered pairs of sets without a common member, drawn evenly with replacement: places (count, 2)."""
    size = len(sets.members)
    if size <= ALL_PAIRS:
        pairs = disjoint_pairs(sets.members)
        return pairs[rng.integers(0, len(pairs), count)] if len(pairs) else _refuse(size)
    has = np.zeros((size, sets.members.max() + 1), bool)
    np.put_along_axis(has, sets.members, True, axis=1)
    packed = np.packbits(has, axis=1)
    disjoint: list[np.ndarray] = []
    tries = 0
    while sum(map(len, disjoint)) < count:
        pairs = rng.integers(0, size, (count, 2))
        disjoint.append(pairs[~(packed[pairs[:, 0]] & packed[pairs[:, 1]]).any(axis=1)])
        tries += 1
        if tries > MOST_TRIES:
            _refuse(size)
    return np.concatenate(disjoint)[:count]


def disjoint_pairs(members: np.ndarray) -> np.ndarray:
    """All ordered pairs of sets (S, h) without a common member: places (P, 2).

    >>> disjoint_pairs(np.array([[0, 1], [0, 2], [2, 3]])).tolist()
    [[0, 2], [2, 0]]
    """
    has = np.zeros((len(members), members.max(initial=0) + 1), np.float32)
    np.put_along_axis(has, members, 1, axis=1)
    return np.argwhere(has @ has.T == 0)


def contribution(members: np.ndarray, distances: np.ndarray, candidates: int) -> np.ndarray:
    """The shift of every candidate, (candidates,), from benchmarks (M, size) and their distances (M,).

    The mean distance of benchmarks with it, minus that of all benchmarks, in standard deviations of all. NaN for a
    candidate of no benchmark.

    >>> contribution(np.array([[0, 1], [0, 2], [1, 2]]), np.array([2.0, 2.0, 5.0]), 3).round(3).tolist()
    [-0.707, 0.354, 0.354]
    """
    size = members.shape[1]
    sums = np.bincount(members.ravel(), np.repeat(distances - distances.mean(), size), candidates)
    times = np.bincount(members.ravel(), minlength=candidates)
    deviation = distances.std() if np.ptp(distances) > 0 else 1.0  # where all are equal, no shift is anything but 0
    with np.errstate(invalid="ignore"):
        return sums / times / deviation


def _word(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def _refuse(sets: int) -> np.ndarray:
    raise ValueError(
        f"sets of candidates that match the error of the reference: {sets}, but no two of them without a common "
        "corruption; give more candidates, or a larger tolerance"
    )
