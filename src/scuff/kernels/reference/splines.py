"""Smooth reads at real coordinates, summed."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.splines import cubic_weights

__all__ = ["sum_spline_reads"]


@kernel
def sum_spline_reads(padded: Tensor, rows: Tensor, columns: Tensor, weights: Tensor) -> Tensor:
    """Weighted sum over s of cubic B-spline reads at real coordinates rows[s], columns[s], shared by all images.

    `rows` and `columns` are (S, H', W'), `weights` is (S,). `padded` is float32 (N, C, H + 3, W + 3): what the spline
    mixes, with one more pixel before the image and two after it, so that every read finds its 4 x 4 pixels. A read
    outside [0, H - 1] x [0, W - 1] is black. Reads are summed in a fixed order.
    """
    tall, wide = padded.shape[-2:]
    flat: Tensor = padded.flatten(2)
    total: Any = 0.0
    for y, x, weight in zip(rows, columns, weights, strict=True):
        inside = (y >= 0) & (y <= tall - 4) & (x >= 0) & (x <= wide - 4)
        y, x = torch.where(inside, y, 0.0), torch.where(inside, x, 0.0)
        top, left = torch.floor(y), torch.floor(x)
        corner, read = (top.long() * wide + left.long()).flatten(), 0.0
        for i, down in enumerate(cubic_weights(y - top)):
            for j, across in enumerate(cubic_weights(x - left)):
                tap = flat.index_select(2, corner + (i * wide + j)).unflatten(2, y.shape)
                read = read + (down * across) * tap
        total = total + weight * torch.where(inside, read, 0.0)
    return total
