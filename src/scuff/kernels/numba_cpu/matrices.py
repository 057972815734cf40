"""Wide filters as matrices: products with half of each.

Filters treat both ends of a line alike, so that a matrix turned by half a turn is itself. What is even about the middle
of a line then stays even, and what is odd stays odd: two products of a quarter of the size do for one. Sums of whole
numbers are exact, so these have the bits of the full ones.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from scuff.kernels.dispatch import KERNELS, kernel
from scuff.kernels.numba_cpu.compiling import F32, compiled
from scuff.kernels.numba_cpu.filling import fill
from scuff.kernels.reference.matrices import UNIT

F64 = np.float64
ONE = 2.0**UNIT
TOGETHER = 4  # planes for each thread: what they need stays in its cache


def _halves(matrix: Tensor) -> Tensor | None:
    """What a matrix (L, L) does to even and to odd lines, (2, L / 2, L / 2), halved; None if it does not part them."""
    half = len(matrix) // 2
    if len(matrix) % 2 or not torch.equal(matrix, matrix.flip((0, 1))):
        return None
    near, far = matrix[:half, :half], matrix[:half, half:].flip(1)
    return 0.5 * torch.stack((near + far, near - far))


@compiled
def _fold_down(x, parts):
    """Pixels in whole units, as what is even and odd about the middle row."""
    height, width = x.shape
    for r in range(height // 2):
        above, below, even, odd = x[r], x[height - 1 - r], parts[0, r], parts[1, r]
        for c in range(width):
            a, b = np.floor(F64(above[c]) * ONE), np.floor(F64(below[c]) * ONE)
            even[c], odd[c] = a + b, a - b


@compiled
def _fold_across(parts, line, out):
    """Rows from what is even and odd about the middle one, rounded down; themselves folded about the middle column."""
    half, width = parts.shape[1:]
    for r in range(2 * half):
        sign = 1.0 if r < half else -1.0
        even, odd = (parts[0, r], parts[1, r]) if r < half else (parts[0, 2 * half - 1 - r], parts[1, 2 * half - 1 - r])
        for c in range(width):
            line[c] = np.floor((even[c] + sign * odd[c]) * (1.0 / ONE))
        even, odd = out[0, r], out[1, r]
        for c in range(width // 2):
            even[c], odd[c] = line[c] + line[width - 1 - c], line[c] - line[width - 1 - c]


@compiled
def _unfold(parts, out):
    height, width = out.shape
    for r in range(height):
        even, odd, target = parts[0, r], parts[1, r], out[r]
        for c in range(width // 2):
            target[c] = F32((even[c] + odd[c]) * (1.0 / (ONE * ONE)))
            target[width - 1 - c] = F32((even[c] - odd[c]) * (1.0 / (ONE * ONE)))


@kernel
def blur_by_matrices(x: Tensor, down: Tensor, across: Tensor) -> Tensor:
    rows, columns = _halves(down), _halves(across)
    if rows is None or columns is None or x.numel() == 0:
        return KERNELS["reference", "blur_by_matrices"](x, down, across)
    height, width = x.shape[-2:]
    planes, out = x.flatten(0, 1), torch.empty(x.shape)
    together = TOGETHER * torch.get_num_threads()
    for some, target in zip(planes.split(together), out.flatten(0, 1).split(together), strict=True):
        parts = torch.empty(len(some), 2, height // 2, width, dtype=torch.float64)
        lines = torch.empty(len(some), 2, height, width // 2, dtype=torch.float64)
        fill(parts, _fold_down, some)
        fill(lines, _fold_across, rows @ parts, scratch=lambda: (np.empty(width),))
        fill(target, _unfold, lines @ columns.mT)
    return out
