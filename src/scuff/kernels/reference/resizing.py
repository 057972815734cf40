"""Pillow's bilinear filter, each image with a size of its own: windows of pixels, rounded to bytes after each pass."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from scuff.kernels import portable
from scuff.kernels.dispatch import kernel
from scuff.kernels.reference.warps import mix_windows

__all__ = ["resize_lines", "triangle_windows"]

Plan = tuple[Tensor, Tensor, int]  # the first pixels of windows, their weights, and the axis: see `mix_windows`


@kernel
def triangle_windows(source: Tensor, target: Tensor, length: int, taps: int) -> tuple[Tensor, Tensor]:
    """How Pillow resizes `source` (N,) pixels to `target` (N,): for mix_windows, of `length` outputs (N, length).

    A triangle about the output's centre, as wide as two output pixels, or as two input pixels if those are larger;
    weights beyond the ends are left out and the rest scaled to sum 1. Outputs from `target` on mean nothing.
    """
    source, target = source.double()[:, None], target.double()[:, None]
    reach = (source / target).clamp(min=1.0)
    centre = (torch.arange(length, device=source.device) + 0.5) * (source / target)
    first = torch.floor(centre - reach + 0.5).clamp(min=0.0)
    last = torch.minimum(torch.floor(centre + reach + 0.5), source)
    at = first[..., None] + torch.arange(taps, device=source.device)
    weights = (1.0 - ((at + 0.5 - centre[..., None]) / reach[..., None]).abs()).clamp(min=0.0)
    weights = portable.whole(torch.where(at < last[..., None], weights, 0.0), 32)  # whole, so that sums have no order
    return first.to(torch.int32), (weights / weights.sum(2, keepdim=True).clamp(min=1.0)).float()


@kernel
def resize_lines(pixels: Tensor, plans: Sequence[Plan]) -> Tensor:
    """`mix_windows` of uint8 (N, C, H, W), one plan after the other, rounded to whole levels after each."""
    levels = pixels.float()
    for first, weights, axis in plans:
        levels = torch.floor(mix_windows(levels, first, weights, axis) + 0.5)
    return levels.to(torch.uint8)
