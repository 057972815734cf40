"""Fields that look like something: waves, cells, sparkles; float32 (N, ..., H, W). Others are kernels."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from scuff import kernels
from scuff.kernels import portable
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
    after = first + 1.0  # at most m + 1, and rays are many: taking m away once replaces a remainder
    near, next_ = (
        lengths.gather(1, torch.where(ray >= m, ray - m, ray).long().flatten(1)).view(turn.shape)
        for ray in (first, after)
    )
    reach = near + share * (next_ - near)
    return reach * reach / (dy * dy + dx * dx + 1e-4), 1.0 - (share - 0.5) ** 2
