"""Poisson counts by inversion of the distribution function."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from scuff.kernels.dispatch import kernel

__all__ = ["poisson_quantile"]


@kernel
def poisson_quantile(u: Tensor, rate: Tensor) -> Tensor:
    """The smallest count (float32) whose Poisson distribution function reaches u: a Poisson draw if u is uniform.

    `u` in (0, 1] and `rate` >= 0 are float32 tables (N, count).

    Search upward from 6.5 standard deviations below the mean, where less than 1e-9 of the mass is left out.
    """
    u, rate = u.double(), rate.double()
    count = poisson_start(rate)
    mass = poisson_mass(rate, count)
    total = mass.clone()
    while True:
        active = (u > total) & ((count < rate) | (mass > 1e-10))
        if not bool(active.any()):
            return count.float()
        count = torch.where(active, count + 1, count)
        mass = torch.where(active, mass * rate / count, mass)
        total = torch.where(active, total + mass, total)


def poisson_start(rate: Tensor) -> Tensor:
    return torch.floor(rate - 6.5 * torch.sqrt(rate) - 3.0).clamp(min=0.0)


def poisson_mass(rate: Tensor, count: Tensor) -> Tensor:
    """P(X = count), with Stirling's series arranged so that nothing large cancels; exact at 0, where searches start."""
    k = count.clamp(min=1.0)
    series = (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / 1260.0 / (k * k)) / (k * k)) / k
    log_mass = k * torch.log(rate / k) + (k - rate) - 0.5 * torch.log(2.0 * math.pi * k) - series
    return torch.where(count == 0, torch.exp(-rate), torch.exp(log_mass))
