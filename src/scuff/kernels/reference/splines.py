"""Reads between pixels by cubic B-splines: smooth, and black outside the picture."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from scuff.kernels.borders import fold, pad
from scuff.kernels.dispatch import kernel, slow_kernel

__all__ = ["read_spline_bytes", "sum_spline_reads"]


@slow_kernel(lambda coefficients, rows, columns, weights: 16 * coefficients.shape[:2].numel() * rows.numel())
def sum_spline_reads(coefficients: Tensor, rows: Tensor, columns: Tensor, weights: Tensor) -> Tensor:
    """Weighted sum over s of cubic B-spline reads at real coordinates rows[s], columns[s], shared by all images.

    `rows` and `columns` are (S, H', W'), `weights` is (S,). `coefficients` are float32 (N, C, H, W): what the spline
    mixes, 4 x 4 of them for a read, mirrored beyond the edge. A read outside [0, H - 1] x [0, W - 1] is black.
    Bit-equal in every back end: products are rounded, four taps of a row are added from the left, rows in pairs, and
    reads in their order.
    """
    padded = surrounded(coefficients)
    tall, wide = padded.shape[-2:]
    flat: Tensor = padded.flatten(2)
    total: Any = 0.0
    for y, x, weight in zip(rows, columns, weights, strict=True):
        inside = (y >= 0) & (y <= tall - 4) & (x >= 0) & (x <= wide - 4)
        y, x = torch.where(inside, y, 0.0), torch.where(inside, x, 0.0)
        top, left = torch.floor(y), torch.floor(x)
        corner, across = (top.long() * wide + left.long()).flatten(), cubic_weights(x - left)
        rows_read = []
        for i, down in enumerate(cubic_weights(y - top)):
            taps = [flat.index_select(2, corner + (i * wide + j)).unflatten(2, y.shape) for j in range(4)]
            a, b, c, d = (weight_ * tap for weight_, tap in zip(across, taps, strict=True))
            rows_read.append(down * (((a + b) + c) + d))
        read = (rows_read[0] + rows_read[1]) + (rows_read[2] + rows_read[3])
        total = total + weight * torch.where(inside, read, 0.0)
    return total


def cubic_weights(t: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Weights of pixels -1, 0, 1 and 2 for a read at t in [0, 1); they sum to 1.

    >>> [round(float(w), 4) for w in cubic_weights(torch.tensor(0.0))]
    [0.1667, 0.6667, 0.1667, 0.0]
    """
    near = 1.0 - t
    return (
        near * near * near * (1.0 / 6.0),
        2.0 / 3.0 - t * t * (1.0 - 0.5 * t),
        2.0 / 3.0 - near * near * (1.0 - 0.5 * near),
        t * t * t * (1.0 / 6.0),
    )


def surrounded(coefficients: Tensor) -> Tensor:
    """(N, C, H + 3, W + 3): one more pixel before the image and two after it, so that every read finds 4 x 4."""
    return pad(coefficients, (1, 2), (1, 2), "mirror")


@kernel
def read_spline_bytes(pixels: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Smoothing read of uint8 (N, C, H, W) at rows (N, C, H') and columns (N, C, W'), as the nearest bytes.

    The spline mixes the pixels themselves, mirrored beyond the edge: it blurs. Black outside the picture. Bit-equal in
    every back end: products are rounded, the four taps of a column are added from the top, then those of a row from
    the left.
    """
    x: Tensor = pixels.float()
    (height, width), tall = x.shape[-2:], rows.shape[-1]
    down = [(w[..., None], i[..., None].expand(-1, -1, -1, width)) for i, w in taps_around(rows, height)]
    x = sum(w * x.gather(2, i) for w, i in down)  # type: ignore[assignment]  # of four taps
    across = [(w[:, :, None], i[:, :, None].expand(-1, -1, tall, -1)) for i, w in taps_around(columns, width)]
    x = sum(w * x.gather(3, i) for w, i in across)  # type: ignore[assignment]
    return torch.floor(x + 0.5).clamp_(0.0, 255.0).to(torch.uint8)


def taps_around(at: Tensor, length: int) -> list[tuple[Tensor, Tensor]]:
    """Four pixel indices around real coordinates, mirrored at the ends, and their weights: 0 outside the image."""
    base = torch.floor(at)
    inside = ((at >= 0) & (at <= length - 1)).to(at.dtype)
    weights = cubic_weights(at - base)
    return [(fold(base.long() + k - 1, length, "mirror"), w * inside) for k, w in enumerate(weights)]
