"""Colour mathematics on (N, C, H, W) in [0, 1]; grey images have C = 1."""

from __future__ import annotations

import torch
from torch import Tensor

from scuff.kernels.portable import divide


def luma(x: Tensor) -> Tensor:
    """Perceived lightness .299 R + .587 G + .114 B, with a channel axis of one; grey passes through."""
    if x.shape[1] == 1:
        return x
    return 0.299 * x[:, :1] + 0.587 * x[:, 1:2] + 0.114 * x[:, 2:]


def shift_value(x: Tensor, shift: float) -> Tensor:
    """Add `shift` to the V of HSV and clip it.

    Hue and saturation stay, so every channel scales by V'/V; black has no hue and becomes the grey V'.
    """
    value = x.amax(1, keepdim=True)
    shifted = (value + shift).clamp_(0.0, 1.0)
    return torch.where(value > 0, x * (shifted / value), shifted)


def scale_saturation(x: Tensor, gain: float, shift: float) -> Tensor:
    """Replace the S of HSV by clip(gain * S + shift, 0, 1).

    The distance of each channel from V scales by S'/S. Grey has S = 0 and by convention hue 0, so a positive shift
    tints it red.
    """
    value = x.amax(1, keepdim=True)
    spread = value - x.amin(1, keepdim=True)
    saturation = torch.where(value > 0, spread / value, 0.0)
    wanted = (gain * saturation + shift).clamp_(0.0, 1.0)
    coloured = value - (value - x) * (wanted / saturation)
    red = torch.cat((value, value * (1.0 - wanted), value * (1.0 - wanted)), dim=1)
    return torch.where(spread > 0, coloured, red)


def shift_hue(x: Tensor, turn: Tensor) -> Tensor:
    """Add `turn` (N,), in turns of the colour circle, to the hue of HSV; value and saturation stay."""
    value, low = x.amax(1), x.amin(1)
    return from_hue((hue_of(x, value, value - low) + turn[:, None, None]).remainder(1.0), low, value)


def hue_of(x: Tensor, top: Tensor, spread: Tensor) -> Tensor:
    """Place on the colour circle, in turns; `top` and `spread` are the greatest channel and its lead over the least."""
    red, green, blue = x.unbind(1)
    hue = torch.where(top == red, (green - blue) / spread, 0.0)
    hue = torch.where(top == green, 2.0 + (blue - red) / spread, hue)
    hue = torch.where(top == blue, 4.0 + (red - green) / spread, hue)
    hue = torch.where(spread > 0, divide(hue, 6.0), 0.0)
    return torch.where(hue < 0.0, hue + 1.0, hue)


def from_hue(hue: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """RGB (N, 3, H, W) between `low` and `high`.

    A channel is at the top within a sixth of a turn of its own hue, at the bottom beyond a third, and in between on a
    line.
    """
    sixths, room = 6.0 * hue, high - low

    def channel(shift: float) -> Tensor:
        k = sixths + shift
        k = torch.where(k >= 6.0, k - 6.0, k)
        return high - room * torch.minimum(k, 4.0 - k).clamp_(0.0, 1.0)

    return torch.stack((channel(5.0), channel(3.0), channel(1.0)), dim=1)


def to_hls(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Hue in turns, lightness and saturation, all in [0, 1] and (N, H, W); grey has hue 0."""
    red, green, blue = x.unbind(1)
    top = torch.maximum(torch.maximum(red, green), blue)
    low = torch.minimum(torch.minimum(red, green), blue)
    spread, total = top - low, top + low
    saturation = spread / torch.where(total < 1.0, total, 2.0 - total)
    return hue_of(x, top, spread), 0.5 * total, torch.where(spread > 0, saturation, 0.0)


def from_hls(hue: Tensor, light: Tensor, saturation: Tensor) -> Tensor:
    """RGB (N, 3, H, W) again; lightness may exceed 1."""
    high = torch.where(light <= 0.5, light * (1.0 + saturation), light + saturation * (1.0 - light))
    return from_hue(hue, 2.0 * light - high, high)
