"""Bytes and values: conversion at the door, impulses, contrast, glass blur's copies, pixelate's boxes."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from scuff.kernels.constants import remembered
from scuff.kernels.dispatch import kernel
from scuff.kernels.portable import divide
from scuff.kernels.strips import strips

__all__ = [
    "add_scaled", "bytes_above", "bytes_to_unit", "local_copies", "nearest_bytes", "pixelate", "plane_means",
    "salt_and_pepper", "scale_contrast", "unit_on_grid", "unit_to_bytes",
]  # fmt: skip


@kernel
def bytes_to_unit(pixels: Tensor) -> Tensor:
    """uint8 of any strides -> contiguous float32 v / 255, rounded correctly in every back end."""
    return divide(pixels.to(torch.float32, memory_format=torch.contiguous_format), 255.0)


@kernel
def nearest_bytes(batch: Tensor) -> Tensor:
    """float32 in [0, 1] -> the nearest byte; halves go to the even one."""
    return torch.round(batch * 255.0).to(torch.uint8)


@kernel
def unit_to_bytes(batch: Tensor, out: Tensor, nearest: bool = False) -> Tensor:
    """Clip float32 to [0, 1] and put 255 * v into `out`, a uint8 tensor of the same shape and any strides.

    Truncated, as the classic benchmarks do it, or rounded to the nearest level (halves go up). Bit-equal in every back
    end: the product is rounded before the half is added.
    """
    return out.copy_((batch.clamp(0.0, 1.0) * 255.0 + (0.5 if nearest else 0.0)).to(torch.uint8))


@kernel
def bytes_above(x: Tensor, threshold: float) -> Tensor:
    """`unit_to_bytes` of float32 (N, C, H, W), truncated; 0 where it is below the threshold."""
    pixels = torch.empty(x.shape, dtype=torch.uint8, device=x.device)
    return unit_to_bytes(torch.where(x < threshold, 0.0, x), pixels)


@kernel
def unit_on_grid(batch: Tensor, nearest: bool = False) -> Tensor:
    """`unit_to_bytes` and back, contiguous: float32 of which each value is the quotient of a byte and 255."""
    pixels = torch.empty(batch.shape, dtype=torch.uint8, device=batch.device)
    return bytes_to_unit(unit_to_bytes(batch, pixels, nearest))


@kernel
def add_scaled(x: Tensor, noise: Tensor, gain: float) -> Tensor:
    """float32 x + gain * noise, of one shape; the product is rounded before it is added."""
    return (noise * gain).add_(x)


@kernel
def salt_and_pepper(x: Tensor, u: Tensor, amount: float) -> Tensor:
    """float32 `x` with 1 where `u` is at most half of `amount`, and 0 where it is more but at most `amount`."""
    return x.masked_fill(u <= amount, 0.0).masked_fill_(u <= 0.5 * amount, 1.0)


@kernel
def plane_means(x: Tensor) -> Tensor:
    """The float64 mean over the last two axes of float32 in [0, 1], in units of 2**-32: exact sums, so no order shows.

    All 256 levels are whole in these units, so that the mean of a flat picture is its level.
    """
    total = torch.stack([(x[..., rows, :] * 2.0**32).to(torch.int64).sum((-2, -1)) for rows in strips(x)]).sum(0)
    return divide(total.double(), 2.0**32 * x.shape[-2] * x.shape[-1])


@kernel
def scale_contrast(x: Tensor, gain: float) -> Tensor:
    """float32 (N, C, H, W) in [0, 1] of which each plane keeps its mean, and `gain` of the distance from it."""
    mean = plane_means(x).float()[..., None, None]
    return (x - mean).mul_(gain).add_(mean)


@kernel
def local_copies(pixels: Tensor, dy: Tensor, dx: Tensor, reach: int) -> Tensor:
    """One pass of glass blur: pixels copy a neighbour, last pixel first, each seeing the copies made before it.

    `pixels` is uint8 (N, C, H, W); `dy`, `dx` are whole offsets (N, H, W) in [-reach, reach - 1]. Rows reach+1..H-reach
    and columns reach+1..W-reach are written, in descending raster order.

    The sequential loop in parallel form.

    A pixel p copies q(p). If q(p) comes later in raster order and is itself written, it was written before p, so p gets
    what q(p) got; pointer doubling runs down such chains. Otherwise q(p) still holds its old value.
    """
    n, c, h, w = pixels.shape
    row = torch.arange(h, device=pixels.device)[:, None]
    column = torch.arange(w, device=pixels.device)
    written = ((row > reach) & (row <= h - reach) & (column > reach) & (column <= w - reach)).flatten()
    position = torch.arange(h * w, device=pixels.device).expand(n, -1)
    source = torch.where(written, position + (dy.long() * w + dx.long()).flatten(1), position)
    jump = torch.where(written & (source > position) & written[source], source, position)
    for _ in range(max(1, (h * w).bit_length())):
        jump = jump.gather(1, jump)
    final = source.gather(1, jump)
    return pixels.flatten(2).gather(2, final[:, None].expand(n, c, -1)).unflatten(2, (h, w))


@kernel
def pixelate(pixels: Tensor, rows: int, columns: int) -> Tensor:
    """Shrink uint8 (N, C, H, W) to rows x columns with Pillow's BOX filter, then blow it up again, as uint8."""
    h, w = pixels.shape[-2:]
    small = _box_shrink(pixels, columns, dim=3)
    small = _box_shrink(small, rows, dim=2)
    return small.index_select(2, _nearest(h, rows, pixels.device)).index_select(3, _nearest(w, columns, pixels.device))


@lru_cache(maxsize=256)
def box_windows(length: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """First and one-past-last input index for each of `size` outputs when `length` pixels shrink to `size`.

    Input t belongs to output k if -1/2 < (t + 1/2 - centre) / scale <= 1/2 with centre (k + 1/2) * scale: whole pixels,
    equal weights, no fractional coverage. Evaluated in floating point, step by step as Pillow does it, because rounding
    decides where a pixel lies exactly on the edge.

    >>> [w.tolist() for w in box_windows(5, 2)]
    [[0, 3], [3, 5]]
    """
    scale = length / size
    centre = (np.arange(size) + 0.5) * scale
    lowest = np.maximum((centre - 0.5 * scale + 0.5).astype(np.int64), 0)
    highest = np.minimum((centre + 0.5 * scale + 0.5).astype(np.int64), length)
    at = lowest[:, None] + np.arange(int(scale) + 3)
    place = (at - centre[:, None] + 0.5) * (1.0 / scale)
    belongs = (at < highest[:, None]) & (place > -0.5) & (place <= 0.5)
    start = lowest + belongs.argmax(1)
    return start, start + belongs.sum(1)


@remembered(256)
def _nearest(length: int, size: int, device: torch.device) -> Tensor:
    return ((2 * torch.arange(length) + 1) * size // (2 * length)).to(device)


@remembered(256)
def windows(length: int, size: int, device: torch.device) -> tuple[Tensor, Tensor, int]:
    """First index and length of each box window, and the greatest length."""
    start, stop = box_windows(length, size)
    return torch.from_numpy(start).to(device), torch.from_numpy(stop - start).to(device), int((stop - start).max())


def _box_shrink(pixels: Tensor, size: int, dim: int) -> Tensor:
    """Equal-weight means over Pillow's BOX windows, rounded half up to bytes."""
    start, length, longest = windows(pixels.shape[dim], size, pixels.device)
    shape = [1, 1, 1, 1]
    shape[dim] = size
    length = length.view(shape).int()
    total = pixels.index_select(dim, start).int()
    for offset in range(1, longest):
        more = pixels.index_select(dim, (start + offset).clamp(max=pixels.shape[dim] - 1))
        total += more * (offset < length)
    return torch.div(2 * total + length, 2 * length, rounding_mode="floor").to(torch.uint8)
