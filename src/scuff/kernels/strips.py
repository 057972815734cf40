"""Large pictures a strip at a time: what lies between the steps of a function then takes the room of a strip."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import torch
from torch import Tensor

STRIP = 1 << 21  # values, about: a picture of 800 x 800 pixels

Function = TypeVar("Function", bound=Callable[..., Tensor])


def strips(x: Tensor, axis: int = -2) -> list[slice]:
    """Slices that cover the rows (or another axis) of a batch of large pictures; of others, one slice.

    If possible, they are multiples of 64 long: filters sum so many columns at a time, and of others some twice.

    >>> strips(torch.empty(1, 3, 2000, 3000))[:2]
    [slice(0, 192, None), slice(192, 384, None)]
    """
    length, values = max(1, x.shape[axis]), x[0].numel() if len(x) else 0
    count = max(1, length * STRIP // values) if values > STRIP else length
    if 64 < count < length:
        count -= count % 64
    return [slice(first, first + count) for first in range(0, length, count)]


def in_strips(function: Function) -> Function:
    """Decorate a function of (N, C, H, W) that treats each pixel alone. On a CPU, it gets a few rows at a time.

    So do tensors of as many rows among its other arguments. A GPU has a kernel for it that needs no room.
    """

    @wraps(function)
    def treat(x: Tensor, *others: Any) -> Tensor:
        parts = strips(x) if x.device.type == "cpu" else []
        if len(parts) <= 1:
            return function(x, *others)
        out = torch.empty(x.shape)
        for rows in parts:
            some = [t[:, :, rows] if isinstance(t, Tensor) and t.dim() == 4 else t for t in others]
            out[:, :, rows] = function(x[:, :, rows], *some)
        return out

    return cast(Function, treat)
