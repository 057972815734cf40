"""Plasma fractals: clouds by midpoint displacement on a torus."""

from __future__ import annotations

from torch import Tensor

from scuff import kernels


def plasma_size(height: int, width: int) -> int:
    """The power of two that covers an image: 256 for 224 pixels, 64 for 64, 32 for 32."""
    return 1 << max(height - 1, width - 1, 1).bit_length()


def plasma(noise: Tensor, decay: float) -> Tensor:
    """Diamond-square clouds in [0, 1] from a field of noise in [-1, 1], (N, S, S) with S a power of two.

    Each place of the map is set once: the mean of four neighbours plus its own noise times w^2. The amplitude w starts
    at 100 and is divided by `decay` at each halving of the grid, so the power falls by decay^2 per octave.
    """
    return kernels.plasma(noise, decay)
