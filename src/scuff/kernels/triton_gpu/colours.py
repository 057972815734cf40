"""Bytes through tables, mixtures of channels, value and saturation, all in registers; dither; snow."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.triton_gpu.launching import blocks, launch

LANES, ROWS = 512, 32


@triton.jit
def _lookup_kernel(pixels, tables, out, channels, size, image_step, channel_step, LANES: tl.constexpr):
    plane = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * LANES + tl.arange(0, LANES)
    tables += plane // channels * image_step + plane % channels * channel_step
    level = tl.load(pixels + plane * size + at, mask=at < size, other=0).to(tl.int32)
    tl.store(out + plane * size + at, tl.load(tables + level), mask=at < size)


@kernel
def lookup(pixels: Tensor, tables: Tensor) -> Tensor:
    pixels, (n, channels, height, width) = pixels.contiguous(), pixels.shape
    tables, out = tables.contiguous(), torch.empty_like(pixels)
    steps = [256 * (tables.shape[1] if tables.shape[0] > 1 else 0), 256 if tables.shape[1] > 1 else 0]
    return launch(
        _lookup_kernel, (n * channels, blocks(height * width, LANES)), out,
        pixels, tables, out, channels, height * width, *steps, LANES=LANES,
    )  # fmt: skip


@triton.jit
def _mixture_kernel(pixels, mixture, out, size, LANES: tl.constexpr):
    at = tl.program_id(1) * LANES + tl.arange(0, LANES)
    inside, start = at < size, tl.program_id(0).to(tl.int64) * 3 * size + at
    red = tl.load(pixels + start, mask=inside, other=0).to(tl.int32)
    green = tl.load(pixels + start + size, mask=inside, other=0).to(tl.int32)
    blue = tl.load(pixels + start + 2 * size, mask=inside, other=0).to(tl.int32)
    for c in tl.static_range(3):
        share = mixture + 3 * c
        level = tl.load(share) * red + tl.load(share + 1) * green + tl.load(share + 2) * blue + 512 >> 10
        tl.store(out + start + c * size, tl.minimum(tl.maximum(level, 0), 255).to(tl.uint8), mask=inside)


@kernel
def mix_channels(pixels: Tensor, mixture: Tensor) -> Tensor:
    pixels, (n, _, height, width) = pixels.contiguous(), pixels.shape
    out, size = torch.empty_like(pixels), height * width
    grid = (n, blocks(size, LANES))
    return launch(_mixture_kernel, grid, out, pixels, mixture.contiguous(), out, size, LANES=LANES)


@triton.jit
def _value_kernel(x, out, size, shift, CHANNELS: tl.constexpr, LANES: tl.constexpr):
    at = tl.program_id(1) * LANES + tl.arange(0, LANES)
    inside, start = at < size, tl.program_id(0).to(tl.int64) * CHANNELS * size + at
    value = tl.load(x + start, mask=inside, other=0.0)
    for c in tl.static_range(1, CHANNELS):
        value = tl.maximum(value, tl.load(x + start + c * size, mask=inside, other=0.0))
    shifted = tl.minimum(tl.maximum(value + shift, 0.0), 1.0)
    gain = tl.div_rn(shifted, tl.where(value > 0.0, value, 1.0))
    for c in tl.static_range(CHANNELS):
        channel = tl.load(x + start + c * size, mask=inside, other=0.0)
        tl.store(out + start + c * size, tl.where(value > 0.0, channel * gain, shifted), mask=inside)


@kernel
def shift_value(x: Tensor, shift: float) -> Tensor:
    x, (n, channels, height, width) = x.contiguous(), x.shape
    out, size = torch.empty_like(x), height * width
    return launch(
        _value_kernel, (n, blocks(size, LANES)), out, x, out, size, float(shift), CHANNELS=channels, LANES=LANES
    )


@triton.jit
def _saturation_kernel(x, out, size, gain, shift, LANES: tl.constexpr):
    at = tl.program_id(1) * LANES + tl.arange(0, LANES)
    inside, start = at < size, tl.program_id(0).to(tl.int64) * 3 * size + at
    red = tl.load(x + start, mask=inside, other=0.0)
    green = tl.load(x + start + size, mask=inside, other=0.0)
    blue = tl.load(x + start + 2 * size, mask=inside, other=0.0)
    value = tl.maximum(tl.maximum(red, green), blue)
    spread = value - tl.minimum(tl.minimum(red, green), blue)
    saturation = tl.where(value > 0.0, tl.div_rn(spread, tl.where(value > 0.0, value, 1.0)), 0.0)
    wanted = tl.minimum(tl.maximum(gain * saturation + shift, 0.0), 1.0)
    ratio = tl.div_rn(wanted, tl.where(saturation > 0.0, saturation, 1.0))
    tinted = value * (1.0 - wanted)
    tl.store(out + start, tl.where(spread > 0.0, value - (value - red) * ratio, value), mask=inside)
    tl.store(out + start + size, tl.where(spread > 0.0, value - (value - green) * ratio, tinted), mask=inside)
    tl.store(out + start + 2 * size, tl.where(spread > 0.0, value - (value - blue) * ratio, tinted), mask=inside)


@kernel
def scale_saturation(x: Tensor, gain: float, shift: float) -> Tensor:
    x, (n, _, height, width) = x.contiguous(), x.shape
    out, size = torch.empty_like(x), height * width
    grid = (n, blocks(size, LANES))
    return launch(_saturation_kernel, grid, out, x, out, size, float(gain), float(shift), LANES=LANES)


@triton.jit
def _dither_kernel(pixels, out, rows, height, width, levels, LANES: tl.constexpr):
    """A lane walks along its row."""
    row = tl.program_id(0).to(tl.int64) * LANES + tl.arange(0, LANES)
    wanted = row < rows
    above, below = row % height > 0, row % height < height - 1
    pixels += row * width
    out += row * width
    error = tl.zeros((LANES,), tl.int32)
    for column in range(width):
        current = tl.load(pixels + column, mask=wanted, other=0).to(tl.int32)
        moved = tl.minimum(tl.maximum(current + (7 * error >> 4), 0), 255)
        current = tl.where(above, moved, current)
        moved = tl.minimum(tl.maximum(current + (error >> 4), 0), 255)
        current = tl.where(below, moved, current)
        quantised = 255 * (levels * current >> 8) // (levels - 1)
        tl.store(out + column, quantised.to(tl.uint8), mask=wanted)
        error = current - quantised


@kernel
def dither_rows(pixels: Tensor, levels: int) -> Tensor:
    pixels = pixels.contiguous()
    height, width = pixels.shape[-2:]
    out = torch.empty_like(pixels)
    rows = pixels.shape[:-1].numel()
    sizes = (rows, height, width, levels)
    return launch(_dither_kernel, (blocks(rows, ROWS),), out, pixels, out, *sizes, LANES=ROWS, num_warps=1)


@triton.jit
def _whiten_kernel(x, out, size, keep, rest, CHANNELS: tl.constexpr, LANES: tl.constexpr):
    at = tl.program_id(1) * LANES + tl.arange(0, LANES)
    start = tl.program_id(0).to(tl.int64) * CHANNELS * size
    luma = tl.load(x + start + at, mask=at < size, other=0.0)
    if CHANNELS == 3:
        luma = 0.299 * luma + 0.587 * tl.load(x + start + size + at, mask=at < size, other=0.0)
        luma += 0.114 * tl.load(x + start + 2 * size + at, mask=at < size, other=0.0)
    pale = 1.5 * luma + 0.5
    for c in tl.static_range(CHANNELS):
        value = tl.load(x + start + c * size + at, mask=at < size, other=0.0)
        tl.store(out + start + c * size + at, keep * value + rest * tl.maximum(value, pale), mask=at < size)


@kernel
def whiten(x: Tensor, keep: float) -> Tensor:
    x, (n, channels, height, width) = x.contiguous(), x.shape
    out, size = torch.empty_like(x), height * width
    return launch(
        _whiten_kernel, (n, blocks(size, LANES)), out,
        x, out, size, keep, 1.0 - keep, CHANNELS=channels, LANES=LANES,
    )  # fmt: skip


@triton.jit
def _streaks_kernel(scene, streaks, out, size, CHANNELS: tl.constexpr, LANES: tl.constexpr):
    image = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * LANES + tl.arange(0, LANES)
    streaks += image * size
    here = tl.load(streaks + at, mask=at < size, other=0).to(tl.float32)
    turned = tl.load(streaks + (size - 1 - at), mask=at < size, other=0).to(tl.float32)
    here, turned = tl.div_rn(here, tl.zeros_like(here) + 255.0), tl.div_rn(turned, tl.zeros_like(here) + 255.0)
    for c in tl.static_range(CHANNELS):
        place = (image * CHANNELS + c) * size + at
        value = tl.load(scene + place, mask=at < size, other=0.0)
        tl.store(out + place, value + here + turned, mask=at < size)


@kernel
def add_streaks(scene: Tensor, streaks: Tensor) -> Tensor:
    scene, (n, channels, height, width) = scene.contiguous(), scene.shape
    out, size = torch.empty_like(scene), height * width
    return launch(
        _streaks_kernel, (n, blocks(size, LANES)), out,
        scene, streaks.contiguous(), out, size, CHANNELS=channels, LANES=LANES,
    )  # fmt: skip
