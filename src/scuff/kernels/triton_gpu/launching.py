"""How kernels are launched."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def launch(kernel: Any, grid: tuple[int, ...], out: Tensor, *arguments: Any, **options: Any) -> Tensor:
    """Run a kernel that fills `out`, on its device, unless there is nothing to fill. Returns `out`.

    The compiler fuses no product with a sum: both are rounded, as on a CPU, and `tl.fma` says where they shall not be.
    For the same reason kernels divide by `tl.div_rn` and take roots by `tl.sqrt_rn`; `/` and `tl.sqrt` of float32 are
    approximations. Those of float64 are rounded correctly.
    """
    if out.numel():
        with torch.cuda.device_of(out):
            kernel[grid](*arguments, enable_fp_fusion=False, **options)
    return out
