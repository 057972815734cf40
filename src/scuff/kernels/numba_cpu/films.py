"""Film and palettes, a pixel at a time: what lies between the steps never leaves the processor."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.numba_cpu.compiling import F32, INDEX, byte_to_unit, compiled, inlined, values_of
from scuff.kernels.numba_cpu.filling import fill_pixels

NONE, ONE, TWO, WHITE, LEVELS = (F32(n) for n in (0, 1, 2, 255, 256))


@inlined
def _lightness(red, green, blue):
    return (F32(0.2126) * F32(red) + F32(0.7152) * F32(green) + F32(0.0722) * F32(blue)) / WHITE


@inlined
def _wrapped(level):
    return np.uint8(np.int32(level) & 255)


@inlined
def _bleached(byte, y, light, keep, share):
    v = F32(byte)
    doubled = TWO * v
    dark_mix = (doubled - LEVELS if doubled >= LEVELS else doubled) * y / WHITE
    light_mix = ONE - TWO * (ONE - y) * (ONE - byte_to_unit(byte))
    return _wrapped(keep * v + share * ((ONE - light) * dark_mix + light * light_mix))


@compiled
def _bleach_bypass(image, keep, share, made):
    pixels, out = values_of(image), values_of(made)
    for j in range(INDEX(pixels.size // 3)):
        k = INDEX(3) * j
        red, green, blue = pixels[k], pixels[k + INDEX(1)], pixels[k + INDEX(2)]
        y = _lightness(red, green, blue)
        light = min(max(F32(10.0) * (y - F32(0.45)), NONE), ONE)
        out[k] = _bleached(red, y, light, keep, share)
        out[k + INDEX(1)] = _bleached(green, y, light, keep, share)
        out[k + INDEX(2)] = _bleached(blue, y, light, keep, share)


@kernel
def bleach_bypass(pixels: Tensor, share: float) -> Tensor:
    return fill_pixels(pixels, _bleach_bypass, F32(1.0 - share), F32(255.0 * share))


@compiled
def _technicolor(image, keep, share, made):
    pixels, out = values_of(image), values_of(made)
    for j in range(INDEX(pixels.size // 3)):
        k = INDEX(3) * j
        red, green, blue = F32(pixels[k]), F32(pixels[k + INDEX(1)]), F32(pixels[k + INDEX(2)])
        half = F32(0.5) * (red + green + blue)
        without_red = ONE - (F32(1.5) * red - half) / WHITE
        without_green = ONE - (F32(1.5) * green - half) / WHITE
        without_blue = ONE - (F32(1.5) * blue - half) / WHITE
        out[k] = _wrapped(keep * red + share * (without_green * without_blue) * red)
        out[k + INDEX(1)] = _wrapped(keep * green + share * (without_blue * without_red) * green)
        out[k + INDEX(2)] = _wrapped(keep * blue + share * (without_red * without_green) * blue)


@kernel
def technicolor(pixels: Tensor, share: float) -> Tensor:
    return fill_pixels(pixels, _technicolor, F32(1.0 - share), F32(share))


@compiled
def _pseudocolor(image, smoothness, palette, keep, share, made):
    pixels, out = values_of(image), values_of(made)
    for j in range(INDEX(pixels.size // 3)):
        k = INDEX(3) * j
        y = F32(4.0) * _lightness(pixels[k], pixels[k + INDEX(1)], pixels[k + INDEX(2)])
        segment = INDEX(np.int32(min(y, F32(3.0))))
        q = y - F32(segment)
        t = min(q, ONE)
        line, curve = (ONE - smoothness) * q, smoothness * (t * t * (F32(3.0) - TWO * t))
        for c in range(INDEX(3)):
            first = palette[segment, c]
            step = palette[segment + INDEX(1), c] - first
            painted = F32(first) + line * F32(step) + curve * F32(step & 255)
            mixed = keep * F32(pixels[k + c]) + share * painted
            out[k + c] = np.uint8(np.int32(min(max(mixed, NONE), WHITE)))


@kernel
def pseudocolor(pixels: Tensor, smoothness: Tensor, palette: Tensor, share: float) -> Tensor:
    return fill_pixels(pixels, _pseudocolor, smoothness, palette, F32(1.0 - share), F32(share))
