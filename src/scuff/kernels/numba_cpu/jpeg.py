"""JPEG there and back: the arithmetic of libjpeg without its Huffman coding, which is lossless and takes half the time.

Blocks of 8 x 8 are transformed `TOGETHER` at a time. The values that they have at one place lie side by side, so every
step of a DCT, along rows or down columns, is one instruction for several blocks; all of them stay in the first cache.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.numba_cpu.compiling import F32, INDEX, compiled, copy, lines_of, values_of
from scuff.kernels.numba_cpu.filling import fill_pixels
from scuff.kernels.reference.jpeg import butterflies, butterflies_back

I16, I32 = np.int16, np.int32
TOGETHER = 32  # blocks; a row of eight values of each of them is ROW numbers, and what follows depends on it
ROW = 8 * TOGETHER
ONE, TWO = INDEX(1), INDEX(2)
LEAST, MOST = I16(0), I16(255)


@dataclass(frozen=True)
class _Number:
    """A whole number in the code that is being generated: sums have 16 bits, products 32.

    16 are enough: no sum of eight samples on their way there or back reaches 2**15. Processors multiply twice as many
    numbers of 16 bits at a time, if they are told that these are such.
    """

    builder: Any
    value: Any

    def _combined(self, operation: str, *others: Any) -> _Number:
        return _Number(self.builder, getattr(self.builder, operation)(self.value, *others))

    def __add__(self, other: _Number) -> _Number:
        return self._combined("add", other.value)

    def __sub__(self, other: _Number) -> _Number:
        return self._combined("sub", other.value)

    def __mul__(self, factor: int) -> _Number:
        wide = ir.IntType(32)
        return self._combined("sext", wide)._combined("mul", ir.Constant(wide, factor))

    def rounded(self, shift: int) -> Any:
        """Without its last `shift` bits, in 16 again."""
        half, by = (ir.Constant(ir.IntType(32), number) for number in (1 << (shift - 1), shift))
        return self._combined("add", half)._combined("ashr", by)._combined("trunc", ir.IntType(16)).value


def _pass(transform: Callable, shift: int) -> Callable:
    """A loop's step `(v, at, step)`: transform the eight values that lie `step` apart from `at` on, in place."""

    @intrinsic
    def function(typing_context, v, at, step):
        def generate(context, builder, signature, arguments):
            v, at, step = arguments
            data = context.make_array(signature.args[0])(context, builder, v).data
            steps = [builder.mul(step, ir.Constant(step.type, k)) for k in range(8)]
            places = [builder.gep(data, [builder.add(at, distance)]) for distance in steps]
            numbers = [_Number(builder, builder.load(place)) for place in places]
            for place, number in zip(places, transform(numbers), strict=True):
                builder.store(number.rounded(shift), place)
            return context.get_dummy_value()

        return types.void(v, types.uintp, types.uintp), generate

    return function


_rows_there, _columns_there = _pass(butterflies, 11), _pass(butterflies, 15)
_columns_back, _rows_back = _pass(butterflies_back, 11), _pass(butterflies_back, 18)


def _of_first_type(operation: str) -> Callable:
    """A sum or a product that has the type of its first term: numba makes it one of 64 bits else, for a few at once."""

    @intrinsic
    def function(typing_context, a, b):
        def generate(context, builder, signature, arguments):
            return getattr(builder, operation)(*arguments)

        return a(a, a), generate

    return function


_add, _times = _of_first_type("add"), _of_first_type("mul")


@compiled
def _through_blocks(plane, wide, halves, inverses, steps, v):
    """A plane of bytes, flat, whose sides are multiples of 8, in place; `v` is scratch, (8, 8, TOGETHER) and flat."""
    row, together, across = INDEX(ROW), INDEX(TOGETHER), wide // 8
    count = plane.size // 64
    for first in range(0, count, TOGETHER):
        last = min(first + TOGETHER, count)
        for block in range(first, last):
            corner = INDEX(block // across * 8 * wide + block % across * 8)
            k = INDEX(block - first)
            for _ in range(8):
                for j in range(corner, corner + INDEX(8)):
                    v[k] = _add(I16(plane[j]), -128)
                    k += together
                corner += INDEX(wide)
        for i in range(INDEX(v.size // ROW)):
            for k in range(together):
                _rows_there(v, i * row + k, together)
        for k in range(row):
            _columns_there(v, k, row)
        for place in range(INDEX(steps.size)):
            half, inverse, step, line = halves[place], inverses[place], steps[place], place * together
            for k in range(line, line + together):
                kept = _times(I16(I32((F32(abs(v[k])) + half) * inverse)), step)
                v[k] = -kept if v[k] < 0 else kept
        for k in range(row):
            _columns_back(v, k, row)
        for i in range(INDEX(v.size // ROW)):
            for k in range(together):
                _rows_back(v, i * row + k, together)
        for k in range(INDEX(v.size)):
            v[k] = min(max(_add(v[k], 128), LEAST), MOST)
        for block in range(first, last):
            corner = INDEX(block // across * 8 * wide + block % across * 8)
            k = INDEX(block - first)
            for _ in range(8):
                for j in range(corner, corner + INDEX(8)):
                    plane[j] = v[k]
                    k += together
                corner += INDEX(wide)


@intrinsic
def _weighed(typing_context, numbers, weights, offset):
    """The sum of weighted numbers and the offset, all in 65536ths, as a whole number of 16 bits."""

    def generate(context, builder, signature, arguments):
        numbers, weights, total = arguments
        for k in range(len(signature.args[0])):
            product = builder.mul(builder.extract_value(numbers, k), builder.extract_value(weights, k))
            total = builder.add(total, product)
        return builder.trunc(builder.ashr(total, ir.Constant(total.type, 16)), ir.IntType(16))

    several = types.UniTuple(types.int32, len(numbers))
    return types.int16(several, several, types.int32), generate


@compiled
def _part(pixels, swapped, luma, blues, reds):
    """Rows of pixels (H, W * 3) as luma and as the two chromas, 0..255; weights count 65536ths."""
    width = INDEX(pixels.shape[1] // 3)
    for i in range(INDEX(pixels.shape[0])):
        for j in range(width):
            k = INDEX(3) * j
            first, green, last = I32(pixels[i, k]), I32(pixels[i, k + ONE]), I32(pixels[i, k + TWO])
            red, blue = last if swapped else first, first if swapped else last
            luma[i, j] = _weighed((red, green, blue), (19595, 38470, 7471), 32768)
            blues[i, j] = _weighed((red, green, blue), (-11058, -21710, 32768), 8421375)
            reds[i, j] = _weighed((red, green, blue), (32768, -27439, -5329), 8421375)
        for j in range(width, INDEX(luma.shape[1])):
            luma[i, j], blues[i, j], reds[i, j] = luma[i, j - ONE], blues[i, j - ONE], reds[i, j - ONE]


@compiled
def _halve(full, bias, out):
    """Means over 2 x 2; `bias` alternates."""
    for i in range(INDEX(out.shape[0])):
        above, below = TWO * i, min(TWO * i + ONE, INDEX(full.shape[0] - 1))
        for m in range(INDEX(out.shape[1])):
            k = TWO * m
            top = _add(I16(full[above, k]), full[above, k + ONE])
            bottom = _add(I16(full[below, k]), full[below, k + ONE])
            out[i, m] = _add(_add(top, bottom), bias[m]) >> 2


@compiled
def _double(chroma, near, far, line, out):
    """A row of chroma at full width, around 0: 3/4 of the nearer sample and 1/4 of the farther one, both ways.

    `line` is scratch, with room for a sample before the first and one after the last.
    """
    count = INDEX(line.size - 2)
    for m in range(count):
        line[m + ONE] = _add(_times(I16(chroma[near, m]), 3), chroma[far, m])
    line[0], line[count + ONE] = line[1], line[count]
    for m in range(count):
        here = _times(line[m + ONE], 3)
        out[TWO * m] = _add(_add(_add(here, line[m]), 8) >> 4, -128)
        out[TWO * m + ONE] = _add(_add(_add(here, line[m + TWO]), 7) >> 4, -128)


@compiled
def _join(luma, cb, cr, swapped, line, blues, reds, out):
    """Planes of bytes as pixels (H, W * 3); 65536 is taken out of weights, until 16 bits hold what is left."""
    tall, samples = (out.shape[0] + 1) // 2, line.size - 2
    for i in range(INDEX(out.shape[0])):
        near = INDEX(i // TWO)
        far = INDEX(min(max(np.intp(near) + (1 if i % TWO else -1), 0), tall - 1))
        if samples > 2:
            _double(cb, near, far, line, blues)
            _double(cr, near, far, line, reds)
        else:  # too narrow for the decoder's filter: it repeats samples
            for j in range(INDEX(blues.size)):
                blues[j], reds[j] = I16(cb[near, j // TWO]) - 128, I16(cr[near, j // TWO]) - 128
        for j in range(INDEX(out.shape[1] // 3)):
            y, b, r = I16(luma[i, j]), blues[j], reds[j]
            red = _add(_add(y, r), _weighed((r,), (26345,), 32768))
            green = _add(_add(y, -r), _weighed((b, r), (-22554, 18734), 32768))
            blue = _add(_add(y, _add(b, b)), _weighed((b,), (-14942,), 32768))
            first, last, k = blue if swapped else red, red if swapped else blue, INDEX(3) * j
            out[i, k] = min(max(first, LEAST), MOST)
            out[i, k + ONE] = min(max(green, LEAST), MOST)
            out[i, k + TWO] = min(max(last, LEAST), MOST)


def _quantisers(tables: Tensor) -> tuple[Tensor, ...]:
    """What turns eight times a coefficient into whole steps, and those back: how many are (c + 4 step) / (8 step).

    Half of one more keeps that off whole numbers, where a product with the inverse might fall short.
    """
    steps = tables.flatten(1)
    return 4.0 * steps + 0.5, 1.0 / (8.0 * steps), steps.to(torch.int16)


@compiled
def _there_and_back(image, a, b, c, d, e, f, swapped, bias, y, full, colours, lines, v, out):
    """From `y` on, arguments are scratch: luma, both chromas at full and at half size, three rows, and blocks."""
    height, half = len(image), (len(image) + 1) // 2
    tall, wide = y.shape
    _part(lines_of(image), swapped, y, full[0], full[1])
    for i in range(height, tall):
        copy(y[height - 1], y[i])
    for k in range(2):
        chroma = colours[k]
        _halve(full[k], bias, chroma[:half])
        for i in range(half, len(chroma)):
            copy(chroma[half - 1], chroma[i])
    _through_blocks(values_of(y), wide, a, b, c, v)
    _through_blocks(values_of(colours), wide // 2, d, e, f, v)
    _join(y, colours[0], colours[1], swapped, lines[0], lines[1], lines[2], lines_of(out))


@kernel
def through_jpeg(pixels: Tensor, luma: Tensor, chroma: Tensor, swapped: bool = False) -> Tensor:
    height, width = pixels.shape[2:]
    tall, wide, half = -(-height // 8) * 8, -(-width // 16) * 16, (height + 1) // 2
    bias = np.arange(wide // 2, dtype=np.uint8) % 2 + 1  # the encoder's, of 2 x 2 means

    def scratch() -> tuple:
        shapes = (tall, wide), (2, height, wide), (2, -(-half // 8) * 8, wide // 2)
        planes = (np.empty(shape, np.uint8) for shape in shapes)
        samples = (width + 1) // 2
        lines = [np.empty(size, I16) for size in (samples + 2, 2 * samples, 2 * samples)]
        return *planes, tuple(lines), np.zeros(64 * TOGETHER, I16)

    plan = (*_quantisers(luma), *_quantisers(chroma), swapped, bias)
    return fill_pixels(pixels, _there_and_back, *plan, scratch=scratch)
