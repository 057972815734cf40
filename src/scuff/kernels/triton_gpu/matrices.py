"""Filters as matrices: between products, which the library makes, each step is one pass in float64."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.reference.matrices import UNIT
from scuff.kernels.triton_gpu.launching import blocks, launch

LANES = 1024


@triton.jit
def _scale_kernel(x, out, count, SCALE: tl.constexpr, WHOLE: tl.constexpr, LANES: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * LANES + tl.arange(0, LANES)
    value = tl.load(x + at, mask=at < count, other=0.0).to(tl.float64) * SCALE
    if WHOLE:
        value = tl.floor(value)
    tl.store(out + at, value.to(out.dtype.element_ty), mask=at < count)


def _scaled(x: Tensor, out: Tensor, scale: float, **options: Any) -> Tensor:
    """A power of two times x, into `out`, which may be x itself."""
    count = x.numel()
    return launch(_scale_kernel, (blocks(count, LANES),), out, x, out, count, SCALE=scale, LANES=LANES, **options)


@kernel
def blur_by_matrices(x: Tensor, down: Tensor, across: Tensor) -> Tensor:
    x = x.contiguous()
    whole = _scaled(x, torch.empty(x.shape, dtype=torch.float64, device=x.device), 2.0**UNIT, WHOLE=True)
    rows = down @ whole
    del whole  # before the next product takes as much
    both = _scaled(rows, rows, 2.0**-UNIT, WHOLE=True) @ across.mT
    return _scaled(both.contiguous(), torch.empty_like(x), 2.0 ** (-2 * UNIT), WHOLE=False)
