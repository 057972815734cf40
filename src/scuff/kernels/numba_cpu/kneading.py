"""Two reads between pixels, one of the other: of large pictures, a band of rows goes through both.

What lies between them stays as the second read wants it, with the channels of a pixel side by side. A band needs the
rows around it that it is read from, and no more room than for these.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.numba_cpu.compiling import F32, INDEX, compiled, fill
from scuff.kernels.numba_cpu.samples import FOUR, I32, part_line, read_line, to_quads

BAND = 1 << 18  # pixels, about: all of a picture of 512 x 512
Rows = tuple[int, int]  # the first one, and the one after the last


@compiled
def _knead(image, to, field, amount, made, between, read, pixels, moved, line, rest, rows, columns, plan, out):
    """Rows `made`, from rows `between` of the picture that a map makes, from rows `read` of the image.

    From `pixels` on, arguments are scratch.
    """
    tops, lefts, down, across = plan
    sides = image.shape[1:]
    to_quads(image[:, read[0] : read[1]], pixels)
    flat = pixels.reshape(-1)
    for i in range(between[0], between[1]):
        for j in range(INDEX(rows.size)):
            rows[j] = to[1, 0] * F32(j) + to[1, 1] * F32(i) + to[1, 2]
            columns[j] = to[0, 0] * F32(j) + to[0, 1] * F32(i) + to[0, 2]
        target = moved[i - between[0] + 1, FOUR:]
        read_line(flat, read[0], rows, columns, sides, F32(0.0), False, tops, lefts, down, across, target)
    flat = moved.reshape(-1)
    for i in range(made[0], made[1]):
        for j in range(INDEX(rows.size)):
            rows[j] = F32(i) + amount * field[0, i, j]
            columns[j] = F32(j) + amount * field[1, i, j]
        read_line(flat, between[0], rows, columns, sides, F32(0.5), False, tops, lefts, down, across, line)
        part_line(line, rest, i, out)


def _rows_read(low: float, high: float, height: int) -> Rows:
    """Rows of a picture among which all reads between two coordinates find theirs, if its border mirrors them."""
    first, stop = math.floor(low) - 1, math.ceil(high) + 3
    if first < 0:
        first, stop = 0, max(stop, 3 - first)
    if stop > height:
        first, stop = min(first, 2 * height - stop - 2), height
    return max(first, 0), stop


def _bands(to: np.ndarray, shifts: np.ndarray, amount: float, width: int) -> list[tuple[Rows, Rows, Rows]]:
    """`made`, `between` and `read` of `_knead`, band by band; `shifts` (H, W) move pixels down.

    A band is at least as high as a map makes of a level line, so that few rows are read twice.
    """
    height, slant = len(shifts), abs(float(to[1, 0])) * width
    tall = max(1, BAND // width, int(min(slant, height)))
    if tall >= height:
        return [((0, height),) * 3]
    bands = []
    for first in range(0, height, tall):
        last = min(first + tall, height)
        ends = [amount * float(end) for end in (shifts[first:last].min(), shifts[first:last].max())]
        between = _rows_read(first + min(ends), last - 1 + max(ends), height)
        corners = [to[1, 0] * j + to[1, 1] * i + to[1, 2] for i in (between[0], between[1] - 1) for j in (0, width - 1)]
        bands.append(((first, last), between, _rows_read(float(min(corners)), float(max(corners)), height)))
    return bands


@kernel
def sample_kneaded(x: Tensor, maps: Tensor, field: Tensor, amount: float) -> Tensor:
    width = x.shape[3]
    out = torch.empty(x.shape)

    def room(held: list[np.ndarray], rows: Rows) -> np.ndarray:
        """For rows and, as reads beyond the last one count nothing but must find a number, a frame around them."""
        tall = rows[1] - rows[0] + 3
        if len(held[0]) < tall:
            held[0] = np.zeros((tall, FOUR * (width + 3)), F32)
        return held[0]

    def work(image, to, field, pixels, moved, line, rest, rows, columns, plan, out) -> None:
        for made, between, read in _bands(to, field[0], amount, width):
            rooms = room(pixels, read), room(moved, between)
            _knead(image, to, field, F32(amount), made, between, read, *rooms, line, rest, rows, columns, plan, out)

    def scratch() -> tuple:
        none = np.zeros((0, 0), F32)
        plan = (*np.empty((2, width), I32), *np.empty((2, width), F32))
        return [none], [none], np.empty(FOUR * width, F32), *np.empty((3, width), F32), plan

    for first in range(0, x.shape[1], FOUR):
        some = slice(first, first + FOUR)
        fill(out[:, some], work, x[:, some], maps, field, scratch=scratch)
    return out
