"""What is drawn: stamps one upon the other, polygons, cells, lines; and Canny's edges."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from scuff.kernels import portable
from scuff.kernels.dispatch import kernel, slow_kernel
from scuff.kernels.reference.functions import sine_and_cosine

__all__ = [
    "chamfer_distance", "count_discs", "draw_lines", "fill_polygons", "hidden_cells", "link_edges", "paint",
    "pale_by_number", "stamp",
]  # fmt: skip


@kernel
def stamp(
    rows: Tensor, columns: Tensor, kinds: Tensor, dy: Tensor, dx: Tensor, height: int, width: int, count: bool = False
) -> Tensor:
    """Stamp shapes on blank pages, one after the other: int32 (N, height, width).

    Stamp k of an image puts the pixels (rows + dy[kind], columns + dx[kind]) down; kind -1 puts down none. Places are
    int32 (N, K), shapes int32 (kinds, pixels). A pixel becomes the number, from 1, of the last stamp that covers it, or
    with `count` how many do.
    """
    n, stamps = rows.shape
    kind = kinds.clamp(min=0).long()
    i, j = rows[:, :, None] + dy[kind], columns[:, :, None] + dx[kind]
    shows = (kinds >= 0)[:, :, None] & (i >= 0) & (i < height) & (j >= 0) & (j < width)
    place = torch.where(shows, i * width + j, height * width).long().flatten(1)  # the last place is thrown away
    page = torch.zeros(n, height * width + 1, dtype=torch.int32, device=rows.device)
    if count:
        page.scatter_add_(1, place, torch.ones_like(place, dtype=torch.int32))
    else:
        number = torch.arange(1, stamps + 1, dtype=torch.int32, device=rows.device)
        page.scatter_reduce_(1, place, number[:, None].expand(n, stamps, dy.shape[1]).flatten(1), "amax")
    return page[:, :-1].unflatten(1, (height, width))


@kernel
def count_discs(rows: Tensor, columns: Tensor, radii: Tensor, height: int, width: int) -> Tensor:
    """How many discs cover each pixel: int32 (N, height, width).

    Centres and radii are int32 (N, K). A disc holds every pixel within its radius; a negative radius is no disc.
    """
    i = torch.arange(height, dtype=torch.int32, device=rows.device)
    j = torch.arange(width, dtype=torch.int32, device=rows.device)
    count = torch.zeros(len(rows), height, width, dtype=torch.int32, device=rows.device)
    for k in range(rows.shape[1]):
        down, across = (i - rows[:, k, None]).square(), (j - columns[:, k, None]).square()
        reach = torch.where(radii[:, k] < 0, -1, radii[:, k].square())
        count += down[:, :, None] + across[:, None] <= reach[:, None, None]
    return count


@kernel
def paint(pixels: Tensor, page: Tensor, colours: Tensor) -> Tensor:
    """Lay a page over uint8 (N, C, H, W): a pixel numbered k > 0 on int32 (N, H, W) becomes colour k - 1.

    `colours` is uint8 (N, K, C), or (1, K, C) if all images share them.
    """
    n, channels, height, width = pixels.shape
    place = (page - 1).clamp(min=0).long().flatten(1)[..., None].expand(-1, -1, channels)
    painted = colours.expand(n, -1, -1).gather(1, place).mT.view(n, channels, height, width)
    return torch.where((page > 0)[:, None], painted, pixels)


@kernel
def pale_by_number(x: Tensor, number: Tensor, remains: Tensor) -> Tensor:
    """Float32 (N, C, H, W) nearer to white: of the distance `remains[k]` (K,) is left where int32 (N, H, W) has k.

    Numbers from K on count as the last one.
    """
    return 1.0 - (1.0 - x) * remains[number.clamp(max=len(remains) - 1).long()][:, None]


@kernel
def fill_polygons(corners: Tensor, count: Tensor, height: int, width: int) -> Tensor:
    """The union (bool, N x height x width) of the first `count` (N,) polygons of each image.

    `corners` is int32 (N, P, V, 2), row and column. Even-odd rule; the outline, a pixel wide, belongs to the polygon.
    """
    i = torch.arange(height, device=corners.device)[:, None]
    j = torch.arange(width, device=corners.device)
    covered = torch.zeros(len(corners), height, width, dtype=torch.bool, device=corners.device)
    for p in range(corners.shape[1]):
        inside, outline = torch.zeros_like(covered), torch.zeros_like(covered)
        for k in range(corners.shape[2]):
            (y0, x0), (y1, x1) = (
                corners[:, p, c].long()[:, :, None, None].unbind(1) for c in (k, (k + 1) % corners.shape[2])
            )
            # how far the pixel lies from the edge's line, times the edge's length; exact, being whole
            cross = (j - x0) * (y1 - y0) - (i - y0) * (x1 - x0)
            inside ^= ((y0 <= i) != (y1 <= i)) & ((cross < 0) == (y1 > y0)) & (cross != 0)
            longer = torch.maximum((x1 - x0).abs(), (y1 - y0).abs())
            beside = (torch.minimum(y0, y1) <= i) & (i <= torch.maximum(y0, y1))
            beside = beside & (torch.minimum(x0, x1) <= j) & (j <= torch.maximum(x0, x1))
            outline |= beside & (2 * cross.abs() <= longer)
        covered |= (inside | outline) & (p < count)[:, None, None]
    return covered


@kernel
def hidden_cells(angle: Tensor, size: Tensor, hidden: Tensor, height: int, width: int) -> Tensor:
    """The black cells (bool, N x height x width) of chessboards that are among `hidden` (bool, N x K x K).

    Boards are turned by `angle` (N,) about the first pixel, cells are `size` (N,) pixels wide. Cells are numbered by
    truncation from the middle of `hidden`, so the two rows on either side of an axis share their fate: the original's.
    """
    r = torch.arange(height, dtype=torch.float32, device=angle.device)[:, None]
    c = torch.arange(width, dtype=torch.float32, device=angle.device)
    sine, cosine = (turn[:, None, None] for turn in sine_and_cosine(angle))
    size = size[:, None, None]
    a, b = (cosine * r + sine * c) / size, (cosine * c - sine * r) / size
    black = (torch.floor(a) + torch.floor(b)).remainder(2.0) == 0
    cells = hidden.shape[-1]
    place = (torch.trunc(a).long() + cells // 2) * cells + torch.trunc(b).long() + cells // 2
    return black & hidden.flatten(1).gather(1, place.flatten(1)).view(black.shape)


@slow_kernel(lambda pixels, ends, level: pixels.numel() * ends.shape[1])
def draw_lines(pixels: Tensor, ends: Tensor, level: float) -> Tensor:
    """Draw lines of grey `level` over uint8 (N, C, H, W), one after the other, each truncated to bytes.

    `ends` (N, L, 4) are whole numbers in float32: first row and column, last row and column. A line covers a pixel in
    its bounding box by one less their distance, if that is above 0. Equal in every back end while products of
    coordinates stay below 2**24.
    """
    height, width = pixels.shape[-2:]
    r = torch.arange(height, dtype=torch.float32, device=pixels.device)[:, None]
    c = torch.arange(width, dtype=torch.float32, device=pixels.device)
    drawn = pixels.float()
    for k in range(ends.shape[1]):
        r0, c0, r1, c1 = ends[:, k, :, None, None].unbind(1)
        dr, dc = r1 - r0, c1 - c0
        length = portable.length(dr, dc).clamp(min=1e-6)
        cover = 1.0 - ((r - r0) * dc - (c - c0) * dr).abs() / length
        inside = (r >= torch.minimum(r0, r1)) & (r <= torch.maximum(r0, r1))
        inside = inside & (c >= torch.minimum(c0, c1)) & (c <= torch.maximum(c0, c1))
        cover = torch.where(inside, cover.clamp(min=0.0), 0.0)[:, None]
        drawn = torch.floor((1.0 - cover) * drawn + level * cover)
    return drawn.to(torch.uint8)


@kernel
def link_edges(weak: Tensor, strong: Tensor) -> Tensor:
    """Keep each 8-connected component of `weak` (bool, N x H x W) that touches `strong`: Canny's hysteresis."""
    kept = (strong & weak).float()[:, None]
    mask = weak.float()[:, None]
    while True:
        grown = kept
        for _ in range(8):
            grown = torch.nn.functional.max_pool2d(grown, 3, stride=1, padding=1) * mask
        if torch.equal(grown, kept):
            return kept[:, 0] > 0
        kept = grown


DIAGONAL, KNIGHT = 734_003 / 2**19, 1_151_808 / 2**19  # 1.4 and 2.1969
CHAMFER_STEPS = tuple(
    (dy, dx, {1: 1.0, 2: DIAGONAL, 5: KNIGHT}[dy * dy + dx * dx])
    for dy in range(-2, 3)
    for dx in range(-2, 3)
    if dy * dy + dx * dx in (1, 2, 5)
)


@kernel
def chamfer_distance(edges: Tensor, cap: float) -> Tensor:
    """Distance (float32) to the nearest True of (N, H, W), by the 5 x 5 chamfer 1, 1.4, 2.1969; never above `cap`.

    Relax every pixel against its 16 chamfer neighbours; a step costs at least 1, so `cap` rounds are enough. Bit-equal
    in every back end: steps are whole multiples of 2**-19, which float32 adds without rounding up to 32.
    """
    n, h, w = edges.shape
    distance = torch.full((n, h + 4, w + 4), cap, dtype=torch.float32, device=edges.device)
    inner = distance[:, 2 : h + 2, 2 : w + 2]
    inner.masked_fill_(edges, 0.0)
    for _ in range(math.ceil(cap)):
        best = inner.clone()
        for dy, dx, step in CHAMFER_STEPS:
            torch.minimum(best, distance[:, 2 + dy : h + 2 + dy, 2 + dx : w + 2 + dx] + step, out=best)
        inner.copy_(best)
    return inner.clone()
