"""Resizing by windows, from bytes to bytes. A tile of pixels reads each weight once for all of its rows or columns."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import triton
import triton.language as tl
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.reference.resizing import Plan
from scuff.kernels.triton_gpu.launching import blocks, launch
from scuff.kernels.triton_gpu.tiles import COLUMNS, ROWS, tile, tiles

LANES = 128


@triton.jit
def _triangle(at, centre, reach, last):
    """A weight in whole units of 2**-32."""
    weight = tl.maximum(1.0 - tl.abs((at + 0.5 - centre) / reach), 0.0)
    return tl.floor(tl.where(at < last, weight, 0.0) * 4294967296.0)


@triton.jit
def _triangle_kernel(sources, targets, firsts, weights, length, taps, LANES: tl.constexpr):
    """Weights are made twice, first for their sum; neighbours in the picture are neighbours in memory."""
    image = tl.program_id(1)
    k = tl.program_id(0) * LANES + tl.arange(0, LANES)
    source, target = tl.load(sources + image).to(tl.float64), tl.load(targets + image).to(tl.float64)
    reach, centre = tl.maximum(source / target, 1.0), (k.to(tl.float64) + 0.5) * (source / target)
    first = tl.maximum(tl.floor(centre - reach + 0.5), 0.0)
    last = tl.minimum(tl.floor(centre + reach + 0.5), source)
    total = tl.zeros((LANES,), tl.float64)
    for t in range(taps):
        total += _triangle(first + t, centre, reach, last)
    total = tl.maximum(total, 1.0)
    for t in range(taps):
        weight = (_triangle(first + t, centre, reach, last) / total).to(tl.float32)
        tl.store(weights + (image * taps + t) * length + k, weight, mask=k < length)
    tl.store(firsts + image * length + k, first.to(tl.int32), mask=k < length)


@kernel
def triangle_windows(source: Tensor, target: Tensor, length: int, taps: int) -> tuple[Tensor, Tensor]:
    n, device = len(source), source.device
    firsts = torch.empty(n, length, dtype=torch.int32, device=device)
    weights = torch.empty(n, taps, length, device=device)
    launch(
        _triangle_kernel, (blocks(length, LANES), n), firsts,
        source.contiguous(), target.contiguous(), firsts, weights, length, taps, LANES=LANES,
    )  # fmt: skip
    return firsts, weights.mT


@triton.jit
def _lines_kernel(
    pixels, firsts, weights, out, channels, height, width, tall, wide, length, taps, image_step, place_step, tap_step,
    DOWN: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Rows of `out` (tall x wide) are windows of rows if DOWN, otherwise its columns are windows of columns."""
    plane, i, j = tile(tall, ROWS, COLUMNS)
    image, inside = plane // channels, (i < tall) & (j < wide)
    k = i if DOWN else j
    first = tl.load(firsts + image * length + k, mask=k < length, other=0)
    weights += image * image_step
    pixels += plane * height * width
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for t in range(taps):
        row = tl.minimum(first + t, height - 1) if DOWN else i
        column = j if DOWN else tl.minimum(first + t, width - 1)
        level = tl.load(pixels + row * width + column, mask=inside, other=0).to(tl.float32)
        total += tl.load(weights + k * place_step + t * tap_step, mask=k < length, other=0.0) * level
    level = tl.floor(total + 0.5).to(tl.int32).to(tl.uint8)
    tl.store(out + plane * tall * wide + i * wide + j, level, mask=inside)


@kernel
def resize_lines(pixels: Tensor, plans: Sequence[Plan]) -> Tensor:
    out, (n, channels) = pixels.contiguous(), pixels.shape[:2]
    for firsts, weights, axis in plans:
        source, (height, width), (length, taps) = out, out.shape[2:], weights.shape[1:]
        tall, wide = (length, width) if axis == 2 else (height, length)
        out = torch.empty(n, channels, tall, wide, dtype=torch.uint8, device=pixels.device)
        launch(
            _lines_kernel, tiles(n * channels, tall, wide), out,
            source, firsts.contiguous(), weights, out, channels, height, width, tall, wide, length, taps,
            *weights.stride(), DOWN=axis == 2, ROWS=ROWS, COLUMNS=COLUMNS,
        )  # fmt: skip
    return out


@triton.jit
def _two_rows(pixels, row, below, column, share, share_below, inside):
    """The mixture of two pixels of a column, as a share of 255."""
    upper = tl.load(pixels + row + column, mask=inside, other=0).to(tl.float32)
    lower = tl.load(pixels + below + column, mask=inside, other=0).to(tl.float32)
    whole = tl.zeros_like(upper) + 255.0
    return share * tl.div_rn(upper, whole) + share_below * tl.div_rn(lower, whole)


@triton.jit
def _pairs_kernel(
    pixels, rows, row_weights, columns, column_weights, out, channels, height, width, tall, wide,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Both axes at once: four reads, and nothing between them goes to memory."""
    plane, i, j = tile(tall, ROWS, COLUMNS)
    image, inside = plane // channels, (i < tall) & (j < wide)
    down, across = image * tall + i, image * wide + j
    row, column = tl.load(rows + down, mask=i < tall, other=0), tl.load(columns + across, mask=j < wide, other=0)
    below, right = tl.minimum(row + 1, height - 1) * width, tl.minimum(column + 1, width - 1)
    row, column = tl.minimum(row, height - 1) * width, tl.minimum(column, width - 1)
    share = tl.load(row_weights + 2 * down, mask=i < tall, other=0.0)
    share_below = tl.load(row_weights + 2 * down + 1, mask=i < tall, other=0.0)
    pixels += plane * height * width
    value = tl.load(column_weights + 2 * across, mask=j < wide, other=0.0) * _two_rows(
        pixels, row, below, column, share, share_below, inside
    )
    value += tl.load(column_weights + 2 * across + 1, mask=j < wide, other=0.0) * _two_rows(
        pixels, row, below, right, share, share_below, inside
    )
    level = (tl.minimum(tl.maximum(value, 0.0), 1.0) * 255.0 + 0.5).to(tl.int32).to(tl.uint8)
    tl.store(out + plane * tall * wide + i * wide + j, level, mask=inside)


@kernel
def mix_byte_windows(
    pixels: Tensor, rows: Tensor, row_weights: Tensor, columns: Tensor, column_weights: Tensor
) -> Tensor:
    pixels, (n, channels, height, width) = pixels.contiguous(), pixels.shape
    tall, wide = rows.shape[1], columns.shape[1]
    plans = (plan.contiguous() for plan in (rows, row_weights, columns, column_weights))
    out = torch.empty(n, channels, tall, wide, dtype=torch.uint8, device=pixels.device)
    return launch(
        _pairs_kernel, tiles(n * channels, tall, wide), out,
        pixels, *plans, out, channels, height, width, tall, wide, ROWS=ROWS, COLUMNS=COLUMNS,
    )  # fmt: skip
