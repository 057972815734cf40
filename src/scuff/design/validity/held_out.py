"""What a search for the most predictive benchmark rests on: residuals, and cross-validation over models."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from scuff.design.validity.moments import find_moments
from scuff.design.validity.scores import take_residuals
from scuff.metrics.score import Score
from scuff.metrics.validity.shifts import Shifts

LEAST_HELD_OUT = 10  # models: a correlation over fewer is hardly more than chance
LEVEL = 0.95


@dataclass(frozen=True, eq=False)
class Question:
    """Residuals of candidates x (models, C), of natural benchmarks y (models, N), and the parts that are held out."""

    candidates: tuple[str, ...]
    natural: tuple[str, ...]
    x: np.ndarray
    y: np.ndarray
    parts: np.ndarray


def ask_predictive(
    shifts: Shifts,
    size: int,
    *,
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
    return Question(tuple(place), tuple(kept), x, y, parts)


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
