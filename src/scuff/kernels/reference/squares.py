"""Means of squares of pixels, side by side or overlapping."""

from __future__ import annotations

import torch
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.portable import divide, mix

__all__ = ["block_means", "mix_box_blur"]

PASSES = 5


@kernel
def mix_box_blur(x: Tensor, share: Tensor) -> Tensor:
    """A share (N,) of float32 (N, C, H, W) replaced by its blur: five 3 x 3 means, black beyond the border.

    Bit-equal in every back end, as is the other here: sums in one order.
    """
    blurred = x
    for _ in range(PASSES):
        blurred = _mean_3x3_on_black(blurred)
    return mix(x, blurred, share[:, None, None, None])


def _mean_3x3_on_black(x: Tensor) -> Tensor:
    """Sums of shifted copies, rows first."""
    rows = x.clone()
    rows[:, :, 1:] += x[:, :, :-1]
    rows[:, :, :-1] += x[:, :, 1:]
    total = rows.clone()
    total[..., 1:] += rows[..., :-1]
    total[..., :-1] += rows[..., 1:]
    return total.mul_(1.0 / 9.0)


@kernel
def block_means(x: Tensor, side: Tensor, sides: range) -> Tensor:
    """Float32 (N, C, H, W) in squares of `side` (N,) pixels, each the mean of its pixels; `sides` has all that occur.

    Rows and columns left over repeat the outer squares.
    """
    height, width = x.shape[-2:]
    out = x
    for k in sides:
        tall, wide = min(k, height), min(k, width)
        blocks = x[..., : height // tall * tall, : width // wide * wide]
        total = sum(blocks[..., i::tall, j::wide] for i in range(tall) for j in range(wide))
        means = divide(total, tall * wide)  # type: ignore[arg-type]
        rows, columns = _block_of(height, tall, x.device), _block_of(width, wide, x.device)
        out = torch.where((side == k)[:, None, None, None], means[:, :, rows[:, None], columns], out)
    return out


def _block_of(length: int, side: int, device: torch.device) -> Tensor:
    """Which block each pixel shows; half of what is left over lies before the first block."""
    blocks, before = length // side, length % side // 2
    return torch.div(torch.arange(length, device=device) - before, side, rounding_mode="floor").clamp(0, blocks - 1)
