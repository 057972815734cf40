"""Fields of numbers that look like something."""

from __future__ import annotations

import torch
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.portable import divide

__all__ = ["perlin_turbulence"]


@kernel
def perlin_turbulence(gradients: Tensor, order: Tensor, height: int, width: int) -> Tensor:
    """Five octaves of |Perlin noise| over a lattice of 7 cells per shorter side: float32 (N, height, width).

    `gradients` (N, 256, 2) are unit vectors, `order` (N, 256) is a permutation: together they hash lattice nodes.
    Bit-equal in every back end: float32, every product rounded before it is added.
    """
    r = torch.arange(height, device=order.device, dtype=torch.float32)[:, None]
    c = torch.arange(width, device=order.device, dtype=torch.float32)[None]
    side = min(height, width)
    total = torch.zeros(len(order), height, width, device=order.device)
    for octave in range(5):
        f = 2.0**octave
        a, b = divide(7.0 * f * r, side), divide(7.0 * f * c, side)
        i, j = torch.floor(a), torch.floor(b)
        u, w = a - i, b - j
        corners = []
        for di in (0, 1):
            row = order[:, (i[:, 0].long() + di) % 256]
            for dj in (0, 1):
                node = (row[:, :, None] + (j[0].long() + dj) % 256) % 256
                node = order.gather(1, node.flatten(1))
                g = gradients.gather(1, node[..., None].expand(-1, -1, 2)).view(-1, height, width, 2)
                corners.append(g[..., 0] * (u - di) + g[..., 1] * (w - dj))
        along, across = u * u * (3.0 - 2.0 * u), w * w * (3.0 - 2.0 * w)
        near = corners[0] + along * (corners[2] - corners[0])
        far = corners[1] + along * (corners[3] - corners[1])
        total += (1.5 * (near + across * (far - near))).abs() / f
    return total
