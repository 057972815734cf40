"""Lines drawn over bytes, and errors passed along rows."""

from __future__ import annotations

import torch
from torch import Tensor

from scuff.kernels.dispatch import kernel

__all__ = ["dither_rows", "draw_lines"]


@kernel
def draw_lines(pixels: Tensor, ends: Tensor, level: float) -> Tensor:
    """Draw lines of grey `level` over uint8 (N, C, H, W), one after the other, each truncated to bytes.

    `ends` (N, L, 4) are whole numbers in float32: first row and column, last row and column. A line covers a pixel in
    its bounding box by one less their distance, if that is above 0. Equal in every back end while products of
    coordinates stay below 2**24.
    """
    height, width = pixels.shape[-2:]
    r = torch.arange(height, dtype=torch.float32, device=pixels.device)[:, None]
    c = torch.arange(width, dtype=torch.float32, device=pixels.device)
    drawn = pixels.float()
    for k in range(ends.shape[1]):
        r0, c0, r1, c1 = ends[:, k, :, None, None].unbind(1)
        dr, dc = r1 - r0, c1 - c0
        length = torch.sqrt(dr * dr + dc * dc).clamp(min=1e-6)
        cover = 1.0 - ((r - r0) * dc - (c - c0) * dr).abs() / length
        inside = (r >= torch.minimum(r0, r1)) & (r <= torch.maximum(r0, r1))
        inside = inside & (c >= torch.minimum(c0, c1)) & (c <= torch.maximum(c0, c1))
        cover = torch.where(inside, cover.clamp(min=0.0), 0.0)[:, None]
        drawn = torch.floor((1.0 - cover) * drawn + level * cover)
    return drawn.to(torch.uint8)


@kernel
def dither_rows(pixels: Tensor, levels: int) -> Tensor:
    """Quantise uint8 (N, C, H, W) to `levels` >= 2 levels, passing the error on to the right. Equal in every back end.

    The next pixel gets 7/16 of the error, but not in the first row, then 1/16, but not in the last row; it is rounded
    down and clipped to a byte after each.
    """
    v = pixels.int()
    row = torch.arange(v.shape[-2], device=v.device)
    above, below = row > 0, row < len(row) - 1
    out, error = [], torch.zeros_like(v[..., 0])
    for current in v.unbind(-1):
        current = torch.where(above, (current + (7 * error >> 4)).clamp(0, 255), current)
        current = torch.where(below, (current + (error >> 4)).clamp(0, 255), current)
        out.append(255 * (levels * current >> 8) // (levels - 1))
        error = current - out[-1]
    return torch.stack(out, dim=-1).to(torch.uint8)
