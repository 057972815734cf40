"""Filters and resampling, a row at a time so that what is being summed stays in the first cache."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from scuff.kernels.borders import fold
from scuff.kernels.dispatch import kernel
from scuff.kernels.numba_cpu.compiling import F32, INDEX, compiled, fill, fill_pixels, inlined, per_plane
from scuff.kernels.numba_cpu.taps import sum_taps


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
def _correlate_wide_to_bytes(flat, wide, rows, dy, dx, weights, starts, line, out):
    for i in range(out.shape[0]):
        _start_taps(wide, rows, i, dy, dx, starts)
        sum_taps(flat, starts, weights, line)
        target = out[i]
        for k in range(line.size):
            v = line[k] + F32(0.5)
            v = v if v > F32(0.0) else F32(0.0)
            target[k] = np.uint8(np.int32(v if v < F32(255.0) else F32(255.0)))


def _widen(plane: np.ndarray, columns: np.ndarray, before: int, wide: np.ndarray) -> None:
    """A plane with its border columns; border rows need no copy, `rows` points to them.

    From place `before` on, `columns` counts through the plane, and columns are copied together.
    """
    after = before + plane.shape[1]
    wide[:, before:after] = plane
    wide[:, :before], wide[:, after:] = plane[:, columns[:before]], plane[:, columns[after:]]


def _width_of_border(columns: Tensor, width: int) -> int:
    """How many columns lie before the image's own, or before a repetition of it in a border that is wide enough."""
    indices, unpadded = columns.numpy(), np.arange(width)
    starts = np.flatnonzero(indices[: indices.size - width + 1] == 0)
    return next(int(k) for k in starts if np.array_equal(indices[k : k + width], unpadded))


def _filter(x: Tensor, rows: Tensor, columns: Tensor, dy: Tensor, dx: Tensor, weights: Tensor) -> tuple:
    """A filter as a function of a plane, taps, scratch and the result; its taps, and how wide the scratch must be."""
    channels, _, width = x.shape[1:]
    down, across, before = rows.numpy(), columns.numpy(), _width_of_border(columns, width)

    def apply(plane, dy, dx, weights, wide, out) -> None:
        if across.size > width:
            _widen(plane, across, before, wide)
            plane = wide
        _correlate_wide(plane.reshape(-1), across.size, down, dy, dx, weights, np.empty(dy.size, INDEX), out)

    return apply, [per_plane(tap, channels) for tap in (dy, dx, weights)], across.size


@kernel
def correlate(x: Tensor, *plan: Tensor) -> Tensor:
    apply, taps, wide = _filter(x, *plan)
    out = torch.empty(x.flatten(0, 1).shape)
    fill(out, apply, x.flatten(0, 1), *taps, scratch=lambda: (np.empty((x.shape[2], wide), F32),))
    return out.unflatten(0, x.shape[:2])


@kernel
def correlate_twice(x: Tensor, first: tuple[Tensor, ...], second: tuple[Tensor, ...]) -> Tensor:
    """A plane goes through both filters before the next one: what lies between them stays in the cache."""
    (before, taps, wide), (after, more_taps, wider) = _filter(x, *first), _filter(x, *second)

    def work(plane, a, b, c, d, e, f, wide, wider, between, out) -> None:
        before(plane, a, b, c, wide, between)
        after(between, d, e, f, wider, out)

    def scratch() -> tuple[np.ndarray, ...]:
        return tuple(np.empty((x.shape[2], width), F32) for width in (wide, wider, x.shape[3]))

    out = torch.empty(x.flatten(0, 1).shape)
    fill(out, work, x.flatten(0, 1), *taps, *more_taps, scratch=scratch)
    return out.unflatten(0, x.shape[:2])


@kernel
def correlate_bytes(pixels: Tensor, rows: Tensor, columns: Tensor, dy: Tensor, dx: Tensor, weights: Tensor) -> Tensor:
    """A row is correlated as it lies in memory, channels side by side: shifts are that many times longer."""
    channels, height, width = pixels.shape[1:]
    down, before = rows.numpy(), channels * _width_of_border(columns, width)
    across = (columns.numpy()[:, None] * channels + np.arange(channels)).ravel()

    def work(image, dy, dx, weights, wide, line, out) -> None:
        _widen(image.reshape(height, -1), across, before, wide)
        starts, lines = np.empty(dy.size, INDEX), out.reshape(height, -1)
        _correlate_wide_to_bytes(wide.reshape(-1), across.size, down, dy, dx, weights, starts, line, lines)

    def scratch() -> tuple[np.ndarray, np.ndarray]:
        return np.empty((height, across.size), F32), np.empty(width * channels, F32)

    return fill_pixels(pixels, work, dy, dx * channels, weights, scratch=scratch)


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


@inlined
def _fold(at, length, edge):
    """A real coordinate into the image; see the reference."""
    last = F32(length - 1)
    if at < -edge or at > last + edge:
        period = F32(2.0) * (last + F32(2.0) * edge)
        if period == F32(0.0):
            return F32(0.0)
        at = abs(at + edge)
        at = at - period * np.floor(at / period)
        at = min(at, period - at) - edge
    return min(max(at, F32(0.0)), last)


@compiled
def _sample(image, rows, columns, edge, out):
    channels, height, width = image.shape
    for i in range(out.shape[1]):
        for j in range(out.shape[2]):
            y, x = _fold(rows[i, j], height, edge), _fold(columns[i, j], width, edge)
            top, left = int(y), int(x)
            bottom, right = min(top + 1, height - 1), min(left + 1, width - 1)
            down, across = y - F32(top), x - F32(left)
            for c in range(channels):
                above = image[c, top, left] + across * (image[c, top, right] - image[c, top, left])
                below = image[c, bottom, left] + across * (image[c, bottom, right] - image[c, bottom, left])
                out[c, i, j] = above + down * (below - above)


@compiled
def _sample_zeros(image, rows, columns, out):
    """Black outside: each of the four neighbours counts only if it lies in the image."""
    channels, height, width = image.shape
    for i in range(out.shape[1]):
        for j in range(out.shape[2]):
            y = min(max(rows[i, j], F32(-1.0)), F32(height))
            x = min(max(columns[i, j], F32(-1.0)), F32(width))
            top, left = int(np.floor(y)), int(np.floor(x))
            down, across = y - F32(top), x - F32(left)
            for c in range(channels):
                total = F32(0.0)
                for dy in range(2):
                    for dx in range(2):
                        if 0 <= top + dy < height and 0 <= left + dx < width:
                            share = (down if dy else F32(1.0) - down) * (across if dx else F32(1.0) - across)
                            total += share * image[c, top + dy, left + dx]
                out[c, i, j] = total


@kernel
def sample_bilinear(x: Tensor, rows: Tensor, columns: Tensor, border: str) -> Tensor:
    out = torch.empty(*x.shape[:2], *rows.shape[1:])
    if border == "zeros":
        return fill(out, _sample_zeros, x, rows, columns)
    return fill(out, _sample, x, rows, columns, F32(0.0 if border == "mirror" else 0.5))


@compiled
def _running_totals(values, channels, totals):
    """totals[k] is the sum of the values before k that belong to the same channel."""
    if channels == 1:
        total = np.int32(0)
        for k in range(values.size):
            totals[k] = total
            total += values[k]
        totals[values.size] = total
        return
    red, green, blue = np.int32(0), np.int32(0), np.int32(0)  # in registers: four times as fast
    k = INDEX(0)
    for _ in range(values.size // 3):
        totals[k], totals[k + INDEX(1)], totals[k + INDEX(2)] = red, green, blue
        red += values[k]
        green += values[k + INDEX(1)]
        blue += values[k + INDEX(2)]
        k += INDEX(3)
    totals[k], totals[k + INDEX(1)], totals[k + INDEX(2)] = red, green, blue


@compiled
def _box_mean(pixels, size, rows, columns, reach, channels, wide, along, out):
    """Sums over the window's rows, for a whole row of values, slide down; sums along them are differences of totals.

    `pixels` and `out` are (H, W * C). `rows` and `columns` are the image's indices with `reach` mirrored ones on either
    side; a window begins size // 2 before its pixel. `wide`, with the mirrored ends, and `along` are scratch.
    """
    height, count = pixels.shape
    width, ends = count // channels, reach * channels
    first, begin, step = reach - size // 2, (reach - size // 2) * channels, size * channels
    # sums are whole, so a quarter more never lifts one over the next boundary, and makes up for the division's rounding
    half, inverse = F32(size * size / 2 + 0.25), F32(1.0 / (size * size))
    down = wide[ends : ends + count]
    down[:] = 0
    for t in range(size):
        line = pixels[rows[first + t]]
        for k in range(count):
            down[k] += line[k]
    for i in range(height):
        if i > 0:
            enters, leaves = pixels[rows[first + i + size - 1]], pixels[rows[first + i - 1]]
            for k in range(count):
                down[k] += np.int32(enters[k]) - np.int32(leaves[k])
        for j in range(reach):
            for c in range(channels):
                wide[j * channels + c] = down[columns[j] * channels + c]
                wide[ends + count + j * channels + c] = down[columns[reach + width + j] * channels + c]
        _running_totals(wide, channels, along)
        target, low, high = out[i], along[begin : begin + count], along[begin + step : begin + step + count]
        for k in range(count):
            target[k] = np.uint8(np.int32((F32(np.int32(high[k] - low[k])) + half) * inverse))


@kernel
def box_mean(pixels: Tensor, size: Tensor, largest: int) -> Tensor:
    _, channels, height, width = pixels.shape
    reach = largest // 2
    rows, columns = (fold(torch.arange(-reach, n + reach), n, "mirror").numpy() for n in (height, width))

    def work(image, size, wide, along, out) -> None:
        shape = (height, width * channels)
        _box_mean(image.reshape(shape), size, rows, columns, reach, channels, wide, along, out.reshape(shape))

    def scratch() -> tuple[np.ndarray, ...]:
        return tuple(np.empty((width + 2 * reach + more) * channels, np.int32) for more in (0, 1))

    return fill_pixels(pixels, work, size.long(), scratch=scratch)


@compiled
def _median(plane, radius, counts, lines, out):
    """`below` is how many of the window's values are less than the present median `m`; `lines` are where rows begin."""
    height, width = plane.shape
    flat, size = plane.reshape(-1), INDEX(2 * radius + 1)
    half = (2 * radius + 1) ** 2 // 2
    for i in range(height):
        for t in range(2 * radius + 1):
            lines[t] = min(max(i + t - radius, 0), height - 1) * width
        counts[:] = 0
        for t in range(size):
            for dx in range(-radius, radius + 1):
                counts[flat[lines[t] + INDEX(min(max(dx, 0), width - 1))]] += 1
        m, below = INDEX(0), 0
        for j in range(width):
            if j > 0:
                leaves, enters = INDEX(max(j - 1 - radius, 0)), INDEX(min(j + radius, width - 1))
                for t in range(size):
                    old, new = flat[lines[t] + leaves], flat[lines[t] + enters]
                    counts[old] -= 1
                    counts[new] += 1
                    below += np.int64(new < m) - np.int64(old < m)
            while below > half:
                m -= INDEX(1)
                below -= counts[m]
            while below + counts[m] <= half:
                below += counts[m]
                m += INDEX(1)
            out[i, j] = m


@kernel
def median(pixels: Tensor, radius: Tensor, largest: int) -> Tensor:
    n, channels, height, width = pixels.shape

    def scratch() -> tuple[np.ndarray, np.ndarray]:
        return np.empty(256, np.int64), np.empty(2 * largest + 1, INDEX)

    out = torch.empty(n * channels, height, width, dtype=torch.uint8)
    fill(out, _median, pixels.flatten(0, 1), per_plane(radius, channels), scratch=scratch)
    return out.unflatten(0, (n, channels))
