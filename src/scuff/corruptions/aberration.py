"""Colours that part and views that turn: faults of lenses and of hands."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from scuff import random
from scuff.corruptions.draws import Shape
from scuff.corruptions.registry import MINTUN, register
from scuff.kernels.constants import constant
from scuff.ops.warp import pixel_grid, read_separable, sum_reads


def _rounded(levels: Tensor) -> Tensor:
    return torch.floor(levels + 0.5).clamp(0, 255).to(torch.uint8)


def _draw_directions(keys: Tensor, shape: Shape) -> dict[str, Tensor]:
    return {"angle": random.uniform(keys, "angle", (3,), 0.0, 2 * math.pi)}


@register(family="aberration", draw=_draw_directions, domain="byte", colour=True, reference=MINTUN)
def chromatic_abberation(pixels: Tensor, angle: Tensor, *, amount: float) -> Tensor:
    """Each channel shifted its own way, a hundredth of the side per unit (the name's spelling is the original's).

    Read by a spline that also smooths, black where it runs out of the image.
    """
    height, width = pixels.shape[-2:]
    rows, columns = pixel_grid(height, width, pixels.device)
    shift = 0.01 * amount * min(height, width)
    at_rows = rows[:, 0] - shift * torch.cos(angle)[..., None]
    at_columns = columns[0] - shift * torch.sin(angle)[..., None]
    return _rounded(read_separable(pixels.float(), at_rows, at_columns))


def _draw_order(keys: Tensor, shape: Shape) -> dict[str, Tensor]:
    return {"order": random.permutation(keys, "order", 3)}


@register(family="aberration", draw=_draw_order, domain="byte", colour=True, reference=MINTUN)
def transverse_chromatic_abberation(pixels: Tensor, order: Tensor, *, amount: float) -> Tensor:
    """Each channel magnified differently, by 0, 2.5 and 5 per cent per unit, in random order; all of them smoothed."""
    at = []
    for length in pixels.shape[-2:]:
        places = []
        for k in range(3):
            zoomed = max(round(length * (1.0 + 0.025 * amount * k)), 1)
            offset = (zoomed - length) // 2
            place = (torch.arange(length, device=pixels.device) + offset) * ((length - 1) / max(zoomed - 1, 1))
            places.append(place.clamp(max=length - 1))
        at.append(torch.stack(places)[order])
    return _rounded(read_separable(pixels.float(), *at))


ROTATIONS = 21


@register(family="aberration", reference=MINTUN)
def circular_motion_blur(x: Tensor, *, amount: float) -> Tensor:
    """A camera that turns about its axis by up to 1.5 degrees per unit either way; corners fade to black."""
    height, width = x.shape[-2:]
    rows, columns = pixel_grid(height, width, x.device)
    dy, dx = rows - 0.5 * (height - 1), columns - 0.5 * (width - 1)
    times = [i / 10.0 - 1.0 for i in range(ROTATIONS)]
    turns = [math.radians(1.5 * amount * t) for t in times]
    sine, cosine = (constant(tuple(map(f, turns)), x.device)[:, None, None] for f in (math.sin, math.cos))
    at_rows, at_columns = cosine * dy - sine * dx + 0.5 * (height - 1), sine * dy + cosine * dx + 0.5 * (width - 1)
    weights = [math.exp(-2.0 * t * t) for t in times]
    shares = constant(tuple(weight / sum(weights) for weight in weights), x.device)
    return sum_reads(x, at_rows, at_columns, shares)
