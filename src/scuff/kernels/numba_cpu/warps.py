"""Planes of numbers read elsewhere: as windows, by splines, through drops of glass."""

from __future__ import annotations

import math

import numpy as np
import torch
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.numba_cpu.compiling import F32, INDEX, compiled, copy, fill, inlined, per_plane
from scuff.kernels.numba_cpu.lanes import WIDEST, in_all_lanes, vector_at
from scuff.kernels.reference.splines import surrounded
from scuff.kernels.threads import over_images, thread_count

ONE = INDEX(1)
LANES, VECTOR = WIDEST, ir.VectorType(ir.FloatType(), WIDEST)
TOGETHER = max(24, 3 * LANES)  # planes that are read by one plan, at most


@compiled
def _mix_columns(plane, first, weights, wide, out):
    """`wide` is scratch for a row and, after it, as many copies of its last value as a window can reach beyond it."""
    height, width = plane.shape
    taps = weights.shape[1]
    for i in range(height):
        copy(plane[i], wide)
        wide[width:] = plane[i, width - 1]
        target = out[i]
        for j in range(first.size):
            a, total = INDEX(min(first[j], width - 1)), F32(0.0)
            for t in range(INDEX(taps)):
                total += weights[j, t] * wide[a + t]
            target[j] = total


@compiled
def _mix_rows(plane, first, weights, wide, out):
    height, width = plane.shape
    for i in range(first.size):
        target = out[i]
        target[:] = F32(0.0)
        for t in range(weights.shape[1]):
            weight, source = weights[i, t], plane[min(first[i] + t, height - 1)]
            if weight != 0.0:
                for j in range(width):
                    target[j] += weight * source[j]


@kernel
def mix_windows(x: Tensor, first: Tensor, weights: Tensor, axis: int) -> Tensor:
    n, channels, *sides = x.shape
    sides[axis - 2] = first.shape[1]
    plans = (per_plane(first, channels), per_plane(weights, channels))

    def scratch() -> tuple[np.ndarray]:
        return (np.empty(x.shape[3] + weights.shape[2], F32),)

    out = torch.empty(n * channels, *sides)
    fill(out, _mix_rows if axis == 2 else _mix_columns, x.flatten(0, 1), *plans, scratch=scratch)
    return out.unflatten(0, (n, channels))


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


@kernel
def sum_spline_reads(coefficients: Tensor, rows: Tensor, columns: Tensor, weights: Tensor) -> Tensor:
    padded = surrounded(coefficients)
    points = [t.contiguous().numpy() for t in (rows, columns, weights)]
    out = torch.empty(*padded.shape[:2], *rows.shape[1:])
    planes, target, width = padded.flatten(2).flatten(0, 1).numpy(), out.flatten(0, 1).numpy(), rows.shape[2]

    vectors = max(1, -(-len(planes) // (LANES * thread_count())))  # of each thread
    together = min(TOGETHER, LANES * vectors)

    def work(start: int, stop: int) -> None:
        pixels, sums = np.zeros(together * planes.shape[1], F32), np.empty(together * width, F32)
        scratch = (pixels, sums, np.empty(width, np.int64), np.empty((8, width), F32))
        for first in range(together * start, min(together * stop, len(planes)), together):
            some = slice(first, first + together)
            _sum_reads(planes[some], padded.shape[3], *points, *scratch, target[some])

    over_images(work, -(-len(planes) // together))
    return out


@inlined
def _shift(offset, depth, index):
    """See the reference."""
    slant = np.sqrt((index * index - F32(1.0)) * offset * offset + index * index * depth * depth)
    return depth * offset * (slant - depth) / (depth * slant + offset * offset)


@compiled
def _refract(centres, radius, index, margin, canvas):
    """`canvas` (C, H, W) holds one picture inside `margin` black pixels; coordinates are the picture's."""
    channels, height, width = canvas.shape[0], canvas.shape[1] - 2 * margin, canvas.shape[2] - 2 * margin
    side = 2 * margin - 2
    patch = np.empty((channels, side, side), F32)
    y, x, depths = np.empty(side, F32), np.empty(side, F32), np.empty(side, F32)
    for k in range(len(centres)):
        cy, cx = centres[k, 0], centres[k, 1]
        top, left = int(cy) + 2 - margin, int(cx) + 2 - margin
        for c in range(channels):
            for i in range(side):
                copy(canvas[c, top + margin + i, left + margin : left + margin + side], patch[c, i])
        for i in range(max(top, 0), min(top + side, height)):
            dy = F32(i) - cy
            chord = radius * radius - dy * dy
            if chord <= 0.0:
                continue
            half = np.sqrt(chord)
            start, stop = max(int(cx - half), left, 0), min(int(cx + half) + 2, left + side, width)
            for j in range(start, stop):  # where each pixel reads: this loop vectorises, the next one cannot
                dx = F32(j) - cx
                depths[j - start] = chord - dx * dx
                depth = np.sqrt(max(chord - dx * dx, F32(1e-12)))
                y[j - start] = F32(i - top) - _shift(dy, depth, index)
                x[j - start] = F32(j - left) - _shift(dx, depth, index)
            for j in range(start, stop):
                if depths[j - start] <= F32(0.0):
                    continue
                row, column = INDEX(y[j - start]), INDEX(x[j - start])
                down, across = y[j - start] - F32(row), x[j - start] - F32(column)
                for c in range(channels):
                    a, b = patch[c, row, column], patch[c, row, column + ONE]
                    upper = a + across * (b - a)
                    a, b = patch[c, row + ONE, column], patch[c, row + ONE, column + ONE]
                    canvas[c, i + margin, j + margin] = upper + down * (a + across * (b - a) - upper)


@kernel
def refract_drops(x: Tensor, centres: Tensor, radius: float, index: float) -> Tensor:
    height, width = x.shape[-2:]
    margin = math.ceil(radius) + 2
    out = torch.nn.functional.pad(x, (margin, margin, margin, margin))
    fill(out, _refract, centres, F32(radius), F32(index), margin)
    return out[..., margin : margin + height, margin : margin + width]
