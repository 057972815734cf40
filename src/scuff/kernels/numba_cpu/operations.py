"""Pillow's image operations on batches of bytes: each image meets its own, in one loop over the batch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from scuff.kernels.affine import affine_maps
from scuff.kernels.dispatch import kernel
from scuff.kernels.numba_cpu.compiling import F32, INDEX, compiled, copy, inlined
from scuff.kernels.numba_cpu.sharing import share
from scuff.kernels.operation_codes import CODES

IDENTITY, INVERT, SOLARIZE, POSTERIZE = (CODES[name] for name in ("identity", "invert", "solarize", "posterize"))
CONTRAST, COLOR, SHARPNESS = (CODES[name] for name in ("contrast", "color", "sharpness"))
AUTOCONTRAST, FIRST_WARP = CODES["autocontrast"], CODES["shear_x"]
ONE = INDEX(1)
EDGE = -1  # stands for the first of four pixels where not all four are in the image


@kernel
def operate(pixels: Tensor, names: Sequence[str], codes: Tensor, values: Tensor, nearest: bool, fill: Tensor) -> Tensor:
    pixels = pixels.contiguous()
    n, channels, height, width = pixels.shape
    out = torch.empty_like(pixels)
    maps = affine_maps(names, codes, values, height, width).numpy()
    source, target = (batch.view(n, channels, height * width).numpy() for batch in (pixels, out))
    numbers, amounts, outside = codes.contiguous().numpy(), values.contiguous().numpy(), fill.numpy()

    if out.numel():
        share(_operate, n, source, numbers, amounts, maps, nearest, outside, height, width, target)
    return out


@compiled
def _operate(start, stop, pixels, codes, values, maps, nearest, fill, height, width, out):
    """Images `start` to `stop` of (N, C, H * W)."""
    table, counts = np.empty(256, np.uint8), np.empty(256, np.int64)
    words, lines = np.zeros((height + 1) * width + 1, np.int32), np.empty((5, width), np.int32)
    for n in range(start, stop):
        code, source, target = codes[n], pixels[n], out[n]
        if code == IDENTITY:
            for c in range(source.shape[0]):
                copy(source[c], target[c])
        elif code >= FIRST_WARP:
            if nearest:
                _read_nearest(source, maps[n], fill, height, width, target)
            else:
                _read_bilinear(source, maps[n], fill, height, width, words, lines, target)
        elif code == COLOR:
            _blend_grey(source, F32(values[n]), target)
        elif code == SHARPNESS:
            for c in range(source.shape[0]):
                _blend_smooth(source[c], F32(values[n]), height, width, target[c])
        else:
            mean = _mean_grey(source) if code == CONTRAST else 0
            for c in range(source.shape[0]):
                if code < AUTOCONTRAST:
                    _fill_table(code, values[n], mean, table)
                else:
                    _fill_table_from(code, source[c], counts, table)
                _look_up(source[c], table, target[c])


# --- tables ---------------------------------------------------------------------------------------------------------


@compiled
def _look_up(source, table, target):
    for k in range(INDEX(source.size)):
        target[k] = table[source[k]]


@compiled
def _blended(plain, level, factor):
    """Both levels are whole; the product is rounded before the sum."""
    mixed = F32(plain) + factor * F32(level - plain)
    return np.uint8(min(max(mixed, F32(0.0)), F32(255.0)))


@compiled
def _fill_table(code, value, mean, table):
    bits = int(min(max(value, 0.0), 8.0)) if code == POSTERIZE else 0
    for level in range(256):
        if code == INVERT or (code == SOLARIZE and not level < value):
            table[level] = 255 - level
        elif code == SOLARIZE:
            table[level] = level
        elif code == POSTERIZE:
            table[level] = level & (256 - (1 << (8 - bits)))
        else:
            table[level] = _blended(mean, level, F32(value))


@compiled
def _fill_table_from(code, source, counts, table):
    """What autocontrast and equalize make of one channel."""
    counts[:] = 0
    for k in range(INDEX(source.size)):
        counts[source[k]] += 1
    low, high = 0, 255
    while counts[low] == 0:
        low += 1
    while counts[high] == 0:
        high -= 1
    step = (source.size - counts[high]) // 255
    scale = 255.0 / (high - low) if high > low else 0.0
    offset, below = -low * scale, 0
    for level in range(256):
        if code == AUTOCONTRAST and high > low:
            table[level] = int(min(max(level * scale + offset, 0.0), 255.0))
        elif code != AUTOCONTRAST and step > 0:
            table[level] = min((below + step // 2) // step, 255)
        else:
            table[level] = level
        below += counts[level]


# --- blends ---------------------------------------------------------------------------------------------------------


@compiled
def _grey(source, k):
    red, green, blue = np.int32(source[0, k]), np.int32(source[1, k]), np.int32(source[2, k])
    return (np.int32(19595) * red + np.int32(38470) * green + np.int32(7471) * blue + np.int32(32768)) >> np.int32(16)


@compiled
def _mean_grey(source):
    total, count = 0, source.shape[1]
    for k in range(INDEX(count)):
        total += _grey(source, k) if source.shape[0] == 3 else np.int32(source[0, k])
    return (2 * total + count) // (2 * count)


@compiled
def _blend_grey(source, factor, target):
    if source.shape[0] == 1:
        copy(source[0], target[0])
        return
    for k in range(INDEX(source.shape[1])):
        grey = _grey(source, k)
        for c in range(3):
            target[c, k] = _blended(grey, np.int32(source[c, k]), factor)


@compiled
def _blend_smooth(source, factor, height, width, target):
    """The outermost pixels are not smoothed, so they stay."""
    copy(source, target)
    for i in range(1, height - 1):
        for j in range(1, width - 1):
            k = INDEX(i * width + j)
            above, below = k - INDEX(width), k + INDEX(width)
            level = np.int32(source[k])
            total = np.int32(4) * level
            for middle in (above, k, below):
                total += np.int32(source[middle - INDEX(1)]) + np.int32(source[middle])
                total += np.int32(source[middle + INDEX(1)])
            target[k] = _blended((np.int32(2) * total + np.int32(13)) // np.int32(26), level, factor)


# --- affine reads ---------------------------------------------------------------------------------------------------


@compiled
def _plan_row(columns, rows, right, below, height, width, place, across, down):
    """Where the pixels of a row are read, at the first of four or EDGE; their shares; and whether any is not 0.

    A coordinate is a sum of three: of a column's part and of two numbers.
    """
    moved_across, moved_down = False, False
    for i in range(place.size):
        x, y = columns[i] + right[0] + right[1] - 0.5, rows[i] + below[0] + below[1] - 0.5
        left, top = np.floor(x), np.floor(y)
        across[i], down[i] = x - left, y - top
        moved_across |= across[i] != 0.0
        moved_down |= down[i] != 0.0
        whole = (left >= 0.0) & (left < width - 1) & (top >= 0.0) & (top < height - 1)
        place[i] = np.int64(top * width + left) if whole else EDGE
    return moved_across, moved_down


@inlined
def _level(words, i, shift):
    return np.float64((words[i] >> shift) & np.int32(255))


@compiled
def _mix_four(p, q, r, s, shift, across, down, line):
    """One channel of a row of reads between four pixels each."""
    for i in range(INDEX(line.size)):
        upper, lower = _level(p, i, shift), _level(r, i, shift)
        upper += (_level(q, i, shift) - upper) * across[i]
        lower += (_level(s, i, shift) - lower) * across[i]
        line[i] = np.int32(upper + (lower - upper) * down[i])


@compiled
def _mix_two(p, q, shift, shares, line):
    """Along one axis, two of the four pixels decide."""
    for i in range(INDEX(line.size)):
        level = _level(p, i, shift)
        line[i] = np.int32(level + (_level(q, i, shift) - level) * shares[i])


@compiled
def _mix_at_edge(words, shift, x, y, height, width):
    """One read of which some of the four pixels lie beyond an edge: there the edge itself is read."""
    left, top = np.floor(x - 0.5), np.floor(y - 0.5)
    across, down = x - 0.5 - left, y - 0.5 - top
    near, far = max(left, 0.0), min(left + 1.0, width - 1.0)
    above, below = width * max(top, 0.0), width * min(top + 1.0, height - 1.0)
    upper, lower = _level(words, int(above + near), shift), _level(words, int(below + near), shift)
    upper += (_level(words, int(above + far), shift) - upper) * across
    lower += (_level(words, int(below + far), shift) - lower) * across
    return np.int32(upper + (lower - upper) * down)


@compiled
def _to_words(source, words):
    for k in range(INDEX(source.shape[1])):
        words[k] = np.int32(source[0, k])
    if len(source) == 3:
        for k in range(INDEX(source.shape[1])):
            words[k] |= np.int32(source[1, k]) << np.int32(8) | np.int32(source[2, k]) << np.int32(16)


@compiled
def _fetch(words, place, step, one, other):
    """The pixels at `place` and `step` after it; what they are at an EDGE does not matter."""
    for i in range(INDEX(place.size)):
        k = INDEX(max(place[i], 0))
        one[i], other[i] = words[k], words[k + INDEX(step)]


@compiled
def _read_bilinear(source, coefficients, fill, height, width, words, lines, target):
    """A row at a time: where its pixels lie, then the two or four around each, then what channels make of them.

    A pixel is a word, so that it is fetched once for all channels; what is done to words vectorises. `words`, with room
    for a row and a pixel more, and `lines` (5, W) are scratch.
    """
    a, b, c, d, e, f = coefficients
    columns, rows, across, down = np.empty(width), np.empty(width), np.empty(width), np.empty(width)
    place, edges = np.empty(width, np.int64), np.empty(width, np.int64)
    p, q, r, s, line = lines[0], lines[1], lines[2], lines[3], lines[4]
    _to_words(source, words)
    for i in range(width):
        columns[i], rows[i] = a * (i + 0.5), d * (i + 0.5)
    for j in range(height):
        right, below = b * (j + 0.5), e * (j + 0.5)
        moved_across, moved_down = _plan_row(columns, rows, (right, c), (below, f), height, width, place, across, down)
        _fetch(words, place, 1 if moved_across else width, p, q)
        if moved_across and moved_down:
            _fetch(words[width:], place, 1, r, s)
        count = 0
        for i in range(width):
            edges[count] = i
            count += place[i] == EDGE
        for m in range(len(source)):
            shift = np.int32(8 * m)
            if moved_across and moved_down:
                _mix_four(p, q, r, s, shift, across, down, line)
            else:
                _mix_two(p, q, shift, across if moved_across else down, line)
            for i in edges[:count]:
                x, y = columns[i] + right + c, rows[i] + below + f
                inside = x >= 0.0 and x < width and y >= 0.0 and y < height
                line[i] = _mix_at_edge(words, shift, x, y, height, width) if inside else np.int32(fill[m])
            row = target[m, j * width : (j + 1) * width]
            for i in range(INDEX(width)):
                row[i] = np.uint8(line[i])


@compiled
def _fixed(z):
    return np.int64(np.floor(z * 65536.0 + 0.5))


@compiled
def _read_nearest(source, coefficients, fill, height, width, target):
    """Pillow's two ways: step by step for translations, otherwise in 65536ths of a pixel."""
    a, b, c, d, e, f = coefficients
    straight, k = b == 0.0 and d == 0.0, INDEX(0)
    x, y = c + a * 0.5, f + e * 0.5
    first, second = _fixed(c + a * 0.5 + b * 0.5), _fixed(f + d * 0.5 + e * 0.5)
    for j in range(height):
        x = c + a * 0.5
        for i in range(width):
            if straight:
                column, row = -1 if x < 0.0 else int(x), -1 if y < 0.0 else int(y)
            else:
                column = (first + _fixed(a) * i + _fixed(b) * j) >> 16
                row = (second + _fixed(d) * i + _fixed(e) * j) >> 16
            if column >= 0 and column < width and row >= 0 and row < height:
                place = INDEX(row * width + column)
                for m in range(source.shape[0]):
                    target[m, k] = source[m, place]
            else:
                for m in range(source.shape[0]):
                    target[m, k] = fill[m]
            k += INDEX(1)
            x += a
        y += e
