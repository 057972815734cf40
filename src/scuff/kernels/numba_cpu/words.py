"""Philox words, several counters at a time.

Either half of a product goes into the next round, and numba makes no vectors of that. So rounds are written in LLVM's
language: a lane of 64 bits holds a word of 32, as processors multiply them, and what is above it is ignored.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from scuff.kernels.numba_cpu.compiling import INDEX, compiled, inlined
from scuff.kernels.numba_cpu.lanes import in_all_lanes, vector_at

U32, U64 = np.uint32, np.uint64
FACTORS, STEPS = (0xD2511F53, 0xCD9E8D57), (0x9E3779B9, 0xBB67AE85)
ROUNDS = 10
COUNTERS = 8  # at a time
LONG = ir.IntType(64)
WIDE = ir.VectorType(LONG, COUNTERS)


@intrinsic
def _put_words(typing_context, out, at, first, stream, k0, k1):
    """The words of the counters (first, 0, stream, 0), (first + 1, 0, stream, 0), ... to places from `at` on."""

    def generate(context, builder, signature, arguments):
        out, at, first, *numbers = arguments
        stream, k0, k1 = (builder.zext(number, LONG) for number in numbers)
        word, half = (in_all_lanes(builder, LONG(n), WIDE) for n in (0xFFFFFFFF, 32))

        def multiplied(c, factor):
            return builder.mul(builder.and_(c, word), in_all_lanes(builder, LONG(factor), WIDE))

        def mixed(product, c, k):
            return builder.xor(builder.xor(builder.lshr(product, half), c), in_all_lanes(builder, k, WIDE))

        def woven(a, b, kind, order):
            """Elements of two vectors in turn; `order` says which of the first, in numbers of `kind`."""
            a, b = builder.bitcast(a, kind), builder.bitcast(b, kind)
            places = [place for k in order for place in (k, k + kind.count)]
            return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(ir.IntType(32), len(places)), places))

        c0 = builder.add(in_all_lanes(builder, first, WIDE), ir.Constant(WIDE, list(range(COUNTERS))))
        c1, c2, c3 = ir.Constant(WIDE, None), in_all_lanes(builder, stream, WIDE), ir.Constant(WIDE, None)
        for _ in range(ROUNDS):
            p0, p1 = multiplied(c0, FACTORS[0]), multiplied(c2, FACTORS[1])
            c0, c1, c2, c3 = mixed(p1, c1, k0), p1, mixed(p0, c3, k1), p0
            k0, k1 = (builder.add(k, LONG(step)) for k, step in zip((k0, k1), STEPS, strict=True))
        halves = ir.VectorType(ir.IntType(32), 2 * COUNTERS)
        front, back = (woven(a, b, halves, range(0, 2 * COUNTERS, 2)) for a, b in ((c0, c1), (c2, c3)))
        words = woven(front, back, WIDE, range(COUNTERS))
        builder.store(words, vector_at(context, builder, signature.args[0], out, at, words.type), align=4)
        return context.get_dummy_value()

    return types.void(out, types.uintp, types.uintp, types.uint32, types.uint32, types.uint32), generate


@compiled
def fill_words(out, first, stream, k0, k1):
    """Words of a stream, four for each counter, from the counter `first` on."""
    some = 4 * COUNTERS
    whole = out.size - out.size % some
    for at in range(0, whole, some):
        _put_words(out, INDEX(at), INDEX(first + at // 4), stream, k0, k1)
    if whole < out.size:
        rest = np.empty(some, U32)
        _put_words(rest, INDEX(0), INDEX(first + whole // 4), stream, k0, k1)
        for k in range(whole, out.size):
            out[k] = rest[k - whole]


@inlined
def one_philox(c0, c1, k0, k1):
    """Two words of a single counter, (c0, c1, 0, 0)."""
    c0, c1, c2, c3 = U32(c0), U32(c1), U32(0), U32(0)
    for _ in range(ROUNDS):
        p0, p1 = U64(c0) * U64(FACTORS[0]), U64(c2) * U64(FACTORS[1])
        c0, c1, c2, c3 = U32(U32(p1 >> U64(32)) ^ c1 ^ k0), U32(p1), U32(U32(p0 >> U64(32)) ^ c3 ^ k1), U32(p0)
        k0, k1 = U32(k0 + U32(STEPS[0])), U32(k1 + U32(STEPS[1]))
    return c0, c1
