"""Colours through a colour space of bytes and back."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from scuff.kernels.colour_tables import HUE_STEPS, SATURATION_STEPS
from scuff.kernels.dispatch import kernel
from scuff.kernels.numba_cpu.compiling import F32, INDEX, compiled, compiled_unfused, inlined
from scuff.kernels.numba_cpu.layout import new_pixels, side_by_side
from scuff.kernels.threads import each_image

# for each of 180 hues: which channel is high, which low, which between them, and how far, in 30ths
_SIXTH = np.arange(256) // 30 % 6
HIGH, LOW, BETWEEN = (
    np.array(order, INDEX)[_SIXTH] for order in ((0, 1, 1, 2, 2, 0), (2, 2, 0, 0, 1, 1), (1, 0, 2, 1, 0, 2))
)
CLIMB = np.where(_SIXTH % 2 == 0, np.arange(256) % 30, 30 - np.arange(256) % 30).astype(np.int32)
HUES = (HUE_STEPS, SATURATION_STEPS, HIGH, LOW, BETWEEN, CLIMB)


@inlined
def _half_degrees(red, green, blue, top, spread, steps):
    """The hue, 0..179; grey has hue 0."""
    hue = green - blue if top == red else blue - red + 2 * spread if top == green else red - green + 4 * spread
    hue = (hue * steps[INDEX(spread)] + 2048) >> 12
    return INDEX(hue + 180 if hue < 0 else hue)


@inlined
def _put_colour(out, k, hue, low, high, highs, lows, betweens, climb):
    """Channels between `low` and `high`, in 255ths: in each sixth of the circle one is low, one high, one between."""
    out[k + highs[hue]] = (high + 127) // 255
    out[k + lows[hue]] = (low + 127) // 255
    out[k + betweens[hue]] = (30 * low + (high - low) * climb[hue] + 3825) // 7650


@compiled
def _map_hsv(pixels, tables, hue_steps, saturation_steps, highs, lows, betweens, climb, out):
    hues, saturations, values = tables[0], tables[1], tables[2]
    for k in range(INDEX(0), INDEX(pixels.size), INDEX(3)):
        red, green, blue = np.int32(pixels[k]), np.int32(pixels[k + INDEX(1)]), np.int32(pixels[k + INDEX(2)])
        top, bottom = max(max(red, green), blue), min(min(red, green), blue)
        spread = top - bottom
        hue = INDEX(hues[_half_degrees(red, green, blue, top, spread, hue_steps)])
        value = np.uint32(values[INDEX(top)])
        saturation = np.uint32(saturations[INDEX((spread * saturation_steps[INDEX(top)] + 2048) >> 12)])
        _put_colour(out, k, hue, value * (255 - saturation), 255 * value, highs, lows, betweens, climb)


@compiled
def _map_hls(pixels, tables, hue_steps, saturation_steps, highs, lows, betweens, climb, out):
    hues, lights, saturations = tables[0], tables[1], tables[2]
    for k in range(INDEX(0), INDEX(pixels.size), INDEX(3)):
        red, green, blue = np.int32(pixels[k]), np.int32(pixels[k + INDEX(1)]), np.int32(pixels[k + INDEX(2)])
        top, bottom = max(max(red, green), blue), min(min(red, green), blue)
        spread, total = top - bottom, top + bottom
        room = total if total < 255 else 510 - total
        hue = INDEX(hues[_half_degrees(red, green, blue, top, spread, hue_steps)])
        light = np.uint32(lights[INDEX((total + 1) >> 1)])
        saturation = np.uint32(saturations[INDEX((spread * saturation_steps[INDEX(room)] + 2048) >> 12)])
        high = 255 * light + min(light, 255 - light) * saturation
        _put_colour(out, k, hue, 510 * light - high, high, highs, lows, betweens, climb)


@inlined
def _pillow_channel(sixths, shift, low, high):
    k = sixths + shift
    if k >= 6.0:
        k -= 6.0
    return np.uint8(np.floor(high - (high - low) * min(max(min(k, 4.0 - k), 0.0), 1.0) + 0.5))


@compiled_unfused
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


@kernel
def map_colours(pixels: Tensor, space: str, tables: Tensor, active: Tensor) -> Tensor:
    source, (out, target) = side_by_side(pixels), new_pixels(pixels)
    entries, chosen = tables.contiguous().numpy(), active.numpy()
    mapping = {"hsv": _map_hsv, "hls": _map_hls, "pillow_hsv": _map_pillow_hsv}[space]
    steps = () if space == "pillow_hsv" else HUES

    def work(i: int) -> None:
        if chosen[i]:
            mapping(source[i].reshape(-1), entries[i], *steps, target[i].reshape(-1))
        else:
            target[i] = source[i]

    each_image(work, len(pixels))
    return out
