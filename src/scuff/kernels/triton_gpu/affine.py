"""Affine reads of one image: its map is worked out in float64 by every program, as `scuff.kernels.affine` does it.

Multiply-adds must not be fused by who launches this.
"""

from __future__ import annotations

import triton
import triton.language as tl

from scuff.kernels.operation_codes import CODES

SHEAR_X, SHEAR_Y, ROTATE = (tl.constexpr(CODES[name]) for name in ("shear_x", "shear_y", "rotate"))
TRANSLATE_X, TRANSLATE_Y = (tl.constexpr(CODES[name]) for name in ("translate_x", "translate_y"))


@triton.jit
def _rounded(x, constants):
    """To 15 decimals; see `scuff.kernels.affine`. Constants are read: as literals they could become float32."""
    tens, splitter = tl.load(constants + 1), tl.load(constants + 2)
    tens_high, tens_low = tl.load(constants + 3), tl.load(constants + 4)
    product = x * tens
    high = splitter * x - (splitter * x - x)
    low = x - high
    lost = high * tens_high - product + high * tens_low + low * tens_high + low * tens_low
    whole = tl.floor(product)
    up = (product - whole - 0.5) + lost > 0.0
    return (whole + tl.where(up, 1.0, 0.0)) / tens


@triton.jit
def _turn(degrees, turns):
    """Cosine and sine of an angle in [0, 360]; see `scuff.kernels.affine`."""
    row, constants = turns + 5 * tl.floor(degrees + 0.5).to(tl.int32), turns + 5 * 361
    cosine, cosine_rest = tl.load(row + 1), tl.load(row + 2)
    sine, sine_rest = tl.load(row + 3), tl.load(row + 4)
    third, fifth, seventh = tl.load(constants + 5), tl.load(constants + 6), tl.load(constants + 7)
    fourth, sixth = tl.load(constants + 8), tl.load(constants + 9)
    r = degrees * tl.load(constants) - tl.load(row)
    square = r * r
    across = r - r * square * (third - square * (fifth - square * seventh))
    along = square * (square * (fourth - square * sixth) - 0.5)
    turned_cosine = cosine + (cosine_rest + (cosine * along - sine * across))
    turned_sine = sine + (sine_rest + (sine * along + cosine * across))
    return _rounded(turned_cosine, constants), _rounded(turned_sine, constants)


@triton.jit
def warp(
    source, target, at, code, value, degrees, turns, fill, height, width, size,
    CHANNELS: tl.constexpr, NEAREST: tl.constexpr, LANES: tl.constexpr,
):  # fmt: skip
    """Read pixels `at` of the result by the map of the image's operation; others than rotations turn by 0 degrees."""
    cosine, sine = _turn(tl.where(code == ROTATE, degrees, 0.0), turns)
    across, down = width.to(tl.float64) * 0.5, height.to(tl.float64) * 0.5
    b = tl.where(code == SHEAR_X, value, -sine)
    d = tl.where(code == SHEAR_Y, value, sine)
    c = tl.where(code == TRANSLATE_X, value, cosine * -across + -sine * -down + across)
    f = tl.where(code == TRANSLATE_Y, value, sine * -across + cosine * -down + down)
    if NEAREST:
        _read_nearest(source, target, at, cosine, b, c, d, f, fill, height, width, size, CHANNELS, LANES)
    else:
        _read_bilinear(source, target, at, cosine, b, c, d, f, fill, height, width, size, CHANNELS)


@triton.jit
def _read_bilinear(source, target, at, a, b, c, d, f, fill, height, width, size, CHANNELS: tl.constexpr):
    """The coefficients are (a, b, c, d, a, f)."""
    i, j = (at % width).to(tl.float64) + 0.5, (at // width).to(tl.float64) + 0.5
    x, y = a * i + b * j + c, d * i + a * j + f
    inside = (x >= 0.0) & (x < width.to(tl.float64)) & (y >= 0.0) & (y < height.to(tl.float64)) & (at < size)
    x, y = tl.where(inside, x, 0.5) - 0.5, tl.where(inside, y, 0.5) - 0.5
    left, top = tl.floor(x), tl.floor(y)
    across, down = x - left, y - top
    column, row = left.to(tl.int32), top.to(tl.int32)
    near, far = tl.maximum(column, 0), tl.minimum(column + 1, width - 1)
    above, below = tl.maximum(row, 0) * width, tl.minimum(row + 1, height - 1) * width
    for m in tl.static_range(CHANNELS):
        plane = source + m * size
        first, right = tl.load(plane + above + near).to(tl.int32), tl.load(plane + above + far).to(tl.int32)
        second, other = tl.load(plane + below + near).to(tl.int32), tl.load(plane + below + far).to(tl.int32)
        upper = first.to(tl.float64) + (right - first).to(tl.float64) * across
        lower = second.to(tl.float64) + (other - second).to(tl.float64) * across
        level = (upper + (lower - upper) * down).to(tl.int32).to(tl.uint8)
        tl.store(target + m * size + at, tl.where(inside, level, tl.load(fill + m)), mask=at < size)


@triton.jit
def _fixed(z):
    return tl.floor(z * 65536.0 + 0.5).to(tl.int64)


@triton.jit
def _walk(first, step, count, place, LANES: tl.constexpr):
    """Where a walk from `first` is after `place` steps, each sum rounded; -1 if that is negative."""
    x = tl.zeros((LANES,), tl.float64) + first
    for k in range(1, count):
        x = tl.where(place >= k, x + step, x)
    return tl.where(x < 0.0, -1.0, x).to(tl.int64)


@triton.jit
def _read_nearest(
    source, target, at, a, b, c, d, f, fill, height, width, size, CHANNELS: tl.constexpr, LANES: tl.constexpr
):  # fmt: skip
    """Pillow's two ways: step by step for translations, otherwise in 65536ths of a pixel."""
    i, j = at % width, at // width
    column = (_fixed(c + a * 0.5 + b * 0.5) + _fixed(a) * i + _fixed(b) * j) >> 16
    row = (_fixed(f + d * 0.5 + a * 0.5) + _fixed(d) * i + _fixed(a) * j) >> 16
    straight = (b == 0.0) & (d == 0.0)
    column = tl.where(straight, _walk(c + a * 0.5, a, tl.where(straight, width, 1), i, LANES), column)
    row = tl.where(straight, _walk(f + a * 0.5, a, tl.where(straight, height, 1), j, LANES), row)
    inside = (column >= 0) & (column < width) & (row >= 0) & (row < height) & (at < size)
    place = tl.where(inside, row * width + column, 0)
    for m in tl.static_range(CHANNELS):
        level = tl.load(source + m * size + place)
        tl.store(target + m * size + at, tl.where(inside, level, tl.load(fill + m)), mask=at < size)
