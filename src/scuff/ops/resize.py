"""Zooming and resizing by bilinear interpolation, as the classic corruptions and as Pillow do it."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from scuff import kernels
from scuff.kernels.constants import remembered


def clipped_zoom(x: Tensor, factor: float) -> Tensor:
    """Magnify the centre of (N, C, H, W) by `factor` >= 1 and keep the size.

    The crop is rounded up, stretched corner to corner, and trimmed: the true magnification differs a little from
    `factor` and the view shifts towards the top left. That is the original's geometry, kept on purpose.
    """
    rows, columns = (_zoom_axis(n, factor, x.device) for n in x.shape[-2:])
    return kernels.resample(x, *rows, *columns)


def mean_zoom(x: Tensor, factors: tuple[float, ...]) -> Tensor:
    """The mean of (N, C, H, W), which counts twice, and its zooms."""
    rows, columns = (_zoom_axes(n, factors, x.device) for n in x.shape[-2:])
    return kernels.mean_zoom(x, *rows, *columns)


@remembered(64)
def _zoom_axes(length: int, factors: tuple[float, ...], device: torch.device) -> tuple[Tensor, Tensor]:
    """The plans of several zooms, (Z, length) each."""
    plans = [_zoom_axis(length, factor, device) for factor in factors]
    if not plans:
        return torch.empty(0, length, dtype=torch.int64, device=device), torch.empty(0, length, device=device)
    return torch.stack([left for left, _ in plans]), torch.stack([share for _, share in plans])


@remembered(256)
def _zoom_axis(length: int, factor: float, device: torch.device) -> tuple[Tensor, Tensor]:
    """For each output pixel the input pixel to its left (or above), and the share of the next one."""
    crop = math.ceil(length / factor)
    zoomed = max(round(crop * factor), length)  # Python rounds halves to even, as the original does
    first, trim = (length - crop) // 2, (zoomed - length) // 2
    at = (np.arange(length) + trim) * ((crop - 1) / max(zoomed - 1, 1))
    left = np.minimum(at.astype(np.int64), max(crop - 2, 0))
    return torch.from_numpy(first + left).to(device), torch.from_numpy(at - left).float().to(device)


def resample_bilinear(
    image: np.ndarray, factor: float, rows: slice = slice(None), columns: slice = slice(None)
) -> np.ndarray:
    """Scale a (H, W, C) array without antialiasing: output k looks at (k + 1/2) / factor - 1/2. Float result.

    Of the result, only the given rows and columns are made.
    """
    out = image.astype(np.float64)
    for axis, part in enumerate((rows, columns)):
        length = image.shape[axis]
        at = np.clip((np.arange(round(length * factor))[part] + 0.5) / factor - 0.5, 0, length - 1)
        first = np.minimum(at.astype(np.int64), max(length - 2, 0))
        shape = [1, 1, 1]
        shape[axis] = -1
        share = (at - first).reshape(shape)
        second = np.minimum(first + 1, length - 1)
        out = np.take(out, first, axis) * (1.0 - share) + np.take(out, second, axis) * share
    return out


# --- Pillow's bilinear filter, each image with a size of its own ------------------------------------------------------


def through_thumbnail(pixels: Tensor, factor: Tensor, largest: float) -> Tensor:
    """Shrink bytes (N, C, H, W) by `factor` (N,) from 1 to `largest`, and enlarge them again, rounding each pass."""
    sides = pixels.shape[-2:]
    taps = math.ceil(2.0 * largest) + 1
    small = [torch.floor(side / factor.double()).clamp(min=1.0) for side in sides]
    full = [torch.full_like(size, float(side)) for size, side in zip(small, sides, strict=True)]
    plans = []
    for there in (True, False):
        for axis in (1, 0):
            ends = (full[axis], small[axis]) if there else (small[axis], full[axis])
            plans.append((*kernels.triangle_windows(*ends, sides[axis], taps if there else 3), axis + 2))
    return kernels.resize_lines(pixels, plans)


def enlarge_ends(pixels: Tensor, columns: Tensor, rows: Tensor) -> Tensor:
    """Drop the first `columns` and `rows` (N,) of bytes (N, C, H, W), and stretch the rest to full size."""
    plans = []
    for cut, axis in ((columns, 3), (rows, 2)):
        full = torch.full_like(cut, pixels.shape[axis])
        first, weights = kernels.triangle_windows(full - cut, full, pixels.shape[axis], 3)
        plans.append((first + cut[:, None], weights, axis))
    return kernels.resize_lines(pixels, plans)
