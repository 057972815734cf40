"""Sums of shifted copies: pad in one pass, then one fused multiply-add for each tap, in the order of the reference."""

from __future__ import annotations

import math

import torch
import triton
import triton.language as tl
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.triton_gpu.functions import sines_of
from scuff.kernels.triton_gpu.launching import blocks, launch

DEGREE = tl.constexpr(math.pi / 180.0)
MANY_TAPS = 32  # from here on, rows share what they load


@triton.jit
def _pad_kernel(x, rows, columns, out, height, width, tall, wide, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    plane = tl.program_id(0).to(tl.int64)
    i = tl.program_id(1) * ROWS + tl.arange(0, ROWS)[:, None]
    j = tl.program_id(2) * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    row, column = tl.load(rows + i, mask=i < tall, other=0), tl.load(columns + j, mask=j < wide, other=0)
    inside = (i < tall) & (j < wide)
    value = tl.load(x + plane * height * width + row * width + column, mask=inside, other=0)
    tl.store(out + plane * tall * wide + i * wide + j, value, mask=inside)


def _padded(x: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """x[:, :, rows][..., columns], in one pass."""
    x, (n, channels, height, width) = x.contiguous(), x.shape
    tall, wide = len(rows), len(columns)
    if (tall, wide) == (height, width):
        return x
    out = torch.empty(n, channels, tall, wide, dtype=x.dtype, device=x.device)
    across = min(256, triton.next_power_of_2(wide))
    return launch(
        _pad_kernel, (n * channels, blocks(tall, 8), blocks(wide, across)), out,
        x, rows, columns, out, height, width, tall, wide, ROWS=8, COLUMNS=across,
    )  # fmt: skip


@triton.jit
def _correlate_kernel(
    padded, dy, dx, weights, out, channels, height, width, tall, wide, taps, shared, weight_step,
    ROUNDING: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    plane = tl.program_id(0).to(tl.int64)
    list_start = tl.where(shared, 0, plane // channels * taps)
    weights += plane // channels * weight_step
    row = tl.program_id(1) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.program_id(2) * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    inside = (row < height) & (column < width)
    source = padded + plane * tall * wide + row * wide + column
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for t in range(taps):
        shift = tl.load(dy + list_start + t) * wide + tl.load(dx + list_start + t)
        value = tl.load(source + shift, mask=inside, other=0).to(tl.float32)
        total = tl.fma(tl.broadcast_to(tl.load(weights + t), (ROWS, COLUMNS)), value, total)
    if ROUNDING == "nearest":
        total = tl.floor(total + 0.5)
    elif ROUNDING == "imagemagick":
        total = tl.floor(tl.div_rn(tl.floor(257.0 * total + 0.5), tl.zeros_like(total) + 257.0))
    out += plane * height * width + row * width + column
    if ROUNDING == "none":
        tl.store(out, total, mask=inside)
    else:
        tl.store(out, tl.minimum(tl.maximum(total, 0.0), 255.0).to(tl.int32).to(tl.uint8), mask=inside)


@triton.jit
def _add_tap(weights, value, a, b, c, d, COLUMNS: tl.constexpr):
    """One value to the sums of four rows, each with a weight of its own."""
    a = tl.fma(tl.broadcast_to(tl.load(weights), (COLUMNS,)), value, a)
    b = tl.fma(tl.broadcast_to(tl.load(weights + 1), (COLUMNS,)), value, b)
    c = tl.fma(tl.broadcast_to(tl.load(weights + 2), (COLUMNS,)), value, c)
    d = tl.fma(tl.broadcast_to(tl.load(weights + 3), (COLUMNS,)), value, d)
    return a, b, c, d


@triton.jit
def _store_rows(out, row, inside, height, width, a, b, c, d):
    tl.store(out + row * width, a, mask=inside & (row < height))
    tl.store(out + (row + 1) * width, b, mask=inside & (row + 1 < height))
    tl.store(out + (row + 2) * width, c, mask=inside & (row + 2 < height))
    tl.store(out + (row + 3) * width, d, mask=inside & (row + 3 < height))


@triton.jit
def _dense_kernel(
    padded, table, out, height, width, tall, wide, reach, across, COLUMNS: tl.constexpr
):  # fmt: skip
    """One warp makes eight rows: a value is loaded once and serves all of them, each with a weight of its own.

    Every sum still meets its taps row by row, from the left. Where one has no tap, its weight is 0 and changes nothing.
    """
    plane, top = tl.program_id(0).to(tl.int64), tl.program_id(1) * 8
    column = tl.program_id(2) * COLUMNS + tl.arange(0, COLUMNS)
    a = tl.zeros((COLUMNS,), tl.float32)
    b, c, d, e, f, g, h = a, a, a, a, a, a, a
    source = padded + (plane * tall + top) * wide + tl.minimum(column, width - 1)
    for y in range(tl.minimum(reach + 7, tall - top)):
        for x in range(across):
            value, weights = tl.load(source + (y * wide + x)), table + (y * across + x) * 8
            a, b, c, d = _add_tap(weights, value, a, b, c, d, COLUMNS)
            e, f, g, h = _add_tap(weights + 4, value, e, f, g, h, COLUMNS)
    out += plane * height * width + column
    row = tl.zeros_like(column) + top
    _store_rows(out, row, column < width, height, width, a, b, c, d)
    _store_rows(out, row + 4, column < width, height, width, e, f, g, h)


@triton.jit
def _offsets_kernel(angle, dy, dx, count, taps, step, before, LANES: tl.constexpr):
    at = tl.program_id(0) * LANES + tl.arange(0, LANES)
    sine, cosine = sines_of(tl.load(angle + at // taps, mask=at < count, other=0.0).to(tl.float64) * DEGREE)
    k = (at % taps * step).to(tl.float64)
    tl.store(dy + at, tl.ceil(k * sine - 0.5).to(tl.int32) + before, mask=at < count)
    tl.store(dx + at, tl.ceil(k * cosine - 0.5).to(tl.int32) + before, mask=at < count)


@kernel
def motion_offsets(angle: Tensor, steps: range) -> tuple[Tensor, Tensor]:
    dy, dx = (torch.empty(angle.shape[0], len(steps), dtype=torch.int32, device=angle.device) for _ in range(2))
    grid = (blocks(dy.numel(), 128),)
    launch(
        _offsets_kernel, grid, dy, angle.contiguous(), dy, dx, dy.numel(), len(steps), steps.step, steps[-1], LANES=128
    )
    return dy, dx


def _dense_table(dy: Tensor, dx: Tensor, weights: Tensor, reach: int, across: int) -> Tensor:
    """For each row and column of a patch that eight rows read: the weights of the eight, (reach + 7, across, 8)."""
    row = torch.arange(8, device=dy.device)[:, None]
    place = ((dy + row) * across + dx) * 8 + row
    table = torch.zeros((reach + 7) * across * 8, device=dy.device)
    return table.scatter_(0, place.flatten(), weights.expand(8, -1).flatten())


@kernel
def correlate(x: Tensor, rows: Tensor, columns: Tensor, dy: Tensor, dx: Tensor, weights: Tensor) -> Tensor:
    return _correlate("none", x, rows, columns, dy, dx, weights)


@kernel
def correlate_bytes(pixels: Tensor, rows: Tensor, columns: Tensor, dy: Tensor, dx: Tensor, weights: Tensor) -> Tensor:
    return _correlate("nearest", pixels, rows, columns, dy, dx, weights)


@kernel
def smear_bytes(levels: Tensor, rows: Tensor, columns: Tensor, dy: Tensor, dx: Tensor, weights: Tensor) -> Tensor:
    return _correlate("imagemagick", levels, rows, columns, dy, dx, weights)


def _correlate(
    rounding: str, x: Tensor, rows: Tensor, columns: Tensor, dy: Tensor, dx: Tensor, weights: Tensor
) -> Tensor:
    n, channels, height, width = x.shape
    if weights.stride() != (0, 1):
        weights = weights.contiguous()
    padded = _padded(x, rows, columns)
    tall, wide = padded.shape[-2:]
    out = torch.empty(x.shape, dtype=torch.float32 if rounding == "none" else torch.uint8, device=x.device)
    tile, lanes, taps = 8, min(256, triton.next_power_of_2(width)), dy.shape[1]
    reach, across = tall - height + 1, wide - width + 1
    if rounding == "none" and dy.shape[0] == 1 and taps >= MANY_TAPS and 2 * taps > reach * across and reach > 1:
        return launch(
            _dense_kernel, (n * channels, blocks(height, 8), blocks(width, lanes)), out,
            padded, _dense_table(dy, dx, weights, reach, across), out, height, width, tall, wide, reach, across,
            COLUMNS=lanes, num_warps=1,
        )  # fmt: skip
    return launch(
        _correlate_kernel, (n * channels, blocks(height, tile), blocks(width, lanes)), out,
        padded, dy.contiguous(), dx.contiguous(), weights, out,
        channels, height, width, tall, wide, taps, dy.shape[0] == 1, weights.stride(0) if weights.shape[0] > 1 else 0,
        ROUNDING=rounding, ROWS=tile, COLUMNS=lanes,
    )  # fmt: skip
