"""Filters and resampling, a row at a time so that what is being summed stays in the first cache."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.numba_cpu.compiling import F32, compiled
from scuff.kernels.numba_cpu.layout import new_pixels, side_by_side
from scuff.kernels.threads import each_image, over_images


@compiled
def _correlate_plane(plane, rows, columns, before, dy, dx, weights, wide, out):
    """`wide` is scratch: the plane with its border columns; border rows need no copy, `rows` points to them.

    From place `before` on, `columns` counts through the plane, and columns are copied together.
    """
    height, width = out.shape
    for i in range(height):
        line, source = wide[i], plane[i]
        for k in range(before):
            line[k] = source[columns[k]]
        middle = line[before : before + width]
        for j in range(width):
            middle[j] = source[j]
        for k in range(before + width, columns.size):
            line[k] = source[columns[k]]
    taps = dy.size
    eights = taps - taps % 8
    for i in range(height):
        row = out[i]
        row[:] = F32(0.0)
        for t in range(0, eights, 8):  # eight taps for each load and store of the sum
            a, wa = wide[rows[i + dy[t]], dx[t] :], weights[t]
            b, wb = wide[rows[i + dy[t + 1]], dx[t + 1] :], weights[t + 1]
            c, wc = wide[rows[i + dy[t + 2]], dx[t + 2] :], weights[t + 2]
            d, wd = wide[rows[i + dy[t + 3]], dx[t + 3] :], weights[t + 3]
            e, we = wide[rows[i + dy[t + 4]], dx[t + 4] :], weights[t + 4]
            f, wf = wide[rows[i + dy[t + 5]], dx[t + 5] :], weights[t + 5]
            g, wg = wide[rows[i + dy[t + 6]], dx[t + 6] :], weights[t + 6]
            h, wh = wide[rows[i + dy[t + 7]], dx[t + 7] :], weights[t + 7]
            for j in range(width):
                first = ((wa * a[j] + wb * b[j]) + wc * c[j]) + wd * d[j]
                second = ((we * e[j] + wf * f[j]) + wg * g[j]) + wh * h[j]
                row[j] += first + second
        for t in range(eights, taps):
            a, wa = wide[rows[i + dy[t]], dx[t] :], weights[t]
            for j in range(width):
                row[j] += wa * a[j]


def _width_of_border(columns: Tensor, width: int) -> int:
    """How many columns lie before the image's own, or before a repetition of it in a border that is wide enough."""
    indices, unpadded = columns.numpy(), np.arange(width)
    starts = np.flatnonzero(indices[: indices.size - width + 1] == 0)
    return next(int(k) for k in starts if np.array_equal(indices[k : k + width], unpadded))


@kernel
def correlate(x: Tensor, rows: Tensor, columns: Tensor, dy: Tensor, dx: Tensor, weights: Tensor) -> Tensor:
    n, channels, height, width = x.shape
    out = torch.empty(x.shape)
    source, target = x.contiguous().numpy(), out.numpy()
    across, down, before = columns.numpy(), rows.numpy(), _width_of_border(columns, width)
    ys, xs, ws = dy.contiguous().numpy(), dx.contiguous().numpy(), weights.contiguous().numpy()

    def work(start: int, stop: int) -> None:
        wide = np.empty((height, across.size), F32)
        for i in range(start, stop):
            k = i if len(ys) > 1 else 0
            for c in range(channels):
                _correlate_plane(source[i, c], down, across, before, ys[k], xs[k], ws[k], wide, target[i, c])

    over_images(work, n)
    return out


@compiled
def _round_to_bytes(levels, out):
    for k in range(levels.size):
        v = levels[k] + F32(0.5)
        v = v if v > F32(0.0) else F32(0.0)
        out[k] = np.uint8(np.int32(v if v < F32(255.0) else F32(255.0)))


@kernel
def correlate_bytes(pixels: Tensor, rows: Tensor, columns: Tensor, dy: Tensor, dx: Tensor, weights: Tensor) -> Tensor:
    """A row is correlated as it lies in memory, channels side by side: shifts are that many times longer."""
    n, channels, height, width = pixels.shape
    source, (out, target) = side_by_side(pixels), new_pixels(pixels)
    down, before = rows.numpy(), channels * _width_of_border(columns, width)
    across = (columns.numpy()[:, None] * channels + np.arange(channels)).ravel()
    ys, xs, ws = dy.contiguous().numpy(), (dx * channels).contiguous().numpy(), weights.contiguous().numpy()

    def work(start: int, stop: int) -> None:
        wide, levels = np.empty((height, across.size), F32), np.empty((height, width * channels), F32)
        for i in range(start, stop):
            k = i if len(ys) > 1 else 0
            image = source[i].reshape(height, width * channels)
            _correlate_plane(image, down, across, before, ys[k], xs[k], ws[k], wide, levels)
            _round_to_bytes(levels.reshape(-1), target[i].reshape(-1))

    over_images(work, n)
    return out


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
    n, channels = x.shape[:2]
    out = torch.empty(n, channels, len(rows), len(columns))
    source, target = x.contiguous().numpy(), out.numpy()
    plan = [t.numpy() for t in (rows, row_shares, columns, column_shares)]

    def work(i: int) -> None:
        for c in range(channels):
            _resample_plane(source[i, c], *plan, target[i, c])

    each_image(work, n)
    return out


@compiled
def _fold(at, length, edge):
    """A real coordinate into the image, mirrored about -edge and length - 1 + edge, then clamped to pixel centres."""
    last = length - 1
    if at < -edge or at > last + edge:
        period = 2.0 * (last + 2.0 * edge)
        if period == 0.0:
            return F32(0.0)
        at = (at + edge) % period
        at = min(at, period - at) - edge
    return F32(min(max(at, 0.0), last))


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
    source, target = x.contiguous().numpy(), out.numpy()
    ys, xs = rows.contiguous().numpy(), columns.contiguous().numpy()
    sample, edge = (_sample_zeros, ()) if border == "zeros" else (_sample, (0.0 if border == "mirror" else 0.5,))
    each_image(lambda i: sample(source[i], ys[i], xs[i], *edge, target[i]), len(x))
    return out
