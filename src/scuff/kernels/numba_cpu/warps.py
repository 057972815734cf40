"""Planes of numbers read through drops of glass."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.numba_cpu.compiling import F32, INDEX, compiled, copy, inlined
from scuff.kernels.numba_cpu.filling import fill

ONE = INDEX(1)


@inlined
def _shift(offset, depth, index):
    """See the reference."""
    slant = np.sqrt((index * index - F32(1.0)) * offset * offset + index * index * depth * depth)
    return depth * offset * (slant - depth) / (depth * slant + offset * offset)


@compiled
def _refract(centres, radius, index, margin, canvas):
    """`canvas` (C, H, W) holds one picture inside `margin` black pixels; coordinates are the picture's."""
    channels, height, width = canvas.shape[0], canvas.shape[1] - 2 * margin, canvas.shape[2] - 2 * margin
    side = 2 * margin - 2
    patch = np.empty((channels, side, side), F32)
    y, x, depths = np.empty(side, F32), np.empty(side, F32), np.empty(side, F32)
    for k in range(len(centres)):
        cy, cx = centres[k, 0], centres[k, 1]
        top, left = int(cy) + 2 - margin, int(cx) + 2 - margin
        for c in range(channels):
            for i in range(side):
                copy(canvas[c, top + margin + i, left + margin : left + margin + side], patch[c, i])
        for i in range(max(top, 0), min(top + side, height)):
            dy = F32(i) - cy
            chord = radius * radius - dy * dy
            if chord <= 0.0:
                continue
            half = np.sqrt(chord)
            start, stop = max(int(cx - half), left, 0), min(int(cx + half) + 2, left + side, width)
            for j in range(start, stop):  # where each pixel reads: this loop vectorises, the next one cannot
                dx = F32(j) - cx
                depths[j - start] = chord - dx * dx
                depth = np.sqrt(max(chord - dx * dx, F32(1e-12)))
                y[j - start] = F32(i - top) - _shift(dy, depth, index)
                x[j - start] = F32(j - left) - _shift(dx, depth, index)
            for j in range(start, stop):
                if depths[j - start] <= F32(0.0):
                    continue
                row, column = INDEX(y[j - start]), INDEX(x[j - start])
                down, across = y[j - start] - F32(row), x[j - start] - F32(column)
                for c in range(channels):
                    a, b = patch[c, row, column], patch[c, row, column + ONE]
                    upper = a + across * (b - a)
                    a, b = patch[c, row + ONE, column], patch[c, row + ONE, column + ONE]
                    canvas[c, i + margin, j + margin] = upper + down * (a + across * (b - a) - upper)


@kernel
def refract_drops(x: Tensor, centres: Tensor, radius: float, index: float) -> Tensor:
    height, width = x.shape[-2:]
    margin = math.ceil(radius) + 2
    out = torch.nn.functional.pad(x, (margin, margin, margin, margin))
    fill(out, _refract, centres, F32(radius), F32(index), margin)
    return out[..., margin : margin + height, margin : margin + width]
