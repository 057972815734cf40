"""Cubic B-splines: smooth reads at real coordinates, black outside the image."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from scuff.ops.borders import fold


def cubic_taps(at: Tensor, length: int) -> tuple[list[Tensor], list[Tensor]]:
    """Four pixel indices around real coordinates, mirrored at the ends, and their weights: 0 outside the image."""
    base = torch.floor(at)
    t = at - base
    inside = ((at >= 0) & (at <= length - 1)).to(at.dtype)
    near, far = 1.0 - t, t
    weights = [
        near**3 / 6.0,
        2.0 / 3.0 - t * t + t**3 / 2.0,
        2.0 / 3.0 - near * near + near**3 / 2.0,
        far**3 / 6.0,
    ]
    indices = [fold(base.long() + k, length, "mirror") for k in (-1, 0, 1, 2)]
    return indices, [w * inside for w in weights]


def read_separable(x: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Smoothing spline read of (N, C, H, W) at rows (N, C, H') and columns (N, C, W'), without prefilter: it blurs."""
    height, width = x.shape[-2:]
    indices, weights = cubic_taps(rows, height)
    x = sum(
        w[..., None] * x.gather(2, i[..., None].expand(-1, -1, -1, width))
        for i, w in zip(indices, weights, strict=True)
    )
    indices, weights = cubic_taps(columns, width)
    tall = x.shape[2]
    return sum(
        w[:, :, None] * x.gather(3, i[:, :, None].expand(-1, -1, tall, -1))
        for i, w in zip(indices, weights, strict=True)
    )


def read_points(x: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Spline read of (N, C, H, W) at one set of points (H', W'), shared by all images."""
    height, width = x.shape[-2:]
    down, down_weights = cubic_taps(rows, height)
    across, across_weights = cubic_taps(columns, width)
    outside = (rows < 0) | (rows > height - 1) | (columns < 0) | (columns > width - 1)
    flat, total = x.flatten(2), 0.0
    for i, wi in zip(down, down_weights, strict=True):
        for j, wj in zip(across, across_weights, strict=True):
            taps = flat.index_select(2, (i * width + j).flatten()).unflatten(2, rows.shape)
            total = total + (wi * wj) * taps
    return torch.where(outside, 0.0, total)


@lru_cache(maxsize=32)
def _inverse(length: int, device: torch.device) -> Tensor:
    matrix = np.zeros((length, length))
    for k in range(length):
        matrix[k, k] += 4 / 6
        for neighbour in (k - 1, k + 1):
            matrix[k, int(fold(torch.tensor(neighbour), length, "mirror"))] += 1 / 6
    return torch.from_numpy(np.linalg.inv(matrix)).to(device)


def spline_coefficients(x: Tensor) -> Tensor:
    """Coefficients with which spline reads interpolate (N, C, H, W): they give the pixels back at whole coordinates."""
    height, width = x.shape[-2:]
    return (_inverse(height, x.device) @ x.double() @ _inverse(width, x.device).mT).float()
