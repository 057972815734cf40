"""Moving pixels: where each one comes from."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from scuff import kernels
from scuff.kernels.constants import constant
from scuff.kernels.grids import pixel_grid
from scuff.ops import filters

Matrix2 = tuple[tuple[float, float], tuple[float, float]]
Row3 = tuple[float, float, float]
Matrix3 = tuple[Row3, Row3, Row3]


def pulled(shape: Sequence[int], pull: Tensor, by: float) -> Tensor | None:
    """The (N, 2, 3) maps by which images of `shape` are read so that three points move by `by` times `pull` (N, 3, 2).

    They are corners, column and row, of a square in the middle. None if an image is too small for one.
    """
    height, width = shape[-2:]
    third, across, down = min(height, width) // 3, width // 2, height // 2
    if not third:
        return None
    corners = ((across + third, down + third), (across + third, down - third), (across - third, down - third))
    points = constant(corners, pull.device, torch.float64)
    return kernels.affine_through(points + by * pull.double(), points)


def affine(x: Tensor, back: Matrix2) -> Tensor:
    """Read each pixel of (N, C, H, W) at `back` times its own (column, row), both counted from the centre; bilinear.

    As Pillow does it: a read up to half a pixel outside finds the edge, farther out all is black. The centre is the
    pixel (H / 2, W / 2), half a pixel right of and below the true middle. A map that moves nothing returns `x` itself.
    """
    (a, b), (c, d) = back
    if (a, b, c, d) == (1.0, 0.0, 0.0, 1.0):
        return x
    height, width = x.shape[-2:]
    rows, columns = _double_grid(x)
    rows, columns = rows - height / 2, columns - width / 2
    places = ((c * columns + d * rows + height / 2, height), (a * columns + b * rows + width / 2, width))
    outside = torch.zeros((), dtype=torch.bool, device=x.device)
    for at, side in places:
        outside = outside | (at < -0.5) | (at >= side - 0.5)
    y, z = (_for_all(at.clamp(0, side - 1), x) for at, side in places)
    read = kernels.sample_bilinear(x, y, z, border="mirror")
    return torch.where(outside, 0.0, read)


def project(x: Tensor, forward: Matrix3) -> Tensor:
    """Move the point (column, row, 1) of (N, C, H, W) to `forward` times it; bilinear, black outside."""
    rows, columns = _double_grid(x)
    across, down, depth = (a * columns + b * rows + c for a, b, c in inverse(forward))
    return kernels.sample_bilinear(x, _for_all(down / depth, x), _for_all(across / depth, x), border="zeros")


def inverse(m: Matrix3) -> Matrix3:
    """The inverse but for a factor, which a projection does not see: cross products of the columns."""
    a, b, c = zip(*m, strict=True)
    return _cross(b, c), _cross(c, a), _cross(a, b)


def _cross(a: Row3, b: Row3) -> Row3:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def _double_grid(x: Tensor) -> list[Tensor]:
    """Where the pixels are, in float64: one plane serves the whole batch, so precision is cheap."""
    return [at.double() for at in pixel_grid(x.shape[-2], x.shape[-1], x.device)]


def _for_all(plane: Tensor, x: Tensor) -> Tensor:
    """One (H, W) plane of coordinates as (N, H, W)."""
    return plane.float().expand(len(x), -1, -1)


def square_to_quadrangle(corners: Tensor) -> Tensor:
    """The (N, 3, 3) homographies that send the unit square to `corners` (N, 2, 2, 2).

    These are upper and lower, each left and right, each (x, y).
    """
    first, second, last, third = corners.flatten(1, 2).unbind(1)
    along, down, left_over = second - third, last - third, first - second + third - last
    area = _signed_area(along, down)
    g, h = (_signed_area(left_over, down) / area)[:, None], (_signed_area(along, left_over) / area)[:, None]
    columns = (second - first + g * second, last - first + h * last, first)
    bottom = torch.cat((g, h, torch.ones_like(g)), dim=1)
    return torch.cat((torch.stack(columns, dim=2), bottom[:, None]), dim=1)


def _signed_area(a: Tensor, b: Tensor) -> Tensor:
    """Of the parallelograms that (N, 2) vectors span."""
    return a[:, 0] * b[:, 1] - b[:, 0] * a[:, 1]


# --- cubic B-splines: smooth reads at real coordinates, black outside the image ---------------------------------------


def sum_reads(x: Tensor, rows: Tensor, columns: Tensor, weights: Tensor) -> Tensor:
    """Interpolating reads of (N, C, H, W) at S sets of points (S, H', W'), the same for all images, added by weight."""
    return kernels.sum_spline_reads(_coefficients(x), rows, columns, weights)


POLE = math.sqrt(3.0) - 2.0  # of the filter that undoes a cubic spline's smoothing
REACH = 14  # taps beyond it are below 1e-8: flat areas must keep their level when it is truncated


def _coefficients(x: Tensor) -> Tensor:
    """What the spline must mix to give the pixels of (N, C, H, W) back at whole coordinates."""
    powers = [math.sqrt(3.0)]
    for _ in range(REACH):
        powers.append(powers[-1] * POLE)
    taps = np.array([*powers[:0:-1], *powers], np.float32)
    return filters.correlate(filters.correlate(x, taps[:, None], "mirror"), taps[None], "mirror")
