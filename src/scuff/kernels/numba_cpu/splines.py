"""Reads between pixels by cubic B-splines."""

from __future__ import annotations

import numpy as np
import torch
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.numba_cpu.compiling import F32, INDEX, compiled, inlined
from scuff.kernels.numba_cpu.filling import fill
from scuff.kernels.numba_cpu.lanes import WIDEST, in_all_lanes, vector_at
from scuff.kernels.numba_cpu.sharing import share
from scuff.kernels.reference.splines import surrounded, taps_around

LANES, VECTOR = WIDEST, ir.VectorType(ir.FloatType(), WIDEST)
TOGETHER = max(24, 3 * LANES)  # planes that are read by one plan, at most


@inlined
def _cubic_weights(t):
    """See the reference."""
    near = F32(1.0) - t
    return (
        near * near * near * F32(1.0 / 6.0),
        F32(2.0 / 3.0) - t * t * (F32(1.0) - F32(0.5) * t),
        F32(2.0 / 3.0) - near * near * (F32(1.0) - F32(0.5) * near),
        t * t * t * F32(1.0 / 6.0),
    )


@intrinsic
def _add_read(typing_context, sums, at, flat, first, step, across, down, weight):
    """Add `weight` times the mix of 4 x 4 pixels to a sum: of several planes at a time, which no loop becomes.

    Planes lie side by side, so that a pixel is one vector, from `first` on; rows are `step` apart. The reference says
    in which order sums are made.
    """

    def generate(context, builder, signature, arguments):
        sums, at, flat, first, step, across, down, weight = arguments

        def pixel(place):
            return builder.load(vector_at(context, builder, signature.args[2], flat, place, VECTOR), align=4)

        shares = [in_all_lanes(builder, builder.extract_value(across, j), VECTOR) for j in range(4)]
        rows = []
        for i in range(4):
            places = [builder.add(first, ir.Constant(first.type, LANES * j)) for j in range(4)]
            a, b, c, d = (builder.fmul(share, pixel(place)) for share, place in zip(shares, places, strict=True))
            total = builder.fadd(builder.fadd(builder.fadd(a, b), c), d)
            rows.append(builder.fmul(in_all_lanes(builder, builder.extract_value(down, i), VECTOR), total))
            first = builder.add(first, step)
        read = builder.fadd(builder.fadd(rows[0], rows[1]), builder.fadd(rows[2], rows[3]))
        target = vector_at(context, builder, signature.args[0], sums, at, VECTOR)
        sum_ = builder.fadd(builder.load(target, align=4), builder.fmul(in_all_lanes(builder, weight, VECTOR), read))
        builder.store(sum_, target, align=4)
        return context.get_dummy_value()

    four = types.UniTuple(types.float32, 4)
    return types.void(sums, types.uintp, flat, types.uintp, types.uintp, four, four, types.float32), generate


@compiled
def _plan_reads(rows, columns, tall, wide, place, shares):
    """Where each read of a row begins, or -1 outside the picture, and its eight weights."""
    for j in range(place.size):
        y, x = rows[j], columns[j]
        inside = (y >= F32(0.0)) & (y <= F32(tall - 4)) & (x >= F32(0.0)) & (x <= F32(wide - 4))
        place[j] = LANES * (np.int32(y) * wide + np.int32(x)) if inside else -1
    for j in range(place.size):
        shares[0, j], shares[1, j], shares[2, j], shares[3, j] = _cubic_weights(columns[j] - np.floor(columns[j]))
    for j in range(place.size):
        shares[4, j], shares[5, j], shares[6, j], shares[7, j] = _cubic_weights(rows[j] - np.floor(rows[j]))


@compiled
def _sum_reads(planes, wide, rows, columns, weights, pixels, sums, place, shares, out):
    """Of a few padded planes (P, tall * wide), which share the plan of a row; what follows `weights` is scratch.

    `pixels` and `sums` hold one vector of planes after the other.
    """
    count, size = planes.shape
    a, b, c, d, e, f, g, h = (shares[0], shares[1], shares[2], shares[3], shares[4], shares[5], shares[6], shares[7])
    vectors, room, line, step = -(-count // LANES), INDEX(LANES * size), INDEX(LANES * place.size), INDEX(LANES * wide)
    for n in range(count):
        source, target = planes[n], pixels[n // LANES * LANES * size + n % LANES :]
        for p in range(size):
            target[LANES * p] = source[p]
    for i in range(out.shape[1]):
        for k in range(sums.size):
            sums[k] = F32(0.0)
        for s in range(len(weights)):
            _plan_reads(rows[s, i], columns[s, i], size // wide, wide, place, shares)
            for j in range(INDEX(place.size)):
                if place[j] >= 0:
                    across, down = (a[j], b[j], c[j], d[j]), (e[j], f[j], g[j], h[j])
                    at, first = INDEX(LANES) * j, INDEX(place[j])
                    for _ in range(vectors):
                        _add_read(sums, at, pixels, first, step, across, down, weights[s])
                        at, first = at + line, first + room
        for n in range(count):
            source, target = sums[n // LANES * LANES * place.size + n % LANES :], out[n, i]
            for j in range(target.size):
                target[j] = source[LANES * j]


@compiled
def _sum_all_reads(start, stop, planes, wide, rows, columns, weights, out, pixels, sums, place, shares):
    """Of planes `start` to `stop`, as many at a time as `pixels` has room for."""
    together = pixels.size // planes.shape[1]
    for k in range(start, stop, together):
        some, made = planes[k : min(k + together, stop)], out[k : min(k + together, stop)]
        _sum_reads(some, wide, rows, columns, weights, pixels, sums, place, shares, made)


@kernel
def sum_spline_reads(coefficients: Tensor, rows: Tensor, columns: Tensor, weights: Tensor) -> Tensor:
    padded = surrounded(coefficients)
    points = [t.contiguous().numpy() for t in (rows, columns, weights)]
    out = torch.empty(*padded.shape[:2], *rows.shape[1:])
    planes, target, width = padded.flatten(2).flatten(0, 1).numpy(), out.flatten(0, 1).numpy(), rows.shape[2]

    vectors = max(1, -(-len(planes) // (LANES * torch.get_num_threads())))  # of each thread
    together = min(TOGETHER, LANES * vectors)

    def scratch() -> tuple[np.ndarray, ...]:
        pixels, sums = np.zeros(together * planes.shape[1], F32), np.empty(together * width, F32)
        return pixels, sums, np.empty(width, np.int64), np.empty((8, width), F32)

    arguments = (planes, padded.shape[3], *points, target)
    share(_sum_all_reads, len(planes), *arguments, least=together, scratch=scratch)
    return out


@compiled
def _read_bytes(plane, rows, row_shares, columns, column_shares, line, out):
    """Down the four rows of a line, which is scratch, then along it."""
    for i in range(len(out)):
        a, b, c, d = row_shares[0, i], row_shares[1, i], row_shares[2, i], row_shares[3, i]
        first, second, third, last = plane[rows[0, i]], plane[rows[1, i]], plane[rows[2, i]], plane[rows[3, i]]
        for j in range(INDEX(line.size)):
            line[j] = a * F32(first[j]) + b * F32(second[j]) + c * F32(third[j]) + d * F32(last[j])
        target = out[i]
        for j in range(INDEX(target.size)):
            level = column_shares[0, j] * line[columns[0, j]] + column_shares[1, j] * line[columns[1, j]]
            level = level + column_shares[2, j] * line[columns[2, j]] + column_shares[3, j] * line[columns[3, j]]
            level = np.floor(level + F32(0.5))
            level = level if level > F32(0.0) else F32(0.0)
            target[j] = np.uint8(np.int32(level if level < F32(255.0) else F32(255.0)))


@kernel
def read_spline_bytes(pixels: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    (n, channels, height, width), size = pixels.shape, (rows.shape[-1], columns.shape[-1])
    plans = []
    for at, length in ((rows, height), (columns, width)):
        places, shares = zip(*taps_around(at.expand(n, channels, -1).flatten(0, 1), length), strict=True)
        plans += [torch.stack(places, 1), torch.stack(shares, 1)]
    out = torch.empty(n * channels, *size, dtype=torch.uint8)
    fill(out, _read_bytes, pixels.flatten(0, 1), *plans, scratch=lambda: (np.empty(width, F32),))
    return out.unflatten(0, (n, channels))
