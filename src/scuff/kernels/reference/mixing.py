"""Mixtures of images."""

from __future__ import annotations

from torch import Tensor

from scuff.kernels.dispatch import kernel

__all__ = ["mix_bytes"]


@kernel
def mix_bytes(pixels: Tensor, others: Tensor, shares: Tensor) -> Tensor:
    """Images and versions of them, mixed: float32 (N, C, H, W), not rounded.

    `pixels` is uint8 (N, C, H, W), `others` uint8 (L, N, C, H, W). `shares` is float32 (L + 1, N), that of `pixels`
    first. Each product is rounded before it is added, and they are added in this order: bit-equal in every back end.
    """
    own, *theirs = shares[..., None, None, None].unbind(0)
    mixed = pixels * own
    for other, share in zip(others, theirs, strict=True):
        mixed += other * share  # not addcmul: a fused product and sum would be rounded once, and only on some devices
    return mixed
