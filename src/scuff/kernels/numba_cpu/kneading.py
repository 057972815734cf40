"""Two reads between pixels, one of the other: of large pictures, a band of rows goes through both.

What lies between them stays as the second read wants it, with the channels of a pixel side by side. A band needs the
rows around it that it is read from, and no more room than for these.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.numba_cpu.compiling import F32, INDEX, compiled, values_of
from scuff.kernels.numba_cpu.filling import fill
from scuff.kernels.numba_cpu.samples import FOUR, I32, part_line, read_line, to_quads

BAND = 1 << 18  # pixels, about: all of a picture of 512 x 512


@compiled
def _knead(image, to, field, amount, made, between, read, pixels, moved, line, rest, rows, columns, plan, out):
    """Rows `made`, from rows `between` of the picture that a map makes, from rows `read` of the image.

    From `pixels` on, arguments are scratch.
    """
    tops, lefts, down, across = plan
    sides = image.shape[1:]
    to_quads(image[:, read[0] : read[1]], pixels)
    flat = values_of(pixels)
    for i in range(between[0], between[1]):
        for j in range(INDEX(rows.size)):
            rows[j] = to[1, 0] * F32(j) + to[1, 1] * F32(i) + to[1, 2]
            columns[j] = to[0, 0] * F32(j) + to[0, 1] * F32(i) + to[0, 2]
        target = moved[i - between[0] + 1, FOUR:]
        read_line(flat, read[0], rows, columns, sides, F32(0.0), False, tops, lefts, down, across, target)
    flat = values_of(moved)
    for i in range(made[0], made[1]):
        for j in range(INDEX(rows.size)):
            rows[j] = F32(i) + amount * field[0, i, j]
            columns[j] = F32(j) + amount * field[1, i, j]
        read_line(flat, between[0], rows, columns, sides, F32(0.5), False, tops, lefts, down, across, line)
        part_line(line, rest, i, out)


@compiled
def _rows_read(low, high, height):
    """Rows of a picture among which all reads between two coordinates find theirs, if its border mirrors them."""
    first, stop = int(np.floor(low)) - 1, int(np.ceil(high)) + 3
    if first < 0:
        first, stop = 0, max(stop, 3 - first)
    if stop > height:
        first, stop = min(first, 2 * height - stop - 2), height
    return max(first, 0), stop


@compiled
def _rows_between(field, amount, made, height):
    """Rows that are read by shifts down, `field` (H, W), of rows `made`."""
    low = high = amount * field[made[0], 0]
    for i in range(made[0], made[1]):
        for j in range(INDEX(field.shape[1])):
            shift = amount * field[i, j]
            low, high = shift if shift < low else low, shift if shift > high else high
    return _rows_read(F32(made[0]) + low, F32(made[1] - 1) + high, height)


@compiled
def _rows_mapped(to, between, height, width):
    """Rows that a map reads for rows `between`: corners reach as far as anything."""
    low, high = F32(np.inf), F32(-np.inf)
    for i in (between[0], between[1] - 1):
        for j in (0, width - 1):
            corner = to[1, 0] * F32(j) + to[1, 1] * F32(i) + to[1, 2]
            low, high = min(low, corner), max(high, corner)
    return _rows_read(low, high, height)


@compiled
def _roomy(pixels, rows):
    """Scratch for rows and, as reads beyond the last one count nothing but must find a number, a frame around them."""
    tall = rows[1] - rows[0] + 3
    return pixels if len(pixels) >= tall else np.zeros((tall, pixels.shape[1]), F32)


@compiled
def _knead_in_bands(image, to, field, amount, band, pixels, moved, line, rest, rows, columns, plan, out):
    """Bands of `band` pixels, but at least as high as a map makes of a level line, so that few rows are read twice.

    From `pixels` on, arguments are scratch.
    """
    channels, height, width = image.shape
    tall = max(1, band // width, int(min(abs(to[1, 0]) * F32(width), F32(height))))
    for top in range(0, height, tall):
        made, between, read = (top, min(top + tall, height)), (0, height), (0, height)
        if tall < height:
            between = _rows_between(field[0], amount, made, height)
            read = _rows_mapped(to, between, height, width)
        pixels, moved = _roomy(pixels, read), _roomy(moved, between)
        for first in range(0, channels, FOUR):
            some, target = image[first : first + FOUR], out[first : first + FOUR]
            _knead(some, to, field, amount, made, between, read, pixels, moved, line, rest, rows, columns, plan, target)


@kernel
def sample_kneaded(x: Tensor, maps: Tensor, field: Tensor, amount: float) -> Tensor:
    height, width = x.shape[2:]

    def scratch() -> tuple:
        whole = (min(height, max(1, BAND // width)) + 3, FOUR * (width + 3))
        plan = (*np.empty((2, width), I32), *np.empty((2, width), F32))
        return np.zeros(whole, F32), np.zeros(whole, F32), np.empty(FOUR * width, F32), *np.empty((3, width), F32), plan

    return fill(torch.empty(x.shape), _knead_in_bands, x, maps, field, F32(amount), BAND, scratch=scratch)
