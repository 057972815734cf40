"""Small tables of numbers on a device, copied there once: a copy from the host makes it wait for the device."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache, wraps
from typing import Any, TypeVar, cast

import torch
from torch import Tensor

Table = TypeVar("Table", bound=Callable[..., Any])

_used: ContextVar[list[Any] | None] = ContextVar("_used", default=None)


def remembered(most: int) -> Callable[[Table], Table]:
    """`lru_cache(most)` for a function that makes tables on a device. Tables are shared: never write into them.

    While a call is recorded, its tables must be there already.
    """

    def decorate(function: Table) -> Table:
        found = lru_cache(most)(function)

        @wraps(function)
        def find(*args: Any, **options: Any) -> Any:
            used = _used.get()
            if used is None:
                return found(*args, **options)
            made = found.cache_info().misses
            used.append(found(*args, **options))
            if found.cache_info().misses > made:  # it was written down how to fill the table, and not done
                found.cache_clear()
                raise RuntimeError(f"a table of {function.__name__} was made while its use was recorded")
            return used[-1]

        return cast(Table, find)

    return decorate


@contextmanager
def noting_tables() -> Iterator[list[Any]]:
    """A list that fills with the tables that are used inside the block: who keeps it keeps them."""
    token = _used.set([])
    try:
        yield cast(list[Any], _used.get())
    finally:
        _used.reset(token)


@remembered(1024)
def constant(values: tuple, device: torch.device, dtype: torch.dtype = torch.float32) -> Tensor:
    """`torch.tensor(values)`, remembered.

    >>> constant(((1, 2), (3, 4)), torch.device("cpu")).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    return torch.tensor(values, dtype=dtype, device=device)
