"""Where pixels are read from: by hashes, in whirls, through waves and water; and what is kept where none is read."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from scuff.kernels import portable
from scuff.kernels.constants import constant
from scuff.kernels.dispatch import kernel
from scuff.kernels.grids import pixel_grid
from scuff.kernels.portable import divide, square_root
from scuff.kernels.reference.filters import sample_bilinear
from scuff.kernels.reference.functions import power, sine_and_cosine

__all__ = ["refracted_places", "sample_or_keep", "scattered_places", "twirled_places", "waving_places"]


@kernel
def scattered_places(twist: Tensor, reach: float, height: int, width: int) -> tuple[Tensor, Tensor]:
    """Rows and columns up to `reach` pixels from each pixel, inside the picture, by a hash that `twist` (N,) changes.

    Both are float32 (N, H, W).
    """
    rows, columns = (at.double() for at in pixel_grid(height, width, twist.device))
    q = twist.double()[:, None, None]
    (row_sine, row_cosine), (column_sine, column_cosine) = (sine_and_cosine(at * q) for at in (rows, columns))

    def moved(at: Tensor, sine: Tensor, cosine: Tensor, length: int) -> Tensor:
        # the factor would blow up single precision's rounding into another hash
        hashed = 43758.5453 * sine_and_cosine(12.9898 * sine + 78.233 * cosine)[0]
        return (at + reach * (2.0 * hashed.remainder(1.0) - 1.0)).clamp(0, length - 1).float()

    return moved(rows, row_sine, column_cosine, height), moved(columns, column_sine, row_cosine, width)


@kernel
def refracted_places(surface: Tensor, bend: float) -> tuple[Tensor, Tensor, Tensor]:
    """Where each pixel is seen through water with a `surface` (N, H, W): rows, columns, and the light of its slopes.

    A slope is the difference of the neighbours on either side, where what lies outside counts as 0; the light is the
    slope down less the slope across. Light leaves water of refractive index 4 and moves by `bend` times the sine of the
    angle by which it turns, in steps of a thousandth.
    """
    height, width = surface.shape[-2:]
    padded = torch.nn.functional.pad(surface, (1, 1, 1, 1))
    down, across = padded[:, 2:, 1:-1] - padded[:, :-2, 1:-1], padded[:, 1:-1, 2:] - padded[:, 1:-1, :-2]
    slope = portable.length(down, across)
    # the sine of a - b, where tan a is the slope and sin b a quarter of sin a, written without angles
    cosine = 1.0 / square_root(1.0 + slope * slope)
    sine, quarter = slope * cosine, 0.25 * slope * cosine
    turn = (sine * square_root(1.0 - quarter * quarter) - cosine * quarter) * bend
    turn = torch.where(cosine >= 0.999, 0.0, turn / slope.clamp(min=1e-9))
    rows, columns = pixel_grid(height, width, surface.device)
    move_down, move_across = (divide(torch.round(1000.0 * (turn * d)), 1000.0) for d in (down, across))
    return rows + move_down, columns + move_across, down - across


@kernel
def twirled_places(twirl: Tensor, cell: int, exponent: float, height: int, width: int) -> tuple[Tensor, Tensor]:
    """Rows and columns in whirls, one in each square of `cell` pixels: float32 (N, H, W) each.

    `twirl` (N, down, across) is by how much the middle of each is turned. Distances from it are stretched by a power of
    a sine, which is 1 on the rim, where nothing moves. What is in no square stays.
    """
    rows, columns = pixel_grid(height, width, twirl.device)
    i, j = (rows[:, 0] // cell).long(), (columns[0] // cell).long()
    down, across = twirl.shape[1:]
    turn = twirl[:, i.clamp(max=down - 1)][:, :, j.clamp(max=across - 1)]
    dy, dx = rows - (i[:, None] + 0.5) * cell, columns - (j + 0.5) * cell
    distance = portable.length(dy, dx)
    d = divide(distance, 0.5 * cell)
    moves = (d <= 1.0) & (distance >= 0.0005) & (i < down)[:, None] & (j < across)
    squeezed = sine_and_cosine(0.5 * math.pi * d)[0].clamp(min=1e-6)
    stretch = power(squeezed, constant((exponent,), twirl.device))
    sine, cosine = sine_and_cosine(turn * (1.0 - d) ** 2)
    source_y = (i[:, None] + 0.5) * cell + stretch * (dy * cosine - dx * sine)
    source_x = (j + 0.5) * cell + stretch * (dy * sine + dx * cosine)
    return torch.where(moves, source_y, rows), torch.where(moves, source_x, columns)


@kernel
def waving_places(
    centre: Tensor, wavelength: Tensor, phase: Tensor, push: float, height: int, width: int
) -> tuple[Tensor, Tensor]:
    """Rows and columns through round waves from `centre` (N, 2), out to half the side: float32 (N, H, W) each.

    A wave pushes by up to `push` times its length, toward the centre or away from it.
    """
    rows, columns = pixel_grid(height, width, centre.device)
    dy, dx = rows - centre[:, :1, None], columns - centre[:, 1:, None]
    distance, wave = portable.length(dy, dx), wavelength[:, None, None]
    by = push * wave * sine_and_cosine(2 * math.pi * distance / wave - phase[:, None, None])[0]
    by = torch.where((distance <= min(height, width) // 2) & (distance > 0), by / distance.clamp(min=1e-9), 0.0)
    return rows + by * dy, columns + by * dx


@kernel
def sample_or_keep(x: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Read (N, C, H, W) at coordinates (N, H, W) that are whole between pixels, and keep it where these lie outside."""
    height, width = x.shape[-2:]
    inside = (columns >= 0) & (columns < width) & (rows >= 0) & (rows < height)
    return torch.where(inside[:, None], sample_bilinear(x, rows - 0.5, columns - 0.5, border="reflect"), x)
