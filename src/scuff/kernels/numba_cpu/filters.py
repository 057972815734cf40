"""Sums of shifted copies, a row at a time so that the accumulator stays in the first cache."""

from __future__ import annotations

import numpy as np
import torch
from numba import njit
from torch import Tensor

from scuff.kernels.threads import over_images

_compiled = njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract"})


@_compiled
def _correlate_plane(padded, dy, dx, weights, out):
    height, width = out.shape
    taps = dy.size
    paired = taps - taps % 4
    for i in range(height):
        row = out[i]
        row[:] = np.float32(0.0)
        for t in range(0, paired, 4):  # four taps for each load and store of the accumulator
            a = padded[i + dy[t], dx[t] : dx[t] + width]
            b = padded[i + dy[t + 1], dx[t + 1] : dx[t + 1] + width]
            c = padded[i + dy[t + 2], dx[t + 2] : dx[t + 2] + width]
            d = padded[i + dy[t + 3], dx[t + 3] : dx[t + 3] + width]
            wa, wb, wc, wd = weights[t], weights[t + 1], weights[t + 2], weights[t + 3]
            for j in range(width):
                row[j] = (((row[j] + wa * a[j]) + wb * b[j]) + wc * c[j]) + wd * d[j]
        for t in range(paired, taps):
            a = padded[i + dy[t], dx[t] : dx[t] + width]
            wa = weights[t]
            for j in range(width):
                row[j] += wa * a[j]


def correlate(padded: Tensor, dy: Tensor, dx: Tensor, weights: Tensor, height: int, width: int) -> Tensor:
    n, channels = padded.shape[:2]
    out = torch.empty(n, channels, height, width)
    source, target = padded.contiguous().numpy(), out.numpy()
    ys, xs, ws = dy.contiguous().numpy(), dx.contiguous().numpy(), weights.contiguous().numpy()

    def work(start: int, stop: int) -> None:
        for i in range(start, stop):
            k = i if len(ys) > 1 else 0
            for c in range(channels):
                _correlate_plane(source[i, c], ys[k], xs[k], ws[k], target[i, c])

    over_images(work, n)
    return out
