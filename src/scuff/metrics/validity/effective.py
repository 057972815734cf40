"""Effective robustness (Taori et al. 2020): accuracy under a shift beyond what accuracy on clean images predicts.

Better models are better everywhere. On a logit scale, the accuracies of models without any intervention for robustness
lie near a line, which is fitted to them by least squares:

    logit(A_shift) = a + b · logit(A_clean)
    effective robustness = A_shift - sigmoid(a + b · logit(A_clean))

Unlike residual robustness, which is what a model loses, it does not reward a model for having little to lose. The
larger, the more robust.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

LEAST_FITTED = 3  # models: a line through two says nothing of a third
LEAST_RANGE = 1e-9  # of logits: less is rounding


@dataclass(frozen=True, eq=False)
class Effective:
    """Effective robustness of every model, and the line that it is counted from.

    With resamples, `values` are (count, n), and slope and intercept (count,): one line each. `note` says which models
    the line was not fitted to, or why there is none.
    """

    values: np.ndarray = field(repr=False)
    slope: float | np.ndarray
    intercept: float | np.ndarray
    note: str = ""


def effective_robustness(
    clean: ArrayLike, shifted: ArrayLike, standard: ArrayLike | None = None, times: np.ndarray | None = None
) -> Effective:
    """How far models are above the line of the standard ones, as fractions of images.

    Without a line, as it needs three models of different clean accuracy, all values are NaN, and the note says why.

    Parameters
    ----------
    clean, shifted
        Accuracies of the models, from 0 to 1. On clean images they must lie strictly between. A shifted accuracy of
        exactly 0 or 1 has no logit: the line is not fitted to it, but the model has a value.
    standard
        Which models the line is fitted to, True or False for each. By default all.
    times
        How often each model occurs in every resample (count, n): the line is fitted anew for each.

    Examples
    --------
    >>> clean, shifted = [0.5, 0.6, 0.7, 0.8, 0.8], [0.20, 0.27, 0.37, 0.50, 0.60]
    >>> found = effective_robustness(clean, shifted, standard=[True, True, True, True, False])
    >>> abs(found.values).round(2).tolist(), round(found.slope, 2)
    ([0.0, 0.0, 0.0, 0.0, 0.1], 1.0)
    """
    from scipy.special import expit, logit

    clean, shifted = _check_accuracies(clean, shifted)
    n = len(clean)
    standard = np.ones(n, bool) if standard is None else np.asarray(standard)
    if standard.shape != (n,) or standard.dtype != bool:
        raise ValueError(
            f"standard must be True or False for each of {n} models, got {standard.dtype} {standard.shape}"
        )
    fitted = standard & (shifted > 0) & (shifted < 1)
    weights = fitted * (np.ones((1, n)) if times is None else np.asarray(times, float))
    x = logit(clean)
    slope, intercept = _fit(x, logit(np.where(fitted, shifted, 0.5)), weights)
    values = shifted - expit(intercept[:, None] + slope[:, None] * x)
    note = _describe(x, standard, fitted)
    if times is None:
        return Effective(values[0], float(slope[0]), float(intercept[0]), note)
    return Effective(values, slope, intercept, note)


def _fit(x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Slopes and intercepts of the lines with the least weighted squares; NaN where models do not make a line."""
    weights = np.where(_make_a_line(x, weights > 0)[:, None], weights, np.nan)
    total = weights.sum(axis=1)
    mean_x, mean_y = weights @ x / total, weights @ y / total
    dx, dy = x - mean_x[:, None], y - mean_y[:, None]
    slope = (weights * dx * dy).sum(axis=1) / (weights * dx * dx).sum(axis=1)
    return slope, mean_y - slope * mean_x


def _make_a_line(x: np.ndarray, used: np.ndarray) -> np.ndarray:
    """Whether the used ones (count, n) of x (n,) are enough and differ: (count,)."""
    ends = np.where(used, x, np.inf).min(axis=1), np.where(used, x, -np.inf).max(axis=1)
    return (used.sum(axis=1) >= LEAST_FITTED) & (ends[1] - ends[0] > LEAST_RANGE)


def _describe(x: np.ndarray, standard: np.ndarray, fitted: np.ndarray) -> str:
    count, left = int(fitted.sum()), int((standard & ~fitted).sum())
    if count < LEAST_FITTED:
        return f"the line needs {LEAST_FITTED} standard models with accuracies between 0 and 1, and has {count}"
    if not _make_a_line(x, fitted[None])[0]:
        return f"all {count} models that the line is fitted to have the same clean accuracy"
    which = "models" if standard.all() else "standard models"
    return f"the line is not fitted to {left} of {standard.sum()} {which}, whose accuracy is 0 or 1" if left else ""


def _check_accuracies(clean: ArrayLike, shifted: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    clean, shifted = np.asarray(clean, float), np.asarray(shifted, float)
    if clean.ndim != 1 or clean.shape != shifted.shape:
        raise ValueError(f"expected two accuracies of each model, got arrays {clean.shape} and {shifted.shape}")
    for bad in clean[~((clean > 0) & (clean < 1))]:
        raise ValueError(
            f"effective robustness needs clean accuracies between 0 and 1, got {bad:g}; leave that model out"
        )
    for bad in shifted[~((shifted >= 0) & (shifted <= 1))]:
        raise ValueError(f"accuracies are fractions from 0 to 1, got {bad:g}; are they in percent?")
    return clean, shifted
