"""Sums of shifted copies: one fused multiply-add for each tap, in the order of the reference."""

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
MANY_TAPS = 32  # from here on, rows share what they load; along columns they always do


@triton.jit
def _pad_kernel(x, columns, out, width, wide, COLUMNS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    j = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    column = tl.load(columns + j, mask=j < wide, other=0)
    tl.store(out + row * wide + j, tl.load(x + row * width + column, mask=j < wide, other=0), mask=j < wide)


def _padded(x: Tensor, columns: Tensor) -> Tensor:
    """x[..., columns], for what reads each column very often."""
    wide = len(columns)
    out = torch.empty(*x.shape[:-1], wide, dtype=x.dtype, device=x.device)
    lanes = min(256, triton.next_power_of_2(wide))
    grid = (x.shape[:-1].numel(), blocks(wide, lanes))
    return launch(_pad_kernel, grid, out, x, columns, out, x.shape[-1], wide, COLUMNS=lanes)


@triton.jit
def _lanes(width, COLUMNS: tl.constexpr):
    """The columns of a program, those beyond the last one standing for it, and which of them there are.

    A compiler that sees neighbours here would give each thread four of them. Their loads would not coalesce then.
    """
    column = tl.program_id(2) * COLUMNS + tl.arange(0, COLUMNS)
    return tl.minimum(column, width - 1), column < width


@triton.jit
def _read(x, rows, row, width, column, LEVEL: tl.constexpr):
    """A row of the padded image, at some columns of the image itself."""
    line = row if LEVEL else tl.load(rows + row).to(tl.int32)
    return tl.load(x + line * width + column).to(tl.float32)


@triton.jit
def _add_shift(x, rows, row, last, width, column, weight, a, b, c, d, LEVEL: tl.constexpr):
    """One tap to the sums of four rows, none of them beyond the last one."""
    a = tl.fma(weight, _read(x, rows, tl.minimum(row, last), width, column, LEVEL), a)
    b = tl.fma(weight, _read(x, rows, tl.minimum(row + 1, last), width, column, LEVEL), b)
    c = tl.fma(weight, _read(x, rows, tl.minimum(row + 2, last), width, column, LEVEL), c)
    d = tl.fma(weight, _read(x, rows, tl.minimum(row + 3, last), width, column, LEVEL), d)
    return a, b, c, d


@triton.jit
def _correlate_kernel(
    x, rows, columns, dy, dx, weights, out, channels, height, width, taps, list_step, weight_step,
    ROUNDING: tl.constexpr, LEVEL: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """A program makes eight rows: where a tap finds its columns is looked up once for all of them.

    If LEVEL, all taps lie in the pixel's own row, and no row is looked up.
    """
    plane, top = tl.program_id(0).to(tl.int64), tl.program_id(1) * 8
    column, inside = _lanes(width, COLUMNS)
    dy += plane // channels * list_step
    dx += plane // channels * list_step
    weights += plane // channels * weight_step
    x += plane * height * width
    a = tl.zeros((COLUMNS,), tl.float32)
    b, c, d, e, f, g, h = a, a, a, a, a, a, a
    for t in range(taps):
        down = 0 if LEVEL else tl.load(dy + t)
        from_column = tl.load(columns + column + tl.load(dx + t)).to(tl.int32)
        weight, row, last = tl.broadcast_to(tl.load(weights + t), (COLUMNS,)), top + down, height - 1 + down
        a, b, c, d = _add_shift(x, rows, row, last, width, from_column, weight, a, b, c, d, LEVEL)
        e, f, g, h = _add_shift(x, rows, row + 4, last, width, from_column, weight, e, f, g, h, LEVEL)
    out += plane * height * width
    _store_rows(out, top, column, inside, height, width, a, b, c, d, ROUNDING)
    _store_rows(out, top + 4, column, inside, height, width, e, f, g, h, ROUNDING)


@triton.jit
def _store_rows(out, row, column, inside, height, width, a, b, c, d, ROUNDING: tl.constexpr):
    row = tl.zeros_like(column) + row
    _store(out + row * width + column, a, inside & (row < height), ROUNDING)
    _store(out + (row + 1) * width + column, b, inside & (row + 1 < height), ROUNDING)
    _store(out + (row + 2) * width + column, c, inside & (row + 2 < height), ROUNDING)
    _store(out + (row + 3) * width + column, d, inside & (row + 3 < height), ROUNDING)


@triton.jit
def _store(at, total, inside, ROUNDING: tl.constexpr):
    if ROUNDING == "none":
        tl.store(at, total, mask=inside)
    else:
        if ROUNDING == "nearest":
            level = tl.floor(total + 0.5)
        else:  # ImageMagick's
            level = tl.floor(tl.div_rn(tl.floor(257.0 * total + 0.5), tl.zeros_like(total) + 257.0))
        tl.store(at, tl.minimum(tl.maximum(level, 0.0), 255.0).to(tl.int32).to(tl.uint8), mask=inside)


@triton.jit
def _add_tap(weights, value, a, b, c, d, COLUMNS: tl.constexpr):
    """One value to the sums of four rows, each with a weight of its own."""
    a = tl.fma(tl.broadcast_to(tl.load(weights), (COLUMNS,)), value, a)
    b = tl.fma(tl.broadcast_to(tl.load(weights + 1), (COLUMNS,)), value, b)
    c = tl.fma(tl.broadcast_to(tl.load(weights + 2), (COLUMNS,)), value, c)
    d = tl.fma(tl.broadcast_to(tl.load(weights + 3), (COLUMNS,)), value, d)
    return a, b, c, d


@triton.jit
def _dense_kernel(x, rows, table, out, height, width, wide, reach, across, COLUMNS: tl.constexpr):
    """One warp makes eight rows: a value is loaded once and serves all of them, each with a weight of its own.

    Every sum still meets its taps row by row, from the left. Where one has no tap, its weight is 0 and changes nothing.
    """
    plane, top = tl.program_id(0).to(tl.int64), tl.program_id(1) * 8
    column, inside = _lanes(width, COLUMNS)
    x += plane * height * wide
    a = tl.zeros((COLUMNS,), tl.float32)
    b, c, d, e, f, g, h = a, a, a, a, a, a, a
    for y in range(tl.minimum(reach + 7, height + reach - 1 - top)):
        source = x + tl.load(rows + top + y) * wide
        for shift in range(across):
            value, weights = tl.load(source + shift + column), table + (y * across + shift) * 8
            a, b, c, d = _add_tap(weights, value, a, b, c, d, COLUMNS)
            e, f, g, h = _add_tap(weights + 4, value, e, f, g, h, COLUMNS)
    out += plane * height * width
    _store_rows(out, top, column, inside, height, width, a, b, c, d, "none")
    _store_rows(out, top + 4, column, inside, height, width, e, f, g, h, "none")


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
    x, (n, channels, height, width) = x.contiguous(), x.shape
    if weights.stride() != (0, 1):
        weights = weights.contiguous()
    out = torch.empty(x.shape, dtype=torch.float32 if rounding == "none" else torch.uint8, device=x.device)
    lanes, taps = min(256, triton.next_power_of_2(width)), dy.shape[1]
    grid = (n * channels, blocks(height, 8), blocks(width, lanes))
    reach, across = len(rows) - height + 1, len(columns) - width + 1
    is_dense = 2 * taps > reach * across and reach > 1 and (across == 1 or taps >= MANY_TAPS)
    if rounding == "none" and dy.shape[0] == 1 and is_dense:
        padded = x if across == 1 else _padded(x, columns)
        return launch(
            _dense_kernel, grid, out,
            padded, rows, _dense_table(dy, dx, weights, reach, across), out, height, width, len(columns), reach, across,
            COLUMNS=lanes, num_warps=1,
        )  # fmt: skip
    steps = [taps if dy.shape[0] > 1 else 0, weights.stride(0) if weights.shape[0] > 1 else 0]
    return launch(
        _correlate_kernel, grid, out,
        x, rows, columns, dy.contiguous(), dx.contiguous(), weights, out, channels, height, width, taps, *steps,
        ROUNDING=rounding, LEVEL=reach == 1, COLUMNS=lanes, num_warps=max(1, lanes // 128),
    )  # fmt: skip
