"""Noise with a given spectrum."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from scuff.kernels import portable
from scuff.kernels.constants import remembered
from scuff.kernels.dispatch import kernel
from scuff.kernels.portable import divide
from scuff.kernels.reference.functions import sine_and_cosine

__all__ = ["spectrum_noise"]


@kernel
def spectrum_noise(u: Tensor, kind: str) -> Tensor:
    """Noise of random phase and given amplitude spectrum, of deviation 1: "blue" (rising) or "brownish" (falling).

    `u` in [0, 1] (..., H, W) gives the phases of one half plane; the other is its point reflection about the middle of
    the grid, with equal and not negated phase. That is half a sample off from what makes a real signal, so the variance
    differs from place to place: the original's, and kept.

    The transform is made of two products with matrices of whole numbers in float64: they are exact in any order, so
    that no library's choice of plan shows.
    """
    if u.numel() == 0:
        return u
    height, width = u.shape[-2:]
    bits = whole_bits(height, width)
    amplitude, shrink = amplitudes(height, width, kind, u.device)
    r = torch.arange(height, device=u.device)[:, None]
    c = torch.arange(width, device=u.device)
    middle = 2 * c == width - 1
    own = (2 * c < width - 1) | (middle & (2 * r < height - 1))
    alone = middle & (2 * r == height - 1)
    phase = torch.where(own, u, u.flip((-2, -1))).masked_fill_(alone, 0.0).double().mul_(2.0 * math.pi)
    imaginary, real = (part.mul_(amplitude).floor_() for part in sine_and_cosine(phase))
    del phase
    (cos, sin), (cos_down, sin_down) = (_turns(n, bits, u.device) for n in (width, height))
    real, imaginary = (
        (real @ cos).sub_(imaginary @ sin).mul_(shrink).floor_(),
        (real @ sin).add_(imaginary @ cos).mul_(shrink).floor_(),
    )
    z = (cos_down.mT @ real).sub_(sin_down.mT @ imaginary)
    return z.div_(_deviation(z)).float()


def whole_bits(height: int, width: int) -> int:
    """How many bits amplitudes and turns may have so that sums of their products stay below 2**53."""
    return (52 - (2 * max(height, width)).bit_length()) // 2


@remembered(32)
def amplitudes(height: int, width: int, kind: str, device: torch.device) -> tuple[Tensor, float]:
    """The amplitudes of frequencies (H, W) in float64, below 2**bits; a power of two that brings rows back to that.

    Rows are sums over all columns; the power is that by which no sum of amplitudes exceeds the largest of them.
    """
    side, bits = min(height, width), whole_bits(height, width)
    r = torch.arange(height, dtype=torch.float64)[:, None] - height // 2
    c = torch.arange(width, dtype=torch.float64) - width // 2
    down, across = divide(r * side, height), divide(c * side, width)
    power = across * across + down * down
    amplitude = portable.square_root(power) if kind == "blue" else 1.0 / (power + 1.0)
    rows = [math.fsum(row) for row in amplitude.tolist()]
    most, most_of_row = (
        2.0 ** math.ceil(math.log2(max(value, 1e-6)) + 1e-9) for value in (float(amplitude.max()), max(rows))
    )
    return (amplitude * (2.0**bits / most)).to(device), most / most_of_row * 2.0**-bits


def turn_table(length: int, bits: int) -> tuple[Tensor, Tensor]:
    """Cosines and sines of 0, 1, ..., length - 1 steps of a turn, in whole units of 2**-bits."""
    turns = [2.0 * math.pi * j / length for j in range(length)]
    cos, sin = (
        torch.tensor([math.floor(f(turn) * 2.0**bits + 0.5) for turn in turns], dtype=torch.float64)
        for f in (portable.cos, portable.sin)
    )
    return cos, sin


@remembered(32)
def _turns(length: int, bits: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Cosines and sines of frequency k - length // 2 at place j, (k, j)."""
    k = torch.arange(length)
    step = (k[:, None] - length // 2) * k % length
    cos, sin = (table[step].to(device) for table in turn_table(length, bits))
    return cos, sin


def deviation_unit(height: int, width: int) -> float:
    """The power of two in whose units the squares of a transform have a sum below 2**62."""
    bits = 2 * whole_bits(height, width) + (2 * height).bit_length()
    return 2.0 ** max(bits - (62 - (height * width).bit_length()) // 2, 0)


def _deviation(z: Tensor) -> Tensor:
    """The standard deviation of a transform over the last two axes, from sums of whole numbers."""
    height, width = z.shape[-2:]
    unit, count = deviation_unit(height, width), height * width
    q = (z * (1.0 / unit)).floor_().long()
    total = q.sum((-2, -1), keepdim=True).double()
    squares = q.mul_(q).sum((-2, -1), keepdim=True).double()
    average = divide(total, count)
    variance = (divide(squares, count) - average * average).clamp(min=0.0)
    return (portable.square_root(variance) * unit).clamp(min=1e-12)
