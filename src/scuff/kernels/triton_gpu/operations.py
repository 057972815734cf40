"""Pillow's image operations on batches of bytes: a program branches on the operation of its image.

Tables first, one program per channel of an image, then all pixels. Branches only call functions, so that their
variables need not agree. Images are counted along the first axis of a grid, which alone may be longer than 65535.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import triton
import triton.language as tl
from torch import Tensor

from scuff.kernels.affine import turning_table
from scuff.kernels.dispatch import kernel
from scuff.kernels.operation_codes import CODES, LOOKUPS
from scuff.kernels.triton_gpu.launching import blocks, launch
from scuff.kernels.triton_gpu.pixels import level_counts

LANES, TABLE_LANES = 512, 1024
IDENTITY, INVERT, SOLARIZE = (tl.constexpr(CODES[name]) for name in ("identity", "invert", "solarize"))
POSTERIZE, BRIGHTNESS, CONTRAST = (tl.constexpr(CODES[name]) for name in ("posterize", "brightness", "contrast"))
COLOR, SHARPNESS, AUTOCONTRAST = (tl.constexpr(CODES[name]) for name in ("color", "sharpness", "autocontrast"))
EQUALIZE, FIRST_WARP = tl.constexpr(CODES["equalize"]), tl.constexpr(CODES["shear_x"])


@kernel
def operate(pixels: Tensor, names: Sequence[str], codes: Tensor, values: Tensor, nearest: bool, fill: Tensor) -> Tensor:
    pixels, (n, channels, height, width) = pixels.contiguous(), pixels.shape
    codes, values, size = codes.contiguous(), values.contiguous(), height * width
    out = torch.empty_like(pixels)
    if out.numel() == 0:
        return out
    tables = pixels  # not read if no operation has a table
    degrees = values.remainder(360.0) if "rotate" in names else values
    if any(name in LOOKUPS for name in names):
        tables = torch.empty(n, channels, 256, dtype=torch.uint8, device=pixels.device)
        launch(
            _tables_kernel, (n * channels,), tables,
            pixels, codes, values, tables, size, CHANNELS=channels, LANES=TABLE_LANES,
        )  # fmt: skip
    return launch(
        _operate_kernel, (n, blocks(size, LANES)), out,
        pixels, codes, values, degrees, tables, turning_table(pixels.device), fill, out, height, width, size,
        CHANNELS=channels, NEAREST=nearest, LANES=LANES,
    )  # fmt: skip


# --- tables ---------------------------------------------------------------------------------------------------------


@triton.jit
def _tables_kernel(pixels, codes, values, tables, size, CHANNELS: tl.constexpr, LANES: tl.constexpr):
    plane = tl.program_id(0).to(tl.int64)
    image = plane // CHANNELS
    code, value = tl.load(codes + image), tl.load(values + image)
    source, table = pixels + plane * size, tables + plane * 256
    if code == INVERT:
        _put_solarizing(table, value - value)
    elif code == SOLARIZE:
        _put_solarizing(table, value)
    elif code == POSTERIZE:
        _put_posterizing(table, value)
    elif code == BRIGHTNESS:
        _put_brightening(table, value)
    elif code == CONTRAST:
        _put_contrasting(pixels + image * CHANNELS * size, table, value, size, CHANNELS, LANES)
    elif code == AUTOCONTRAST:
        _put_stretching(source, table, size, LANES)
    elif code == EQUALIZE:
        _put_flattening(source, table, size, LANES)


@triton.jit
def _put_solarizing(table, threshold):
    level = tl.arange(0, 256)
    kept = level.to(tl.float64) < threshold
    tl.store(table + level, tl.where(kept, level, 255 - level).to(tl.uint8))


@triton.jit
def _put_posterizing(table, value):
    level = tl.arange(0, 256)
    cleared = 8 - tl.minimum(tl.maximum(value, 0.0), 8.0).to(tl.int32)
    tl.store(table + level, ((level >> cleared) << cleared).to(tl.uint8))


@triton.jit
def _blended(plain, level, factor):
    """Both levels are whole; the product is rounded before the sum."""
    mixed = plain.to(tl.float32) + factor.to(tl.float32) * (level - plain).to(tl.float32)
    return tl.minimum(tl.maximum(mixed, 0.0), 255.0).to(tl.int32).to(tl.uint8)


@triton.jit
def _put_brightening(table, value):
    level = tl.arange(0, 256)
    tl.store(table + level, _blended(level - level, level, value))


@triton.jit
def _grey(pixels, at, inside, size, CHANNELS: tl.constexpr):
    red = tl.load(pixels + at, mask=inside, other=0).to(tl.int32)
    if CHANNELS == 1:
        return red
    else:
        green = tl.load(pixels + size + at, mask=inside, other=0).to(tl.int32)
        blue = tl.load(pixels + 2 * size + at, mask=inside, other=0).to(tl.int32)
        return (19595 * red + 38470 * green + 7471 * blue + 32768) >> 16


@triton.jit
def _put_contrasting(pixels, table, value, size, CHANNELS: tl.constexpr, LANES: tl.constexpr):
    """The mean grey of an image is worked out once for each channel: it is rarely asked for."""
    total = tl.zeros((LANES,), tl.int32)
    for start in range(0, size, LANES):
        at = start + tl.arange(0, LANES)
        total += _grey(pixels, at, at < size, size, CHANNELS)
    mean = (2 * tl.sum(total.to(tl.int64), axis=0) + size) // (2 * size)
    level = tl.arange(0, 256)
    tl.store(table + level, _blended(level - level + mean.to(tl.int32), level, value))


@triton.jit
def _put_stretching(source, table, size, LANES: tl.constexpr):
    lows, highs = tl.full((LANES,), 255, tl.int32), tl.zeros((LANES,), tl.int32)
    for start in range(0, size, LANES):
        at = start + tl.arange(0, LANES)
        lows = tl.minimum(lows, tl.load(source + at, mask=at < size, other=255).to(tl.int32))
        highs = tl.maximum(highs, tl.load(source + at, mask=at < size, other=0).to(tl.int32))
    low, high = tl.min(lows, axis=0), tl.max(highs, axis=0)
    scale = 255.0 / tl.maximum(high - low, 1).to(tl.float64)
    offset = -low.to(tl.float64) * scale
    level = tl.arange(0, 256)
    stretched = tl.minimum(tl.maximum(level.to(tl.float64) * scale + offset, 0.0), 255.0).to(tl.int32)
    tl.store(table + level, tl.where(high > low, stretched, level).to(tl.uint8))


@triton.jit
def _put_flattening(source, table, size, LANES: tl.constexpr):
    level, counts = tl.arange(0, 256), level_counts(source, size, LANES)
    brightest = tl.max(tl.where(counts > 0, level, 0), axis=0)
    step = (size - tl.sum(tl.where(level == brightest, counts, 0), axis=0)) // 255
    below = tl.cumsum(counts, axis=0) - counts
    flat = tl.minimum((below + step // 2) // tl.maximum(step, 1), 255)
    tl.store(table + level, tl.where(step > 0, flat, level).to(tl.uint8))


# --- pixels ---------------------------------------------------------------------------------------------------------


@triton.jit(do_not_specialize=["height", "width"])
def _operate_kernel(
    pixels, codes, values, degrees, tables, turns, fill, out, height, width, size,
    CHANNELS: tl.constexpr, NEAREST: tl.constexpr, LANES: tl.constexpr,
):  # fmt: skip
    image = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * LANES + tl.arange(0, LANES)
    code, value = tl.load(codes + image), tl.load(values + image)
    source, target = pixels + image * CHANNELS * size, out + image * CHANNELS * size
    if code == IDENTITY:
        _copy(source, target, at, size, CHANNELS)
    elif code == COLOR:
        _blend_grey(source, target, at, value, size, CHANNELS)
    elif code == SHARPNESS:
        _blend_smooth(source, target, at, value, height, width, size, CHANNELS)
    elif code >= FIRST_WARP:
        warp(
            source, target, at, code, value, tl.load(degrees + image), turns, fill, height, width, size,
            CHANNELS, NEAREST, LANES,
        )  # fmt: skip
    else:
        _look_up(source, target, at, tables + image * CHANNELS * 256, size, CHANNELS)


@triton.jit
def _copy(source, target, at, size, CHANNELS: tl.constexpr):
    for c in tl.static_range(CHANNELS):
        tl.store(target + c * size + at, tl.load(source + c * size + at, mask=at < size, other=0), mask=at < size)


@triton.jit
def _look_up(source, target, at, tables, size, CHANNELS: tl.constexpr):
    for c in tl.static_range(CHANNELS):
        level = tl.load(source + c * size + at, mask=at < size, other=0).to(tl.int32)
        tl.store(target + c * size + at, tl.load(tables + c * 256 + level), mask=at < size)


@triton.jit
def _blend_grey(source, target, at, factor, size, CHANNELS: tl.constexpr):
    grey = _grey(source, at, at < size, size, CHANNELS)
    for c in tl.static_range(CHANNELS):
        level = tl.load(source + c * size + at, mask=at < size, other=0).to(tl.int32)
        tl.store(target + c * size + at, _blended(grey, level, factor), mask=at < size)


@triton.jit
def _blend_smooth(source, target, at, factor, height, width, size, CHANNELS: tl.constexpr):
    """The outermost pixels are not smoothed."""
    i, j = at // width, at % width
    inner = (i > 0) & (i < height - 1) & (j > 0) & (j < width - 1)
    for c in tl.static_range(CHANNELS):
        plane = source + c * size + at
        level = tl.load(plane, mask=at < size, other=0).to(tl.int32)
        total = 4 * level
        for dy in tl.static_range(3):
            for dx in tl.static_range(3):
                total += tl.load(plane + (dy - 1) * width + (dx - 1), mask=inner, other=0).to(tl.int32)
        smooth = tl.where(inner, (2 * total + 13) // 26, level)
        tl.store(target + c * size + at, _blended(smooth, level, factor), mask=at < size)


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
