"""How loops are compiled: without the GIL, kept on disk where that is possible, multiply-adds fused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
F32 = np.float32
INDEX = np.uintp  # an unsigned index spares the compiler the question whether it counts from the end


def compiled(function: Callable) -> Callable:
    """Compile on first call, and keep the result beside the source or in the user's cache.

    Where neither can be written (a read-only installation without a home), every process compiles for itself.
    """
    return _compiled(function, fastmath={"contract"})


def compiled_unfused(function: Callable) -> Callable:
    """The same, but a product is rounded before it is added, as in torch: for real numbers that end as whole ones."""
    return _compiled(function)


def _compiled(function: Callable, **options: Any) -> Callable:
    try:
        return njit(cache=True, **OPTIONS, **options)(function)
    except RuntimeError:
        return njit(**OPTIONS, **options)(function)


inlined = njit(inline="always")  # for small helpers: LLVM does not vectorise a loop around a call
