"""Bytes read elsewhere: at points between pixels, or as weighted windows of a row or column."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from scuff.kernels.constants import constant
from scuff.kernels.dispatch import kernel

__all__ = ["mix_windows", "project", "remap", "take_pixels"]

FAR = 1e6  # beyond any image, and safe to multiply and to convert to a whole number


@kernel
def remap(pixels: Tensor, rows: Tensor, columns: Tensor, border: str) -> Tensor:
    """Read uint8 (N, C, H, W) at real coordinates (N, H', W') by OpenCV's rule, exactly.

    Coordinates are folded into the picture, rounded to 1/32 pixel, and the four neighbours mixed in whole numbers.
    `border` is "zeros", "edge", "mirror" or "reflect" (`scuff.ops.borders`). At whole coordinates pixels are copied.
    """
    n, channels, height, width = pixels.shape
    flat = pixels.flatten(2).to(torch.int32)
    total = torch.zeros(n, channels, rows[0].numel(), dtype=torch.int32, device=pixels.device)
    for i, row_share in _neighbours(rows, height, border):
        for j, column_share in _neighbours(columns, width, border):
            place = (i * width + j).flatten(1)[:, None].expand(n, channels, -1)
            total += (row_share * column_share).flatten(1)[:, None] * flat.gather(2, place)
    return ((total + 512) >> 10).to(torch.uint8).view(n, channels, *rows.shape[1:])


def _neighbours(at: Tensor, length: int, border: str) -> list[tuple[Tensor, Tensor]]:
    """The two pixels around each coordinate, int64, with their shares in 32nds, int32."""
    if border == "zeros":
        v = torch.floor(at.clamp(-2.0, length + 1.0) * 32.0 + 0.5).int()
        share = v & 31
        pairs = [(v >> 5, 32 - share), ((v >> 5) + 1, share)]
        return [(i.clamp(0, length - 1).long(), s * ((i >= 0) & (i < length))) for i, s in pairs]
    v = torch.floor(_folded(at.clamp(-FAR, FAR), length, border).clamp(0.0, length - 1.0) * 32.0 + 0.5).int()
    return [((v >> 5).long(), 32 - (v & 31)), (((v >> 5) + 1).clamp(max=length - 1).long(), v & 31)]


def _folded(at: Tensor, length: int, border: str) -> Tensor:
    """Coordinates beyond the edge, mirrored about the last pixel or about its outer side."""
    if border == "edge":
        return at
    edge = 0.5 if border == "reflect" else 0.0
    period = max(2.0 * (length - 1 + 2.0 * edge), 1.0)
    at = (at + edge).abs()
    at = at - period * torch.floor(at * constant((1.0 / period,), at.device))
    return torch.minimum(at, period - at) - edge


@kernel
def project(pixels: Tensor, matrix: Tensor, extent: Tensor, height: int, width: int, border: str) -> Tensor:
    """`remap` for homographies: pixel (column j, row i) of the result is read at matrix @ (j, i, 1).

    `matrix` is float32 (N, 3, 3). Of the result, (N, C, height, width), each image uses only its own `extent` (N, 2)
    int32, rows and columns; the rest is black.
    """
    i = torch.arange(height, dtype=torch.float32, device=pixels.device)[:, None]
    j = torch.arange(width, dtype=torch.float32, device=pixels.device)
    x, y, depth = (row[:, :1, None] * j + row[:, 1:2, None] * i + row[:, 2:, None] for row in matrix.unbind(1))
    rows, columns = (torch.nan_to_num(at / depth, nan=-FAR, posinf=FAR, neginf=-FAR) for at in (y, x))
    used = (i < extent[:, :1, None]) & (j < extent[:, 1:, None])
    return remap(pixels, rows, columns, border) * used[:, None]


@kernel
def take_pixels(pixels: Tensor, place: Tensor) -> Tensor:
    """Pixel `place[n, i, j]` of each image, counted row by row, or black where it is negative.

    `pixels` is uint8 (N, C, H, W), `place` int32 (N, H', W'), or (1, H', W') if all images share it.
    """
    n, channels = pixels.shape[:2]
    where = place.expand(n, -1, -1)[:, None]
    taken = pixels.flatten(2).gather(2, where.clamp(min=0).long().flatten(2).expand(-1, channels, -1))
    return torch.where(where >= 0, taken.view(n, channels, *place.shape[1:]), 0)


@kernel
def mix_windows(x: Tensor, first: Tensor, weights: Tensor, axis: int) -> Tensor:
    """Rows (axis 2) or columns (axis 3) of float32 (N, C, H, W) as weighted windows, each image by its own plan.

    For columns, out[n, c, i, j] = sum over t of weights[n, j, t] * x[n, c, i, first[n, j] + t]. Windows are cut at the
    last one.
    """
    if axis == 2:
        return mix_windows(x.mT, first, weights, 3).mT.contiguous()
    n, channels, height, width = x.shape
    total: Any = 0.0
    for tap in range(weights.shape[2]):
        place = (first + tap).clamp(max=width - 1).long()[:, None, None, :].expand(n, channels, height, -1)
        total = total + weights[:, None, None, :, tap] * x.gather(3, place)
    return total
