"""Pixels read elsewhere: between pixels, as windows, through drops of glass."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from scuff.kernels.constants import constant
from scuff.kernels.dispatch import kernel
from scuff.kernels.portable import mix, square_root
from scuff.kernels.reference.pixels import bytes_to_unit, unit_to_bytes

__all__ = [
    "affine_through",
    "blend_windows",
    "flip_pixels",
    "mix_byte_windows",
    "move_tiles",
    "project",
    "refract_drops",
    "remap",
    "take_pixels",
]


FAR = 1e6  # beyond any image, and safe to multiply and to convert to a whole number


@kernel
def remap(pixels: Tensor, rows: Tensor, columns: Tensor, border: str) -> Tensor:
    """Read uint8 (N, C, H, W) at real coordinates (N, H', W') by OpenCV's rule, exactly.

    Coordinates are folded into the picture, rounded to 1/32 pixel, and the four neighbours mixed in whole numbers.
    `border` is "zeros", "edge", "mirror" or "reflect" (`kernels.borders`). At whole coordinates pixels are copied.
    Bit-equal in every back end: coordinates are rounded step by step in float32, and then all is whole.
    """
    n, channels, height, width = pixels.shape
    flat = pixels.flatten(2).to(torch.int32)
    total = torch.zeros(n, channels, rows[0].numel(), dtype=torch.int32, device=pixels.device)
    for i, row_share in _neighbours(rows, height, border):
        for j, column_share in _neighbours(columns, width, border):
            place = (i * width + j).flatten(1)[:, None].expand(n, channels, -1)
            total += (row_share * column_share).flatten(1)[:, None] * flat.gather(2, place)
    return ((total + 512) >> 10).to(torch.uint8).view(n, channels, *rows.shape[1:])


def _neighbours(at: Tensor, length: int, border: str) -> list[tuple[Tensor, Tensor]]:
    """The two pixels around each coordinate, int64, with their shares in 32nds, int32."""
    if border == "zeros":
        v = torch.floor(at.clamp(-2.0, length + 1.0) * 32.0 + 0.5).int()
        share = v & 31
        pairs = [(v >> 5, 32 - share), ((v >> 5) + 1, share)]
        return [(i.clamp(0, length - 1).long(), s * ((i >= 0) & (i < length))) for i, s in pairs]
    v = torch.floor(_folded(at.clamp(-FAR, FAR), length, border).clamp(0.0, length - 1.0) * 32.0 + 0.5).int()
    return [((v >> 5).long(), 32 - (v & 31)), (((v >> 5) + 1).clamp(max=length - 1).long(), v & 31)]


def _folded(at: Tensor, length: int, border: str) -> Tensor:
    """Coordinates beyond the edge, mirrored about the last pixel or about its outer side."""
    if border == "edge":
        return at
    edge = 0.5 if border == "reflect" else 0.0
    period = max(2.0 * (length - 1 + 2.0 * edge), 1.0)
    at = (at + edge).abs()
    at = at - period * torch.floor(at * constant((1.0 / period,), at.device))
    return torch.minimum(at, period - at) - edge


@kernel
def project(pixels: Tensor, matrix: Tensor, extent: Tensor, height: int, width: int, border: str) -> Tensor:
    """`remap` for homographies: pixel (column j, row i) of the result is read at matrix @ (j, i, 1).

    `matrix` is float32 (N, 3, 3). Of the result, (N, C, height, width), each image uses only its own `extent` (N, 2)
    int32, rows and columns; the rest is black. Bit-equal in every back end: a j + (b i + c), times the inverse of the
    depth, each step rounded to float32.
    """
    i = torch.arange(height, dtype=torch.float32, device=pixels.device)[:, None]
    j = torch.arange(width, dtype=torch.float32, device=pixels.device)
    x, y, depth = (row[:, :1, None] * j + (row[:, 1:2, None] * i + row[:, 2:, None]) for row in matrix.unbind(1))
    near = depth.reciprocal()
    rows, columns = (torch.nan_to_num(at * near, nan=-FAR, posinf=FAR, neginf=-FAR) for at in (y, x))
    used = (i < extent[:, :1, None]) & (j < extent[:, 1:, None])
    return remap(pixels, rows, columns, border) * used[:, None]


@kernel
def take_pixels(pixels: Tensor, place: Tensor) -> Tensor:
    """Pixel `place[n, i, j]` of each image, counted row by row, or black where it is negative.

    `pixels` is uint8 (N, C, H, W), `place` int32 (N, H', W'), or (1, H', W') if all images share it.
    """
    n, channels = pixels.shape[:2]
    where = place.expand(n, -1, -1)[:, None]
    taken = pixels.flatten(2).gather(2, where.clamp(min=0).long().flatten(2).expand(-1, channels, -1))
    return torch.where(where >= 0, taken.view(n, channels, *place.shape[1:]), 0)


@kernel
def move_tiles(pixels: Tensor, givers: Tensor, tops: tuple[int, ...], lefts: tuple[int, ...]) -> Tensor:
    """Each tile of uint8 (N, C, H, W) gets the content of another of its size, `givers` int64 (N, tiles).

    Tiles are counted row by row; `tops` and `lefts` are their edges, from 0 to the sides of the picture.
    """
    return take_pixels(pixels, tile_places(givers, tops, lefts)[0])


def tile_places(givers: Tensor, tops: tuple[int, ...], lefts: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """Which pixel each one shows, int32 (N, H, W), and the number of its tile, (H, W)."""
    height, width = tops[-1], lefts[-1]
    corners = tuple(top * width + left for top in tops[:-1] for left in lefts[:-1])
    corner = constant(corners, givers.device, torch.int32)
    place = torch.arange(height * width, dtype=torch.int32, device=givers.device).view(height, width)
    down, across = (_tile_of(edges, givers.device) for edges in (tops, lefts))
    move = (corner[givers] - corner).view(-1, len(tops) - 1, len(lefts) - 1)
    move = move.index_select(1, down).index_select(2, across)
    return place + move, down[:, None] * (len(lefts) - 1) + across


def _tile_of(edges: tuple[int, ...], device: torch.device) -> Tensor:
    inner = constant(edges[1:-1], device, torch.int64)
    return torch.bucketize(torch.arange(edges[-1], device=device), inner, right=True)


@kernel
def flip_pixels(pixels: Tensor, down: Tensor, across: Tensor) -> Tensor:
    """Top and bottom exchanged in images `down`, left and right in images `across`; bool (N,) each."""
    height, width = pixels.shape[-2:]
    rows, columns = (torch.arange(n, dtype=torch.int32, device=pixels.device) for n in (height, width))
    rows = torch.where(down[:, None], height - 1 - rows, rows)
    columns = torch.where(across[:, None], width - 1 - columns, columns)
    return take_pixels(pixels, (rows * width)[:, :, None] + columns[:, None])


def mix_windows(x: Tensor, first: Tensor, weights: Tensor, axis: int) -> Tensor:
    """Rows (axis 2) or columns (axis 3) of float32 (N, C, H, W) as weighted windows, each image by its own plan.

    For columns, out[n, c, i, j] = sum over t of weights[n, j, t] * x[n, c, i, first[n, j] + t]. Windows are cut at the
    last one. Products are rounded and added in the order of t.
    """
    if axis == 2:
        return mix_windows(x.mT, first, weights, 3).mT.contiguous()
    n, channels, height, width = x.shape
    total: Any = 0.0
    for tap in range(weights.shape[2]):
        place = (first + tap).clamp(max=width - 1).long()[:, None, None, :].expand(n, channels, height, -1)
        total = total + weights[:, None, None, :, tap] * x.gather(3, place)
    return total


@kernel
def mix_byte_windows(
    pixels: Tensor, rows: Tensor, row_weights: Tensor, columns: Tensor, column_weights: Tensor
) -> Tensor:
    """`mix_windows` of two pixels each, along both axes, from bytes to the nearest bytes; rows first."""
    mixed = mix_windows(mix_windows(bytes_to_unit(pixels), rows, row_weights, axis=2), columns, column_weights, axis=3)
    return unit_to_bytes(mixed, torch.empty_like(mixed, dtype=torch.uint8), nearest=True)


@kernel
def refract_drops(x: Tensor, centres: Tensor, radius: float, index: float) -> Tensor:
    """Lay balls of glass on float32 (N, C, H, W), one after the other: each bends what the earlier ones have bent.

    `centres` (N, D, 2) are rows and columns in [0, H] x [0, W]. A pixel within `radius` of a centre is read, bilinearly
    and black outside, from nearer to that centre: a ray through glass of refractive `index` >= 1 shifts along each axis
    for itself. Bit-equal in every back end: coordinates are counted from the corner of a drop's square, in float32, and
    each product, quotient and root is rounded.
    """
    channels, height, width = x.shape[1:]
    reach = math.ceil(radius)
    radius, index = (float(np.float32(number)) for number in (radius, index))
    square = float(np.float32(radius * radius))
    margin = reach + 2  # what lies outside is black, and no read goes farther out
    canvas = torch.nn.functional.pad(x, (margin, margin, margin, margin))
    wide = width + 2 * margin
    flat = canvas.flatten(2)  # shares the canvas, which is ours to write into
    step = torch.arange(-reach, reach + 1, device=x.device)
    for centre in centres.unbind(1):
        cy, cx = centre[:, 0, None, None], centre[:, 1, None, None]
        row, column = torch.floor(cy).long() + step[:, None], torch.floor(cx).long() + step
        dy, dx = row - cy, column - cx
        depth = square - dy * dy - dx * dx
        within = (depth > 0) & (row >= 0) & (row < height) & (column >= 0) & (column < width)
        z = square_root(depth.clamp(min=1e-12))
        rows, columns = (step + reach)[:, None] - _shift(dy, z, index), (step + reach) - _shift(dx, z, index)
        bent = _read(flat, (row[:, :1] + margin) * wide + column[..., :1] + margin, rows, columns, wide)
        place = ((row + margin) * wide + column + margin).flatten(1)[:, None].expand(-1, channels, -1)
        flat.scatter_(2, place, torch.where(within.flatten(1)[:, None], bent, flat.gather(2, place)))
    return canvas[..., margin : margin + height, margin : margin + width]


def _shift(offset: Tensor, depth: Tensor, index: float) -> Tensor:
    """How far a ray through a ball of glass shifts along one axis.

    That is depth * tan(a - b), where tan a = offset / depth and sin a = index * sin b, written without angles.
    """
    square = float(np.float32(index * index))
    slant = square_root(float(np.float32(square - 1.0)) * offset * offset + square * depth * depth)
    return depth * offset * (slant - depth) / (depth * slant + offset * offset)


def _read(flat: Tensor, first: Tensor, rows: Tensor, columns: Tensor, wide: int) -> Tensor:
    """Bilinear reads (N, C, P) from flattened canvases at coordinates (N, S, S), counted from the places `first`."""
    top, left = torch.floor(rows), torch.floor(columns)
    down, across = (rows - top).flatten(1)[:, None], (columns - left).flatten(1)[:, None]
    corner = (first + top.long() * wide + left.long()).flatten(1)[:, None].expand(-1, flat.shape[1], -1)
    upper = mix(flat.gather(2, corner), flat.gather(2, corner + 1), across)
    return mix(upper, mix(flat.gather(2, corner + wide), flat.gather(2, corner + wide + 1), across), down)


@kernel
def blend_windows(x: Tensor, keep: float, table: Tensor, which: Tensor, corners: Tensor, share: float) -> Tensor:
    """`keep` times (N, C, H, W) and `share` times windows of that size, cut from `table[which]` at `corners` (N, 2).

    Bit-equal in every back end: both products are rounded before they are added.
    """
    (tall, wide), (height, width) = table.shape[-2:], x.shape[-2:]
    channels = x.shape[1]
    rows = corners[:, :1] + torch.arange(height, device=table.device)
    columns = corners[:, 1:] + torch.arange(width, device=table.device)
    place = (rows[:, :, None] * wide + columns[:, None, :]).flatten(1)
    plane = which[:, None] * channels + torch.arange(channels, device=table.device)
    index = plane[:, :, None] * (tall * wide) + place[:, None, :]
    return keep * x + share * table.reshape(-1)[index].view(x.shape)


@kernel
def affine_through(source: Tensor, target: Tensor) -> Tensor:
    """The float64 (N, 2, 3) affine maps that send three points to three others: (N, 3, 2) or (3, 2) each.

    By Cramer's rule: libraries solve equations each in an order of its own.
    """
    source, target = torch.broadcast_tensors(source.double(), target.double())
    a, b, c = source.unbind(1)
    p, q, r = target.unbind(1)
    (ux, uy), (vx, vy) = (b - a).unbind(1), (c - a).unbind(1)
    area = (ux * vy - vx * uy)[:, None]
    across = ((q - p) * vy[:, None] - (r - p) * uy[:, None]) / area
    down = ((r - p) * ux[:, None] - (q - p) * vx[:, None]) / area
    return torch.stack((across, down, p - across * a[:, :1] - down * a[:, 1:]), dim=2)
