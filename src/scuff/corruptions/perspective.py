"""A view from the side."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from scuff import kernels, random
from scuff.corruptions.draws import Shape, pick
from scuff.corruptions.registry import SYN2NAT, register
from scuff.kernels.constants import constant
from scuff.ops import warp
from scuff.ranges import Range

LEAST_SIDE = 2.0


def _draw_corners(keys: Tensor, shape: Shape, *, scale: Range | float) -> dict[str, Tensor]:
    jitter = random.normal(keys, "corners", (4, 2)) * pick(keys, scale)[:, None, None]
    return {"inset": jitter.abs().remainder(1.0)}


@register(family="geometry", draw=_draw_corners, domain="byte", ranges=("scale",), reference=SYN2NAT)
def perspective(pixels: Tensor, inset: Tensor) -> Tensor:
    """A view from the side: a random quadrangle of the picture pulled straight and enlarged to the full size.

    In two steps, as in the original: the quadrangle is read on a grid of its own size, and that grid enlarged.
    """
    height, width = pixels.shape[-2:]
    corners, tall, wide = _opened(_ordered_corners(inset.double(), height, width))
    grid = torch.stack((1.0 / wide, 1.0 / tall, torch.ones_like(tall)), dim=1)
    matrix = (warp.square_to_quadrangle(corners) * grid[:, None]).float()
    side = math.ceil(math.hypot(height, width)) + 3  # no quadrangle has a longer one, even opened
    extent = torch.stack((tall, wide), dim=1).to(torch.int32)
    straight = kernels.bytes_to_unit(kernels.project(pixels, matrix, extent, side, side, "zeros"))
    enlarged = ((wide < width) | (tall < height))[:, None]
    straight = kernels.mix_windows(straight, *_opencv_windows(tall, height, enlarged), axis=2)
    straight = kernels.mix_windows(straight, *_opencv_windows(wide, width, enlarged), axis=3)
    return kernels.unit_to_bytes(straight, torch.empty_like(pixels), nearest=True)


def _ordered_corners(inset: Tensor, height: int, width: int) -> Tensor:
    """Top left, top right, bottom right, bottom left as (x, y): (N, 4, 2); named by where they have come to lie."""
    outer = constant(((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)), inset.device, torch.float64)
    points = (outer - inset).abs() * constant((float(width), float(height)), inset.device, torch.float64)
    total, difference = points.sum(2), points[..., 1] - points[..., 0]
    which = (total.argmin(1), difference.argmin(1), total.argmax(1), difference.argmax(1))
    return points.gather(1, torch.stack(which, dim=1)[..., None].expand(-1, -1, 2))


def _opened(corners: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The corners, with sides of at least two pixels, and the height and width of the grid that they span.

    Two corners are often the same: a point may lie both farthest to the top left and farthest to the top right. If the
    upper or the lower side is too short, all four corners move apart along x; if the left or the right one is, along y.
    """
    sizes = []
    for axis, (a, b, c, d) in enumerate(((0, 1, 3, 2), (0, 3, 1, 2))):  # opposite sides ab and cd; a, c come first
        lengths = _lengths(corners, a, b, c, d)
        for _ in range(2):  # by whole steps, as the original: two are enough
            apart = 0.5 * (LEAST_SIDE - torch.floor(lengths.amin(1))).clamp(min=0.0)
            corners = corners.clone()
            for corner, sign in ((a, -1.0), (b, 1.0), (c, -1.0), (d, 1.0)):
                corners[:, corner, axis] += sign * apart
            lengths = _lengths(corners, a, b, c, d)
        sizes.append(torch.floor(lengths.amax(1)))
    wide, tall = sizes
    return corners, tall, wide


def _lengths(corners: Tensor, a: int, b: int, c: int, d: int) -> Tensor:
    """Of the sides ab and cd, (N, 2). A hair is added: sides that were opened are 2 pixels long but for a rounding."""
    return torch.stack([(corners[:, j] - corners[:, i]).norm(dim=1) for i, j in ((a, b), (c, d))], dim=1) + 1e-6


def _opencv_windows(size: Tensor, length: int, enlarged: Tensor) -> tuple[Tensor, Tensor]:
    """How OpenCV resizes `size` (N,) pixels to `length`, for mix_windows: the first of two pixels, and their weights.

    Its "area" rule if an axis is enlarged, which repeats pixels and mixes them only where they meet; else bilinear.
    """
    at = torch.arange(length, device=size.device, dtype=torch.float64)
    q = (size.double() / length)[:, None]  # as OpenCV has it: where a step ends, the last bit decides
    area = torch.floor(at * q)
    share = at + 1.0 - (area + 1.0) / q
    share = torch.where(share <= 0.0, 0.0, share - torch.floor(share))
    plain = ((at + 0.5) * q - 0.5).clamp(min=0.0)
    first = torch.where(enlarged, area, torch.floor(plain))
    share = torch.where(enlarged, share, plain - torch.floor(plain))
    share = torch.where(first + 1.0 < size[:, None], share, 0.0)  # the last pixel stands alone
    return first.to(torch.int32), torch.stack((1.0 - share, share), dim=2).float()
