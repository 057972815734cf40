"""Fields of numbers that look like something."""

from __future__ import annotations

import torch
from torch import Tensor

from scuff.kernels.constants import constant
from scuff.kernels.dispatch import kernel
from scuff.kernels.grids import pixel_grid
from scuff.kernels.portable import divide, length, square_root
from scuff.kernels.reference.functions import arctangent, power, sine_and_cosine

__all__ = ["add_field", "caustics", "perlin_turbulence", "plasma_waves", "ring_waves", "voronoi_cells"]


def _sine(x: Tensor) -> Tensor:
    return sine_and_cosine(x)[0]


def _cosine(x: Tensor) -> Tensor:
    return sine_and_cosine(x)[1]


@kernel
def add_field(x: Tensor, field: Tensor, scale: float) -> Tensor:
    """Float32 (N, C, H, W) and `scale` times a field of its shape, or of (N, H, W): the same for all channels."""
    return x + (field[:, None] if field.ndim == 3 else field) * scale


@kernel
def ring_waves(centre: Tensor, petals: Tensor, sway: Tensor, spacing: Tensor, height: int, width: int) -> Tensor:
    """Sawtooth rings around `centre` (N, 2), `spacing` (N,) pixels apart: float32 (N, H, W) in [-1/2, 1/2].

    Going around, each sways `petals` (N,) times by up to `sway` (N,) pixels.
    """
    r, c = pixel_grid(height, width, centre.device)
    dy, dx = r - centre[:, :1, None], c - centre[:, 1:, None]
    angle = arctangent(*torch.broadcast_tensors(dx, dy))
    petals, sway, spacing = (v[:, None, None] for v in (petals, sway, spacing))
    turns = (length(dy, dx) + sway * _sine(petals * angle)) / spacing.clamp(min=1e-6)
    return turns - torch.floor(turns) - 0.5


@kernel
def caustics(time: Tensor, size: Tensor, height: int, width: int) -> Tensor:
    """Light on the floor of a pool at `time` (N,), repeated every `size` (N,) pixels: float32 (N, H, W) in [0, 1]."""
    r, c = pixel_grid(height, width, time.device)
    time, size = time[:, None, None], size[:, None, None]
    p0 = (6.28318530718 * (r / size).remainder(1.0) - 250.0).expand(-1, -1, width)
    p1 = (6.28318530718 * (c / size).remainder(1.0) - 250.0).expand(-1, height, -1)
    i0, i1, total = p0, p1, torch.ones_like(p0)
    for k in range(1, 6):
        t = time * (1.0 - 3.5 / k)
        i0, i1 = p0 + _cosine(t - i0) + _sine(t + i1), p1 + _sine(t - i1) + _cosine(t + i0)
        total = total + 1.0 / length(0.005 * p0 / _sine(i0 + t), 0.005 * p1 / _cosine(i1 + t))
    light = 1.17 - power(divide(total, 5.0), constant((1.4,), total.device))
    for _ in range(3):
        light = light * light
    return light.clamp(0.0, 1.0)


@kernel
def plasma_waves(time: Tensor, rounds: Tensor, sharpness: Tensor, scale: Tensor, height: int, width: int) -> Tensor:
    """Three channels of folded sine waves in [-1, 1]: float32 (N, 3, H, W).

    `rounds` (4 to 6 in use) is the number of folds of each image, `scale` the size of the first waves in pixels.
    """
    r, c = pixel_grid(height, width, time.device)
    t, rounds, sharpness, scale = (v[:, None, None] for v in (time, rounds, sharpness, scale))
    x, y = (c / scale).expand(-1, height, -1), (r / scale).expand(-1, -1, width)
    frequency, slowness, damping = 1.0, 1.0, torch.ones_like(t)
    for k in range(6):
        p = _cosine(frequency * y + divide(t, slowness)) / damping
        q = _sine(frequency * x + divide(t, slowness)) / damping
        going = rounds > k
        x, y = torch.where(going, x + p - 0.3 * q, x), torch.where(going, y + q + 0.3 * p, y)
        frequency, slowness, damping = 1.93 * frequency, 1.15 * slowness, damping * (2.25 - sharpness)
    return torch.stack((_sine(x - t), _sine(0.5 * (x + y + _sine(t))), _sine(y + t)), dim=1)


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


@kernel
def voronoi_cells(twist: Tensor, density: Tensor, size: Tensor, height: int, width: int, smallest: float) -> Tensor:
    """Smooth distance to the nearest of points hashed into cells of `size` >= `smallest` pixels: in [-1/2, 1/2].

    `twist`, `density` and `size` are (N,), the result is float32 (N, H, W). Distances count up to one cell, in units of
    1 / density of it.
    """
    r, c = pixel_grid(height, width, twist.device)
    size = size[:, None, None]
    x, y = (c / size + 1.0).expand(-1, height, -1), (r / size + 1.0).expand(-1, -1, width)
    cell_x, cell_y = torch.floor(x), torch.floor(y)
    points = cell_points(twist, height, width, smallest)
    across = points.shape[-1]
    points = points.flatten(2)
    nearest = torch.ones_like(x)
    for i in (-1, 0, 1):
        for j in (-1, 0, 1):
            place = ((cell_y + j) * across + (cell_x + i)).long().flatten(1)
            dx = i + points[:, 0].gather(1, place).view(x.shape) - (x - cell_x)
            dy = j + points[:, 1].gather(1, place).view(x.shape) - (y - cell_y)
            nearest = torch.minimum(nearest, length(dy, dx))
    t = (nearest * density[:, None, None]).clamp(0.0, 1.0)
    return t * t * (3.0 - 2.0 * t) - 0.5


def cell_points(twist: Tensor, height: int, width: int, smallest: float) -> Tensor:
    """Where the point of each cell lies in it, across and down: float32 (N, 2, cells down, cells across) in [0, 1)."""
    down, across = (
        torch.arange(int(side / smallest) + 4, device=twist.device, dtype=torch.float64) for side in (height, width)
    )
    # the hash multiplies sines of large numbers: double precision, once per cell
    seeds = torch.stack((13.85 * across + 47.77 * down[:, None], 99.41 * across + 88.48 * down[:, None]))
    return (0.0025 * twist.double()[:, None, None, None] * _sine(seeds) * square_root(seeds)).remainder(1.0).float()
