"""Arrays of points and their labels: read from an .npz, checked, and with classes that have numbers and names."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from scuff.arrays import reading_arrays
from scuff.data.source import numbered

POINTS_KEYS = ("x", "X", "features", "data", "images")
LABELS_KEYS = ("y", "labels")
SPLIT_KEYS = ("x_train", "y_train", "x_test", "y_test")
MOST_CLASSES = 100_000  # that a model has outputs for; larger labels are years or the like


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
        return labels.astype(np.int64), numbered(labels)
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
        _check_whole(name, classes)
    distinct, labels = np.unique(classes, return_inverse=True)
    names = (f"{value:.17g}" if isinstance(value, float) else str(value) for value in distinct.tolist())
    return labels.astype(np.int64), tuple(names)


def check_given(name: str, is_missing: np.ndarray) -> None:
    """Refuse points without a class."""
    if is_missing.any():
        raise ValueError(f"{name}: row {int(is_missing.argmax())} (counted from 0) has no class")


def _check_whole(name: str, labels: np.ndarray) -> None:
    """Refuse fractions as classes: they are most likely measurements."""
    wrong = np.flatnonzero(~(labels == np.round(labels)) | np.isinf(labels))
    if len(wrong):
        row = wrong[0]
        raise ValueError(
            f"{name}: classes are words or whole numbers, got {labels[row]:g} in row {row} (counted from 0)"
        )
