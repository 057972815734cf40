"""Colours changed pixel by pixel: film, palettes, hues."""

from __future__ import annotations

import torch
from torch import Tensor

from scuff import kernels, random
from scuff.corruptions.draws import Shape, fair_signs
from scuff.corruptions.registry import MINTUN, register
from scuff.ops.colour import shift_hue
from scuff.ops.textures import smoothstep


def _lightness(levels: Tensor) -> Tensor:
    """.2126 R + .7152 G + .0722 B in [0, 1], with a channel axis of one."""
    red, green, blue = levels[:, :1], levels[:, 1:2], levels[:, 2:]
    return (0.2126 * red + 0.7152 * green + 0.0722 * blue) / 255.0


def _wrapped(levels: Tensor) -> Tensor:
    """Truncate, then wrap modulo 256: what an unclipped cast to bytes does."""
    return torch.trunc(levels).to(torch.int32).remainder(256).to(torch.uint8)


@register(family="tint", domain="byte", colour=True, reference=MINTUN)
def bleach_bypass(pixels: Tensor, *, amount: float) -> Tensor:
    """Film developed without its bleach: harsh contrast over muted colours.

    The original doubles in 8 bits (a value of 128 and more wraps) and does not clip. Both are kept.
    """
    v = pixels.float()
    y, share = _lightness(v), 0.1 * amount
    light = (10.0 * (y - 0.45)).clamp(0.0, 1.0)
    dark_mix = (2.0 * v).remainder(256.0) * y / 255.0
    light_mix = 1.0 - 2.0 * (1.0 - y) * (1.0 - v / 255.0)
    return _wrapped((1.0 - share) * v + 255.0 * share * ((1.0 - light) * dark_mix + light * light_mix))


@register(family="tint", domain="byte", colour=True, reference=MINTUN)
def technicolor(pixels: Tensor, *, amount: float) -> Tensor:
    """Three-strip film: each channel is multiplied by the mattes of the other two. Values above 255 wrap: kept."""
    v = pixels.float()
    matte = 1.0 - (1.5 * v - 0.5 * v.sum(1, keepdim=True)) / 255.0
    others = matte.roll(1, 1) * matte.roll(2, 1)
    share = 0.1 * amount
    return _wrapped((1.0 - share) * v + share * others * v)


def _draw_palette(keys: Tensor, shape: Shape) -> dict[str, Tensor]:
    return {
        "smoothness": random.uniform(keys, "smoothness", (), 0.25, 0.75),
        "palette": random.integers(keys, "palette", (5, 3), low=0, high=254),
    }


@register(family="tint", draw=_draw_palette, domain="byte", colour=True, reference=MINTUN)
def pseudocolor(pixels: Tensor, smoothness: Tensor, palette: Tensor, *, amount: float) -> Tensor:
    """Lightness painted with a random palette of five colours, mixed in by a twentieth per unit.

    One of the two ways between colours takes their difference in 8 bits, which wraps: the original's, and kept.
    """
    v = pixels.float()
    y = 4.0 * _lightness(v)[:, 0]
    segment = torch.floor(y).clamp(max=3.0)
    q = (y - segment)[:, None]
    colours = palette.float().mT[:, :, :, None]  # N x 3 x 5 x 1
    index = segment.long().flatten(1)[:, None].expand(-1, 3, -1)
    first = colours[..., 0].gather(2, index).view(v.shape)
    step = colours[..., 0].gather(2, index + 1).view(v.shape) - first
    k = smoothness[:, None, None, None]
    painted = first + (1.0 - k) * q * step + k * smoothstep(q) * step.remainder(256.0)
    share = 0.05 * amount
    return ((1.0 - share) * v + share * painted).clamp(0.0, 255.0).to(torch.uint8)


def _draw_sign(keys: Tensor, shape: Shape) -> dict[str, Tensor]:
    return {"sign": fair_signs(keys, "sign")}


@register(family="tint", draw=_draw_sign, colour=True, reference=MINTUN)
def hue_shift(x: Tensor, sign: Tensor, *, amount: float) -> Tensor:
    """All hues turned by a twentieth of the colour circle per unit, one way or the other."""
    return shift_hue(x, 0.05 * amount * sign)


@register(family="tint", draw=_draw_sign, domain="byte", colour=True, reference=MINTUN)
def color_balance(pixels: Tensor, sign: Tensor, *, amount: float) -> Tensor:
    """Colours a tenth stronger or paler per unit, about the pixel's own grey."""
    v = pixels.float()
    red, green, blue = pixels.to(torch.int32).split(1, dim=1)
    grey = ((19595 * red + 38470 * green + 7471 * blue + 32768) >> 16).float()
    factor = 1.0 + 0.1 * amount * sign[:, None, None, None]
    return torch.trunc(grey + factor * (v - grey)).clamp(0, 255).to(torch.uint8)


@register(family="tint", domain="byte", reference=MINTUN)
def color_dither(pixels: Tensor, *, amount: float) -> Tensor:
    """Few levels per channel, 14 less one per unit, the error passed on along the row.

    Meant as Floyd-Steinberg's two-dimensional dither; the original's error never leaves its row. Kept.
    """
    return kernels.dither_rows(pixels, 14 - int(amount))
