"""Noise of sensors and of transmission: every pixel for itself, and mostly every channel."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from scuff import kernels, random
from scuff.corruptions.draws import Shape, pick
from scuff.corruptions.registry import HENDRYCKS, NOC, SYN2NAT, register
from scuff.kernels import portable
from scuff.kernels.portable import divide
from scuff.ops.textures import each
from scuff.ranges import Range

LIMITS = {
    "std": Range(0.0, 100.0),
    "photons": Range(0.001, 100_000.0),
    "amount": Range(0.0, 1.0),
    "folded": Range(0, 1),
    "probability": Range(0.0, 1.0),
    "amplitude": Range(0.0, 100.0),
    "variance": Range(0.0, 10_000_000.0),
    "factor": Range(-100.0, 100.0),
    "color_shift": Range(0.0, 10.0),
    "intensity": Range(0.0, 100.0),
}

hendrycks = partial(register, family="noise", reference=HENDRYCKS, limits=LIMITS)
noc = partial(register, family="noise", domain="real", reference=NOC, limits=LIMITS)
syn2nat = partial(register, family="noise", reference=SYN2NAT, limits=LIMITS)


def _draw_normal(keys: Tensor, shape: Shape) -> dict[str, Tensor]:
    return {"noise": random.normal(keys, "noise", shape)}


@hendrycks(draw=_draw_normal)
def gaussian_noise(x: Tensor, noise: Tensor, *, std: float) -> Tensor:
    """Electronic noise in low light: x + std * n, with n standard normal for each pixel and channel."""
    return kernels.add_scaled(x, noise, std)


@hendrycks(draw=_draw_normal)
def speckle_noise(x: Tensor, noise: Tensor, *, std: float) -> Tensor:
    """Multiplicative noise, as in radar and ultrasound: x + x * std * n. Black stays black."""
    return (x * noise).mul_(std).add_(x)


@hendrycks(draw=lambda keys, shape: {"u": random.uniform(keys, "photons", shape)})
def shot_noise(x: Tensor, u: Tensor, *, photons: float) -> Tensor:
    """The discreteness of light: a white pixel collects `photons` on average, Poisson(photons * x) / photons.

    The counts are quantiles at the drawn uniforms `u`, so the draw does not depend on the picture.
    """
    return kernels.photon_noise(u, x, photons)


def _draw_impulses(keys: Tensor, shape: Shape) -> dict[str, Tensor]:
    return {"u": random.uniform(keys, "impulse", shape)}


def _draw_nested_impulses(keys: Tensor, shape: Shape, *, amount: float) -> dict[str, Tensor]:
    """A value that is hit stays hit as the amount grows, and keeps its colour."""
    colour = torch.where(random.bernoulli(keys, "colour", shape, probability=0.5), 0.0, amount)
    return {"u": torch.where(random.uniform(keys, "impulse", shape) <= amount, colour, 1.0)}


@hendrycks(draw=_draw_impulses, shared_draw=_draw_nested_impulses, copies=2.3)
def impulse_noise(x: Tensor, u: Tensor, *, amount: float) -> Tensor:
    """Salt and pepper from bit errors: a share `amount` of all values becomes 1 or 0, with equal chances."""
    return kernels.salt_and_pepper(x, u, amount)


# --- strength drawn per image ---------------------------------------------------------------------------------------


def _draw_scaled_normal(keys: Tensor, shape: Shape, *, std: Range | float) -> dict[str, Tensor]:
    return {"noise": random.normal(keys, "noise", shape).mul_(each(pick(keys, std)))}


@noc(draw=_draw_scaled_normal, ranges=("std",))
def half_normal_noise(x: Tensor, noise: Tensor, *, folded: int) -> Tensor:
    """Gaussian noise that only brightens: x + |n|, with n of a standard deviation of its own for each image.

    The paper's text has x + n. The original code takes the absolute value, and its severities and reference errors
    belong to that: `folded` 1 is the code, 0 the text.
    """
    return noise.abs().add_(x) if folded else x + noise


def _draw_salt_pepper(keys: Tensor, shape: Shape, *, probability: Range | float) -> dict[str, Tensor]:
    u, half = random.uniform(keys, "impulse", shape), each(0.5 * pick(keys, probability))
    return {"pepper": u <= half, "salt": u > 1.0 - half}


@noc(draw=_draw_salt_pepper, domain="byte", ranges=("probability",))
def salt_pepper(pixels: Tensor, pepper: Tensor, salt: Tensor) -> Tensor:
    """Dead and hot values: each becomes 0 or 255, with half of `probability` each, every channel for itself."""
    return pixels.masked_fill(pepper, 0).masked_fill(salt, 255)


def _draw_uniform_noise(keys: Tensor, shape: Shape, *, amplitude: Range | float) -> dict[str, Tensor]:
    return {"noise": random.uniform(keys, "noise", shape, -1.0, 1.0).mul_(each(pick(keys, amplitude)))}


@noc(draw=_draw_uniform_noise, ranges=("amplitude",))
def uniform_noise(x: Tensor, noise: Tensor) -> Tensor:
    """Noise between -a and a, all values alike; a is drawn per image. The original names it, but has no code for it."""
    return x + noise


def _draw_gauss(keys: Tensor, shape: Shape, *, variance: Range | float) -> dict[str, Tensor]:
    std = divide(portable.square_root(pick(keys, variance)), 255.0)
    return {"noise": random.normal(keys, "noise", shape).mul_(each(std))}


@syn2nat(draw=_draw_gauss, ranges=("variance",))
def gauss_noise(x: Tensor, noise: Tensor) -> Tensor:
    """Gaussian noise whose variance, in squared grey levels, each image draws for itself."""
    return x + noise


def _draw_factors(keys: Tensor, shape: Shape, *, factor: Range) -> dict[str, Tensor]:
    return {"factor": pick(keys, factor, "factor", (1, *shape[1:]))}


@syn2nat(draw=_draw_factors, ranges=("factor",))
def multiplicative_noise(x: Tensor, factor: Tensor) -> Tensor:
    """Every pixel multiplied by a random factor of its own, which its channels share."""
    return x * factor


def _draw_iso(keys: Tensor, shape: Shape, *, color_shift: Range | float, intensity: Range | float) -> dict[str, Tensor]:
    strength = pick(keys, intensity, "intensity")
    return {
        "intensity": strength,
        "u": random.uniform(keys, "photons", shape[1:]),
        "turn": random.normal(keys, "turn", shape[1:])
        * (pick(keys, color_shift, "color shift") * strength)[:, None, None],
    }


@syn2nat(draw=_draw_iso, colour=True, ranges=("color_shift", "intensity"))
def iso_noise(x: Tensor, intensity: Tensor, u: Tensor, turn: Tensor) -> Tensor:
    """A camera at high sensitivity: grains of light, and hues that wander from pixel to pixel.

    Lightness rises by a Poisson count, on average `intensity` times its own deviation over the image; hues turn by a
    normal share of the circle, of deviation `color_shift` * `intensity`.
    """
    return kernels.iso_noise(x, intensity, u, turn)
