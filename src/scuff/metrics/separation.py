"""How far apart classes are: the smallest distance between two points of different classes, exactly.

It is twice r, where r is the largest radius of balls that can be drawn around all points so that no two of different
classes overlap. So a classifier can bear any noise within them without a mistake: r is called epsilon_min.

Uint8 values are pixels, whose unit is 255: distances in L-infinity are exactly k / 255. All other values are taken as
they are, and subtracted in float64. Points may have any shape; only whether values are neighbours in it matters, for
speed. Results do not depend on the device or the number of processors. Of several pairs at the same distance, the one
whose rows come first is named.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from scuff.metrics.norms import parse_norm

Progress = Callable[[int, int], None]  # pairs done, pairs to do

NAMED = 5  # pairs of rows that a message names


@dataclass(frozen=True)
class Separation:
    """The smallest distance between points of different classes, and the pair that attains it.

    `rows` are those of the data as given, the smaller first, and `labels` theirs. `norm` is p. `points` took part;
    `dropped` are the rows that did not, as they coincide with points of another class.
    """

    distance: float
    rows: tuple[int, int]
    labels: tuple[int, int]
    norm: float
    points: int
    dropped: tuple[int, ...] = field(default=(), repr=False)

    @property
    def epsilon_min(self) -> float:
        """Half the distance: the radius of noise that costs no accuracy if a classifier is as good as it can be."""
        return self.distance / 2


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Of every point that took part the nearest one of another class: its row and its distance.

    `points` are the rows whose neighbours these are: all but the dropped ones.
    """

    distances: np.ndarray = field(repr=False)
    rows: np.ndarray = field(repr=False)
    points: np.ndarray = field(repr=False)
    norm: float

    def quantile(self, share: float) -> float:
        """The distance that this share of all points does not exceed: of 0, the separation.

        A few wrong labels spoil the smallest distance, but hardly the 0.01 quantile.
        """
        if not 0 <= share <= 1:
            raise ValueError(f"a quantile is from 0 to 1, got {share}")
        return float(np.quantile(self.distances, share))


def class_separation(
    x: ArrayLike,
    labels: ArrayLike,
    norm: float | str = "inf",
    *,
    drop_duplicates: bool = False,
    device: str | None = None,
    progress: Progress | None = None,
) -> Separation:
    """The smallest distance between points of different classes.

    Parameters
    ----------
    x
        Points (n, ...): uint8 for pixels, or any real numbers.
    labels
        Whole numbers (n,).
    norm
        "inf", 2, 1, or any other p of at least 1.
    drop_duplicates
        Points of different classes that coincide make the separation 0, which is an error that names them; with this
        they are left out, all of them.
    device
        None and "cpu" take all processors of this machine, "cuda" a GPU.

    >>> found = class_separation([[0.0, 0.0], [0.5, 0.25], [1.0, 1.0]], [0, 1, 1], norm=1)
    >>> found.distance, found.rows, found.epsilon_min
    (0.75, (0, 1), 0.375)
    """
    task = _Task(x, labels, norm, drop_duplicates, device, progress)
    best = task.search("ALL")
    distance, a, b = task.distances(best)[0], int(best.first[0]), int(best.second[0])
    pair = (int(task.labels[a]), int(task.labels[b]))
    return Separation(float(distance), (a, b), pair, task.p, len(task.rows), task.dropped)


def class_separations(
    x: ArrayLike,
    labels: ArrayLike,
    norm: float | str = "inf",
    *,
    drop_duplicates: bool = False,
    device: str | None = None,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """The same for every two classes: a line each, with the columns label_a, label_b, distance, row_a and row_b.

    The arguments are those of `class_separation`.

    >>> class_separations([[0.0], [0.25], [1.0]], [0, 1, 2]).values.tolist()
    [[0.0, 1.0, 0.25, 0.0, 1.0], [0.0, 2.0, 1.0, 0.0, 2.0], [1.0, 2.0, 0.75, 1.0, 2.0]]
    """
    task = _Task(x, labels, norm, drop_duplicates, device, progress)
    best, count = task.search("CLASSES"), len(task.classes)
    distances = task.distances(best)
    lines = []
    for first in range(count):
        for second in range(first + 1, count):
            place = first * count + second
            if math.isinf(distances[place]):
                continue  # all points of one of the two were dropped
            rows = sorted((int(best.first[place]), int(best.second[place])), key=lambda row: task.numbered[row])
            lines.append((task.classes[first], task.classes[second], distances[place], *rows))
    return pd.DataFrame(lines, columns=["label_a", "label_b", "distance", "row_a", "row_b"])


def nearest_other_class(
    x: ArrayLike,
    labels: ArrayLike,
    norm: float | str = "inf",
    *,
    drop_duplicates: bool = False,
    device: str | None = None,
    progress: Progress | None = None,
) -> Neighbours:
    """Of every point the nearest one of another class; the arguments are those of `class_separation`.

    >>> nearest_other_class([[0.0], [0.25], [1.0]], [0, 1, 1]).distances.tolist()
    [0.25, 0.25, 1.0]
    """
    task = _Task(x, labels, norm, drop_duplicates, device, progress)
    best = task.search("POINTS")
    order = np.argsort(task.searched)
    rows = task.searched[order]
    first, second = best.first[order], best.second[order]
    return Neighbours(task.distances(best)[order], np.where(first == rows, second, first), rows, task.p)


# --- the search, and what may come in its way -------------------------------------------------------------------------


class _Task:
    """Checked points on the way to a search. After it, `searched` are the rows in the order of its results."""

    def __init__(
        self,
        x: ArrayLike,
        labels: ArrayLike,
        norm: float | str,
        drop_duplicates: bool,
        device: str | None,
        progress: Progress | None,
    ) -> None:
        self.p = parse_norm(norm)
        self.x, self.labels = _check_points(x), np.asarray(labels)
        _check_labels(self.labels, len(self.x))
        self.classes, self.numbered = np.unique(self.labels, return_inverse=True)
        self.drop_duplicates, self.device, self.progress = drop_duplicates, device, progress
        self.rows, self.dropped = np.arange(len(self.x)), ()

    def search(self, competition: str) -> Any:
        """The nearest pairs of a competition; coinciding points of different classes are dropped, or refused."""
        best = self._search(competition)
        if best.powers.min() > 0:
            return best
        bad = find_duplicates(self.x, self.numbered)
        if not self.drop_duplicates:
            raise ValueError(_explain_duplicates(self.x, self.labels, bad))
        self.rows, self.dropped = np.setdiff1d(self.rows, bad), tuple(bad.tolist())
        left = np.unique(self.labels[self.rows])
        if len(left) < 2:
            raise ValueError(
                f"without the {len(bad)} points that coincide with points of another class, there are points of "
                f"{len(left)} classes left; expected two at least"
            )
        return self._search(competition)

    def _search(self, competition: str) -> Any:
        from scuff.metrics.neighbours import best, search
        from scuff.metrics.neighbours.prepare import prepare

        prepared = prepare(self.x, self.numbered, self.rows, self.p)
        self.searched, self.scale = prepared.points.rows, prepared.points.scale
        searcher = None
        if self.device is not None and str(self.device) != "cpu":
            from scuff.metrics.neighbours.device import Device

            searcher = Device(prepared, self.device)
        return search.search(prepared, getattr(best, competition), searcher, self.progress)

    def distances(self, best: Any) -> np.ndarray:
        """Distances from what is compared in their place, in the unit of the data."""
        powers = best.powers
        roots = (
            powers if math.isinf(self.p) or self.p == 1 else np.sqrt(powers) if self.p == 2 else powers ** (1 / self.p)
        )
        return roots / 255 if self.x.dtype == np.uint8 else roots / self.scale


def find_duplicates(x: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The rows of points that coincide with a point of another class, ascending.

    >>> find_duplicates(np.array([[1], [2], [1], [2], [3]]), np.array([0, 1, 1, 1, 0])).tolist()
    [0, 2]
    """
    flat = np.ascontiguousarray(x.reshape(len(x), -1) + x.dtype.type(0))  # -0.0 is 0.0
    _, group = np.unique(
        flat.view(np.dtype((np.void, flat.dtype.itemsize * flat.shape[1]))).ravel(), return_inverse=True
    )
    count = group.max() + 1
    lowest, highest = np.full(count, labels.max()), np.full(count, labels.min())
    np.minimum.at(lowest, group, labels)
    np.maximum.at(highest, group, labels)
    return np.flatnonzero((lowest < highest)[group])


def _check_points(x: ArrayLike) -> np.ndarray:
    """Points as uint8, float32 or float64, all of them numbers."""
    x = np.asarray(x)
    if x.dtype.kind not in "biuf":
        raise ValueError(f"points must be numbers, got {x.dtype}")
    if x.ndim < 2 or not x.size:
        raise ValueError(f"points must be (n, features), with at least one of each, got {x.shape}")
    if x.dtype not in (np.uint8, np.float32, np.float64):
        x = x.astype(np.float32 if x.dtype == np.float16 else np.float64)
    flat = np.ascontiguousarray(x).reshape(len(x), -1)
    if x.dtype != np.uint8 and not np.isfinite([flat.min(), flat.max()]).all():
        row, feature = np.argwhere(~np.isfinite(flat))[0]
        raise ValueError(
            f"row {row} has {flat[row, feature]} as feature {feature}; distances need numbers: fill it in, or take the "
            "row out"
        )
    return flat.reshape(x.shape)


def _check_labels(labels: np.ndarray, count: int) -> None:
    if labels.dtype.kind not in "biu":
        raise ValueError(f"labels must be whole numbers, got {labels.dtype}; number the classes")
    if labels.shape != (count,):
        raise ValueError(f"{count} points need as many labels, got {labels.shape}")
    if len(np.unique(labels)) < 2:
        raise ValueError(f"expected points of at least two classes, all {count} have the label {labels[0]}")


def _explain_duplicates(x: np.ndarray, labels: np.ndarray, bad: np.ndarray) -> str:
    flat = x.reshape(len(x), -1)
    if len(bad) == len(x) and (flat == flat[0]).all():
        return f"all {len(x)} points are equal: every feature is constant, so that classes cannot be told apart"
    pairs = []
    for row in bad:
        other = next((k for k in bad if k > row and labels[k] != labels[row] and (flat[k] == flat[row]).all()), None)
        if other is not None:
            pairs.append(f"{row} (label {labels[row]}) and {other} (label {labels[other]})")
        if len(pairs) == NAMED:
            break
    more = ", ..." if len(bad) > 2 * NAMED else ""
    return (
        f"{len(bad)} points coincide with points of another class, so that the separation is 0: rows {', '.join(pairs)}"
        f"{more}; correct their labels, or leave all of them out with drop_duplicates"
    )
