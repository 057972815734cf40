"""Plasma fractals: clouds by midpoint displacement on a torus."""

from __future__ import annotations

import torch
from torch import Tensor


def plasma_size(height: int, width: int) -> int:
    """The power of two that covers an image: 256 for 224 pixels, 64 for 64, 32 for 32."""
    return 1 << max(height - 1, width - 1, 1).bit_length()


def plasma(noise: Tensor, decay: float) -> Tensor:
    """Diamond-square clouds in [0, 1] from a field of noise in [-1, 1], (N, S, S) with S a power of two.

    Each place of the map is set once: the mean of four neighbours plus its own noise times w^2. The amplitude w starts
    at 100 and is divided by `decay` at each halving of the grid, so the power falls by decay^2 per octave.
    """
    size = noise.shape[-1]
    height = torch.zeros_like(noise)
    step, amplitude = size, 100.0
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
