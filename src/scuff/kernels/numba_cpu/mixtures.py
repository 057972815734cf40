"""Channels as mixtures of all three; sixteen pixels at once where the processor can pick bytes in any order.

There, the bytes of red and green are picked as pairs of 16 bits, of which one instruction sums the products.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.numba_cpu.compiling import F32, INDEX, compiled, fma, inlined, values_of
from scuff.kernels.numba_cpu.filling import fill_pixels
from scuff.kernels.numba_cpu.lanes import FEATURES, in_all_lanes, vector_at

PICKS_BYTES = "+avx512vbmi" in FEATURES
READ, PUT = INDEX(64), INDEX(48)  # bytes at once; of those that are read, the next turn has the last sixteen
PIXELS = range(16)
BYTES, PAIRS, SUMS = (ir.VectorType(ir.IntType(8 * size), 64 // size) for size in (1, 2, 4))
NOTHING = 64  # where a byte of zeros is picked


@intrinsic
def _mix_sixteen(typing_context, pixels, k, shares, out):
    """The pixels from the byte k on; `shares` are the nine of a mixture, in 1024ths."""

    def generate(context, builder, signature, arguments):
        kinds, (pixels, k, shares, out) = signature.args, arguments
        kind = ir.FunctionType(SUMS, [PAIRS, PAIRS])
        sum_products = cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.avx512.pmaddw.d.512")
        nothing = ir.Constant(BYTES, [0] * 64)

        def every(number: int) -> ir.Constant:
            return ir.Constant(SUMS, [number] * SUMS.count)

        def pick(one: ir.Value, places: list[int]) -> ir.Value:
            order = ir.Constant(ir.VectorType(ir.IntType(32), len(places)), places)
            return builder.shuffle_vector(one, nothing, order)

        def pairs(low: ir.Value, high: ir.Value) -> ir.Value:
            both = builder.or_(builder.and_(low, low.type(0xFFFF)), builder.shl(high, high.type(16)))
            return builder.bitcast(in_all_lanes(builder, both, SUMS), PAIRS)

        read = builder.load(vector_at(context, builder, kinds[0], pixels, k, BYTES), align=1)
        red_green = pick(read, [p for j in PIXELS for p in (3 * j, NOTHING, 3 * j + 1, NOTHING)])
        blue = pick(read, [p for j in PIXELS for p in (3 * j + 2, NOTHING, NOTHING, NOTHING)])
        red_green, blue = (builder.bitcast(each, PAIRS) for each in (red_green, blue))
        numbers, mixed = cgutils.unpack_tuple(builder, shares), every(0)
        for channel in range(3):
            a, b, c = numbers[3 * channel : 3 * channel + 3]
            level = builder.add(builder.call(sum_products, [blue, pairs(c, c.type(0))]), every(512))
            level = builder.add(builder.call(sum_products, [red_green, pairs(a, b)]), level)
            level = builder.ashr(level, every(10))
            for sign, bound in (("<", every(0)), (">", every(255))):
                level = builder.select(builder.icmp_signed(sign, level, bound), bound, level)
            mixed = builder.or_(mixed, builder.shl(level, every(8 * channel)))
        mixed = pick(builder.bitcast(mixed, BYTES), [4 * j + channel for j in PIXELS for channel in range(3)])
        builder.store(mixed, vector_at(context, builder, kinds[3], out, k, mixed.type), align=1)
        return context.get_dummy_value()

    return types.void(pixels, types.uintp, shares, out), generate


@inlined
def _mixed(red, green, blue, a, b, c):
    """The rounded level of a mixture. Shares are 1024ths: all sums are exact, fused or not."""
    level = np.int32(fma(a, red, fma(b, green, fma(c, blue, F32(0.5)))))
    return np.uint8(min(max(level, np.int32(0)), np.int32(255)))


@inlined
def _mix_from(first, pixels, shares, out):
    """The pixels from the byte `first` on. In floats: these, compilers vectorise across three channels."""
    a, b, c, d, e, f, g, h, m = shares.ravel()
    for j in range((INDEX(pixels.size) - first) // INDEX(3)):
        k = first + INDEX(3) * j
        red, green, blue = F32(pixels[k]), F32(pixels[k + INDEX(1)]), F32(pixels[k + INDEX(2)])
        out[k] = _mixed(red, green, blue, a, b, c)
        out[k + INDEX(1)] = _mixed(red, green, blue, d, e, f)
        out[k + INDEX(2)] = _mixed(red, green, blue, g, h, m)


@compiled
def _mix_one_by_one(image, shares, made):
    _mix_from(INDEX(0), values_of(image), shares, values_of(made))


@compiled
def _mix_many(image, shares, made):
    pixels, out, k = values_of(image), values_of(made), INDEX(0)
    a, b, c, d, e, f, g, h, m = (shares * F32(1024.0)).astype(np.int32).ravel()
    while k + READ <= pixels.size:
        _mix_sixteen(pixels, k, (a, b, c, d, e, f, g, h, m), out)
        k += PUT
    _mix_from(k, pixels, shares, out)


@kernel
def mix_channels(pixels: Tensor, mixture: Tensor) -> Tensor:
    loop = _mix_many if PICKS_BYTES else _mix_one_by_one
    return fill_pixels(pixels, loop, mixture.numpy().astype(F32) * F32(1 / 1024))
