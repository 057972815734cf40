"""The whole picture moved: shifted, turned, sheared, flipped, cut up and shuffled."""

from __future__ import annotations

import torch
from torch import Tensor

from scuff import kernels, random
from scuff.corruptions.draws import Shape, fair_signs, pick, pick_whole
from scuff.corruptions.registry import NOC, SYN2NAT, register
from scuff.kernels.constants import constant
from scuff.ops import resize, warp
from scuff.ops.tables import round8
from scuff.ops.textures import per_image
from scuff.ops.warp import pixel_grid
from scuff.ranges import Range

# --- whole pixels, black outside ------------------------------------------------------------------------------------


def _take(pixels: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Pixels from whole rows and columns, float or int, (N, H, W) or short of an axis; black outside."""
    height, width = pixels.shape[-2:]
    inside = ((rows >= 0) & (rows < height)) & ((columns >= 0) & (columns < width))
    # whole numbers before they are multiplied: float32 cannot number the pixels of a very large image
    return kernels.take_pixels(pixels, torch.where(inside, rows.int() * width + columns.int(), -1))


def _draw_offset(keys: Tensor, shape: Shape, *, distance: Range | int) -> dict[str, Tensor]:
    return {"offset": pick_whole(keys, distance, "severity", (2,)).float() * fair_signs(keys, "sign", (2,))}


@register(
    family="geometry", draw=_draw_offset, domain="byte", lengths=("distance",), ranges=("distance",), reference=NOC
)
def translation(pixels: Tensor, offset: Tensor) -> Tensor:
    """The picture shifted along both axes, by a whole number of pixels; what it leaves is black."""
    rows, columns = pixel_grid(pixels.shape[-2], pixels.shape[-1], pixels.device)
    return _take(pixels, rows - per_image(offset[:, 0]), columns - per_image(offset[:, 1]))


def _draw_angle(keys: Tensor, shape: Shape, *, degrees: Range | int) -> dict[str, Tensor]:
    return {"angle": torch.deg2rad(pick_whole(keys, degrees).float() * fair_signs(keys, "sign"))}


@register(family="geometry", draw=_draw_angle, domain="byte", ranges=("degrees",), reference=NOC)
def shear(pixels: Tensor, angle: Tensor) -> Tensor:
    """Rows slid against each other, about the middle one; nearest pixels, black outside."""
    rows, columns = pixel_grid(pixels.shape[-2], pixels.shape[-1], pixels.device)
    slide = torch.tan(per_image(angle)) * (rows - pixels.shape[-2] / 2)
    return _take(pixels, rows, torch.floor(columns + 0.5 + slide))


@register(family="geometry", draw=_draw_angle, domain="byte", ranges=("degrees",), reference=NOC)
def rotation(pixels: Tensor, angle: Tensor) -> Tensor:
    """The picture turned about its middle; nearest pixels, black outside."""
    height, width = pixels.shape[-2:]
    rows, columns = pixel_grid(height, width, pixels.device)
    sine, cosine = torch.sin(per_image(angle)), torch.cos(per_image(angle))
    dy, dx = rows - height / 2, columns - width / 2
    source_y = torch.floor(height / 2 + 0.5 - sine * dx + cosine * dy)
    source_x = torch.floor(width / 2 + 0.5 + cosine * dx + sine * dy)
    return _take(pixels, source_y, source_x)


def _draw_stretch(keys: Tensor, shape: Shape, *, cut: Range | int) -> dict[str, Tensor]:
    removed = torch.minimum(pick_whole(keys, cut), constant((min(shape[1:]) - 1,), keys.device, torch.int32))
    return {"removed": removed, "down": random.bernoulli(keys, "axis", probability=0.5)}


@register(family="geometry", draw=_draw_stretch, domain="byte", lengths=("cut",), ranges=("cut",), reference=NOC)
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


def _draw_factor(keys: Tensor, shape: Shape, *, factor: Range | float) -> dict[str, Tensor]:
    return {"factor": pick(keys, factor)}


@register(family="geometry", draw=_draw_factor, domain="byte", ranges=("factor",), reference=SYN2NAT)
def affines(pixels: Tensor, factor: Tensor) -> Tensor:
    """The picture shrunk about its middle to a share of its size; around it, its mirror image."""
    middle = constant(tuple((side - 1) / 2 for side in pixels.shape[-2:]), pixels.device)
    grow = 1.0 / factor
    return _affine(pixels, _scaled(grow, middle * (1.0 - grow[:, None])), "mirror")


def _draw_turn(keys: Tensor, shape: Shape, *, degrees: Range | float) -> dict[str, Tensor]:
    return {"angle": torch.deg2rad(pick(keys, degrees))}


@register(family="geometry", draw=_draw_turn, domain="byte", ranges=("degrees",), reference=SYN2NAT)
def rotate(pixels: Tensor, angle: Tensor) -> Tensor:
    """The picture turned by any angle; in the corners, its mirror image."""
    height, width = pixels.shape[-2:]
    sine, cosine = torch.sin(angle), torch.cos(angle)
    x0, y0 = width / 2, height / 2
    matrix = torch.stack(
        (cosine, -sine, x0 - cosine * x0 + sine * y0, sine, cosine, y0 - sine * x0 - cosine * y0), dim=1
    )
    return _affine(pixels, matrix.view(-1, 2, 3), "mirror")


def _draw_share(keys: Tensor, shape: Shape, *, share: Range | float) -> dict[str, Tensor]:
    return {"offset": pick(keys, share, "severity", (2,)) * constant(tuple(map(float, shape[1:])), keys.device)}


@register(family="geometry", draw=_draw_share, domain="byte", ranges=("share",), reference=SYN2NAT)
def transpose(pixels: Tensor, offset: Tensor) -> Tensor:
    """The picture shifted by up to seven tenths of its sides, its mirror image following.

    The name is the benchmark's; nothing is transposed.
    """
    return _affine(pixels, _scaled(torch.ones_like(offset[:, 0]), -offset), "mirror")


def _draw_flip(keys: Tensor, shape: Shape) -> dict[str, Tensor]:
    return {"way": random.integers(keys, "way", low=0, high=2)}


@register(family="geometry", draw=_draw_flip, domain="byte", reference=SYN2NAT)
def flip(pixels: Tensor, way: Tensor) -> Tensor:
    """Top and bottom exchanged, or left and right, or both."""
    height, width = pixels.shape[-2:]
    rows, columns = (torch.arange(n, dtype=torch.int32, device=pixels.device) for n in (height, width))
    rows = torch.where(way[:, None] != 1, height - 1 - rows, rows)
    columns = torch.where(way[:, None] != 0, width - 1 - columns, columns)
    return kernels.take_pixels(pixels, (rows * width)[:, :, None] + columns[:, None])


def _draw_pull(keys: Tensor, shape: Shape) -> dict[str, Tensor]:
    return {"pull": random.uniform(keys, "pull", (3, 2), -1.0, 1.0)}


@register(family="geometry", draw=_draw_pull, domain="byte", lengths=("pull_by",), reference=SYN2NAT)
def three_point_warp(pixels: Tensor, pull: Tensor, *, pull_by: float) -> Tensor:
    """An affine map that moves three points by up to `pull_by` pixels along each axis; edges are drawn out.

    Called elastic, after a second step that bends the picture by a hundredth of a pixel. It is left out: OpenCV reads
    at 32nds of a pixel, so the original's has no effect either.
    """
    height, width = pixels.shape[-2:]
    third = min(height, width) // 3
    if third == 0:
        return pixels.clone()
    down, across = height // 2, width // 2
    corners = ((across + third, down + third), (across + third, down - third), (across - third, down - third))
    points = constant(corners, pixels.device, torch.float64)
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
        share = torch.arange(count, device=factors.device) / max(count - 1, 1)
        pieces.append(value[:, None] + share * (end - value)[:, None])
        value = end
    line = torch.cat(pieces, dim=1)
    return line[:, torch.arange(length, device=line.device).clamp(max=line.shape[1] - 1)]  # the last one may repeat


@register(family="geometry", draw=_draw_grid, domain="byte", reference=SYN2NAT)
def grid_distortion(pixels: Tensor, down: Tensor, across: Tensor) -> Tensor:
    """Five strips each way, each stretched or squeezed; the last few pixels jump back to the far edge."""
    height, width = pixels.shape[-2:]
    return _read(pixels, _grid_line(down, height)[:, :, None], _grid_line(across, width)[:, None, :], "mirror")


def _draw_lens(keys: Tensor, shape: Shape, *, bend: Range | float, shift: float) -> dict[str, Tensor]:
    return {
        "bend": pick(keys, bend),
        "offset": torch.round(random.uniform(keys, "offset", (2,), -shift, shift)),
    }


@register(
    family="geometry", draw=_draw_lens, domain="byte", lengths=("shift",), ranges=("bend",), reference=SYN2NAT
)  # fmt: skip
def optical_distortion(pixels: Tensor, bend: Tensor, offset: Tensor) -> Tensor:
    """A lens that bends straight lines: a barrel or a cushion, with its axis a few pixels off."""
    height, width = pixels.shape[-2:]
    rows, columns = pixel_grid(height, width, pixels.device)
    y, x = (rows - (height - 1) / 2) / height, (columns - (width - 1) / 2) / width
    square = x * x + y * y
    grow = 1.0 + per_image(bend) * (square + square * square)
    source_y = height * y * grow + height / 2 + per_image(offset[:, 0])
    source_x = width * x * grow + width / 2 + per_image(offset[:, 1])
    return kernels.remap(pixels, source_y, source_x, "mirror")


def _draw_shuffle(keys: Tensor, shape: Shape, *, cells: int) -> dict[str, Tensor]:
    return {"order": random.integers(keys, "order", (cells * cells,), low=0, high=2**30)}


@register(family="geometry", draw=_draw_shuffle, domain="byte", reference=SYN2NAT)
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
