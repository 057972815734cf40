"""Real numbers to bytes, sixteen at a time.

Left to itself, the compiler takes as many numbers at once as a register holds of four bytes each, and moves bytes in
fours. Told to take sixteen, it finds the instructions that halve the width of many.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from scuff.kernels.numba_cpu.compiling import F32, INDEX, compiled
from scuff.kernels.numba_cpu.lanes import in_all_lanes, vector_at

LANES = 16
REALS, WHOLES, BYTES = (ir.VectorType(kind, LANES) for kind in (ir.FloatType(), ir.IntType(32), ir.IntType(8)))


@intrinsic
def _several_to_bytes(typing_context, values, at, factor, offset, out):
    """`to_bytes` of the numbers from `at` on."""

    def generate(context, builder, signature, arguments):
        values, at, factor, offset, out = arguments

        source = vector_at(context, builder, signature.args[0], values, at, REALS)
        target = vector_at(context, builder, signature.args[4], out, at, BYTES)
        v = builder.fmul(builder.load(source, align=4), in_all_lanes(builder, factor, REALS))
        v = builder.fadd(v, in_all_lanes(builder, offset, REALS))
        for order, limit in ((">", 0.0), ("<", 255.0)):
            end = ir.Constant(REALS, [limit] * LANES)
            v = builder.select(builder.fcmp_ordered(order, v, end), v, end)
        builder.store(builder.trunc(builder.fptosi(v, WHOLES), BYTES), target, align=1)
        return context.get_dummy_value()

    return types.void(values, types.uintp, types.float32, types.float32, out), generate


@compiled
def to_bytes(values, factor, offset, out):
    """values * factor + offset, with two roundings, cut to whole numbers and to 0..255; what is no number becomes 0.

    Both arrays have their numbers side by side.
    """
    rest = INDEX(out.size - out.size % LANES)
    for k in range(INDEX(0), rest, INDEX(LANES)):
        _several_to_bytes(values, k, factor, offset, out)
    for k in range(rest, INDEX(out.size)):
        v = values[k] * factor + offset
        v = v if v > F32(0.0) else F32(0.0)
        out[k] = np.uint8(np.int32(v if v < F32(255.0) else F32(255.0)))
