"""Lines drawn over bytes, and errors passed along rows."""

from __future__ import annotations

import torch
from torch import Tensor


def draw_lines(pixels: Tensor, ends: Tensor, level: float) -> Tensor:
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


def dither_rows(pixels: Tensor, levels: int) -> Tensor:
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
