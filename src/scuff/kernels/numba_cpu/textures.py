"""Fields of numbers, a row at a time: nothing is kept per pixel and corner."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.numba_cpu.compiling import F32, INDEX, compiled, fill

LAST = np.int64(255)


@compiled
def _perlin(gradients, order, side, cells, shares, across, out):
    """`cells`, `shares` and `across` are scratch: what an octave needs to know about each column."""
    out[:] = F32(0.0)
    down, right = gradients[:, 0], gradients[:, 1]
    for octave in range(5):
        scale = F32(1 << octave)
        for j in range(cells.size):
            at = F32(7.0) * scale * F32(j) / side
            cell = np.floor(at)
            w = at - cell
            cells[j], shares[j], across[j] = np.int64(cell), w, w * w * (F32(3.0) - F32(2.0) * w)
        for i in range(out.shape[0]):
            at = F32(7.0) * scale * F32(i) / side
            row = np.int64(np.floor(at))
            u = at - F32(row)
            along, v = u * u * (F32(3.0) - F32(2.0) * u), u - F32(1.0)
            above, below, line = order[row & LAST], order[(row + 1) & LAST], out[i]
            for j in range(cells.size):
                w, column = shares[j], cells[j]
                z, beside = w - F32(1.0), column + 1
                a, b = INDEX(order[(above + column) & LAST]), INDEX(order[(above + beside) & LAST])
                c, d = INDEX(order[(below + column) & LAST]), INDEX(order[(below + beside) & LAST])
                near, far = down[a] * u + right[a] * w, down[b] * u + right[b] * z
                near += along * (down[c] * v + right[c] * w - near)
                far += along * (down[d] * v + right[d] * z - far)
                line[j] += abs(F32(1.5) * (near + across[j] * (far - near))) / scale


@kernel
def perlin_turbulence(gradients: Tensor, order: Tensor, height: int, width: int) -> Tensor:
    def scratch() -> tuple[np.ndarray, ...]:
        return np.empty(width, np.int64), np.empty(width, F32), np.empty(width, F32)

    out = torch.empty(len(order), height, width)
    return fill(out, _perlin, gradients, order, F32(min(height, width)), scratch=scratch)
