"""Points and labels as they are given: checked, rid of duplicates, and made ready for the search."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from scuff.metrics.norms import parse_norm
from scuff.metrics.separation.neighbours.compiling import compiled, in_threads
from scuff.metrics.separation.neighbours.prepare import prepare

NAMED = 5  # pairs of duplicates that an error names
VALUES = 1 << 24  # that are looked through at once for those that are not finite
ROWS = 1000  # that one thread hashes at a time


class Given:
    """What takes part in the search: `rows` of the points, whose labels are among `classes`; others were `dropped`."""

    def __init__(self, x: ArrayLike, labels: ArrayLike, norm: float | str, drop_duplicates: bool = False) -> None:
        self.norm = parse_norm(norm)
        x = check_points(np.asarray(x))
        self.labels = check_labels(np.asarray(labels), len(x))
        conflicts = find_conflicts(x.reshape(len(x), -1), self.labels)
        if conflicts and not drop_duplicates:
            raise ValueError(_describe(conflicts, self.labels))
        self.dropped = np.sort(np.concatenate([np.empty(0, np.int64), *conflicts]))
        self.rows = np.setdiff1d(np.arange(len(x)), self.dropped)
        self.classes = np.unique(self.labels[self.rows])
        if len(self.classes) < 2:
            raise ValueError(
                f"{len(self.dropped)} of {len(x)} points were dropped as duplicates with different labels, and the "
                f"{len(self.rows)} that are left do not have two classes; nothing can be said about separation"
            )
        self.prepared = prepare(x, np.searchsorted(self.classes, self.labels), self.rows, self.norm)

    def nearest(self, powers: np.ndarray) -> np.ndarray:
        """The distances of nearest pairs of different classes, none of which can be 0."""
        if powers.min() < np.finfo(np.float64).tiny:
            raise ValueError(
                f"the smallest gap, to the power of {self.norm:g}, is too small for double precision beside the "
                "largest value; use the norm 'inf' or a smaller p, or bring the data to one scale"
            )
        return self.distances(powers)

    def distances(self, powers: np.ndarray) -> np.ndarray:
        """Distances as they are reported, from those that the search compares."""
        points, p = self.prepared.points, self.norm
        roots = powers if p in (1, math.inf) else np.sqrt(powers) if p == 2 else powers ** (1 / p)
        return roots / (255 if points.x.dtype == np.uint8 else points.scale)


def check_points(x: np.ndarray) -> np.ndarray:
    """Points (n, ...) as uint8, float32 or float64."""
    if x.dtype.kind not in "buif":
        raise ValueError(f"points must be numbers, got an array of {x.dtype}")
    if x.ndim < 2 or x.size == 0:
        raise ValueError(f"points must be an array (n, features) or (n, height, width[, channels]), got {x.shape}")
    dtype = x.dtype if x.dtype == np.uint8 else np.float32 if x.dtype in (np.float16, np.float32) else np.float64
    x = np.ascontiguousarray(x, dtype).view()
    x.setflags(write=False)  # always, since loops would be compiled once more for arrays that are
    if x.dtype != np.uint8:
        step = max(1, VALUES // x[0].size)
        for start in range(0, len(x), step):
            wrong = np.argwhere(~np.isfinite(x[start : start + step]))
            if len(wrong):
                row, *feature = (wrong[0] + [start, *[0] * (x.ndim - 1)]).tolist()
                where = feature[0] if len(feature) == 1 else tuple(feature)
                value = x[(row, *feature)]
                raise ValueError(f"points must be finite, got {value} in row {row}, feature {where}; remove such rows")
    return x


def check_labels(labels: np.ndarray, points: int) -> np.ndarray:
    """Labels (n,) as int64, at least two different ones."""
    if labels.shape != (points,):
        raise ValueError(f"expected one label for each of {points} points, got labels of shape {labels.shape}")
    if labels.dtype.kind not in "bui":
        raise ValueError(f"labels must be whole numbers, got {labels.dtype}; number the classes from 0")
    labels = labels.astype(np.int64)
    if (labels == labels[0]).all():
        raise ValueError(f"all {points} points have label {labels[0]}; class separation needs at least two classes")
    return labels


def _describe(conflicts: list[np.ndarray], labels: np.ndarray) -> str:
    """What is wrong with points that are identical but have different labels, and what can be done."""
    if len(conflicts[0]) == len(labels):
        return (
            f"all {len(labels)} points are identical: every feature is constant, and no distance separates the classes"
        )
    pairs = []
    for group in conflicts[:NAMED]:
        other = group[np.argmax(labels[group] != labels[group[0]])]
        pairs.append(f"{group[0]} and {other} (labels {labels[group[0]]} and {labels[other]})")
    more = f" and {len(conflicts) - NAMED} more groups" if len(conflicts) > NAMED else ""
    return (
        f"{sum(map(len, conflicts))} points are identical to others with a different label, so that no distance "
        f"separates the classes: rows {', '.join(pairs)}{more}; correct the data, or pass drop_duplicates=True to "
        "leave out all of them"
    )


def find_conflicts(x: np.ndarray, labels: np.ndarray) -> list[np.ndarray]:
    """Groups of rows of x (n, features) that are identical but have different labels, each in order.

    >>> x = np.array([[1.0, 0.0], [2.0, 0.0], [1.0, -0.0], [2.0, 0.0]])
    >>> [group.tolist() for group in find_conflicts(x, np.array([0, 1, 1, 1]))]
    [[0, 2]]
    """
    codes = np.empty(len(x), np.uint64)
    bits = x.view(f"u{x.itemsize}")
    for _ in in_threads(lambda start: _hash(bits, start, codes[start : start + ROWS]), range(0, len(x), ROWS)):
        pass
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.append(True, np.diff(codes[order]) != 0))
    lowest, highest = (extreme.reduceat(labels[order], starts) for extreme in (np.minimum, np.maximum))
    stops = np.append(starts[1:], len(order))
    mixed = np.flatnonzero(lowest < highest)
    groups = [group for k in mixed for group in _identical(x, order[starts[k] : stops[k]])]
    return sorted((group for group in groups if len(set(labels[group].tolist())) > 1), key=lambda group: group[0])


@compiled
def _hash(bits, start, out):
    """A code for each row, the same for identical ones (FNV-1a). Zeros of both signs are the same."""
    negative_zero = np.uint64(1) << np.uint64(8 * bits.itemsize - 1)
    if bits.itemsize == 1:
        negative_zero = np.uint64(256)  # bytes have no sign
    for k in range(len(out)):
        code = np.uint64(14695981039346656037)
        for f in range(bits.shape[1]):
            value = np.uint64(bits[start + k, f])
            code = (code ^ (np.uint64(0) if value == negative_zero else value)) * np.uint64(1099511628211)
        out[k] = code


def _identical(x: np.ndarray, rows: np.ndarray) -> list[np.ndarray]:
    """Rows of the same code, grouped by what they hold: different rows may have the same code."""
    groups: dict[bytes, list[int]] = {}
    for row in rows:
        groups.setdefault((x[row] + 0).tobytes(), []).append(row)
    return [np.array(group) for group in groups.values()]
