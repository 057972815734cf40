"""Bytes through tables, and channels mixed."""

from __future__ import annotations

import torch
from torch import Tensor

from scuff.kernels.dispatch import kernel

__all__ = ["lookup", "mean_grey", "mix_channels", "mix_grey"]


@kernel
def lookup(pixels: Tensor, tables: Tensor) -> Tensor:
    """Replace uint8 (N, C, H, W) by `tables[n, c, value]`; tables are uint8 (N, C, 256), or (N, 1, 256) if shared."""
    n, channels = pixels.shape[:2]
    levels = tables.expand(n, channels, 256).gather(2, pixels.flatten(2).long())
    return levels.view(pixels.shape)


def _luma(pixels: Tensor) -> Tensor:
    red, green, blue = pixels.to(torch.int32).split(1, dim=1)
    return (19595 * red + 38470 * green + 7471 * blue + 32768) >> 16


@kernel
def mean_grey(pixels: Tensor, active: Tensor) -> Tensor:
    """The mean of Pillow's rounded luma over each image of uint8 RGB, float32 (N,); 0 for those not `active` (N,)."""
    height, width = pixels.shape[-2:]
    return torch.where(active, _luma(pixels).sum((1, 2, 3)).float() / (height * width), 0.0)


@kernel
def mix_grey(pixels: Tensor, share: Tensor) -> Tensor:
    """v + share * (grey - v), rounded, for uint8 RGB and `share` (N,); grey is Pillow's rounded luma."""
    grey, levels = _luma(pixels).float(), pixels.float()
    return torch.floor(levels + share[:, None, None, None] * (grey - levels) + 0.5).clamp_(0, 255).to(torch.uint8)


@kernel
def mix_channels(pixels: Tensor, mixture: Tensor) -> Tensor:
    """Each channel of uint8 RGB as a mixture of all three: int32 (3, 3), in 1024ths, rounded."""
    red, green, blue = pixels.to(torch.int32)[:, :, None].unbind(1)
    shares = mixture[..., None, None]
    levels = (shares[:, 0] * red + shares[:, 1] * green + shares[:, 2] * blue + 512) >> 10
    return levels.clamp_(0, 255).to(torch.uint8)
