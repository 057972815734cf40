"""Hues of real colours: float32 RGB (N, 3, H, W) to hue, lightness and saturation, (N, H, W) each, and back."""

from __future__ import annotations

import torch
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.portable import divide, square_root
from scuff.kernels.reference.pixels import plane_means
from scuff.kernels.reference.random import poisson_quantile

__all__ = ["from_hls", "iso_noise", "shift_hue", "to_hls"]


@kernel
def shift_hue(x: Tensor, turn: Tensor) -> Tensor:
    """Add `turn` (N,), in turns of the colour circle, to the hue of HSV; value and saturation stay.

    Bit-equal in every back end, as are the others here: single roundings, in one order.
    """
    value, low = x.amax(1), x.amin(1)
    return _from_hue(_hue(x, value, value - low) + turn[:, None, None], low, value)


@kernel
def to_hls(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Hue in turns, lightness and saturation, all in [0, 1]; grey has hue 0."""
    top, low = x.amax(1), x.amin(1)
    spread, total = top - low, top + low
    saturation = spread / torch.where(total < 1.0, total, 2.0 - total)
    return _hue(x, top, spread), 0.5 * total, torch.where(spread > 0, saturation, 0.0)


@kernel
def from_hls(hue: Tensor, light: Tensor, saturation: Tensor) -> Tensor:
    """RGB again; the hue may be any number of turns, and lightness may exceed 1."""
    high = torch.where(light <= 0.5, light * (1.0 + saturation), light + saturation * (1.0 - light))
    return _from_hue(hue, 2.0 * light - high, high)


@kernel
def iso_noise(x: Tensor, intensity: Tensor, u: Tensor, turn: Tensor) -> Tensor:
    """Grains of light on a picture, and hues that wander by `turn` (N, H, W) from pixel to pixel.

    Lightness rises by a Poisson count, the quantile at `u` (N, H, W), on average `intensity` (N,) times the deviation
    of lightness over the image.
    """
    hue, light, saturation = to_hls(x)
    rate = grain_rate(plane_means(light), plane_means(light.square()), intensity)[:, None, None].expand_as(u)
    grains = divide(poisson_quantile(u.flatten(1), rate.flatten(1)).view(u.shape), 255.0)
    return from_hls(hue + turn, light + grains * (1.0 - light), saturation)


def grain_rate(mean: Tensor, mean_square: Tensor, intensity: Tensor) -> Tensor:
    """How many levels grains add on average, from the moments of lightness; all (N,)."""
    deviation = square_root((mean_square - mean.square()).clamp(min=0.0)).float()
    return 255.0 * intensity * deviation


def _hue(x: Tensor, top: Tensor, spread: Tensor) -> Tensor:
    """Place on the colour circle, in turns; `top` and `spread` are the greatest channel and its lead over the least."""
    red, green, blue = x.unbind(1)
    hue = torch.where(top == red, (green - blue) / spread, 0.0)
    hue = torch.where(top == green, 2.0 + (blue - red) / spread, hue)
    hue = torch.where(top == blue, 4.0 + (red - green) / spread, hue)
    hue = torch.where(spread > 0, divide(hue, 6.0), 0.0)
    return torch.where(hue < 0.0, hue + 1.0, hue)


def _from_hue(hue: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """RGB between `low` and `high`.

    A channel is at the top within a sixth of a turn of its own hue, at the bottom beyond a third, and in between on a
    line.
    """
    sixths, room = 6.0 * hue.remainder(1.0), high - low

    def channel(shift: float) -> Tensor:
        k = sixths + shift
        k = torch.where(k >= 6.0, k - 6.0, k)
        return high - room * torch.minimum(k, 4.0 - k).clamp_(0.0, 1.0)

    return torch.stack((channel(5.0), channel(3.0), channel(1.0)), dim=1)
