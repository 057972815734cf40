"""What is drawn: polygons, cells and lines; Canny's edges, and distances to them. All equal to the reference's."""

from __future__ import annotations

import math

import torch
import triton
import triton.language as tl
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.reference.functions import sine_and_cosine
from scuff.kernels.reference.shapes import DIAGONAL, KNIGHT
from scuff.kernels.triton_gpu.launching import blocks, launch

LANES, TILE = 1024, 16


@triton.jit
def _polygons_kernel(corners, count, out, polygons, vertices, height, width, COLUMNS: tl.constexpr):
    """A program makes one row, for which most sides can be passed over: they lie above or below."""
    image, i = tl.program_id(0).to(tl.int64), tl.program_id(1)
    j = tl.program_id(2) * COLUMNS + tl.arange(0, COLUMNS)
    covered = tl.zeros((COLUMNS,), tl.int32)
    for p in range(tl.minimum(tl.load(count + image), polygons)):
        base = corners + (image * polygons + p) * vertices * 2
        inside, outline = tl.zeros((COLUMNS,), tl.int32), tl.zeros((COLUMNS,), tl.int32)
        for k in range(vertices):
            following = (k + 1) % vertices
            y0, y1 = tl.load(base + 2 * k), tl.load(base + 2 * following)
            if (tl.minimum(y0, y1) <= i) & (i <= tl.maximum(y0, y1)):
                x0, x1 = tl.load(base + 2 * k + 1), tl.load(base + 2 * following + 1)
                cross = (j - x0) * (y1 - y0) - (i - y0) * (x1 - x0)
                crosses = ((cross < 0) == (y1 > y0)) & (cross != 0) & ((y0 <= i) != (y1 <= i))
                inside ^= crosses.to(tl.int32)
                longer = tl.maximum(tl.abs(x1 - x0), tl.abs(y1 - y0))
                beside = (tl.minimum(x0, x1) <= j) & (j <= tl.maximum(x0, x1))
                outline |= (beside & (2 * tl.abs(cross) <= longer)).to(tl.int32)
        covered |= inside | outline
    tl.store(out + (image * height + i) * width + j, covered.to(tl.uint8), mask=j < width)


@kernel
def fill_polygons(corners: Tensor, count: Tensor, height: int, width: int) -> Tensor:
    n, polygons, vertices, _ = corners.shape
    out = torch.empty(n, height, width, dtype=torch.uint8, device=corners.device)
    lanes = min(256, triton.next_power_of_2(width))
    return launch(
        _polygons_kernel, (n, height, blocks(width, lanes)), out,
        corners.contiguous(), count.contiguous(), out, polygons, vertices, height, width,
        COLUMNS=lanes, num_warps=max(1, lanes // 128),
    ).view(torch.bool)  # fmt: skip


@triton.jit
def _discs_kernel(rows, columns, radii, out, discs, height, width, LANES: tl.constexpr):
    image = tl.program_id(1).to(tl.int64)
    at = tl.program_id(0) * LANES + tl.arange(0, LANES)
    i, j = at // width, at % width
    count = tl.zeros((LANES,), tl.int32)
    for k in range(discs):
        number = image * discs + k
        down, across, radius = i - tl.load(rows + number), j - tl.load(columns + number), tl.load(radii + number)
        count += (down * down + across * across <= tl.where(radius < 0, -1, radius * radius)).to(tl.int32)
    tl.store(out + image * height * width + at, count, mask=at < height * width)


@kernel
def count_discs(rows: Tensor, columns: Tensor, radii: Tensor, height: int, width: int) -> Tensor:
    n, discs = rows.shape
    out = torch.empty(n, height, width, dtype=torch.int32, device=rows.device)
    given = (numbers.contiguous() for numbers in (rows, columns, radii))
    return launch(
        _discs_kernel, (blocks(height * width, LANES), n), out, *given, out, discs, height, width, LANES=LANES
    )


@triton.jit
def _cells_kernel(sines, cosines, size, hidden, out, cells, height, width, LANES: tl.constexpr):
    image, count = tl.program_id(1).to(tl.int64), height * width
    at = tl.program_id(0) * LANES + tl.arange(0, LANES)
    r, c = (at // width).to(tl.float32), (at % width).to(tl.float32)
    sine, cosine, side = tl.load(sines + image), tl.load(cosines + image), tl.zeros_like(r) + tl.load(size + image)
    a, b = tl.div_rn(cosine * r + sine * c, side), tl.div_rn(cosine * c - sine * r, side)
    black = ((tl.floor(a).to(tl.int32) + tl.floor(b).to(tl.int32)) & 1) == 0
    place = (a.to(tl.int32) + cells // 2) * cells + b.to(tl.int32) + cells // 2
    covers = tl.load(hidden + image * cells * cells + place, mask=black & (at < count), other=0)
    tl.store(out + image * count + at, covers, mask=at < count)


@kernel
def hidden_cells(angle: Tensor, size: Tensor, hidden: Tensor, height: int, width: int) -> Tensor:
    out = torch.empty(angle.shape[0], height, width, dtype=torch.bool, device=angle.device)
    turns = (turn.contiguous() for turn in sine_and_cosine(angle))
    return launch(
        _cells_kernel, (blocks(height * width, LANES), angle.shape[0]), out,
        *turns, size.contiguous(), hidden.contiguous().view(torch.uint8), out.view(torch.uint8),
        hidden.shape[-1], height, width, LANES=LANES,
    )  # fmt: skip


@triton.jit
def _draw_kernel(pixels, ends, out, channels, height, width, count, level, TILE: tl.constexpr):
    """A program holds one tile of one plane and draws the lines that may touch it."""
    plane = tl.program_id(0).to(tl.int64)
    tiles = tl.cdiv(width, TILE)
    top, left = tl.program_id(1) // tiles * TILE, tl.program_id(1) % tiles * TILE
    row, column = top + tl.arange(0, TILE)[:, None], left + tl.arange(0, TILE)[None, :]
    wanted = (row < height) & (column < width)
    at = plane * height * width + row * width + column
    drawn = tl.load(pixels + at, mask=wanted, other=0).to(tl.float32)
    r, c = row.to(tl.float32), column.to(tl.float32)
    ends += plane // channels * count * 4
    for k in range(count):
        r0, c0 = tl.load(ends + 4 * k), tl.load(ends + 4 * k + 1)
        r1, c1 = tl.load(ends + 4 * k + 2), tl.load(ends + 4 * k + 3)
        dr, dc = r1 - r0, c1 - c0
        length = tl.maximum(tl.sqrt_rn(dr * dr + dc * dc), 1e-6)
        if tl.abs((top + TILE // 2 - r0) * dc - (left + TILE // 2 - c0) * dr) <= TILE * length:
            cover = 1.0 - tl.div_rn(tl.abs((r - r0) * dc - (c - c0) * dr), length)
            inside = (r >= tl.minimum(r0, r1)) & (r <= tl.maximum(r0, r1))
            inside = inside & (c >= tl.minimum(c0, c1)) & (c <= tl.maximum(c0, c1))
            mixed = tl.floor((1.0 - cover) * drawn + level * cover)
            drawn = tl.where(inside & (cover > 0.0), mixed, drawn)
    tl.store(out + at, drawn.to(tl.int32).to(tl.uint8), mask=wanted)


@kernel
def draw_lines(pixels: Tensor, ends: Tensor, level: float) -> Tensor:
    pixels = pixels.contiguous()
    n, channels, height, width = pixels.shape
    out = torch.empty_like(pixels)
    return launch(
        _draw_kernel, (n * channels, blocks(height, TILE) * blocks(width, TILE)), out,
        pixels, ends.contiguous(), out, channels, height, width, ends.shape[1], level, TILE=TILE, num_warps=1,
    )  # fmt: skip


@triton.jit
def _flood_kernel(weak, strong, kept, height, width, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """One program for each image: rounds repeat until a whole sweep adds no pixel.

    A sweep leaves a tile when it adds no more there, so that a line of edges costs rounds by the tiles that it crosses,
    not by its pixels. Beyond the border stands the pixel before it, itself a neighbour or the pixel in question: that
    adds nothing.
    """
    image = tl.program_id(0).to(tl.int64) * height * width
    weak += image
    kept += image
    for top in range(0, height, ROWS):
        for left in range(0, width, COLUMNS):
            i, j = top + tl.arange(0, ROWS)[:, None], left + tl.arange(0, COLUMNS)[None, :]
            at, inside = i * width + j, (i < height) & (j < width)
            sure = tl.load(weak + at, mask=inside, other=0) & tl.load(strong + image + at, mask=inside, other=0)
            tl.store(kept + at, sure, mask=inside)
    tl.debug_barrier()  # what follows must see what was stored here
    added = 1
    while added > 0:
        added = 0
        for top in range(0, height, ROWS):
            for left in range(0, width, COLUMNS):
                i, j = top + tl.arange(0, ROWS)[:, None], left + tl.arange(0, COLUMNS)[None, :]
                at, inside = i * width + j, (i < height) & (j < width)
                above, below = tl.maximum(i - 1, 0) * width, tl.minimum(i + 1, height - 1) * width
                before, after = tl.maximum(j - 1, 0), tl.minimum(j + 1, width - 1)
                edges, grows = tl.load(weak + at, mask=inside, other=0), 1
                while grows > 0:
                    is_open = edges > tl.load(kept + at, mask=inside, other=1)
                    grows = 0
                    if tl.max(tl.max(is_open.to(tl.int32), axis=1), axis=0) > 0:
                        near = _kept_beside(kept + above, before, j, after, is_open)
                        near |= _kept_beside(kept + i * width, before, j, after, is_open)
                        near |= _kept_beside(kept + below, before, j, after, is_open)
                        tl.debug_barrier()  # all have read what is now written
                        tl.store(kept + at, near, mask=near != 0)
                        grows = tl.max(tl.max(near.to(tl.int32), axis=1), axis=0)
                        tl.debug_barrier()  # what is read next must see it
                    added = tl.maximum(added, grows)


@triton.jit
def _kept_beside(row, before, here, after, is_open):
    """Whether one of three pixels of a row is kept."""
    near = tl.load(row + before, mask=is_open, other=0) | tl.load(row + here, mask=is_open, other=0)
    return near | tl.load(row + after, mask=is_open, other=0)


@kernel
def link_edges(weak: Tensor, strong: Tensor) -> Tensor:
    n, height, width = weak.shape
    kept = torch.empty(weak.shape, dtype=torch.uint8, device=weak.device)
    given = (edges.contiguous().view(torch.uint8) for edges in (weak, strong))
    lanes = min(256, triton.next_power_of_2(width))
    return launch(
        _flood_kernel, (n,), kept, *given, kept, height, width, ROWS=2048 // lanes, COLUMNS=lanes, num_warps=16
    ).view(torch.bool)


@triton.jit
def _across_kernel(edges, out, size, width, most, LANES: tl.constexpr):
    """How far the nearest edge in the same row is, at most `most`."""
    at = tl.program_id(0).to(tl.int64) * LANES + tl.arange(0, LANES)
    column = (at % width).to(tl.int32)
    nearest = tl.zeros((LANES,), tl.int32) + most
    for step in range(most):
        k = most - 1 - step
        before = tl.load(edges + at - k, mask=(at < size) & (column >= k), other=0)
        after = tl.load(edges + at + k, mask=(at < size) & (column + k < width), other=0)
        nearest = tl.where((before | after) != 0, k, nearest)
    tl.store(out + at, nearest.to(tl.float32), mask=at < size)


@triton.jit
def _chamfer_kernel(
    across, out, height, width, most, cap, DIAGONAL: tl.constexpr, KNIGHT: tl.constexpr, COLUMNS: tl.constexpr
):  # fmt: skip
    """The least over the nearest edges of all rows within reach, two rows at a time, up and down.

    A way of the chamfer takes steps of two kinds: knight's moves, and those that lie in the longer direction or on the
    diagonal, whichever side of the knight's the way is. So its length is the larger of two sums, `straight` and
    `slanted`; all of them exact, being whole multiples of 2**-19 below 32. Beyond the border stands the last row, which
    is nearer than it seems here: that makes nothing nearer.
    """
    i, j = tl.program_id(1), tl.program_id(2) * COLUMNS + tl.arange(0, COLUMNS)
    image, inside = tl.program_id(0).to(tl.int64) * height * width, j < width
    across += image + j
    best = tl.minimum(tl.load(across + i * width, mask=inside, other=0.0), cap)
    for k in range(1, most):
        above = tl.load(across + tl.maximum(i - k, 0) * width, mask=inside, other=0.0)
        below = tl.load(across + tl.minimum(i + k, height - 1) * width, mask=inside, other=0.0)
        near, down = tl.minimum(above, below), k * 1.0
        longer, shorter = tl.maximum(near, down), tl.minimum(near, down)
        straight = longer + (KNIGHT - 2.0) * shorter
        slanted = (KNIGHT - DIAGONAL) * longer + (2.0 * DIAGONAL - KNIGHT) * shorter
        best = tl.minimum(best, tl.maximum(straight, slanted))
    tl.store(out + image + i * width + j, best, mask=inside)


@kernel
def chamfer_distance(edges: Tensor, cap: float) -> Tensor:
    edges, (n, height, width) = edges.contiguous().view(torch.uint8), edges.shape
    across, out = (torch.empty(edges.shape, device=edges.device) for _ in range(2))
    most, size = math.ceil(cap), edges.numel()
    launch(_across_kernel, (blocks(size, LANES),), across, edges, across, size, width, most, LANES=LANES)
    lanes = min(256, triton.next_power_of_2(width))
    return launch(
        _chamfer_kernel, (n, height, blocks(width, lanes)), out,
        across, out, height, width, most, float(cap), DIAGONAL=DIAGONAL, KNIGHT=KNIGHT, COLUMNS=lanes,
    )  # fmt: skip
