"""Exact distances, in the one arithmetic that decides which pair is nearer, and how far it is.

Distances are compared before the root is taken: as the largest gap (L-infinity), or as the sum of gaps to the power p.
For bytes and p = 1, 2 or infinity these are whole numbers. Real numbers are subtracted in float64 and added in order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scuff.metrics.separation.neighbours.compiling import compiled, inlined

U8, U16, U32, INDEX = np.uint8, np.uint16, np.uint32, np.uintp
CHUNK = 256  # features that are added up before the sum is compared with the limit; squares of as many fit into U32


class Points(NamedTuple):
    """Points (n, features) of one type, and what is needed to measure them. The arrays of other types are empty.

    So compiled code is the same for all types, and compiled once.
    """

    bytes: np.ndarray
    singles: np.ndarray
    doubles: np.ndarray
    rows: np.ndarray  # int64: those that take part, in the order of the search; a position is a place in this list
    p: float
    scale: float  # a power of two, which makes real numbers at most 1, so that no power of them is too large
    table: np.ndarray  # float64 (256,): gaps of bytes to the power p

    @property
    def x(self) -> np.ndarray:
        """The points as given."""
        return max(self[:3], key=np.size)


def make_points(x: np.ndarray, rows: np.ndarray, p: float, scale: float) -> Points:
    """Points x (n, features), which are uint8, float32 or float64."""
    empty = (np.empty((0, 0), dtype) for dtype in (np.uint8, np.float32, np.float64))
    arrays = [x if x.dtype == other.dtype else other for other in empty]
    for array in arrays:
        array.setflags(write=False)
    return Points(*arrays, rows, p, scale, np.arange(256.0) ** p)  # type: ignore[call-arg, arg-type]


@compiled
def pair_powers(points, first, second):
    """The distances of some pairs of rows, before the root is taken."""
    powers = np.empty(len(first))
    bytes_, singles, doubles, _, p, scale, table = points
    for k in range(len(first)):
        powers[k] = power(bytes_, singles, doubles, first[k], second[k], p, scale, table, np.inf)
    return powers


@inlined
def power(bytes_, singles, doubles, a, b, p, scale, table, limit):
    """The distance of two rows before the root is taken; infinity as soon as it is known to exceed the limit."""
    if bytes_.size:
        total = _power_of_bytes(bytes_, a, b, p, table, limit)
    elif singles.size:
        total = _power_of_numbers(singles, a, b, p, scale, limit)
    else:
        total = _power_of_numbers(doubles, a, b, p, scale, limit)
    return total


@inlined
def _power_of_bytes(x, a, b, p, table, limit):
    total, features = 0.0, x.shape[1]
    for start in range(0, features, CHUNK):
        stop = min(start + CHUNK, features)
        if p == np.inf:
            total = max(total, _largest_gap(x, a, b, start, stop))
        elif p == 1:
            total += _sum_gaps(x, a, b, start, stop)
        elif p == 2:
            total += _sum_squares(x, a, b, start, stop)
        else:
            for k in range(start, stop):
                total += table[_gap(x[a, k], x[b, k])]
        if total > limit:
            total = np.inf
            break
    return total


@inlined
def _gap(u, v):
    """The difference of two bytes as a byte: sixteen of them fit into a register."""
    return U8(max(u, v) - min(u, v))


@inlined
def _largest_gap(x, a, b, start, stop):
    a, b, largest = INDEX(a), INDEX(b), U8(0)
    for k in range(INDEX(start), INDEX(stop)):
        largest = max(largest, _gap(x[a, k], x[b, k]))
    return np.float64(largest)


@inlined
def _sum_gaps(x, a, b, start, stop):
    a, b, total = INDEX(a), INDEX(b), U32(0)
    for k in range(INDEX(start), INDEX(stop)):
        total = U32(total + U32(_gap(x[a, k], x[b, k])))
    return np.float64(total)


@inlined
def _sum_squares(x, a, b, start, stop):
    a, b, total = INDEX(a), INDEX(b), U32(0)
    for k in range(INDEX(start), INDEX(stop)):
        gap = U16(_gap(x[a, k], x[b, k]))
        total = U32(total + U32(gap * gap))
    return np.float64(total)


@inlined
def _power_of_numbers(x, a, b, p, scale, limit):
    total, features = 0.0, x.shape[1]
    for start in range(0, features, CHUNK):
        for k in range(start, min(start + CHUNK, features)):
            gap = abs(np.float64(x[a, k]) - np.float64(x[b, k])) * scale
            if p == np.inf:
                total = max(total, gap)
            elif p == 1:
                total += gap
            elif p == 2:
                total += gap * gap
            else:
                total += gap**p
        if total > limit:
            total = np.inf
            break
    return total
