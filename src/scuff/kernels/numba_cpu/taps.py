"""Sums of many weighted reads that stay in registers.

A filter adds up hundreds of taps for every value. A loop over values would load and store each sum for every few taps;
here, a block of neighbouring sums waits in registers until all taps have been added, in their order. Numba has no
vectors, so the block is written in LLVM's language.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from scuff.kernels.numba_cpu.compiling import INDEX, inlined
from scuff.kernels.numba_cpu.lanes import in_all_lanes

FLOAT = ir.FloatType()


def _summing(vectors: int, lanes: int) -> Callable:
    """The function (flat, starts, weights, at, row) that sets `vectors * lanes` values of a row, from place `at` on.

    Value j becomes the sum of weights[t] * flat[starts[t] + j], every product and sum rounded once together (fma).
    """
    vector = ir.VectorType(FLOAT, lanes)

    @intrinsic
    def summing(typing_context, flat, starts, weights, at, row):
        def generate(context, builder, signature, arguments):
            arrays = [
                context.make_array(signature.args[k])(context, builder, arguments[k]) if k != 3 else None
                for k in range(5)
            ]
            fma = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(vector, [vector] * 3), f"llvm.fma.v{lanes}f32"
            )

            def places(array, first):
                numbers = (builder.add(first, ir.Constant(first.type, lanes * k)) for k in range(vectors))
                return [builder.bitcast(builder.gep(array.data, [n]), vector.as_pointer()) for n in numbers]

            sums = [cgutils.alloca_once_value(builder, ir.Constant(vector, [0.0] * lanes)) for _ in range(vectors)]
            (count,) = cgutils.unpack_tuple(builder, arrays[1].shape, 1)
            with cgutils.for_range(builder, count) as loop:
                start, weight = (builder.load(builder.gep(arrays[k].data, [loop.index])) for k in (1, 2))
                in_all = in_all_lanes(builder, weight, vector)
                for sum_, place in zip(sums, places(arrays[0], builder.add(start, arguments[3])), strict=True):
                    read = builder.load(place, align=4)
                    builder.store(builder.call(fma, [in_all, read, builder.load(sum_)]), sum_)
            for sum_, place in zip(sums, places(arrays[4], arguments[3]), strict=True):
                builder.store(builder.load(sum_), place, align=4)
            return context.get_dummy_value()

        return types.void(flat, starts, weights, types.uintp, row), generate

    return summing


# A sum waits four cycles for the last product. Eight at once keep a processor busy that begins two in a cycle.
_sum_64, _sum_32, _sum_4, _sum_1 = _summing(8, 8), _summing(4, 8), _summing(1, 4), _summing(1, 1)


@inlined
def sum_taps(flat, starts, weights, row):
    """One row of sums. The last block ends where the row does: what it shares with the block before comes out the same.

    `starts` (of type INDEX) are the places in `flat` at which taps begin to read.
    """
    size = INDEX(row.size)
    if size >= INDEX(32):
        whole = size & ~INDEX(63)
        for at in range(INDEX(0), whole, INDEX(64)):
            _sum_64(flat, starts, weights, at, row)
        for at in range(whole, size, INDEX(32)):
            _sum_32(flat, starts, weights, min(at, size - INDEX(32)), row)
    elif size >= INDEX(4):
        for at in range(INDEX(0), size, INDEX(4)):
            _sum_4(flat, starts, weights, min(at, size - INDEX(4)), row)
    else:
        for at in range(size):
            _sum_1(flat, starts, weights, at, row)
