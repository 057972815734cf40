"""Filters and resampling, a row at a time so that what is being summed stays in the first cache."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.numba_cpu.compiling import F32, INDEX, byte_to_unit, compiled, fill, fill_pixels, inlined, per_plane
from scuff.kernels.numba_cpu.rounding import to_bytes
from scuff.kernels.numba_cpu.taps import sum_taps, sum_taps_of_two, taps_of_two


@inlined
def _start_taps(wide, rows, i, dy, dx, starts):
    for t in range(dy.size):
        starts[t] = rows[i + dy[t]] * wide + dx[t]


@compiled
def _correlate_wide(flat, wide, rows, dy, dx, weights, starts, out):
    for i in range(out.shape[0]):
        _start_taps(wide, rows, i, dy, dx, starts)
        sum_taps(flat, starts, weights, out[i])


@compiled
def _correlate_wide_by_two(flat, wide, rows, dy, dx, weights, next_weights, starts, out):
    """Two rows at a time, which share what they read. The last two end where the image does."""
    for k in range(0, len(out), 2):
        i = min(k, len(out) - 2)
        _start_taps(wide, rows, i, dy, dx, starts)
        sum_taps_of_two(flat, starts, (weights, next_weights), (out[i], out[i + 1]))


@compiled
def _correlate_wide_to_bytes(flat, wide, rows, dy, dx, weights, starts, levels, line, out):
    """One is so many `levels`."""
    for i in range(out.shape[0]):
        _start_taps(wide, rows, i, dy, dx, starts)
        sum_taps(flat, starts, weights, line)
        to_bytes(line, levels, F32(0.5), out[i])


@compiled
def _widen(lines, columns, before, as_units, wide):
    """Lines with their border columns, as floats; border rows need no copy, `rows` points to them.

    From place `before` on, `columns` counts through a line, and columns are copied together. Bytes become levels or
    units.
    """
    count = INDEX(lines.shape[1])
    for i in range(INDEX(lines.shape[0])):
        for k in range(count):
            wide[i, INDEX(before) + k] = byte_to_unit(lines[i, k]) if as_units else F32(lines[i, k])
        for k in range(INDEX(before)):
            wide[i, k] = wide[i, INDEX(before) + columns[k]]
        for k in range(INDEX(before) + count, INDEX(columns.size)):
            wide[i, k] = wide[i, INDEX(before) + columns[k]]


def _width_of_border(columns: Tensor, width: int) -> int:
    """How many columns lie before the image's own, or before a repetition of it in a border that is wide enough."""
    indices, unpadded = columns.numpy(), np.arange(width)
    starts = np.flatnonzero(indices[: indices.size - width + 1] == 0)
    return next(int(k) for k in starts if np.array_equal(indices[k : k + width], unpadded))


Bands = list[tuple[slice, slice, np.ndarray]]
BAND = 1 << 18  # values, about, that wait in the cache with their borders: all of an image of 512 x 512


def _bands(rows: Tensor, dy: Tensor, height: int, wide: int) -> tuple[Bands, int]:
    """Rows of a result that are made together, those of the image that they read, and `rows` as places in the latter.

    Also how many of these there are at most. A large image would otherwise need room for all of it once more. At least
    as many rows are made as their windows overlap, so that few are read twice; and two, which some loops need.
    """
    down = rows.numpy()
    low, high = map(int, dy.aminmax()) if dy.numel() else (0, 0)  # a batch of none has no taps either
    count = max(1, height // max(2, high - low, BAND // wide))
    bands = []
    for first, last in pairwise(height * k // count for k in range(count + 1)):
        read = down[first + low : last + high]
        lowest = int(read.min())
        bands.append((slice(first, last), slice(lowest, int(read.max()) + 1), down[first : last + high] - lowest))
    return bands, max(read.stop - read.start for _, read, _ in bands)


def _filter(x: Tensor, rows: Tensor, columns: Tensor, dy: Tensor, dx: Tensor, weights: Tensor) -> tuple:
    """A filter as a function of a plane, taps, scratch and the result; its taps, and how large the scratch must be."""
    channels, height, width = x.shape[1:]
    across, before = _beside(columns, 1), _width_of_border(columns, width)
    bands, tall = _bands(rows, dy, height, across.size)
    # To find what two rows share is worth it for many taps, and for all images at once.
    is_large = len(dy) == 1 and dy.shape[1] > 32 and height > 1 and width >= 32
    of_two = taps_of_two(*(tap[0].numpy() for tap in (dy, dx, weights))) if is_large else None

    def apply(plane, dy, dx, weights, wide, out) -> None:
        for made, read, down in bands:
            band = plane[read]
            if across.size > width:
                _widen(band, across, before, False, wide[: len(band)])
                band = wide[: len(band)]
            flat = band.reshape(-1)
            if of_two:
                _correlate_wide_by_two(flat, across.size, down, *of_two, np.empty(of_two[0].size, INDEX), out[made])
            else:
                _correlate_wide(flat, across.size, down, dy, dx, weights, np.empty(dy.size, INDEX), out[made])

    return apply, [per_plane(tap, channels) for tap in (dy, dx, weights)], (tall, across.size)


@kernel
def correlate(x: Tensor, *plan: Tensor) -> Tensor:
    apply, taps, size = _filter(x, *plan)
    out = torch.empty(x.flatten(0, 1).shape)
    fill(out, apply, x.flatten(0, 1), *taps, scratch=lambda: (np.empty(size, F32),))
    return out.unflatten(0, x.shape[:2])


@kernel
def correlate_twice(x: Tensor, first: tuple[Tensor, ...], second: tuple[Tensor, ...]) -> Tensor:
    """A plane goes through both filters before the next one: what lies between them stays in the cache."""
    (before, taps, size), (after, more_taps, next_size) = _filter(x, *first), _filter(x, *second)

    def work(plane, a, b, c, d, e, f, wide, wider, between, out) -> None:
        before(plane, a, b, c, wide, between)
        after(between, d, e, f, wider, out)

    def scratch() -> tuple[np.ndarray, ...]:
        return tuple(np.empty(shape, F32) for shape in (size, next_size, x.shape[2:]))

    out = torch.empty(x.flatten(0, 1).shape)
    fill(out, work, x.flatten(0, 1), *taps, *more_taps, scratch=scratch)
    return out.unflatten(0, x.shape[:2])


def _beside(columns: Tensor, channels: int) -> np.ndarray:
    """Indices of a row's pixels as those of its values, whose channels lie side by side."""
    return (columns.numpy()[:, None] * channels + np.arange(channels)).ravel().astype(INDEX)


def _used(*taps: np.ndarray) -> list[np.ndarray]:
    """Taps without those of weight zero, which add nothing."""
    used = np.flatnonzero(taps[-1])
    return [tap[used] for tap in taps]


@compiled
def _smear_wide(flat, wide, rows, dy, dx, weights, starts, line, out):
    """`_correlate_wide_to_bytes` by another rule; see the reference."""
    for i in range(out.shape[0]):
        _start_taps(wide, rows, i, dy, dx, starts)
        sum_taps(flat, starts, weights, line)
        target = out[i]
        for k in range(line.size):
            level = np.floor(np.floor(F32(257.0) * line[k] + F32(0.5)) / F32(257.0))
            level = level if level > F32(0.0) else F32(0.0)
            target[k] = np.uint8(np.int32(level if level < F32(255.0) else F32(255.0)))


def _filtered(loop: Callable, levels: Tensor, rows: Tensor, columns: Tensor, *taps: Tensor, more: tuple = ()) -> Tensor:
    """A row is filtered as it lies in memory, channels side by side: shifts are that many times longer."""
    channels, height, width = levels.shape[1:]
    dy, dx, weights = taps
    before, across = channels * _width_of_border(columns, width), _beside(columns, channels)
    bands, tall = _bands(rows, dy, height, across.size)

    def work(image, dy, dx, weights, wide, line, out) -> None:
        lines, made_lines, taps = image.reshape(height, -1), out.reshape(height, -1), _used(dy, dx, weights)
        starts = np.empty(taps[0].size, INDEX)
        for made, read, down in bands:
            _widen(lines[read], across, before, False, wide)
            loop(wide.reshape(-1), across.size, down, *taps, starts, *more, line, made_lines[made])

    def scratch() -> tuple[np.ndarray, np.ndarray]:
        return np.empty((tall, across.size), F32), np.empty(width * channels, F32)

    return fill_pixels(levels, work, dy, dx * channels, weights, scratch=scratch)


@kernel
def correlate_bytes(pixels: Tensor, *plan: Tensor) -> Tensor:
    return _filtered(_correlate_wide_to_bytes, pixels, *plan, more=(F32(1.0),))


@kernel
def smear_bytes(levels: Tensor, *plan: Tensor) -> Tensor:
    return _filtered(_smear_wide, levels, *plan)


@kernel
def correlate_byte_lines(pixels: Tensor, rows: Tensor, columns: Tensor, steps: Tensor, weights: Tensor) -> Tensor:
    """Rows are taken as they lie in memory, channels side by side; what lies between the two stays in the cache."""
    channels, height, width = pixels.shape[1:]
    count, down, still = width * channels, rows.numpy(), np.arange(height)
    before, across = channels * _width_of_border(columns, width), _beside(columns, channels)

    def work(image, steps, weights, wide, between, line, out) -> None:
        _widen(image.reshape(height, count), across, before, True, wide)
        steps, weights = _used(steps, weights)
        zero, starts = np.zeros_like(steps), np.empty(steps.size, INDEX)
        _correlate_wide(wide.reshape(-1), across.size, still, zero, channels * steps, weights, starts, between)
        taps = (down, steps, zero, weights, starts)
        _correlate_wide_to_bytes(between.reshape(-1), count, *taps, F32(255.0), line, out.reshape(height, count))

    def scratch() -> tuple[np.ndarray, ...]:
        return tuple(np.empty(shape, F32) for shape in ((height, across.size), (height, count), count))

    return fill_pixels(pixels, work, steps, weights, scratch=scratch)


@compiled
def _resample_plane(plane, rows, row_shares, columns, column_shares, out):
    height, width = plane.shape
    line = np.empty(width + 1, F32)
    for i in range(out.shape[0]):
        above, below, share = plane[rows[i]], plane[min(rows[i] + 1, height - 1)], row_shares[i]
        for j in range(width):
            line[j] = above[j] + share * (below[j] - above[j])
        line[width] = line[width - 1]
        row = out[i]
        for j in range(row.size):
            left = line[columns[j]]
            row[j] = left + column_shares[j] * (line[columns[j] + 1] - left)


@kernel
def resample(x: Tensor, rows: Tensor, row_shares: Tensor, columns: Tensor, column_shares: Tensor) -> Tensor:
    out = torch.empty(x.shape[:2].numel(), len(rows), len(columns))
    plan = [t.numpy() for t in (rows, row_shares, columns, column_shares)]
    return fill(out, _resample_plane, x.flatten(0, 1), *plan).unflatten(0, x.shape[:2])
