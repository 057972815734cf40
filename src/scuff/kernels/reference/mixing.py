"""Mixtures of images."""

from __future__ import annotations

from torch import Tensor


def mix_bytes(pixels: Tensor, others: Tensor, shares: Tensor) -> Tensor:
    own, *theirs = shares[..., None, None, None].unbind(0)
    mixed = pixels * own
    for other, share in zip(others, theirs, strict=True):
        mixed += other * share  # not addcmul: a fused product and sum would be rounded once, and only on some devices
    return mixed
