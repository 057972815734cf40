"""The picture on another grid: bent, cut up and shuffled, seen from the side."""

from __future__ import annotations

import math
from itertools import pairwise

import torch
from torch import Tensor

from scuff import kernels, random
from scuff.corruptions.draws import Shape, pick
from scuff.corruptions.geometry import syn2nat
from scuff.corruptions.motion import Motion, field_motion, matrix_motion
from scuff.kernels import portable
from scuff.kernels.constants import constant
from scuff.kernels.grids import pixel_grid
from scuff.kernels.portable import divide
from scuff.kernels.reference.warps import tile_places
from scuff.ops import warp
from scuff.ops.textures import per_image
from scuff.ranges import Range


def _read(pixels: Tensor, rows: Tensor, columns: Tensor, border: str) -> Tensor:
    """Read pixels at real coordinates, (N, H, W) or short of an axis."""
    shape = (len(pixels), *pixels.shape[-2:])
    return kernels.remap(pixels, rows.expand(shape), columns.expand(shape), border)


STEPS = 5


def _draw_grid(keys: Tensor, shape: Shape, *, strength: float) -> dict[str, Tensor]:
    factors = random.uniform(keys, "factors", (2, STEPS + 1), 1.0 - strength, 1.0 + strength)
    return {"down": factors[:, 0], "across": factors[:, 1]}


def _grid_line(factors: Tensor, length: int) -> Tensor:
    """Where each of `length` pixels is read: a line through every fifth, each of its own slope, (N, length)."""
    step = max(1, length // STEPS)
    pieces, value = [], torch.zeros_like(factors[:, 0])
    for k in range(min(STEPS + 1, -(-length // step))):
        count = min(step, length - k * step)
        end = value + step * factors[:, k] if count == step else torch.full_like(value, float(length))
        share = divide(torch.arange(count, device=factors.device).float(), max(count - 1, 1))
        pieces.append(value[:, None] + share * (end - value)[:, None])
        value = end
    line = torch.cat(pieces, dim=1)
    return line[:, torch.arange(length, device=line.device).clamp(max=line.shape[1] - 1)]  # the last one may repeat


def _grid_lines(shape: tuple[int, ...], down: Tensor, across: Tensor) -> tuple[Tensor, Tensor]:
    return _grid_line(down, shape[-2])[:, :, None], _grid_line(across, shape[-1])[:, None, :]


@syn2nat(draw=_draw_grid, motion=field_motion(_grid_lines))
def grid_distortion(pixels: Tensor, down: Tensor, across: Tensor) -> Tensor:
    """Five strips each way, each stretched or squeezed; the last few pixels jump back to the far edge."""
    return _read(pixels, *_grid_lines(pixels.shape, down, across), "mirror")


def _draw_lens(keys: Tensor, shape: Shape, *, bend: Range | float, shift: float) -> dict[str, Tensor]:
    return {"bend": pick(keys, bend), "offset": torch.round(random.uniform(keys, "offset", (2,), -shift, shift))}


def _through_lens(shape: tuple[int, ...], bend: Tensor, offset: Tensor) -> tuple[Tensor, Tensor]:
    height, width = shape[-2:]
    rows, columns = pixel_grid(height, width, bend.device)
    y, x = divide(rows - (height - 1) / 2, height), divide(columns - (width - 1) / 2, width)
    square = x * x + y * y
    grow = 1.0 + per_image(bend) * (square + square * square)
    source_y = height * y * grow + height / 2 + per_image(offset[:, 0])
    source_x = width * x * grow + width / 2 + per_image(offset[:, 1])
    return source_y, source_x


@syn2nat(draw=_draw_lens, lengths=("shift",), ranges=("bend",), motion=field_motion(_through_lens))
def optical_distortion(pixels: Tensor, bend: Tensor, offset: Tensor) -> Tensor:
    """A lens that bends straight lines: a barrel or a cushion, with its axis a few pixels off."""
    return kernels.remap(pixels, *_through_lens(pixels.shape, bend, offset), "mirror")


def _draw_shuffle(keys: Tensor, shape: Shape, *, cells: int) -> dict[str, Tensor]:
    return {"order": random.integers(keys, "order", (cells * cells,), low=0, high=2**30)}


def _edges(shape: tuple[int, ...], cells: int) -> tuple[tuple[int, ...], ...]:
    """Where rows and columns of tiles begin, and the last of them ends."""
    height, width = shape[-2:]
    tops, lefts = (tuple(length * k // cells for k in range(cells + 1)) for length in (height, width))
    return tops, lefts


def _givers(shape: tuple[int, ...], order: Tensor, cells: int) -> Tensor:
    """Which tile gives its content to each one: int64 (N, cells * cells)."""
    tops, lefts = _edges(shape, cells)
    heights, widths = ([after - before for before, after in pairwise(edges)] for edges in (tops, lefts))
    size = constant(tuple(h * (shape[-1] + 1) + w for h in heights for w in widths), order.device, torch.int64)
    # tiles in order of their size, and in random order within a size: the k-th gives its content to the k-th
    target = torch.argsort(size, stable=True)
    source = torch.argsort((size << 31) + order, dim=1, stable=True)
    return torch.empty_like(source).scatter_(1, target.expand_as(source), source)


def _shuffle_motion(shape: Shape, order: Tensor, *, cells: int) -> Motion:
    place, tiles = tile_places(_givers(shape, order, cells), *_edges(shape, cells))
    rows = torch.div(place, shape[2], rounding_mode="floor")
    columns = (place - rows * shape[2]).float()
    return Motion(shape[1:], rows=rows.float(), columns=columns, tiles=tiles[None])


@syn2nat(draw=_draw_shuffle, motion=_shuffle_motion)
def random_grid_shuffle(pixels: Tensor, order: Tensor, *, cells: int) -> Tensor:
    """A puzzle: the picture cut into `cells` x `cells` tiles, which change places with tiles of the same size."""
    return kernels.move_tiles(pixels, _givers(pixels.shape, order, cells), *_edges(pixels.shape, cells))


LEAST_SIDE = 2.0


def _draw_corners(keys: Tensor, shape: Shape, *, scale: Range | float) -> dict[str, Tensor]:
    jitter = random.normal(keys, "corners", (4, 2)) * pick(keys, scale)[:, None, None]
    return {"inset": jitter.abs().remainder(1.0)}


def _quadrangle(shape: tuple[int, ...], inset: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """What takes the unit square to each picture's quadrangle (N, 3, 3), and height and width of the latter's grid."""
    corners, tall, wide = _opened(_ordered_corners(inset.double(), *shape[-2:]))
    return warp.square_to_quadrangle(corners), tall, wide


def _perspective_motion(shape: Shape, inset: Tensor) -> Motion:
    matrix, tall, wide = _quadrangle(shape, inset)
    across, down = ((0.5 / side - 0.5 / size)[:, None] for side, size in ((shape[2], wide), (shape[1], tall)))
    first, second, last = matrix.unbind(2)
    columns = (first / shape[2], second / shape[1], first * across + second * down + last)
    return matrix_motion(shape, torch.stack(columns, dim=2).flatten(1).unbind(1))


@syn2nat(
    draw=_draw_corners,
    ranges=("scale",),
    motion=_perspective_motion,
    memory=lambda images, shape, _: 5 * images * shape[0] * math.hypot(*shape[1:]) ** 2,
)
def perspective(pixels: Tensor, inset: Tensor) -> Tensor:
    """A view from the side: a random quadrangle of the picture pulled straight and enlarged to the full size.

    In two steps, as in the original: the quadrangle is read on a grid of its own size, and that grid enlarged.
    """
    height, width = pixels.shape[-2:]
    quadrangle, tall, wide = _quadrangle(pixels.shape, inset)
    grid = torch.stack((1.0 / wide, 1.0 / tall, torch.ones_like(tall)), dim=1)
    matrix = (quadrangle * grid[:, None]).float()
    side = math.ceil(math.hypot(height, width)) + 3  # no quadrangle has a longer one, even opened
    extent = torch.stack((tall, wide), dim=1).to(torch.int32)
    straight = kernels.project(pixels, matrix, extent, side, side, "zeros")
    enlarged = ((wide < width) | (tall < height))[:, None]
    down, across = _opencv_windows(tall, height, enlarged), _opencv_windows(wide, width, enlarged)
    return kernels.mix_byte_windows(straight, *down, *across)


def _ordered_corners(inset: Tensor, height: int, width: int) -> Tensor:
    """Upper and lower, left and right, as (x, y): (N, 2, 2, 2); named by where they have come to lie."""
    outer = constant(((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)), inset.device, torch.float64)
    points = (outer - inset).abs() * constant((float(width), float(height)), inset.device, torch.float64)
    total, difference = points.sum(2), points[..., 1] - points[..., 0]
    which = (total.argmin(1), difference.argmin(1), difference.argmax(1), total.argmax(1))
    return points.gather(1, torch.stack(which, dim=1)[..., None].expand(-1, -1, 2)).unflatten(1, (2, 2))


OUTWARD = (  # for each corner, along x and along y
    (((-1.0, 0.0), (1.0, 0.0)), ((-1.0, 0.0), (1.0, 0.0))),
    (((0.0, -1.0), (0.0, -1.0)), ((0.0, 1.0), (0.0, 1.0))),
)


def _opened(corners: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The corners, with sides of at least two pixels, and the height and width of the grid that they span.

    Two corners are often the same: a point may lie both farthest to the top left and farthest to the top right. If the
    upper or the lower side is too short, all four corners move apart along x; if the left or the right one is, along y.
    """
    sizes = []
    for axis in (0, 1):
        outward = constant(OUTWARD[axis], corners.device, torch.float64)
        lengths = _lengths(corners, axis)
        for _ in range(2):  # by whole steps, as the original: two are enough
            apart = 0.5 * (LEAST_SIDE - torch.floor(lengths.amin(1))).clamp(min=0.0)
            corners = corners + apart[:, None, None, None] * outward
            lengths = _lengths(corners, axis)
        sizes.append(torch.floor(lengths.amax(1)))
    wide, tall = sizes
    return corners, tall, wide


def _lengths(corners: Tensor, axis: int) -> Tensor:
    """Of the two sides that lie along x (axis 0) or y, (N, 2).

    A hair is added: sides that were opened are 2 pixels long but for a rounding.
    """
    sides = corners.diff(dim=2 - axis).flatten(1, 2)
    return portable.length(*sides.unbind(2)) + 1e-6


def _opencv_windows(size: Tensor, length: int, enlarged: Tensor) -> tuple[Tensor, Tensor]:
    """How OpenCV resizes `size` (N,) pixels to `length`, for mix_windows: the first of two pixels, and their weights.

    Its "area" rule if an axis is enlarged, which repeats pixels and mixes them only where they meet; else bilinear.
    """
    at = torch.arange(length, device=size.device, dtype=torch.float64)
    q = divide(size.double(), length)[:, None]  # as OpenCV has it: where a step ends, the last bit decides
    area = torch.floor(at * q)
    share = at + 1.0 - (area + 1.0) / q
    share = torch.where(share <= 0.0, 0.0, share - torch.floor(share))
    plain = ((at + 0.5) * q - 0.5).clamp(min=0.0)
    first = torch.where(enlarged, area, torch.floor(plain))
    share = torch.where(enlarged, share, plain - torch.floor(plain))
    share = torch.where(first + 1.0 < size[:, None], share, 0.0)  # the last pixel stands alone
    return first.to(torch.int32), torch.stack((1.0 - share, share), dim=2).float()
