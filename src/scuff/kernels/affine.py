"""Pillow's affine maps, one per image: from a pixel of the result to where it is read.

Everything is done in float64 with operations that every device rounds alike, so that maps are the same everywhere.
Sines and cosines, which devices do not agree on, come from a table of whole degrees and a short series around them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal, localcontext

import torch
from torch import Tensor

from scuff.kernels.constants import remembered
from scuff.kernels.operation_codes import CODES, WARPS
from scuff.kernels.portable import divide, turning_series

RADIAN = math.pi / 180.0
TENS = 1e15  # Pillow rounds sines and cosines to 15 decimals
SPLITTER = 2.0**27 + 1.0
SERIES = (1 / 6, 1 / 120, 1 / 5040, 1 / 24, 1 / 720)  # of a sine, then of a cosine


def _split(x: float) -> tuple[float, float]:
    """A number as the sum of two with at most 27 bits each, whose products are exact."""
    high = SPLITTER * x - (SPLITTER * x - x)
    return high, x - high


TENS_HIGH, TENS_LOW = _split(TENS)


def _whole_degrees() -> list[list[float]]:
    """For 0..360 degrees: the angle in radians, then its cosine and its sine, each as a number and what is left of it.

    >>> angle, cosine, rest, *_ = _whole_degrees()[60]
    >>> cosine, abs(rest) < 1e-16  # the angle itself is rounded, so this is not a half
    (0.5000000000000001, True)
    """
    rows = []
    with localcontext() as context:
        context.prec = 50
        for degrees in range(361):
            angle = degrees * RADIAN
            row, x = [angle], Decimal(angle)
            for power in (0, 1):
                total = turning_series(power, x)
                row += [float(total), float(total - Decimal(float(total)))]
            rows.append(row)
    return rows


@remembered(16)
def turning_table(device: torch.device) -> Tensor:
    """All numbers that a rotation needs, float64 (363, 5): whole degrees, and two rows of constants."""
    rows = [*_whole_degrees(), [RADIAN, TENS, SPLITTER, TENS_HIGH, TENS_LOW], SERIES]
    return torch.tensor(rows, dtype=torch.float64, device=device)


def cosine_and_sine(degrees: Tensor) -> tuple[Tensor, Tensor]:
    """Of angles in [0, 360], float64, rounded to 15 decimals.

    The angle in radians is rounded, as in Pillow; its distance from the nearest whole degree is exact, and so small
    that the errors of the series around it are a hundredth of the last bit.
    """
    rows = turning_table(degrees.device)[torch.floor(degrees + 0.5).long()]
    angle, cosine, cosine_rest, sine, sine_rest = rows.unbind(-1)
    r = degrees * RADIAN - angle
    square = r * r
    third, fifth, seventh, fourth, sixth = SERIES
    across = r - r * square * (third - square * (fifth - square * seventh))
    along = square * (square * (fourth - square * sixth) - 0.5)
    turned = (
        cosine + (cosine_rest + (cosine * along - sine * across)),
        sine + (sine_rest + (sine * along + cosine * across)),
    )
    return _rounded(turned[0]), _rounded(turned[1])


def _rounded(x: Tensor) -> Tensor:
    """To 15 decimals as Python rounds: the product with 1e15 is rounded, so what it lost helps to decide."""
    product = x * TENS
    high = SPLITTER * x - (SPLITTER * x - x)
    low = x - high
    lost = high * TENS_HIGH - product + high * TENS_LOW + low * TENS_HIGH + low * TENS_LOW
    whole = torch.floor(product)
    return divide(whole + ((product - whole - 0.5) + lost > 0), TENS)


def affine_maps(names: Sequence[str], codes: Tensor, values: Tensor, height: int, width: int) -> Tensor:
    """`affine_coefficients` of the operation that each image asks for; zeros if that is no warp."""
    maps = torch.zeros(len(codes), 6, dtype=torch.float64, device=codes.device)
    for name in WARPS:
        if name in names:
            chosen = codes == CODES[name]
            own = torch.where(chosen, values, 0.0)  # values of other operations may be anything
            maps = torch.where(chosen[:, None], affine_coefficients(name, own, height, width), maps)
    return maps


def affine_coefficients(name: str, values: Tensor, height: int, width: int) -> Tensor:
    """(a, b, c, d, e, f) of each image, float64 (N, 6).

    A pixel in column i and row j is read at a * (i + 0.5) + b * (j + 0.5) + c, d * (i + 0.5) + e * (j + 0.5) + f.

    >>> affine_coefficients("rotate", torch.tensor([90.0], dtype=torch.float64), 4, 4).tolist()
    [[0.0, -1.0, 4.0, 1.0, 0.0, 0.0]]
    """
    ones, zeros = torch.ones_like(values), torch.zeros_like(values)
    if name == "rotate":
        a, d = cosine_and_sine(values.remainder(360.0))
        across, down = width / 2, height / 2
        c = a * -across + -d * -down + across
        f = d * -across + a * -down + down
        return torch.stack((a, -d, c, d, a, f), dim=-1)
    columns = {
        "shear_x": (ones, values, zeros, zeros, ones, zeros),
        "shear_y": (ones, zeros, zeros, values, ones, zeros),
        "translate_x": (ones, zeros, values, zeros, ones, zeros),
        "translate_y": (ones, zeros, zeros, zeros, ones, values),
    }
    return torch.stack(columns[name], dim=-1)
