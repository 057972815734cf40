"""Noise of sensors and of transmission: every pixel and channel for itself."""

from __future__ import annotations

import torch
from torch import Tensor

from scuff import kernels, random
from scuff.corruptions.draws import Shape
from scuff.corruptions.registry import HENDRYCKS, register


def _draw_normal(keys: Tensor, shape: Shape) -> dict[str, Tensor]:
    return {"noise": random.normal(keys, "noise", shape)}


@register(family="noise", draw=_draw_normal, reference=HENDRYCKS)
def gaussian_noise(x: Tensor, noise: Tensor, *, std: float) -> Tensor:
    """Electronic noise in low light: x + std * n, with n standard normal for each pixel and channel."""
    return torch.add(x, noise, alpha=std)


@register(family="noise", draw=_draw_normal, reference=HENDRYCKS)
def speckle_noise(x: Tensor, noise: Tensor, *, std: float) -> Tensor:
    """Multiplicative noise, as in radar and ultrasound: x + x * std * n. Black stays black."""
    return torch.addcmul(x, x, noise, value=std)


def _draw_uniform(keys: Tensor, shape: Shape) -> dict[str, Tensor]:
    return {"u": random.uniform(keys, "photons", shape)}


@register(family="noise", draw=_draw_uniform, reference=HENDRYCKS)
def shot_noise(x: Tensor, u: Tensor, *, photons: float) -> Tensor:
    """The discreteness of light: a white pixel collects `photons` on average, Poisson(photons * x) / photons.

    The counts are quantiles at the drawn uniforms `u`, so the draw does not depend on the picture.
    """
    return kernels.poisson_quantile(u.flatten(1), (x * photons).flatten(1)).view(x.shape) / photons


def _draw_impulses(keys: Tensor, shape: Shape, *, amount: float) -> dict[str, Tensor]:
    u = random.uniform(keys, "impulse", shape)
    return {"replaced": u <= amount, "salt": u <= 0.5 * amount}


@register(family="noise", draw=_draw_impulses, reference=HENDRYCKS)
def impulse_noise(x: Tensor, replaced: Tensor, salt: Tensor) -> Tensor:
    """Salt and pepper from bit errors: a share `amount` of all values becomes 1 or 0, with equal chances."""
    return torch.where(replaced, salt.to(x.dtype), x)
