"""Bytes read elsewhere: between pixels, by whole pixels, mirrored, and by windows that enlarge.

A read between pixels mixes four of them by shares in 32nds. A pixel's channels lie side by side in one word of 64 bits,
21 bits each, more than any sum of shares needs. So a pixel is one load and one multiplication, whatever its channels.
"""

from __future__ import annotations

import numpy as np
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.numba_cpu.compiling import F32, INDEX, byte_to_unit, compiled, copy, lines_of, values_of
from scuff.kernels.numba_cpu.filling import fill_pixels

U64 = np.uint64
ONE, TWO, THREE = INDEX(1), INDEX(2), INDEX(3)
I1, FIVE, LAST_FIVE = np.int32(1), np.int32(5), np.int32(31)
GREEN, BLUE = U64(21), U64(42)  # where these channels begin in a word
HALF = U64(512 | 512 << 21 | 512 << 42)
FAR = F32(1e6)
BORDERS = {"zeros": 0, "edge": 1, "mirror": 2, "reflect": 3}


@compiled
def _to_words(pixels, words):
    """A picture as words, with black around it: one pixel before, two after, so that every read finds its four."""
    height, width, channels = pixels.shape
    for i in (0, height + 1, height + 2):
        words[i] = U64(0)
    lines = lines_of(pixels)
    for i in range(height):
        source, target = lines[i], words[i + 1]
        target[0], target[width + 1], target[width + 2] = U64(0), U64(0), U64(0)
        if channels == 1:
            for j in range(INDEX(width)):
                target[j + ONE] = U64(source[j])
        else:
            k = INDEX(0)
            for j in range(INDEX(width)):
                target[j + ONE] = U64(source[k]) | U64(source[k + ONE]) << GREEN | U64(source[k + TWO]) << BLUE
                k += THREE


@compiled
def _to_32nds(at, length, border, out):
    """Coordinates folded into the picture, or its frame, in 32nds; branchless, for several at once."""
    end = F32(length - 1)
    if border == 0:
        for j in range(out.size):
            y = at[j] if at[j] > F32(-1.0) else F32(-1.0)
            y = y if y < end + F32(1.0) else end + F32(1.0)
            out[j] = np.int32(np.floor(y * F32(32.0) + F32(0.5)))
    elif border == 1:
        for j in range(out.size):
            y = at[j] if at[j] > F32(0.0) else F32(0.0)
            out[j] = np.int32((y if y < end else end) * F32(32.0) + F32(0.5))
    else:
        edge = F32(0.5 if border == 3 else 0.0)
        period = F32(max(2.0 * (length - 1 + 2.0 * edge), 1.0))
        inverse = F32(1.0 / max(2.0 * (length - 1 + 2.0 * edge), 1.0))
        for j in range(out.size):
            y = at[j] if at[j] > -FAR else -FAR
            y = abs((y if y < FAR else FAR) + edge)
            y -= period * np.floor(y * inverse)
            back = period - y
            y = (y if y < back else back) - edge
            y = y if y > F32(0.0) else F32(0.0)
            out[j] = np.int32((y if y < end else end) * F32(32.0) + F32(0.5))


@compiled
def _read_line(flat, height, width, at_y, at_x, border, channels, rows, columns, place, line):
    """One row of reads; `rows`, `columns` and `place` are scratch.

    A difference may borrow from the next channel; the sum that it becomes part of pays back.
    """
    stride = width + 3
    _to_32nds(at_y, height, border, rows)
    _to_32nds(at_x, width, border, columns)
    for j in range(place.size):
        place[j] = ((rows[j] >> FIVE) + I1) * stride + (columns[j] >> FIVE) + I1
        rows[j] &= LAST_FIVE
        columns[j] &= LAST_FIVE
    k, step = INDEX(0), INDEX(channels)
    for j in range(INDEX(place.size)):
        a, across, down = INDEX(place[j]), U64(columns[j]), U64(rows[j])
        b = a + INDEX(stride)
        above, below = flat[a], flat[b]
        above = (above << U64(5)) + across * (flat[a + ONE] - above)
        below = (below << U64(5)) + across * (flat[b + ONE] - below)
        total = (above << U64(5)) + down * (below - above) + HALF
        line[k] = np.uint8(total >> U64(10))
        if channels == 3:
            line[k + ONE], line[k + TWO] = np.uint8(total >> U64(31)), np.uint8(total >> U64(52))
        k += step


@compiled
def _remap(pixels, rows, columns, border, words, ys, xs, place, out):
    _to_words(pixels, words)
    flat, lines, (height, width, channels) = values_of(words), lines_of(out), pixels.shape
    for i in range(rows.shape[0]):
        _read_line(flat, height, width, rows[i], columns[i], border, channels, ys, xs, place, lines[i])


def _scratch(pixels: Tensor, width: int) -> tuple[np.ndarray, ...]:
    """Room for a picture in words, and for what `_read_line` works out about one row of coordinates."""
    words = np.empty((pixels.shape[2] + 3, pixels.shape[3] + 3), U64)
    return words, *(np.empty(width, np.int32) for _ in range(2)), np.empty(width, np.int64)


@kernel
def remap(pixels: Tensor, rows: Tensor, columns: Tensor, border: str) -> Tensor:
    def scratch() -> tuple:
        return _scratch(pixels, rows.shape[2])

    return fill_pixels(pixels, _remap, rows, columns, np.int32(BORDERS[border]), size=rows.shape[1:], scratch=scratch)


@compiled
def _project(pixels, matrix, extent, border, at_y, at_x, words, ys, xs, place, out):
    """`at_y` and `at_x` are scratch for one row's coordinates."""
    _to_words(pixels, words)
    rows, columns = min(extent[0], out.shape[0]), min(extent[1], out.shape[1])
    flat, lines, (height, width, channels) = values_of(words), lines_of(out), pixels.shape
    lines[rows:] = 0
    ys, xs, place = ys[:columns], xs[:columns], place[:columns]
    a, b, c, d, e, f, g, h, k = matrix.ravel()
    for i in range(rows):
        across, down, away = b * F32(i) + c, e * F32(i) + f, h * F32(i) + k
        for j in range(columns):
            near = F32(1.0) / (g * F32(j) + away)
            at_x[j] = (a * F32(j) + across) * near
            at_y[j] = (d * F32(j) + down) * near
        line = lines[i]
        line[columns * channels :] = 0
        _read_line(flat, height, width, at_y, at_x, border, channels, ys, xs, place, line)


@kernel
def project(pixels: Tensor, matrix: Tensor, extent: Tensor, height: int, width: int, border: str) -> Tensor:
    def scratch() -> tuple:
        return np.empty(width, F32), np.empty(width, F32), *_scratch(pixels, width)

    plan = matrix, extent, np.int32(BORDERS[border])
    return fill_pixels(pixels, _project, *plan, size=(height, width), scratch=scratch)


@compiled
def _take_grey(image, places, made):
    pixels, place, out = values_of(image), values_of(places), values_of(made)
    for k in range(place.size):
        out[k] = 0 if place[k] < 0 else pixels[place[k]]


@compiled
def _take_colour(image, places, made):
    """A pixel's three bytes written out: three times as fast as a loop over channels."""
    pixels, place, out, k = values_of(image), values_of(places), values_of(made), INDEX(0)
    for p in range(place.size):
        if place[p] < 0:
            out[k], out[k + ONE], out[k + TWO] = 0, 0, 0
        else:
            a = THREE * INDEX(place[p])
            out[k], out[k + ONE], out[k + TWO] = pixels[a], pixels[a + ONE], pixels[a + TWO]
        k += THREE


@kernel
def take_pixels(pixels: Tensor, place: Tensor) -> Tensor:
    take = _take_grey if pixels.shape[1] == 1 else _take_colour
    return fill_pixels(pixels, take, place, size=place.shape[1:])


@compiled
def _move_tiles(image, givers, tops, lefts, made):
    """`lefts` count values, of which a pixel has as many as channels."""
    pixels, out, across = lines_of(image), lines_of(made), lefts.size - 1
    for tile in range(givers.size):
        i, j, other = tile // across, tile % across, givers[tile]
        top, left, up, begin = tops[i], lefts[j], tops[other // across], lefts[other % across]
        count = lefts[j + 1] - left
        for row in range(tops[i + 1] - top):
            source, target = pixels[up + row], out[top + row]
            for k in range(INDEX(count)):
                target[INDEX(left) + k] = source[INDEX(begin) + k]


@kernel
def move_tiles(pixels: Tensor, givers: Tensor, tops: tuple[int, ...], lefts: tuple[int, ...]) -> Tensor:
    return fill_pixels(pixels, _move_tiles, givers, np.array(tops), pixels.shape[1] * np.array(lefts))


@compiled
def _flip(pixels, down, across, out):
    height, width, channels = pixels.shape
    sources, targets = lines_of(pixels), lines_of(out)
    for i in range(height):
        source, target = sources[height - 1 - i if down else i], targets[i]
        if not across:
            copy(source, target)
        elif channels == 1:
            for j in range(INDEX(width)):
                target[j] = source[INDEX(width) - ONE - j]
        else:
            for j in range(INDEX(width)):
                k, a = THREE * j, THREE * (INDEX(width) - ONE - j)
                target[k], target[k + ONE], target[k + TWO] = source[a], source[a + ONE], source[a + TWO]


@kernel
def flip_pixels(pixels: Tensor, down: Tensor, across: Tensor) -> Tensor:
    return fill_pixels(pixels, _flip, down, across)


@compiled
def _spread(line, columns, channels, lefts, rights):
    """What each place of a row mixes, side by side: a mix of many at once then follows."""
    k = INDEX(0)
    for j in range(columns.size):
        a = INDEX(columns[j]) * INDEX(channels)
        if channels == 3:
            lefts[k], lefts[k + ONE], lefts[k + TWO] = line[a], line[a + ONE], line[a + TWO]
            rights[k], rights[k + ONE], rights[k + TWO] = line[a + THREE], line[a + INDEX(4)], line[a + INDEX(5)]
        else:
            lefts[k], rights[k] = line[a], line[a + ONE]
        k += INDEX(channels)


@compiled
def _mix_byte_windows(image, rows, row_weights, columns, weights, units, line, lefts, rights, out):
    """Rows that repeat are copied whole, and rows in use are held as units.

    `weights` (2, W * C) are those of `lefts` and `rights`. The others are scratch; what is used of `line` ends with its
    last pixel once more.
    """
    sources, targets, (height, _, channels) = lines_of(image), lines_of(out), image.shape
    used = min((columns.max() + 2) * channels, sources.shape[1])
    held = np.array([-1, -1])
    for i in range(len(rows)):
        first, second = row_weights[i, 0], row_weights[i, 1]
        if i > 0 and rows[i] == rows[i - 1] and first == row_weights[i - 1, 0] and second == row_weights[i - 1, 1]:
            copy(targets[i - 1], targets[i])
            continue
        top, bottom = min(rows[i], height - 1), min(rows[i] + 1, height - 1)
        for row in (top, bottom):
            if held[row % 2] != row:
                held[row % 2] = row
                source, unit = sources[row], units[row % 2]
                for k in range(used):
                    unit[k] = byte_to_unit(source[k])
        above, below = units[top % 2], units[bottom % 2]
        for k in range(used):
            line[k] = first * above[k] + second * below[k]
        for c in range(channels):
            line[used + c] = line[used - channels + c]
        _spread(line, columns, channels, lefts, rights)
        target, left, right = targets[i], weights[0], weights[1]
        for k in range(target.size):
            level = left[k] * lefts[k] + right[k] * rights[k]
            level = level if level > F32(0.0) else F32(0.0)
            level = (level if level < F32(1.0) else F32(1.0)) * F32(255.0) + F32(0.5)
            target[k] = np.uint8(np.int32(level))


@kernel
def mix_byte_windows(
    pixels: Tensor, rows: Tensor, row_weights: Tensor, columns: Tensor, column_weights: Tensor
) -> Tensor:
    channels, width, size = pixels.shape[1], pixels.shape[3], (rows.shape[1], columns.shape[1])
    weights = column_weights.mT.repeat_interleave(channels, 2)

    def scratch() -> tuple:
        shapes = (2, width * channels), (width + 1) * channels, size[1] * channels, size[1] * channels
        return tuple(np.empty(shape, F32) for shape in shapes)

    plan = (rows, row_weights, columns.clamp(max=width - 1), weights)
    return fill_pixels(pixels, _mix_byte_windows, *plan, size=size, scratch=scratch)
