"""The sun in a picture: its glow and the flares of its light, an image at a time."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.numba_cpu.compiling import F32, INDEX, compiled, copy, inlined, values_of
from scuff.kernels.numba_cpu.filling import fill


@compiled
def _add_glow(image, centre, squares, remains, left, out):
    """From a pixel to the next the ring changes little, so it is followed. `left` is scratch for a row."""
    rings, ring = INDEX(squares.size), INDEX(0)
    for i in range(INDEX(image.shape[1])):
        dy = F32(i) - centre[0]
        for j in range(INDEX(left.size)):
            dx = F32(j) - centre[1]
            square = dy * dy + dx * dx
            while ring < rings and squares[ring] < square:
                ring += INDEX(1)
            while ring > INDEX(0) and squares[ring - INDEX(1)] >= square:
                ring -= INDEX(1)
            left[j] = remains[ring]
        for c in range(INDEX(image.shape[0])):
            source, target = image[c, i], out[c, i]
            for j in range(INDEX(left.size)):
                target[j] = F32(1.0) - (F32(1.0) - source[j]) * left[j]


@kernel
def add_glow(x: Tensor, centre: Tensor, squares: tuple[float, ...], remains: tuple[float, ...]) -> Tensor:
    rings, width = (np.array(numbers, F32) for numbers in (squares, remains)), x.shape[3]
    return fill(torch.empty(x.shape), _add_glow, x, centre, *rings, scratch=lambda: (np.empty(width, F32),))


@inlined
def _is_under(row, column, place, reach):
    dy, dx = F32(row) - place[0], F32(column) - place[1]
    return dy * dy + dx * dx <= reach * reach


@compiled
def _paint_flare(image, out, row, column, places, reach, share, colour):
    """One pixel through all flares from the first above it on: painted by each in turn, and mixed into `out`."""
    first = 0
    while first < len(places) and not (share[first] > F32(0.0) and _is_under(row, column, places[first], reach[first])):
        first += 1
    for c in range(INDEX(image.shape[0] if first < len(places) else 0)):
        painted = mixed = image[c, row, column]
        for k in range(first, len(places)):
            if share[k] > F32(0.0) and _is_under(row, column, places[k], reach[k]):
                painted = colour[k, c]
            mixed += share[k] * (painted - mixed)
        out[c, row, column] = mixed


@compiled
def _paint_flares(image, places, reach, share, colour, most, out):
    copy(values_of(image), values_of(out))
    height, width = image.shape[1:]
    for k in range(len(places)):
        middle, centre = int(places[k, 0]), int(places[k, 1])
        for i in range(max(middle - most, 0), min(middle + most + 1, height)):
            for j in range(max(centre - most, 0), min(centre + most + 1, width)):
                if (i - middle) * (i - middle) + (j - centre) * (j - centre) <= most * most:
                    _paint_flare(image, out, INDEX(i), INDEX(j), places, reach, share, colour)


@kernel
def paint_flares(x: Tensor, places: Tensor, reach: Tensor, share: Tensor, colour: Tensor, most: int) -> Tensor:
    return fill(torch.empty(x.shape), _paint_flares, x, places, reach, share, colour, most)
