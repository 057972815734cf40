"""Operations that images have drawn, one after the other: what AutoAugment and RandAugment carry out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from scuff.augment.conventions import Amount
from scuff.kernels.constants import constant
from scuff.random import bernoulli


@dataclass(frozen=True)
class Steps:
    """What N images drew: places in `operations` and the values of these, (N, steps) each."""

    operations: tuple[str, ...]
    which: Tensor
    values: Tensor

    def __iter__(self):
        """The operations and values of all images, step by step: (N,) each."""
        return iter(zip(self.which.unbind(1), self.values.unbind(1), strict=True))


def draw_values(keys: Tensor, amounts: Sequence[Amount], which: Tensor) -> Tensor:
    """The values of operations that are given by their places in `amounts`: float64, (N, steps) like `which`.

    All that is random about them is the sign.
    """

    def of(name: str) -> Tensor:
        return constant(tuple(getattr(amount, name) for amount in amounts), keys.device, torch.float64)[which]

    minus = bernoulli(keys, "sign", which.shape[1:], probability=0.5)
    size = of("size")
    return of("start") + torch.where(minus, -size, size)
