"""Smooth reads at real coordinates, summed: four planes side by side, so that one load fetches a tap of all of them."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.triton_gpu.launching import launch

LANES = 256
PLANES = 4


@triton.jit
def _cubic_weights(t):
    """See `scuff.kernels.splines`."""
    near = 1.0 - t
    a, b = near * near * near * (1.0 / 6.0), 2.0 / 3.0 - t * t * (1.0 - 0.5 * t)
    return a, b, 2.0 / 3.0 - near * near * (1.0 - 0.5 * near), t * t * t * (1.0 / 6.0)


@triton.jit
def _mix(at, inside, a, b, c, d, PLANES: tl.constexpr):
    """Four taps along a row."""
    mixed = a * tl.load(at, mask=inside, other=0.0) + b * tl.load(at + PLANES, mask=inside, other=0.0)
    at += 2 * PLANES
    return mixed + c * tl.load(at, mask=inside, other=0.0) + d * tl.load(at + PLANES, mask=inside, other=0.0)


@triton.jit
def _sum_reads_kernel(
    source, rows, columns, weights, out, planes, count, sets, tall, wide, LANES: tl.constexpr, PLANES: tl.constexpr
):
    """`source` is (groups, tall, wide, PLANES), `out` is (planes, count)."""
    group = tl.program_id(0).to(tl.int64)
    source += group * PLANES * tall * wide + tl.arange(0, PLANES)[None, :]
    plane = group * PLANES + tl.arange(0, PLANES)[None, :]
    place = tl.program_id(1) * LANES + tl.arange(0, LANES)[:, None]
    total = tl.zeros((LANES, PLANES), tl.float32)
    for k in range(sets):
        y = tl.load(rows + k * count + place, mask=place < count, other=-1.0)
        x = tl.load(columns + k * count + place, mask=place < count, other=-1.0)
        inside = (y >= 0.0) & (y <= tall - 4) & (x >= 0.0) & (x <= wide - 4)
        top, left = tl.floor(y), tl.floor(x)
        p, q, r, s = _cubic_weights(y - top)
        a, b, c, d = _cubic_weights(x - left)
        at = source + (top.to(tl.int32) * wide + left.to(tl.int32)) * PLANES
        step = wide * PLANES
        read = p * _mix(at, inside, a, b, c, d, PLANES) + q * _mix(at + step, inside, a, b, c, d, PLANES)
        at += 2 * step
        read += r * _mix(at, inside, a, b, c, d, PLANES) + s * _mix(at + step, inside, a, b, c, d, PLANES)
        total += tl.load(weights + k) * read
    tl.store(out + plane * count + place, total, mask=(place < count) & (plane < planes))


@kernel
def sum_spline_reads(padded: Tensor, rows: Tensor, columns: Tensor, weights: Tensor) -> Tensor:
    n, channels, tall, wide = padded.shape
    out = torch.empty(n, channels, *rows.shape[1:], device=padded.device)
    planes, count = n * channels, rows.shape[1:].numel()
    groups = triton.cdiv(planes, PLANES)
    source = torch.nn.functional.pad(padded.flatten(0, 1), (0, 0, 0, 0, 0, groups * PLANES - planes))
    source = source.unflatten(0, (groups, PLANES)).permute(0, 2, 3, 1).contiguous()
    return launch(
        _sum_reads_kernel, (groups, triton.cdiv(count, LANES)), out,
        source, rows.contiguous(), columns.contiguous(), weights.contiguous(), out,
        planes, count, len(rows), tall, wide, LANES=LANES, PLANES=PLANES, num_warps=LANES // 32,
    )  # fmt: skip
