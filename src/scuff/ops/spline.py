"""Cubic B-splines: smooth reads at real coordinates, black outside the image."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from scuff import kernels
from scuff.kernels.splines import cubic_weights
from scuff.ops import filters
from scuff.ops.borders import fold, pad


def cubic_taps(at: Tensor, length: int) -> tuple[list[Tensor], list[Tensor]]:
    """Four pixel indices around real coordinates, mirrored at the ends, and their weights: 0 outside the image."""
    base = torch.floor(at)
    t = at - base
    inside = ((at >= 0) & (at <= length - 1)).to(at.dtype)
    indices = [fold(base.long() + k, length, "mirror") for k in (-1, 0, 1, 2)]
    return indices, [w * inside for w in cubic_weights(t)]


def read_separable(x: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Smoothing spline read of (N, C, H, W) at rows (N, C, H') and columns (N, C, W'), without prefilter: it blurs."""
    height, width = x.shape[-2:]
    indices, weights = cubic_taps(rows, height)
    x = sum(  # type: ignore[assignment]  # of four taps
        w[..., None] * x.gather(2, i[..., None].expand(-1, -1, -1, width))
        for i, w in zip(indices, weights, strict=True)
    )
    indices, weights = cubic_taps(columns, width)
    tall = x.shape[2]
    return sum(  # type: ignore[return-value]
        w[:, :, None] * x.gather(3, i[:, :, None].expand(-1, -1, tall, -1))
        for i, w in zip(indices, weights, strict=True)
    )


def sum_reads(x: Tensor, rows: Tensor, columns: Tensor, weights: Tensor) -> Tensor:
    """Interpolating reads of (N, C, H, W) at S sets of points (S, H', W'), the same for all images, added by weight."""
    return kernels.sum_spline_reads(pad(_coefficients(x), (1, 2), (1, 2), "mirror"), rows, columns, weights)


POLE = math.sqrt(3.0) - 2.0  # of the filter that undoes a cubic spline's smoothing
REACH = 14  # taps beyond it are below 1e-8: flat areas must keep their level when it is truncated


def _coefficients(x: Tensor) -> Tensor:
    """What the spline must mix to give the pixels of (N, C, H, W) back at whole coordinates."""
    taps = np.array([math.sqrt(3.0) * POLE ** abs(k) for k in range(-REACH, REACH + 1)], np.float32)
    return filters.correlate(filters.correlate(x, taps[:, None], "mirror"), taps[None], "mirror")
