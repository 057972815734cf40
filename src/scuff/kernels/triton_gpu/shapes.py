"""Polygons: every pixel asks every edge."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.triton_gpu.launching import launch

LANES = 1024


@triton.jit
def _polygons_kernel(corners, count, out, polygons, vertices, height, width, LANES: tl.constexpr):
    image = tl.program_id(1).to(tl.int64)
    at = tl.program_id(0) * LANES + tl.arange(0, LANES)
    i, j = at // width, at % width
    covered = tl.zeros((LANES,), tl.int32)
    for p in range(tl.minimum(tl.load(count + image), polygons)):
        base = corners + (image * polygons + p) * vertices * 2
        inside, outline = tl.zeros((LANES,), tl.int32), tl.zeros((LANES,), tl.int32)
        for k in range(vertices):
            following = (k + 1) % vertices
            y0, x0 = tl.load(base + 2 * k), tl.load(base + 2 * k + 1)
            y1, x1 = tl.load(base + 2 * following), tl.load(base + 2 * following + 1)
            cross = (j - x0) * (y1 - y0) - (i - y0) * (x1 - x0)
            crosses = ((y0 <= i) != (y1 <= i)) & ((cross < 0) == (y1 > y0)) & (cross != 0)
            inside ^= crosses.to(tl.int32)
            beside = (tl.minimum(y0, y1) <= i) & (i <= tl.maximum(y0, y1))
            beside = beside & (tl.minimum(x0, x1) <= j) & (j <= tl.maximum(x0, x1))
            longer = tl.maximum(tl.abs(x1 - x0), tl.abs(y1 - y0))
            outline |= (beside & (2 * tl.abs(cross) <= longer)).to(tl.int32)
        covered |= inside | outline
    tl.store(out + image * height * width + at, covered.to(tl.uint8), mask=at < height * width)


@kernel
def fill_polygons(corners: Tensor, count: Tensor, height: int, width: int) -> Tensor:
    n, polygons, vertices, _ = corners.shape
    out = torch.empty(n, height, width, dtype=torch.uint8, device=corners.device)
    return launch(
        _polygons_kernel, (triton.cdiv(height * width, LANES), n), out,
        corners.contiguous(), count.contiguous(), out, polygons, vertices, height, width, LANES=LANES,
    ).bool()  # fmt: skip
