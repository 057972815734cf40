"""Film and palettes: how developers of film changed colours, pixel by pixel. Bytes, (N, 3, H, W).

Every product, quotient and sum is rounded in one order: bit-equal in every back end.
"""

from __future__ import annotations

import torch
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.portable import divide

__all__ = ["bleach_bypass", "pseudocolor", "technicolor"]


def _lightness(levels: Tensor) -> Tensor:
    """.2126 R + .7152 G + .0722 B in [0, 1], with a channel axis of one."""
    red, green, blue = levels[:, :1], levels[:, 1:2], levels[:, 2:]
    return divide(0.2126 * red + 0.7152 * green + 0.0722 * blue, 255.0)


def _wrapped(levels: Tensor) -> Tensor:
    """Truncate, then wrap modulo 256: what an unclipped cast to bytes does."""
    return torch.trunc(levels).to(torch.int32).remainder(256).to(torch.uint8)


@kernel
def bleach_bypass(pixels: Tensor, share: float) -> Tensor:
    """Mix in a share of the picture over its own lightness: multiplied where that is dark, screened where light.

    The product doubles in 8 bits: a value of 128 and more wraps. So do results beyond a byte.
    """
    v = pixels.float()
    y = _lightness(v)
    light = (10.0 * (y - 0.45)).clamp(0.0, 1.0)
    dark_mix = divide((2.0 * v).remainder(256.0) * y, 255.0)
    light_mix = 1.0 - 2.0 * (1.0 - y) * (1.0 - divide(v, 255.0))
    return _wrapped((1.0 - share) * v + 255.0 * share * ((1.0 - light) * dark_mix + light * light_mix))


@kernel
def technicolor(pixels: Tensor, share: float) -> Tensor:
    """Mix in a share of each channel multiplied by the mattes of the other two. Results beyond a byte wrap."""
    v = pixels.float()
    matte = 1.0 - divide(1.5 * v - 0.5 * v.sum(1, keepdim=True), 255.0)  # a sum of whole numbers
    others = matte.roll(1, 1) * matte.roll(2, 1)
    return _wrapped((1.0 - share) * v + share * others * v)


@kernel
def pseudocolor(pixels: Tensor, smoothness: Tensor, palette: Tensor, share: float) -> Tensor:
    """Mix in a share of the lightness painted with a palette of five colours (N, 5, 3), whole numbers up to 255.

    Between two colours goes a line, and a curve by the share `smoothness` (N,); the curve takes their difference in 8
    bits, which wraps.
    """
    v = pixels.float()
    y = 4.0 * _lightness(v)[:, 0]
    segment = torch.floor(y).clamp(max=3.0)
    q = (y - segment)[:, None]
    colours = palette.float().mT  # N x 3 x 5
    index = segment.long().flatten(1)[:, None].expand(-1, 3, -1)
    first = colours.gather(2, index).view(v.shape)
    step = colours.gather(2, index + 1).view(v.shape) - first
    k, t = smoothness[:, None, None, None], q.clamp(0.0, 1.0)
    painted = first + (1.0 - k) * q * step + k * (t * t * (3.0 - 2.0 * t)) * step.remainder(256.0)
    return ((1.0 - share) * v + share * painted).clamp(0.0, 255.0).to(torch.uint8)
