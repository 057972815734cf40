"""Moving pixels: bilinear sampling at real coordinates."""

from __future__ import annotations

import torch
from torch import Tensor

from scuff.ops.borders import fold


def sample_bilinear(x: Tensor, rows: Tensor, columns: Tensor, border: str) -> Tensor:
    """Read (N, C, H, W) at pixel coordinates (N, H', W'); pixel centres are integers."""
    h, w = x.shape[-2:]
    # grid_sample wants (-1, 1) from the outer edge of the first pixel to that of the last, and clamps to the centres
    y = (fold(rows, h, border) * 2.0 + 1.0) / h - 1.0
    z = (fold(columns, w, border) * 2.0 + 1.0) / w - 1.0
    grid = torch.stack((z, y), dim=-1)
    return torch.nn.functional.grid_sample(x, grid, mode="bilinear", padding_mode="border", align_corners=False)


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
