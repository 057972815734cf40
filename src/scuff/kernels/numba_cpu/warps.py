"""Planes of numbers read elsewhere: as windows, by splines, through drops of glass."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.numba_cpu.compiling import F32, INDEX, compiled, fill, inlined, per_plane
from scuff.kernels.threads import each_image

ONE, TWO, THREE = INDEX(1), INDEX(2), INDEX(3)


@compiled
def _mix_columns(plane, first, weights, wide, out):
    """`wide` is scratch for a row and, after it, as many copies of its last value as a window can reach beyond it."""
    height, width = plane.shape
    taps = weights.shape[1]
    for i in range(height):
        wide[:width] = plane[i]
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


@inlined
def _mix(plane, at, a, b, c, d):
    return a * plane[at] + b * plane[at + ONE] + c * plane[at + TWO] + d * plane[at + THREE]


@compiled
def _sum_reads(planes, wide, rows, columns, weights, out):
    """`planes` (C, tall * wide) are one padded picture."""
    tall, step = planes.shape[1] // wide, INDEX(wide)
    out[:] = F32(0.0)
    for i in range(out.shape[1]):
        for s in range(len(weights)):
            for j in range(out.shape[2]):
                y, x = rows[s, i, j], columns[s, i, j]
                if 0.0 <= y <= tall - 4 and 0.0 <= x <= wide - 4:
                    first = INDEX(int(y) * wide + int(x))
                    second, third = first + step, first + TWO * step
                    fourth = third + step
                    p, q, r, t = _cubic_weights(y - F32(int(y)))
                    a, b, c, d = _cubic_weights(x - F32(int(x)))
                    for k in range(len(planes)):
                        plane = planes[k]
                        read = p * _mix(plane, first, a, b, c, d) + q * _mix(plane, second, a, b, c, d)
                        read += r * _mix(plane, third, a, b, c, d) + t * _mix(plane, fourth, a, b, c, d)
                        out[k, i, j] += weights[s] * read


@kernel
def sum_spline_reads(padded: Tensor, rows: Tensor, columns: Tensor, weights: Tensor) -> Tensor:
    points = [t.contiguous().numpy() for t in (rows, columns, weights)]
    out = torch.empty(*padded.shape[:2], *rows.shape[1:])
    return fill(out, _sum_reads, padded.flatten(2), padded.shape[3], *points)


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
        patch[:] = canvas[:, top + margin : top + margin + side, left + margin : left + margin + side]
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


@kernel
def crop_windows(table: Tensor, which: Tensor, top: Tensor, left: Tensor, height: int, width: int) -> Tensor:
    """Slices are copied whole rows at a time; a gather would look up every pixel."""
    out = torch.empty(len(which), table.shape[1], height, width)
    places = list(zip(which.tolist(), top.tolist(), left.tolist(), strict=True))

    def work(i: int) -> None:
        texture, row, column = places[i]
        out[i] = table[texture, :, row : row + height, column : column + width]

    each_image(work, len(places))
    return out
