"""Sun and fog: each in one pass over the picture. Tiles that no flare reaches are copied."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from scuff.kernels.constants import constant
from scuff.kernels.dispatch import kernel
from scuff.kernels.triton_gpu.channels import load_colour, store_colour
from scuff.kernels.triton_gpu.launching import blocks, launch
from scuff.kernels.triton_gpu.tiles import COLUMNS, ROWS, tile, tiles

LANES = 512


@triton.jit
def _glow_kernel(
    x, centres, squares, remains, out, channels, height, width, rings, ROWS: tl.constexpr, COLUMNS: tl.constexpr
):  # fmt: skip
    """The ring of a pixel is the number of those that do not reach it; its channels share that."""
    image, i, j = tile(height, ROWS, COLUMNS)
    inside = (i < height) & (j < width)
    dy, dx = i.to(tl.float32) - tl.load(centres + 2 * image), j.to(tl.float32) - tl.load(centres + 2 * image + 1)
    square = dy * dy + dx * dx
    ring = tl.zeros((ROWS, COLUMNS), tl.int32)
    for r in range(rings):
        ring += (square > tl.load(squares + r)).to(tl.int32)
    left = tl.load(remains + ring)
    place = image * channels * height * width + i * width + j
    for _ in range(channels):
        value = tl.load(x + place, mask=inside, other=0.0)
        tl.store(out + place, 1.0 - (1.0 - value) * left, mask=inside)
        place += height * width


@kernel
def add_glow(x: Tensor, centre: Tensor, squares: tuple[float, ...], remains: tuple[float, ...]) -> Tensor:
    x = x.contiguous()
    out = torch.empty_like(x)
    return launch(
        _glow_kernel, tiles(len(x), *x.shape[2:]), out,
        x, centre.contiguous(), constant(squares, x.device), constant(remains, x.device), out, *x.shape[1:],
        len(squares), ROWS=ROWS, COLUMNS=COLUMNS,
    )  # fmt: skip


@triton.jit
def _fog_kernel(pixels, puffs, clears, out, channels, size, most, LANES: tl.constexpr):
    """Products are made in the registers, up to the pixel's own number of them."""
    image = tl.program_id(1).to(tl.int64)
    at = tl.program_id(0) * LANES + tl.arange(0, LANES)
    count = tl.load(puffs + image * size + at, mask=at < size, other=0)
    clear = tl.load(clears + image)
    left = tl.full((LANES,), 1.0, tl.float32)
    for puff in range(most):
        left = tl.where(puff < count, left * clear, left)
    for c in range(channels):
        place = (image * channels + c) * size + at
        level = tl.load(pixels + place, mask=at < size, other=0).to(tl.float32)
        value = 1.0 - (1.0 - tl.div_rn(level, tl.zeros_like(level) + 255.0)) * left
        level = (tl.minimum(tl.maximum(value, 0.0), 1.0) * 255.0 + 0.5).to(tl.int32)
        tl.store(out + place, level.to(tl.uint8), mask=at < size)


@kernel
def lay_fog(pixels: Tensor, puffs: Tensor, clear: Tensor, most: int) -> Tensor:
    pixels, (n, channels, height, width) = pixels.contiguous(), pixels.shape
    out, size = torch.empty_like(pixels), height * width
    return launch(
        _fog_kernel, (blocks(size, LANES), n), out,
        pixels, puffs.contiguous(), clear.contiguous(), out, channels, size, most, LANES=LANES,
    )  # fmt: skip


@triton.jit
def _is_reached(places, i, j, count, most, MANY: tl.constexpr):
    """Whether the square about any of `count` <= MANY places shares a pixel with the tile."""
    k = tl.arange(0, MANY)
    row = tl.load(places + 2 * k, mask=k < count, other=0.0)
    column = tl.load(places + 2 * k + 1, mask=k < count, other=0.0)
    near = (row >= tl.min(i) - most) & (row <= tl.max(i) + most)
    near &= (column >= tl.min(j) - most) & (column <= tl.max(j) + most)
    return tl.max((near & (k < count)).to(tl.int32), axis=0) > 0


@triton.jit
def _painted(value, colour, within):
    return tl.where(within, tl.load(colour), value)


@triton.jit
def _flares_kernel(
    x, places, reaches, shares, colours, out, height, width, count, most,
    MANY: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """What no disc covers is mixed with itself, and so stays."""
    image, i, j = tile(height, ROWS, COLUMNS)
    size, at, inside = height * width, i * width + j, (i < height) & (j < width)
    start, first = image * 3 * size, image * count
    red, green, blue = load_colour(x + start, size, at, inside)
    if _is_reached(places + 2 * first, i, j, count, most, MANY):
        r, g, b = red, green, blue
        pr, pg, pb = red, green, blue
        reached = tl.zeros((ROWS, COLUMNS), tl.int1)
        for k in range(first, first + count):
            dy, dx = i.to(tl.float32) - tl.load(places + 2 * k), j.to(tl.float32) - tl.load(places + 2 * k + 1)
            reach, share, square = tl.load(reaches + k), tl.load(shares + k), dy * dy + dx * dx
            within = square <= tl.where(share > 0.0, reach * reach, -1.0)
            reached |= square <= most * most
            pr, pg = _painted(pr, colours + 3 * k, within), _painted(pg, colours + 3 * k + 1, within)
            pb = _painted(pb, colours + 3 * k + 2, within)
            r, g, b = r + share * (pr - r), g + share * (pg - g), b + share * (pb - b)
        red, green, blue = tl.where(reached, r, red), tl.where(reached, g, green), tl.where(reached, b, blue)
    store_colour(out + start, size, at, inside, red, green, blue)


@kernel
def paint_flares(x: Tensor, places: Tensor, reach: Tensor, share: Tensor, colour: Tensor, most: int) -> Tensor:
    x, (height, width), count = x.contiguous(), x.shape[2:], places.shape[1]
    out = torch.empty_like(x)
    return launch(
        _flares_kernel, tiles(len(x), height, width), out,
        x, *(drawn.contiguous() for drawn in (places, reach, share, colour)), out, height, width, count, most,
        MANY=triton.next_power_of_2(count), ROWS=ROWS, COLUMNS=COLUMNS,
    )  # fmt: skip
