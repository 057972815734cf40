"""Colour mathematics on (N, C, H, W) in [0, 1]; grey images have C = 1."""

from __future__ import annotations

import torch
from torch import Tensor


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
