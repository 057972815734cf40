"""Sun and fog over a picture: flares of a lens, a glow, a cloud, and puffs that pale what they cover.

Bit-equal in every back end: single roundings, in one order.
"""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor

from scuff.kernels.constants import constant
from scuff.kernels.dispatch import kernel
from scuff.kernels.reference.pixels import bytes_to_unit, unit_to_bytes

__all__ = ["add_cloud", "add_glow", "lay_fog", "paint_flares"]


@kernel
def add_glow(x: Tensor, centre: Tensor, squares: tuple[float, ...], remains: tuple[float, ...]) -> Tensor:
    """White about `centre` (N, 2), row and column, in rings on float32 (N, C, H, W).

    Of a pixel's distance from white `remains[i]` is left, if i is the first ring whose squared radius `squares[i]`
    reaches the pixel; the last number of `remains` is for pixels beyond all rings.
    """
    dy, dx = (
        torch.arange(length, device=x.device) - at[:, None]
        for length, at in zip(x.shape[-2:], centre.unbind(1), strict=True)
    )
    ring = torch.bucketize((dy * dy)[:, :, None] + (dx * dx)[:, None], constant(squares, x.device))
    return 1.0 - (1.0 - x) * constant(remains, x.device)[ring][:, None]


@kernel
def add_cloud(x: Tensor, cloud: Tensor, strength: float) -> Tensor:
    """`strength` times a cloud (N, 1, H, W) over float32 (N, C, H, W), scaled so that each image keeps its maximum."""
    brightest = x.amax((1, 2, 3), keepdim=True)
    return (cloud * strength + x).mul_(brightest / (brightest + strength))


@kernel
def lay_fog(pixels: Tensor, puffs: Tensor, clear: Tensor, most: int) -> Tensor:
    """Bytes (N, C, H, W) behind `puffs` (N, H, W) puffs of fog, up to `most`, as the nearest bytes.

    Each puff leaves `clear` (N,) of the distance from white.
    """
    left = [torch.ones_like(clear)]  # behind 0, 1, 2, ... puffs
    for _ in range(most):
        left.append(left[-1] * clear)
    remains = torch.stack(left, dim=1).gather(1, puffs.flatten(1).long()).view(puffs.shape)
    x = 1.0 - (1.0 - bytes_to_unit(pixels)) * remains[:, None]
    return unit_to_bytes(x, torch.empty_like(pixels), nearest=True)


@kernel
def paint_flares(x: Tensor, places: Tensor, reach: Tensor, share: Tensor, colour: Tensor, most: int) -> Tensor:
    """Discs of `reach` (N, K) at `places` (N, K, 2), painted on a copy of which, after each one, a `share` is mixed in.

    `x` is float32 RGB (N, 3, H, W), `share` (N, K), `colour` (N, K, 3); places are whole. Discs are cut at a reach of
    `most`, except where several overlap. Only pixels under a disc change, so only those are worked on: (N, K * P), some
    of them several times, always alike.
    """
    channels, height, width = x.shape[1:]
    offsets = constant(_disc(most), x.device)
    rows, columns = (places[:, :, None] + offsets).flatten(1, 2).unbind(2)
    outside = (rows < 0) | (rows >= height) | (columns < 0) | (columns >= width)
    # whole numbers before they are multiplied: float32 cannot number the pixels of a very large image
    where = (rows.long() * width + columns.long()).masked_fill(outside, 0)[:, None].expand(-1, channels, -1)
    flat = x.flatten(2)
    mixed = painted = flat.gather(2, where)
    for k in range(places.shape[1]):
        dy, dx = rows - places[:, k, :1], columns - places[:, k, 1:]
        within = (dy * dy + dx * dx <= reach[:, k, None] ** 2) & (share[:, k, None] > 0.0) & ~outside
        painted = torch.where(within[:, None], colour[:, k, :, None], painted)
        mixed = mixed + share[:, k, None, None] * (painted - mixed)
    # what lies outside stands for the first pixel, which another disc may cover: it must not be written
    spare = torch.nn.functional.pad(flat, (0, 1))
    spare.scatter_(2, where.masked_fill(outside[:, None], height * width), mixed)
    return spare[..., :-1].unflatten(2, (height, width))


@lru_cache(maxsize=64)
def _disc(radius: int) -> tuple[tuple[float, float], ...]:
    """All pixels within `radius` of the middle one."""
    reach = range(-radius, radius + 1)
    return tuple((float(i), float(j)) for i in reach for j in reach if i * i + j * j <= radius * radius)
