"""Colour mathematics on (N, C, H, W) in [0, 1]; grey images have C = 1."""

from __future__ import annotations

from torch import Tensor


def luma(x: Tensor) -> Tensor:
    """Perceived lightness .299 R + .587 G + .114 B, with a channel axis of one; grey passes through."""
    if x.shape[1] == 1:
        return x
    return 0.299 * x[:, :1] + 0.587 * x[:, 1:2] + 0.114 * x[:, 2:]
