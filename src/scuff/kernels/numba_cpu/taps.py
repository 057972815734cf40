"""Sums of many weighted reads that stay in registers.

A filter adds up hundreds of taps for every value. A loop over values would load and store each sum for every few taps;
here, a block of neighbouring sums waits in registers until all taps have been added, in their order. Numba has no
vectors, so the block is written in LLVM's language.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from scuff.kernels.numba_cpu.compiling import F32, INDEX, compiled, inlined
from scuff.kernels.numba_cpu.lanes import WIDEST, in_all_lanes

FLOAT = ir.FloatType()


def _summing(vectors: int, lanes: int) -> Callable:
    """The function (flat, starts, weights, at, rows) that sets `vectors * lanes` values of rows, from place `at` on.

    Value j of row r becomes the sum of weights[r][t] * flat[starts[t] + j], every product and sum rounded once together
    (fma). Rows and their weights are tuples, and what is read for one row serves for all.
    """
    vector = ir.VectorType(FLOAT, lanes)

    @intrinsic
    def summing(typing_context, flat, starts, weights, at, rows):
        def generate(context, builder, signature, arguments):
            def data(kind, array):
                return context.make_array(kind)(context, builder, array)

            flat, starts = (data(signature.args[k], arguments[k]) for k in (0, 1))
            weights, rows = (
                [data(signature.args[k].dtype, one) for one in cgutils.unpack_tuple(builder, arguments[k])]
                for k in (2, 4)
            )
            fma = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(vector, [vector] * 3), f"llvm.fma.v{lanes}f32"
            )

            def places(array, first):
                numbers = (builder.add(first, ir.Constant(first.type, lanes * k)) for k in range(vectors))
                return [builder.bitcast(builder.gep(array.data, [n]), vector.as_pointer()) for n in numbers]

            zero = ir.Constant(vector, [0.0] * lanes)
            sums = [[cgutils.alloca_once_value(builder, zero) for _ in range(vectors)] for _ in rows]
            (count,) = cgutils.unpack_tuple(builder, starts.shape, 1)
            with cgutils.for_range(builder, count) as loop:
                start = builder.load(builder.gep(starts.data, [loop.index]))
                shares = [builder.load(builder.gep(each.data, [loop.index])) for each in weights]
                shares = [in_all_lanes(builder, share, vector) for share in shares]
                for k, place in enumerate(places(flat, builder.add(start, arguments[3]))):
                    read = builder.load(place, align=4)
                    for share, of_row in zip(shares, sums, strict=True):
                        builder.store(builder.call(fma, [share, read, builder.load(of_row[k])]), of_row[k])
            for row, of_row in zip(rows, sums, strict=True):
                for sum_, place in zip(of_row, places(row, arguments[3]), strict=True):
                    builder.store(builder.load(sum_), place, align=4)
            return context.get_dummy_value()

        return types.void(flat, starts, weights, types.uintp, rows), generate

    return summing


# A sum waits four cycles for the last product. Eight vectors at once keep a processor busy that begins two in a cycle.
_sum_64, _sum_32 = (_summing(count // WIDEST, WIDEST) for count in (64, 32))
_sum_4, _sum_1 = _summing(1, 4), _summing(1, 1)
BLOCK = INDEX(64 if WIDEST == 16 else 32)  # of two rows at once: as many as there are registers for
_sum_block = _summing(int(BLOCK) // WIDEST, WIDEST)


@compiled
def sum_taps(flat, starts, weights, row):
    """One row of sums. The last block ends where the row does: what it shares with the block before comes out the same.

    `starts` (of type INDEX) are the places in `flat` at which taps begin to read.
    """
    size, weights, rows = INDEX(row.size), (weights,), (row,)
    if size >= INDEX(32):
        whole = size & ~INDEX(63)
        for at in range(INDEX(0), whole, INDEX(64)):
            _sum_64(flat, starts, weights, at, rows)
        for at in range(whole, size, INDEX(32)):
            _sum_32(flat, starts, weights, min(at, size - INDEX(32)), rows)
    elif size >= INDEX(4):
        for at in range(INDEX(0), size, INDEX(4)):
            _sum_4(flat, starts, weights, min(at, size - INDEX(4)), rows)
    else:
        for at in range(size):
            _sum_1(flat, starts, weights, at, rows)


@inlined
def sum_taps_of_two(flat, starts, weights, rows):
    """`sum_taps` of two rows, each of 32 values or more and with its own weights, that read the same."""
    size = INDEX(rows[0].size)
    whole = size - size % BLOCK
    for at in range(INDEX(0), whole, BLOCK):
        _sum_block(flat, starts, weights, at, rows)
    for at in range(whole, size, INDEX(32)):
        _sum_32(flat, starts, weights, min(at, size - INDEX(32)), rows)


def taps_of_two(dy: np.ndarray, dx: np.ndarray, weights: np.ndarray) -> list[np.ndarray] | None:
    """Taps that serve a row and the next: shifts, and the weights of either row, zero for what the other reads alone.

    Each row gets its taps in the order that they came in, so sums stay what they are. None if that is another order
    than that of rows and columns, or if the two have little in common.
    """
    far = 1 << 20  # more than any row is long
    places = dy.astype(np.int64) * far + dx
    both = np.union1d(places, places + far)
    if np.any(np.diff(places) <= 0) or both.size > 1.25 * places.size:
        return None
    shares = np.zeros((2, both.size), F32)
    shares[0, np.searchsorted(both, places)] = shares[1, np.searchsorted(both, places + far)] = weights
    down = (both + far // 2) // far
    return [down, both - down * far, shares]
