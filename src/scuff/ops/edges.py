"""Edges by OpenCV's Canny, in batched integers."""

from __future__ import annotations

from torch import Tensor

from scuff import kernels


def canny(levels: Tensor, low: int, high: int) -> Tensor:
    """Edges (bool) of int32 levels (N, H, W): Sobel, L1 magnitude, non-maximum suppression, hysteresis."""
    steepness = kernels.thin_edges(levels)
    return kernels.link_edges(steepness > low, steepness > high)
