"""Medians of square windows by a histogram that slides along the row."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.numba_cpu.compiling import INDEX, compiled
from scuff.kernels.threads import over_images


@compiled
def _median(plane, radius, counts, lines, out):
    """`below` is how many of the window's values are less than the present median `m`; `lines` are where rows begin."""
    height, width = plane.shape
    flat, size = plane.reshape(-1), INDEX(2 * radius + 1)
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
    out = torch.empty(n, channels, height, width, dtype=torch.uint8)
    source, reach, target = pixels.contiguous().numpy(), radius.numpy(), out.numpy()

    def work(start: int, stop: int) -> None:
        counts, lines = np.empty(256, np.int64), np.empty(2 * largest + 1, INDEX)
        for i in range(start, stop):
            for c in range(channels):
                _median(source[i, c], reach[i], counts, lines, target[i, c])

    over_images(work, n)
    return out
