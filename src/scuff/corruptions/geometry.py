"""The whole picture moved: shifted, turned, sheared, flipped, seen from the side, cut up and shuffled."""

from __future__ import annotations

import math
from functools import partial

import torch
from torch import Tensor

from scuff import kernels, random
from scuff.corruptions.draws import Shape, fair_signs, pick, pick_whole
from scuff.corruptions.registry import NOC, SYN2NAT, register
from scuff.kernels import portable
from scuff.kernels.constants import constant
from scuff.kernels.portable import divide
from scuff.ops import resize, warp
from scuff.ops.tables import round8
from scuff.ops.textures import per_image
from scuff.ops.warp import pixel_grid
from scuff.ranges import Range

LIMITS = {
    "distance": Range(0, 100_000),
    "degrees": Range(-360, 360),
    "cut": Range(0, 100_000),
    "factor": Range(0.001, 1000.0),
    "share": Range(-100.0, 100.0),
    "pull_by": Range(0.0, 100_000.0),
    "strength": Range(0.0, 10.0),
    "bend": Range(-1000.0, 1000.0),
    "shift": Range(0.0, 10_000.0),
    "cells": Range(1, 1000),
    "scale": Range(0.0, 10.0),
}

noc = partial(register, family="geometry", domain="byte", reference=NOC, limits=LIMITS)
syn2nat = partial(register, family="geometry", domain="byte", reference=SYN2NAT, limits=LIMITS)

# --- whole pixels, black outside ------------------------------------------------------------------------------------


def _take(pixels: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Pixels from whole rows and columns, float or int, (N, H, W) or short of an axis; black outside."""
    height, width = pixels.shape[-2:]
    inside = ((rows >= 0) & (rows < height)) & ((columns >= 0) & (columns < width))
    # whole numbers before they are multiplied: float32 cannot number the pixels of a very large image
    return kernels.take_pixels(pixels, torch.where(inside, rows.int() * width + columns.int(), -1))


def _draw_offset(keys: Tensor, shape: Shape, *, distance: Range | int) -> dict[str, Tensor]:
    return {"offset": pick_whole(keys, distance, "severity", (2,)).float() * fair_signs(keys, "sign", (2,))}


@noc(draw=_draw_offset, lengths=("distance",), ranges=("distance",))
def translation(pixels: Tensor, offset: Tensor) -> Tensor:
    """The picture shifted along both axes, by a whole number of pixels; what it leaves is black."""
    rows, columns = pixel_grid(pixels.shape[-2], pixels.shape[-1], pixels.device)
    return _take(pixels, rows - per_image(offset[:, 0]), columns - per_image(offset[:, 1]))


def _draw_angle(keys: Tensor, shape: Shape, *, degrees: Range | int) -> dict[str, Tensor]:
    return {"angle": torch.deg2rad(pick_whole(keys, degrees).float() * fair_signs(keys, "sign"))}


@noc(draw=_draw_angle, ranges=("degrees",))
def shear(pixels: Tensor, angle: Tensor) -> Tensor:
    """Rows slid against each other, about the middle one; nearest pixels, black outside."""
    rows, columns = pixel_grid(pixels.shape[-2], pixels.shape[-1], pixels.device)
    sine, cosine = kernels.sine_and_cosine(per_image(angle))
    slide = sine / cosine * (rows - pixels.shape[-2] / 2)
    return _take(pixels, rows, torch.floor(columns + 0.5 + slide))


@noc(draw=_draw_angle, ranges=("degrees",))
def rotation(pixels: Tensor, angle: Tensor) -> Tensor:
    """The picture turned about its middle; nearest pixels, black outside."""
    height, width = pixels.shape[-2:]
    rows, columns = pixel_grid(height, width, pixels.device)
    sine, cosine = kernels.sine_and_cosine(per_image(angle))
    dy, dx = rows - height / 2, columns - width / 2
    source_y = torch.floor(height / 2 + 0.5 - sine * dx + cosine * dy)
    source_x = torch.floor(width / 2 + 0.5 + cosine * dx + sine * dy)
    return _take(pixels, source_y, source_x)


def _draw_stretch(keys: Tensor, shape: Shape, *, cut: Range | int) -> dict[str, Tensor]:
    removed = torch.minimum(pick_whole(keys, cut), constant((min(shape[1:]) - 1,), keys.device, torch.int32))
    return {"removed": removed, "down": random.bernoulli(keys, "axis", probability=0.5)}


@noc(draw=_draw_stretch, lengths=("cut",), ranges=("cut",))
def stretch(pixels: Tensor, removed: Tensor, down: Tensor) -> Tensor:
    """The upper or the left part cut off, and what is left stretched over the whole picture again."""
    none = torch.zeros_like(removed)
    levels = pixels.float()
    for axis, cut in ((3, torch.where(down, none, removed)), (2, torch.where(down, removed, none))):
        levels = resize.enlarge_end(levels, cut, axis)
    return round8(levels)


# --- between pixels -------------------------------------------------------------------------------------------------


def _read(pixels: Tensor, rows: Tensor, columns: Tensor, border: str) -> Tensor:
    """Read pixels at real coordinates, (N, H, W) or short of an axis."""
    shape = (len(pixels), *pixels.shape[-2:])
    return kernels.remap(pixels, rows.expand(shape), columns.expand(shape), border)


def _affine(pixels: Tensor, matrix: Tensor, border: str) -> Tensor:
    """Read at matrix @ (column, row, 1); `matrix` is (N, 2, 3)."""
    height, width = pixels.shape[-2:]
    last = constant((0.0, 0.0, 1.0), pixels.device).expand(len(pixels), 1, 3)
    extent = constant((height, width), pixels.device, torch.int32).expand(len(pixels), 2)
    return kernels.project(pixels, torch.cat((matrix.float(), last), dim=1), extent, height, width, border)


def _scaled(factor: Tensor, offset: Tensor) -> Tensor:
    """The maps (N, 2, 3) that multiply by `factor` (N,) and add `offset` (N, 2), given as row and column."""
    zero = torch.zeros_like(factor)
    return torch.stack((factor, zero, offset[:, 1], zero, factor, offset[:, 0]), dim=1).view(-1, 2, 3)


@syn2nat(draw=lambda keys, shape, *, factor: {"factor": pick(keys, factor)}, ranges=("factor",))
def affines(pixels: Tensor, factor: Tensor) -> Tensor:
    """The picture shrunk about its middle to a share of its size; around it, its mirror image."""
    middle = constant(tuple((side - 1) / 2 for side in pixels.shape[-2:]), pixels.device)
    grow = 1.0 / factor
    return _affine(pixels, _scaled(grow, middle * (1.0 - grow[:, None])), "mirror")


@syn2nat(
    draw=lambda keys, shape, *, degrees: {"angle": torch.deg2rad(pick(keys, degrees))},
    ranges=("degrees",),
    limits={"degrees": Range(-360.0, 360.0)},
)
def rotate(pixels: Tensor, angle: Tensor) -> Tensor:
    """The picture turned by any angle; in the corners, its mirror image."""
    height, width = pixels.shape[-2:]
    sine, cosine = kernels.sine_and_cosine(angle)
    x0, y0 = width / 2, height / 2
    matrix = torch.stack(
        (cosine, -sine, x0 - cosine * x0 + sine * y0, sine, cosine, y0 - sine * x0 - cosine * y0), dim=1
    )
    return _affine(pixels, matrix.view(-1, 2, 3), "mirror")


def _draw_share(keys: Tensor, shape: Shape, *, share: Range | float) -> dict[str, Tensor]:
    return {"offset": pick(keys, share, "severity", (2,)) * constant(tuple(map(float, shape[1:])), keys.device)}


@syn2nat(draw=_draw_share, ranges=("share",))
def transpose(pixels: Tensor, offset: Tensor) -> Tensor:
    """The picture shifted by up to seven tenths of its sides, its mirror image following.

    The name is the benchmark's; nothing is transposed.
    """
    return _affine(pixels, _scaled(torch.ones_like(offset[:, 0]), -offset), "mirror")


@syn2nat(draw=lambda keys, shape: {"way": random.integers(keys, "way", low=0, high=2)})
def flip(pixels: Tensor, way: Tensor) -> Tensor:
    """Top and bottom exchanged, or left and right, or both."""
    height, width = pixels.shape[-2:]
    rows, columns = (torch.arange(n, dtype=torch.int32, device=pixels.device) for n in (height, width))
    rows = torch.where(way[:, None] != 1, height - 1 - rows, rows)
    columns = torch.where(way[:, None] != 0, width - 1 - columns, columns)
    return kernels.take_pixels(pixels, (rows * width)[:, :, None] + columns[:, None])


@syn2nat(draw=lambda keys, shape: {"pull": random.uniform(keys, "pull", (3, 2), -1.0, 1.0)}, lengths=("pull_by",))
def three_point_warp(pixels: Tensor, pull: Tensor, *, pull_by: float) -> Tensor:
    """An affine map that moves three points by up to `pull_by` pixels along each axis; edges are drawn out.

    Called elastic, after a second step that bends the picture by a hundredth of a pixel. It is left out: OpenCV reads
    at 32nds of a pixel, so the original's has no effect either.
    """
    points = warp.three_points(pixels)
    if points is None:
        return pixels.clone()
    back = warp.affine_through(points + pull_by * pull.double(), points.expand(len(pixels), 3, 2))
    return _affine(pixels, back, "edge")


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


@syn2nat(draw=_draw_grid)
def grid_distortion(pixels: Tensor, down: Tensor, across: Tensor) -> Tensor:
    """Five strips each way, each stretched or squeezed; the last few pixels jump back to the far edge."""
    height, width = pixels.shape[-2:]
    return _read(pixels, _grid_line(down, height)[:, :, None], _grid_line(across, width)[:, None, :], "mirror")


def _draw_lens(keys: Tensor, shape: Shape, *, bend: Range | float, shift: float) -> dict[str, Tensor]:
    return {"bend": pick(keys, bend), "offset": torch.round(random.uniform(keys, "offset", (2,), -shift, shift))}


@syn2nat(draw=_draw_lens, lengths=("shift",), ranges=("bend",))
def optical_distortion(pixels: Tensor, bend: Tensor, offset: Tensor) -> Tensor:
    """A lens that bends straight lines: a barrel or a cushion, with its axis a few pixels off."""
    height, width = pixels.shape[-2:]
    rows, columns = pixel_grid(height, width, pixels.device)
    y, x = divide(rows - (height - 1) / 2, height), divide(columns - (width - 1) / 2, width)
    square = x * x + y * y
    grow = 1.0 + per_image(bend) * (square + square * square)
    source_y = height * y * grow + height / 2 + per_image(offset[:, 0])
    source_x = width * x * grow + width / 2 + per_image(offset[:, 1])
    return kernels.remap(pixels, source_y, source_x, "mirror")


def _draw_shuffle(keys: Tensor, shape: Shape, *, cells: int) -> dict[str, Tensor]:
    return {"order": random.integers(keys, "order", (cells * cells,), low=0, high=2**30)}


@syn2nat(draw=_draw_shuffle)
def random_grid_shuffle(pixels: Tensor, order: Tensor, *, cells: int) -> Tensor:
    """A puzzle: the picture cut into `cells` x `cells` tiles, which change places with tiles of the same size."""
    height, width = pixels.shape[-2:]
    tops, lefts = ([length * k // cells for k in range(cells + 1)] for length in (height, width))
    sizes = [
        (tops[i + 1] - tops[i]) * (width + 1) + lefts[j + 1] - lefts[j] for i in range(cells) for j in range(cells)
    ]
    size = constant(tuple(sizes), pixels.device, torch.int64)
    # tiles in order of their size, and in random order within a size: the k-th gives its content to the k-th
    target = torch.argsort(size, stable=True)
    source = torch.argsort((size << 31) + order, dim=1, stable=True)
    gives = torch.empty_like(source).scatter_(1, target.expand_as(source), source)
    corners = tuple(top * width + left for top in tops[:-1] for left in lefts[:-1])
    corner = constant(corners, pixels.device, torch.int32)
    place = torch.arange(height * width, dtype=torch.int32, device=pixels.device).view(height, width)
    move = (corner[gives] - corner).view(-1, cells, cells)
    move = move.index_select(1, _tile_of(tops, height, pixels.device))
    return kernels.take_pixels(pixels, place + move.index_select(2, _tile_of(lefts, width, pixels.device)))


def _tile_of(limits: list[int], length: int, device: torch.device) -> Tensor:
    inner = constant(tuple(limits[1:-1]), device, torch.int64)
    return torch.bucketize(torch.arange(length, device=device), inner, right=True)


LEAST_SIDE = 2.0


def _draw_corners(keys: Tensor, shape: Shape, *, scale: Range | float) -> dict[str, Tensor]:
    jitter = random.normal(keys, "corners", (4, 2)) * pick(keys, scale)[:, None, None]
    return {"inset": jitter.abs().remainder(1.0)}


@syn2nat(
    draw=_draw_corners,
    ranges=("scale",),
    memory=lambda images, shape, _: 5 * images * shape[0] * math.hypot(*shape[1:]) ** 2,
)
def perspective(pixels: Tensor, inset: Tensor) -> Tensor:
    """A view from the side: a random quadrangle of the picture pulled straight and enlarged to the full size.

    In two steps, as in the original: the quadrangle is read on a grid of its own size, and that grid enlarged.
    """
    height, width = pixels.shape[-2:]
    corners, tall, wide = _opened(_ordered_corners(inset.double(), height, width))
    grid = torch.stack((1.0 / wide, 1.0 / tall, torch.ones_like(tall)), dim=1)
    matrix = (warp.square_to_quadrangle(corners) * grid[:, None]).float()
    side = math.ceil(math.hypot(height, width)) + 3  # no quadrangle has a longer one, even opened
    extent = torch.stack((tall, wide), dim=1).to(torch.int32)
    straight = kernels.bytes_to_unit(kernels.project(pixels, matrix, extent, side, side, "zeros"))
    enlarged = ((wide < width) | (tall < height))[:, None]
    straight = kernels.mix_windows(straight, *_opencv_windows(tall, height, enlarged), axis=2)
    straight = kernels.mix_windows(straight, *_opencv_windows(wide, width, enlarged), axis=3)
    return kernels.unit_to_bytes(straight, torch.empty_like(pixels), nearest=True)


def _ordered_corners(inset: Tensor, height: int, width: int) -> Tensor:
    """Top left, top right, bottom right, bottom left as (x, y): (N, 4, 2); named by where they have come to lie."""
    outer = constant(((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)), inset.device, torch.float64)
    points = (outer - inset).abs() * constant((float(width), float(height)), inset.device, torch.float64)
    total, difference = points.sum(2), points[..., 1] - points[..., 0]
    which = (total.argmin(1), difference.argmin(1), total.argmax(1), difference.argmax(1))
    return points.gather(1, torch.stack(which, dim=1)[..., None].expand(-1, -1, 2))


def _opened(corners: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The corners, with sides of at least two pixels, and the height and width of the grid that they span.

    Two corners are often the same: a point may lie both farthest to the top left and farthest to the top right. If the
    upper or the lower side is too short, all four corners move apart along x; if the left or the right one is, along y.
    """
    sizes = []
    for axis, (a, b, c, d) in enumerate(((0, 1, 3, 2), (0, 3, 1, 2))):  # opposite sides ab and cd; a, c come first
        lengths = _lengths(corners, a, b, c, d)
        for _ in range(2):  # by whole steps, as the original: two are enough
            apart = 0.5 * (LEAST_SIDE - torch.floor(lengths.amin(1))).clamp(min=0.0)
            corners = corners.clone()
            for corner, sign in ((a, -1.0), (b, 1.0), (c, -1.0), (d, 1.0)):
                corners[:, corner, axis] += sign * apart
            lengths = _lengths(corners, a, b, c, d)
        sizes.append(torch.floor(lengths.amax(1)))
    wide, tall = sizes
    return corners, tall, wide


def _lengths(corners: Tensor, a: int, b: int, c: int, d: int) -> Tensor:
    """Of the sides ab and cd, (N, 2). A hair is added: sides that were opened are 2 pixels long but for a rounding."""
    sides = (corners[:, j] - corners[:, i] for i, j in ((a, b), (c, d)))
    return torch.stack([portable.length(*side.unbind(1)) for side in sides], dim=1) + 1e-6


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
