"""Loops over bytes and values: conversion at the door, impulses, glass blur's copies, pixelate's boxes."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.numba_cpu.compiling import F32, INDEX, byte_to_unit, compiled, copy, inlined
from scuff.kernels.numba_cpu.filling import fill
from scuff.kernels.numba_cpu.rounding import to_bytes
from scuff.kernels.reference.pixels import box_windows


@compiled
def _bytes_to_unit(pixels, out):
    for k in range(INDEX(out.size)):
        out[k] = byte_to_unit(pixels[k])


@compiled
def _colours_to_unit(pixels, planes):
    """Three channels side by side, parted; several pixels at a time, as a table would not be."""
    red, green, blue = planes[0], planes[1], planes[2]
    for j in range(INDEX(red.size)):
        k = INDEX(3) * j
        red[j] = byte_to_unit(pixels[k])
        green[j] = byte_to_unit(pixels[k + INDEX(1)])
        blue[j] = byte_to_unit(pixels[k + INDEX(2)])


def _colours(pixels: Tensor) -> Tensor | None:
    """Pixels whose three channels lie side by side, as (N, 3 * H * W)."""
    beside = pixels.permute(0, 2, 3, 1)
    return beside.flatten(1) if pixels.shape[1] == 3 and beside.is_contiguous() else None


@kernel
def bytes_to_unit(pixels: Tensor) -> Tensor:
    out, colours = torch.empty(pixels.shape, dtype=torch.float32), _colours(pixels)
    if colours is None:
        fill(out.flatten(1), _bytes_to_unit, pixels.flatten(1))
    else:
        fill(out.flatten(2), _colours_to_unit, colours)
    return out


@compiled
def _unit_to_colours(planes, shift, levels, out):
    """`levels`, (3, some), is scratch: side by side, bytes are moved by sixteens."""
    red, green, blue, size, some = planes[0], planes[1], planes[2], planes.shape[1], levels.shape[1]
    for first in range(0, size, some):
        last = min(first + some, size)
        to_bytes(red[first:last], F32(255.0), shift, levels[0, : last - first])
        to_bytes(green[first:last], F32(255.0), shift, levels[1, : last - first])
        to_bytes(blue[first:last], F32(255.0), shift, levels[2, : last - first])
        for j in range(INDEX(last - first)):
            k = INDEX(3) * (INDEX(first) + j)
            out[k], out[k + INDEX(1)], out[k + INDEX(2)] = levels[0, j], levels[1, j], levels[2, j]


@kernel
def unit_to_bytes(batch: Tensor, out: Tensor, nearest: bool = False) -> Tensor:
    shift, colours = F32(0.5 if nearest else 0.0), _colours(out)
    if colours is None:
        made = out if out.is_contiguous() else torch.empty(out.shape, dtype=torch.uint8)
        fill(made.flatten(1), to_bytes, batch.flatten(1), F32(255.0), shift)
        return out.copy_(made)  # of a tensor into itself, nothing is copied
    fill(colours, _unit_to_colours, batch.flatten(2), shift, scratch=lambda: (np.empty((3, 1024), np.uint8),))
    return out


@compiled
def _bytes_above(plane, threshold, kept, out):
    """`kept` is scratch for a row."""
    for i in range(len(plane)):
        row = plane[i]
        for j in range(INDEX(row.size)):
            kept[j] = F32(0.0) if row[j] < threshold else row[j]
        to_bytes(kept, F32(255.0), F32(0.0), out[i])


@kernel
def bytes_above(x: Tensor, threshold: float) -> Tensor:
    out, width = torch.empty(x.shape, dtype=torch.uint8), x.shape[3]
    planes = x.flatten(0, 1)
    fill(out.flatten(0, 1), _bytes_above, planes, F32(threshold), scratch=lambda: (np.empty(width, F32),))
    return out


@compiled
def _add_scaled(x, noise, gain, out):
    for j in range(INDEX(out.size)):
        out[j] = x[j] + gain * noise[j]


@kernel
def add_scaled(x: Tensor, noise: Tensor, gain: float) -> Tensor:
    out = torch.empty(x.shape)
    fill(out.flatten(1), _add_scaled, x.flatten(1), noise.flatten(1), F32(gain))
    return out


@compiled
def _salt_and_pepper(x, u, half, amount, out):
    for j in range(INDEX(out.size)):
        kept = F32(0.0) if u[j] <= amount else x[j]
        out[j] = F32(1.0) if u[j] <= half else kept


@kernel
def salt_and_pepper(x: Tensor, u: Tensor, amount: float) -> Tensor:
    out = torch.empty(x.shape)
    fill(out.flatten(1), _salt_and_pepper, x.flatten(1), u.flatten(1), F32(0.5 * amount), F32(amount))
    return out


@inlined
def mean_of(plane):
    """A sum of whole numbers, in units of 2**-32."""
    total = np.int64(0)
    for j in range(INDEX(plane.size)):
        total += np.int64(plane[j] * F32(2.0**32))
    return np.float64(total) / (2.0**32 * plane.size)


@compiled
def _mean(plane, out):
    out[0] = mean_of(plane)


@kernel
def plane_means(x: Tensor) -> Tensor:
    planes = x.reshape(-1, x.shape[-2] * x.shape[-1])
    return fill(torch.empty(len(planes), 1, dtype=torch.float64), _mean, planes).view(x.shape[:-2])


@compiled
def _local_copies(dy, dx, reach, place, planes):
    """`planes` are (C, H * W). Where a row reads is worked out first, several places at a time; then three go together.

    Of fewer channels than three, the last one stands for those that there are not.
    """
    height, width = dy.shape
    last = len(planes) - 1
    for h in range(height - reach, reach, -1):
        down, across, row = dy[h], dx[h], h * width
        for w in range(width):
            place[w] = np.int32(row + w) + down[w] * np.int32(width) + across[w]
        for first in range(0, len(planes), 3):
            a, b, c = planes[first], planes[min(first + 1, last)], planes[min(first + 2, last)]
            for w in range(width - reach, reach, -1):
                to, at = INDEX(row + w), INDEX(place[w])
                red, green, blue = a[at], b[at], c[at]
                a[to], b[to], c[to] = red, green, blue


@kernel
def local_copies(pixels: Tensor, dy: Tensor, dx: Tensor, reach: int) -> Tensor:
    out, width = pixels.clone(memory_format=torch.contiguous_format), pixels.shape[3]
    fill(out.flatten(2), _local_copies, dy, dx, reach, scratch=lambda: (np.empty(width, np.int32),))
    return out


@compiled
def _pixelate(
    pixels, channels, first, counts, weights, row_first, row_counts, row_weights, row_of, spread, across, line, out
):
    """Horizontal means, vertical means of those, each rounded to a byte in Pillow's 22-bit fixed point; then nearest.

    `pixels` and `out` are height x (width * channels), channels last: rows that repeat are copied whole. `first`,
    `counts` and `weights` describe the window of each shrunken sample, `spread` names the sample of each output byte.
    `across` and `line` are scratch.
    """
    height, wide = pixels.shape
    half = np.int32(1 << 21)
    for i in range(height):
        source, target = pixels[i], across[i]
        for k in range(first.size):
            a, n = first[k], counts[k]
            if n == 1:
                target[k] = source[a]
            elif n == 2:
                target[k] = (np.int32(source[a]) + np.int32(source[a + channels]) + 1) >> 1
            else:
                total = np.int32(0)
                for t in range(n):
                    total += np.int32(source[a + t * channels])
                target[k] = (total * weights[k] + half) >> 22
    drawn = -1
    for i in range(height):
        if row_of[i] == drawn:
            copy(out[i - 1], out[i])
            continue
        drawn = row_of[i]
        a, n, weight = row_first[drawn], row_counts[drawn], row_weights[drawn]
        top = across[a]
        if n == 1:
            copy(top, line)
        elif n == 2:
            bottom = across[a + 1]
            for k in range(line.size):
                line[k] = (np.int32(top[k]) + np.int32(bottom[k]) + 1) >> 1
        else:
            for k in range(line.size):
                total = np.int32(0)
                for t in range(a, a + n):
                    total += np.int32(across[t, k])
                line[k] = (total * weight + half) >> 22
        target = out[i]
        for j in range(wide):
            target[j] = line[spread[j]]


def _windows(length: int, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    start, stop = box_windows(length, size)
    count = (stop - start).astype(np.int32)
    return start.astype(np.int32), count, ((1 << 22) / count + 0.5).astype(np.int32)


@kernel
def pixelate(pixels: Tensor, rows: int, columns: int) -> Tensor:
    channels, height, width = pixels.shape[1:]
    start, count, weight = _windows(width, columns)
    channel = np.arange(channels, dtype=np.int32)
    first = (start[:, None] * channels + channel).ravel()
    row_of = ((2 * np.arange(height) + 1) * rows // (2 * height)).astype(np.int32)
    column_of = ((2 * np.arange(width) + 1) * columns // (2 * width)).astype(np.int32)
    spread = (column_of[:, None] * channels + channel).ravel()
    plan = (channels, first, np.repeat(count, channels), np.repeat(weight, channels), *_windows(height, rows))
    lines = pixels.permute(0, 2, 3, 1).contiguous()
    out = torch.empty_like(lines)  # with its strides, also along an axis of length 1: networks round differently else

    def scratch() -> tuple[np.ndarray, np.ndarray]:
        return np.empty((height, first.size), np.uint8), np.empty(first.size, np.uint8)

    fill(out.flatten(2), _pixelate, lines.flatten(2), *plan, row_of, spread, scratch=scratch)
    return out.permute(0, 3, 1, 2)
