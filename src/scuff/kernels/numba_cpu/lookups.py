"""Bytes through tables.

Where the processor can look up 64 bytes in a table of 128 at once, that takes as long as to copy them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.numba_cpu.compiling import INDEX, compiled, inlined
from scuff.kernels.numba_cpu.filling import fill
from scuff.kernels.numba_cpu.lanes import FEATURES, vector_at
from scuff.kernels.numba_cpu.sharing import share

U64, BYTE = np.uint64, np.uint64(255)
HAS_LOOKUPS = "+avx512vbmi" in FEATURES
MANY = 64 if HAS_LOOKUPS else 1  # bytes at once
BYTES = ir.VectorType(ir.IntType(8), 64)


@intrinsic
def _put_many(typing_context, table, pixels, k, out):
    """The 64 bytes of `pixels` from k on, through a table, into `out`. Seven bits of an index pick from half of it."""

    def generate(context, builder, signature, arguments):
        kinds, (table, pixels, k, out) = signature.args, arguments
        kind = ir.FunctionType(BYTES, [BYTES] * 3)
        look_up_in_two = cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.avx512.vpermi2var.qi.512")

        def vector(number: int, array: Any, place: Any) -> Any:
            return builder.load(vector_at(context, builder, kinds[number], array, place, BYTES), align=1)

        levels = vector(1, pixels, k)
        a, b, c, d = (vector(0, table, k.type(64 * quarter)) for quarter in range(4))
        low, high = (builder.call(look_up_in_two, [x, levels, y]) for x, y in ((a, b), (c, d)))
        is_high = builder.icmp_signed("<", levels, ir.Constant(BYTES, [0] * 64))
        target = vector_at(context, builder, kinds[3], out, k, BYTES)
        builder.store(builder.select(is_high, high, low), target, align=1)
        return context.get_dummy_value()

    return types.void(table, pixels, types.uintp, out), generate


@inlined
def _put_one(table, pixels, k, out):
    out[k] = table[pixels[k]]


_put = _put_many if HAS_LOOKUPS else _put_one


@compiled
def through_table(pixels, table, out):
    """Many at a time, and those that are left one by one."""
    whole = INDEX(pixels.size // MANY * MANY)
    for k in range(INDEX(0), whole, INDEX(MANY)):
        _put(table, pixels, k, out)
    for k in range(whole, INDEX(pixels.size)):
        out[k] = table[pixels[k]]


@compiled
def _through_tables(pixels, tables, out):
    channels = tables.shape[0]
    for k in range(pixels.size):
        out[k] = tables[k % channels, pixels[k]]


@inlined
def _put_eight(out, k, word, a, b, c):
    """The bytes of a word, lowest first, through the tables a, b, c, a, b, c, a, b."""
    out[k], out[k + INDEX(1)], out[k + INDEX(2)] = a[word & BYTE], b[word >> U64(8) & BYTE], c[word >> U64(16) & BYTE]
    k, word = k + INDEX(3), word >> U64(24)
    out[k], out[k + INDEX(1)], out[k + INDEX(2)] = a[word & BYTE], b[word >> U64(8) & BYTE], c[word >> U64(16) & BYTE]
    out[k + INDEX(3)], out[k + INDEX(4)] = a[word >> U64(24) & BYTE], b[word >> U64(32)]


@compiled
def _lookup_by_words(words, red, green, blue, out):
    """Eight bytes for each load: three words hold eight pixels. To store bytes takes less time than to join them."""
    for k in range(INDEX(0), INDEX(words.size), INDEX(3)):
        _put_eight(out, INDEX(8) * k, words[k], red, green, blue)
        _put_eight(out, INDEX(8) * k + INDEX(8), words[k + INDEX(1)], blue, red, green)
        _put_eight(out, INDEX(8) * k + INDEX(16), words[k + INDEX(2)], green, blue, red)


@compiled
def _bits(tables, words):
    """Whether every table keeps some bits of a level and turns others around; if so, which, for three words."""
    for t in range(len(tables)):
        turned = tables[t, 0]
        kept = tables[t, 255] ^ turned
        for level in range(256):
            if tables[t, level] != (np.uint8(level) & kept) ^ turned:
                return False
    for k in range(24):
        t = k % 3 % len(tables)
        turned, place, shift = tables[t, 0], k // 8, U64(8 * (k % 8))
        words[0, place] |= U64(tables[t, 255] ^ turned) << shift
        words[1, place] |= U64(turned) << shift
    return True


@compiled
def _lookup_all(start, stop, pixels, tables, out, levels):
    """Images `start` to `stop` of (N, words), to `out`, seen as bytes too; several channels may have the same table."""
    last = tables.shape[1] - 1
    for i in range(start, stop):
        words = np.zeros((2, 3), U64)
        if _bits(tables[i], words):
            (a, b, c), (d, e, f) = words
            source, target = pixels[i], out[i]
            for k in range(INDEX(0), INDEX(source.size), INDEX(3)):
                target[k] = source[k] & a ^ d
                target[k + INDEX(1)] = source[k + INDEX(1)] & b ^ e
                target[k + INDEX(2)] = source[k + INDEX(2)] & c ^ f
        else:
            _lookup_by_words(pixels[i], tables[i, 0], tables[i, min(1, last)], tables[i, last], levels[i])


@kernel
def lookup(pixels: Tensor, tables: Tensor) -> Tensor:
    n, channels, height, width = pixels.shape
    source = pixels.permute(0, 2, 3, 1).reshape(n, height * width * channels)
    out = torch.empty(source.shape, dtype=torch.uint8)
    tables = tables.expand(n, -1, -1)[:, :channels].contiguous()
    if HAS_LOOKUPS and tables.shape[1] == 1:
        fill(out, through_table, source, tables[:, 0])
    elif source.shape[1] % 24 == 0:
        words, levels = source.numpy().view(U64), out.numpy()
        share(_lookup_all, n, words, tables.numpy(), levels.view(U64), levels)
    else:
        fill(out, _through_tables, source, tables)
    return out.view(n, height, width, channels).permute(0, 3, 1, 2)
