"""Clouds, and windows cut from larger pictures."""

from __future__ import annotations

import torch
from torch import Tensor

from scuff.kernels.dispatch import kernel

__all__ = ["crop_windows", "plasma"]


@kernel
def plasma(noise: Tensor, decay: float) -> Tensor:
    """Diamond-square clouds in [0, 1] from noise in [-1, 1], (N, S, S), S a power of two; see `scuff.ops.plasma`."""
    height = torch.zeros_like(noise)
    step, amplitude = noise.shape[-1], 100.0
    while step >= 2:
        half, power = step // 2, amplitude * amplitude
        corners = height[:, ::step, ::step]
        below = torch.roll(corners, -1, 1)
        right = torch.roll(corners, -1, 2)
        centres = (corners + below + right + torch.roll(below, -1, 2)) * 0.25
        centres = centres + power * noise[:, half::step, half::step]
        height[:, half::step, half::step] = centres
        edges = (centres + torch.roll(centres, 1, 1) + corners + right) * 0.25
        height[:, ::step, half::step] = edges + power * noise[:, ::step, half::step]
        edges = (centres + torch.roll(centres, 1, 2) + corners + below) * 0.25
        height[:, half::step, ::step] = edges + power * noise[:, half::step, ::step]
        step, amplitude = half, amplitude / decay
    low = height.amin((1, 2), keepdim=True)
    return (height - low) / (height.amax((1, 2), keepdim=True) - low)


@kernel
def crop_windows(table: Tensor, which: Tensor, top: Tensor, left: Tensor, height: int, width: int) -> Tensor:
    """Window n of the result (N, C, height, width) is cut from `table[which[n]]` at row top[n], column left[n]."""
    _, channels, tall, wide = table.shape
    rows = top[:, None] + torch.arange(height, device=table.device)
    columns = left[:, None] + torch.arange(width, device=table.device)
    place = (rows[:, :, None] * wide + columns[:, None, :]).flatten(1)
    plane = which[:, None] * channels + torch.arange(channels, device=table.device)
    index = plane[:, :, None] * (tall * wide) + place[:, None, :]
    return table.reshape(-1)[index].view(-1, channels, height, width)
