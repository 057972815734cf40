"""Filters and resampling, a row at a time so that what is being summed stays in the first cache."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import torch
from numba import types
from numba.extending import overload
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.numba_cpu.compiling import F32, INDEX, byte_to_unit, compiled, inlined, lines_of, values_of
from scuff.kernels.numba_cpu.filling import fill, fill_pixels, per_plane
from scuff.kernels.numba_cpu.rounding import to_bytes
from scuff.kernels.numba_cpu.taps import sum_taps, sum_taps_of_two, taps_of_two


@inlined
def _start_taps(across, rows, lowest, i, dy, dx, starts):
    """Where taps begin to read for row i, in lines `across` long of which the first is row `lowest` of the image."""
    for t in range(dy.size):
        starts[t] = (rows[i + dy[t]] - lowest) * across + dx[t]


@inlined
def _widen(lines, columns, before, as_units, wide):
    """Lines with their border columns, as floats; border rows need no copy, `rows` points to them.

    From place `before` on, `columns` counts through a line, and columns are copied together. Bytes become levels or
    units.
    """
    count = INDEX(lines.shape[1])
    for i in range(INDEX(lines.shape[0])):
        for k in range(count):
            wide[i, INDEX(before) + k] = byte_to_unit(lines[i, k]) if as_units else F32(lines[i, k])
        _repeat(wide[i], columns, before, count)


@inlined
def _repeat(line, columns, before, count):
    """Fill the border of a line whose own columns, as many as `count`, are there."""
    for k in range(INDEX(before)):
        line[k] = line[INDEX(before) + columns[k]]
    for k in range(INDEX(before) + count, INDEX(columns.size)):
        line[k] = line[INDEX(before) + columns[k]]


def _width_of_border(columns: Tensor, width: int) -> int:
    """How many columns lie before the image's own, or before a repetition of it in a border that is wide enough."""
    indices, unpadded = columns.numpy(), np.arange(width)
    starts = np.flatnonzero(indices[: indices.size - width + 1] == 0)
    return next(int(k) for k in starts if np.array_equal(indices[k : k + width], unpadded))


BAND = 1 << 18  # values, about, that wait in the cache with their borders: all of an image of 512 x 512


def _bands(rows: Tensor, dy: Tensor, height: int, across: int) -> np.ndarray:
    """Rows of a result that are made together, and rows of the image among which they read: first, stop, first, stop.

    A large image would otherwise need room for all of it once more. At least as many rows are made as their windows
    overlap, so that few are read twice; and two, which some loops need.
    """
    down = rows.numpy()
    low, high = map(int, dy.aminmax()) if dy.numel() else (0, 0)  # a batch of none has no taps either
    count = max(1, height // max(2, high - low, BAND // across))
    bands = []
    for first, last in pairwise(height * k // count for k in range(count + 1)):
        read = down[first + low : last + high]
        bands.append((first, last, int(read.min()), int(read.max()) + 1))
    return np.array(bands)


Plan = tuple[np.ndarray, np.ndarray, np.ndarray, int]


def _plan(x: Tensor, rows: Tensor, columns: Tensor, dy: Tensor, channels: int = 1) -> Plan:
    """Bands, rows, columns, and how many of these lie before an image's own; of values, with channels side by side."""
    before, across = channels * _width_of_border(columns, x.shape[3]), _beside(columns, channels)
    return _bands(rows, dy, x.shape[2], across.size), rows.numpy(), across, before


def _beside(columns: Tensor, channels: int) -> np.ndarray:
    """Indices of a row's pixels as those of its values, whose channels lie side by side."""
    return (columns.numpy()[:, None] * channels + np.arange(channels)).ravel().astype(INDEX)


def _room(plan: Plan, taps: int) -> tuple[np.ndarray, np.ndarray]:
    """For the lines that a band reads, with their borders, and for where taps begin."""
    tall = int((plan[0][:, 3] - plan[0][:, 2]).max())
    return np.empty((tall, plan[2].size), F32), np.empty(taps, INDEX)


def _lines(plane, bands, band, columns, before, wide):
    """The lines that a band reads, flat: `wide`, if they need a border, or are bytes, which become units."""


@overload(_lines, inline="always")
def _lines_of_kind(plane, bands, band, columns, before, wide):
    def of_bytes(plane, bands, band, columns, before, wide):
        _widen(plane[bands[band, 2] : bands[band, 3]], columns, before, True, wide)
        return values_of(wide)

    def of_floats(plane, bands, band, columns, before, wide):
        lines = plane[bands[band, 2] : bands[band, 3]]
        if columns.size > plane.shape[1]:
            _widen(lines, columns, before, False, wide)
            return values_of(wide)
        return values_of(lines)

    return of_bytes if plane.dtype == types.uint8 else of_floats


@compiled
def _correlate(plane, dy, dx, weights, plan, room, out):
    (bands, rows, columns, before), (wide, starts) = plan, room
    for band in range(len(bands)):
        flat = _lines(plane, bands, band, columns, before, wide)
        for i in range(bands[band, 0], bands[band, 1]):
            _start_taps(columns.size, rows, bands[band, 2], i, dy, dx, starts)
            sum_taps(flat, starts, weights, out[i])


@compiled
def _correlate_by_two(plane, dy, dx, weights, plan, room, out):
    """Two rows at a time, which share what they read; `weights` are those of either. The last two end with the band."""
    (bands, rows, columns, before), (wide, starts) = plan, room
    for band in range(len(bands)):
        first, last, lowest = bands[band, 0], bands[band, 1], bands[band, 2]
        _widen(plane[lowest : bands[band, 3]], columns, before, False, wide)
        for k in range(first, last, 2):
            i = min(k, last - 2)
            _start_taps(columns.size, rows, lowest, i, dy, dx, starts)
            sum_taps_of_two(values_of(wide), starts, (weights[0], weights[1]), (out[i], out[i + 1]))


@compiled
def _correlate_twice(plane, a, b, c, plan, d, e, f, next_plan, room, next_room, between, out):
    _correlate(plane, a, b, c, plan, room, between)
    _correlate(between, d, e, f, next_plan, next_room, out)


@compiled
def _correlate_and_along_rows(plane, dy, dx, weights, plan, steps, shares, next_plan, room, line, out):
    """Filter each row again as soon as it is made, in `line`: what lies between stays in the nearest cache."""
    (bands, rows, columns, before), (wide, starts), (_, _, across, left) = plan, room, next_plan
    count = INDEX(plane.shape[1])
    for band in range(len(bands)):
        flat = _lines(plane, bands, band, columns, before, wide)
        for i in range(bands[band, 0], bands[band, 1]):
            _start_taps(columns.size, rows, bands[band, 2], i, dy, dx, starts)
            sum_taps(flat, starts, weights, line[left : left + plane.shape[1]])
            _repeat(line, across, left, count)
            sum_taps(line, steps, shares, out[i])


def _taps_of_two(x: Tensor, *taps: Tensor) -> list[Tensor]:
    """Taps for two rows at a time, where it pays: there are many, and the same for all images. None otherwise."""
    is_large = len(taps[0]) == 1 and taps[0].shape[1] > 32 and x.shape[2] > 1 and x.shape[3] >= 32
    of_two = taps_of_two(*(tap[0].numpy() for tap in taps)) if is_large else None
    return [torch.from_numpy(tap)[None] for tap in of_two or ()]


@kernel
def correlate(x: Tensor, rows: Tensor, columns: Tensor, *taps: Tensor) -> Tensor:
    of_two, plan = _taps_of_two(x, *taps), _plan(x, rows, columns, taps[0])
    dy, dx, weights = of_two or (per_plane(tap, x.shape[1]) for tap in taps)
    out, loop = torch.empty(x.flatten(0, 1).shape), _correlate_by_two if of_two else _correlate
    fill(out, loop, x.flatten(0, 1), dy, dx, weights, plan, scratch=lambda: (_room(plan, dy.shape[1]),))
    return out.unflatten(0, x.shape[:2])


@kernel
def correlate_twice(x: Tensor, first: tuple[Tensor, ...], second: tuple[Tensor, ...]) -> Tensor:
    plans = [_plan(x, rows, columns, dy) for rows, columns, dy, *_ in (first, second)]
    some, more = ([per_plane(tap, x.shape[1]) for tap in taps[2:]] for taps in (first, second))
    planes, out = x.flatten(0, 1), torch.empty(x.flatten(0, 1).shape)

    def room(k: int) -> tuple:
        return _room(plans[k], (some, more)[k][0].shape[1])

    if len(second[0]) == x.shape[2] and not second[2].any():
        arguments = (planes, *some, plans[0], more[1].long(), more[2], plans[1])
        fill(out, _correlate_and_along_rows, *arguments, scratch=lambda: (room(0), np.empty(plans[1][2].size, F32)))
    else:
        arguments = (planes, *some, plans[0], *more, plans[1])
        fill(out, _correlate_twice, *arguments, scratch=lambda: (room(0), room(1), np.empty(x.shape[2:], F32)))
    return out.unflatten(0, x.shape[:2])


@inlined
def _used(dy, dx, weights, used):
    """Taps without those of weight zero, which add nothing; they are put where `used` has room."""
    count = 0
    for t in range(weights.size):
        if weights[t] != F32(0.0):
            used[0][count], used[1][count], used[2][count] = dy[t], dx[t], weights[t]
            count += 1
    return used[0][:count], used[1][:count], used[2][:count]


def _room_for_used(taps: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return np.empty(taps, np.int32), np.empty(taps, np.int32), np.empty(taps, F32)


@inlined
def _to_smeared_bytes(line, out):
    """By ImageMagick's rule; see the reference."""
    for k in range(line.size):
        level = np.floor(np.floor(F32(257.0) * line[k] + F32(0.5)) / F32(257.0))
        level = level if level > F32(0.0) else F32(0.0)
        out[k] = np.uint8(np.int32(level if level < F32(255.0) else F32(255.0)))


@compiled
def _correlate_bytes(image, dy, dx, weights, plan, smears, used, room, line, out):
    """Rows as they lie in memory, channels side by side: shifts are that many times longer."""
    bands, rows, columns, before = plan
    wide, starts = room
    dy, dx, weights = _used(dy, dx, weights, used)
    lines, made, starts = lines_of(image), lines_of(out), starts[: dy.size]
    for band in range(len(bands)):
        first, last, lowest, end = bands[band, 0], bands[band, 1], bands[band, 2], bands[band, 3]
        _widen(lines[lowest:end], columns, before, False, wide)
        for i in range(first, last):
            _start_taps(columns.size, rows, lowest, i, dy, dx, starts)
            sum_taps(values_of(wide), starts, weights, line)
            if smears:
                _to_smeared_bytes(line, made[i])
            else:
                to_bytes(line, F32(1.0), F32(0.5), made[i])


def _filtered(smears: bool, levels: Tensor, rows: Tensor, columns: Tensor, dy: Tensor, dx: Tensor, weights: Tensor):
    channels, width = levels.shape[1], levels.shape[3]
    plan, taps = _plan(levels, rows, columns, dy, channels), dy.shape[1]

    def scratch() -> tuple:
        return _room_for_used(taps), _room(plan, taps), np.empty(width * channels, F32)

    return fill_pixels(levels, _correlate_bytes, dy, dx * channels, weights, plan, smears, scratch=scratch)


@kernel
def correlate_bytes(pixels: Tensor, *plan: Tensor) -> Tensor:
    return _filtered(False, pixels, *plan)


@kernel
def smear_bytes(levels: Tensor, *plan: Tensor) -> Tensor:
    return _filtered(True, levels, *plan)


@compiled
def _correlate_byte_lines(image, steps, weights, zeros, plan, channels, used, room, along, between, line, out):
    """A row is filtered along itself just before it is first summed into another: it is still in the nearest cache."""
    _, rows, columns, before = plan
    wide, starts = room
    steps, zeros, weights = _used(steps, zeros, weights, used)
    lines, made, along, starts = lines_of(image), lines_of(out), along[: steps.size], starts[: steps.size]
    for t in range(steps.size):
        along[t] = channels * steps[t]
    done = 0
    for i in range(len(lines)):
        last = 0
        for t in range(steps.size):
            last = max(last, rows[i + steps[t]])
        for k in range(done, last + 1):
            _widen(lines[k : k + 1], columns, before, True, wide)
            sum_taps(values_of(wide), along, weights, between[k])
        done = max(done, last + 1)
        _start_taps(lines.shape[1], rows, 0, i, steps, zeros, starts)
        sum_taps(values_of(between), starts, weights, line)
        to_bytes(line, F32(255.0), F32(0.5), made[i])


@kernel
def correlate_byte_lines(pixels: Tensor, rows: Tensor, columns: Tensor, steps: Tensor, weights: Tensor) -> Tensor:
    channels, height, width = pixels.shape[1:]
    plan, taps = _plan(pixels, rows, columns, steps, channels), steps.shape[1]

    def scratch() -> tuple:
        between, wide = np.empty((height, width * channels), F32), np.empty((1, plan[2].size), F32)
        return _room_for_used(taps), (wide, np.empty(taps, INDEX)), np.empty(taps, INDEX), between, between[0].copy()

    arguments = (steps, weights, np.zeros(taps, np.int32), plan, channels)
    return fill_pixels(pixels, _correlate_byte_lines, *arguments, scratch=scratch)


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
