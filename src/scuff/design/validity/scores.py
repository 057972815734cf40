"""Do groups of synthetic benchmarks predict robustness to natural shifts? Algorithm 2 of ImageNet-Syn2Nat, vectorised.

Laugros, Caplier and Ospici correlate, over models, the residual robustness on a synthetic benchmark with that on a
natural one, and take the mean over thousands of benchmarks that have something in common. Here such means come with
intervals by bootstrap over models, and so do differences between groups: the same resamples serve all groups.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from scuff.design.overlap.balanced import Benchmark
from scuff.design.validity.groups import Group
from scuff.design.validity.moments import Moments, correlations_of, find_members, find_moments, mean_correlations
from scuff.metrics.estimate import without_noise
from scuff.metrics.intervals import DEFAULT, Resampling
from scuff.metrics.score import Difference, Score
from scuff.metrics.validity.correlation import Correlation, p_values
from scuff.metrics.validity.resampled import resample_models, score_draws
from scuff.metrics.validity.shifts import MEAN, Shifts


@dataclass(frozen=True, eq=False)
class GroupValidity:
    """Mean correlations of G groups of benchmarks with N natural benchmarks, the last of which is "mean".

    Parameters
    ----------
    groups, natural
        Names. "mean" is the mean of the correlations with the other natural benchmarks, NaN if one of them is.
    counts
        Benchmarks of each group.
    values, spreads, p_values
        (G, N): the mean over benchmarks of the Pearson correlation, its standard deviation over them, and the mean of
        its p-values; with the same weight for every cell, where a group has cells.
    draws
        (R, G, N): the means in resamples of models. NaN where the models of a resample do not differ.
    n, level, interval
        The number of models, the level of intervals, and how these are found.
    notes
        What a reader must know about each group, often nothing.
    """

    groups: tuple[str, ...]
    natural: tuple[str, ...]
    counts: tuple[int, ...]
    values: np.ndarray = field(repr=False)
    spreads: np.ndarray = field(repr=False)
    p_values: np.ndarray = field(repr=False)
    draws: np.ndarray = field(repr=False)
    n: int
    level: float
    interval: str
    notes: tuple[str, ...] = field(repr=False)

    def score(self, group: str, natural: str = MEAN) -> Correlation:
        """The mean correlation of one group with a natural benchmark, or its mean over all natural benchmarks."""
        score, _ = self._combine({group: 1.0}, natural)
        place = self.groups.index(group), self.natural.index(natural)
        return Correlation(**vars(score), p_value=float(self.p_values[place]))

    def difference(self, larger: str, smaller: str, natural: str = MEAN) -> Difference:
        """The mean correlation of one group minus that of another, in the same resamples of models."""
        if larger == smaller:
            raise ValueError(f"a difference needs two groups, got {larger!r} twice")
        return self.contrast({larger: 1.0, smaller: -1.0}, natural)

    def contrast(self, weights: Mapping[str, float], natural: str = MEAN) -> Difference:
        """A weighted sum of mean correlations of groups, in the same resamples of models."""
        score, draws = self._combine({group: weight for group, weight in weights.items() if weight}, natural)
        if not np.isfinite(score.low):
            return Difference(**vars(score), other_sign_share=np.nan)
        signs = np.sign(without_noise(draws[np.isfinite(draws)]))
        sign = np.sign(without_noise(np.array(score.value)))
        share = float(np.mean((signs != sign) | (sign == 0)))
        return Difference(**vars(replace(score, interval=f"paired {score.interval}")), other_sign_share=share)

    def to_frame(self) -> pd.DataFrame:
        """One row per group and natural benchmark."""
        rows = []
        for place, group in enumerate(self.groups):
            for column, natural in enumerate(self.natural):
                score = self.score(group, natural)
                row = {"group": group, "benchmarks": self.counts[place], "natural": natural}
                row |= {"value": score.value, "low": score.low, "high": score.high}
                row |= {"spread": float(self.spreads[place, column]), "p_value": score.p_value, "note": score.note}
                rows.append(row)
        return pd.DataFrame(rows)

    def _combine(self, weights: Mapping[str, float], natural: str) -> tuple[Score, np.ndarray]:
        """The weighted sum of groups' mean correlations, and the same in every resample."""
        known = {"group": (weights, self.groups), "natural benchmark": ((natural,), self.natural)}
        for what, (asked, names) in known.items():
            for name in asked:
                if name not in names:
                    raise ValueError(f"there is no {what} {name!r}; there are {', '.join(names)}")
        places, column = [self.groups.index(group) for group in weights], self.natural.index(natural)
        factors = np.array(list(weights.values()))
        value = float(factors @ self.values[places, column])
        draws = self.draws[:, places, column] @ factors
        notes = [self.notes[place] for place in places]
        return score_draws(value, draws, self.n, self.level, self.interval, notes), draws


def benchmark_correlations(shifts: Shifts, benchmarks: Sequence[Benchmark]) -> np.ndarray:
    """The Pearson correlation of each benchmark with each natural one, over models: (benchmarks, natural).

    A benchmark is a sequence of names out of `shifts.synthetic_residuals()`, and its residual robustness the mean of
    theirs. NaN where a residual is the same for all models.

    >>> from scuff.metrics import read_shifts
    >>> table = {"model": list("abcde"), "clean": 0.9, "natural:y": [0.1, 0.2, 0.3, 0.4, 0.6]}
    >>> table |= {"corrupted:x/fog": [0.2, 0.1, 0.3, 0.4, 0.5], "corrupted:x/snow": [0.5, 0.4, 0.4, 0.2, 0.3]}
    >>> shifts = read_shifts(pd.DataFrame(table))
    >>> benchmark_correlations(shifts, [("x/fog",), ("x/snow",), ("x/fog", "x/snow")]).round(3).tolist()
    [[0.904], [-0.752], [0.502]]
    """
    place, x, y = take_residuals(shifts, benchmarks)
    return correlations_of(find_members(benchmarks, place), find_moments(x, y))


def group_validity(
    shifts: Shifts, groups: Mapping[str, Sequence[Benchmark] | Group], *, resampling: Resampling = DEFAULT
) -> GroupValidity:
    """The mean correlations of groups of benchmarks with every natural benchmark, by bootstrap over models.

    In a plain list, all benchmarks weigh the same, as in the paper's Algorithm 2; in a `Group`, all cells. Where models
    have families, whole families are resampled. The intervals are about other models and the same benchmarks, not about
    other corruptions. A benchmark whose residual is the same for all models has no correlation and is left out before
    cells are weighed; the notes count these.

    >>> from scuff.metrics import read_shifts
    >>> table = {"model": list("abcde"), "clean": 0.9, "natural:y": [0.1, 0.2, 0.3, 0.4, 0.6]}
    >>> table |= {"corrupted:x/fog": [0.2, 0.1, 0.3, 0.4, 0.5], "corrupted:x/snow": [0.5, 0.4, 0.4, 0.2, 0.3]}
    >>> scores = group_validity(read_shifts(pd.DataFrame(table)), {"one": [("x/fog",), ("x/snow",)]})
    >>> round(scores.score("one").value, 3), scores.counts
    (0.076, (2,))
    """
    empty = [group for group, members in groups.items() if not len(members)]
    if empty or not groups:
        raise ValueError(f"there must be groups, with a benchmark in each; empty: {', '.join(empty) or 'all'}")
    lists = {name: group.benchmarks if isinstance(group, Group) else group for name, group in groups.items()}
    place, x, y = take_residuals(shifts, itertools.chain(*lists.values()))
    families = None if shifts.families is None else shifts.families.to_numpy()
    once, many = find_moments(x, y), find_moments(x, y, resample_models(len(x), resampling, families))
    varying = np.isfinite(once.cross[0]).all(axis=0)
    still = [name for name, varies in zip(shifts.natural, varying, strict=True) if not varies]
    scored = []
    for name, group in groups.items():
        cells = group.cells if isinstance(group, Group) else range(len(group))
        scored.append(_score_group(find_members(lists[name], place), cells, once, many, varying, len(x)))
    values, spreads, chances, draws, flat = zip(*scored, strict=True)
    return GroupValidity(
        tuple(groups),
        (*shifts.natural, MEAN),
        tuple(map(len, groups.values())),
        np.array(values),
        np.array(spreads),
        np.array(chances),
        np.stack(draws, axis=1),
        len(x),
        resampling.level,
        resampling.over("models" if families is None else "families"),
        tuple(_note(left, len(members), still) for left, members in zip(flat, groups.values(), strict=True)),
    )


def take_residuals(shifts: Shifts, benchmarks: Iterable[Benchmark]) -> tuple[dict[str, int], np.ndarray, np.ndarray]:
    """Places of the corruptions that some benchmark has, the residuals of these (models, C), and the natural ones."""
    synthetic = shifts.synthetic_residuals()
    used: set[str] = set()
    for benchmark in benchmarks:
        if isinstance(benchmark, str):
            raise ValueError(f"a benchmark is a tuple of names, got {benchmark!r}")
        used.update(benchmark)
    unknown = sorted(used.difference(synthetic))
    if unknown:
        some = ", ".join(list(synthetic)[:3])
        raise ValueError(f"there is no synthetic residual called {unknown[0]}; there are {some} and so on")
    names = [name for name in synthetic if name in used]
    place = {name: number for number, name in enumerate(names)}
    return place, synthetic[names].to_numpy(float), shifts.natural_residuals().to_numpy(float)


def _score_group(
    members: np.ndarray, cells: Sequence[Hashable], once: Moments, many: Moments, varying: np.ndarray, n: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, int]:
    """Values, spreads and p-values (N + 1,), draws (R, N + 1), and the number of benchmarks that do not vary."""
    r = correlations_of(members, once)
    kept = np.isfinite(r[:, varying]).all(axis=1)
    r = r[kept]
    if not len(r):
        nothing, draws = np.full(r.shape[1] + 1, np.nan), np.full((len(many.pairs), r.shape[1] + 1), np.nan)
        return nothing, nothing, nothing, draws, len(members)
    # Cells weigh the same by the benchmarks that they have left. In a resample of models, more of these may not vary:
    # they are left out there, but the others keep their weights and are not weighed anew.
    weights = _weigh(list(itertools.compress(cells, kept)))
    chances, r = _with_mean(p_values(r, n)), _with_mean(r)
    mean = weights @ r
    draws = _with_mean(mean_correlations(members[kept], many, weights))
    return mean, np.sqrt(weights @ (r - mean) ** 2), weights @ chances, draws, int(np.sum(~kept))


def _weigh(cells: Sequence[Hashable]) -> np.ndarray:
    """Weights of benchmarks with which all cells have the same sum; together 1."""
    numbers = pd.factorize(pd.Series(cells, dtype=object))[0]
    weights = 1 / np.bincount(numbers)[numbers]
    return weights / weights.sum()


def _with_mean(table: np.ndarray) -> np.ndarray:
    """A table (lines, N) with one column more, the mean of the others."""
    return np.hstack([table, table.mean(axis=1, keepdims=True)])


def _note(flat: int, count: int, still: Sequence[str]) -> str:
    notes = [f"{flat} of {count} benchmarks are the same for all models and left out"] if flat else []
    if still:
        notes.append(f"no correlation with {', '.join(still)}, the same for all models")
    return "; ".join(notes)
