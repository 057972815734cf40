"""Pixels read elsewhere: between pixels, through drops of glass."""

from __future__ import annotations

import math

import torch
import triton
import triton.language as tl
from torch import Tensor

from scuff.kernels.constants import constant
from scuff.kernels.dispatch import kernel
from scuff.kernels.triton_gpu.filters import mix
from scuff.kernels.triton_gpu.launching import blocks, launch

LANES = 512
STRIP = 1024  # pixels of a drop that a program bends at a time
BORDERS = {"zeros": 0, "edge": 1, "mirror": 2, "reflect": 3}


@triton.jit
def _fixed_point(at):
    """A coordinate in 32nds of a pixel."""
    return tl.floor(at * 32.0 + 0.5).to(tl.int32)


@triton.jit
def _neighbours(at, length, period, inverse, BORDER: tl.constexpr):
    """The two pixels around each coordinate, and their shares in 32nds; see the reference."""
    last = length - 1
    if BORDER == 0:
        v = _fixed_point(tl.minimum(tl.maximum(at, -2.0), length + 1.0))
        first, share = v >> 5, v & 31
        low = tl.where((first >= 0) & (first < length), 32 - share, 0)
        high = tl.where((first >= -1) & (first < last), share, 0)
        return (
            tl.minimum(tl.maximum(first, 0), last), tl.minimum(tl.maximum(first + 1, 0), last), low, high,
        )  # fmt: skip
    y = tl.minimum(tl.maximum(at, -1e6), 1e6)
    if BORDER > 1:
        edge = 0.5 if BORDER == 3 else 0.0
        y = tl.abs(y + edge)
        y -= period * tl.floor(y * inverse)
        y = tl.minimum(y, period - y) - edge
    v = _fixed_point(tl.minimum(tl.maximum(y, 0.0), last * 1.0))
    first, share = v >> 5, v & 31
    return first, tl.minimum(first + 1, last), 32 - share, share


@triton.jit
def _read(pixels, out, image, at, inside, y, x, channels, height, width, count, folds, BORDER: tl.constexpr):
    """Read all channels of an image at (y, x), and write them to place `at` of the result."""
    top, bottom, up, down = _neighbours(y, height, tl.load(folds), tl.load(folds + 1), BORDER)
    near, far, left, right = _neighbours(x, width, tl.load(folds + 2), tl.load(folds + 3), BORDER)
    above, below = top * width, bottom * width
    for c in range(channels):
        plane = pixels + (image * channels + c) * height * width
        first = left * tl.load(plane + above + near).to(tl.int32) + right * tl.load(plane + above + far).to(tl.int32)
        second = left * tl.load(plane + below + near).to(tl.int32) + right * tl.load(plane + below + far).to(tl.int32)
        value = (up * first + down * second + 512) >> 10
        tl.store(out + (image * channels + c) * count + at, value.to(tl.uint8), mask=inside)


@triton.jit
def _remap_kernel(
    pixels, rows, columns, out, channels, height, width, count, folds, BORDER: tl.constexpr, LANES: tl.constexpr
):  # fmt: skip
    image = tl.program_id(1).to(tl.int64)
    at = tl.program_id(0) * LANES + tl.arange(0, LANES)
    inside = at < count
    y = tl.load(rows + image * count + at, mask=inside, other=0.0)
    x = tl.load(columns + image * count + at, mask=inside, other=0.0)
    _read(pixels, out, image, at, inside, y, x, channels, height, width, count, folds, BORDER)


@triton.jit
def _project_kernel(
    pixels, matrix, extent, out, channels, height, width, wide, count, folds, BORDER: tl.constexpr, LANES: tl.constexpr
):  # fmt: skip
    image = tl.program_id(1).to(tl.int64)
    at = tl.program_id(0) * LANES + tl.arange(0, LANES)
    inside = at < count
    i, j = at // wide, at % wide
    m = matrix + image * 9
    u, v = j.to(tl.float32), i.to(tl.float32)
    depth = tl.load(m + 6) * u + (tl.load(m + 7) * v + tl.load(m + 8))
    near = tl.div_rn(1.0, depth)
    x = (tl.load(m) * u + (tl.load(m + 1) * v + tl.load(m + 2))) * near
    y = (tl.load(m + 3) * u + (tl.load(m + 4) * v + tl.load(m + 5))) * near
    x, y = tl.where(x == x, x, -1e6), tl.where(y == y, y, -1e6)
    used = (i < tl.load(extent + 2 * image)) & (j < tl.load(extent + 2 * image + 1))
    # what is not used is black already, and reads somewhere harmless
    _read(
        pixels, out, image, at, inside & used, tl.where(used, y, 0.0), tl.where(used, x, 0.0),
        channels, height, width, count, folds, BORDER,
    )  # fmt: skip


def _folds(height: int, width: int, border: str, device: torch.device) -> Tensor:
    """After how many pixels mirror images repeat, and the inverse of that, for rows and for columns."""
    edge = 0.5 if border == "reflect" else 0.0
    periods = [max(2.0 * (length - 1 + 2.0 * edge), 1.0) for length in (height, width)]
    return constant((periods[0], 1.0 / periods[0], periods[1], 1.0 / periods[1]), device)


@kernel
def remap(pixels: Tensor, rows: Tensor, columns: Tensor, border: str) -> Tensor:
    pixels, (n, channels, height, width) = pixels.contiguous(), pixels.shape
    out = torch.empty(n, channels, *rows.shape[1:], dtype=torch.uint8, device=pixels.device)
    count = rows.shape[1:].numel()
    return launch(
        _remap_kernel, (blocks(count, LANES), n), out,
        pixels, rows.contiguous(), columns.contiguous(), out, channels, height, width, count,
        _folds(height, width, border, pixels.device), BORDER=BORDERS[border], LANES=LANES,
    )  # fmt: skip


@kernel
def project(pixels: Tensor, matrix: Tensor, extent: Tensor, height: int, width: int, border: str) -> Tensor:
    pixels, (n, channels, tall, wide) = pixels.contiguous(), pixels.shape
    out = torch.zeros(n, channels, height, width, dtype=torch.uint8, device=pixels.device)
    return launch(
        _project_kernel, (blocks(height * width, LANES), n), out,
        pixels, matrix.contiguous(), extent.contiguous(), out, channels, tall, wide, width, height * width,
        _folds(tall, wide, border, pixels.device), BORDER=BORDERS[border], LANES=LANES,
    )  # fmt: skip


@triton.jit
def _shift(offset, depth, index):
    """See the reference."""
    slant = tl.sqrt_rn((index * index - 1.0) * offset * offset + index * index * depth * depth)
    return tl.div_rn(depth * offset * (slant - depth), depth * slant + offset * offset)


@triton.jit
def _depth(row, column, cy, cx, radius, height, width):
    """The square of the glass's depth under each pixel, 0 or less where this drop changes nothing."""
    dy, dx = row - cy, column - cx
    inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
    return tl.where(inside, radius * radius - dy * dy - dx * dx, 0.0)


@triton.jit
def _refract_kernel(
    canvas, patches, centres, channels, drops, radius, index, reach, height, width,
    ROWS: tl.constexpr, SIDE: tl.constexpr,
):  # fmt: skip
    """One program lays all drops of an image; its channels share the way of the light.

    What a drop shows is put aside until all of it has been read.
    """
    image, size = tl.program_id(0).to(tl.int64), height * width
    canvas += image * channels * size
    patches += image * channels * SIDE * SIDE
    centres += image * drops * 2
    i, j = tl.arange(0, ROWS)[:, None], tl.arange(0, SIDE)[None, :]
    for k in range(drops):
        cy, cx = tl.load(centres + 2 * k), tl.load(centres + 2 * k + 1)
        top, left = tl.floor(cy).to(tl.int32) - reach, tl.floor(cx).to(tl.int32) - reach
        column = left + j
        for start in range(0, 2 * reach + 1, ROWS):
            row = top + start + i
            depth = _depth(row, column, cy, cx, radius, height, width)
            z = tl.sqrt_rn(tl.maximum(depth, 1e-12))
            y, x = (start + i) - _shift(row - cy, z, index), j - _shift(column - cx, z, index)
            upmost, leftmost = tl.floor(y), tl.floor(x)
            down, across = y - upmost, x - leftmost
            r, c = top + upmost.to(tl.int32), left + leftmost.to(tl.int32)
            upper, lower = (depth > 0.0) & (r >= 0) & (r < height), (depth > 0.0) & (r >= -1) & (r < height - 1)
            near, far = (c >= 0) & (c < width), (c >= -1) & (c < width - 1)
            for channel in range(channels):
                at = canvas + channel * size + r * width + c
                a, b = tl.load(at, mask=upper & near, other=0.0), tl.load(at + 1, mask=upper & far, other=0.0)
                at += width
                d, e = tl.load(at, mask=lower & near, other=0.0), tl.load(at + 1, mask=lower & far, other=0.0)
                bent = mix(mix(a, b, across), mix(d, e, across), down)
                tl.store(patches + (channel * SIDE + start + i) * SIDE + j, bent, mask=depth > 0.0)
        tl.debug_barrier()  # all has been read
        for start in range(0, 2 * reach + 1, ROWS):
            row = top + start + i
            within = _depth(row, column, cy, cx, radius, height, width) > 0.0
            for channel in range(channels):
                bent = tl.load(patches + (channel * SIDE + start + i) * SIDE + j, mask=within)
                tl.store(canvas + channel * size + row * width + column, bent, mask=within)
        tl.debug_barrier()  # the next drop sees it


@kernel
def refract_drops(x: Tensor, centres: Tensor, radius: float, index: float) -> Tensor:
    n, channels, height, width = x.shape
    reach = math.ceil(radius)
    side = triton.next_power_of_2(2 * reach + 1)
    canvas = x.clone(memory_format=torch.contiguous_format)
    patches = torch.empty(n, channels, side, side, device=x.device)
    rows = max(1, min(side, STRIP // side))
    return launch(
        _refract_kernel, (n,), canvas,
        canvas, patches, centres.contiguous(), channels, centres.shape[1], radius, index, reach, height, width,
        ROWS=rows, SIDE=side, num_warps=max(1, min(16, rows * side // 32)),
    )  # fmt: skip
