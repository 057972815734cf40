"""Means of squares: tiles of pixels read their neighbours from the cache, and sums stay in registers."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.reference.squares import PASSES
from scuff.kernels.triton_gpu.launching import launch
from scuff.kernels.triton_gpu.tiles import COLUMNS, ROWS, tile, tiles


@triton.jit
def _three_rows(plane, i, j, height, width):
    """Sums of a pixel, the one above and the one below, black beyond the picture."""
    at, inside = plane + i * width + j, (j >= 0) & (j < width)
    total = tl.load(at, mask=inside & (i < height), other=0.0)
    total += tl.load(at - width, mask=inside & (i > 0) & (i <= height), other=0.0)
    return total + tl.load(at + width, mask=inside & (i < height - 1), other=0.0)


@triton.jit
def _blur_kernel(
    source, x, share, out, channels, height, width, MIX: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr
):  # fmt: skip
    """One 3 x 3 mean of `source`; if MIX, its share is mixed into `x`."""
    plane, i, j = tile(height, ROWS, COLUMNS)
    start, inside = plane * height * width, (i < height) & (j < width)
    total = _three_rows(source + start, i, j, height, width)
    total += _three_rows(source + start, i, j - 1, height, width)
    total += _three_rows(source + start, i, j + 1, height, width)
    mean = total * 0.1111111111111111
    if MIX:
        sharp = tl.load(x + start + i * width + j, mask=inside, other=0.0)
        mean = (mean - sharp) * tl.load(share + plane // channels) + sharp
    tl.store(out + start + i * width + j, mean, mask=inside)


@kernel
def mix_box_blur(x: Tensor, share: Tensor) -> Tensor:
    x, share, source = x.contiguous(), share.contiguous(), x.contiguous()
    targets, grid = (torch.empty_like(x), torch.empty_like(x)), tiles(x.shape[:2].numel(), *x.shape[2:])
    for turn in range(PASSES):
        out = targets[turn % 2]
        source = launch(
            _blur_kernel, grid, out, source, x, share, out, *x.shape[1:],
            MIX=turn == PASSES - 1, ROWS=ROWS, COLUMNS=COLUMNS,
        )  # fmt: skip
    return source


@triton.jit
def _block_kernel(x, sides, out, channels, height, width, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Every pixel adds up its own square: all but the first of these reads are answered by the cache."""
    plane, i, j = tile(height, ROWS, COLUMNS)
    side, start, inside = tl.load(sides + plane // channels), plane * height * width, (i < height) & (j < width)
    tall, wide = tl.minimum(side, height), tl.minimum(side, width)
    row = tl.minimum(tl.maximum(i - height % tall // 2, 0) // tall, height // tall - 1) * tall
    column = tl.minimum(tl.maximum(j - width % wide // 2, 0) // wide, width // wide - 1) * wide
    corner = x + start + row * width + column
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for down in range(tall):
        for across in range(wide):
            total += tl.load(corner + down * width + across, mask=inside, other=0.0)
    mean = tl.div_rn(total, tl.zeros_like(total) + (tall * wide).to(tl.float32))
    tl.store(out + start + i * width + j, mean, mask=inside)


@kernel
def block_means(x: Tensor, side: Tensor, sides: range) -> Tensor:
    x, out = x.contiguous(), torch.empty(x.shape, device=x.device)
    return launch(
        _block_kernel, tiles(x.shape[:2].numel(), *x.shape[2:]), out,
        x, side.to(torch.int32), out, *x.shape[1:], ROWS=ROWS, COLUMNS=COLUMNS,
    )  # fmt: skip
