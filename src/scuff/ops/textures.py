"""Fields that look like something: waves, cells, caustics, Perlin noise, spectra, sparkles; float32 (N, ..., H, W)."""

from __future__ import annotations

import math

import torch
from torch import Tensor

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


def rings(centre: Tensor, petals: Tensor, sway: Tensor, width: Tensor, height: int, columns: int) -> Tensor:
    """Sawtooth rings in [-1/2, 1/2] around `centre` (N, 2), `width` pixels apart, waving `petals` times around it."""
    r, c = pixel_grid(height, columns, centre.device)
    dy, dx = r - per_image(centre[:, 0]), c - per_image(centre[:, 1])
    distance = torch.hypot(dy, dx) + per_image(sway) * torch.sin(per_image(petals) * torch.atan2(dx, dy))
    width = per_image(width.clamp(min=1e-6))
    return distance.remainder(width) / width - 0.5


def plasma_waves(
    time: Tensor, rounds: Tensor, sharpness: Tensor, scale: Tensor, height: int, width: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Three channels of folded sine waves in [-1, 1]; `rounds` (4 to 6 in use) is the number of folds of each image."""
    r, c = pixel_grid(height, width, time.device)
    t, scale = per_image(time), per_image(scale)
    x, y = (c / scale).expand(-1, height, -1), (r / scale).expand(-1, -1, width)
    frequency, slowness, damping = 1.0, 1.0, torch.ones_like(t)
    for k in range(6):
        p = torch.cos(frequency * y + t / slowness) / damping
        q = torch.sin(frequency * x + t / slowness) / damping
        going = per_image(rounds) > k
        x, y = torch.where(going, x + p - 0.3 * q, x), torch.where(going, y + q + 0.3 * p, y)
        frequency, slowness, damping = 1.93 * frequency, 1.15 * slowness, damping * (2.25 - per_image(sharpness))
    return torch.sin(x - t), torch.sin(0.5 * (x + y + torch.sin(t))), torch.sin(y + t)


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
    offsets = 0.0025 * twist.double()[:, None, None, None] * torch.sin(seeds) * torch.sqrt(seeds)
    offsets = offsets.remainder(1.0).float().flatten(2)
    nearest = torch.ones_like(x)
    for i in (-1, 0, 1):
        for j in (-1, 0, 1):
            place = ((cell_y + j) * len(across) + (cell_x + i)).long().flatten(1)
            dx = i + offsets[:, 0].gather(1, place).view(x.shape) - (x - cell_x)
            dy = j + offsets[:, 1].gather(1, place).view(x.shape) - (y - cell_y)
            nearest = torch.minimum(nearest, torch.hypot(dx, dy))
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
        i0, i1 = p0 + torch.cos(t - i0) + torch.sin(t + i1), p1 + torch.sin(t - i1) + torch.cos(t + i0)
        total = total + 1.0 / torch.hypot(0.005 * p0 / torch.sin(i0 + t), 0.005 * p1 / torch.cos(i1 + t))
    return ((1.17 - (total / 5.0) ** 1.4).abs() ** 8).clamp(0.0, 1.0)


def perlin_turbulence(gradients: Tensor, order: Tensor, height: int, width: int) -> Tensor:
    """Five octaves of |Perlin noise| over a lattice of 7 cells per shorter side.

    `gradients` (N, 256, 2) are unit vectors, `order` (N, 256) is a permutation: together they hash lattice nodes.
    """
    r, c = pixel_grid(height, width, order.device)
    side = min(height, width)
    total = torch.zeros(len(order), height, width, device=order.device)
    for octave in range(5):
        f = 2.0**octave
        a, b = 7.0 * f * r / side, 7.0 * f * c / side
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


def spectrum_noise(u: Tensor, kind: str) -> Tensor:
    """Noise of random phase and given amplitude spectrum, of deviation 1: "blue" (rising) or "brownish" (falling).

    `u` in [0, 1] (..., H, W) gives the phases of one half plane; the other is its point reflection about the middle of
    the grid, with equal and not negated phase. That is half a sample off from what makes a real signal, so the variance
    differs from place to place: the original's, and kept. In float64, so that no library's choice of plan shows.
    """
    if u.numel() == 0:
        return u  # no image at all, of which some libraries cannot make a plan
    height, width = u.shape[-2:]
    side = min(height, width)
    r = torch.arange(height, device=u.device, dtype=torch.float64)[:, None]
    c = torch.arange(width, device=u.device, dtype=torch.float64)
    power = ((c - width // 2) * side / width) ** 2 + ((r - height // 2) * side / height) ** 2
    amplitude = torch.sqrt(power) if kind == "blue" else 1.0 / (power + 1.0)
    middle = c == (width - 1) / 2
    own = (c < (width - 1) / 2) | (middle & (r < (height - 1) / 2))
    alone = middle & (r == (height - 1) / 2)
    phase = torch.where(own, u, u.flip((-2, -1))).masked_fill(alone, 0.0).double() * (2.0 * math.pi)
    spectrum = torch.polar(amplitude.expand_as(phase).contiguous(), phase)
    z = torch.fft.ifft2(torch.roll(spectrum, (-(height // 2), -(width // 2)), (-2, -1))).real
    deviation = (z - z.mean((-2, -1), keepdim=True)).square().mean((-2, -1), keepdim=True).sqrt()
    return (z / deviation.clamp(min=1e-12)).float()


def rays(centre: Tensor, count: Tensor, lengths: Tensor, height: int, width: int) -> tuple[Tensor, Tensor]:
    """Rays of `lengths` (N, L) around `centre` (N, 2); of the L lengths the first `count` are in use.

    Returns (squared ray length / squared distance) and the profile across a ray, both (N, H, W).
    """
    r, c = pixel_grid(height, width, centre.device)
    dy, dx = r - per_image(centre[:, 0]), c - per_image(centre[:, 1])
    m = per_image(count.float())
    turn = m * ((torch.atan2(dx, dy) + math.pi) / (2.0 * math.pi))
    first = torch.floor(turn)
    share = turn - first
    near = lengths.gather(1, first.remainder(m).long().flatten(1)).view(turn.shape)
    next_ = lengths.gather(1, (first + 1.0).remainder(m).long().flatten(1)).view(turn.shape)
    length = near + share * (next_ - near)
    return length * length / (dy * dy + dx * dx + 1e-4), 1.0 - (share - 0.5) ** 2
