"""Means and medians over squares, by what enters and leaves as these move on."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from scuff.kernels.borders import fold
from scuff.kernels.dispatch import kernel
from scuff.kernels.numba_cpu.compiling import F32, INDEX, compiled, lines_of, values_of
from scuff.kernels.numba_cpu.filling import fill, fill_pixels, per_plane


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
def _box_mean(image, size, rows, columns, reach, wide, along, made):
    """Sums over the window's rows, for a whole row of values, slide down; sums along them are differences of totals.

    `rows` and `columns` are the image's indices with `reach` mirrored ones on either side; a window begins size // 2
    before its pixel. `wide`, with the mirrored ends, and `along` are scratch.
    """
    (height, width, channels), pixels, out = image.shape, lines_of(image), lines_of(made)
    count, ends = width * channels, reach * channels
    first, begin, step = reach - size // 2, (reach - size // 2) * channels, size * channels
    # sums are whole, so a quarter more never lifts one over the next boundary, and makes up for the division's rounding
    half, inverse = F32(size * size / 2 + 0.25), F32(1.0 / (size * size))
    down = wide[ends : ends + count]
    down[:] = 0
    for t in range(size):
        line = pixels[rows[first + t]]
        for k in range(count):
            down[k] += line[k]
    for i in range(height):
        if i > 0:
            enters, leaves = pixels[rows[first + i + size - 1]], pixels[rows[first + i - 1]]
            for k in range(count):
                down[k] += np.int32(enters[k]) - np.int32(leaves[k])
        for j in range(reach):
            for c in range(channels):
                wide[j * channels + c] = down[columns[j] * channels + c]
                wide[ends + count + j * channels + c] = down[columns[reach + width + j] * channels + c]
        _running_totals(wide, channels, along)
        target, low, high = out[i], along[begin : begin + count], along[begin + step : begin + step + count]
        for k in range(count):
            target[k] = np.uint8(np.int32((F32(np.int32(high[k] - low[k])) + half) * inverse))


@kernel
def box_mean(pixels: Tensor, size: Tensor, largest: int) -> Tensor:
    _, channels, height, width = pixels.shape
    reach = largest // 2
    rows, columns = (fold(torch.arange(-reach, n + reach), n, "mirror").numpy() for n in (height, width))

    def scratch() -> tuple[np.ndarray, ...]:
        return tuple(np.empty((width + 2 * reach + more) * channels, np.int32) for more in (0, 1))

    return fill_pixels(pixels, _box_mean, size.long(), rows, columns, reach, scratch=scratch)


@compiled
def _median(plane, radius, counts, lines, out):
    """`below` is how many of the window's values are less than the present median `m`; `lines` are where rows begin."""
    height, width = plane.shape
    flat, size = values_of(plane), INDEX(2 * radius + 1)
    half = (2 * radius + 1) ** 2 // 2
    for i in range(height):
        for t in range(2 * radius + 1):
            lines[t] = min(max(i + t - radius, 0), height - 1) * width
        counts[:] = 0
        for t in range(size):
            for dx in range(-radius, radius + 1):
                counts[flat[lines[t] + INDEX(min(max(dx, 0), width - 1))]] += 1
        m, below = INDEX(0), 0
        for j in range(width):
            if j > 0:
                leaves, enters = INDEX(max(j - 1 - radius, 0)), INDEX(min(j + radius, width - 1))
                for t in range(size):
                    old, new = flat[lines[t] + leaves], flat[lines[t] + enters]
                    counts[old] -= 1
                    counts[new] += 1
                    below += np.int64(new < m) - np.int64(old < m)
            while below > half:
                m -= INDEX(1)
                below -= counts[m]
            while below + counts[m] <= half:
                below += counts[m]
                m += INDEX(1)
            out[i, j] = m


@kernel
def median(pixels: Tensor, radius: Tensor, largest: int) -> Tensor:
    n, channels, height, width = pixels.shape

    def scratch() -> tuple[np.ndarray, np.ndarray]:
        return np.empty(256, np.int64), np.empty(2 * largest + 1, INDEX)

    out = torch.empty(n * channels, height, width, dtype=torch.uint8)
    fill(out, _median, pixels.flatten(0, 1), per_plane(radius, channels), scratch=scratch)
    return out.unflatten(0, (n, channels))
