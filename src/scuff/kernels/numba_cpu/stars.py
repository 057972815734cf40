"""Stars of many rays, a row at a time: all of them shine on it while it is in the fastest cache."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.numba_cpu.compiling import F32, INDEX, compiled
from scuff.kernels.numba_cpu.filling import fill
from scuff.kernels.numba_cpu.functions import angles, exponential, logarithm

F64 = np.float64
HALF_TURN, TURN = F32(math.pi), F32(2.0 * math.pi)


@compiled
def _place_rays(dy, column, rays, down, angle, across, share, which):
    """For a row: the distance across, between which two rays a pixel lies and where. `which` (2, W) counts rays."""
    for j in range(INDEX(across.size)):
        down[j], across[j] = dy, F32(j) - column
    angles(0, across.size, across, down, angle)
    for j in range(INDEX(across.size)):
        turn = rays * ((angle[j] + HALF_TURN) / TURN)
        first = np.floor(turn)
        after = first + F32(1.0)
        share[j] = turn - first
        which[0, j] = np.int32(first - rays if first >= rays else first)
        which[1, j] = np.int32(after - rays if after >= rays else after)


@compiled
def _shine(image, centres, counts, lengths, exponent, fades, across, share, glow, far, dark, which, out):
    """Of all stars, or if it `fades` of one whose glow is raised to a power; from `across` on, arguments are scratch.

    Only the loop that looks up lengths is done pixel by pixel.
    """
    channels, height, width = image.shape
    for r in range(height):
        for j in range(INDEX(width)):
            dark[j] = F32(1.0)
        for star in range(len(centres)):
            dy = F32(r) - centres[star, 0]
            _place_rays(dy, centres[star, 1], counts[star], glow, far, across, share, which)
            for j in range(INDEX(width)):
                glow[j], far[j] = lengths[star, which[0, j]], lengths[star, which[1, j]]
            for j in range(INDEX(width)):
                reach = glow[j] + share[j] * (far[j] - glow[j])
                glow[j] = reach * reach / (dy * dy + across[j] * across[j] + F32(1e-4))
            if fades:
                for j in range(INDEX(width)):
                    raised = F32(exponential(F64(exponent) * logarithm(F64(glow[j]))))
                    glow[j] = raised if glow[j] > F32(0.0) else F32(0.0)
            for j in range(INDEX(width)):
                profile = F32(1.0) - (share[j] - F32(0.5)) * (share[j] - F32(0.5))
                light = min(max(profile * glow[j], F32(0.0)), F32(1.0))
                dark[j] = light if fades else dark[j] * (F32(1.0) - light)
        for c in range(channels):
            for j in range(INDEX(width)):
                out[c, r, j] = image[c, r, j] + (F32(1.0) - image[c, r, j]) * (F32(1.0) - dark[j])


def _under_stars(x: Tensor, centre: Tensor, count: Tensor, lengths: Tensor, exponent: float, fades: bool) -> Tensor:
    def scratch() -> tuple[np.ndarray, ...]:
        return *np.empty((5, x.shape[3]), F32), np.empty((2, x.shape[3]), np.int32)

    stars = (centre, count.float(), lengths)
    return fill(torch.empty(x.shape), _shine, x, *stars, F32(exponent), fades, scratch=scratch)


@kernel
def light_stars(x: Tensor, centre: Tensor, count: Tensor, lengths: Tensor) -> Tensor:
    return _under_stars(x, centre, count, lengths, 1.0, fades=False)


@kernel
def fade_around_star(x: Tensor, centre: Tensor, count: Tensor, lengths: Tensor, exponent: float) -> Tensor:
    return _under_stars(x, centre[:, None], count[:, None], lengths[:, None], exponent, fades=True)
