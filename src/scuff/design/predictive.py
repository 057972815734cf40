"""The benchmark of a given size that predicts natural shifts best, scored on models that did not choose it.

Among thousands of benchmarks some correlate well with natural shifts by chance, the more so the fewer the models. So
the search is repeated on parts of the models, and what it chooses there is correlated over the models left out. Only a
benchmark that does better on those than random ones of its size was worth the search.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from scuff.design.moments import Moments, correlations_of, find_moments, inverse_deviations, mean_correlations
from scuff.design.predictive_search import find_best, is_exact
from scuff.design.validity import take_residuals
from scuff.metrics.intervals import percent
from scuff.metrics.score import Score
from scuff.metrics.shifts import Shifts

LEAST_HELD_OUT = 10  # models: a correlation over fewer is hardly more than chance
RANDOM = 1000  # benchmarks that chance is known by
LEVEL = 0.95


@dataclass(frozen=True)
class Predictive:
    """The most predictive benchmark of a size, chosen by the mean of its correlations with `natural` benchmarks.

    Parameters
    ----------
    fitted
        Its mean correlation over all models, which chose it: too high, by how much nobody knows.
    held_out
        What the search finds on parts of the models, over the models left out: the honest score.
    random, whole
        The mean of random benchmarks of that size, and the benchmark of all candidates, over the same held-out models.
    gain
        `held_out` minus `random`, in the same held-out models.
    stability
        The share of members that choices on parts of the models have in common with this one. By chance it would be
        the size divided by the number of candidates.
    exact
        Whether all benchmarks of that size were tried.
    warning
        Why the choice is not to be trusted, or nothing.
    """

    members: tuple[str, ...]
    size: int
    natural: tuple[str, ...]
    fitted: float
    held_out: Score
    random: Score
    whole: Score
    gain: Score
    stability: float
    exact: bool
    warning: str = ""


def find_predictive(
    shifts: Shifts,
    size: int,
    *,
    candidates: Sequence[str] | None = None,
    natural: Sequence[str] | None = None,
    folds: int = 5,
    repeats: int = 20,
    seed: int = 0,
    progress: Callable[[str, int, int], None] | None = None,
) -> Predictive:
    """Search the corruptions, `size` of them, whose mean residual correlates best with natural shifts.

    Parameters
    ----------
    candidates
        Synthetic names to choose from. By default all corruptions.
    natural
        Natural benchmarks, over which the mean of correlations is taken. By default all.
    folds, repeats
        Of the cross-validation over models, which keeps families together. There are fewer folds if less than ten
        models would be held out. The intervals are those of Nadeau and Bengio (2003), who take into account that the
        parts of the models overlap.
    progress
        Called with (what is being done, done, to do).

    >>> from scuff.metrics.shifts import read_shifts
    >>> values = np.random.default_rng(0).uniform(0.4, 0.8, (60, 3))
    >>> table = pd.DataFrame(values, columns=["corrupted:x/fog", "corrupted:x/snow", "corrupted:x/rain"])
    >>> table = table.assign(model=table.index.astype(str), clean=0.9, **{"natural:y": values[:, :2].mean(axis=1)})
    >>> found = find_predictive(read_shifts(table), 2)
    >>> found.members, round(found.held_out.value, 3), found.warning
    (('x/fog', 'x/snow'), 1.0, '')
    """
    told = progress or (lambda what, done, total: None)
    names = list(shifts.corrupted) if candidates is None else list(dict.fromkeys(candidates))
    if not 1 <= size < len(names):
        raise ValueError(
            f"the size must be at least 1 and less than the number of candidates, {len(names)}; got {size}"
        )
    kept = _find_natural(shifts, natural)
    _, x, y = take_residuals(shifts, [names])
    names = [name for name in shifts.synthetic_residuals() if name in set(names)]
    y = y[:, [list(shifts.natural).index(name) for name in kept]]
    _check_variation(x, y, kept)
    parts = split_models(shifts, folds, repeats, np.random.default_rng(seed))
    training = _average_natural(find_moments(x, y, np.vstack([np.ones(len(x)), ~parts])))
    chosen = find_best(training, size, lambda done, total: told("searching benchmarks", done, total))
    final, choices = chosen[0], chosen[1:]
    held_out = _average_natural(find_moments(x, y, parts))
    some = _random_members(len(names), size, np.random.default_rng([seed, 1]))
    values = {
        "held_out": _own_correlations(choices, held_out),
        "random": mean_correlations(some, held_out)[:, 0],
        "whole": mean_correlations(np.ones((1, len(names))), held_out)[:, 0],
    }
    values["gain"] = values["held_out"] - values["random"]
    units = "models" if shifts.families is None else "families"
    how = f"cross-validation over {units} {percent(LEVEL)}, {len(parts)} held-out parts, corrected t, seed {seed}"
    scores = {what: _score(found, parts, how) for what, found in values.items()}
    result = Predictive(
        tuple(name for name, member in zip(names, final, strict=True) if member),
        size,
        kept,
        float(correlations_of(final[None], training)[0, 0]),
        **scores,
        stability=float((choices @ final).mean() / size),
        exact=is_exact(len(names), size),
    )
    return replace(result, warning=_warn(result))


def _find_natural(shifts: Shifts, natural: Sequence[str] | None) -> tuple[str, ...]:
    known = tuple(shifts.natural)
    kept = known if natural is None else tuple(dict.fromkeys(natural))
    unknown = [name for name in kept if name not in known]
    if unknown or not kept:
        given = ", ".join(unknown) or "none"
        raise ValueError(f"natural benchmarks must be some of {', '.join(known)}; got {given}")
    return kept


def _check_variation(x: np.ndarray, y: np.ndarray, natural: Sequence[str]) -> None:
    moments = find_moments(x, y)
    still = [name for name, known in zip(natural, np.isfinite(moments.cross[0, 0]), strict=True) if not known]
    if still:
        raise ValueError(f"all models lose the same to {', '.join(still)}, which nothing can predict; leave it out")
    if not moments.scales.any():
        raise ValueError("no candidate differs between models, so none can predict anything")


def split_models(shifts: Shifts, folds: int, repeats: int, draw: np.random.Generator) -> np.ndarray:
    """Which models each part holds out: (parts, models). Families stay together."""
    if folds < 2 or repeats < 1:
        raise ValueError(f"cross-validation needs at least 2 folds and 1 repeat, got {folds} and {repeats}")
    models = len(shifts.models)
    family = np.arange(models) if shifts.families is None else pd.factorize(shifts.families.to_numpy())[0]
    for fewer in range(min(folds, models // LEAST_HELD_OUT), 1, -1):
        parts = np.concatenate([_deal(family, fewer, draw) for _ in range(repeats)])
        if parts.sum(axis=1).min() >= LEAST_HELD_OUT:
            return parts
    alike = "" if shifts.families is None else f" in {family.max() + 1} families that stay together"
    raise ValueError(
        f"a choice must be tried on at least {LEAST_HELD_OUT} models that did not make it, twice, so that at least "
        f"{2 * LEAST_HELD_OUT} are needed; there are {models}{alike}"
    )


def _deal(family: np.ndarray, folds: int, draw: np.random.Generator) -> np.ndarray:
    """Families in random order, each to the fold that has least models so far: (folds, models)."""
    sizes, fold_of = np.zeros(folds, int), np.zeros(family.max() + 1, int)
    counts = np.bincount(family)
    for one in draw.permutation(len(counts)):
        fold_of[one] = sizes.argmin()
        sizes[fold_of[one]] += counts[one]
    return fold_of[family] == np.arange(folds)[:, None]


def _average_natural(moments: Moments) -> Moments:
    """The mean of the natural benchmarks as the only one: the mean of correlations is linear in `cross`.

    A natural benchmark that does not vary over a part of the models is left out there.
    """
    known = np.isfinite(moments.cross).sum(axis=2, keepdims=True).astype(float)
    known[known == 0] = np.nan
    return replace(moments, cross=np.nan_to_num(moments.cross).sum(axis=2, keepdims=True) / known)


def _random_members(candidates: int, size: int, draw: np.random.Generator) -> np.ndarray:
    places = np.argsort(draw.random((RANDOM, candidates)), axis=1)[:, :size]
    members = np.zeros((RANDOM, candidates))
    np.put_along_axis(members, places, 1, axis=1)
    return members


def _own_correlations(members: np.ndarray, moments: Moments) -> np.ndarray:
    """The correlation of one benchmark (R, C) in each set of models: (R,)."""
    inverse = np.hstack([values for _, values in inverse_deviations(members, moments)]).diagonal()
    sums = (members * moments.cross[:, :, 0]).sum(axis=1)
    return np.where(inverse > 0, np.clip(sums * inverse, -1, 1), np.nan)


def _score(values: np.ndarray, parts: np.ndarray, interval: str) -> Score:
    """The mean over held-out parts with Nadeau and Bengio's interval; parts without a correlation are left out."""
    from scipy.special import stdtrit

    known = np.isfinite(values)
    count, models = int(known.sum()), parts.shape[1]
    left = len(values) - count
    note = f"{left} of {len(values)} held-out parts have no correlation and are left out" if left else ""
    if count < 2:
        return Score(math.nan, math.nan, math.nan, models, "no interval", note)
    mean, variance = values[known].mean(), values[known].var(ddof=1)
    held_out = parts.sum(axis=1)
    ratio = float(np.mean(held_out / (models - held_out)))
    half = stdtrit(count - 1, 0.5 + LEVEL / 2) * math.sqrt((1 / count + ratio) * variance)
    return Score(float(mean), float(mean - half), float(mean + half), models, interval, note)


def _warn(found: Predictive) -> str:
    gain = found.gain
    if gain.low > 0:
        return ""
    if math.isnan(gain.low):
        return f"nothing tells whether the choice merely fits these models: {gain.note}"
    return (
        f"as far as one can tell the choice merely fits these models: over them its correlation is {found.fitted:.2f}, "
        f"but over held-out models {found.held_out.value:.2f}, where random benchmarks of {found.size} have "
        f"{found.random.value:.2f} (gain {gain.value:.2f}, from {gain.low:.2f} to {gain.high:.2f})"
    )


__all__ = ["Predictive", "find_predictive", "split_models"]
