"""Stars of many rays, as light glitters."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from scuff.kernels.constants import constant
from scuff.kernels.dispatch import kernel
from scuff.kernels.grids import pixel_grid
from scuff.kernels.portable import divide
from scuff.kernels.reference.functions import arctangent, power

__all__ = ["fade_around_star", "light_stars"]


@kernel
def light_stars(x: Tensor, centre: Tensor, count: Tensor, lengths: Tensor) -> Tensor:
    """Let S stars shine on float32 (N, C, H, W), each on what the others leave dark.

    `centre` (N, S, 2) is row and column, `count` (N, S) how many rays a star has: the first of `lengths` (N, S, L).
    """
    dark = torch.ones_like(x[:, 0])
    for place, rays, reach in zip(centre.unbind(1), count.unbind(1), lengths.unbind(1), strict=True):
        glow, profile = _rays(place, rays, reach, *x.shape[-2:])
        dark = dark * (1.0 - (profile * glow).clamp(0.0, 1.0))
    return _lighter(x, dark)


@kernel
def fade_around_star(x: Tensor, centre: Tensor, count: Tensor, lengths: Tensor, exponent: float) -> Tensor:
    """See float32 (N, C, H, W) through one star each, (N, 2), (N,) and (N, L): white where its glow^exponent is 0."""
    glow, profile = _rays(centre, count, lengths, *x.shape[-2:])
    return _lighter(x, (profile * power(glow, constant((exponent,), x.device))).clamp(0.0, 1.0))


def _lighter(x: Tensor, dark: Tensor) -> Tensor:
    """Toward white where (N, H, W) is below 1; written so that a pixel where it is 1 stays exactly itself."""
    return x + (1.0 - x) * (1.0 - dark[:, None])


def _rays(centre: Tensor, count: Tensor, lengths: Tensor, height: int, width: int) -> tuple[Tensor, Tensor]:
    """(Squared ray length / squared distance) and the profile across a ray, both (N, H, W)."""
    r, c = pixel_grid(height, width, centre.device)
    dy, dx = r - centre[:, :1, None], c - centre[:, 1:, None]
    m = count.float()[:, None, None]
    turn = m * divide(arctangent(*torch.broadcast_tensors(dx, dy)) + math.pi, 2.0 * math.pi)
    first = torch.floor(turn)
    share = turn - first
    after = first + 1.0  # at most m + 1, and rays are many: taking m away once replaces a remainder
    near, next_ = (
        lengths.gather(1, torch.where(ray >= m, ray - m, ray).long().flatten(1)).view(turn.shape)
        for ray in (first, after)
    )
    reach = near + share * (next_ - near)
    return reach * reach / (dy * dy + dx * dx + 1e-4), 1.0 - (share - 0.5) ** 2
