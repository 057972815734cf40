"""Bytes through tables, and channels mixed."""

from __future__ import annotations

import torch
from torch import Tensor


def lookup(pixels: Tensor, tables: Tensor) -> Tensor:
    n, channels = pixels.shape[:2]
    found = tables.expand(n, channels, 256).gather(2, pixels.flatten(2).long())
    return found.view(pixels.shape)


def _luma(pixels: Tensor) -> Tensor:
    red, green, blue = pixels.to(torch.int32).split(1, dim=1)
    return (19595 * red + 38470 * green + 7471 * blue + 32768) >> 16


def mean_grey(pixels: Tensor, active: Tensor) -> Tensor:
    height, width = pixels.shape[-2:]
    return torch.where(active, _luma(pixels).sum((1, 2, 3)).float() / (height * width), 0.0)


def mix_grey(pixels: Tensor, share: Tensor) -> Tensor:
    grey, levels = _luma(pixels).float(), pixels.float()
    return torch.floor(levels + share[:, None, None, None] * (grey - levels) + 0.5).clamp_(0, 255).to(torch.uint8)


def mix_channels(pixels: Tensor, mixture: Tensor) -> Tensor:
    red, green, blue = pixels.to(torch.int32)[:, :, None].unbind(1)
    shares = mixture[..., None, None]
    levels = (shares[:, 0] * red + shares[:, 1] * green + shares[:, 2] * blue + 512) >> 10
    return levels.clamp_(0, 255).to(torch.uint8)
