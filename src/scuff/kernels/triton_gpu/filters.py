"""Sums of shifted copies: a program holds a tile of the output in registers and walks through the taps."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor


@triton.jit
def _correlate_kernel(
    padded, dy, dx, weights, out, channels, height, width, tall, wide, taps, shared,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    plane = tl.program_id(0).to(tl.int64)
    list_start = tl.where(shared, 0, plane // channels * taps)
    row = tl.program_id(1) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.program_id(2) * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    inside = (row < height) & (column < width)
    source = padded + plane * tall * wide + row * wide + column
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for t in range(taps):
        shift = tl.load(dy + list_start + t) * wide + tl.load(dx + list_start + t)
        total += tl.load(weights + list_start + t) * tl.load(source + shift, mask=inside, other=0.0)
    tl.store(out + plane * height * width + row * width + column, total, mask=inside)


def correlate(padded: Tensor, dy: Tensor, dx: Tensor, weights: Tensor, height: int, width: int) -> Tensor:
    padded = padded.contiguous()
    n, channels, tall, wide = padded.shape
    out = torch.empty(n, channels, height, width, device=padded.device)
    rows, columns = 8, min(256, triton.next_power_of_2(width))
    if out.numel():
        grid = (n * channels, triton.cdiv(height, rows), triton.cdiv(width, columns))
        with torch.cuda.device_of(padded):
            _correlate_kernel[grid](
                padded, dy.contiguous(), dx.contiguous(), weights.contiguous(), out,
                channels, height, width, tall, wide, dy.shape[1], len(dy) == 1, ROWS=rows, COLUMNS=columns,
            )  # fmt: skip
    return out
