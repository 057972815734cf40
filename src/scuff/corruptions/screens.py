"""The picture behind a screen: cells, lines, missing pixels."""

from __future__ import annotations

import math
from functools import partial

import torch
from torch import Tensor

from scuff import kernels, random
from scuff.corruptions.draws import Shape
from scuff.corruptions.motion import cover
from scuff.corruptions.patches import LIMITS
from scuff.corruptions.registry import MINTUN, register

mintun = partial(register, family="obscure", reference=MINTUN, limits=LIMITS)

GREY = 128.0 / 255.0


def _cells_each_way(shape: tuple[int, ...]) -> int:
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


def _grey_cells(shape: tuple[int, ...], angle: Tensor, size: Tensor, hidden: Tensor) -> Tensor:
    return kernels.hidden_cells(angle, size, hidden, *shape[-2:])


@mintun(
    draw=_draw_checkerboard,
    memory=lambda images, shape, _: 4 * images * (2 * _cells_each_way(shape)) ** 2,
    motion=cover(_grey_cells),
)
def checkerboard_cutout(x: Tensor, angle: Tensor, size: Tensor, hidden: Tensor) -> Tensor:
    """A turned chessboard of which a tenth of the black cells per unit of `amount` is grey.

    Cells are numbered by truncation, so the two rows on either side of an axis share their fate: the original's.
    """
    return torch.where(_grey_cells(x.shape, angle, size, hidden)[:, None], GREY, x)


def _line_count(shape: tuple[int, ...], amount: float) -> int:
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
    sine, cosine = kernels.sine_and_cosine(angle)
    down, across = half * cosine, half * sine
    return {"ends": torch.trunc(torch.stack((row - down, column - across, row + down, column + across), dim=-1))}


def _lined(shape: tuple[int, ...], ends: Tensor) -> Tensor:
    """Pixels that lie under lines by more than half."""
    black = torch.zeros(len(ends), 1, *shape[-2:], dtype=torch.uint8, device=ends.device)
    return kernels.draw_lines(black, ends, 128.0)[:, 0] > 64


@mintun(
    draw=_draw_lines,
    domain="byte",
    memory=lambda n, shape, p: 20 * n * _line_count(shape, p["amount"]),
    motion=cover(_lined),
)
def lines(pixels: Tensor, ends: Tensor) -> Tensor:
    """Grey lines in about one direction, each a pixel wide and smooth; every line truncates to bytes.

    `ends` (N, L, 4) are first and last row and column; their number is a tenth of the side per unit of `amount`.
    """
    return kernels.draw_lines(pixels, ends, 128.0)


def _missing(shape: tuple[int, ...], phases: Tensor, *, amount: float) -> Tensor:
    return kernels.spectrum_noise(phases, "blue")[:, 0] <= 0.3 * amount - 2.5


@mintun(
    draw=lambda keys, shape: {"phases": random.uniform(keys, "phases", (1, *shape[1:]))},
    motion=cover(_missing),
    copies=3.0,
)
def blue_noise_sample(x: Tensor, phases: Tensor, *, amount: float) -> Tensor:
    """Pixels missing, evenly scattered: black where blue noise is below 0.3 amount - 2.5 deviations."""
    return torch.where(_missing(x.shape, phases, amount=amount)[:, None], 0.0, x)
