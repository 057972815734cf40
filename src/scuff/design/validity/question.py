"""What a search for the most predictive benchmark rests on: candidates, natural benchmarks, and parts of the models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scuff.design.validity.held_out import split_models
from scuff.design.validity.moments import find_moments
from scuff.design.validity.scores import take_residuals
from scuff.metrics.validity.shifts import Shifts


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
    """All that a search needs, in no time: what it could not do is refused here.

    The arguments are those of `find_predictive`.
    """
    names = list(shifts.corrupted) if candidates is None else list(dict.fromkeys(candidates))
    if not 1 <= size < len(names):
        raise ValueError(
            f"a search takes a size of at least 1 and less than the number of candidates, {len(names)}; got {size}"
        )
    kept = _find_natural(shifts, natural)
    place, x, y = take_residuals(shifts, [names])
    y = y[:, [list(shifts.natural).index(name) for name in kept]]
    _check_variation(x, y, kept)
    return Question(tuple(place), kept, x, y, split_models(shifts, folds, repeats, np.random.default_rng(seed)))


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
        raise ValueError(
            f"all models lose the same to {', '.join(still)}, which nothing can predict; leave it out of the natural "
            "benchmarks, and search with the others"
        )
    if not moments.scales.any():
        raise ValueError("no candidate differs between models, so none can predict anything")
