"""How kernels are launched."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def launch(kernel: Any, grid: tuple[int, ...], out: Tensor, *arguments: Any, **options: Any) -> Tensor:
    """Run a kernel that fills `out`, on its device, unless there is nothing to fill. Returns `out`."""
    if out.numel():
        with torch.cuda.device_of(out):
            kernel[grid](*arguments, **options)
    return out
