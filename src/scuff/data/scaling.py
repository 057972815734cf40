"""Features on one scale: a distance adds up features, and the one with the largest numbers must not decide alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

SCALES = ("minmax", "none")
MAX_NAMES_SHOWN = 5  # names in a message
HUGE = np.finfo(np.float64).max / 2  # two numbers up to here have a difference


def scale_features(name: str, x: np.ndarray, scale: str | None, features: Sequence[str] = ()) -> np.ndarray:
    """Features (n, ...) in float64, all finite and from 0 to 1.

    None expects that they are; "minmax" maps every feature from its smallest and largest value to 0 and 1; "none" lets
    them be. `features` are the names of columns, for messages.

    >>> scale_features("doctest", np.array([[10, 0.1], [30, 0.1], [20, 0.3]]), "minmax").tolist()
    [[0.0, 0.0], [1.0, 0.0], [0.5, 1.0]]
    """
    x = x.astype(np.float64)
    _check_finite(name, x, features)
    if scale == "none" or not len(x):
        return x
    low, high = x.min(axis=0), x.max(axis=0)
    if scale == "minmax":
        _check_varying(name, low, high, features)
        half = np.where(np.maximum(np.abs(low), np.abs(high)) > HUGE, 0.5, 1.0)
        x *= half
        x -= low * half
        x /= high * half - low * half
        return x
    if low.min() < 0 or high.max() > 1:
        outside = np.argwhere((low < 0) | (high > 1))
        raise ValueError(
            f"{name}: values must lie in [0, 1], got {low.min():g} to {high.max():g}, outside in "
            f"{show_names([_call(place, features) for place in outside.tolist()])}; scale 'minmax' brings every "
            "feature there, 'none' takes values as they are; divide pixels by 255"
        )
    return x


def show_names(names: Sequence[str]) -> str:
    """A few names for a message.

    >>> show_names(["a", "b"]), show_names([*"abcdefgh"])
    ('a, b', 'a, b, c, d, e and 3 more')
    """
    more = f" and {len(names) - MAX_NAMES_SHOWN} more" if len(names) > MAX_NAMES_SHOWN else ""
    return ", ".join(names[:MAX_NAMES_SHOWN]) + more


def _check_finite(name: str, x: np.ndarray, features: Sequence[str]) -> None:
    finite = np.isfinite(x)
    if finite.all():
        return
    row, *place = np.argwhere(~finite)[0].tolist()
    value = x[(row, *place)]
    what = "is empty or not a number" if np.isnan(value) else f"is {value}"
    where = f"row {row} (counted from 0), {_call(place, features)}"
    raise ValueError(f"{name}: {where}, {what}; repair the row, or take it out")


def _check_varying(name: str, low: np.ndarray, high: np.ndarray, features: Sequence[str]) -> None:
    constant = [_call(place, features) for place in np.argwhere(low == high).tolist()]
    if constant:
        raise ValueError(
            f"{name}: constant features cannot be scaled to [0, 1], and tell no classes apart; take out "
            f"{show_names(constant)}"
        )


def _call(place: Sequence[int], features: Sequence[str]) -> str:
    """The name of a feature, or its number."""
    if features:
        return f"column {features[place[0]]}"
    return f"feature {place[0]}" if len(place) == 1 else f"feature ({', '.join(map(str, place))})"
