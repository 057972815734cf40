"""Reads between pixels, anywhere: the channels of a pixel are one vector, so that a read fetches four of them.

Where the reads of a row begin, and by which shares, is worked out before: that loop vectorises, and fetching cannot.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.numba_cpu.compiling import F32, INDEX, compiled, inlined, values_of
from scuff.kernels.numba_cpu.filling import fill
from scuff.kernels.numba_cpu.lanes import in_all_lanes, vector_at

FOUR = 4  # channels of a vector
QUAD = ir.VectorType(ir.FloatType(), FOUR)
I32 = np.int32


def _between(builder: Any, near: Any, far: Any, share: Any) -> Any:
    return builder.fadd(near, builder.fmul(in_all_lanes(builder, share, QUAD), builder.fsub(far, near)))


def _mixed(builder: Any, a: Any, b: Any, c: Any, d: Any, across: Any, down: Any) -> Any:
    """Along rows first, then between them."""
    return _between(builder, _between(builder, a, b, across), _between(builder, c, d, across), down)


def _weighed(builder: Any, a: Any, b: Any, c: Any, d: Any, across: Any, down: Any) -> Any:
    """The sum of four by their shares, for reads that may lie outside."""
    up, left = (builder.fsub(ir.Constant(ir.FloatType(), 1.0), share) for share in (down, across))
    total = ir.Constant(QUAD, [0.0] * FOUR)
    for pixel, shares in ((a, (up, left)), (b, (up, across)), (c, (down, left)), (d, (down, across))):
        weight = in_all_lanes(builder, builder.fmul(*shares), QUAD)
        total = builder.fadd(total, builder.fmul(weight, pixel))
    return total


def _reading(mix: Callable) -> Callable:
    """The function that mixes the pixel at `place`, the next one, and the two a `step` after them."""

    @intrinsic
    def read(typing_context, pixels, place, step, across, down, line, at):
        def generate(context, builder, signature, arguments):
            pixels, place, step, across, down, line, at = arguments

            def pixel(start):
                return builder.load(vector_at(context, builder, signature.args[0], pixels, start, QUAD), align=4)

            below, beside = builder.add(place, step), place.type(FOUR)
            four = [pixel(place), pixel(builder.add(place, beside)), pixel(below), pixel(builder.add(below, beside))]
            target = vector_at(context, builder, signature.args[5], line, at, QUAD)
            builder.store(mix(builder, *four, across, down), target, align=4)
            return context.get_dummy_value()

        reals = [types.float32] * 2
        return types.void(pixels, types.uintp, types.uintp, *reals, line, types.uintp), generate

    return read


_read_mixed, _read_weighed = _reading(_mixed), _reading(_weighed)


@inlined
def _within(at, low, high):
    at = at if at > low else low
    return at if at < high else high


@compiled
def _plan(at, length, edge, black, starts, shares):
    """The first of two pixels of each read along one axis, and the share of the second; see the reference."""
    last = F32(length - 1)
    if black:
        for j in range(at.size):
            y = _within(at[j], F32(-1.0), last + F32(1.0))
            starts[j], shares[j] = I32(np.floor(y)), y - np.floor(y)
    else:
        period = F32(2.0) * (last + F32(2.0) * edge)
        period = period if period > F32(1.0) else F32(1.0)  # of a single pixel, where all reads are of it
        for j in range(at.size):
            beyond = abs(at[j] + edge)
            beyond = beyond - period * np.floor(beyond / period)
            beyond = (beyond if beyond < period - beyond else period - beyond) - edge
            y = _within(beyond if (at[j] < -edge) | (at[j] > last + edge) else at[j], F32(0.0), last)
            starts[j], shares[j] = I32(y), y - np.floor(y)


@compiled
def to_quads(image, pixels):
    """A picture with channels side by side, in a black frame: one pixel before, two after, so that reads find four.

    The last channel also fills the places of those that there are not.
    """
    channels, height, width = image.shape
    last = channels - 1
    for i in range(height):
        a, b, c, d = image[0, i], image[min(1, last), i], image[min(2, last), i], image[min(3, last), i]
        target = pixels[i + 1, FOUR:]
        for j in range(INDEX(width)):
            k = INDEX(FOUR) * j
            target[k], target[k + INDEX(1)], target[k + INDEX(2)], target[k + INDEX(3)] = a[j], b[j], c[j], d[j]


@compiled
def read_line(flat, first, rows, columns, sides, edge, black, tops, lefts, down, across, line):
    """One row of reads from a picture with the given sides; `flat` is what `to_quads` made of its rows from `first` on.

    `tops`, `lefts`, `down` and `across` are scratch; pixels of `line` have four channels.
    """
    height, width = sides
    stride = width + 3
    _plan(rows, height, edge, black, tops, down)
    _plan(columns, width, edge, black, lefts, across)
    for j in range(INDEX(tops.size)):
        place, step = INDEX(FOUR * ((tops[j] - first + 1) * stride + lefts[j] + 1)), INDEX(FOUR * stride)
        if black:
            _read_weighed(flat, place, step, across[j], down[j], line, INDEX(FOUR) * j)
        else:
            _read_mixed(flat, place, step, across[j], down[j], line, INDEX(FOUR) * j)


@compiled
def part_line(line, rest, i, out):
    """A row of pixels into row i of the planes of `out`.

    All four channels are taken, the compiler then fetches whole vectors and sorts what is in them; `rest` is for those
    that there are not.
    """
    last = len(out) - 1
    a, b, c, d = out[0, i], out[min(1, last), i], out[min(2, last), i], out[3, i] if last == 3 else rest
    for j in range(INDEX(rest.size)):
        k = INDEX(FOUR) * j
        a[j], b[j], c[j], d[j] = line[k], line[k + INDEX(1)], line[k + INDEX(2)], line[k + INDEX(3)]


@compiled
def _sample(image, rows, columns, edge, black, pixels, line, rest, tops, lefts, down, across, out):
    """Four channels at a time; from `pixels` on, arguments are scratch."""
    flat, sides = values_of(pixels), image.shape[1:]
    for first in range(0, len(image), FOUR):
        to_quads(image[first : first + FOUR], pixels)
        for i in range(rows.shape[0]):
            read_line(flat, 0, rows[i], columns[i], sides, edge, black, tops, lefts, down, across, line)
            part_line(line, rest, i, out[first : first + FOUR])


def _sampled(x: Tensor, border: str, size: torch.Size, loop: Callable, *places: Any, more: int = 0) -> Tensor:
    """`loop(image, *places, ..., out)` for every image.

    Between are `more` scratch arrays of the result's size and the arguments of `_sample` from `edge` on.
    """
    height, width = x.shape[-2:]
    out = torch.empty(*x.shape[:2], *size)
    black, edge, wide = border == "zeros", F32(0.0 if border == "mirror" else 0.5), size[1]

    def scratch() -> tuple[Any, ...]:
        pixels, line = np.zeros((height + 3, FOUR * (width + 3)), F32), np.empty(FOUR * wide, F32)
        plan = (*np.empty((2, wide), I32), *np.empty((2, wide), F32))
        return *np.empty((more, *size), F32), edge, black, pixels, line, np.empty(wide, F32), *plan

    return fill(out, loop, x, *places, scratch=scratch)


@kernel
def sample_bilinear(x: Tensor, rows: Tensor, columns: Tensor, border: str) -> Tensor:
    return _sampled(x, border, rows.shape[1:], _sample, rows, columns)


@compiled
def _displace(image, field, amount, rows, columns, edge, black, pixels, line, rest, tops, lefts, down, across, out):
    """From `pixels` on, arguments are scratch, and so are `rows` and `columns`."""
    for i in range(INDEX(rows.shape[0])):
        for j in range(INDEX(rows.shape[1])):
            rows[i, j] = F32(i) + amount * field[0, i, j]
            columns[i, j] = F32(j) + amount * field[1, i, j]
    _sample(image, rows, columns, edge, black, pixels, line, rest, tops, lefts, down, across, out)


@kernel
def sample_displaced(x: Tensor, field: Tensor, amount: float, border: str) -> Tensor:
    return _sampled(x, border, x.shape[-2:], _displace, field, F32(amount), more=2)
