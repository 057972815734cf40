"""Drops of glass laid on a picture, one after the other."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from scuff.kernels.dispatch import kernel

__all__ = ["refract_drops"]


@kernel
def refract_drops(x: Tensor, centres: Tensor, radius: float, index: float) -> Tensor:
    """Lay balls of glass on float32 (N, C, H, W), one after the other: each bends what the earlier ones have bent.

    `centres` (N, D, 2) are rows and columns in [0, H] x [0, W]. A pixel within `radius` of a centre is read, bilinearly
    and black outside, from nearer to that centre: a ray through glass of refractive `index` >= 1 shifts along each axis
    for itself; see `scuff.kernels.reference.drops`.
    """
    channels, height, width = x.shape[1:]
    reach = math.ceil(radius)
    margin = reach + 2  # what lies outside is black, and no read goes farther out
    canvas = torch.nn.functional.pad(x, (margin, margin, margin, margin))
    wide = width + 2 * margin
    flat = canvas.flatten(2)  # shares the canvas, which is ours to write into
    step = torch.arange(-reach, reach + 1, device=x.device)
    for centre in centres.unbind(1):
        cy, cx = centre[:, 0, None, None], centre[:, 1, None, None]
        row, column = torch.floor(cy).long() + step[:, None], torch.floor(cx).long() + step
        dy, dx = row - cy, column - cx
        depth = radius**2 - dy * dy - dx * dx
        within = (depth > 0) & (row >= 0) & (row < height) & (column >= 0) & (column < width)
        z = torch.sqrt(depth.clamp(min=1e-12))
        bent = _read(flat, row + margin - _shift(dy, z, index), column + margin - _shift(dx, z, index), wide)
        place = ((row + margin) * wide + column + margin).flatten(1)[:, None].expand(-1, channels, -1)
        flat.scatter_(2, place, torch.where(within.flatten(1)[:, None], bent, flat.gather(2, place)))
    return canvas[..., margin : margin + height, margin : margin + width]


def _shift(offset: Tensor, depth: Tensor, index: float) -> Tensor:
    """How far a ray through a ball of glass shifts along one axis.

    That is depth * tan(a - b), where tan a = offset / depth and sin a = index * sin b, written without angles.
    """
    slant = torch.sqrt((index * index - 1.0) * offset * offset + index * index * depth * depth)
    return depth * offset * (slant - depth) / (depth * slant + offset * offset)


def _read(flat: Tensor, rows: Tensor, columns: Tensor, wide: int) -> Tensor:
    """Bilinear reads (N, C, P) from flattened canvases at their coordinates (N, S, S)."""
    top, left = torch.floor(rows), torch.floor(columns)
    down, across = (rows - top).flatten(1)[:, None], (columns - left).flatten(1)[:, None]
    corner = (top.long() * wide + left.long()).flatten(1)[:, None].expand(-1, flat.shape[1], -1)
    upper = (1.0 - across) * flat.gather(2, corner) + across * flat.gather(2, corner + 1)
    lower = (1.0 - across) * flat.gather(2, corner + wide) + across * flat.gather(2, corner + wide + 1)
    return (1.0 - down) * upper + down * lower
