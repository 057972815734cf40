"""Colours: bytes through tables and colour spaces, channels and whole images mixed, dither.

Images are worked on with a pixel's channels side by side, the order in which pictures usually come.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.numba_cpu.compiling import F32, INDEX, compiled, fill, fill_pixels, inlined
from scuff.kernels.reference.colours import HUE_STEPS, SATURATION_STEPS
from scuff.kernels.threads import each_image, over_images

I32, U32, U64, BYTE = np.int32, np.uint32, np.uint64, np.uint64(255)


@compiled
def _lookup(pixels, tables, out):
    channels = tables.shape[0]
    for k in range(pixels.size):
        out[k] = tables[k % channels, pixels[k]]


@inlined
def _eight(v, a, b, c):
    """Eight bytes of a word, lowest first, through the tables a, b, c, a, b, c, a, b."""
    low = a[v & BYTE] | b[v >> U64(8) & BYTE] << U64(8) | c[v >> U64(16) & BYTE] << U64(16)
    middle = a[v >> U64(24) & BYTE] | b[v >> U64(32) & BYTE] << U64(8) | c[v >> U64(40) & BYTE] << U64(16)
    return low | middle << U64(24) | a[v >> U64(48) & BYTE] << U64(48) | b[v >> U64(56)] << U64(56)


@compiled
def _lookup_by_words(pixels, red, green, blue, out):
    """Eight values for each load and store of memory: three words hold eight pixels. Everything is uint64."""
    for k in range(INDEX(0), INDEX(pixels.size), INDEX(3)):
        out[k] = _eight(pixels[k], red, green, blue)
        out[k + INDEX(1)] = _eight(pixels[k + INDEX(1)], blue, red, green)
        out[k + INDEX(2)] = _eight(pixels[k + INDEX(2)], green, blue, red)


@compiled
def _bits(tables, words):
    """Whether every table keeps some bits of a level and turns others around; if so, which, for three words."""
    for t in range(len(tables)):
        turned = tables[t, 0]
        kept = tables[t, 255] ^ turned
        for level in range(256):
            if tables[t, level] != (U64(level) & kept) ^ turned:
                return False
    for k in range(24):
        t = k % 3 % len(tables)
        turned, place, shift = tables[t, 0], k // 8, U64(8 * (k % 8))
        words[0, place] |= (tables[t, 255] ^ turned) << shift
        words[1, place] |= turned << shift
    return True


@compiled
def _lookup_all(pixels, tables, out, start, stop):
    """Images `start` to `stop` of (N, words); the table of several channels may be one and the same."""
    last = tables.shape[1] - 1
    for i in range(start, stop):
        words = np.zeros((2, 3), U64)
        if _bits(tables[i], words):
            (a, b, c), (d, e, f) = words
            source, target = pixels[i], out[i]
            for k in range(INDEX(0), INDEX(source.size), INDEX(3)):
                target[k] = source[k] & a ^ d
                target[k + INDEX(1)] = source[k + INDEX(1)] & b ^ e
                target[k + INDEX(2)] = source[k + INDEX(2)] & c ^ f
        else:
            _lookup_by_words(pixels[i], tables[i, 0], tables[i, min(1, last)], tables[i, last], out[i])


@kernel
def lookup(pixels: Tensor, tables: Tensor) -> Tensor:
    n, channels, height, width = pixels.shape
    source = pixels.permute(0, 2, 3, 1).reshape(n, height * width * channels)
    out = torch.empty(source.shape, dtype=torch.uint8)
    tables = tables.expand(n, -1, -1)[:, :channels]
    if source.shape[1] % 24 == 0:
        values, levels, entries = source.numpy().view(U64), out.numpy().view(U64), tables.numpy().astype(U64)
        over_images(lambda start, stop: _lookup_all(values, entries, levels, start, stop), n)
    else:
        fill(out, _lookup, source, tables)
    return out.view(n, height, width, channels).permute(0, 3, 1, 2)


@inlined
def _luma(pixels, k):
    red, green, blue = np.int32(pixels[k]), np.int32(pixels[k + INDEX(1)]), np.int32(pixels[k + INDEX(2)])
    return (19595 * red + 38470 * green + 7471 * blue + 32768) >> 16


@compiled
def _mean_grey(pixels):
    total = 0
    for k in range(INDEX(0), INDEX(pixels.size), INDEX(3)):
        total += _luma(pixels, k)
    return F32(total) / F32(pixels.size // 3)


@kernel
def mean_grey(pixels: Tensor, active: Tensor) -> Tensor:
    source, out = pixels.permute(0, 2, 3, 1).contiguous().flatten(1).numpy(), torch.zeros(len(pixels))
    chosen, target = active.numpy(), out.numpy()

    def work(i: int) -> None:
        if chosen[i]:
            target[i] = _mean_grey(source[i])

    each_image(work, len(pixels))
    return out


@inlined
def _level(v):
    """A real level as one whose fraction can be dropped."""
    v += F32(0.5)
    return F32(0.0) if v < F32(0.0) else F32(255.5) if v > F32(255.5) else v


@compiled
def _mix_grey(pixels, share, out):
    for j in range(INDEX(pixels.size // 3)):
        k = INDEX(3) * j
        red, green, blue = F32(pixels[k]), F32(pixels[k + INDEX(1)]), F32(pixels[k + INDEX(2)])
        # in 65536ths, whole and below 2**24, so exact
        grey = F32(19595.0) * red + F32(38470.0) * green + F32(7471.0) * blue + F32(32768.0)
        grey = np.floor(grey * F32(2.0**-16))
        out[k] = np.uint8(np.int32(_level(red + share * (grey - red))))
        out[k + INDEX(1)] = np.uint8(np.int32(_level(green + share * (grey - green))))
        out[k + INDEX(2)] = np.uint8(np.int32(_level(blue + share * (grey - blue))))


@kernel
def mix_grey(pixels: Tensor, share: Tensor) -> Tensor:
    def mix(image, share, out) -> None:
        if share == 0.0:
            out[:] = image
        else:
            _mix_grey(image.reshape(-1), share, out.reshape(-1))

    return fill_pixels(pixels, mix, share)


@compiled
def _mix_channels(pixels, mixture, out):
    """Shares in 1024ths: all sums are exact."""
    a, b, c, d, e, f, g, h, m = mixture.ravel()
    for j in range(INDEX(pixels.size // 3)):
        k = INDEX(3) * j
        red, green, blue = F32(pixels[k]), F32(pixels[k + INDEX(1)]), F32(pixels[k + INDEX(2)])
        out[k] = np.uint8(np.int32(_level(a * red + b * green + c * blue)))
        out[k + INDEX(1)] = np.uint8(np.int32(_level(d * red + e * green + f * blue)))
        out[k + INDEX(2)] = np.uint8(np.int32(_level(g * red + h * green + m * blue)))


@kernel
def mix_channels(pixels: Tensor, mixture: Tensor) -> Tensor:
    shares = mixture.numpy().astype(F32) * F32(1 / 1024)

    def work(image, out) -> None:
        _mix_channels(image.reshape(-1), shares, out.reshape(-1))

    return fill_pixels(pixels, work)


# for each of 180 hues: which channel is high, which low, which between them, and how far, in 30ths
_SIXTH = np.arange(256) // 30 % 6
HIGH, LOW, BETWEEN = (
    np.array(order, INDEX)[_SIXTH] for order in ((0, 1, 1, 2, 2, 0), (2, 2, 0, 0, 1, 1), (1, 0, 2, 1, 0, 2))
)
CLIMB = np.where(_SIXTH % 2 == 0, np.arange(256) % 30, 30 - np.arange(256) % 30).astype(np.int32)
HUES = (HUE_STEPS, SATURATION_STEPS, HIGH, LOW, BETWEEN, CLIMB)


# Numbers of 32 bits stay such only if they are told so, sum by sum; and a choice between two numbers that are there
# already costs no jump.


@inlined
def _half_degrees(red, green, blue, top, spread, steps):
    """The hue, 0..179; grey has hue 0."""
    first, second, third = I32(green - blue), I32(blue - red + 2 * spread), I32(red - green + 4 * spread)
    hue = second if top == green else third
    hue = first if top == red else hue
    hue = I32(I32(hue * steps[INDEX(spread)] + 2048) >> 12)
    turned = I32(hue + 180)
    return INDEX(turned if hue < 0 else hue)


@inlined
def _ends(red, green, blue):
    """The greatest and the least."""
    top, bottom = red if red > green else green, red if red < green else green
    return top if top > blue else blue, bottom if bottom < blue else blue


@inlined
def _put_colour(out, k, hue, low, high, highs, lows, betweens, climb):
    """Channels between `low` and `high`, in 255ths: in each sixth of the circle one is low, one high, one between."""
    out[k + highs[hue]] = U32(high + U32(127)) // U32(255)
    out[k + lows[hue]] = U32(low + U32(127)) // U32(255)
    out[k + betweens[hue]] = U32(U32(30) * low + U32(high - low) * U32(climb[hue]) + U32(3825)) // U32(7650)


@compiled
def _map_hsv(pixels, tables, hue_steps, saturation_steps, highs, lows, betweens, climb, out):
    hues, saturations, values = tables[0], tables[1], tables[2]
    for k in range(INDEX(0), INDEX(pixels.size), INDEX(3)):
        red, green, blue = I32(pixels[k]), I32(pixels[k + INDEX(1)]), I32(pixels[k + INDEX(2)])
        top, bottom = _ends(red, green, blue)
        spread = I32(top - bottom)
        hue = INDEX(hues[_half_degrees(red, green, blue, top, spread, hue_steps)])
        value = U32(values[INDEX(top)])
        saturation = U32(saturations[INDEX(I32(spread * saturation_steps[INDEX(top)] + 2048) >> 12)])
        low = U32(value * U32(U32(255) - saturation))
        _put_colour(out, k, hue, low, U32(U32(255) * value), highs, lows, betweens, climb)


@compiled
def _map_hls(pixels, tables, hue_steps, saturation_steps, highs, lows, betweens, climb, out):
    hues, lights, saturations = tables[0], tables[1], tables[2]
    for k in range(INDEX(0), INDEX(pixels.size), INDEX(3)):
        red, green, blue = I32(pixels[k]), I32(pixels[k + INDEX(1)]), I32(pixels[k + INDEX(2)])
        top, bottom = _ends(red, green, blue)
        spread, total = I32(top - bottom), I32(top + bottom)
        rest = I32(510 - total)
        room = total if total < rest else rest
        hue = INDEX(hues[_half_degrees(red, green, blue, top, spread, hue_steps)])
        light = U32(lights[INDEX(I32(total + 1) >> 1)])
        saturation = U32(saturations[INDEX(I32(spread * saturation_steps[INDEX(room)] + 2048) >> 12)])
        dark = U32(U32(255) - light)
        high = U32(U32(255) * light + U32(light if light < dark else dark) * saturation)
        _put_colour(out, k, hue, U32(U32(510) * light - high), high, highs, lows, betweens, climb)


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


@kernel
def map_colours(pixels: Tensor, space: str, tables: Tensor, active: Tensor) -> Tensor:
    mapping = {"hsv": _map_hsv, "hls": _map_hls, "pillow_hsv": _map_pillow_hsv}[space]
    steps = () if space == "pillow_hsv" else HUES

    def work(image, tables, active, out) -> None:
        if active:
            mapping(image.reshape(-1), tables, *steps, out.reshape(-1))
        else:
            out[:] = image

    return fill_pixels(pixels, work, tables, active)


BLOCK = 1024  # values: their sums stay in the fastest cache until the last layer has been added


@compiled
def _mix_bytes(pixels, others, shares, out, start, stop):
    """Images `start` to `stop` of (N, C * H * W)."""
    for n in range(start, stop):
        for first in range(0, out.shape[1], BLOCK):
            sums, values, share = out[n, first : first + BLOCK], pixels[n, first : first + BLOCK], shares[0, n]
            for k in range(INDEX(sums.size)):
                sums[k] = values[k] * share
            for layer in range(others.shape[0]):
                values, share = others[layer, n, first : first + BLOCK], shares[layer + 1, n]
                for k in range(INDEX(sums.size)):
                    sums[k] += values[k] * share


@kernel
def mix_bytes(pixels: Tensor, others: Tensor, shares: Tensor) -> Tensor:
    out = torch.empty(pixels.shape, dtype=torch.float32)
    source, target = pixels.contiguous().flatten(1).numpy(), out.flatten(1).numpy()
    layers, weights = others.contiguous().flatten(2).numpy(), shares.contiguous().numpy()
    over_images(lambda start, stop: _mix_bytes(source, layers, weights, target, start, stop), len(pixels))
    return out


@compiled
def _dither(image, quantised, out):
    channels, height, width = image.shape
    for c in range(channels):
        for i in range(height):
            error = 0
            for j in range(width):
                current = np.int64(image[c, i, j])
                if i > 0:
                    current = min(max(current + (7 * error >> 4), 0), 255)
                if i < height - 1:
                    current = min(max(current + (error >> 4), 0), 255)
                level = quantised[current]
                out[c, i, j] = level
                error = current - level


@kernel
def dither_rows(pixels: Tensor, levels: int) -> Tensor:
    quantised = 255 * (levels * np.arange(256) >> 8) // (levels - 1)
    return fill(torch.empty_like(pixels, memory_format=torch.contiguous_format), _dither, pixels, quantised)
