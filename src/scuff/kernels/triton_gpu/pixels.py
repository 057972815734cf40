"""Bytes in and out, glass blur's copies, pixelate's boxes."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from scuff.kernels.constants import constant
from scuff.kernels.dispatch import kernel
from scuff.kernels.reference.pixels import windows
from scuff.kernels.triton_gpu.launching import blocks, launch

LANES, BOXES = 1024, 128
WARP_LANES = 128  # of a single warp, whose lanes agree on the end of a loop without waiting for others


@triton.jit
def _strided(at, channels, height, width, sn, sc, sh, sw):
    """Where element `at` of a contiguous (N, C, H, W) lies in a tensor of other strides."""
    j = at % width
    i = at // width % height
    c = at // (width * height) % channels
    n = at // (width * height * channels)
    return n * sn + c * sc + i * sh + j * sw


@triton.jit
def _to_unit_kernel(
    pixels, out, count, channels, height, width, sn, sc, sh, sw, PLAIN: tl.constexpr, LANES: tl.constexpr
):  # fmt: skip
    at = tl.program_id(0).to(tl.int64) * LANES + tl.arange(0, LANES)
    inside = at < count
    place = at if PLAIN else _strided(at, channels, height, width, sn, sc, sh, sw)
    value = tl.load(pixels + place, mask=inside, other=0)
    # a correctly rounded quotient: truncating 255 times it gives the byte back
    tl.store(out + at, tl.div_rn(value.to(tl.float32), 255.0), mask=inside)


@triton.jit
def _to_bytes_kernel(
    batch, out, count, channels, height, width, sn, sc, sh, sw, shift, PLAIN: tl.constexpr, LANES: tl.constexpr
):  # fmt: skip
    at = tl.program_id(0).to(tl.int64) * LANES + tl.arange(0, LANES)
    inside = at < count
    value = tl.load(batch + at, mask=inside, other=0.0)
    level = (tl.minimum(tl.maximum(value, 0.0), 1.0) * 255.0 + shift).to(tl.int32).to(tl.uint8)
    place = at if PLAIN else _strided(at, channels, height, width, sn, sc, sh, sw)
    tl.store(out + place, level, mask=inside)


@kernel
def bytes_to_unit(pixels: Tensor) -> Tensor:
    out = torch.empty(pixels.shape, dtype=torch.float32, device=pixels.device)
    return _convert(_to_unit_kernel, pixels, out, pixels)


@kernel
def unit_to_bytes(batch: Tensor, out: Tensor, nearest: bool = False) -> Tensor:
    return _convert(_to_bytes_kernel, batch.contiguous(), out, out, 0.5 if nearest else 0.0)


def _convert(converting, source: Tensor, out: Tensor, strided: Tensor, *arguments: float) -> Tensor:
    count = source.numel()
    sizes = (*source.shape[1:], *strided.stride())
    return launch(
        converting, (blocks(count, LANES),), out,
        source, out, count, *sizes, *arguments, PLAIN=strided.is_contiguous(), LANES=LANES,
    )  # fmt: skip


@triton.jit
def _on_grid_kernel(batch, out, count, shift, LANES: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * LANES + tl.arange(0, LANES)
    value = tl.load(batch + at, mask=at < count, other=0.0)
    level = (tl.minimum(tl.maximum(value, 0.0), 1.0) * 255.0 + shift).to(tl.int32).to(tl.float32)
    tl.store(out + at, tl.div_rn(level, 255.0), mask=at < count)


@kernel
def unit_on_grid(batch: Tensor, nearest: bool = False) -> Tensor:
    batch = batch.contiguous()
    out, count = torch.empty_like(batch), batch.numel()
    return launch(
        _on_grid_kernel, (blocks(count, LANES),), out, batch, out, count, 0.5 if nearest else 0.0, LANES=LANES
    )


@triton.jit
def _means_kernel(x, out, size, area, LANES: tl.constexpr):
    """A program per plane; sums of whole numbers are the same in any order."""
    plane = tl.program_id(0).to(tl.int64)
    total = tl.zeros((LANES,), tl.int64)
    for first in range(0, size, LANES):
        at = first + tl.arange(0, LANES)
        total += (tl.load(x + plane * size + at, mask=at < size, other=0.0) * 4294967296.0).to(tl.int64)
    tl.store(out + plane, tl.sum(total, axis=0).to(tl.float64) / tl.load(area))


@triton.jit
def level_counts(levels, size, LANES: tl.constexpr):
    """How many pixels of a picture have each of the 256 levels."""
    counts = tl.zeros((256,), tl.int32)
    for first in range(0, size, LANES):
        at = first + tl.arange(0, LANES)
        counts += tl.histogram(tl.load(levels + at, mask=at < size, other=0).to(tl.int32), 256)
    beyond = tl.cdiv(size, LANES) * LANES - size  # lanes outside of the picture, which were counted as 0
    return counts - tl.where(tl.arange(0, 256) == 0, beyond, 0)


@kernel
def plane_means(x: Tensor) -> Tensor:
    x, size = x.contiguous(), x.shape[-2:].numel()
    out = torch.empty(x.shape[:-2], dtype=torch.float64, device=x.device)
    area = constant((2.0**32 * size,), x.device, torch.float64)
    return launch(_means_kernel, (out.numel(),), out, x, out, size, area, LANES=LANES)


@triton.jit
def _nearest_kernel(batch, out, count, LANES: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * LANES + tl.arange(0, LANES)
    level = tl.load(batch + at, mask=at < count, other=0.0) * 255.0
    level = (level + 12582912.0) - 12582912.0  # of 1.5 * 2**23 the last bit counts ones: the sum is rounded to whole
    tl.store(out + at, level.to(tl.int32).to(tl.uint8), mask=at < count)


@kernel
def nearest_bytes(batch: Tensor) -> Tensor:
    batch = batch.contiguous()
    out = torch.empty(batch.shape, dtype=torch.uint8, device=batch.device)
    return launch(_nearest_kernel, (blocks(out.numel(), LANES),), out, batch, out, out.numel(), LANES=LANES)


@triton.jit
def _box_kernel(
    pixels, firsts, counts, row_firsts, row_counts, out, height, width, rows, columns, longest, LANES: tl.constexpr
):  # fmt: skip
    """Means of whole pixels, rounded after each of the two sums; every pixel is read once."""
    plane = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * LANES + tl.arange(0, LANES)
    inside = at < rows * columns
    i, j = at // columns, at % columns
    left, top = tl.load(firsts + j, mask=inside, other=0), tl.load(row_firsts + i, mask=inside, other=0)
    wide = tl.load(counts + j, mask=inside, other=0).to(tl.int32)
    tall = tl.load(row_counts + i, mask=inside, other=0).to(tl.int32)
    pixels += plane * height * width
    total = tl.zeros((LANES,), tl.int32)
    for down in range(tl.max(tall, axis=0)):
        line = tl.zeros((LANES,), tl.int32)
        for across in range(longest):
            used = (down < tall) & (across < wide)
            line += tl.load(pixels + (top + down) * width + left + across, mask=used, other=0).to(tl.int32)
        total += (2 * line + wide) // (2 * tl.maximum(wide, 1))
    small = (2 * total + tall) // (2 * tl.maximum(tall, 1))
    tl.store(out + plane * rows * columns + at, small.to(tl.uint8), mask=inside)


@triton.jit
def _spread_kernel(small, out, height, width, rows, columns, LANES: tl.constexpr):
    plane = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * LANES + tl.arange(0, LANES)
    inside = at < height * width
    i, j = at // width, at % width
    place = (2 * i + 1) * rows // (2 * height) * columns + (2 * j + 1) * columns // (2 * width)
    value = tl.load(small + plane * rows * columns + place, mask=inside, other=0)
    tl.store(out + plane * height * width + at, value, mask=inside)


@kernel
def pixelate(pixels: Tensor, rows: int, columns: int) -> Tensor:
    pixels, (n, channels, height, width) = pixels.contiguous(), pixels.shape
    small = torch.empty(n, channels, rows, columns, dtype=torch.uint8, device=pixels.device)
    (firsts, counts, longest), (row_firsts, row_counts, _) = (
        windows(length, size, pixels.device) for length, size in ((width, columns), (height, rows))
    )
    launch(
        _box_kernel, (n * channels, blocks(rows * columns, BOXES)), small,
        pixels, firsts, counts, row_firsts, row_counts, small, height, width, rows, columns, longest, LANES=BOXES,
    )  # fmt: skip
    out = torch.empty_like(pixels)
    return launch(
        _spread_kernel, (n * channels, blocks(height * width, LANES)), out,
        small, out, height, width, rows, columns, LANES=LANES,
    )  # fmt: skip


@triton.jit
def _is_written(p, height, width, reach):
    row, column = p // width, p % width
    return (row > reach) & (row <= height - reach) & (column > reach) & (column <= width - reach)


@triton.jit
def _local_copies_kernel(pixels, dy, dx, out, channels, height, width, reach, sy, LANES: tl.constexpr):
    """Each lane follows its own chain of copies to the pixel that still holds an old value; see the reference."""
    size = height * width
    image = tl.program_id(1).to(tl.int64)
    place = tl.program_id(0) * LANES + tl.arange(0, LANES)
    inside = place < size
    p = tl.minimum(place, size - 1)
    shift = image * sy
    written = _is_written(p, height, width, reach)
    q = p + tl.where(written, tl.load(dy + shift + p) * width + tl.load(dx + shift + p), 0)
    follow = written & (q > p) & _is_written(q, height, width, reach)
    while tl.max(follow.to(tl.int32), axis=0) > 0:
        p = tl.where(follow, q, p)
        q = tl.where(follow, p + tl.load(dy + shift + p) * width + tl.load(dx + shift + p), q)
        follow = follow & (q > p) & _is_written(q, height, width, reach)
    for c in range(channels):
        plane = (image * channels + c) * size
        tl.store(out + plane + place, tl.load(pixels + plane + q), mask=inside)


@kernel
def local_copies(pixels: Tensor, dy: Tensor, dx: Tensor, reach: int) -> Tensor:
    pixels = pixels.contiguous()
    n, channels, height, width = pixels.shape
    if dy.stride() != dx.stride() or dy.stride()[1:] != (width, 1):
        dy, dx = dy.contiguous(), dx.contiguous()
    out = torch.empty_like(pixels)
    return launch(
        _local_copies_kernel, (blocks(height * width, WARP_LANES), n), out,
        pixels, dy, dx, out, channels, height, width, reach, dy.stride(0), LANES=WARP_LANES, num_warps=1,
    )  # fmt: skip
