"""What Canny's edges need: linking, and distances to them."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from scuff.kernels.dispatch import kernel

__all__ = ["chamfer_distance", "link_edges"]


@kernel
def link_edges(weak: Tensor, strong: Tensor) -> Tensor:
    """Keep each 8-connected component of `weak` (bool, N x H x W) that touches `strong`: Canny's hysteresis."""
    kept = (strong & weak).float()[:, None]
    mask = weak.float()[:, None]
    while True:
        grown = kept
        for _ in range(8):
            grown = torch.nn.functional.max_pool2d(grown, 3, stride=1, padding=1) * mask
        if torch.equal(grown, kept):
            return kept[:, 0] > 0
        kept = grown


CHAMFER_STEPS = tuple(
    (dy, dx, {1: 1.0, 2: 1.4, 5: 2.1969}[dy * dy + dx * dx])
    for dy in range(-2, 3)
    for dx in range(-2, 3)
    if dy * dy + dx * dx in (1, 2, 5)
)


@kernel
def chamfer_distance(edges: Tensor, cap: float) -> Tensor:
    """Distance (float32) to the nearest True of (N, H, W), by the 5 x 5 chamfer 1, 1.4, 2.1969; never above `cap`.

    Relax every pixel against its 16 chamfer neighbours; a step costs at least 1, so `cap` rounds are enough.
    """
    n, h, w = edges.shape
    distance = torch.full((n, h + 4, w + 4), cap, dtype=torch.float32, device=edges.device)
    inner = distance[:, 2 : h + 2, 2 : w + 2]
    inner.masked_fill_(edges, 0.0)
    for _ in range(math.ceil(cap)):
        best = inner.clone()
        for dy, dx, step in CHAMFER_STEPS:
            torch.minimum(best, distance[:, 2 + dy : h + 2 + dy, 2 + dx : w + 2 + dx] + step, out=best)
        inner.copy_(best)
    return inner.clone()
