"""Medians of square windows."""

from __future__ import annotations

import torch
from torch import Tensor

from scuff.kernels.borders import fold
from scuff.kernels.dispatch import kernel

__all__ = ["median"]


@kernel
def median(pixels: Tensor, radius: Tensor, largest: int) -> Tensor:
    """Median of the (2 radius + 1)^2 values around each value of uint8 (N, C, H, W); edges repeat.

    `radius` is int32 (N,), at most `largest`.
    """
    height, width = pixels.shape[-2:]
    rows, columns = (
        fold(torch.arange(-largest, side + largest, device=pixels.device), side, "edge") for side in (height, width)
    )
    padded = pixels.index_select(2, rows).index_select(3, columns).to(torch.int16)
    reach = torch.arange(2 * largest + 1, device=pixels.device) - largest
    windows = padded.unfold(2, 2 * largest + 1, 1).unfold(3, 2 * largest + 1, 1)
    used = torch.maximum(reach.abs()[:, None], reach.abs()) <= radius[:, None, None]
    # what lies outside an image's own window counts half as very dark and half as very bright, and so not at all
    unused = (~used).flatten(1).cumsum(1).view(used.shape) % 2 * 1024 - 512
    windows = torch.where(used[:, None, None, None], windows, unused[:, None, None, None].to(torch.int16))
    return windows.flatten(4).median(4).values.to(torch.uint8)
