"""Parts of the image hidden: cells, lines, holes."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from scuff import kernels, random
from scuff.corruptions.draws import Shape
from scuff.corruptions.registry import MINTUN, register
from scuff.ops import textures
from scuff.ops.warp import pixel_grid

GREY = 128.0 / 255.0


def _cells_each_way(shape: Shape) -> int:
    """How many cells of the smallest size fit between the corner and the farthest pixel."""
    _, height, width = shape
    return math.ceil(math.hypot(height, width) / max(1.0, 0.1 * min(height, width))) + 1


def _draw_checkerboard(keys: Tensor, shape: Shape, *, amount: float) -> dict[str, Tensor]:
    cells = 2 * _cells_each_way(shape) + 1
    return {
        "angle": random.uniform(keys, "angle", (), 0.0, 2 * math.pi),
        "size": (random.uniform(keys, "size", (), 0.1, 0.25) * min(shape[1:])).clamp(min=1.0),
        "hidden": random.bernoulli(keys, "hidden", (cells, cells), probability=0.1 * amount),
    }


@register(family="obscure", draw=_draw_checkerboard, reference=MINTUN)
def checkerboard_cutout(x: Tensor, angle: Tensor, size: Tensor, hidden: Tensor) -> Tensor:
    """A turned chessboard of which a tenth of the black cells per unit of `amount` is grey.

    Cells are numbered by truncation, so the two rows on either side of an axis share their fate: the original's.
    """
    r, c = pixel_grid(x.shape[-2], x.shape[-1], x.device)
    sine, cosine = textures.per_image(torch.sin(angle)), textures.per_image(torch.cos(angle))
    a, b = (cosine * r + sine * c) / textures.per_image(size), (cosine * c - sine * r) / textures.per_image(size)
    black = (torch.floor(a) + torch.floor(b)).remainder(2.0) == 0
    reach = hidden.shape[-1] // 2
    place = (torch.trunc(a).long() + reach) * hidden.shape[-1] + torch.trunc(b).long() + reach
    grey = black & hidden.flatten(1).gather(1, place.flatten(1)).view(black.shape)
    return torch.where(grey[:, None], GREY, x)


def _line_count(shape: Shape, amount: float) -> int:
    _, height, width = shape
    side = min(height, width)
    return int(int(0.1 * amount * side) * (height * width / side**2))


def _draw_lines(keys: Tensor, shape: Shape, *, amount: float) -> dict[str, Tensor]:
    _, height, width = shape
    count = _line_count(shape, amount)
    u = random.uniform(keys, "lines", (count, 3))
    spread = random.uniform(keys, "spread", (1,), 0.1, 1.0)
    angle = random.uniform(keys, "angle", (1,), 0.0, 2 * math.pi) + 2 * math.pi * spread * (u[..., 2] - 0.5)
    row, column, half = u[..., 0] * height, u[..., 1] * width, float(max(height, width))
    down, across = half * torch.cos(angle), half * torch.sin(angle)
    return {"ends": torch.trunc(torch.stack((row - down, column - across, row + down, column + across), dim=-1))}


@register(family="obscure", draw=_draw_lines, domain="byte", reference=MINTUN)
def lines(pixels: Tensor, ends: Tensor) -> Tensor:
    """Grey lines in about one direction, each a pixel wide and smooth; every line truncates to bytes.

    `ends` (N, L, 4) are first and last row and column; their number is a tenth of the side per unit of `amount`.
    """
    return kernels.draw_lines(pixels, ends, 128.0)


def _draw_holes(keys: Tensor, shape: Shape) -> dict[str, Tensor]:
    return {"phases": random.uniform(keys, "phases", (1, *shape[1:]))}


@register(family="obscure", draw=_draw_holes, reference=MINTUN)
def blue_noise_sample(x: Tensor, phases: Tensor, *, amount: float) -> Tensor:
    """Pixels missing, evenly scattered: black where blue noise is below 0.3 amount - 2.5 deviations."""
    return torch.where(textures.spectrum_noise(phases, "blue") > 0.3 * amount - 2.5, x, 0.0)
