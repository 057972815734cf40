"""Zooming by bilinear interpolation, as the classic corruptions do it."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from scuff import kernels


def clipped_zoom(x: Tensor, factor: float) -> Tensor:
    """Magnify the centre of (N, C, H, W) by `factor` >= 1 and keep the size.

    The crop is rounded up, stretched corner to corner, and trimmed: the true magnification differs a little from
    `factor` and the view shifts towards the top left. That is the original's geometry, kept on purpose.
    """
    rows, columns = (_zoom_axis(n, factor, x.device) for n in x.shape[-2:])
    return kernels.resample(x, *rows, *columns)


@lru_cache(maxsize=256)
def _zoom_axis(length: int, factor: float, device: torch.device) -> tuple[Tensor, Tensor]:
    """For each output pixel the input pixel to its left (or above), and the share of the next one."""
    crop = math.ceil(length / factor)
    zoomed = max(round(crop * factor), length)  # Python rounds halves to even, as the original does
    first, trim = (length - crop) // 2, (zoomed - length) // 2
    at = (np.arange(length) + trim) * ((crop - 1) / max(zoomed - 1, 1))
    left = np.minimum(at.astype(np.int64), max(crop - 2, 0))
    return torch.from_numpy(first + left).to(device), torch.from_numpy(at - left).float().to(device)


def resample_bilinear(image: np.ndarray, factor: float) -> np.ndarray:
    """Scale a (H, W, C) array without antialiasing: output k looks at (k + 1/2) / factor - 1/2. Float result."""
    out = image.astype(np.float64)
    for axis in (0, 1):
        length = image.shape[axis]
        at = np.clip((np.arange(round(length * factor)) + 0.5) / factor - 0.5, 0, length - 1)
        first = np.minimum(at.astype(np.int64), max(length - 2, 0))
        shape = [1, 1, 1]
        shape[axis] = -1
        share = (at - first).reshape(shape)
        second = np.minimum(first + 1, length - 1)
        out = np.take(out, first, axis) * (1.0 - share) + np.take(out, second, axis) * share
    return out
