"""How loops are compiled and run: without the GIL, kept on disk where that is possible.

A product is rounded before it is added, on every processor, unless a loop says `fma`: the compiler fuses nothing by
itself. So what a loop computes follows from its text alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from types import FunctionType
from typing import Any

import numpy as np
import torch
from numba import njit, types
from numba.extending import intrinsic, overload
from torch import Tensor

from scuff.kernels.threads import over_images

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
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
    given = [x.contiguous().numpy() if isinstance(x, Tensor) else (x,) for x in arguments]
    whole, target = _over_rows(loop), out.numpy()
    over_images(lambda start, stop: whole(start, stop, *given, *zip(scratch()), target), len(out))
    return out


def _for_each_row(start, stop, *given):
    for place in range(start, stop):
        loop(*row_of_each(given, place))  # type: ignore[name-defined]  # noqa: F821


@cache
def _over_rows(loop: Any) -> Callable:
    """`loop` for rows `start` to `stop` of what it is given, as compiled code that is kept beside that of `loop`.

    Numba looks for what is kept by the place and the bytes of a function, and by what it encloses, which for another
    compiled function differs from process to process. So each loop gets a function of its own, which finds the loop as
    a global name, and has a name and a place in the loop's file.
    """
    plain = loop.py_func
    name, lines = f"{plain.__name__}_over_rows", plain.__code__
    code = _for_each_row.__code__.replace(
        co_name=name, co_qualname=name, co_filename=lines.co_filename, co_firstlineno=lines.co_firstlineno
    )
    function = FunctionType(code, {"loop": loop, "row_of_each": row_of_each, "__name__": plain.__module__}, name)
    return compiled(function)


def row_of(values: Any, place: int) -> Any:
    """A row of an array, or its only one; of a tuple what is in it."""


@overload(row_of)
def _row_of(values, place):
    if isinstance(values, types.BaseTuple):
        return lambda values, place: values[0]
    return lambda values, place: values[place if len(values) > 1 else 0]


def row_of_each(given: tuple, place: int) -> tuple:
    """`row_of` for each of a tuple, which may be of different types: so it is written out, as long as the tuple is."""


@overload(row_of_each)
def _row_of_each(given, place):
    rows = "".join(f"row_of(given[{k}], place)," for k in range(len(given)))
    written: dict[str, Any] = {"row_of": row_of}
    exec(f"def rows(given, place): return ({rows})", written)
    return written["rows"]


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
