"""Means over squares, by what enters and leaves as these move down."""

from __future__ import annotations

import numpy as np
import torch
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from torch import Tensor

from scuff.kernels.borders import fold
from scuff.kernels.dispatch import kernel
from scuff.kernels.numba_cpu.compiling import F32, INDEX, compiled, copy, values_of
from scuff.kernels.numba_cpu.filling import fill_pixels

U16 = np.uint16


@compiled
def _running_totals(values, channels, totals):
    """totals[k] is the sum of the values before k that belong to the same channel."""
    if channels == 1:
        total = np.int32(0)
        for k in range(values.size):
            totals[k] = total
            total += values[k]
        totals[values.size] = total
        return
    red, green, blue = np.int32(0), np.int32(0), np.int32(0)  # in registers: four times as fast
    k = INDEX(0)
    for _ in range(values.size // 3):
        totals[k], totals[k + INDEX(1)], totals[k + INDEX(2)] = red, green, blue
        red += values[k]
        green += values[k + INDEX(1)]
        blue += values[k + INDEX(2)]
        k += INDEX(3)
    totals[k], totals[k + INDEX(1)], totals[k + INDEX(2)] = red, green, blue


NARROW = 13  # sides whose values are added one by one: all sums fit into 16 bits, and their shares are exact


def _divisors() -> np.ndarray:
    """For each side up to NARROW a factor and a shift, by which `_share` divides by its square."""
    shifts = {side: (side * side - 1).bit_length() - 1 for side in range(2, NARROW + 1)}
    pairs = [(-(-(1 << 16 + shift) // (side * side)), shift) for side, shift in shifts.items()]
    return np.array([(0, 0), (0, 0), *pairs], U16)


DIVISORS = _divisors()


@intrinsic
def _share(typing_context, total, factor, shift):
    """The upper half of a product of 16 bits, shifted. Numba itself would multiply 64 bits, four numbers at once."""

    def generate(context, builder, signature, arguments):
        total, factor, shift = arguments
        byte, short, long = (ir.IntType(bits) for bits in (8, 16, 32))
        product = builder.mul(builder.zext(total, long), builder.zext(factor, long))
        upper = builder.trunc(builder.lshr(product, long(16)), short)
        return builder.trunc(builder.lshr(upper, shift), byte)

    return types.uint8(types.uint16, types.uint16, types.uint16), generate


@compiled
def _add_along(wide, begin, size, step, sums, out, target, count):
    """Means of a row of windows, values added one by one."""
    half, factor, shift = U16(size * size // 2), DIVISORS[size, 0], DIVISORS[size, 1]
    for k in range(count):
        sums[k] = wide[begin + k]
    for _ in range(1, size):
        begin += step
        for k in range(count):
            sums[k] += wide[begin + k]
    for k in range(count):
        out[target + k] = _share(U16(sums[k] + half), factor, shift)


@compiled
def _subtract_totals(wide, begin, size, channels, totals, out, target, count):
    """The same by differences of running totals."""
    # sums are whole, so a quarter more never lifts one over the next boundary, and makes up for the division's rounding
    half, inverse = F32(size * size / 2 + 0.25), F32(1.0 / (size * size))
    _running_totals(wide, channels, totals)
    end = begin + INDEX(size * channels)
    for k in range(count):
        out[target + k] = np.uint8(np.int32((F32(np.int32(totals[end + k] - totals[begin + k])) + half) * inverse))


@compiled
def _box_mean(image, size, rows, columns, reach, wide, along, made):
    """Sums over the window's rows, for a whole row of values, slide down; they are summed along the row in turn.

    `rows` and `columns` are the image's indices with `reach` mirrored ones on either side; a window begins size // 2
    before its pixel. `wide`, with the mirrored ends, and `along` are scratch. Rows are places in one array: to cut them
    out of it takes as long as to add them.
    """
    height, width, channels = image.shape
    pixels, out = values_of(image), values_of(made)
    if size == 1:
        copy(pixels, out)
        return
    count, ends, step = INDEX(width * channels), INDEX(reach * channels), INDEX(channels)
    first, begin = reach - size // 2, INDEX(reach - size // 2) * step
    for k in range(count):
        wide[ends + k] = 0
    for t in range(size):
        line = INDEX(rows[first + t]) * count
        for k in range(count):
            wide[ends + k] += pixels[line + k]
    for i in range(height):
        if i > 0:
            enters, leaves = INDEX(rows[first + i + size - 1]) * count, INDEX(rows[first + i - 1]) * count
            for k in range(count):
                wide[ends + k] += np.int16(pixels[enters + k]) - np.int16(pixels[leaves + k])
        for j in range(INDEX(reach)):
            before, after = INDEX(columns[j]) * step, INDEX(columns[reach + width + j]) * step
            for c in range(step):
                wide[j * step + c] = wide[ends + before + c]
                wide[ends + count + j * step + c] = wide[ends + after + c]
        if size <= NARROW:
            _add_along(wide, begin, size, step, along, out, INDEX(i) * count, count)
        else:
            _subtract_totals(wide, begin, size, channels, along, out, INDEX(i) * count, count)


@kernel
def box_mean(pixels: Tensor, size: Tensor, largest: int) -> Tensor:
    _, channels, height, width = pixels.shape
    reach = largest // 2
    rows, columns = (fold(torch.arange(-reach, n + reach), n, "mirror").numpy() for n in (height, width))

    kind = U16 if largest <= NARROW else np.int32

    def scratch() -> tuple[np.ndarray, ...]:
        return tuple(np.empty((width + 2 * reach + more) * channels, kind) for more in (0, 1))

    return fill_pixels(pixels, _box_mean, size.long(), rows, columns, reach, scratch=scratch)
