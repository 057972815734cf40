"""Means of square windows by running sums, whatever their size."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from scuff.kernels.borders import fold
from scuff.kernels.dispatch import kernel
from scuff.kernels.numba_cpu.compiling import F32, INDEX, compiled
from scuff.kernels.numba_cpu.layout import new_pixels, side_by_side
from scuff.kernels.threads import over_images


@compiled
def _running_totals(values, channels, totals):
    """totals[k] is the sum of the values before k that belong to the same channel."""
    if channels == 1:
        total = np.int32(0)
        for k in range(values.size):
            totals[k] = total
            total += values[k]
        totals[values.size] = total
        return
    red, green, blue = np.int32(0), np.int32(0), np.int32(0)  # in registers: four times as fast
    k = INDEX(0)
    for _ in range(values.size // 3):
        totals[k], totals[k + INDEX(1)], totals[k + INDEX(2)] = red, green, blue
        red += values[k]
        green += values[k + INDEX(1)]
        blue += values[k + INDEX(2)]
        k += INDEX(3)
    totals[k], totals[k + INDEX(1)], totals[k + INDEX(2)] = red, green, blue


@compiled
def _box_mean(pixels, size, rows, columns, reach, down, wide, along, out):
    """Sums over the window's rows, for a whole row of values, slide down; sums along them are differences of totals.

    `rows` and `columns` are the image's indices with `reach` mirrored ones on either side; a window begins size // 2
    before its pixel. `down`, `wide` (with the mirrored ends) and `along` are scratch.
    """
    height, width, channels = pixels.shape
    count, ends = width * channels, reach * channels
    first, begin, step = reach - size // 2, (reach - size // 2) * channels, size * channels
    # sums are whole, so a quarter more never lifts one over the next boundary, and makes up for the division's rounding
    half, inverse = F32(size * size / 2 + 0.25), F32(1.0 / (size * size))
    down[:] = 0
    for t in range(size - 1):
        line = pixels[rows[first + t]].reshape(-1)
        for k in range(count):
            down[k] += line[k]
    for i in range(height):
        line = pixels[rows[first + i + size - 1]].reshape(-1)
        for k in range(count):
            down[k] += line[k]
        wide[ends : ends + count] = down
        for j in range(reach):
            for c in range(channels):
                wide[j * channels + c] = down[columns[j] * channels + c]
                wide[ends + count + j * channels + c] = down[columns[reach + width + j] * channels + c]
        _running_totals(wide, channels, along)
        target, low, high = out[i].reshape(-1), along[begin : begin + count], along[begin + step : begin + step + count]
        for k in range(count):
            target[k] = np.uint8(np.int32((F32(np.int32(high[k] - low[k])) + half) * inverse))
        line = pixels[rows[first + i]].reshape(-1)
        for k in range(count):
            down[k] -= line[k]


@kernel
def box_mean(pixels: Tensor, size: Tensor, largest: int) -> Tensor:
    _, channels, height, width = pixels.shape
    source, (out, target) = side_by_side(pixels), new_pixels(pixels)
    reach, sizes = largest // 2, size.numpy()
    rows, columns = (fold(torch.arange(-reach, n + reach), n, "mirror").numpy() for n in (height, width))

    def work(start: int, stop: int) -> None:
        down, wide, along = (np.empty((width + more) * channels, np.int32) for more in (0, 2 * reach, 2 * reach + 1))
        for i in range(start, stop):
            _box_mean(source[i], int(sizes[i]), rows, columns, reach, down, wide, along, target[i])

    over_images(work, len(pixels))
    return out
