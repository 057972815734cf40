"""Exact distances, in the one arithmetic that decides which pair is nearer, and how far it is.

Distances are compared before the root is taken: as the largest gap (L-infinity), or as the sum of gaps to the power p.
For bytes and p = 1, 2 or infinity these are whole numbers. Real numbers are subtracted in float64 and added in order.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numba.extending import overload

from scuff.metrics.neighbours.compiling import compiled, inlined

U8, U16, U32, INDEX = np.uint8, np.uint16, np.uint32, np.uintp
CHUNK = 256  # features that are added up before the sum is compared with the limit; squares of as many fit into U32


@compiled
def pair_powers(points, first, second):
    """The distances of some pairs of rows, before the root is taken."""
    powers = np.empty(len(first))
    for k in range(len(first)):
        powers[k] = power(points.x, first[k], second[k], points.p, points.scale, points.table, np.inf)
    return powers


def power(x, a, b, p, scale, table, limit):
    """The distance of two rows before the root is taken; infinity as soon as it is known to exceed the limit.

    Real numbers are multiplied by `scale`; `table` holds what gaps of bytes are to the power p.
    """
    raise NotImplementedError("for compiled code only")


@overload(power, inline="always")
def _choose(x, a, b, p, scale, table, limit):
    return _power_of_bytes if x.dtype == types.uint8 else _power_of_numbers


def _power_of_bytes(x, a, b, p, scale, table, limit):
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
            return np.inf
    return total


@inlined
def _gap(u, v):
    """The difference of two bytes as a byte: so it fits sixteen times into a register, and sums run at full speed."""
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


def _power_of_numbers(x, a, b, p, scale, table, limit):
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
            return np.inf
    return total
