"""Filters, a tile or a row of lanes at a time."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from scuff.kernels.dispatch import KERNELS, kernel
from scuff.kernels.triton_gpu.launching import blocks, launch

LANES, STRIP = 256, 32


@triton.jit
def mix(a, b, share):
    """See `scuff.kernels.portable`."""
    return a + share * (b - a)


@triton.jit
def _zooms_kernel(
    x, rows, row_shares, columns, column_shares, out, planes, height, width, zooms,
    PLANES: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """All zooms of a pixel in registers. A tile reads tiles, which the caches hold; planes share where they read."""
    plane = tl.program_id(2).to(tl.int64) * PLANES + tl.arange(0, PLANES)[:, None]
    lane = tl.arange(0, ROWS * COLUMNS)[None, :]
    row, column = tl.program_id(1) * ROWS + lane // COLUMNS, tl.program_id(0) * COLUMNS + lane % COLUMNS
    used = (row < height) & (column < width) & (plane < planes)
    i, j = tl.minimum(row, height - 1), tl.minimum(column, width - 1)  # what is not used reads somewhere harmless
    start = tl.minimum(plane, planes - 1) * height * width
    value = tl.load(x + (start + i * width + j))
    total = value + value
    for z in range(zooms):
        top, left = tl.load(rows + (z * height + i)).to(tl.int32), tl.load(columns + (z * width + j)).to(tl.int32)
        down, across = tl.load(row_shares + (z * height + i)), tl.load(column_shares + (z * width + j))
        above, below = top * width, tl.minimum(top + 1, height - 1) * width
        right = tl.minimum(left + 1, width - 1)
        near = mix(tl.load(x + (start + above + left)), tl.load(x + (start + below + left)), down)
        far = mix(tl.load(x + (start + above + right)), tl.load(x + (start + below + right)), down)
        total += mix(near, far, across)
    mean = tl.div_rn(total, tl.zeros_like(total) + (zooms + 2.0))
    tl.store(out + (plane * height * width + row * width + column), mean, mask=used)


@kernel
def mean_zoom(x: Tensor, rows: Tensor, row_shares: Tensor, columns: Tensor, column_shares: Tensor) -> Tensor:
    x, (n, channels, height, width) = x.contiguous(), x.shape
    out = torch.empty_like(x)
    return launch(
        _zooms_kernel, (blocks(width, 32), blocks(height, 16), blocks(n * channels, 2)), out,
        x, rows, row_shares, columns, column_shares, out, n * channels, height, width, len(rows),
        PLANES=2, ROWS=16, COLUMNS=32,
    )  # fmt: skip


@triton.jit
def _resample_kernel(x, rows, row_shares, columns, column_shares, out, height, width, tall, wide, LANES: tl.constexpr):
    plane = tl.program_id(1).to(tl.int64)
    at = tl.program_id(0) * LANES + tl.arange(0, LANES)
    inside = at < tall * wide
    i, j = at // wide, at % wide
    top, left = tl.load(rows + i, mask=inside, other=0), tl.load(columns + j, mask=inside, other=0)
    bottom, right = tl.minimum(top + 1, height - 1), tl.minimum(left + 1, width - 1)
    down, across = tl.load(row_shares + i, mask=inside, other=0), tl.load(column_shares + j, mask=inside, other=0)
    x += plane * height * width
    a, b = tl.load(x + top * width + left), tl.load(x + bottom * width + left)
    c, d = tl.load(x + top * width + right), tl.load(x + bottom * width + right)
    value = mix(mix(a, b, down), mix(c, d, down), across)
    tl.store(out + plane * tall * wide + at, value, mask=inside)


@kernel
def resample(x: Tensor, rows: Tensor, row_shares: Tensor, columns: Tensor, column_shares: Tensor) -> Tensor:
    x = x.contiguous()
    n, channels, height, width = x.shape
    tall, wide = len(rows), len(columns)
    out = torch.empty(n, channels, tall, wide, device=x.device)
    return launch(
        _resample_kernel, (blocks(tall * wide, 1024), n * channels), out,
        x, rows, row_shares, columns, column_shares, out, height, width, tall, wide, LANES=1024,
    )  # fmt: skip


@triton.jit
def folded(at, last, period, EDGE: tl.constexpr):
    """Coordinates into the image; see the reference."""
    beyond = tl.abs(at + EDGE)
    beyond = beyond - period * tl.floor(tl.div_rn(beyond, period))
    beyond = tl.minimum(beyond, period - beyond) - EDGE
    return tl.minimum(tl.maximum(tl.where((at < -EDGE) | (at > last + EDGE), beyond, at), 0.0), last)


@triton.jit
def _share(image, i, j, share, height, width):
    """A pixel's share, or nothing where it lies outside."""
    inside = (i >= 0) & (i < height) & (j >= 0) & (j < width)
    return tl.where(inside, share * tl.load(image + i * width + j, mask=inside, other=0.0), 0.0)


@triton.jit
def _sample_kernel(
    x, places, more, out, channels, height, width, count, amount, tall_period, wide_period,
    AT: tl.constexpr, ZEROS: tl.constexpr, EDGE: tl.constexpr, LANES: tl.constexpr,
):  # fmt: skip
    """AT says what `places` are: rows, with columns as `more`; maps; or a field."""
    image = tl.program_id(1).to(tl.int64)
    at = tl.program_id(0) * LANES + tl.arange(0, LANES)
    inside = at < count
    i, j = (at // width).to(tl.float32), (at % width).to(tl.float32)
    if AT == "reads":
        y = tl.load(places + image * count + at, mask=inside, other=0.0)
        z = tl.load(more + image * count + at, mask=inside, other=0.0)
    elif AT == "maps":
        m = places + image * 6
        z = tl.load(m) * j + tl.load(m + 1) * i + tl.load(m + 2)
        y = tl.load(m + 3) * j + tl.load(m + 4) * i + tl.load(m + 5)
    else:
        y = i + amount * tl.load(places + 2 * image * count + at, mask=inside, other=0.0)
        z = j + amount * tl.load(places + (2 * image + 1) * count + at, mask=inside, other=0.0)
    if ZEROS:
        y = tl.minimum(tl.maximum(y, -1.0), height * 1.0)
        z = tl.minimum(tl.maximum(z, -1.0), width * 1.0)
    else:
        y = folded(y, (height - 1) * 1.0, tall_period, EDGE)
        z = folded(z, (width - 1) * 1.0, wide_period, EDGE)
    top, left = tl.floor(y).to(tl.int32), tl.floor(z).to(tl.int32)
    down, across = y - top.to(tl.float32), z - left.to(tl.float32)
    for c in range(channels):
        plane = x + (image * channels + c) * height * width
        if ZEROS:
            total = _share(plane, top, left, (1.0 - down) * (1.0 - across), height, width)
            total += _share(plane, top, left + 1, (1.0 - down) * across, height, width)
            total += _share(plane, top + 1, left, down * (1.0 - across), height, width)
            total += _share(plane, top + 1, left + 1, down * across, height, width)
        else:
            right = tl.minimum(left + 1, width - 1)
            above, below = top * width, tl.minimum(top + 1, height - 1) * width
            upper = mix(tl.load(plane + above + left), tl.load(plane + above + right), across)
            lower = mix(tl.load(plane + below + left), tl.load(plane + below + right), across)
            total = mix(upper, lower, down)
        tl.store(out + (image * channels + c) * count + at, total, mask=inside)


@kernel
def sample_bilinear(x: Tensor, rows: Tensor, columns: Tensor, border: str) -> Tensor:
    return _sample("reads", x, rows.contiguous(), columns.contiguous(), rows.shape[1:], border)


@kernel
def sample_affine(x: Tensor, maps: Tensor, border: str) -> Tensor:
    maps = maps.contiguous()
    return _sample("maps", x, maps, maps, x.shape[-2:], border)


@kernel
def sample_displaced(x: Tensor, field: Tensor, amount: float, border: str) -> Tensor:
    field = field.contiguous()
    return _sample("field", x, field, field, x.shape[-2:], border, amount)


def _sample(
    at: str, x: Tensor, places: Tensor, more: Tensor, size: torch.Size, border: str, amount: float = 1.0
) -> Tensor:
    x, (n, channels, height, width) = x.contiguous(), x.shape
    out, count = torch.empty(n, channels, *size, device=x.device), size.numel()
    edge = 0.5 if border == "reflect" else 0.0
    periods = [max(2.0 * (length - 1 + 2.0 * edge), 1.0) for length in (height, width)]
    return launch(
        _sample_kernel, (blocks(count, LANES), n), out,
        x, places, more, out, channels, height, width, count, float(amount), *periods,
        AT=at, ZEROS=border == "zeros", EDGE=edge, LANES=LANES,
    )  # fmt: skip


@triton.jit
def mirrored(at, length):
    """Beyond the middle of the first or the last pixel, once."""
    at = tl.abs(at)
    return tl.maximum(tl.minimum(at, 2 * (length - 1) - at), 0)


@triton.jit
def _line_sum(line, j, width, size):
    """Of `size` pixels of a line about columns j."""
    total = tl.zeros_like(j)
    for x in range(size):
        total += tl.load(line + mirrored(j + x - size // 2, width)).to(tl.int32)
    return total


@triton.jit
def _box_mean_kernel(pixels, sizes, out, channels, height, width, STRIP: tl.constexpr, LANES: tl.constexpr):
    """Lanes walk down their columns, where a box gains a line and loses one: 2 size reads for a pixel, not size^2."""
    plane, top = tl.program_id(0).to(tl.int64), tl.program_id(2) * STRIP
    j = tl.program_id(1) * LANES + tl.arange(0, LANES)
    size = tl.load(sizes + plane // channels)
    pixels += plane * height * width
    out += plane * height * width
    total = tl.zeros((LANES,), tl.int32)
    for line in range(top - size // 2, top - size // 2 + size - 1):
        total += _line_sum(pixels + mirrored(line, height) * width, j, width, size)
    for i in range(top, tl.minimum(top + STRIP, height)):
        line = i - size // 2
        total += _line_sum(pixels + mirrored(line + size - 1, height) * width, j, width, size)
        mean = (2 * total + size * size) // (2 * size * size)
        tl.store(out + i * width + j, mean.to(tl.uint8), mask=j < width)
        total -= _line_sum(pixels + mirrored(line, height) * width, j, width, size)


@kernel
def box_mean(pixels: Tensor, size: Tensor, largest: int) -> Tensor:
    pixels, (n, channels, height, width) = pixels.contiguous(), pixels.shape
    if largest > min(height, width):  # mirror images of mirror images
        return KERNELS["reference", "box_mean"](pixels, size, largest)
    out = torch.empty_like(pixels)
    return launch(
        _box_mean_kernel, (n * channels, blocks(width, LANES), blocks(height, STRIP)), out,
        pixels, size.contiguous(), out, channels, height, width, STRIP=STRIP, LANES=LANES,
    )  # fmt: skip


@triton.jit
def _median_kernel(pixels, radius, out, channels, height, width, LANES: tl.constexpr):
    """Four rounds; each counts how many values of the window share the known bits and go on with 0, 1 or 2."""
    plane = tl.program_id(1).to(tl.int64)
    at = tl.program_id(0) * LANES + tl.arange(0, LANES)
    i, j = at // width, at % width
    reach = tl.load(radius + plane // channels)
    pixels += plane * height * width
    rank = tl.zeros((LANES,), tl.int32) + (2 * reach + 1) * (2 * reach + 1) // 2
    known = tl.zeros((LANES,), tl.int32)
    for step in tl.static_range(4):
        zeros, ones, twos = tl.zeros((LANES,), tl.int32), tl.zeros((LANES,), tl.int32), tl.zeros((LANES,), tl.int32)
        for dy in range(-reach, reach + 1):
            row = tl.minimum(tl.maximum(i + dy, 0), height - 1) * width
            for dx in range(-reach, reach + 1):
                value = tl.load(pixels + row + tl.minimum(tl.maximum(j + dx, 0), width - 1)).to(tl.int32) >> (
                    6 - 2 * step
                )
                zeros += (value == 4 * known).to(tl.int32)
                ones += (value == 4 * known + 1).to(tl.int32)
                twos += (value == 4 * known + 2).to(tl.int32)
        digit = (rank >= zeros).to(tl.int32) + (rank >= zeros + ones).to(tl.int32)
        digit += (rank >= zeros + ones + twos).to(tl.int32)
        rank -= tl.where(digit > 0, zeros, 0) + tl.where(digit > 1, ones, 0) + tl.where(digit > 2, twos, 0)
        known = 4 * known + digit
    tl.store(out + plane * height * width + at, known.to(tl.uint8), mask=at < height * width)


@kernel
def median(pixels: Tensor, radius: Tensor, largest: int) -> Tensor:
    pixels, (n, channels, height, width) = pixels.contiguous(), pixels.shape
    out = torch.empty_like(pixels)
    grid = (blocks(height * width, LANES), n * channels)
    return launch(_median_kernel, grid, out, pixels, radius.contiguous(), out, channels, height, width, LANES=LANES)
