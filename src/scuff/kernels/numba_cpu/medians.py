"""Medians of square windows by a histogram that slides along the row."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from scuff.kernels.numba_cpu.compiling import compiled
from scuff.kernels.threads import over_images


@compiled
def _median(plane, radius, counts, out):
    """`below` is how many of the window's values are less than the present median `m`."""
    height, width = plane.shape
    half = (2 * radius + 1) ** 2 // 2
    for i in range(height):
        counts[:] = 0
        m, below = 0, 0
        for dy in range(-radius, radius + 1):
            row = plane[min(max(i + dy, 0), height - 1)]
            for dx in range(-radius, radius + 1):
                counts[row[min(max(dx, 0), width - 1)]] += 1
        for j in range(width):
            if j > 0:
                leaves, enters = max(j - 1 - radius, 0), min(j + radius, width - 1)
                for dy in range(-radius, radius + 1):
                    row = plane[min(max(i + dy, 0), height - 1)]
                    old, new = row[leaves], row[enters]
                    counts[old] -= 1
                    counts[new] += 1
                    below += np.int64(new < m) - np.int64(old < m)
            while below > half:
                m -= 1
                below -= counts[m]
            while below + counts[m] <= half:
                below += counts[m]
                m += 1
            out[i, j] = m


def median(pixels: Tensor, radius: Tensor, largest: int) -> Tensor:
    n, channels, height, width = pixels.shape
    out = torch.empty(n, channels, height, width, dtype=torch.uint8)
    source, reach, target = pixels.contiguous().numpy(), radius.numpy(), out.numpy()

    def work(start: int, stop: int) -> None:
        counts = np.empty(256, np.int64)
        for i in range(start, stop):
            for c in range(channels):
                _median(source[i, c], reach[i], counts, target[i, c])

    over_images(work, n)
    return out
