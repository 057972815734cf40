"""Pillow's image operations on batches of bytes: a program branches on the operation of its image.

Tables first, one program per channel of an image, then all pixels. Branches only call functions, so that their
variables need not agree. Nothing is fused: a fused multiply-add could round to another whole number. Images are counted
along the first axis of a grid, which alone may be longer than 65535.
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
from scuff.kernels.triton_gpu.affine import warp

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
    with torch.cuda.device_of(pixels):
        if any(name in LOOKUPS for name in names):
            tables = torch.empty(n, channels, 256, dtype=torch.uint8, device=pixels.device)
            _tables_kernel[(n * channels,)](
                pixels, codes, values, tables, size, CHANNELS=channels, LANES=TABLE_LANES, enable_fp_fusion=False
            )  # fmt: skip
        _operate_kernel[(n, triton.cdiv(size, LANES))](
            pixels, codes, values, degrees, tables, turning_table(pixels.device), fill, out, height, width, size,
            CHANNELS=channels, NEAREST=nearest, LANES=LANES, enable_fp_fusion=False,
        )  # fmt: skip
    return out


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
    level = tl.arange(0, 256)
    counts = tl.zeros((256,), tl.int32)
    for start in range(0, size, LANES):
        at = start + tl.arange(0, LANES)
        counts += tl.histogram(tl.load(source + at, mask=at < size, other=0).to(tl.int32), 256)
    counts -= tl.where(level == 0, tl.cdiv(size, LANES) * LANES - size, 0)  # lanes beyond the image were counted as 0
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
