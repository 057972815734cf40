"""Pixels read elsewhere: between pixels, as windows, by splines, through drops of glass."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.numba_cpu.compiling import (
    F32,
    INDEX,
    compiled,
    fill,
    fill_pixels,
    inlined,
    per_plane,
)
from scuff.kernels.threads import each_image

ONE, TWO, THREE = INDEX(1), INDEX(2), INDEX(3)
FAR = F32(1e6)
BORDERS = {"zeros": 0, "edge": 1, "mirror": 2, "reflect": 3}


@compiled
def _neighbours(at, count, length, stride, border, first, second, low, high):
    """Places of the two pixels around each coordinate, times `stride`, and their shares in 32nds.

    One axis at a time, in short loops without branches, so that the compiler works on several coordinates at once.
    """
    last, end = np.int32(length - 1), F32(length - 1)
    if border == 0:
        for j in range(count):
            y = at[j] if at[j] > F32(-2.0) else F32(-2.0)
            y = y if y < end + F32(2.0) else end + F32(2.0)
            v = np.int32(np.floor(y * F32(32.0) + F32(0.5)))
            i, share = v >> np.int32(5), v & np.int32(31)
            low[j] = (np.int32(32) - share) * np.int32(i >= 0) * np.int32(i <= last)
            high[j] = share * np.int32(i >= -1) * np.int32(i < last)
            first[j] = min(max(i, 0), last) * stride
            second[j] = min(max(i + 1, 0), last) * stride
        return
    if border == 1:
        for j in range(count):
            y = at[j] if at[j] > F32(0.0) else F32(0.0)
            first[j] = np.int32((y if y < end else end) * F32(32.0) + F32(0.5))
    else:
        edge = F32(0.5 if border == 3 else 0.0)
        period = F32(max(2.0 * (length - 1 + 2.0 * edge), 1.0))
        inverse = F32(1.0 / max(2.0 * (length - 1 + 2.0 * edge), 1.0))
        for j in range(count):
            y = at[j] if at[j] > -FAR else -FAR
            y = abs((y if y < FAR else FAR) + edge)
            y -= period * np.floor(y * inverse)
            back = period - y
            y = (y if y < back else back) - edge
            y = y if y > F32(0.0) else F32(0.0)
            first[j] = np.int32((y if y < end else end) * F32(32.0) + F32(0.5))
    for j in range(count):
        v = first[j]
        i = v >> np.int32(5)
        k = np.int32(i + 1)
        second[j] = np.int32((k if k < last else last) * stride)
        low[j], high[j] = np.int32(32 - (v & np.int32(31))), v & np.int32(31)
        first[j] = np.int32(i * stride)


@compiled
def _remap_line(pixels, at_y, at_x, count, border, scratch, line):
    height, width, channels = pixels.shape
    above, below, up, down, near, far, left, right = scratch
    _neighbours(at_y, count, height, np.int32(width * channels), border, above, below, up, down)
    _neighbours(at_x, count, width, np.int32(channels), border, near, far, left, right)
    flat, step, k = pixels.reshape(-1), INDEX(channels), INDEX(0)
    for j in range(INDEX(count)):
        a, b = INDEX(above[j]) + INDEX(near[j]), INDEX(above[j]) + INDEX(far[j])
        c, d = INDEX(below[j]) + INDEX(near[j]), INDEX(below[j]) + INDEX(far[j])
        wa, wb, wc, wd = up[j] * left[j], up[j] * right[j], down[j] * left[j], down[j] * right[j]
        for m in range(step):
            total = wa * flat[a + m] + wb * flat[b + m] + wc * flat[c + m] + wd * flat[d + m]
            line[k + m] = (total + 512) >> 10
        k += step


@compiled
def _remap(pixels, rows, columns, border, scratch, out):
    for i in range(rows.shape[0]):
        _remap_line(pixels, rows[i], columns[i], rows.shape[1], border, scratch, out[i].reshape(-1))


@kernel
def remap(pixels: Tensor, rows: Tensor, columns: Tensor, border: str) -> Tensor:
    def scratch() -> tuple:
        return (_scratch(rows.shape[2]),)

    return fill_pixels(pixels, _remap, rows, columns, np.int32(BORDERS[border]), size=rows.shape[1:], scratch=scratch)


def _scratch(width: int) -> tuple[np.ndarray, ...]:
    """Room for what `_remap_line` works out about one row of coordinates."""
    return tuple(np.empty(width, np.int32) for _ in range(8))


@compiled
def _project(pixels, matrix, rows, columns, border, at_y, at_x, scratch, out):
    """`at_y` and `at_x` are scratch for one row's coordinates."""
    out[:] = 0
    a, b, c, d, e, f, g, h, k = matrix.ravel()
    for i in range(rows):
        across, down, away = b * F32(i) + c, e * F32(i) + f, h * F32(i) + k
        for j in range(columns):
            near = F32(1.0) / (g * F32(j) + away)
            at_x[j] = (a * F32(j) + across) * near
            at_y[j] = (d * F32(j) + down) * near
        _remap_line(pixels, at_y, at_x, columns, border, scratch, out[i].reshape(-1))


@kernel
def project(pixels: Tensor, matrix: Tensor, extent: Tensor, height: int, width: int, border: str) -> Tensor:
    number = np.int32(BORDERS[border])

    def work(image, matrix, used, at_y, at_x, scratch, out) -> None:
        rows, columns = min(int(used[0]), height), min(int(used[1]), width)
        _project(image, matrix, rows, columns, number, at_y, at_x, scratch, out)

    def scratch() -> tuple:
        return np.empty(width, F32), np.empty(width, F32), _scratch(width)

    return fill_pixels(pixels, work, matrix, extent, size=(height, width), scratch=scratch)


@compiled
def _take_grey(pixels, place, out):
    for k in range(place.size):
        out[k] = 0 if place[k] < 0 else pixels[place[k]]


@compiled
def _take_colour(pixels, place, out):
    """A pixel's three bytes written out: three times as fast as a loop over channels."""
    k = INDEX(0)
    for p in range(place.size):
        if place[p] < 0:
            out[k], out[k + INDEX(1)], out[k + INDEX(2)] = 0, 0, 0
        else:
            a = INDEX(3) * INDEX(place[p])
            out[k], out[k + INDEX(1)], out[k + INDEX(2)] = pixels[a], pixels[a + INDEX(1)], pixels[a + INDEX(2)]
        k += INDEX(3)


@kernel
def take_pixels(pixels: Tensor, place: Tensor) -> Tensor:
    take = _take_grey if pixels.shape[1] == 1 else _take_colour

    def work(image, place, out) -> None:
        take(image.reshape(-1), place.reshape(-1), out.reshape(-1))

    return fill_pixels(pixels, work, place, size=place.shape[1:])


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
