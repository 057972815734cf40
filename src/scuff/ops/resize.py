"""Zooming by bilinear interpolation, as the classic corruptions do it."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor


def _zoom_axis(length: int, factor: float) -> tuple[int, int, int, int]:
    """(crop size, crop start, zoomed size, trim) of the clipped zoom along one axis."""
    crop = math.ceil(length / factor)
    zoomed = max(round(crop * factor), length)  # Python rounds halves to even, as the original does
    return crop, (length - crop) // 2, zoomed, (zoomed - length) // 2


def clipped_zoom(x: Tensor, factor: float) -> Tensor:
    """Magnify the centre of (N, C, H, W) by `factor` >= 1 and keep the size.

    The crop is rounded up, stretched corner to corner, and trimmed: the true magnification differs a little from
    `factor` and the view shifts towards the top left. That is the original's geometry, kept on purpose.
    """
    h, w = x.shape[-2:]
    crop_h, top, zoomed_h, trim_h = _zoom_axis(h, factor)
    crop_w, left, zoomed_w, trim_w = _zoom_axis(w, factor)
    if (zoomed_h, zoomed_w) == (crop_h, crop_w) == (h, w):
        return x
    centre = x[..., top : top + crop_h, left : left + crop_w]
    zoomed = torch.nn.functional.interpolate(centre, (zoomed_h, zoomed_w), mode="bilinear", align_corners=True)
    return zoomed[..., trim_h : trim_h + h, trim_w : trim_w + w]


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
