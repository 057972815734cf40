"""How kernels are launched."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def launch(kernel: Any, grid: tuple[int, ...], out: Tensor, *arguments: Any, **options: Any) -> Tensor:
    """Run a kernel that fills `out`, on its device, unless there is nothing to fill. Returns `out`.

    The compiler fuses no product with a sum: both are rounded, as on a CPU, except where a kernel says `tl.fma`. For
    the same reason kernels divide float32 by `tl.div_rn` and take its roots by `tl.sqrt_rn`: `/` and `tl.sqrt`
    approximate there. In float64 both are rounded correctly.
    """
    if out.numel():
        if out.get_device() == torch.cuda.current_device():  # as almost always, and sooner told than set
            kernel[grid](*arguments, enable_fp_fusion=False, **options)
        else:
            with torch.cuda.device_of(out):
                kernel[grid](*arguments, enable_fp_fusion=False, **options)
    return out


def blocks(count: int, size: int) -> int:
    """How many blocks of a size hold so many; `triton.cdiv` would take microseconds of the host."""
    return -(-count // size)
