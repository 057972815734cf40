"""Means of square windows by running sums, whatever their size."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from scuff.kernels.borders import fold
from scuff.kernels.numba_cpu.compiling import compiled
from scuff.kernels.numba_cpu.layout import new_pixels, side_by_side
from scuff.kernels.threads import over_images

INDEX = np.uintp


@compiled
def _box_mean(pixels, size, rows, columns, reach, sums, out):
    """`sums` holds, for each value of a row, the sum over the window's rows; then a sum slides along it.

    `rows` and `columns` are the image's indices with `reach` mirrored ones on either side; windows begin size // 2
    before the pixel. Whole numbers: division by the area is a multiplication by its inverse, exact for windows to 64.
    """
    height, width, channels = pixels.shape
    first = reach - size // 2
    inverse = np.uint64((1 << 32) // (2 * size * size) + 1)
    half = size * size
    sums[:] = 0
    for t in range(size - 1):
        line = pixels[rows[first + t]].reshape(-1)
        for k in range(sums.size):
            sums[k] += line[k]
    for i in range(height):
        enters = pixels[rows[first + i + size - 1]].reshape(-1)
        for k in range(sums.size):
            sums[k] += enters[k]
        target = out[i].reshape(-1)
        for c in range(channels):
            total = 0
            for t in range(size - 1):
                total += sums[columns[first + t] * channels + c]
            for j in range(width):
                total += sums[columns[first + j + size - 1] * channels + c]
                target[j * channels + c] = np.uint8((np.uint64(2 * total + half) * inverse) >> np.uint64(32))
                total -= sums[columns[first + j] * channels + c]
        leaves = pixels[rows[first + i]].reshape(-1)
        for k in range(sums.size):
            sums[k] -= leaves[k]


def box_mean(pixels: Tensor, size: Tensor, largest: int) -> Tensor:
    _, channels, height, width = pixels.shape
    source, (out, target) = side_by_side(pixels), new_pixels(pixels)
    reach, sizes = largest // 2, size.numpy()
    rows, columns = (fold(torch.arange(-reach, n + reach), n, "mirror").numpy() for n in (height, width))

    def work(start: int, stop: int) -> None:
        sums = np.empty(width * channels, np.int32)
        for i in range(start, stop):
            _box_mean(source[i], int(sizes[i]), rows, columns, reach, sums, target[i])

    over_images(work, len(pixels))
    return out
