"""Class separation: how far points of different classes are apart, at least.

Siedel, Vock, Morozov and Voß ("Utilizing Class Separation Distance for the Evaluation of Corruption Robustness of
Machine Learning Classifiers", 2022):

    2r = min { ||x_i - x_j||_p : labels of i and j differ }        epsilon_min = r

Balls of a radius below r around points of different classes do not touch: noise in them leaves a classifier no excuse.
The search is exact (see `neighbours`), and the result does not depend on the device, the number of cores or
the order of work. Of several pairs that are equally far apart, the one whose smaller row comes first is named,
then the one whose larger row does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypedDict, Unpack

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from scuff.metrics.norms import norm_name

if TYPE_CHECKING:
    from scuff.metrics.separation.neighbours import Best, Given


class SearchOptions(TypedDict, total=False):
    """Options of all searches, see `class_separation`."""

    drop_duplicates: bool
    device: str | None
    progress: Callable[[int, int], None] | None


@dataclass(frozen=True)
class Separation:
    """The smallest distance between points of different classes.

    >>> print(class_separation(np.array([[0.0, 0.0], [0.5, 0.0], [0.5, 0.25]]), [0, 0, 1]))
    L-infinity 0.25 between rows 1 and 2 (classes 0 and 1) of 3 points; epsilon_min 0.125
    """

    distance: float
    rows: tuple[int, int]  # the pair that is so far apart, by rows of the data as given, the smaller first
    labels: tuple[int, int]  # and its labels, in that order
    norm: float
    points: int  # that took part
    dropped: tuple[int, ...] = field(default=(), repr=False)  # rows that were left out as duplicates

    @property
    def epsilon_min(self) -> float:
        """Half the distance: the largest radius at which balls around points of different classes do not overlap."""
        return self.distance / 2

    def __str__(self) -> str:
        (a, b), (one, other) = self.rows, self.labels
        return (
            f"{norm_name(self.norm)} {self.distance:.6g} between rows {a} and {b} (classes {one} and {other}) "
            f"of {self.points} points; epsilon_min {self.epsilon_min:.6g}"
        )


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The nearest point of another class, for every point that took part."""

    distances: np.ndarray  # float64 (n,)
    rows: np.ndarray  # int64 (n,): where the nearest point is, by rows of the data as given
    points: np.ndarray  # int64 (n,): whose neighbours these are, in order
    norm: float

    def quantile(self, q: float) -> float:
        """A robust variant of the separation: a share q of all points have this distance, or less.

        It is always the distance of some point; q = 0 gives the minimum, which is the class separation.
        """
        if not 0 <= q <= 1:
            raise ValueError(f"a quantile is a share from 0 to 1, got {q}")
        return float(np.quantile(self.distances, q, method="inverted_cdf"))

    def separation(self, labels: ArrayLike) -> Separation:
        """The class separation, which is the smallest of these distances. `labels` are those of all points."""
        labels = np.asarray(labels)
        nearest = np.flatnonzero(self.distances == self.distances.min())
        rows = min(tuple(sorted((int(self.points[k]), int(self.rows[k])))) for k in nearest)
        dropped = np.setdiff1d(np.arange(len(labels)), self.points)
        return _separation(self.distances.min(), rows, labels, self.norm, len(self.points), dropped)


def class_separation(
    x: ArrayLike, labels: ArrayLike, norm: float | str = "inf", **options: Unpack[SearchOptions]
) -> Separation:
    """The smallest distance between points of different classes, and the pair that attains it.

    Parameters
    ----------
    x
        Points (n, ...): images, or rows of a table. uint8 are pixels, whose distances are in units in which 255 is 1,
        so that in L-infinity they are whole multiples of 1/255. Other numbers are taken as they are, as float64.
    labels
        Whole numbers (n,).
    norm
        "inf", "L2", "L1", or any p from 1 to 100.
    drop_duplicates
        Leave out all points of groups that are identical but have different labels. Otherwise there is an error that
        names some: no classifier can be right about them all.
    device
        None or "cpu" for all cores, "cuda" for a GPU.
    progress
        Called with the number of pairs that are done, and that of all pairs.

    Examples
    --------
    >>> images = np.array([[[10, 20]], [[10, 24]], [[12, 90]]], np.uint8)
    >>> separation = class_separation(images, [0, 1, 1])
    >>> separation.distance == 4 / 255, separation.rows
    (True, (0, 1))
    """
    given, best = _search("ALL", x, labels, norm, **options)
    rows = int(best.first[0]), int(best.second[0])
    return _separation(given.nearest(best.powers)[0], rows, given.labels, given.norm, len(given.rows), given.dropped)


def class_separations(
    x: ArrayLike, labels: ArrayLike, norm: float | str = "inf", **options: Unpack[SearchOptions]
) -> pd.DataFrame:
    """The separation of each two classes: label_a, label_b, distance, row_a, row_b. Parameters as above.

    >>> class_separations(np.array([[0.0], [1.0], [3.0], [3.5]]), [0, 0, 1, 2]).values.tolist()
    [[0.0, 1.0, 2.0, 1.0, 2.0], [0.0, 2.0, 2.5, 1.0, 3.0], [1.0, 2.0, 0.5, 2.0, 3.0]]
    """
    given, best = _search("CLASSES", x, labels, norm, **options)
    classes = len(given.classes)
    a, b = np.triu_indices(classes, 1)
    places = a * classes + b
    first, second = best.first[places], best.second[places]
    turned = given.labels[first] != given.classes[a]
    return pd.DataFrame(
        {
            "label_a": given.classes[a],
            "label_b": given.classes[b],
            "distance": given.nearest(best.powers[places]),
            "row_a": np.where(turned, second, first),
            "row_b": np.where(turned, first, second),
        }
    )


def nearest_other_class(
    x: ArrayLike, labels: ArrayLike, norm: float | str = "inf", **options: Unpack[SearchOptions]
) -> Neighbours:
    """The distance from every point to the nearest point of another class, and its row. Parameters as above.

    >>> near = nearest_other_class(np.array([[0.0], [1.0], [3.0], [3.5]]), [0, 0, 1, 2])
    >>> near.distances.tolist(), near.rows.tolist(), near.quantile(0.75)
    ([3.0, 2.0, 0.5, 0.5], [2, 2, 3, 2], 2.0)
    """
    given, best = _search("POINTS", x, labels, norm, **options)
    rows = given.prepared.points.rows
    order = np.argsort(rows)
    return Neighbours(
        distances=given.nearest(best.powers)[order],
        rows=np.where(best.first == rows, best.second, best.first)[order],
        points=rows[order],
        norm=given.norm,
    )


def _separation(
    distance: float, rows: tuple[int, ...], labels: np.ndarray, norm: float, points: int, dropped: np.ndarray
) -> Separation:
    first, second = rows
    pair = int(labels[first]), int(labels[second])
    return Separation(float(distance), (first, second), pair, norm, points, tuple(dropped.tolist()))


def _search(
    competition: str,
    x: ArrayLike,
    labels: ArrayLike,
    norm: float | str,
    drop_duplicates: bool = False,
    device: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Given, Best]:
    """The points as they were searched, and the nearest pairs of a competition."""
    from scuff.metrics.separation import neighbours

    given = neighbours.Given(x, labels, norm, drop_duplicates)
    searcher = neighbours.open_searcher(given.prepared, device)
    return given, neighbours.search(searcher, getattr(neighbours, competition), progress)
