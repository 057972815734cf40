"""Textures added to the image, or mixed with it: a field in about [-1, 1] times a strength."""

from __future__ import annotations

import math
from functools import partial

import torch
from torch import Tensor

from scuff import kernels, random
from scuff.corruptions.draws import Shape, draw_caustics, fair_signs, position
from scuff.corruptions.registry import MINTUN, register
from scuff.kernels.constants import constant
from scuff.kernels.grids import pixel_grid
from scuff.kernels.portable import length
from scuff.ops import textures
from scuff.ranges import Range

LIMITS = {"amount": Range(0.0, 1000.0)}

mintun = partial(register, family="field", reference=MINTUN, limits=LIMITS)


def _add(x: Tensor, field: Tensor, levels: float) -> Tensor:
    """Add a field (N, H, W) or (N, C, H, W), times a number of grey levels."""
    return kernels.add_field(x, field, levels / 255.0)


def _draw_wave(keys: Tensor, shape: Shape) -> dict[str, Tensor]:
    larger = random.uniform(keys, "larger", (), -math.pi, math.pi)
    smaller = larger.abs() * random.uniform(keys, "smaller", (), -1.0, 1.0)
    swap = random.bernoulli(keys, "order", probability=0.5)
    frequency = torch.stack((torch.where(swap, larger, smaller), torch.where(swap, smaller, larger)), dim=1)
    return {"frequency": frequency, "phase": random.uniform(keys, "phase", (), 0.0, 2 * math.pi)}


@mintun(draw=_draw_wave)
def single_frequency_greyscale(x: Tensor, frequency: Tensor, phase: Tensor, *, amount: float) -> Tensor:
    """One sine wave over the whole image, in a random direction, the same in all channels: 19.6 levels per unit."""
    r, c = pixel_grid(x.shape[-2], x.shape[-1], x.device)
    fx, fy = (textures.per_image(f) for f in frequency.unbind(1))
    return _add(x, textures.sine(fx * c + fy * r + textures.per_image(phase)), 19.6 * amount)


def _draw_rings(keys: Tensor, shape: Shape) -> dict[str, Tensor]:
    side = min(shape[1:])
    return {
        "centre": position(keys, shape),
        "petals": random.uniform(keys, "petals", (), 0.0, 10.0),
        "sway": random.uniform(keys, "sway", (), 0.0, side / 10),
        "width": random.uniform(keys, "width", (), 0.0, side / 10),
    }


@mintun(draw=_draw_rings)
def cocentric_sine_waves(
    x: Tensor, centre: Tensor, petals: Tensor, sway: Tensor, width: Tensor, *, amount: float
) -> Tensor:
    """Rings around a random point, like the ripples of a stone (the name's spelling is the original's)."""
    return _add(x, kernels.ring_waves(centre, petals, sway, width, *x.shape[-2:]), 12.8 * amount)


def _draw_plasma(keys: Tensor, shape: Shape) -> dict[str, Tensor]:
    return {
        "time": random.uniform(keys, "time", (), 0.0, 6 * math.pi),
        "rounds": random.integers(keys, "rounds", low=4, high=6),
        "sharpness": random.uniform(keys, "sharpness", (), 0.5, 1.0),
        "scale": random.uniform(keys, "scale", (), 0.075, 0.2) * min(shape[1:]),
    }


@mintun(draw=_draw_plasma, colour=True)
def plasma_noise(x: Tensor, time: Tensor, rounds: Tensor, sharpness: Tensor, scale: Tensor, *, amount: float) -> Tensor:
    """Coloured waves folded into each other. The image also darkens: waves around 0 replace a share of it."""
    waves = kernels.plasma_waves(time, rounds, sharpness, scale, *x.shape[-2:])
    return waves.sub_(x).mul_(6.4 * amount / 255.0).add_(x)


def _draw_voronoi(keys: Tensor, shape: Shape) -> dict[str, Tensor]:
    return {
        "twist": random.uniform(keys, "twist", (), 0.0, 10.0),
        "density": random.uniform(keys, "density", (), 0.5, 0.9),
        "size": random.uniform(keys, "size", (), 0.05, 0.2) * min(shape[1:]),
        "sign": fair_signs(keys, "sign"),
    }


@mintun(draw=_draw_voronoi)
def voronoi_noise(x: Tensor, twist: Tensor, density: Tensor, size: Tensor, sign: Tensor, *, amount: float) -> Tensor:
    """Cells like those of a leaf, lighter or darker than the image by up to 12.75 levels per unit."""
    height, width = x.shape[-2:]
    cells = kernels.voronoi_cells(twist, density, size, height, width, smallest=0.05 * min(height, width))
    return _add(x, textures.per_image(sign) * cells, 25.5 * amount)


@mintun(draw=draw_caustics)
def caustic_noise(x: Tensor, time: Tensor, size: Tensor, *, amount: float) -> Tensor:
    """The light net on the floor of a pool. It only brightens."""
    return _add(x, kernels.caustics(time, size, *x.shape[-2:]), 25.5 * amount)


def _draw_perlin(keys: Tensor, shape: Shape) -> dict[str, Tensor]:
    gradients = random.integers(keys, "gradients", (256, 2), low=-256, high=255).float()
    gradients[..., 0] += (gradients == 0).all(-1).float()  # a gradient needs a direction
    return {
        "gradients": gradients / length(*gradients.unbind(-1))[..., None],
        "order": random.permutation(keys, "order", 256),
    }


@mintun(draw=_draw_perlin)
def perlin_noise(x: Tensor, gradients: Tensor, order: Tensor, *, amount: float) -> Tensor:
    """Clouds of Perlin turbulence, mixed in by a twentieth per unit. They are light, so dark parts fade."""
    clouds = kernels.perlin_turbulence(gradients, order, *x.shape[-2:]).mul_(0.5).add_(0.5).clamp_(0.0, 1.0)
    return (clouds[:, None] - x).mul_(0.05 * amount).add_(x)


def _draw_phases(keys: Tensor, shape: Shape) -> dict[str, Tensor]:
    return {"phases": random.uniform(keys, "phases", shape)}


@mintun(draw=_draw_phases, copies=9.0)
def blue_noise(x: Tensor, phases: Tensor, *, amount: float) -> Tensor:
    """Noise whose amplitude rises with frequency, each channel for itself."""
    return _add(x, kernels.spectrum_noise(phases, "blue"), 19.6 * amount)


@mintun(draw=_draw_phases, copies=9.0)
def brownish_noise(x: Tensor, phases: Tensor, *, amount: float) -> Tensor:
    """Noise of the lowest frequencies, each channel for itself: soft blotches and a cast of colour."""
    return _add(x, kernels.spectrum_noise(phases, "brownish"), 6.4 * amount)


SPARKLES = 5
MOST_RAYS = 199


def _draw_sparkles(keys: Tensor, shape: Shape, *, amount: float) -> dict[str, Tensor]:
    place = random.uniform(keys, "centre", (SPARKLES, 2))
    sides = constant(tuple(float(n) for n in shape[1:]), keys.device)
    lengths = random.normal(keys, "lengths", (SPARKLES, MOST_RAYS), 1.0, 0.25) * (0.01 * amount * min(shape[1:]))
    return {
        "centre": place * sides,
        "count": random.integers(keys, "count", (SPARKLES,), low=50, high=MOST_RAYS),
        "lengths": lengths.clamp(min=1.0),
    }


@mintun(draw=_draw_sparkles)
def sparkles(x: Tensor, centre: Tensor, count: Tensor, lengths: Tensor) -> Tensor:
    """Five stars of light with many rays; their reach grows with `amount`."""
    return kernels.light_stars(x, centre, count, lengths)


def _draw_inverse_sparkles(keys: Tensor, shape: Shape) -> dict[str, Tensor]:
    return {
        "centre": position(keys, shape, 0.25, 0.75),
        "count": random.integers(keys, "count", low=50, high=MOST_RAYS),
        "lengths": random.normal(keys, "lengths", (MOST_RAYS,), 1.0, 0.25) * (0.25 * min(shape[1:])),
    }


@mintun(draw=_draw_inverse_sparkles)
def inverse_sparkles(x: Tensor, centre: Tensor, count: Tensor, lengths: Tensor, *, amount: float) -> Tensor:
    """The image seen through a star-shaped hole: away from it everything fades to white."""
    return kernels.fade_around_star(x, centre, count, lengths, 0.13 * amount)
