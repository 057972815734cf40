"""What is drawn: stamps one upon the other, polygons, lines; and Canny's edges."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.numba_cpu.compiling import F32, compiled, copy, values_of
from scuff.kernels.numba_cpu.filling import fill, fill_pixels
from scuff.kernels.reference.shapes import DIAGONAL, KNIGHT


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
    return fill(out, _stamp, rows, columns, kinds, dy.numpy(), dx.numpy(), count)


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
    return fill(out, _count_discs, rows, columns, radii)


@compiled
def _paint_grey(image, pages, colours, made):
    page, out = values_of(pages), values_of(made)
    copy(values_of(image), out)
    for k in range(page.size):
        if page[k] > 0:
            out[k] = colours[page[k] - 1, 0]


@compiled
def _paint_colour(image, pages, colours, made):
    page, out = values_of(pages), values_of(made)
    copy(values_of(image), out)
    for k in range(page.size):
        if page[k] > 0:
            colour = colours[page[k] - 1]
            out[3 * k], out[3 * k + 1], out[3 * k + 2] = colour[0], colour[1], colour[2]


@kernel
def paint(pixels: Tensor, page: Tensor, colours: Tensor) -> Tensor:
    return fill_pixels(pixels, _paint_grey if pixels.shape[1] == 1 else _paint_colour, page, colours)


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


@compiled
def _fill_polygons(polygons, count, inside, out):
    for p in range(count):
        _fill_polygon(polygons[p], inside, out)


@kernel
def fill_polygons(corners: Tensor, count: Tensor, height: int, width: int) -> Tensor:
    out = torch.zeros(len(corners), height, width, dtype=torch.bool)
    return fill(out, _fill_polygons, corners, count, scratch=lambda: (np.empty(width, np.bool_),))


@compiled
def _draw(planes, height, width, down, across, r0, c0, r1, c1, level):
    """Draw one line on (C, H * W), row by row; it runs down rather than across. Steps `down` and `across` are given."""
    dr, dc = r1 - r0, c1 - c0
    length = max(np.sqrt(dr * dr + dc * dc), F32(1e-6))
    slope = dc / dr if dr != 0.0 else F32(0.0)
    lowest, highest = max(int(min(c0, c1)), 0), min(int(max(c0, c1)), width - 1)
    for i in range(max(int(min(r0, r1)), 0), min(int(max(r0, r1)), height - 1) + 1):
        away = (F32(i) - r0) * dc
        middle = int(c0 + (F32(i) - r0) * slope)
        for j in range(max(middle - 1, lowest), min(middle + 2, highest) + 1):  # never farther than 1.42 away
            cover = F32(1.0) - abs(away - (F32(j) - c0) * dr) / length
            if cover > 0.0:
                k = i * down + j * across
                for c in range(planes.shape[0]):
                    planes[c, k] = int((F32(1.0) - cover) * F32(planes[c, k]) + level * cover)


@compiled
def _draw_lines(ends, level, height, width, planes):
    for k in range(len(ends)):
        r0, c0, r1, c1 = ends[k, 0], ends[k, 1], ends[k, 2], ends[k, 3]
        if abs(r1 - r0) >= abs(c1 - c0):
            _draw(planes, height, width, width, 1, r0, c0, r1, c1, level)
        else:
            _draw(planes, width, height, 1, width, c0, r0, c1, r1, level)


@kernel
def draw_lines(pixels: Tensor, ends: Tensor, level: float) -> Tensor:
    height, width = pixels.shape[-2:]
    drawn = pixels.clone(memory_format=torch.contiguous_format)
    fill(drawn.flatten(2), _draw_lines, ends, F32(level), height, width)
    return drawn


@compiled
def _flood(weak, strong, kept):
    height, width = weak.shape
    stack = np.empty((height * width, 2), np.int32)
    top = 0
    for i in range(height):
        for j in range(width):
            if strong[i, j] and weak[i, j]:
                kept[i, j] = True
                stack[top, 0], stack[top, 1] = i, j
                top += 1
    while top > 0:
        top -= 1
        i, j = stack[top, 0], stack[top, 1]
        for y in range(max(i - 1, 0), min(i + 2, height)):
            for x in range(max(j - 1, 0), min(j + 2, width)):
                if weak[y, x] and not kept[y, x]:
                    kept[y, x] = True
                    stack[top, 0], stack[top, 1] = y, x
                    top += 1


@kernel
def link_edges(weak: Tensor, strong: Tensor) -> Tensor:
    return fill(torch.zeros_like(weak), _flood, weak, strong)


@compiled
def _sweep(distance, i, j, sign):
    """Relax (i, j) against the eight chamfer neighbours that a scan in direction `sign` has already left behind."""
    height, width = distance.shape
    best = distance[i, j]
    for dy, dx, step in (
        (0, -1, 1.0), (-1, 0, 1.0), (-1, -1, DIAGONAL), (-1, 1, DIAGONAL),
        (-1, -2, KNIGHT), (-1, 2, KNIGHT), (-2, -1, KNIGHT), (-2, 1, KNIGHT),
    ):  # fmt: skip
        y, x = i + sign * dy, j + sign * dx
        if 0 <= y < height and 0 <= x < width:
            best = min(best, distance[y, x] + np.float32(step))
    distance[i, j] = best


@compiled
def _chamfer(edges, cap, distance):
    height, width = edges.shape
    for i in range(height):
        for j in range(width):
            distance[i, j] = np.float32(0.0) if edges[i, j] else cap
            _sweep(distance, i, j, 1)
    for i in range(height - 1, -1, -1):
        for j in range(width - 1, -1, -1):
            _sweep(distance, i, j, -1)


@kernel
def chamfer_distance(edges: Tensor, cap: float) -> Tensor:
    return fill(torch.empty(edges.shape, dtype=torch.float32), _chamfer, edges, np.float32(cap))
