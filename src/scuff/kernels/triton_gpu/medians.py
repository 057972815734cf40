"""Medians of square windows: two bits of the answer at a time, by counting."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.triton_gpu.launching import launch

LANES = 256


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
    grid = (triton.cdiv(height * width, LANES), n * channels)
    return launch(_median_kernel, grid, out, pixels, radius.contiguous(), out, channels, height, width, LANES=LANES)
