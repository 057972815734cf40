"""Reads between pixels by cubic B-splines."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.triton_gpu.launching import blocks, launch

LANES, PLANES = 256, 4  # four planes side by side, so that one load fetches a tap of all of them
ROWS, COLUMNS = 8, 64


@triton.jit
def _cubic_weights(t):
    """See the reference."""
    near = 1.0 - t
    a, b = near * near * near * (1.0 / 6.0), 2.0 / 3.0 - t * t * (1.0 - 0.5 * t)
    return a, b, 2.0 / 3.0 - near * near * (1.0 - 0.5 * near), t * t * t * (1.0 / 6.0)


@triton.jit
def _mix(at, inside, a, b, c, d, PLANES: tl.constexpr):
    """Four taps along a row."""
    mixed = a * tl.load(at, mask=inside, other=0.0) + b * tl.load(at + PLANES, mask=inside, other=0.0)
    at += 2 * PLANES
    return mixed + c * tl.load(at, mask=inside, other=0.0) + d * tl.load(at + PLANES, mask=inside, other=0.0)


@triton.jit
def _mirrored(at, length):
    """The pixel that stands up to two pixels beyond the first or the last one; one of the picture's for any other."""
    last = length - 1
    return tl.minimum(tl.abs(last - tl.abs(last - tl.abs(at))), last)


@triton.jit
def _surround_kernel(x, out, planes, height, width, LANES: tl.constexpr, PLANES: tl.constexpr):
    """`out` is (groups, height + 3, width + 3, PLANES); see `surrounded` of the reference."""
    plane = tl.program_id(0).to(tl.int64) * PLANES + tl.arange(0, PLANES)[None, :]
    at = tl.program_id(1) * LANES + tl.arange(0, LANES)[:, None]
    wide = width + 3
    size = (height + 3) * wide
    row, column = _mirrored(at // wide - 1, height), _mirrored(at % wide - 1, width)
    value = tl.load(x + plane * height * width + row * width + column, mask=(at < size) & (plane < planes), other=0.0)
    here = (tl.program_id(0).to(tl.int64) * size + at) * PLANES + tl.arange(0, PLANES)[None, :]
    tl.store(out + here, value, mask=at < size)


@triton.jit
def _sum_reads_kernel(
    source, rows, columns, weights, out, planes, count, sets, tall, wide, LANES: tl.constexpr, PLANES: tl.constexpr
):
    """`source` is (groups, tall, wide, PLANES), `out` is (planes, count)."""
    group = tl.program_id(0).to(tl.int64)
    source += group * PLANES * tall * wide + tl.arange(0, PLANES)[None, :]
    plane = group * PLANES + tl.arange(0, PLANES)[None, :]
    place = tl.program_id(1) * LANES + tl.arange(0, LANES)[:, None]
    total = tl.zeros((LANES, PLANES), tl.float32)
    for k in range(sets):
        y = tl.load(rows + k * count + place, mask=place < count, other=-1.0)
        x = tl.load(columns + k * count + place, mask=place < count, other=-1.0)
        inside = (y >= 0.0) & (y <= tall - 4) & (x >= 0.0) & (x <= wide - 4)
        top, left = tl.floor(y), tl.floor(x)
        p, q, r, s = _cubic_weights(y - top)
        a, b, c, d = _cubic_weights(x - left)
        at = source + (top.to(tl.int32) * wide + left.to(tl.int32)) * PLANES
        step = wide * PLANES
        read = p * _mix(at, inside, a, b, c, d, PLANES) + q * _mix(at + step, inside, a, b, c, d, PLANES)
        at += 2 * step
        read += r * _mix(at, inside, a, b, c, d, PLANES) + s * _mix(at + step, inside, a, b, c, d, PLANES)
        total += tl.load(weights + k) * read
    tl.store(out + plane * count + place, total, mask=(place < count) & (plane < planes))


@kernel
def sum_spline_reads(coefficients: Tensor, rows: Tensor, columns: Tensor, weights: Tensor) -> Tensor:
    coefficients, (n, channels, height, width) = coefficients.contiguous(), coefficients.shape
    out = torch.empty(n, channels, *rows.shape[1:], device=coefficients.device)
    planes, count = n * channels, rows.shape[1:].numel()
    groups, tall, wide = blocks(planes, PLANES), height + 3, width + 3
    source = torch.empty(groups, tall, wide, PLANES, device=coefficients.device)
    launch(
        _surround_kernel, (groups, blocks(tall * wide, LANES)), source,
        coefficients, source, planes, height, width, LANES=LANES, PLANES=PLANES,
    )  # fmt: skip
    return launch(
        _sum_reads_kernel, (groups, blocks(count, LANES)), out,
        source, rows.contiguous(), columns.contiguous(), weights.contiguous(), out,
        planes, count, len(rows), tall, wide, LANES=LANES, PLANES=PLANES, num_warps=LANES // 32,
    )  # fmt: skip


@triton.jit
def _column(plane, a, b, c, d, column, p, q, r, s):
    """Four taps of a column, from the top; `a` to `d` are where their rows begin."""
    mixed = p * tl.load(plane + a + column).to(tl.float32) + q * tl.load(plane + b + column).to(tl.float32)
    mixed += r * tl.load(plane + c + column).to(tl.float32)
    return mixed + s * tl.load(plane + d + column).to(tl.float32)


@triton.jit
def _taps(at, length):
    """Where the first of four taps lies, and their weights: 0 outside the picture."""
    base = tl.floor(at)
    inside = (at >= 0.0) & (at <= length - 1)
    a, b, c, d = _cubic_weights(at - base)
    a, b = tl.where(inside, a, 0.0), tl.where(inside, b, 0.0)
    return base.to(tl.int32) - 1, a, b, tl.where(inside, c, 0.0), tl.where(inside, d, 0.0)


@triton.jit
def _read_kernel(
    pixels, rows, columns, out, height, width, tall, wide, ROWS: tl.constexpr, COLUMNS: tl.constexpr
):  # fmt: skip
    """A tile shares the weights of its rows and of its columns, and finds its 4 x 4 bytes in the caches."""
    plane = tl.program_id(0).to(tl.int64)
    row = tl.program_id(1) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.program_id(2) * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    i, p, q, r, s = _taps(tl.load(rows + plane * tall + row, mask=row < tall, other=0.0), height)
    j, e, f, g, h = _taps(tl.load(columns + plane * wide + column, mask=column < wide, other=0.0), width)
    a, b = _mirrored(i, height) * width, _mirrored(i + 1, height) * width
    c, d = _mirrored(i + 2, height) * width, _mirrored(i + 3, height) * width
    pixels += plane * height * width
    value = e * _column(pixels, a, b, c, d, _mirrored(j, width), p, q, r, s)
    value += f * _column(pixels, a, b, c, d, _mirrored(j + 1, width), p, q, r, s)
    value += g * _column(pixels, a, b, c, d, _mirrored(j + 2, width), p, q, r, s)
    value += h * _column(pixels, a, b, c, d, _mirrored(j + 3, width), p, q, r, s)
    byte = tl.minimum(tl.maximum(tl.floor(value + 0.5), 0.0), 255.0).to(tl.int32).to(tl.uint8)
    tl.store(out + (plane * tall + row) * wide + column, byte, mask=(row < tall) & (column < wide))


@kernel
def read_spline_bytes(pixels: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    pixels, (n, channels, height, width) = pixels.contiguous(), pixels.shape
    tall, wide = rows.shape[-1], columns.shape[-1]
    out = torch.empty(n, channels, tall, wide, dtype=torch.uint8, device=pixels.device)
    return launch(
        _read_kernel, (n * channels, blocks(tall, ROWS), blocks(wide, COLUMNS)), out,
        pixels, rows.contiguous(), columns.contiguous(), out, height, width, tall, wide, ROWS=ROWS, COLUMNS=COLUMNS,
    )  # fmt: skip
