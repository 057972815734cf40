"""Fields that look like something: waves, cells, caustics, Perlin noise, spectra, sparkles; float32 (N, ..., H, W)."""

from __future__ import annotations

import math
from functools import lru_cache

import torch
from torch import Tensor

from scuff import kernels
from scuff.kernels import portable
from scuff.kernels.constants import constant
from scuff.kernels.portable import divide, length
from scuff.ops.warp import pixel_grid


def plasma_size(height: int, width: int) -> int:
    """The power of two that covers an image: 256 for 224 pixels, 64 for 64, 32 for 32."""
    return 1 << max(height - 1, width - 1, 1).bit_length()


def per_image(value: Tensor) -> Tensor:
    """(N,) -> (N, 1, 1), to meet fields (N, H, W)."""
    return value[:, None, None]


def each(value: Tensor) -> Tensor:
    """(N,) -> (N, 1, 1, 1), to meet images (N, C, H, W)."""
    return value[:, None, None, None]


def smoothstep(t: Tensor) -> Tensor:
    """0 up to 0, 1 from 1 on, and 3 t^2 - 2 t^3 between."""
    t = t.clamp(0.0, 1.0)
    return t * t * (3.0 - 2.0 * t)


def sine(x: Tensor) -> Tensor:
    """The sine, with the same bits on every device."""
    return kernels.sine_and_cosine(x)[0]


def cosine(x: Tensor) -> Tensor:
    """The cosine, with the same bits on every device."""
    return kernels.sine_and_cosine(x)[1]


def rings(centre: Tensor, petals: Tensor, sway: Tensor, width: Tensor, height: int, columns: int) -> Tensor:
    """Sawtooth rings in [-1/2, 1/2] around `centre` (N, 2), `width` pixels apart, waving `petals` times around it."""
    r, c = pixel_grid(height, columns, centre.device)
    dy, dx = r - per_image(centre[:, 0]), c - per_image(centre[:, 1])
    angle = kernels.arctangent(*torch.broadcast_tensors(dx, dy))
    distance = length(dy, dx) + per_image(sway) * sine(per_image(petals) * angle)
    turns = distance / per_image(width.clamp(min=1e-6))
    return turns - torch.floor(turns) - 0.5


def plasma_waves(
    time: Tensor, rounds: Tensor, sharpness: Tensor, scale: Tensor, height: int, width: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Three channels of folded sine waves in [-1, 1]; `rounds` (4 to 6 in use) is the number of folds of each image."""
    r, c = pixel_grid(height, width, time.device)
    t, scale = per_image(time), per_image(scale)
    x, y = (c / scale).expand(-1, height, -1), (r / scale).expand(-1, -1, width)
    frequency, slowness, damping = 1.0, 1.0, torch.ones_like(t)
    for k in range(6):
        p = cosine(frequency * y + divide(t, slowness)) / damping
        q = sine(frequency * x + divide(t, slowness)) / damping
        going = per_image(rounds) > k
        x, y = torch.where(going, x + p - 0.3 * q, x), torch.where(going, y + q + 0.3 * p, y)
        frequency, slowness, damping = 1.93 * frequency, 1.15 * slowness, damping * (2.25 - per_image(sharpness))
    return sine(x - t), sine(0.5 * (x + y + sine(t))), sine(y + t)


def voronoi(twist: Tensor, density: Tensor, size: Tensor, height: int, width: int, smallest: float) -> Tensor:
    """Smooth distance to the nearest of points hashed into cells of `size` >= `smallest` pixels: in [-1/2, 1/2]."""
    r, c = pixel_grid(height, width, twist.device)
    size = per_image(size)
    x, y = (c / size + 1.0).expand(-1, height, -1), (r / size + 1.0).expand(-1, -1, width)
    cell_x, cell_y = torch.floor(x), torch.floor(y)
    down, across = (
        torch.arange(int(side / smallest) + 4, device=twist.device, dtype=torch.float64) for side in (height, width)
    )
    # the hash multiplies sines of large numbers: double precision, once per cell
    seeds = torch.stack((13.85 * across + 47.77 * down[:, None], 99.41 * across + 88.48 * down[:, None]))
    offsets = 0.0025 * twist.double()[:, None, None, None] * sine(seeds) * portable.square_root(seeds)
    offsets = offsets.remainder(1.0).float().flatten(2)
    nearest = torch.ones_like(x)
    for i in (-1, 0, 1):
        for j in (-1, 0, 1):
            place = ((cell_y + j) * len(across) + (cell_x + i)).long().flatten(1)
            dx = i + offsets[:, 0].gather(1, place).view(x.shape) - (x - cell_x)
            dy = j + offsets[:, 1].gather(1, place).view(x.shape) - (y - cell_y)
            nearest = torch.minimum(nearest, length(dy, dx))
    return smoothstep(nearest * per_image(density)) - 0.5


def caustics(time: Tensor, size: Tensor, height: int, width: int) -> Tensor:
    """Light on the floor of a pool, in [0, 1]."""
    r, c = pixel_grid(height, width, time.device)
    size = per_image(size)
    p0 = (6.28318530718 * (r / size).remainder(1.0) - 250.0).expand(-1, -1, width)
    p1 = (6.28318530718 * (c / size).remainder(1.0) - 250.0).expand(-1, height, -1)
    i0, i1, total = p0, p1, torch.ones_like(p0)
    for k in range(1, 6):
        t = per_image(time) * (1.0 - 3.5 / k)
        i0, i1 = p0 + cosine(t - i0) + sine(t + i1), p1 + sine(t - i1) + cosine(t + i0)
        total = total + 1.0 / length(0.005 * p0 / sine(i0 + t), 0.005 * p1 / cosine(i1 + t))
    light = 1.17 - kernels.power(divide(total, 5.0), constant((1.4,), total.device))
    for _ in range(3):
        light = light * light
    return light.clamp(0.0, 1.0)


def rays(centre: Tensor, count: Tensor, lengths: Tensor, height: int, width: int) -> tuple[Tensor, Tensor]:
    """Rays of `lengths` (N, L) around `centre` (N, 2); of the L lengths the first `count` are in use.

    Returns (squared ray length / squared distance) and the profile across a ray, both (N, H, W).
    """
    r, c = pixel_grid(height, width, centre.device)
    dy, dx = r - per_image(centre[:, 0]), c - per_image(centre[:, 1])
    m = per_image(count.float())
    turn = m * divide(kernels.arctangent(*torch.broadcast_tensors(dx, dy)) + math.pi, 2.0 * math.pi)
    first = torch.floor(turn)
    share = turn - first
    near = lengths.gather(1, first.remainder(m).long().flatten(1)).view(turn.shape)
    next_ = lengths.gather(1, (first + 1.0).remainder(m).long().flatten(1)).view(turn.shape)
    reach = near + share * (next_ - near)
    return reach * reach / (dy * dy + dx * dx + 1e-4), 1.0 - (share - 0.5) ** 2
