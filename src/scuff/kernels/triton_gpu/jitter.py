"""Brightness, contrast, saturation and hue: one pass in which each image changes in its own way."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.triton_gpu.channels import extremes, load_levels, luma, store_colour
from scuff.kernels.triton_gpu.colour_spaces import opencv_channels, opencv_hue, opencv_steps
from scuff.kernels.triton_gpu.greys import mixed_with_grey
from scuff.kernels.triton_gpu.launching import blocks, launch

LANES = 512


@triton.jit
def _jitter_kernel(
    pixels, ways, levels, shares, hues, out, size, hue_steps, saturation_steps, LANES: tl.constexpr
):  # fmt: skip
    image = tl.program_id(1).to(tl.int64)
    at = tl.program_id(0) * LANES + tl.arange(0, LANES)
    start, way = image * 3 * size, tl.load(ways + image)
    red, green, blue = load_levels(pixels + start, size, at, at < size)
    if way < 2:
        levels += image * 256
        red, green = tl.load(levels + red).to(tl.int32), tl.load(levels + green).to(tl.int32)
        blue = tl.load(levels + blue).to(tl.int32)
    elif way == 2:
        grey, share = luma(red, green, blue), tl.load(shares + image)
        red, green = mixed_with_grey(red, grey, share), mixed_with_grey(green, grey, share)
        blue = mixed_with_grey(blue, grey, share)
    else:
        top, bottom = extremes(red, green, blue)
        hue = opencv_hue(red, green, blue, top, top - bottom, hue_steps)
        saturation = ((top - bottom) * tl.load(saturation_steps + top) + 2048) >> 12
        hue = tl.load(hues + image * 256 + hue).to(tl.int32)
        red, green, blue = opencv_channels(hue, top * (255 - saturation), 255 * top)
    store_colour(out + start, size, at, at < size, red, green, blue)


@kernel
def change_colours(pixels: Tensor, way: Tensor, levels: Tensor, share: Tensor, hues: Tensor) -> Tensor:
    pixels, size = pixels.contiguous(), pixels.shape[-2:].numel()
    out, grid = torch.empty_like(pixels), (blocks(size, LANES), len(pixels))
    given = (drawn.contiguous() for drawn in (way, levels, share, hues))
    return launch(_jitter_kernel, grid, out, pixels, *given, out, size, *opencv_steps(pixels.device), LANES=LANES)
