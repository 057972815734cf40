"""Filters that are as wide as the image, as matrices."""

from __future__ import annotations

from torch import Tensor

from scuff.kernels import portable
from scuff.kernels.dispatch import kernel

__all__ = ["blur_by_matrices"]

UNIT = 24  # bits behind the point; weights sum to 1, so that sums of products have 48 and are exact


@kernel
def blur_by_matrices(x: Tensor, down: Tensor, across: Tensor) -> Tensor:
    """Filter float32 (N, C, H, W) by matrices (H, H) and (W, W) of whole numbers in float64, in units of 2**-UNIT.

    Pixels are made whole too, so that neither the batch size nor a library's choice of plan shows in the result.
    """
    rows = (down @ portable.whole(x, UNIT)).mul_(2.0**-UNIT).floor_()
    return (rows @ across.mT).mul_(2.0 ** (-2 * UNIT)).float()
