"""Bytes read elsewhere: at points between pixels, or as weighted windows of a row or column."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from scuff.kernels.numba_cpu.compiling import compiled
from scuff.kernels.numba_cpu.layout import new_pixels, side_by_side
from scuff.kernels.threads import over_images

F32, INDEX = np.float32, np.uintp  # an unsigned index spares the compiler the question whether it counts from the end
FAR = F32(1e6)
BORDERS = {"zeros": 0, "edge": 1, "mirror": 2, "reflect": 3}


@compiled
def _fold(index, length, border):
    """The pixel that stands at `index`; outside a black border it is -1."""
    if 0 <= index < length:
        return index
    if border == 0:
        return -1
    if border == 1:
        return 0 if index < 0 else length - 1
    edge = 0 if border == 2 else 1  # a mirror image repeats the outer pixel or not
    index = -edge - index if index < 0 else 2 * length - 2 + edge - index
    if 0 <= index < length:
        return index
    period = max(2 * (length - 1 + edge), 1)
    index %= period
    return index if index < length else period - edge - index


@compiled
def _mix(flat, a, b, c, d, wa, wb, wc, wd, channels, line, k):
    """Four pixels in 1024ths, rounded."""
    for m in range(channels):
        total = wa * flat[a + m] + wb * flat[b + m] + wc * flat[c + m] + wd * flat[d + m]
        line[k + m] = (total + INDEX(512)) >> INDEX(10)


@compiled
def _remap(pixels, rows, columns, border, out):
    height, width, channels = pixels.shape
    flat, step, wide = pixels.reshape(-1), INDEX(channels), INDEX(width * channels)
    last_y, last_x = F32(height - 1) - F32(0.02), F32(width - 1) - F32(0.02)  # a 64th less would round up to the last
    for i in range(rows.shape[0]):
        line, at_y, at_x = out[i].reshape(-1), rows[i], columns[i]
        k = INDEX(0)
        for j in range(at_y.size):
            y, x = at_y[j], at_x[j]
            if F32(0.0) <= y < last_y and F32(0.0) <= x < last_x:
                v, u = INDEX(y * F32(32.0) + F32(0.5)), INDEX(x * F32(32.0) + F32(0.5))
                down, across = v & INDEX(31), u & INDEX(31)
                up, left = INDEX(32) - down, INDEX(32) - across
                a = (v >> INDEX(5)) * wide + (u >> INDEX(5)) * step
                b = a + wide
                _mix(flat, a, a + step, b, b + step, up * left, up * across, down * left, down * across, step, line, k)
            else:
                row = np.int64(np.floor(min(max(y, -FAR), FAR) * F32(32.0) + F32(0.5)))
                column = np.int64(np.floor(min(max(x, -FAR), FAR) * F32(32.0) + F32(0.5)))
                down, across = INDEX(row & 31), INDEX(column & 31)
                up, left = INDEX(32) - down, INDEX(32) - across
                top, bottom = _fold(row >> 5, height, border), _fold((row >> 5) + 1, height, border)
                near, far = _fold(column >> 5, width, border), _fold((column >> 5) + 1, width, border)
                if top < 0:
                    top, up = 0, INDEX(0)
                if bottom < 0:
                    bottom, down = 0, INDEX(0)
                if near < 0:
                    near, left = 0, INDEX(0)
                if far < 0:
                    far, across = 0, INDEX(0)
                a, b = INDEX(top) * wide, INDEX(bottom) * wide
                c, d = INDEX(near) * step, INDEX(far) * step
                _mix(
                    flat, a + c, a + d, b + c, b + d, up * left, up * across, down * left, down * across, step, line, k
                )
            k += step


def remap(pixels: Tensor, rows: Tensor, columns: Tensor, border: str) -> Tensor:
    source, (out, target) = side_by_side(pixels), new_pixels(pixels, *rows.shape[1:])
    number = np.int32(BORDERS[border])
    ys, xs = rows.contiguous().numpy(), columns.contiguous().numpy()

    def work(start: int, stop: int) -> None:
        for i in range(start, stop):
            _remap(source[i], ys[i], xs[i], number, target[i])

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


def take_pixels(pixels: Tensor, place: Tensor) -> Tensor:
    source, (out, target) = side_by_side(pixels), new_pixels(pixels, *place.shape[1:])
    places, take = place.contiguous().numpy(), _take_grey if pixels.shape[1] == 1 else _take_colour

    def work(start: int, stop: int) -> None:
        for i in range(start, stop):
            take(source[i].reshape(-1), places[i if len(places) > 1 else 0].reshape(-1), target[i].reshape(-1))

    over_images(work, len(pixels))
    return out


@compiled
def _mix_windows(plane, first, weights, out):
    height, width = plane.shape
    taps = weights.shape[1]
    for i in range(height):
        source, target = plane[i], out[i]
        for j in range(first.size):
            total = F32(0.0)
            for t in range(taps):
                total += weights[j, t] * source[min(first[j] + t, width - 1)]
            target[j] = total


def mix_windows(x: Tensor, first: Tensor, weights: Tensor) -> Tensor:
    n, channels, height, _ = x.shape
    out = torch.empty(n, channels, height, first.shape[1])
    source, target = x.contiguous().numpy(), out.numpy()
    starts, shares = first.contiguous().numpy(), weights.contiguous().numpy()

    def work(start: int, stop: int) -> None:
        for i in range(start, stop):
            for c in range(channels):
                _mix_windows(source[i, c], starts[i], shares[i], target[i, c])

    over_images(work, n)
    return out
