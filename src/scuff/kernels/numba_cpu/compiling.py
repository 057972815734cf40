"""How loops are compiled and run: without the GIL, kept on disk where that is possible.

A product is rounded before it is added, on every processor, unless a loop says `fma`: the compiler fuses nothing by
itself. So what a loop computes follows from its text alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, reduce
from types import FunctionType
from typing import Any

import numpy as np
import torch
from numba import njit, types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.core.imputils import impl_ret_borrowed
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array
from torch import Tensor

from scuff.kernels.threads import over_images

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


def fill(out: Tensor, loop: Callable, *arguments: Any, scratch: Callable[[], tuple] = tuple) -> Tensor:
    """Fill a batch image by image, on several threads: `loop(*arguments, *scratch, image)`. Returns `out`.

    A tensor among the arguments has a row for each image, or a single one that they share; anything else is handed on
    as it is. `scratch` makes the arrays that a thread uses again for each of its images.

    Images go through a compiled loop as well. From one call of Python to the next, threads would wait for each other's
    turn with the GIL: two of them took longer than one for images of 32 pixels.
    """
    whole = _over_rows(loop, tuple(isinstance(x, Tensor) for x in arguments))
    given = [x.contiguous().numpy() if isinstance(x, Tensor) else x for x in arguments]
    target = out.numpy()
    over_images(lambda start, stop: whole(start, stop, *given, *scratch(), target), len(out))
    return out


@cache
def _over_rows(loop: Any, have_rows: tuple[bool, ...]) -> Callable:
    """`loop` for rows `start` to `stop`: of the arguments that have rows, and of the last one, which is the result.

    The loop becomes a part of what is compiled. Numba looks for what it has kept by the place and the bytes of a
    function, and by what it encloses, which for another function differs from process to process. So each loop gets a
    function of its own, which finds it as a global name, and has a name and a place in its file.
    """
    plain = loop.py_func
    count = plain.__code__.co_argcount
    rows = [*have_rows, *[False] * (count - 1 - len(have_rows)), True]
    taken = [f"a{k}[row if len(a{k}) > 1 else 0]" if has_rows else f"a{k}" for k, has_rows in enumerate(rows)]
    given = "".join(f", a{k}" for k in range(count))
    text = f"def over_rows(start, stop{given}):\n for row in range(start, stop):\n  loop({', '.join(taken)})"
    place = {"co_filename": plain.__code__.co_filename, "co_firstlineno": plain.__code__.co_firstlineno}
    name = f"{plain.__name__}_over_rows"
    code = compile(text, name, "exec").co_consts[0].replace(co_name=name, co_qualname=name, **place)
    return compiled(FunctionType(code, {"loop": inlined(plain), "__name__": plain.__module__}, name))


def fill_pixels(
    pixels: Tensor, loop: Callable, *arguments: Any, size: Sequence[int] = (), scratch: Callable[[], tuple] = tuple
) -> Tensor:
    """`fill` a new batch of bytes from another: both have a pixel's channels side by side, (H, W, C).

    That is the order in which pictures usually come: then nothing is copied. The result, (N, C, *size), has it too.
    """
    n, channels, *sides = pixels.shape
    out = torch.empty(n, *(size or sides), channels, dtype=torch.uint8)
    return fill(out, loop, pixels.permute(0, 2, 3, 1), *arguments, scratch=scratch).permute(0, 3, 1, 2)


def per_plane(rows: Tensor, channels: int) -> Tensor:
    """What images need, one row each, for each of their channels; a row that all share stays one."""
    return rows.repeat_interleave(channels, 0) if len(rows) > 1 else rows
