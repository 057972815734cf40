"""Film and palettes: three bytes in and three out, and all between them in registers."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.triton_gpu.channels import load_colour, store_colour
from scuff.kernels.triton_gpu.launching import blocks, launch

LANES = 512


def _developed(film: Any, pixels: Tensor, keep: float, share: float, *drawn: Tensor) -> Tensor:
    pixels, size = pixels.contiguous(), pixels.shape[-2:].numel()
    out, grid = torch.empty_like(pixels), (blocks(size, LANES), len(pixels))
    return launch(film, grid, out, pixels, *drawn, out, size, keep, share, LANES=LANES)


@triton.jit
def _load(pixels, size, LANES: tl.constexpr):
    """Where the image of this program begins, places in it, and what is there."""
    start = tl.program_id(1).to(tl.int64) * 3 * size
    at = tl.program_id(0) * LANES + tl.arange(0, LANES)
    red, green, blue = load_colour(pixels + start, size, at, at < size)
    return start, at, red.to(tl.float32), green.to(tl.float32), blue.to(tl.float32)


@triton.jit
def _divided(x):
    return tl.div_rn(x, tl.zeros_like(x) + 255.0)


@triton.jit
def _lightness(red, green, blue):
    return _divided(0.2126 * red + 0.7152 * green + 0.0722 * blue)


@triton.jit
def _wrapped(level):
    """Truncated; the low eight bits of a whole number are its remainder."""
    return level.to(tl.int32) & 255


@triton.jit
def _bleached(v, y, light, keep, weight):
    doubled = ((2.0 * v).to(tl.int32) & 255).to(tl.float32)
    light_mix = 1.0 - 2.0 * (1.0 - y) * (1.0 - _divided(v))
    return _wrapped(keep * v + weight * ((1.0 - light) * _divided(doubled * y) + light * light_mix))


@triton.jit
def _bleach_kernel(pixels, out, size, keep, weight, LANES: tl.constexpr):
    start, at, red, green, blue = _load(pixels, size, LANES)
    y = _lightness(red, green, blue)
    light = tl.minimum(tl.maximum(10.0 * (y - 0.45), 0.0), 1.0)
    red, green, blue = (
        _bleached(red, y, light, keep, weight),
        _bleached(green, y, light, keep, weight),
        _bleached(blue, y, light, keep, weight),
    )
    store_colour(out + start, size, at, at < size, red, green, blue)


@kernel
def bleach_bypass(pixels: Tensor, share: float) -> Tensor:
    return _developed(_bleach_kernel, pixels, 1.0 - share, 255.0 * share)


@triton.jit
def _matte(v, total):
    return 1.0 - _divided(1.5 * v - 0.5 * total)


@triton.jit
def _technicolor_kernel(pixels, out, size, keep, share, LANES: tl.constexpr):
    start, at, red, green, blue = _load(pixels, size, LANES)
    total = red + green + blue
    a, b, c = _matte(red, total), _matte(green, total), _matte(blue, total)
    red = _wrapped(keep * red + share * (b * c) * red)
    green = _wrapped(keep * green + share * (a * c) * green)
    blue = _wrapped(keep * blue + share * (a * b) * blue)
    store_colour(out + start, size, at, at < size, red, green, blue)


@kernel
def technicolor(pixels: Tensor, share: float) -> Tensor:
    return _developed(_technicolor_kernel, pixels, 1.0 - share, share)


@triton.jit
def _painted(v, palette, line, curve, keep, share):
    """`palette` points at a channel of the colour below."""
    first = tl.load(palette).to(tl.float32)
    step = tl.load(palette + 3).to(tl.float32) - first
    painted = first + line * step + curve * tl.where(step < 0.0, step + 256.0, step)
    return tl.minimum(tl.maximum(keep * v + share * painted, 0.0), 255.0).to(tl.int32)


@triton.jit
def _pseudocolor_kernel(pixels, smoothness, palettes, out, size, keep, share, LANES: tl.constexpr):
    start, at, red, green, blue = _load(pixels, size, LANES)
    y = 4.0 * _lightness(red, green, blue)
    segment = tl.minimum(tl.floor(y), 3.0)
    q = y - segment
    t = tl.minimum(tl.maximum(q, 0.0), 1.0)
    k = tl.load(smoothness + tl.program_id(1))
    line, curve = (1.0 - k) * q, k * (t * t * (3.0 - 2.0 * t))
    colour = palettes + 15 * tl.program_id(1) + 3 * segment.to(tl.int32)
    red = _painted(red, colour, line, curve, keep, share)
    green = _painted(green, colour + 1, line, curve, keep, share)
    blue = _painted(blue, colour + 2, line, curve, keep, share)
    store_colour(out + start, size, at, at < size, red, green, blue)


@kernel
def pseudocolor(pixels: Tensor, smoothness: Tensor, palette: Tensor, share: float) -> Tensor:
    return _developed(_pseudocolor_kernel, pixels, 1.0 - share, share, smoothness.contiguous(), palette.contiguous())
