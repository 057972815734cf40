"""Smooth reads at real coordinates, summed: weights are worked out once for all channels."""

from __future__ import annotations

import torch
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.numba_cpu.compiling import F32, INDEX, compiled, inlined
from scuff.kernels.threads import each_image

ONE, TWO, THREE = INDEX(1), INDEX(2), INDEX(3)


@inlined
def _cubic_weights(t):
    """See `scuff.kernels.splines`."""
    near = F32(1.0) - t
    return (
        near * near * near * F32(1.0 / 6.0),
        F32(2.0 / 3.0) - t * t * (F32(1.0) - F32(0.5) * t),
        F32(2.0 / 3.0) - near * near * (F32(1.0) - F32(0.5) * near),
        t * t * t * F32(1.0 / 6.0),
    )


@inlined
def _mix(plane, at, a, b, c, d):
    return a * plane[at] + b * plane[at + ONE] + c * plane[at + TWO] + d * plane[at + THREE]


@compiled
def _sum_reads(planes, wide, rows, columns, weights, out):
    """`planes` (C, tall * wide) are one padded picture."""
    tall, step = planes.shape[1] // wide, INDEX(wide)
    out[:] = F32(0.0)
    for i in range(out.shape[1]):
        for s in range(len(weights)):
            for j in range(out.shape[2]):
                y, x = rows[s, i, j], columns[s, i, j]
                if 0.0 <= y <= tall - 4 and 0.0 <= x <= wide - 4:
                    first = INDEX(int(y) * wide + int(x))
                    second, third = first + step, first + TWO * step
                    fourth = third + step
                    p, q, r, t = _cubic_weights(y - F32(int(y)))
                    a, b, c, d = _cubic_weights(x - F32(int(x)))
                    for k in range(len(planes)):
                        plane = planes[k]
                        read = p * _mix(plane, first, a, b, c, d) + q * _mix(plane, second, a, b, c, d)
                        read += r * _mix(plane, third, a, b, c, d) + t * _mix(plane, fourth, a, b, c, d)
                        out[k, i, j] += weights[s] * read


@kernel
def sum_spline_reads(padded: Tensor, rows: Tensor, columns: Tensor, weights: Tensor) -> Tensor:
    n, channels, _, wide = padded.shape
    out = torch.empty(n, channels, *rows.shape[1:])
    source, target = padded.contiguous().flatten(2).numpy(), out.numpy()
    points = [t.contiguous().numpy() for t in (rows, columns, weights)]
    each_image(lambda i: _sum_reads(source[i], wide, *points, target[i]), n)
    return out
