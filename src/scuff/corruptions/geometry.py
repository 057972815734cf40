"""The whole picture moved: shifted, turned, sheared, flipped, stretched."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from scuff import kernels, random
from scuff.corruptions.draws import Shape, fair_signs, pick, pick_whole
from scuff.corruptions.motion import Motion, affine_motion, matrix_motion, shifted
from scuff.corruptions.registry import NOC, SYN2NAT, register
from scuff.kernels.constants import constant
from scuff.kernels.grids import pixel_grid
from scuff.ops import resize, warp
from scuff.ops.textures import per_image
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


@noc(draw=_draw_offset, lengths=("distance",), ranges=("distance",), motion=shifted)
def translation(pixels: Tensor, offset: Tensor) -> Tensor:
    """The picture shifted along both axes, by a whole number of pixels; what it leaves is black."""
    rows, columns = pixel_grid(pixels.shape[-2], pixels.shape[-1], pixels.device)
    return _take(pixels, rows - per_image(offset[:, 0]), columns - per_image(offset[:, 1]))


def _draw_angle(keys: Tensor, shape: Shape, *, degrees: Range | int) -> dict[str, Tensor]:
    return {"angle": torch.deg2rad(pick_whole(keys, degrees).float() * fair_signs(keys, "sign"))}


def _shear_motion(shape: Shape, angle: Tensor) -> Motion:
    sine, cosine = kernels.sine_and_cosine(angle)
    slope = sine / cosine
    return matrix_motion(shape, (1.0, slope, -slope * (shape[1] / 2), 0.0, 1.0, 0.0))


@noc(draw=_draw_angle, ranges=("degrees",), motion=_shear_motion)
def shear(pixels: Tensor, angle: Tensor) -> Tensor:
    """Rows slid against each other, about the middle one; nearest pixels, black outside."""
    rows, columns = pixel_grid(pixels.shape[-2], pixels.shape[-1], pixels.device)
    sine, cosine = kernels.sine_and_cosine(per_image(angle))
    slide = sine / cosine * (rows - pixels.shape[-2] / 2)
    return _take(pixels, rows, torch.floor(columns + 0.5 + slide))


@noc(draw=_draw_angle, ranges=("degrees",), motion=affine_motion(lambda shape, angle: turned(shape, -angle.double())))
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


def _stretch_motion(shape: Shape, removed: Tensor, down: Tensor) -> Motion:
    entries: list[Tensor | float] = [0.0] * 6
    for axis, cut in ((0, torch.where(down, 0, removed)), (1, torch.where(down, removed, 0))):
        keep = 1.0 - cut.double() / shape[2 - axis]
        entries[4 * axis], entries[3 * axis + 2] = keep, cut + 0.5 * keep - 0.5
    return matrix_motion(shape, entries)


@noc(draw=_draw_stretch, lengths=("cut",), ranges=("cut",), motion=_stretch_motion)
def stretch(pixels: Tensor, removed: Tensor, down: Tensor) -> Tensor:
    """The upper or the left part cut off, and what is left stretched over the whole picture again."""
    none = torch.zeros_like(removed)
    return resize.enlarge_ends(pixels, torch.where(down, none, removed), torch.where(down, removed, none))


# --- between pixels -------------------------------------------------------------------------------------------------


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


def _shrunk(shape: tuple[int, ...], factor: Tensor) -> Tensor:
    middle = constant(tuple((side - 1) / 2 for side in shape[-2:]), factor.device)
    grow = 1.0 / factor
    return _scaled(grow, middle * (1.0 - grow[:, None]))


@syn2nat(
    draw=lambda keys, shape, *, factor: {"factor": pick(keys, factor)},
    ranges=("factor",),
    motion=affine_motion(_shrunk),
)
def affines(pixels: Tensor, factor: Tensor) -> Tensor:
    """The picture shrunk about its middle to a share of its size; around it, its mirror image."""
    return _affine(pixels, _shrunk(pixels.shape, factor), "mirror")


def turned(shape: tuple[int, ...], angle: Tensor) -> Tensor:
    """The maps (N, 2, 3) by which each picture is read, to turn it about the pixel (H / 2, W / 2)."""
    x0, y0 = shape[-1] / 2, shape[-2] / 2
    sine, cosine = kernels.sine_and_cosine(angle)
    matrix = torch.stack(
        (cosine, -sine, x0 - cosine * x0 + sine * y0, sine, cosine, y0 - sine * x0 - cosine * y0), dim=1
    )
    return matrix.view(-1, 2, 3)


@syn2nat(
    draw=lambda keys, shape, *, degrees: {"angle": torch.deg2rad(pick(keys, degrees))},
    ranges=("degrees",),
    limits={"degrees": Range(-360.0, 360.0)},
    motion=affine_motion(turned),
)
def rotate(pixels: Tensor, angle: Tensor) -> Tensor:
    """The picture turned by any angle; in the corners, its mirror image."""
    return _affine(pixels, turned(pixels.shape, angle), "mirror")


def _draw_share(keys: Tensor, shape: Shape, *, share: Range | float) -> dict[str, Tensor]:
    return {"offset": pick(keys, share, "severity", (2,)) * constant(tuple(map(float, shape[1:])), keys.device)}


@syn2nat(draw=_draw_share, ranges=("share",), motion=shifted)
def transpose(pixels: Tensor, offset: Tensor) -> Tensor:
    """The picture shifted by up to seven tenths of its sides, its mirror image following.

    The name is the benchmark's; nothing is transposed.
    """
    return _affine(pixels, _scaled(torch.ones_like(offset[:, 0]), -offset), "mirror")


def _flip_motion(shape: Shape, way: Tensor) -> Motion:
    down, across = (1.0 - 2.0 * (way != still).double() for still in (1, 0))
    ends = ((1.0 - sign) / 2.0 * (side - 1) for sign, side in ((across, shape[2]), (down, shape[1])))
    return matrix_motion(shape, (across, 0.0, next(ends), 0.0, down, next(ends)))


@syn2nat(draw=lambda keys, shape: {"way": random.integers(keys, "way", low=0, high=2)}, motion=_flip_motion)
def flip(pixels: Tensor, way: Tensor) -> Tensor:
    """Top and bottom exchanged, or left and right, or both."""
    return kernels.flip_pixels(pixels, way != 1, way != 0)


@syn2nat(
    draw=lambda keys, shape: {"pull": random.uniform(keys, "pull", (3, 2), -1.0, 1.0)},
    lengths=("pull_by",),
    motion=affine_motion(lambda shape, pull, *, pull_by: warp.pulled(shape, pull, pull_by)),
)
def three_point_warp(pixels: Tensor, pull: Tensor, *, pull_by: float) -> Tensor:
    """An affine map that moves three points by up to `pull_by` pixels along each axis; edges are drawn out.

    Called elastic, after a second step that bends the picture by a hundredth of a pixel. It is left out: OpenCV reads
    at 32nds of a pixel, so the original's has no effect either.
    """
    back = warp.pulled(pixels.shape, pull, pull_by)
    return pixels.clone() if back is None else _affine(pixels, back, "edge")
