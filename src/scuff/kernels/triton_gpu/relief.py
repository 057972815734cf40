"""Edges and relief of planes, a pixel in registers from the window that it reads; equal to the reference's."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.triton_gpu.filters import mirrored
from scuff.kernels.triton_gpu.launching import blocks, launch
from scuff.kernels.triton_gpu.pixels import level_counts

LANES, WIDE_LANES = 512, 2048


@triton.jit
def _gradient(levels, i, j, height, width):
    """Sobel's, across and down; edges repeat."""
    above, below = tl.maximum(i - 1, 0) * width, tl.minimum(i + 1, height - 1) * width
    left, right, here = tl.maximum(j - 1, 0), tl.minimum(j + 1, width - 1), i * width
    a, b, c = tl.load(levels + above + left), tl.load(levels + above + j), tl.load(levels + above + right)
    g, h, k = tl.load(levels + below + left), tl.load(levels + below + j), tl.load(levels + below + right)
    across = c + 2 * tl.load(levels + here + right) + k - a - 2 * tl.load(levels + here + left) - g
    return across, g + 2 * h + k - a - 2 * b - c


@triton.jit
def _steepness(levels, i, j, height, width):
    """The magnitude of the gradient, 0 outside of the plane."""
    inside = (i >= 0) & (i < height) & (j >= 0) & (j < width)
    gx, gy = _gradient(levels, tl.where(inside, i, 0), tl.where(inside, j, 0), height, width)
    return tl.where(inside, tl.abs(gx) + tl.abs(gy), 0)


@triton.jit
def _edges_kernel(levels, out, height, width, LANES: tl.constexpr):
    """Only the two neighbours along the gradient are looked at."""
    plane = tl.program_id(0).to(tl.int64) * height * width
    at = tl.program_id(1) * LANES + tl.arange(0, LANES)
    place = tl.minimum(at, height * width - 1)
    i, j = place // width, place % width
    levels += plane
    gx, gy = _gradient(levels, i, j, height, width)
    m, t, a = tl.abs(gx) + tl.abs(gy), tl.abs(gx) * 13573, tl.abs(gy) * 32768
    flat, steep = a < t, a > t + tl.abs(gx) * 65536
    dy = tl.where(flat, 0, -1)
    dx = tl.where(flat, -1, tl.where(steep, 0, tl.where((gx ^ gy) < 0, 1, -1)))
    before = _steepness(levels, i + dy, j + dx, height, width)
    beyond = _steepness(levels, i - dy, j - dx, height, width)
    peak = (m > before) & ((m > beyond) | ((flat | steep) & (m == beyond)))
    tl.store(out + plane + at, tl.where(peak, m, 0), mask=at < height * width)


@kernel
def thin_edges(levels: Tensor) -> Tensor:
    levels, (n, height, width) = levels.contiguous(), levels.shape
    out = torch.empty_like(levels)
    return launch(_edges_kernel, (n, blocks(height * width, LANES)), out, levels, out, height, width, LANES=LANES)


@triton.jit
def _nine_kernel(x, out, height, width, EMBOSS: tl.constexpr, LANES: tl.constexpr):
    plane = tl.program_id(0).to(tl.int64) * height * width
    at = tl.program_id(1) * LANES + tl.arange(0, LANES)
    place = tl.minimum(at, height * width - 1)
    i, j = place // width, place % width
    x += plane
    above, below, here = mirrored(i - 1, height) * width, mirrored(i + 1, height) * width, i * width
    left, right = mirrored(j - 1, width), mirrored(j + 1, width)
    a, b, c = tl.load(x + above + left), tl.load(x + above + j), tl.load(x + above + right)
    d, e, f = tl.load(x + here + left), tl.load(x + here + j), tl.load(x + here + right)
    g, h, k = tl.load(x + below + left), tl.load(x + below + j), tl.load(x + below + right)
    if EMBOSS:
        value = tl.minimum(tl.maximum((e + f + h + 2.0 * k) - (2.0 * a + b + d), 0.0), 255.0)
    else:
        value = tl.div_rn(a + b + c + d + e + f + g + h + k, tl.zeros_like(a) + 9.0)
    tl.store(out + plane + at, value, mask=at < height * width)


def _of_nine(x: Tensor, emboss: bool) -> Tensor:
    x, (n, height, width) = x.contiguous(), x.shape
    out, grid = torch.empty_like(x), (n, blocks(height * width, LANES))
    return launch(_nine_kernel, grid, out, x, out, height, width, EMBOSS=emboss, LANES=LANES)


@kernel
def mean_of_nine(plane: Tensor) -> Tensor:
    return _of_nine(plane, False)


@kernel
def emboss(levels: Tensor) -> Tensor:
    return _of_nine(levels, True)


@triton.jit
def _equalise_kernel(levels, table, out, size, LANES: tl.constexpr):
    """A program per image counts its levels, makes a table of them, and sends its pixels through that."""
    image = tl.program_id(0).to(tl.int64)
    levels += image * size
    table += image * 256
    level, counts = tl.arange(0, 256), level_counts(levels, size, LANES)
    least = tl.min(tl.where(counts > 0, level, 256), axis=0)
    lowest = tl.sum(tl.where(level == least, counts, 0), axis=0)
    share = (tl.cumsum(counts, axis=0) - lowest).to(tl.float32)
    scale = tl.div_rn(tl.zeros_like(share) + 1.0, tl.zeros_like(share) + tl.maximum(size - lowest, 1)) * 255.0
    flat = (share * scale + 12582912.0) - 12582912.0  # rounded, halves to even: see `nearest_bytes`
    flat = tl.minimum(tl.maximum(flat, 0.0), 255.0)
    tl.store(table + level, tl.where(lowest == size, level.to(tl.float32), flat))
    tl.debug_barrier()
    for first in range(0, size, LANES):
        at = first + tl.arange(0, LANES)
        old = tl.load(levels + at, mask=at < size, other=0.0).to(tl.int32)
        tl.store(out + image * size + at, tl.load(table + old), mask=at < size)


@kernel
def equalise(levels: Tensor) -> Tensor:
    levels, n = levels.contiguous(), levels.shape[0]
    out, table = torch.empty_like(levels), torch.empty(n, 256, device=levels.device)
    size = levels.shape[1:].numel()
    return launch(_equalise_kernel, (n,), out, levels, table, out, size, LANES=WIDE_LANES, num_warps=8)
