"""Bytes through tables: one lookup per channel, or one per component of a colour space.

Images are worked on with a pixel's channels side by side, the order in which pictures usually come.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from scuff.kernels.colour_tables import HUE_STEPS, SATURATION_STEPS
from scuff.kernels.numba_cpu.compiling import compiled, compiled_unfused, inlined
from scuff.kernels.numba_cpu.layout import new_pixels, side_by_side
from scuff.kernels.threads import over_images

F32 = np.float32


@compiled
def _lookup(pixels, tables, out):
    if tables.shape[0] == 1:
        for k in range(pixels.size):
            out[k] = tables[0, pixels[k]]
    else:
        for k in range(0, pixels.size, 3):
            out[k] = tables[0, pixels[k]]
            out[k + 1] = tables[1, pixels[k + 1]]
            out[k + 2] = tables[2, pixels[k + 2]]


def lookup(pixels: Tensor, tables: Tensor) -> Tensor:
    source, (out, target) = side_by_side(pixels), new_pixels(pixels)
    entries = tables.expand(len(pixels), -1, -1)[:, : pixels.shape[1]].contiguous().numpy()

    def work(start: int, stop: int) -> None:
        for i in range(start, stop):
            _lookup(source[i].reshape(-1), entries[i], target[i].reshape(-1))

    over_images(work, len(pixels))
    return out


@inlined
def _luma(pixels, k):
    red, green, blue = np.int32(pixels[k]), np.int32(pixels[k + 1]), np.int32(pixels[k + 2])
    return (19595 * red + 38470 * green + 7471 * blue + 32768) >> 16


@compiled
def _mean_grey(pixels):
    total = 0
    for k in range(0, pixels.size, 3):
        total += _luma(pixels, k)
    return F32(total) / F32(pixels.size // 3)


def mean_grey(pixels: Tensor) -> Tensor:
    source, out = side_by_side(pixels), torch.empty(len(pixels))
    target = out.numpy()

    def work(start: int, stop: int) -> None:
        for i in range(start, stop):
            target[i] = _mean_grey(source[i].reshape(-1))

    over_images(work, len(pixels))
    return out


@compiled
def _mix_grey(pixels, share, out):
    for k in range(0, pixels.size, 3):
        grey = F32(_luma(pixels, k))
        for c in range(3):
            level = F32(pixels[k + c])
            level = np.floor(level + share * (grey - level) + F32(0.5))
            out[k + c] = np.uint8(min(max(level, F32(0.0)), F32(255.0)))


def mix_grey(pixels: Tensor, share: Tensor) -> Tensor:
    source, (out, target) = side_by_side(pixels), new_pixels(pixels)
    shares = share.numpy()

    def work(start: int, stop: int) -> None:
        for i in range(start, stop):
            if shares[i] == 0.0:
                target[i] = source[i]
            else:
                _mix_grey(source[i].reshape(-1), shares[i], target[i].reshape(-1))

    over_images(work, len(pixels))
    return out


@inlined
def _half_degrees(red, green, blue, top, spread, steps):
    """The hue, 0..179; grey has hue 0."""
    if top == red:
        hue = green - blue
    elif top == green:
        hue = blue - red + 2 * spread
    else:
        hue = red - green + 4 * spread
    hue = (hue * steps[spread] + 2048) >> 12
    return hue + 180 if hue < 0 else hue


@inlined
def _put_colour(hue, low, high, out, k):
    """Channels between `low` and `high`, in 255ths: in each sixth of the circle one is low, one high, one between."""
    sixth = hue // np.int32(30)
    step = hue - np.int32(30) * sixth
    rising = (np.int32(30) * low + (high - low) * step + np.int32(3825)) // np.int32(7650)
    falling = (np.int32(30) * high - (high - low) * step + np.int32(3825)) // np.int32(7650)
    low, high = (low + np.int32(127)) // np.int32(255), (high + np.int32(127)) // np.int32(255)
    if sixth == 0:
        red, green, blue = high, rising, low
    elif sixth == 1:
        red, green, blue = falling, high, low
    elif sixth == 2:
        red, green, blue = low, high, rising
    elif sixth == 3:
        red, green, blue = low, falling, high
    elif sixth == 4:
        red, green, blue = rising, low, high
    else:
        red, green, blue = high, low, falling
    out[k], out[k + 1], out[k + 2] = red, green, blue


@compiled
def _map_hsv(pixels, tables, hue_steps, saturation_steps, out):
    hues, saturations, values = tables[0], tables[1], tables[2]
    for k in range(0, pixels.size, 3):
        red, green, blue = np.int32(pixels[k]), np.int32(pixels[k + 1]), np.int32(pixels[k + 2])
        top, bottom = max(max(red, green), blue), min(min(red, green), blue)
        spread = top - bottom
        hue = np.int32(hues[_half_degrees(red, green, blue, top, spread, hue_steps)])
        value = np.int32(values[top])
        saturation = np.int32(saturations[(spread * saturation_steps[top] + 2048) >> 12])
        _put_colour(hue, value * (np.int32(255) - saturation), np.int32(255) * value, out, k)


@compiled
def _map_hls(pixels, tables, hue_steps, saturation_steps, out):
    hues, lights, saturations = tables[0], tables[1], tables[2]
    for k in range(0, pixels.size, 3):
        red, green, blue = np.int32(pixels[k]), np.int32(pixels[k + 1]), np.int32(pixels[k + 2])
        top, bottom = max(max(red, green), blue), min(min(red, green), blue)
        spread, total = top - bottom, top + bottom
        room = total if total < 255 else 510 - total
        hue = np.int32(hues[_half_degrees(red, green, blue, top, spread, hue_steps)])
        light = np.int32(lights[(total + 1) >> 1])
        saturation = np.int32(saturations[(spread * saturation_steps[room] + 2048) >> 12])
        high = np.int32(255) * light + min(light, np.int32(255) - light) * saturation
        _put_colour(hue, np.int32(510) * light - high, high, out, k)


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


def map_colours(pixels: Tensor, space: str, tables: Tensor, active: Tensor) -> Tensor:
    source, (out, target) = side_by_side(pixels), new_pixels(pixels)
    entries, chosen = tables.contiguous().numpy(), active.numpy()
    mapping = {"hsv": _map_hsv, "hls": _map_hls, "pillow_hsv": _map_pillow_hsv}[space]
    steps = () if space == "pillow_hsv" else (HUE_STEPS, SATURATION_STEPS)

    def work(start: int, stop: int) -> None:
        for i in range(start, stop):
            if chosen[i]:
                mapping(source[i].reshape(-1), entries[i], *steps, target[i].reshape(-1))
            else:
                target[i] = source[i]

    over_images(work, len(pixels))
    return out
