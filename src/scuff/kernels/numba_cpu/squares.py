"""Means of squares: of overlapping ones by sums of three rows and of three columns, of others square by square."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.numba_cpu.compiling import F32, INDEX, compiled, inlined, values_of
from scuff.kernels.numba_cpu.filling import fill, per_plane
from scuff.kernels.reference.squares import PASSES

NINTH = F32(1.0 / 9.0)


@inlined
def _mean_3x3(source, height, width, rows, target):
    """See the reference. `rows` is scratch for the sums of three rows, with a zero on either side."""
    for i in range(height):
        at = i * width
        for j in range(width):
            rows[j + INDEX(1)] = source[at + j]
        if i > INDEX(0):
            for j in range(width):
                rows[j + INDEX(1)] += source[at - width + j]
        if i + INDEX(1) < height:
            for j in range(width):
                rows[j + INDEX(1)] += source[at + width + j]
        for j in range(width):
            target[at + j] = (rows[j + INDEX(1)] + rows[j] + rows[j + INDEX(2)]) * NINTH


@compiled
def _mix_box_blur(plane, share, rows, blurred, made):
    height, width, x, out = INDEX(plane.shape[0]), INDEX(plane.shape[1]), values_of(plane), values_of(made)
    rows[0] = rows[width + INDEX(1)] = F32(0.0)
    _mean_3x3(x, height, width, rows, blurred)
    for _ in range((PASSES - 1) // 2):
        _mean_3x3(blurred, height, width, rows, out)
        _mean_3x3(out, height, width, rows, blurred)
    for k in range(INDEX(x.size)):
        out[k] = (blurred[k] - x[k]) * share + x[k]


@kernel
def mix_box_blur(x: Tensor, share: Tensor) -> Tensor:
    channels, height, width = x.shape[1:]

    def scratch() -> tuple[np.ndarray, np.ndarray]:
        return np.empty(width + 2, F32), np.empty(height * width, F32)

    out = torch.empty(x.shape)
    fill(out.flatten(0, 1), _mix_box_blur, x.flatten(0, 1), per_plane(share, channels), scratch=scratch)
    return out


@inlined
def _ends(block, blocks, side, length):
    """The pixels that show a block: half of what is left over lies before the first."""
    before = length % side // INDEX(2)
    first = INDEX(0) if block == INDEX(0) else before + block * side
    return first, length if block + INDEX(1) == blocks else before + (block + INDEX(1)) * side


@compiled
def _block_means(plane, side, line, made):
    """`line` is scratch for a row of the result."""
    height, width, x, out = INDEX(plane.shape[0]), INDEX(plane.shape[1]), values_of(plane), values_of(made)
    tall, wide = INDEX(min(side, plane.shape[0])), INDEX(min(side, plane.shape[1]))
    down, across, pixels = height // tall, width // wide, F32(tall * wide)
    for row in range(down):
        for column in range(across):
            corner, total = row * tall * width + column * wide, F32(0.0)
            for i in range(tall):
                for j in range(wide):
                    total += x[corner + i * width + j]
            mean = total / pixels
            first, end = _ends(column, across, wide, width)
            for j in range(first, end):
                line[j] = mean
        first, end = _ends(row, down, tall, height)
        for i in range(first, end):
            for j in range(width):
                out[i * width + j] = line[j]


@kernel
def block_means(x: Tensor, side: Tensor, sides: range) -> Tensor:
    channels, _, width = x.shape[1:]
    out = torch.empty(x.shape)
    planes, each = x.flatten(0, 1), per_plane(side.long(), channels)
    fill(out.flatten(0, 1), _block_means, planes, each, scratch=lambda: (np.empty(width, F32),))
    return out
