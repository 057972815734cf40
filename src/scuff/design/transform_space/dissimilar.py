"""A benchmark as hard as an existing one, of corruptions that look different to a network.

Appendix D.1 of Mintun, Kirillov and Xie, by which CIFAR-10-C-bar and ImageNet-C-bar were made of 30 candidates:

1. A scan gives the error and the centre in feature space of every corruption at every severity.
2. The benchmark is to have the mean error of the reference, and its five severities are to differ as those do.
3. Many benchmarks are drawn: two disjoint sets of candidates each, all with the right error.
4. The distance of a benchmark is how far its corruptions are from the nearest of the reference on average. A
   candidate's shift says by how much benchmarks with it are farther away than others.
5. The candidates with the largest shifts are the new benchmark, with severities for which its error is the right one.

Steps 1 to 3 may be repeated with other classifiers, extractors and images: shifts are averaged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from scuff.design.transform_space.groups import LEVELS, Groups, Scan, average_spread, group_candidates
from scuff.design.transform_space.sets import (
    Sets,
    choose_sets,
    contribution,
    draw_pairs,
    keyed_draws,
    matched_sets,
)
from scuff.suites import Suite, combine_suites, load_suite


@dataclass(frozen=True, eq=False)
class Dissimilar:
    """A benchmark that is dissimilar to a reference, and how it was found.

    `shifts` has a line per candidate, the largest shift first: corruption, shift (the mean over repetitions), sd (over
    repetitions) and chosen. `picks` has a line per member and level: corruption, level (1 to 5), severity (that of the
    candidate), error and distance. `error` and `distance` are those of the benchmark in the `repetition` in which it
    comes closest to the `target`. `candidate_errors` and `candidate_distances` (repetitions, benchmarks) are those of
    all benchmarks that were drawn; `spreads` are the wanted relative differences of errors, and `matched_sets` the
    numbers of sets with the right error, of `sets` that were tried; if `all_sets` is false, these were drawn.
    """

    members: tuple[str, ...]
    shifts: pd.DataFrame = field(repr=False)
    picks: pd.DataFrame = field(repr=False)
    target: float
    error: float
    distance: float
    repetition: int
    candidate_errors: np.ndarray = field(repr=False)
    candidate_distances: np.ndarray = field(repr=False)
    spreads: tuple[float, ...] = ()
    matched_sets: tuple[int, ...] = ()
    sets: int = 0
    all_sets: bool = True

    @property
    def levels(self) -> dict[str, tuple[int, ...]]:
        """The five severities of every member, as its own suite numbers them."""
        return {name: tuple(map(int, each["severity"])) for name, each in self.picks.groupby("corruption", sort=False)}

    def to_suite(self, name: str, suites: Sequence[Suite] = ()) -> Suite:
        """The members at their five severities as a benchmark; their suites are looked up in `suites`, then among the
        bundled ones."""
        given = {suite.name: suite for suite in suites}
        levels: dict[str, dict[str, tuple[int, ...]]] = {}
        for address, severities in self.levels.items():
            suite, _, entry = address.rpartition("/")
            levels.setdefault(suite, {})[entry] = severities
        cut = [_take_levels(given.get(suite) or load_suite(suite), each) for suite, each in levels.items()]
        about = f"{len(self.members)} corruptions of {', '.join(levels)} that are far from those of another benchmark"
        return combine_suites(name, self.members, cut, about=about)


def _take_levels(suite: Suite, levels: Mapping[str, Sequence[int]]) -> Suite:
    """Some entries of a suite, each at some of its levels."""
    entries = {
        entry: {
            key: [value[level - 1] for level in chosen] if isinstance(value, list) else value
            for key, value in suite.entries[entry].items()
        }
        for entry, chosen in levels.items()
    }
    nothing: dict[str, Any] = {
        "validation": (),
        "aliases": {},
        "categories": {},
        "compare_to_first": (),
        "monotone": {},
    }
    return replace(suite, entries=entries, severities=LEVELS, **nothing)


SIZE = 10
TOLERANCE = 0.01
CANDIDATES = 100_000


def find_dissimilar(
    scans: Sequence[Scan],
    *,
    size: int = SIZE,
    tolerance: float = TOLERANCE,
    candidates: int = CANDIDATES,
    spread: float | None = None,
    seed: int = 0,
    progress: Callable[[str, int, int], None] | None = None,
) -> Dissimilar:
    """Choose those candidates that make benchmarks most dissimilar to the reference, and their severities.

    Parameters
    ----------
    scans
        One per repetition, all of the same corruptions.
    size
        Of the benchmark: an even number, because benchmarks are made of two halves.
    tolerance
        Relative deviation allowed for the error of a half.
    candidates
        Number of benchmarks drawn in every repetition, to compare those with a corruption to all.
    spread
        The relative difference of errors between the middle severity and the outer ones. By default that of the
        reference, in each repetition. Give it if the reference has fewer than three severities, or none.
    progress
        Called with (what is being done, repetitions done, repetitions to do).
    """
    check_wanted(size, tolerance, candidates, spread, seed)
    _check_scans(scans, size)
    progress = progress or (lambda what, done, total: None)
    target = float(np.mean([scan.target() for scan in scans]))
    if not target > 0:
        raise ValueError("the classifiers make no errors on the reference, which no benchmark can be as hard as")
    spreads, grouped, drawn = [], [], []
    for repetition, scan in enumerate(scans):
        progress("drawing benchmarks", repetition, len(scans))
        spreads.append(average_spread(scan) if spread is None else float(spread))
        grouped.append(group_candidates(scan, spreads[-1]))
        drawn.append(_draw_benchmarks(grouped[-1], size // 2, target, tolerance, candidates, seed, repetition))
    progress("drawing benchmarks", len(scans), len(scans))
    shifts = _average_shifts(grouped[0].names, np.array([benchmarks.shifts for benchmarks in drawn]), size)
    members = tuple(sorted(shifts.loc[shifts["chosen"], "corruption"]))
    repetition, error, distance, picks = _choose_severities(grouped, members, target, tolerance, seed)
    return Dissimilar(
        members,
        shifts,
        _describe_picks(scans[repetition], grouped[repetition], members, picks),
        target,
        error,
        distance,
        repetition,
        np.array([benchmarks.errors for benchmarks in drawn]),
        np.array([benchmarks.distances for benchmarks in drawn]),
        tuple(spreads),
        tuple(benchmarks.matched for benchmarks in drawn),
        drawn[0].sets,
        drawn[0].all_sets,
    )


# --- the steps ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Drawn:
    """The benchmarks of one repetition."""

    errors: np.ndarray
    distances: np.ndarray
    shifts: np.ndarray
    matched: int
    sets: int
    all_sets: bool


def _draw_benchmarks(
    groups: Groups, half: int, target: float, tolerance: float, count: int, seed: int, repetition: int
) -> _Drawn:
    """Many benchmarks of two disjoint sets with the right error, and what every candidate adds to their distance."""
    rng = np.random.default_rng([seed, repetition])
    sets, are_all = choose_sets(len(groups.names), half, groups.errors.shape[1], rng)
    matched, _ = _match(groups, sets, target, tolerance, seed, repetition)
    if not len(matched.members):
        _refuse(groups, half, target, tolerance, repetition)
    pairs = draw_pairs(matched, count, rng)
    errors, distances = (matched.means(values)[pairs].mean(axis=1) for values in (groups.errors, groups.distances))
    members = matched.members[pairs].reshape(count, -1)
    shifts = contribution(members, distances, len(groups.names))
    return _Drawn(errors, distances, shifts, len(matched.members), len(sets), are_all)


def _match(
    groups: Groups, sets: np.ndarray, target: float, tolerance: float, seed: int, repetition: int
) -> tuple[Sets, np.ndarray]:
    draws = keyed_draws(groups.names, sets, seed, repetition)
    return matched_sets(groups.errors, sets, target, tolerance, draws)


def _average_shifts(names: Sequence[str], shifts: np.ndarray, size: int) -> pd.DataFrame:
    """Shifts (repetitions, candidates) as a table, the largest first; of equal ones the first by name.

    `repetitions` says in how many of them a candidate is in any benchmark of the right error, and so has a shift.
    """
    known = np.isfinite(shifts).sum(axis=0)
    if (known > 0).sum() < size:
        never = [name for name, times in zip(names, known, strict=True) if not times]
        raise ValueError(
            f"only {(known > 0).sum()} candidates are in any benchmark of the right error, {size} are wanted; in none "
            f"are {', '.join(never)}. Give a larger tolerance, or candidates with milder or more severe levels"
        )
    table = pd.DataFrame(shifts.T, index=list(names))  # pandas skips NaN
    lines = pd.DataFrame(
        {
            "corruption": names,
            "shift": table.mean(axis=1).to_numpy(),
            "sd": table.std(axis=1).to_numpy(),
            "repetitions": known,
        }
    )
    lines = lines.sort_values("shift", ascending=False, kind="stable", ignore_index=True)
    return lines.assign(chosen=lines.index < size)


def _choose_severities(
    tables: Sequence[Groups], members: Sequence[str], target: float, tolerance: float, seed: int
) -> tuple[int, float, float, dict[str, int]]:
    """The two halves of the members whose error is closest to the target in any repetition.

    Returns the repetition, its error and distance, and the group of severities of every member.
    """
    sets = np.array([tables[0].names.index(name) for name in members])[_halves(len(members), tables[0].errors.shape[1])]
    best = None
    for repetition, groups in enumerate(tables):
        matched, kept = _match(groups, sets.reshape(-1, sets.shape[2]), target, tolerance, seed, repetition)
        is_kept = (kept > 0).reshape(-1, 2)
        pairs = (np.cumsum(kept > 0) - 1).reshape(-1, 2)[is_kept.all(axis=1)]
        if not len(pairs):
            continue
        errors = matched.means(groups.errors)[pairs].mean(axis=1)
        nearest = int(np.argmin(np.abs(errors - target)))
        if best is None or abs(errors[nearest] - target) < abs(best[1] - target):
            chosen = pairs[nearest]
            picks = zip(matched.members[chosen].ravel(), matched.picks[chosen].ravel(), strict=True)
            distance = float(matched.means(groups.distances)[chosen].mean())
            best = (repetition, float(errors[nearest]), distance, {groups.names[m]: int(pick) for m, pick in picks})
    if best is None:
        raise ValueError(
            f"the corruptions with the largest shifts, {', '.join(members)}, cannot be halved so that both halves have "
            f"an error within {100 * tolerance:g} % of {target:.4f}; give a larger tolerance, or candidates with more "
            "levels"
        )
    return best


def _halves(size: int, groups: int) -> np.ndarray:
    """All ways to split the places 0, 1, ..., `size` - 1 into two halves: (ways, 2, size / 2).

    From 18 places on there are too many, and some are drawn, as for sets of candidates.
    """
    others, _ = choose_sets(size - 1, size // 2 - 1, groups, np.random.default_rng(0))
    is_first = np.zeros((len(others), size), bool)
    is_first[:, 0] = True  # to which half it belongs makes no difference
    np.put_along_axis(is_first, others + 1, True, axis=1)
    return np.stack([np.nonzero(half)[1].reshape(len(others), -1) for half in (is_first, ~is_first)], axis=1)


def _describe_picks(scan: Scan, groups: Groups, members: Sequence[str], picks: dict[str, int]) -> pd.DataFrame:
    """A line per member and level."""
    errors, distances = scan.errors("candidate"), scan.distances()
    lines = []
    for name in members:
        places = groups.places[groups.names.index(name), picks[name]]
        lines.append(
            pd.DataFrame(
                {
                    "corruption": name,
                    "level": np.arange(1, LEVELS + 1),
                    "severity": errors[name].index.to_numpy()[places],
                    "error": errors[name].to_numpy()[places],
                    "distance": distances[name][places],
                }
            )
        )
    return pd.concat(lines, ignore_index=True)


def check_wanted(size: int, tolerance: float, candidates: int, spread: float | None, seed: int) -> None:
    """Refuse arguments of `find_dissimilar` that make no sense."""
    if type(size) is not int or size < 2 or size % 2:
        raise ValueError(f"the size of a benchmark must be an even number, because it has two halves; got {size}")
    if not tolerance > 0 or candidates < 1 or seed < 0 or not (spread is None or spread > 0):
        raise ValueError(
            "expected a tolerance and a spread above 0, at least 1 benchmark to draw and a seed from 0 upwards, got "
            f"{tolerance}, {spread}, {candidates} and {seed}"
        )


def check_count(count: int, size: int) -> None:
    """Refuse too few candidates."""
    if count < size:
        raise ValueError(f"a benchmark of {size} corruptions needs as many candidates, better more; there are {count}")


def _check_scans(scans: Sequence[Scan], size: int) -> None:
    if isinstance(scans, Scan):
        raise ValueError("expected a list of scans, one per repetition; of a single one write [scan]")
    if not scans:
        raise ValueError("no scan is given")
    keys = [set(map(tuple, scan.table[["role", "corruption", "severity"]].to_numpy().tolist())) for scan in scans]
    for number, other in enumerate(keys):
        if other != keys[0]:
            role, corruption, severity = sorted(other ^ keys[0])[0]
            raise ValueError(
                f"all scans must be of the same corruptions and severities; only one of the scans 0 and {number} has "
                f"the {role} {corruption} {severity}"
            )
    check_count(len({name for role, name, _ in keys[0] if role == "candidate"}), size)


def _refuse(groups: Groups, half: int, target: float, tolerance: float, repetition: int) -> None:
    low = np.sort(np.nanmin(groups.errors, axis=1))[:half].mean()
    high = np.sort(np.nanmax(groups.errors, axis=1))[-half:].mean()
    raise ValueError(
        f"no {half} candidates have a mean error within {100 * tolerance:g} % of {target:.4f}, that of the reference "
        f"(repetition {repetition}); theirs are from {low:.4f} to {high:.4f}. Give a larger tolerance, or candidates "
        f"with {'milder' if low > target else 'more severe' if high < target else 'more'} levels"
    )
