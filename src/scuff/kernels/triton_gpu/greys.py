"""Grey and sums of bytes: a picture is cut in pieces, whose sums of whole numbers may be added in any order."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.portable import divide
from scuff.kernels.triton_gpu.channels import load_levels, luma, store_colour
from scuff.kernels.triton_gpu.launching import blocks, launch

LANES, MANY = 512, 2048


@triton.jit
def _grey_kernel(pixels, active, totals, size, LANES: tl.constexpr):
    image = tl.program_id(1).to(tl.int64)
    at = tl.program_id(0) * LANES + tl.arange(0, LANES)
    if tl.load(active + image) != 0:
        red, green, blue = load_levels(pixels + image * 3 * size, size, at, at < size)  # black outside: grey 0
        tl.atomic_add(totals + image, tl.sum(luma(red, green, blue), axis=0).to(tl.int64))


@kernel
def mean_grey(pixels: Tensor, active: Tensor) -> Tensor:
    pixels, size = pixels.contiguous(), pixels.shape[-2:].numel()
    totals = torch.zeros(len(pixels), dtype=torch.int64, device=pixels.device)
    grid = (blocks(size, MANY), len(pixels))
    launch(_grey_kernel, grid, totals, pixels, active.contiguous().view(torch.uint8), totals, size, LANES=MANY)
    return divide(totals.float(), size)


@triton.jit
def _sums_kernel(pixels, totals, count, LANES: tl.constexpr):
    image = tl.program_id(1).to(tl.int64)
    at = tl.program_id(0) * LANES + tl.arange(0, LANES)
    levels = tl.load(pixels + image * count + at, mask=at < count, other=0).to(tl.int32)
    tl.atomic_add(totals + image, tl.sum(levels, axis=0).to(tl.int64))


@kernel
def sum_levels(pixels: Tensor) -> Tensor:
    pixels, count = pixels.contiguous(), pixels.shape[1:].numel()
    totals = torch.zeros(len(pixels), dtype=torch.int64, device=pixels.device)
    return launch(_sums_kernel, (blocks(count, MANY), len(pixels)), totals, pixels, totals, count, LANES=MANY)


@triton.jit
def _scaled(level, grey, factor):
    """Truncated."""
    scaled = grey.to(tl.float32) + factor * (level - grey).to(tl.float32)
    return tl.minimum(tl.maximum(scaled, 0.0), 255.0).to(tl.int32)


@triton.jit
def mixed_with_grey(level, grey, share):
    """Rounded to the nearest level."""
    mixed = level.to(tl.float32) + share * (grey - level).to(tl.float32)
    return tl.minimum(tl.maximum(tl.floor(mixed + 0.5), 0.0), 255.0).to(tl.int32)


@triton.jit
def _mix_kernel(pixels, shares, out, size, SCALE: tl.constexpr, LANES: tl.constexpr):
    """If SCALE, shares are the factors of `scale_colours`."""
    image = tl.program_id(1).to(tl.int64)
    at = tl.program_id(0) * LANES + tl.arange(0, LANES)
    start, share = image * 3 * size, tl.load(shares + image)
    red, green, blue = load_levels(pixels + start, size, at, at < size)
    grey = luma(red, green, blue)
    if SCALE:
        red, green, blue = _scaled(red, grey, share), _scaled(green, grey, share), _scaled(blue, grey, share)
    else:
        red, green = mixed_with_grey(red, grey, share), mixed_with_grey(green, grey, share)
        blue = mixed_with_grey(blue, grey, share)
    store_colour(out + start, size, at, at < size, red, green, blue)


def _with_grey(pixels: Tensor, share: Tensor, scale: bool) -> Tensor:
    pixels, size = pixels.contiguous(), pixels.shape[-2:].numel()
    out, grid = torch.empty_like(pixels), (blocks(size, LANES), len(pixels))
    return launch(_mix_kernel, grid, out, pixels, share.contiguous(), out, size, SCALE=scale, LANES=LANES)


@kernel
def mix_grey(pixels: Tensor, share: Tensor) -> Tensor:
    return _with_grey(pixels, share, scale=False)


@kernel
def scale_colours(pixels: Tensor, factor: Tensor) -> Tensor:
    return _with_grey(pixels, factor, scale=True)
