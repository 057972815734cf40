"""How loops are compiled and run: without the GIL, kept on disk where that is possible.

A product is rounded before it is added, on every processor, unless a loop says `fma`: the compiler fuses nothing by
itself. So what a loop computes follows from its text alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
from numba import njit, types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.core.imputils import impl_ret_borrowed
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
F32 = np.float32
INDEX = np.uintp  # an unsigned index spares the compiler the question whether it counts from the end


def compiled(function: Callable) -> Callable:
    """Compile on first call, and keep the result beside the source or in the user's cache.

    Where neither can be written (a read-only installation without a home), every process compiles for itself. What is
    kept is compiled again when the file of the loop changes, but not when one that it takes helpers from does.
    """
    try:
        return njit(cache=True, **OPTIONS)(function)
    except RuntimeError:
        return njit(**OPTIONS)(function)


inlined = njit(inline="always")  # for small helpers: LLVM does not vectorise a loop around a call


@compiled
def copy(source, target):
    """A loop becomes a copy of memory. Numba's own `target[:] = source` takes twenty times as long to run.

    Besides, it takes three seconds to compile, as does `a, b = pairs[i]`: both can fail, and compose a message then.
    """
    for k in range(INDEX(source.size)):
        target[k] = source[k]


@intrinsic
def fma(typing_context, a, b, c):
    """a * b + c of three float32 numbers, rounded once; an instruction, or where there is none a call."""

    def generate(context, builder, signature, arguments):
        return builder.fma(*arguments)

    return types.float32(types.float32, types.float32, types.float32), generate


def _in_other_axes(kept: int) -> Callable:
    """The function that sees an array with its first axes kept, as many as `kept`, and all others as one.

    Numba's own `reshape` can fail, and takes a quarter of a second to compile; this takes nothing.
    """

    @intrinsic
    def seen(typing_context, array):
        if array.layout != "C":
            raise TypingError(f"the values of {array} do not lie side by side")
        result = types.Array(array.dtype, kept + 1, "C", readonly=not array.mutable)

        def generate(context, builder, signature, arguments):
            source = context.make_array(array)(context, builder, arguments[0])
            target = context.make_array(result)(context, builder)
            sides, steps = (cgutils.unpack_tuple(builder, each, array.ndim) for each in (source.shape, source.strides))
            last = reduce(builder.mul, sides[kept:])
            shape, strides = ([*each[:kept], end] for each, end in ((sides, last), (steps, source.itemsize)))
            packed = (cgutils.pack_array(builder, each) for each in (shape, strides))
            populate_array(target, source.data, *packed, source.itemsize, source.meminfo, source.parent)
            return impl_ret_borrowed(context, builder, result, target._getvalue())

        return result(array), generate

    return seen


values_of, lines_of = _in_other_axes(0), _in_other_axes(1)


INVERSE = F32(1 / 255)
REST = F32(1 / 255 - float(INVERSE))


@inlined
def byte_to_unit(byte):
    """byte / 255, rounded correctly for all 256 of them; quotients take processors several times as long."""
    return fma(F32(byte), INVERSE, F32(byte) * REST)
