"""Pillow's bilinear filter on bytes: windows of rows. For windows of columns, images are turned over their diagonal.

A row is a line of values with one weight for all of them, so many are worked on at once; along a row every pixel has
weights of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.numba_cpu.compiling import F32, INDEX, compiled, values_of
from scuff.kernels.numba_cpu.filling import fill_pixels
from scuff.kernels.reference.resizing import Plan


@compiled
def _turn(image, made):
    (height, width, channels), pixels, out = image.shape, values_of(image), values_of(made)
    step, k = INDEX(channels), INDEX(0)
    for j in range(INDEX(width)):
        for i in range(INDEX(height)):
            at = (i * INDEX(width) + j) * step
            for c in range(step):
                out[k + c] = pixels[at + c]
            k += step


@compiled
def _mix_lines(image, first, weights, sums, made):
    """`sums` is scratch for a row."""
    height, pixels, out = image.shape[0], values_of(image), values_of(made)
    count = INDEX(image.shape[1] * image.shape[2])
    for i in range(INDEX(len(first))):
        for k in range(count):
            sums[k] = F32(0.0)
        for t in range(weights.shape[1]):
            weight, line = weights[i, t], INDEX(min(first[i] + t, height - 1)) * count
            if weight != F32(0.0):
                for k in range(count):
                    sums[k] += weight * F32(pixels[line + k])
        for k in range(count):
            out[i * count + k] = np.uint8(np.int32(sums[k] + F32(0.5)))


def _turned(pixels: Tensor) -> Tensor:
    return fill_pixels(pixels, _turn, size=(pixels.shape[3], pixels.shape[2]))


def _resized(pixels: Tensor, first: Tensor, weights: Tensor) -> Tensor:
    count = pixels.shape[3] * pixels.shape[1]
    size, scratch = (first.shape[1], pixels.shape[3]), lambda: (np.empty(count, F32),)
    return fill_pixels(pixels, _mix_lines, first, weights, size=size, scratch=scratch)


@kernel
def resize_lines(pixels: Tensor, plans: Sequence[Plan]) -> Tensor:
    for first, weights, axis in plans:
        pixels = _resized(pixels, first, weights) if axis == 2 else _turned(_resized(_turned(pixels), first, weights))
    return pixels
