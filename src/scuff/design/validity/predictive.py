"""The benchmark of a given size that predicts natural shifts best, scored on models that did not choose it.

Among thousands of benchmarks some correlate well with natural shifts by chance, the more so the fewer the models. So
the search is repeated on parts of the models, and what it chooses there is correlated over the models left out. Only a
benchmark that does better on those than random ones of its size was worth the search.

That is honest for new models. It is not for new natural benchmarks, as those that choose are those that score.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypedDict, Unpack

import numpy as np
import pandas as pd

from scuff.design.validity.moments import Moments, find_moments, inverse_deviations, mean_correlations
from scuff.design.validity.scores import take_residuals
from scuff.design.validity.search import find_best, is_exact
from scuff.metrics.intervals import percent
from scuff.metrics.score import Score
from scuff.metrics.validity.shifts import Shifts

RANDOM = 1000  # benchmarks that show what chance gives
LEAST_HELD_OUT = 10  # models: a correlation over fewer is hardly more than chance
LEVEL = 0.95
MOST_LOST = 0.5  # of the advantage over random benchmarks: if more is gone on held-out models, the choice fits its own
CORRELATIONS = ("chosen", "held_out", "random", "whole")  # the others are differences of these


@dataclass(frozen=True)
class Predictive:
    """The most predictive benchmark of a size, chosen by the mean of its correlations with `natural` benchmarks.

    Parameters
    ----------
    fitted
        Its mean correlation over all models, which chose it: too high by an unknown amount.
    chosen, held_out
        What the search finds on parts of the models, over these parts, and over the models left out: the honest score.
    random, whole
        The mean of random benchmarks of that size, and the benchmark of all candidates, over the same held-out models.
    gain, gain_over_whole
        `held_out` minus `random`, and minus `whole`, in the same held-out models.
    drop
        `chosen` minus `held_out`: how much of the correlation is due to having chosen.
    stability
        The fraction of members that choices on parts of the models have in common with this one; by chance, the size
        divided by the number of candidates.
    exact
        Whether all benchmarks of that size were tried.
    warning
        Why the choice is not to be trusted, or nothing.
    """

    members: tuple[str, ...]
    size: int
    natural: tuple[str, ...]
    fitted: float
    chosen: Score
    held_out: Score
    random: Score
    whole: Score
    gain: Score
    gain_over_whole: Score
    drop: Score
    stability: float
    exact: bool
    warning: str = ""


class Search(TypedDict, total=False):
    """What a search may choose from, and how it is validated: options of `find_predictive`."""

    candidates: Sequence[str] | None
    natural: Sequence[str] | None
    folds: int
    repeats: int
    seed: int


def find_predictive(
    shifts: Shifts,
    size: int,
    *,
    progress: Callable[[str, int, int], None] | None = None,
    **search: Unpack[Search],
) -> Predictive:
    """Find the `size` corruptions whose mean residual correlates best with natural shifts.

    Parameters
    ----------
    candidates
        Synthetic names to choose from. By default all corruptions.
    natural
        Natural benchmarks, over which the mean of correlations is taken. By default all.
    folds, repeats, seed
        Of the cross-validation over models, by default 5, 20 and 0, which keeps families together. There are fewer
        folds if less than ten models would be held out. The intervals are those of Nadeau and Bengio (2003), who take
        into account that the parts of the models overlap.
    progress
        Called with (what is being done, done, to do).

    Examples
    --------
    >>> import pandas as pd
    >>> from scuff.metrics import read_shifts
    >>> values = np.random.default_rng(0).uniform(0.4, 0.8, (60, 3))
    >>> table = pd.DataFrame(values, columns=["corrupted:x/fog", "corrupted:x/snow", "corrupted:x/rain"])
    >>> table = table.assign(model=table.index.astype(str), clean=0.9, **{"natural:y": values[:, :2].mean(axis=1)})
    >>> found = find_predictive(read_shifts(table), 2)
    >>> found.members, round(found.held_out.value, 3), found.warning
    (('x/fog', 'x/snow'), 1.0, '')
    """
    advance = progress or (lambda what, done, total: None)
    question = ask_predictive(shifts, size, **search)
    seed = question.seed
    x, y, parts = question.x, question.y, question.parts
    training = _average_natural(find_moments(x, y, np.vstack([np.ones(len(x)), ~parts])))  # all models, then parts
    held_out = _average_natural(find_moments(x, y, parts))
    members = find_best(training, size, lambda done, total: advance("searching benchmarks", done, total))
    final, choices = members[0], members[1:]
    some = _random_members(x.shape[1], size, np.random.default_rng([seed, 1]))
    fitted = _own_correlations(members, training)
    values = {
        "chosen": fitted[1:],
        "held_out": _own_correlations(choices, held_out),
        "random": mean_correlations(some, held_out)[:, 0],
        "whole": mean_correlations(np.ones((1, x.shape[1])), held_out)[:, 0],
    }
    values["gain"] = values["held_out"] - values["random"]
    values["gain_over_whole"] = values["held_out"] - values["whole"]
    values["drop"] = values["chosen"] - values["held_out"]
    units = "models" if shifts.families is None else "families"
    how = f"cross-validation over {units} {percent(LEVEL)}, {len(parts)} held-out parts, corrected t, seed {seed}"
    limits = dict.fromkeys(CORRELATIONS, 1.0)
    scores = {what: score_parts(v, parts, how, ends=limits.get(what, math.inf)) for what, v in values.items()}
    result = Predictive(
        tuple(name for name, member in zip(question.candidates, final, strict=True) if member),
        size,
        question.natural,
        float(fitted[0]),
        **scores,  # type: ignore[arg-type]
        stability=float((choices @ final).mean() / size),
        exact=is_exact(x.shape[1], size),
    )
    seeming = score_parts(fitted[1:] - mean_correlations(some, training)[1:, 0], parts, how).value
    return replace(result, warning=_warn(result, seeming))


@dataclass(frozen=True, eq=False)
class Question:
    """Residuals of candidates x (models, C), of natural benchmarks y (models, N), and the parts that are held out."""

    candidates: tuple[str, ...]
    natural: tuple[str, ...]
    x: np.ndarray
    y: np.ndarray
    parts: np.ndarray
    seed: int


def ask_predictive(
    shifts: Shifts,
    size: int,
    candidates: Sequence[str] | None = None,
    natural: Sequence[str] | None = None,
    folds: int = 5,
    repeats: int = 20,
    seed: int = 0,
) -> Question:
    """All that a search needs; the arguments are those of `find_predictive`. Impossible searches are refused here."""
    names = list(shifts.corrupted) if candidates is None else list(dict.fromkeys(candidates))
    if not 1 <= size < len(names):
        raise ValueError(
            f"a search takes a size of at least 1 and less than the number of candidates, {len(names)}; got {size}"
        )
    known = list(shifts.natural)
    kept = known if natural is None else list(dict.fromkeys(natural))
    unknown = [name for name in kept if name not in known]
    if unknown or not kept:
        raise ValueError(f"natural benchmarks must be some of {', '.join(known)}; got {', '.join(unknown) or 'none'}")
    place, x, y = take_residuals(shifts, [names])  # type: ignore[list-item]
    y = y[:, [known.index(name) for name in kept]]
    moments = find_moments(x, y)
    constant = [name for name, is_known in zip(kept, np.isfinite(moments.cross[0, 0]), strict=True) if not is_known]
    if constant:
        raise ValueError(
            f"all models lose the same to {', '.join(constant)}, which nothing can predict; leave it out of the "
            "natural benchmarks, and search with the others"
        )
    if not moments.scales.any():
        raise ValueError("no candidate differs between models, so none can predict anything")
    parts = split_models(shifts, folds, repeats, np.random.default_rng(seed))
    return Question(tuple(place), tuple(kept), x, y, parts, seed)


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


def score_parts(values: np.ndarray, parts: np.ndarray, interval: str, *, ends: float = math.inf) -> Score:
    """The mean of a value over held-out parts, with the interval of Nadeau and Bengio (2003).

    That takes into account that the parts share models. Parts without a value are left out. `ends` is the largest
    absolute value: 1 for a correlation.

    >>> parts = np.eye(4, dtype=bool)
    >>> found = score_parts(np.array([1.0, 0.8, 1.0, 0.8]), parts, "corrected t", ends=1.0)
    >>> round(found.value, 2), round(found.low, 2), found.high
    (0.9, 0.62, 1.0)
    """
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
    low, high = max(float(mean - half), -ends), min(float(mean + half), ends)
    return Score(float(mean), low, high, models, interval, note)


def _deal(family: np.ndarray, folds: int, draw: np.random.Generator) -> np.ndarray:
    """Families in random order, each to the fold with the fewest models so far: (folds, models)."""
    sizes, fold_of = np.zeros(folds, int), np.zeros(family.max() + 1, int)
    counts = np.bincount(family)
    for number in draw.permutation(len(counts)):
        fold_of[number] = sizes.argmin()
        sizes[fold_of[number]] += counts[number]
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


def _warn(best: Predictive, seeming: float) -> str:
    """What speaks against a choice: that it is no better than chance, that it fits the models that chose, or both.

    `seeming` is its advantage over random benchmarks on the models that chose.
    """
    gain, drop = best.gain, best.drop
    if math.isnan(gain.low):
        return f"nothing tells whether it is better than random benchmarks of its size: {gain.note}"
    fits = drop.low > 0 and gain.value <= (1 - MOST_LOST) * seeming
    on_its_own = f"its correlation is {best.chosen.value:.2f}, {seeming:.2f} above that of random ones"
    if gain.low > 0:
        if not fits:
            return ""
        return (
            f"most of what the choice seemed to gain is gone on held-out models: on those that chose, {on_its_own} "
            f"of its size; on the others it is {best.held_out.value:.2f} ({_between('gain', gain)}; "
            f"{_between('drop', drop)})"
        )
    text = (
        f"{'worse than' if gain.high < 0 else 'not shown to be better than'} random benchmarks of its size: on "
        f"held-out models its correlation is {best.held_out.value:.2f}, theirs {best.random.value:.2f} "
        f"({_between('gain', gain)})"
    )
    if fits:
        text += f". It merely fits the models that chose it: on these {on_its_own} ({_between('drop', drop)})"
    return text


def _between(name: str, score: Score) -> str:
    return f"{name} {score.value:.2f}, from {score.low:.2f} to {score.high:.2f}"
