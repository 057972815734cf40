"""Small tables of numbers on a device, copied there once: a copy from the host makes it wait for the device."""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor


@lru_cache(maxsize=1024)
def constant(values: tuple, device: torch.device, dtype: torch.dtype = torch.float32) -> Tensor:
    """`torch.tensor(values)`, remembered. Shared: never write into it.

    >>> constant(((1, 2), (3, 4)), torch.device("cpu")).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    return torch.tensor(values, dtype=dtype, device=device)
