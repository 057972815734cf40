"""Batches of bytes as arrays with a pixel's channels side by side."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor


def side_by_side(pixels: Tensor) -> np.ndarray:
    """(N, C, H, W) as a contiguous (N, H, W, C) array; no copy if the memory has that order already."""
    return pixels.permute(0, 2, 3, 1).contiguous().numpy()


def new_pixels(like: Tensor, height: int | None = None, width: int | None = None) -> tuple[Tensor, np.ndarray]:
    """An empty uint8 batch (N, C, H, W), and the contiguous (N, H, W, C) array that shares its memory."""
    n, channels = like.shape[:2]
    memory = torch.empty(n, height or like.shape[2], width or like.shape[3], channels, dtype=torch.uint8)
    return memory.permute(0, 3, 1, 2), memory.numpy()
