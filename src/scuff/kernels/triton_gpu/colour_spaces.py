"""Colours through a space of bytes and back: a pixel never leaves the registers on its way."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from scuff.kernels.constants import constant
from scuff.kernels.dispatch import kernel
from scuff.kernels.reference.colours import HUE_STEPS, SATURATION_STEPS
from scuff.kernels.triton_gpu.channels import extremes, load_levels, store_colour
from scuff.kernels.triton_gpu.launching import blocks, launch

LANES = 512


@kernel
def map_colours(pixels: Tensor, space: str, tables: Tensor, active: Tensor) -> Tensor:
    pixels, (n, _, height, width) = pixels.contiguous(), pixels.shape
    out, size = torch.empty_like(pixels), height * width
    given = (pixels, tables.contiguous(), active.contiguous().view(torch.uint8), out, size)
    grid = (blocks(size, LANES), n)
    if space == "pillow_hsv":
        return launch(_pillow_kernel, grid, out, *given, LANES=LANES)
    steps = opencv_steps(pixels.device)
    return launch(_opencv_kernel, grid, out, *given, *steps, LIGHTNESS=space == "hls", LANES=LANES)


def opencv_steps(device: torch.device) -> list[Tensor]:
    """The reference's reciprocals for hue and saturation."""
    return [constant(tuple(t.tolist()), device, torch.int32) for t in (HUE_STEPS, SATURATION_STEPS)]


@triton.jit
def _opencv_kernel(
    pixels, tables, active, out, size, hue_steps, saturation_steps, LIGHTNESS: tl.constexpr, LANES: tl.constexpr
):  # fmt: skip
    """See the reference for the formulas; LIGHTNESS chooses HLS instead of HSV."""
    image = tl.program_id(1).to(tl.int64)
    at = tl.program_id(0) * LANES + tl.arange(0, LANES)
    start = image * 3 * size
    tables += image * 768
    red, green, blue = load_levels(pixels + start, size, at, at < size)
    if tl.load(active + image) != 0:
        top, bottom = extremes(red, green, blue)
        spread, total = top - bottom, top + bottom
        hue = opencv_hue(red, green, blue, top, spread, hue_steps)
        hue = tl.load(tables + hue).to(tl.int32)
        if LIGHTNESS:
            room = tl.where(total < 255, total, 510 - total)
            light = tl.load(tables + 256 + ((total + 1) >> 1)).to(tl.int32)
            share = tl.load(tables + 512 + ((spread * tl.load(saturation_steps + room) + 2048) >> 12)).to(tl.int32)
            high = 255 * light + tl.minimum(light, 255 - light) * share
            low = 510 * light - high
        else:
            share = tl.load(tables + 256 + ((spread * tl.load(saturation_steps + top) + 2048) >> 12)).to(tl.int32)
            value = tl.load(tables + 512 + top).to(tl.int32)
            low, high = value * (255 - share), 255 * value
        red, green, blue = opencv_channels(hue, low, high)
    store_colour(out + start, size, at, at < size, red, green, blue)


@triton.jit
def opencv_hue(red, green, blue, top, spread, hue_steps):
    """In half degrees."""
    hue = tl.where(top == green, blue - red + 2 * spread, red - green + 4 * spread)
    hue = tl.where(top == red, green - blue, hue)
    hue = (hue * tl.load(hue_steps + spread) + 2048) >> 12
    return tl.where(hue < 0, hue + 180, hue)


@triton.jit
def opencv_channels(hue, low, high):
    """Red, green and blue between `low` and `high`, which are in 255ths."""
    sixth, step = hue // 30, hue % 30
    between = tl.where(sixth % 2 == 0, 30 * low + (high - low) * step, 30 * high - (high - low) * step)
    low, high, between = (30 * low + 3825) // 7650, (30 * high + 3825) // 7650, (between + 3825) // 7650
    red, green = _channel(sixth, 0, low, high, between), _channel(sixth, 2, low, high, between)
    return red, green, _channel(sixth, 4, low, high, between)


@triton.jit
def _channel(sixth, own, low, high, between):
    """The channel whose own hue is `own` sixths: high beside it, low opposite."""
    away = (sixth - own + 6) % 6
    return tl.where((away == 0) | (away == 5), high, tl.where((away == 2) | (away == 3), low, between))


@triton.jit
def _pillow_kernel(pixels, tables, active, out, size, LANES: tl.constexpr):
    """See the reference; remainders of numbers below twice the divisor are differences."""
    image = tl.program_id(1).to(tl.int64)
    at = tl.program_id(0) * LANES + tl.arange(0, LANES)
    start = image * 3 * size
    tables += image * 768
    red, green, blue = load_levels(pixels + start, size, at, at < size)
    if tl.load(active + image) != 0:
        top, bottom = extremes(red, green, blue)
        spread = top - bottom
        r, g, b = _quotient(top - red, spread), _quotient(top - green, spread), _quotient(top - blue, spread)
        hue = tl.where(top == red, b - g, tl.where(top == green, 2.0 + r - b, 4.0 + g - r)).to(tl.float32)
        hue = hue.to(tl.float64) / 6.0 + 1.0
        hue = tl.where(hue >= 1.0, hue - 1.0, hue).to(tl.float32)
        share = _quotient(spread, top)
        hue = tl.load(tables + (255.0 * hue.to(tl.float64)).to(tl.int32)).to(tl.float64)
        share = tl.load(tables + 256 + (255.0 * share).to(tl.int32)).to(tl.float64)
        high = tl.load(tables + 512 + top).to(tl.float64)
        sixths, fall = hue * 6.0 / 255.0, high - high * (1.0 - share / 255.0)
        red, green, blue = (
            _pillow_channel(sixths, 5.0, high, fall),
            _pillow_channel(sixths, 3.0, high, fall),
            _pillow_channel(sixths, 1.0, high, fall),
        )
    store_colour(out + start, size, at, at < size, red, green, blue)


@triton.jit
def _quotient(part, whole):
    """Rounded to single precision, as Pillow does, and 0 for 0 / 0."""
    return tl.div_rn(part.to(tl.float32), tl.maximum(whole, 1).to(tl.float32)).to(tl.float64)


@triton.jit
def _pillow_channel(sixths, shift, high, fall):
    k = sixths + shift
    k = tl.where(k >= 6.0, k - 6.0, k)
    share = tl.minimum(tl.maximum(tl.minimum(k, 4.0 - k), 0.0), 1.0)
    return tl.floor(high - fall * share + 0.5).to(tl.int32)
