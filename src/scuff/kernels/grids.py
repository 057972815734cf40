"""Where pixels lie."""

from __future__ import annotations

import torch
from torch import Tensor


def pixel_grid(height: int, width: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Row and column of each pixel, as float32 (H, 1) and (1, W)."""
    rows, columns = (torch.arange(n, device=device, dtype=torch.float32) for n in (height, width))
    return rows[:, None], columns[None]
