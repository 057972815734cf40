"""Edges and relief of planes (N, H, W), as OpenCV makes them."""

from __future__ import annotations

import torch
from torch import Tensor

from scuff.kernels.borders import pad
from scuff.kernels.dispatch import kernel
from scuff.kernels.portable import divide

__all__ = ["emboss", "equalise", "mean_of_nine", "thin_edges"]


def _neighbour(padded: Tensor, dy: int, dx: int) -> Tensor:
    """The plane (N, H, W) shifted by (dy, dx), from one that is padded by 1."""
    h, w = padded.shape[-2] - 2, padded.shape[-1] - 2
    return padded[..., 1 + dy : 1 + dy + h, 1 + dx : 1 + dx + w]


def _pad1(plane: Tensor, border: str) -> Tensor:
    return pad(plane[:, None], (1, 1), (1, 1), border)[:, 0]


@kernel
def thin_edges(levels: Tensor) -> Tensor:
    """How steep int32 levels (N, H, W) are, where that is a peak along their gradient, and 0 elsewhere: int32.

    Sobel's gradients, L1 magnitude; Canny's edges before hysteresis.
    """
    p = _pad1(levels, "edge")
    at = {(dy, dx): _neighbour(p, dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1)}
    gx = at[-1, 1] + 2 * at[0, 1] + at[1, 1] - at[-1, -1] - 2 * at[0, -1] - at[1, -1]
    gy = at[1, -1] + 2 * at[1, 0] + at[1, 1] - at[-1, -1] - 2 * at[-1, 0] - at[-1, 1]
    m = gx.abs() + gy.abs()
    p = torch.nn.functional.pad(m, (1, 1, 1, 1))
    at = {(dy, dx): _neighbour(p, dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1)}
    # the direction of the gradient in eighths of a turn: |gy| / |gx| against tan 22.5 and tan 67.5 degrees, in 2**-15
    t, a = gx.abs() * 13573, gy.abs() * 32768
    flat, steep = a < t, a > t + gx.abs() * 65536
    falling = (gx ^ gy) < 0
    across = torch.where(flat, at[0, -1], torch.where(steep, at[-1, 0], torch.where(falling, at[-1, 1], at[-1, -1])))
    beyond = torch.where(flat, at[0, 1], torch.where(steep, at[1, 0], torch.where(falling, at[1, -1], at[1, 1])))
    straight = flat | steep
    peak = (m > across) & torch.where(straight, m >= beyond, m > beyond)
    return torch.where(peak, m, 0)


@kernel
def mean_of_nine(plane: Tensor) -> Tensor:
    """3 x 3 mean of float32 (N, H, W), mirrored at the border.

    Bit-equal in every back end: values are added row by row, from the left.
    """
    p = _pad1(plane, "mirror")
    total: Tensor = sum(_neighbour(p, dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1))  # type: ignore[assignment]
    return divide(total, 9.0)


@kernel
def emboss(levels: Tensor) -> Tensor:
    """Light from the top left on whole levels, float32 (N, H, W).

    Correlation with (-2 -1 0 / -1 1 1 / 0 1 2), clipped to bytes.
    """
    p = _pad1(levels, "mirror")
    dark = 2 * _neighbour(p, -1, -1) + _neighbour(p, -1, 0) + _neighbour(p, 0, -1)
    light = levels + _neighbour(p, 0, 1) + _neighbour(p, 1, 0) + 2 * _neighbour(p, 1, 1)
    return (light - dark).clamp(0, 255)


@kernel
def equalise(levels: Tensor) -> Tensor:
    """Histogram equalisation of whole levels 0..255, float32 (N, H, W), per image; a constant image stays as it is."""
    n, pixels = len(levels), levels[0].numel() if len(levels) else 0
    flat = levels.flatten(1).long()
    counts = torch.zeros(n, 256, dtype=torch.int64, device=levels.device)
    counts.scatter_add_(1, flat, torch.ones_like(flat))
    first = (counts > 0).int().argmax(1, keepdim=True)
    lowest = counts.gather(1, first)
    scale = 255.0 / (pixels - lowest).clamp(min=1).float()
    table = torch.round((counts.cumsum(1) - lowest).float() * scale).clamp(0, 255)
    table = torch.where(lowest == pixels, torch.arange(256, device=levels.device).float(), table)
    return table.gather(1, flat).view(levels.shape)
