"""Drops of glass: one program lays all drops on one plane, which stays in the caches."""

from __future__ import annotations

import math

import torch
import triton
import triton.language as tl
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.triton_gpu.launching import launch

STRIP = 256  # pixels that a program bends at a time


@triton.jit
def _shift(offset, depth, index):
    """See the reference."""
    slant = tl.sqrt((index * index - 1.0) * offset * offset + index * index * depth * depth)
    return depth * offset * (slant - depth) / (depth * slant + offset * offset)


@triton.jit
def _depth(row, column, cy, cx, radius, height, width):
    """The square of the glass's depth under each pixel, 0 or less where this drop changes nothing."""
    dy, dx = row - cy, column - cx
    inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
    return tl.where(inside, radius * radius - dy * dy - dx * dx, 0.0)


@triton.jit
def _refract_kernel(
    canvas, patches, centres, channels, drops, radius, index, reach, margin, height, width,
    ROWS: tl.constexpr, SIDE: tl.constexpr,
):  # fmt: skip
    """`canvas` has a black `margin`. What a drop shows is put aside until all of it has been read."""
    plane = tl.program_id(0).to(tl.int64)
    wide = width + 2 * margin
    canvas += plane * (height + 2 * margin) * wide + margin * wide + margin
    patches += plane * SIDE * SIDE
    centres += plane // channels * drops * 2
    i, j = tl.arange(0, ROWS)[:, None], tl.arange(0, SIDE)[None, :]
    for k in range(drops):
        cy, cx = tl.load(centres + 2 * k), tl.load(centres + 2 * k + 1)
        top, column = tl.floor(cy).to(tl.int32) - reach, tl.floor(cx).to(tl.int32) - reach + j
        for start in range(0, 2 * reach + 1, ROWS):
            row = top + start + i
            depth = _depth(row, column, cy, cx, radius, height, width)
            z = tl.sqrt(tl.maximum(depth, 1e-12))
            y, x = row - _shift(row - cy, z, index), column - _shift(column - cx, z, index)
            upmost, leftmost = tl.floor(y), tl.floor(x)
            down, across = y - upmost, x - leftmost
            at = canvas + upmost.to(tl.int32) * wide + leftmost.to(tl.int32)
            within = depth > 0.0
            upper = (1.0 - across) * tl.load(at, mask=within) + across * tl.load(at + 1, mask=within)
            at += wide
            lower = (1.0 - across) * tl.load(at, mask=within) + across * tl.load(at + 1, mask=within)
            tl.store(patches + (start + i) * SIDE + j, (1.0 - down) * upper + down * lower, mask=within)
        tl.debug_barrier()  # all has been read
        for start in range(0, 2 * reach + 1, ROWS):
            row = top + start + i
            within = _depth(row, column, cy, cx, radius, height, width) > 0.0
            bent = tl.load(patches + (start + i) * SIDE + j, mask=within)
            tl.store(canvas + row * wide + column, bent, mask=within)
        tl.debug_barrier()  # the next drop sees it


@kernel
def refract_drops(x: Tensor, centres: Tensor, radius: float, index: float) -> Tensor:
    n, channels, height, width = x.shape
    reach = math.ceil(radius)
    margin = reach + 2
    side = triton.next_power_of_2(2 * reach + 1)
    canvas = torch.nn.functional.pad(x, (margin, margin, margin, margin))
    patches = torch.empty(n * channels, side, side, device=x.device)
    rows = max(1, min(side, STRIP // side))
    launch(
        _refract_kernel, (n * channels,), canvas,
        canvas, patches, centres.contiguous(), channels, centres.shape[1], radius, index, reach, margin, height, width,
        ROWS=rows, SIDE=side, num_warps=max(1, min(16, rows * side // 32)),
    )  # fmt: skip
    return canvas[..., margin : margin + height, margin : margin + width]
