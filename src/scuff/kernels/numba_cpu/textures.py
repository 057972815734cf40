"""Clouds, and windows cut from larger pictures."""

from __future__ import annotations

import torch
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.numba_cpu.compiling import F32, compiled
from scuff.kernels.threads import each_image


@compiled
def _plasma(noise, decay, height):
    size = noise.shape[0]
    wrap = size - 1  # a power of two less one: `& wrap` is the remainder
    height[0, 0] = F32(0.0)
    step, amplitude = size, 100.0
    while step >= 2:
        half, power = step // 2, F32(amplitude * amplitude)
        for i in range(0, size, step):
            below = (i + step) & wrap
            for j in range(0, size, step):
                right = (j + step) & wrap
                mean = (height[i, j] + height[below, j] + height[i, right] + height[below, right]) * F32(0.25)
                height[i + half, j + half] = mean + power * noise[i + half, j + half]
        for i in range(0, size, step):
            below, up = (i + step) & wrap, (i - half) & wrap
            for j in range(0, size, step):
                right, left = (j + step) & wrap, (j - half) & wrap
                centre, corner = height[i + half, j + half], height[i, j]
                mean = (centre + height[up, j + half] + corner + height[i, right]) * F32(0.25)
                height[i, j + half] = mean + power * noise[i, j + half]
                mean = (centre + height[i + half, left] + corner + height[below, j]) * F32(0.25)
                height[i + half, j] = mean + power * noise[i + half, j]
        step, amplitude = half, amplitude / decay
    low, high = height.min(), height.max()
    for i in range(size):
        for j in range(size):
            height[i, j] = (height[i, j] - low) / (high - low)


@kernel
def plasma(noise: Tensor, decay: float) -> Tensor:
    out = torch.empty(noise.shape)
    source, target = noise.contiguous().numpy(), out.numpy()
    each_image(lambda i: _plasma(source[i], decay, target[i]), len(noise))
    return out


@kernel
def crop_windows(table: Tensor, which: Tensor, top: Tensor, left: Tensor, height: int, width: int) -> Tensor:
    """Slices are copied whole rows at a time; a gather would look up every pixel."""
    out = torch.empty(len(which), table.shape[1], height, width)
    places = list(zip(which.tolist(), top.tolist(), left.tolist(), strict=True))

    def work(i: int) -> None:
        texture, row, column = places[i]
        out[i] = table[texture, :, row : row + height, column : column + width]

    each_image(work, len(places))
    return out
