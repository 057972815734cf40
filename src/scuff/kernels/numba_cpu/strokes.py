"""Lines drawn over bytes, and errors passed along rows: whole-numbered results, equal to the reference's."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.numba_cpu.compiling import F32, compiled, compiled_unfused
from scuff.kernels.threads import each_image


@compiled_unfused
def _draw(image, r0, c0, r1, c1, level):
    """Draw one line on (C, H, W), row by row; it runs down rather than across."""
    channels, height, width = image.shape
    dr, dc = r1 - r0, c1 - c0
    length = max(np.sqrt(dr * dr + dc * dc), F32(1e-6))
    slope = dc / dr if dr != 0.0 else F32(0.0)
    lowest, highest = max(int(min(c0, c1)), 0), min(int(max(c0, c1)), width - 1)
    for i in range(max(int(min(r0, r1)), 0), min(int(max(r0, r1)), height - 1) + 1):
        down = (F32(i) - r0) * dc
        middle = int(c0 + (F32(i) - r0) * slope)
        for j in range(max(middle - 1, lowest), min(middle + 2, highest) + 1):  # never farther than 1.42 away
            cover = F32(1.0) - abs(down - (F32(j) - c0) * dr) / length
            if cover > 0.0:
                for c in range(channels):
                    image[c, i, j] = int((F32(1.0) - cover) * F32(image[c, i, j]) + level * cover)


@compiled_unfused
def _draw_lines(image, ends, level):
    flipped = image.transpose(0, 2, 1)
    for k in range(len(ends)):
        r0, c0, r1, c1 = ends[k]
        if abs(r1 - r0) >= abs(c1 - c0):
            _draw(image, r0, c0, r1, c1, level)
        else:
            _draw(flipped, c0, r0, c1, r1, level)


@kernel
def draw_lines(pixels: Tensor, ends: Tensor, level: float) -> Tensor:
    out = pixels.clone(memory_format=torch.contiguous_format)
    target, lines = out.numpy(), ends.contiguous().numpy()
    each_image(lambda i: _draw_lines(target[i], lines[i], F32(level)), len(out))
    return out


@compiled
def _dither(image, quantised, out):
    channels, height, width = image.shape
    for c in range(channels):
        for i in range(height):
            error = 0
            for j in range(width):
                current = np.int64(image[c, i, j])
                if i > 0:
                    current = min(max(current + (7 * error >> 4), 0), 255)
                if i < height - 1:
                    current = min(max(current + (error >> 4), 0), 255)
                level = quantised[current]
                out[c, i, j] = level
                error = current - level


@kernel
def dither_rows(pixels: Tensor, levels: int) -> Tensor:
    out = torch.empty_like(pixels, memory_format=torch.contiguous_format)
    quantised = 255 * (levels * np.arange(256) >> 8) // (levels - 1)
    source, target = pixels.contiguous().numpy(), out.numpy()
    each_image(lambda i: _dither(source[i], quantised, target[i]), len(out))
    return out
