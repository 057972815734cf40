"""Where pixels are read from: hashes of their own places, and light that water bends."""

from __future__ import annotations

import torch
from torch import Tensor

from scuff.kernels import portable
from scuff.kernels.dispatch import kernel
from scuff.kernels.portable import divide, square_root
from scuff.kernels.reference.functions import sine_and_cosine

__all__ = ["refracted_places", "scattered_places"]


@kernel
def scattered_places(twist: Tensor, reach: float, height: int, width: int) -> tuple[Tensor, Tensor]:
    """Rows and columns up to `reach` pixels from each pixel, inside the picture, by a hash that `twist` (N,) changes.

    Both are float32 (N, H, W).
    """
    rows = torch.arange(height, dtype=torch.float64, device=twist.device)[:, None]
    columns = torch.arange(width, dtype=torch.float64, device=twist.device)
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
    rows = torch.arange(height, dtype=torch.float32, device=surface.device)[:, None]
    columns = torch.arange(width, dtype=torch.float32, device=surface.device)
    move_down, move_across = (divide(torch.round(1000.0 * (turn * d)), 1000.0) for d in (down, across))
    return rows + move_down, columns + move_across, down - across
