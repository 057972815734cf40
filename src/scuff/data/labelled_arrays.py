"""Arrays of points and their labels: read from an .npz, checked, with numbers and names for classes, and scaled.

A distance adds up features, and the one with the largest numbers must not decide alone: so all are on one scale.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from scuff.arrays import reading_arrays
from scuff.data.source import MOST_CLASSES, numbered
from scuff.words import name_some

POINTS_KEYS = ("x", "X", "features", "data", "images")
LABELS_KEYS = ("y", "labels")
SPLIT_KEYS = ("x_train", "y_train", "x_test", "y_test")
SCALES = ("minmax", "none")
HUGE = np.finfo(np.float64).max / 2  # two numbers up to here have a difference


def read_labelled(path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Points and labels of an .npz, and which of them are test points if it has x_train, y_train, x_test, y_test."""
    arrays, keys = _read(path)
    x, labels = (next((arrays[key] for key in known if key in arrays), None) for known in (POINTS_KEYS, LABELS_KEYS))
    if x is not None and labels is not None:
        return x, labels, None
    if not all(key in arrays for key in SPLIT_KEYS):
        raise ValueError(
            f"{path}: expected points under {' or '.join(POINTS_KEYS)} and labels under {' or '.join(LABELS_KEYS)} (or "
            f"{', '.join(SPLIT_KEYS)}), found the keys {', '.join(keys)}"
        )
    x_train, y_train, x_test, y_test = (arrays[key] for key in SPLIT_KEYS)
    check_pair(f"{path.stem} (train)", x_train, y_train)
    check_pair(f"{path.stem} (test)", x_test, y_test)
    if x_train.shape[1:] != x_test.shape[1:]:
        raise ValueError(f"{path}: training points {x_train.shape} and test points {x_test.shape} are not of one shape")
    is_test = np.repeat([False, True], [len(x_train), len(x_test)])
    return np.concatenate([x_train, x_test]), np.concatenate([y_train.ravel(), y_test.ravel()]), is_test


def _read(path: Path) -> tuple[dict[str, np.ndarray], list[str]]:
    """What we know by name, and all names. Pickled objects are refused: they can run code."""
    with reading_arrays(path), open(path, "rb") as file:
        arrays = np.load(file, allow_pickle=False)
        if isinstance(arrays, np.ndarray):
            raise ValueError("it holds one array without a name; expected an .npz with points and labels")
        known = (*POINTS_KEYS, *LABELS_KEYS, *SPLIT_KEYS)
        return {key: arrays[key] for key in known if key in arrays}, [*arrays]


def check_pair(name: str, x: np.ndarray, labels: np.ndarray) -> None:
    """Refuse what are not points (n, ...) of real numbers with a label each."""
    if x.dtype.kind not in "biuf":
        raise ValueError(f"{name}: points must be real numbers, got {x.dtype}")
    if x.ndim < 2 or 0 in x.shape[1:]:
        raise ValueError(f"{name}: expected points (n, features) or (n, height, width, ...), got {x.shape}")
    if labels.size != len(x):
        hint = "; use numpy.argmax if one-hot" if labels.ndim == 2 and len(labels) == len(x) else ""
        raise ValueError(f"{name}: {len(x)} points need one label each, got labels of shape {labels.shape}{hint}")


def number_labels(name: str, labels: np.ndarray) -> tuple[np.ndarray, tuple[str, ...]]:
    """Labels as int64 (n,) from 0, and the classes' names.

    Whole numbers from 0 stay what they are, because a model's outputs may have the same numbers. Anything else is
    numbered in its sorted order.

    >>> number_labels("doctest", np.array([0, 2])), number_labels("doctest", np.array([-1, 1]))
    ((array([0, 2]), ('0', '1', '2')), (array([0, 1]), ('-1', '1')))
    """
    labels = labels.reshape(-1)
    if labels.dtype.kind == "O":  # as pandas keeps words
        import pandas as pd

        check_given(name, pd.isna(labels))
        labels = np.array(labels.tolist())
    kind = labels.dtype.kind
    if kind in "iu" and len(labels) and labels.min() >= 0 and labels.max() < MOST_CLASSES:
        return labels.astype(np.int64), numbered(name, labels)
    if kind not in "biufU":
        raise ValueError(f"{name}: classes are words or whole numbers, got labels of type {labels.dtype}")
    return number_classes(name, labels)


def number_classes(name: str, classes: np.ndarray) -> tuple[np.ndarray, tuple[str, ...]]:
    """Labels for words or whole numbers, in their sorted order, and what they are called. Blanks around words go.

    >>> number_classes("doctest", np.array([2.0, -1.0, 2.0]))
    (array([1, 0, 1]), ('-1', '2'))
    """
    if classes.dtype.kind == "U":
        classes = np.char.strip(classes)
        check_given(name, classes == "")
    elif classes.dtype.kind == "f":
        wrong = np.flatnonzero(~(classes == np.round(classes)) | np.isinf(classes))
        if len(wrong):  # fractions are most likely measurements
            where = f"{classes[wrong[0]]:g} in row {wrong[0]} (counted from 0)"
            raise ValueError(f"{name}: classes are words or whole numbers, got {where}")
    distinct, labels = np.unique(classes, return_inverse=True)
    names = (f"{value:.17g}" if isinstance(value, float) else str(value) for value in distinct.tolist())
    return labels.astype(np.int64), tuple(names)


def check_given(name: str, is_missing: np.ndarray) -> None:
    """Refuse points without a class."""
    if is_missing.any():
        raise ValueError(f"{name}: row {int(is_missing.argmax())} (counted from 0) has no class")


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
        constant = [_call(place, features) for place in np.argwhere(low == high).tolist()]
        if constant:
            raise ValueError(
                f"{name}: constant features cannot be scaled to [0, 1], and tell no classes apart; take out "
                f"{name_some(constant, 5)}"
            )
        half = np.where(np.maximum(np.abs(low), np.abs(high)) > HUGE, 0.5, 1.0)
        x *= half
        x -= low * half
        x /= high * half - low * half
        return x
    if low.min() < 0 or high.max() > 1:
        outside = np.argwhere((low < 0) | (high > 1))
        raise ValueError(
            f"{name}: values must lie in [0, 1], got {low.min():g} to {high.max():g}, outside in "
            f"{name_some([_call(place, features) for place in outside.tolist()], 5)}; --scale minmax "
            "(in Python scale='minmax') brings every feature there, --scale none takes values as they are; divide "
            "pixels by 255"
        )
    return x


def _check_finite(name: str, x: np.ndarray, features: Sequence[str]) -> None:
    finite = np.isfinite(x)
    if finite.all():
        return
    row, *place = np.argwhere(~finite)[0].tolist()
    value = x[(row, *place)]
    what = "is empty or not a number" if np.isnan(value) else f"is {value}"
    where = f"row {row} (counted from 0), {_call(place, features)}"
    raise ValueError(f"{name}: {where}, {what}; repair the row, or take it out")


def _call(place: Sequence[int], features: Sequence[str]) -> str:
    """The name of a feature, or its number."""
    if features:
        return f"column {features[place[0]]}"
    return f"feature {place[0]}" if len(place) == 1 else f"feature ({', '.join(map(str, place))})"
