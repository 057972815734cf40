"""Intersection over union of classes, from counts of pixels: how many of each class were taken for which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Columns = Mapping[str, Sequence[Any]]


def count_pairs(true: np.ndarray, taken: np.ndarray, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Pairs true * (classes + 1) + taken that occur in two maps, and how often; no class at all counts as `classes`.

    >>> count_pairs(np.array([[0, 1]]), np.array([[0, 0]]), 2)
    (array([0, 3], dtype=int32), array([1, 1]))
    """
    counts = true < classes  # others are to be ignored
    pairs = true[counts].astype(np.int64) * (classes + 1) + np.minimum(taken[counts], classes)
    often = np.bincount(pairs)
    found = np.flatnonzero(often)
    return found.astype(np.int32), often[found]


def mean_iou(cell: Columns, groups: np.ndarray) -> tuple[float, np.ndarray]:
    """mIoU of a cell over the classes that its images have, and without each of the groups of images."""
    classes = int(np.asarray(cell["classes"])[0])
    count = int(groups.max()) + 1 if len(groups) else 0
    cells = classes * (classes + 1)
    lengths = [len(pairs) for pairs in cell["pairs"]]
    places = np.repeat(groups, lengths) * cells + np.concatenate([np.asarray(p, np.int64) for p in cell["pairs"]])
    weights = np.concatenate([np.asarray(c, np.float64) for c in cell["counts"]])
    each = np.bincount(places, weights, count * cells).reshape(count, classes, classes + 1)
    whole = each.sum(0)
    return _iou(whole), np.array([_iou(whole - one) for one in each])


def _iou(matrix: np.ndarray) -> float:
    """The mean over the classes that there are; pixels taken for a class are counted where the truth is known."""
    there = matrix.sum(1) > 0
    if not there.any():
        return np.nan
    both = np.diagonal(matrix)
    union = matrix.sum(1) + matrix[:, :-1].sum(0) - both
    return float((both[there] / union[there]).mean())
