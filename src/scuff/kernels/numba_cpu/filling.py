"""Fill a batch image by image, by a compiled loop for one of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor

from scuff.kernels.numba_cpu.sharing import call_on_threads, names_of, shareable


def fill(out: Tensor, loop: Callable, *arguments: Any, scratch: Callable[[], tuple] | None = None) -> Tensor:
    """Fill a batch image by image, on several threads: `loop(*arguments, *scratch, image)`. Returns `out`.

    A tensor among the arguments has a row for each image, or a single one that they share; anything else is handed on
    as it is. `scratch` makes the arrays that a thread uses again for each of its images.
    """
    given = [x.contiguous().numpy() if isinstance(x, Tensor) else x for x in arguments]
    whole = _over_images(loop, tuple(isinstance(x, Tensor) for x in arguments))
    call_on_threads(whole, len(out), (out.numpy(), *given), scratch=scratch)
    return out


@cache
def _over_images(loop: Any, have_rows: tuple[bool, ...]) -> Callable:
    """The loop for some rows of the result, which comes first, and of the arguments that have rows.

    Images go through a compiled loop as well: calls from Python would take longer than small images.
    """
    names = names_of(loop.py_func.__code__.co_argcount)
    out, *given = names
    rows = [*have_rows, *[False] * (len(given) - len(have_rows))]
    taken = [f"{a}[row if len({a}) > 1 else 0]" if has_rows else a for a, has_rows in zip(given, rows, strict=True)]
    body = f" for row in range(start, stop):\n  each({', '.join([*taken, f'{out}[row]'])})"
    return shareable(loop, "over_images", names, body)


def fill_pixels(
    pixels: Tensor,
    loop: Callable,
    *arguments: Any,
    size: Sequence[int] = (),
    scratch: Callable[[], tuple] | None = None,
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
