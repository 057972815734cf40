"""Medians over squares: of small ones bit by bit, many pixels at once; of others by a histogram that moves along."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.numba_cpu.compiling import INDEX, compiled, values_of
from scuff.kernels.numba_cpu.filling import fill, fill_pixels, per_plane

BYTE = np.uint8
SMALL = 7  # radius up to which bits are faster; a window's 225 values are counted in a byte


@compiled
def _repeat_edges(image, reach, wide):
    """Copy an image to `wide`, with its edges repeated so far on all sides. Returns where the second row begins."""
    (height, width, channels), pixels = image.shape, values_of(image)
    count, step, ends = INDEX(width * channels), INDEX(channels), INDEX(reach * channels)
    line = count + INDEX(2) * ends
    for i in range(height + 2 * reach):
        source, target = INDEX(min(max(i - reach, 0), height - 1)) * count, INDEX(i) * line
        for k in range(count):
            wide[target + ends + k] = pixels[source + k]
        for k in range(ends):
            wide[target + k] = pixels[source + k % step]
            wide[target + ends + count + k] = pixels[source + count - step + k % step]
    return line


@compiled
def _median_by_bits(image, radius, wide, medians, tried, below, made):
    """The highest bit of a row's medians first: it is one if at most half of a window is below it, and so on.

    `wide` is scratch for the image with its edges repeated, the others for a row.
    """
    (height, width, channels), out = image.shape, values_of(made)
    count, step, line = INDEX(width * channels), INDEX(channels), _repeat_edges(image, radius, wide)
    side, half = INDEX(2 * radius + 1), BYTE((2 * radius + 1) ** 2 // 2)
    for i in range(INDEX(height)):
        for k in range(count):
            medians[k] = 0
        for bit in range(8):
            one = BYTE(128 >> bit)
            for k in range(count):
                tried[k], below[k] = medians[k] | one, 0
            for t in range(side):
                at = (i + t) * line
                for k in range(count):
                    below[k] += BYTE(wide[at + k] < tried[k])
                for _ in range(radius):  # two at once, which spares half of the loads and stores of `below`
                    here, there = at + step, at + INDEX(2) * step
                    for k in range(count):
                        below[k] += BYTE(wide[here + k] < tried[k]) + BYTE(wide[there + k] < tried[k])
                    at = there
            for k in range(count):  # a maximum, since numbers are chosen between without a jump, and then many at once
                medians[k] = max(medians[k], tried[k] if below[k] <= half else BYTE(0))
        for k in range(count):
            out[i * count + k] = medians[k]


@compiled
def _median_by_histogram(plane, radius, counts, lines, out):
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

    def rows() -> tuple[np.ndarray, ...]:
        wide = np.empty((height + 2 * largest) * (width + 2 * largest) * channels, BYTE)
        return wide, *(np.empty(width * channels, BYTE) for _ in range(3))

    def counts() -> tuple[np.ndarray, np.ndarray]:
        return np.empty(256, np.int64), np.empty(2 * largest + 1, INDEX)

    if largest <= SMALL:
        return fill_pixels(pixels, _median_by_bits, radius.long(), scratch=rows)
    out = torch.empty(n * channels, height, width, dtype=torch.uint8)
    fill(out, _median_by_histogram, pixels.flatten(0, 1), per_plane(radius, channels), scratch=counts)
    return out.unflatten(0, (n, channels))
