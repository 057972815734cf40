"""Moving pixels: where each one comes from."""

from __future__ import annotations

import torch
from torch import Tensor


def pixel_grid(height: int, width: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Row and column of each pixel, as float32 (H, 1) and (1, W)."""
    rows = torch.arange(height, device=device, dtype=torch.float32)[:, None]
    return rows, torch.arange(width, device=device, dtype=torch.float32)[None]


def affine_through(source: Tensor, target: Tensor) -> Tensor:
    """The (N, 2, 3) affine maps that send three points (3, 2) or (N, 3, 2) to three points (N, 3, 2)."""
    source = source.expand_as(target).double()
    ones = torch.ones_like(source[..., :1])
    solution = torch.linalg.solve_ex(torch.cat((source, ones), dim=-1), target.double())[0]
    return solution.mT
