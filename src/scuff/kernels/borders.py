"""Which pixel stands where there is none: whole coordinates beyond the edge, folded into the image."""

from __future__ import annotations

import torch
from torch import Tensor


def fold(index: Tensor, length: int, border: str) -> Tensor:
    """Map any whole coordinate to the pixel in 0..length-1 that stands there; see `scuff.ops.borders` for the names."""
    if border == "edge":
        return index.clamp(0, length - 1)
    if border == "mirror":
        if length == 1:
            return torch.zeros_like(index)
        period = 2 * (length - 1)
        index = index.remainder(period)
        return torch.where(index > length - 1, period - index, index)
    if border == "reflect":
        period = 2 * length
        index = index.remainder(period)
        return torch.where(index > length - 1, period - 1 - index, index)
    raise ValueError(f"unknown border {border!r}; choose edge, reflect or mirror")
