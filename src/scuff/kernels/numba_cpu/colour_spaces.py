"""Bytes taken to another colour space, mapped there by tables, and taken back.

For OpenCV's spaces these are three loops over a picture. The first and the last compute in float32, where all their
numbers are whole and exact, and ask nothing of tables and jumps; so they are several pixels at once.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.numba_cpu.compiling import F32, INDEX, compiled, copy, inlined, values_of
from scuff.kernels.numba_cpu.filling import fill_pixels
from scuff.kernels.numba_cpu.hues import ends

I32 = np.int32
HSV, HLS, PILLOW_HSV = range(3)
SPACES = {"hsv": HSV, "hls": HLS, "pillow_hsv": PILLOW_HSV}
ONE, TWO, THREE = INDEX(1), INDEX(2), INDEX(3)
NONE, HALF = F32(0.0), F32(0.5)
HUES, SHARES = F32(180 * 4096 / 6), F32(255 * 4096)  # a sixth of the circle, and all of a component, in 4096ths


@inlined
def _divided(numerator, denominator, unit):
    """A quotient by a rounded reciprocal, in 4096ths of `unit`: see the reference, whose table of them this is."""
    steps = np.floor(unit / (denominator if denominator > NONE else F32(1.0)) + HALF)
    return np.floor((numerator * steps + F32(2048.0)) * F32(1 / 4096))


@inlined
def _half_degrees(red, green, blue, top, spread):
    """The hue, 0..179; grey has hue 0."""
    lead = blue - red + F32(2.0) * spread if top == green else red - green + F32(4.0) * spread
    hue = _divided(green - blue if top == red else lead, spread, HUES)
    return hue + F32(180.0) if hue < NONE else hue


@compiled
def to_hsv(pixels, hues, saturations, values):
    for j in range(INDEX(hues.size)):
        k = THREE * j
        red, green, blue = F32(pixels[k]), F32(pixels[k + ONE]), F32(pixels[k + TWO])
        top, low = ends(red, green, blue)
        hues[j] = I32(_half_degrees(red, green, blue, top, top - low))
        saturations[j] = I32(_divided(top - low, top, SHARES))
        values[j] = I32(top)


@compiled
def _to_hls(pixels, hues, lights, saturations):
    for j in range(INDEX(hues.size)):
        k = THREE * j
        red, green, blue = F32(pixels[k]), F32(pixels[k + ONE]), F32(pixels[k + TWO])
        top, low = ends(red, green, blue)
        total, rest = top + low, F32(510.0) - (top + low)
        hues[j] = I32(_half_degrees(red, green, blue, top, top - low))
        lights[j] = I32((total + F32(1.0)) * HALF)
        saturations[j] = I32(_divided(top - low, total if total < rest else rest, SHARES))


@compiled
def _through_tables(components, tables):
    for c in range(INDEX(3)):
        for j in range(INDEX(components.shape[1])):
            components[c, j] = tables[c, components[c, j]]


@inlined
def _between(climb, low, room):
    """A byte that lies `climb` 30ths of the way from `low` on, in 255ths; half of one more makes up for rounding."""
    climb = climb if climb > NONE else NONE
    climb = climb if climb < F32(30.0) else F32(30.0)
    return I32((F32(30.0) * low + room * climb + F32(3825.5)) * F32(1 / 7650))


@inlined
def _colour(hue, low, room):
    """Red, green and blue: each is high for a third of the circle, low for another, and on a line in between."""
    hue = hue - F32(180.0) if hue >= F32(180.0) else hue
    return (
        _between(abs(hue - F32(90.0)) - F32(30.0), low, room),
        _between(F32(60.0) - abs(hue - F32(60.0)), low, room),
        _between(F32(60.0) - abs(hue - F32(120.0)), low, room),
    )


@compiled
def from_hsv(hues, saturations, values, out):
    for j in range(INDEX(hues.size)):
        k, value, saturation = THREE * j, F32(values[j]), F32(saturations[j])
        low = value * (F32(255.0) - saturation)
        out[k], out[k + ONE], out[k + TWO] = _colour(F32(hues[j]), low, value * saturation)


@compiled
def _from_hls(hues, lights, saturations, out):
    for j in range(INDEX(hues.size)):
        k, light, saturation = THREE * j, F32(lights[j]), F32(saturations[j])
        dark = F32(255.0) - light
        reach = (light if light < dark else dark) * saturation
        out[k], out[k + ONE], out[k + TWO] = _colour(F32(hues[j]), F32(255.0) * light - reach, reach + reach)


@inlined
def _pillow_channel(sixths, shift, low, high):
    k = sixths + shift
    if k >= 6.0:
        k -= 6.0
    return np.uint8(np.floor(high - (high - low) * min(max(min(k, 4.0 - k), 0.0), 1.0) + 0.5))


@compiled
def _map_pillow_hsv(pixels, tables, out):
    """Pillow truncates, so its roundings to single precision on the way are kept."""
    hues, saturations, values = tables[0], tables[1], tables[2]
    for k in range(0, pixels.size, 3):
        red, green, blue = np.int32(pixels[k]), np.int32(pixels[k + 1]), np.int32(pixels[k + 2])
        top, bottom = max(max(red, green), blue), min(min(red, green), blue)
        spread = F32(max(top - bottom, 1))
        r, g, b = F32(top - red) / spread, F32(top - green) / spread, F32(top - blue) / spread
        if top == red:
            turn = np.float64(b) - np.float64(g)
        elif top == green:
            turn = 2.0 + np.float64(r) - np.float64(b)
        else:
            turn = 4.0 + np.float64(g) - np.float64(r)
        turn = np.float64(F32(turn)) / 6.0 + 1.0
        hue = hues[np.int32(255.0 * np.float64(F32(turn - np.floor(turn))))]
        share = F32(top - bottom) / F32(max(top, 1))
        high = np.float64(values[top])
        low = high * (1.0 - saturations[np.int32(255.0 * np.float64(share))] / 255.0)
        sixths = hue * 6.0 / 255.0
        out[k] = _pillow_channel(sixths, 5.0, low, high)
        out[k + 1] = _pillow_channel(sixths, 3.0, low, high)
        out[k + 2] = _pillow_channel(sixths, 1.0, low, high)


@compiled
def _map_colours(image, tables, is_active, space, parts, out):
    """`parts` are scratch for the three components."""
    pixels, made = values_of(image), values_of(out)
    first, second, third = parts[0], parts[1], parts[2]
    if not is_active:
        copy(pixels, made)
    elif space == PILLOW_HSV:
        _map_pillow_hsv(pixels, tables, made)
    elif space == HLS:
        _to_hls(pixels, first, second, third)
        _through_tables(parts, tables)
        _from_hls(first, second, third, made)
    else:
        to_hsv(pixels, first, second, third)
        _through_tables(parts, tables)
        from_hsv(first, second, third, made)


@kernel
def map_colours(pixels: Tensor, space: str, tables: Tensor, active: Tensor) -> Tensor:
    return fill_pixels(pixels, _map_colours, tables, active, SPACES[space], scratch=room_for_parts(pixels))


def room_for_parts(pixels: Tensor) -> Callable[[], tuple[np.ndarray]]:
    """What makes room for the three components of an image."""
    return lambda: (np.empty((3, pixels.shape[2] * pixels.shape[3]), np.uint8),)
