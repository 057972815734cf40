"""Lines drawn over bytes, and errors passed along rows: whole-numbered results, equal to the reference's."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.triton_gpu.launching import launch

TILE = 16
LANES = 32


@triton.jit
def _draw_kernel(pixels, ends, out, channels, height, width, count, level, TILE: tl.constexpr):
    """A program holds one tile of one plane and draws the lines that may touch it."""
    plane = tl.program_id(0).to(tl.int64)
    tiles = tl.cdiv(width, TILE)
    top, left = tl.program_id(1) // tiles * TILE, tl.program_id(1) % tiles * TILE
    row, column = top + tl.arange(0, TILE)[:, None], left + tl.arange(0, TILE)[None, :]
    wanted = (row < height) & (column < width)
    at = plane * height * width + row * width + column
    drawn = tl.load(pixels + at, mask=wanted, other=0).to(tl.float32)
    r, c = row.to(tl.float32), column.to(tl.float32)
    ends += plane // channels * count * 4
    for k in range(count):
        r0, c0 = tl.load(ends + 4 * k), tl.load(ends + 4 * k + 1)
        r1, c1 = tl.load(ends + 4 * k + 2), tl.load(ends + 4 * k + 3)
        dr, dc = r1 - r0, c1 - c0
        length = tl.maximum(tl.sqrt_rn(dr * dr + dc * dc), 1e-6)
        if tl.abs((top + TILE // 2 - r0) * dc - (left + TILE // 2 - c0) * dr) <= TILE * length:
            cover = 1.0 - tl.div_rn(tl.abs((r - r0) * dc - (c - c0) * dr), length)
            inside = (r >= tl.minimum(r0, r1)) & (r <= tl.maximum(r0, r1))
            inside = inside & (c >= tl.minimum(c0, c1)) & (c <= tl.maximum(c0, c1))
            mixed = tl.floor((1.0 - cover) * drawn + level * cover)
            drawn = tl.where(inside & (cover > 0.0), mixed, drawn)
    tl.store(out + at, drawn.to(tl.int32).to(tl.uint8), mask=wanted)


@kernel
def draw_lines(pixels: Tensor, ends: Tensor, level: float) -> Tensor:
    pixels = pixels.contiguous()
    n, channels, height, width = pixels.shape
    out = torch.empty_like(pixels)
    return launch(
        _draw_kernel, (n * channels, triton.cdiv(height, TILE) * triton.cdiv(width, TILE)), out,
        pixels, ends.contiguous(), out, channels, height, width, ends.shape[1], level, TILE=TILE, num_warps=1,
        enable_fp_fusion=False,  # a fused multiply-add could round to another whole number
    )  # fmt: skip


@triton.jit
def _dither_kernel(pixels, out, rows, height, width, levels, LANES: tl.constexpr):
    """A lane walks along its row."""
    row = tl.program_id(0).to(tl.int64) * LANES + tl.arange(0, LANES)
    wanted = row < rows
    above, below = row % height > 0, row % height < height - 1
    pixels += row * width
    out += row * width
    error = tl.zeros((LANES,), tl.int32)
    for column in range(width):
        current = tl.load(pixels + column, mask=wanted, other=0).to(tl.int32)
        moved = tl.minimum(tl.maximum(current + (7 * error >> 4), 0), 255)
        current = tl.where(above, moved, current)
        moved = tl.minimum(tl.maximum(current + (error >> 4), 0), 255)
        current = tl.where(below, moved, current)
        quantised = 255 * (levels * current >> 8) // (levels - 1)
        tl.store(out + column, quantised.to(tl.uint8), mask=wanted)
        error = current - quantised


@kernel
def dither_rows(pixels: Tensor, levels: int) -> Tensor:
    pixels = pixels.contiguous()
    height, width = pixels.shape[-2:]
    out = torch.empty_like(pixels)
    rows = pixels.shape[:-1].numel()
    sizes = (rows, height, width, levels)
    return launch(_dither_kernel, (triton.cdiv(rows, LANES),), out, pixels, out, *sizes, LANES=LANES, num_warps=1)
