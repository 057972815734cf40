"""The sequential halves of Canny and of the distance transform: a flood fill and a two-pass chamfer."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.numba_cpu.compiling import compiled
from scuff.kernels.threads import each_image


@compiled
def _flood(weak, strong, kept):
    height, width = weak.shape
    stack = np.empty((height * width, 2), np.int32)
    top = 0
    for i in range(height):
        for j in range(width):
            if strong[i, j] and weak[i, j]:
                kept[i, j] = True
                stack[top, 0], stack[top, 1] = i, j
                top += 1
    while top > 0:
        top -= 1
        i, j = stack[top, 0], stack[top, 1]
        for y in range(max(i - 1, 0), min(i + 2, height)):
            for x in range(max(j - 1, 0), min(j + 2, width)):
                if weak[y, x] and not kept[y, x]:
                    kept[y, x] = True
                    stack[top, 0], stack[top, 1] = y, x
                    top += 1


@kernel
def link_edges(weak: Tensor, strong: Tensor) -> Tensor:
    out = torch.zeros_like(weak)
    w, s, kept = weak.contiguous().numpy(), strong.contiguous().numpy(), out.numpy()
    each_image(lambda i: _flood(w[i], s[i], kept[i]), len(weak))
    return out


@compiled
def _sweep(distance, i, j, sign):
    """Relax (i, j) against the eight chamfer neighbours that a scan in direction `sign` has already left behind."""
    height, width = distance.shape
    best = distance[i, j]
    for dy, dx, step in (
        (0, -1, 1.0), (-1, 0, 1.0), (-1, -1, 1.4), (-1, 1, 1.4),
        (-1, -2, 2.1969), (-1, 2, 2.1969), (-2, -1, 2.1969), (-2, 1, 2.1969),
    ):  # fmt: skip
        y, x = i + sign * dy, j + sign * dx
        if 0 <= y < height and 0 <= x < width:
            best = min(best, distance[y, x] + np.float32(step))
    distance[i, j] = best


@compiled
def _chamfer(edges, distance, cap):
    height, width = edges.shape
    for i in range(height):
        for j in range(width):
            distance[i, j] = np.float32(0.0) if edges[i, j] else cap
            _sweep(distance, i, j, 1)
    for i in range(height - 1, -1, -1):
        for j in range(width - 1, -1, -1):
            _sweep(distance, i, j, -1)


@kernel
def chamfer_distance(edges: Tensor, cap: float) -> Tensor:
    out = torch.empty(edges.shape, dtype=torch.float32)
    source, target = edges.contiguous().numpy(), out.numpy()
    each_image(lambda i: _chamfer(source[i], target[i], np.float32(cap)), len(edges))
    return out
