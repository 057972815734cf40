"""Bytes read elsewhere: at points between pixels, or as weighted windows of a row or column."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.numba_cpu.compiling import F32, INDEX, compiled, compiled_unfused
from scuff.kernels.numba_cpu.layout import new_pixels, side_by_side
from scuff.kernels.threads import each_image, over_images

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
            v = np.int32(y * F32(32.0) + F32(64.5)) - np.int32(64)
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
        inverse = F32(1.0) / period
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
    source, (out, target) = side_by_side(pixels), new_pixels(pixels, *rows.shape[1:])
    number = np.int32(BORDERS[border])
    ys, xs = rows.contiguous().numpy(), columns.contiguous().numpy()

    def work(start: int, stop: int) -> None:
        scratch = _scratch(rows.shape[2])
        for i in range(start, stop):
            _remap(source[i], ys[i], xs[i], number, scratch, target[i])

    over_images(work, len(pixels))
    return out


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
    source, (out, target) = side_by_side(pixels), new_pixels(pixels, height, width)
    number, maps, used = np.int32(BORDERS[border]), matrix.contiguous().numpy(), extent.numpy()

    def work(start: int, stop: int) -> None:
        at_y, at_x, scratch = np.empty(width, F32), np.empty(width, F32), _scratch(width)
        for i in range(start, stop):
            rows, columns = min(int(used[i, 0]), height), min(int(used[i, 1]), width)
            _project(source[i], maps[i], rows, columns, number, at_y, at_x, scratch, target[i])

    over_images(work, len(pixels))
    return out


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
    source, (out, target) = side_by_side(pixels), new_pixels(pixels, *place.shape[1:])
    places, take = place.contiguous().numpy(), _take_grey if pixels.shape[1] == 1 else _take_colour

    def work(i: int) -> None:
        take(source[i].reshape(-1), places[i if len(places) > 1 else 0].reshape(-1), target[i].reshape(-1))

    each_image(work, len(pixels))
    return out


@compiled_unfused
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


@compiled_unfused
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
    out = torch.empty(n, channels, *sides)
    source, target = x.contiguous().numpy(), out.numpy()
    starts, shares = first.contiguous().numpy(), weights.contiguous().numpy()
    mix = _mix_rows if axis == 2 else _mix_columns

    def work(start: int, stop: int) -> None:
        wide = np.empty(x.shape[3] + weights.shape[2], F32)
        for i in range(start, stop):
            for c in range(channels):
                mix(source[i, c], starts[i], shares[i], wide, target[i, c])

    over_images(work, n)
    return out
