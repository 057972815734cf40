"""Shapes on a blank page: stamps, one upon the other, and polygons; and pages laid over pictures."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.numba_cpu.compiling import compiled
from scuff.kernels.numba_cpu.layout import new_pixels, side_by_side
from scuff.kernels.threads import each_image, over_images


@compiled
def _stamp(rows, columns, kinds, dy, dx, count, page):
    height, width = page.shape
    page[:] = 0
    for k in range(rows.size):
        kind = kinds[k]
        if kind < 0:
            continue
        for p in range(dy.shape[1]):
            i, j = rows[k] + dy[kind, p], columns[k] + dx[kind, p]
            if 0 <= i < height and 0 <= j < width:
                page[i, j] = page[i, j] + 1 if count else k + 1


@kernel
def stamp(
    rows: Tensor, columns: Tensor, kinds: Tensor, dy: Tensor, dx: Tensor, height: int, width: int, count: bool = False
) -> Tensor:
    out = torch.empty(len(rows), height, width, dtype=torch.int32)
    places = [t.contiguous().numpy() for t in (rows, columns, kinds)]
    offsets, target = [t.numpy() for t in (dy, dx)], out.numpy()
    each_image(lambda i: _stamp(*(p[i] for p in places), *offsets, count, target[i]), len(rows))
    return out


@compiled
def _count_discs(rows, columns, radii, count):
    height, width = count.shape
    count[:] = 0
    for k in range(rows.size):
        reach = radii[k]
        for i in range(max(rows[k] - reach, 0), min(rows[k] + reach, height - 1) + 1):
            half = int(np.sqrt(float(reach * reach - (i - rows[k]) ** 2)))
            line = count[i, max(columns[k] - half, 0) : max(min(columns[k] + half + 1, width), 0)]
            for j in range(line.size):
                line[j] += 1


@kernel
def count_discs(rows: Tensor, columns: Tensor, radii: Tensor, height: int, width: int) -> Tensor:
    out = torch.empty(len(rows), height, width, dtype=torch.int32)
    places, target = [t.contiguous().numpy() for t in (rows, columns, radii)], out.numpy()
    each_image(lambda i: _count_discs(*(p[i] for p in places), target[i]), len(rows))
    return out


@compiled
def _paint_grey(page, colours, out):
    for k in range(page.size):
        if page[k] > 0:
            out[k] = colours[page[k] - 1, 0]


@compiled
def _paint_colour(page, colours, out):
    for k in range(page.size):
        if page[k] > 0:
            colour = colours[page[k] - 1]
            out[3 * k], out[3 * k + 1], out[3 * k + 2] = colour[0], colour[1], colour[2]


@kernel
def paint(pixels: Tensor, page: Tensor, colours: Tensor) -> Tensor:
    source, (out, target) = side_by_side(pixels), new_pixels(pixels)
    pages, palette = page.contiguous().numpy(), colours.contiguous().numpy()
    brush = _paint_grey if pixels.shape[1] == 1 else _paint_colour

    def work(i: int) -> None:
        target[i] = source[i]
        brush(pages[i].reshape(-1), palette[i if len(palette) > 1 else 0], target[i].reshape(-1))

    each_image(work, len(pixels))
    return out


@compiled
def _fill_polygon(corners, inside, out):
    """Row by row: toggle `inside` up to each crossing, then add the outline, a pixel wide along the longer axis."""
    height, width = out.shape
    vertices = corners.shape[0]
    for i in range(height):
        inside[:] = False
        for k in range(vertices):
            y0, x0 = np.int64(corners[k, 0]), np.int64(corners[k, 1])
            y1, x1 = np.int64(corners[(k + 1) % vertices, 0]), np.int64(corners[(k + 1) % vertices, 1])
            if (y0 <= i) != (y1 <= i):
                # columns left of the crossing, which lies at x0 + (i - y0) (x1 - x0) / (y1 - y0): exact, in integers
                above, below = (i - y0) * (x1 - x0), y1 - y0
                if below < 0:
                    above, below = -above, -below
                for j in range(min(max(x0 - (-above // below), 0), width)):
                    inside[j] = not inside[j]
        for j in range(width):
            out[i, j] |= inside[j]
    for k in range(vertices):
        y0, x0 = np.int64(corners[k, 0]), np.int64(corners[k, 1])
        y1, x1 = np.int64(corners[(k + 1) % vertices, 0]), np.int64(corners[(k + 1) % vertices, 1])
        longer = max(abs(x1 - x0), abs(y1 - y0))
        for i in range(max(min(y0, y1), 0), min(max(y0, y1), height - 1) + 1):
            # the columns that this row of the edge can have, and one more to either side
            a, b = min(x0, x1), max(x0, x1)
            if y1 != y0:
                middle, reach = x0 + (i - y0) * (x1 - x0) // (y1 - y0), longer // abs(y1 - y0) + 2
                a, b = max(a, middle - reach), min(b, middle + reach)
            for j in range(max(a, 0), min(b, width - 1) + 1):
                if 2 * abs((j - x0) * (y1 - y0) - (i - y0) * (x1 - x0)) <= longer:
                    out[i, j] = True


@kernel
def fill_polygons(corners: Tensor, count: Tensor, height: int, width: int) -> Tensor:
    out = torch.zeros(len(corners), height, width, dtype=torch.bool)
    source, counts, target = corners.contiguous().numpy(), count.numpy(), out.numpy()

    def work(start: int, stop: int) -> None:
        inside = np.empty(width, np.bool_)
        for i in range(start, stop):
            for p in range(counts[i]):
                _fill_polygon(source[i, p], inside, target[i])

    over_images(work, len(corners))
    return out
