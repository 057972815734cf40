"""What is drawn: polygons, cells and lines; Canny's edges, and distances to them. All equal to the reference's."""

from __future__ import annotations

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
def _polygons_kernel(corners, count, out, polygons, vertices, height, width, LANES: tl.constexpr):
    image = tl.program_id(1).to(tl.int64)
    at = tl.program_id(0) * LANES + tl.arange(0, LANES)
    i, j = at // width, at % width
    covered = tl.zeros((LANES,), tl.int32)
    for p in range(tl.minimum(tl.load(count + image), polygons)):
        base = corners + (image * polygons + p) * vertices * 2
        inside, outline = tl.zeros((LANES,), tl.int32), tl.zeros((LANES,), tl.int32)
        for k in range(vertices):
            following = (k + 1) % vertices
            y0, x0 = tl.load(base + 2 * k), tl.load(base + 2 * k + 1)
            y1, x1 = tl.load(base + 2 * following), tl.load(base + 2 * following + 1)
            cross = (j - x0) * (y1 - y0) - (i - y0) * (x1 - x0)
            crosses = ((y0 <= i) != (y1 <= i)) & ((cross < 0) == (y1 > y0)) & (cross != 0)
            inside ^= crosses.to(tl.int32)
            beside = (tl.minimum(y0, y1) <= i) & (i <= tl.maximum(y0, y1))
            beside = beside & (tl.minimum(x0, x1) <= j) & (j <= tl.maximum(x0, x1))
            longer = tl.maximum(tl.abs(x1 - x0), tl.abs(y1 - y0))
            outline |= (beside & (2 * tl.abs(cross) <= longer)).to(tl.int32)
        covered |= inside | outline
    tl.store(out + image * height * width + at, covered.to(tl.uint8), mask=at < height * width)


@kernel
def fill_polygons(corners: Tensor, count: Tensor, height: int, width: int) -> Tensor:
    n, polygons, vertices, _ = corners.shape
    out = torch.empty(n, height, width, dtype=torch.uint8, device=corners.device)
    return launch(
        _polygons_kernel, (blocks(height * width, LANES), n), out,
        corners.contiguous(), count.contiguous(), out, polygons, vertices, height, width, LANES=LANES,
    ).bool()  # fmt: skip


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
def _flood_kernel(weak, kept, height, width, LANES: tl.constexpr):
    """`kept` is padded by one pixel; rounds repeat until a whole sweep adds no pixel."""
    size = height * width
    wide = width + 2
    weak += tl.program_id(0).to(tl.int64) * size
    kept += tl.program_id(0).to(tl.int64) * (height + 2) * wide
    added = 1
    while added > 0:
        fresh = tl.zeros((LANES,), tl.int32)
        for start in range(0, size, LANES):
            p = start + tl.arange(0, LANES)
            inside = p < size
            at = (p // width + 1) * wide + p % width + 1
            mine = tl.load(kept + at, mask=inside, other=1)
            open_ = inside & (mine == 0) & (tl.load(weak + p, mask=inside, other=0) != 0)
            near = tl.load(kept + at - wide - 1, mask=open_, other=0) | tl.load(kept + at - wide, mask=open_, other=0)
            near |= tl.load(kept + at - wide + 1, mask=open_, other=0) | tl.load(kept + at - 1, mask=open_, other=0)
            near |= tl.load(kept + at + 1, mask=open_, other=0) | tl.load(kept + at + wide - 1, mask=open_, other=0)
            near |= tl.load(kept + at + wide, mask=open_, other=0) | tl.load(kept + at + wide + 1, mask=open_, other=0)
            grow = open_ & (near != 0)
            tl.store(kept + at, grow.to(tl.uint8), mask=grow)
            fresh += grow.to(tl.int32)
            tl.debug_barrier()  # the next tile and the next round must see what was stored here
        added = tl.sum(fresh, axis=0)


@kernel
def link_edges(weak: Tensor, strong: Tensor) -> Tensor:
    n, height, width = weak.shape
    kept = torch.nn.functional.pad((weak & strong).to(torch.uint8), (1, 1, 1, 1)).contiguous()
    if weak.numel():
        with torch.cuda.device_of(weak):
            _flood_kernel[(n,)](weak.to(torch.uint8).contiguous(), kept, height, width, LANES=2048)
    return kept[:, 1:-1, 1:-1] != 0


@triton.jit
def _nearer(best, at, across, down, step):
    """The least of `best` and of four neighbours, up or down and left or right, each a step farther."""
    best = tl.minimum(best, tl.load(at - down - across) + step)
    best = tl.minimum(best, tl.load(at - down + across) + step)
    best = tl.minimum(best, tl.load(at + down - across) + step)
    return tl.minimum(best, tl.load(at + down + across) + step)


@triton.jit
def _chamfer_kernel(distance, height, width, DIAGONAL: tl.constexpr, KNIGHT: tl.constexpr, LANES: tl.constexpr):
    """`distance` is padded by two pixels; rounds repeat until a whole sweep changes none, whatever the order within."""
    size, wide = height * width, width + 4
    distance += tl.program_id(0).to(tl.int64) * (height + 4) * wide
    changed = 1
    while changed > 0:
        fresh = tl.zeros((LANES,), tl.int32)
        for start in range(0, size, LANES):
            p = start + tl.arange(0, LANES)
            q = tl.minimum(p, size - 1)
            at = distance + (q // width + 2) * wide + q % width + 2
            own = tl.load(at)
            best = tl.minimum(tl.minimum(own, tl.load(at - 1) + 1.0), tl.load(at + 1) + 1.0)
            best = tl.minimum(tl.minimum(best, tl.load(at - wide) + 1.0), tl.load(at + wide) + 1.0)
            best = _nearer(best, at, 1, wide, DIAGONAL)
            best = _nearer(_nearer(best, at, 2, wide, KNIGHT), at, 1, 2 * wide, KNIGHT)
            tl.store(at, best, mask=p < size)
            fresh += (best < own).to(tl.int32)
        tl.debug_barrier()  # the next round must see what was stored here
        changed = tl.max(fresh, axis=0)


@kernel
def chamfer_distance(edges: Tensor, cap: float) -> Tensor:
    n, height, width = edges.shape
    distance = torch.full((n, height + 4, width + 4), cap, device=edges.device)
    inner = distance[:, 2 : height + 2, 2 : width + 2]
    inner.masked_fill_(edges, 0.0)
    if edges.numel():
        launch(
            _chamfer_kernel, (n,), distance,
            distance, height, width, DIAGONAL=DIAGONAL, KNIGHT=KNIGHT, LANES=2048, num_warps=16,
        )  # fmt: skip
    return inner.contiguous()
