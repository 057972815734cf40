"""Bytes through tables, and channels mixed.

Images are worked on with a pixel's channels side by side, the order in which pictures usually come.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.numba_cpu.compiling import F32, INDEX, compiled, inlined
from scuff.kernels.numba_cpu.layout import new_pixels, side_by_side
from scuff.kernels.threads import each_image, over_images

U64, BYTE = np.uint64, np.uint64(255)


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
def _is_identity(table):
    for level in range(256):  # noqa: SIM110  (numba compiles loops, not generators)
        if table[level] != level:
            return False
    return True


@compiled
def _lookup_all(pixels, tables, out, start, stop):
    """Images `start` to `stop` of (N, words); the table of several channels may be one and the same."""
    last = tables.shape[1] - 1
    for i in range(start, stop):
        if last == 0 and _is_identity(tables[i, 0]):
            out[i] = pixels[i]
        else:
            _lookup_by_words(pixels[i], tables[i, 0], tables[i, min(1, last)], tables[i, last], out[i])


@kernel
def lookup(pixels: Tensor, tables: Tensor) -> Tensor:
    source, (out, target) = side_by_side(pixels), new_pixels(pixels)
    entries = tables.expand(len(pixels), -1, -1)[:, : pixels.shape[1]].contiguous().numpy()
    size = math.prod(pixels.shape[1:])
    values, levels = (array.reshape(len(pixels), size) for array in (source, target))
    if size % 24 == 0:
        values, levels, entries = values.view(U64), levels.view(U64), entries.astype(U64)
        over_images(lambda start, stop: _lookup_all(values, entries, levels, start, stop), len(pixels))
    else:
        each_image(lambda i: _lookup(values[i], entries[i], levels[i]), len(pixels))
    return out


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
    source, out, chosen = side_by_side(pixels), torch.zeros(len(pixels)), active.numpy()
    target = out.numpy()

    def work(i: int) -> None:
        if chosen[i]:
            target[i] = _mean_grey(source[i].reshape(-1))

    each_image(work, len(pixels))
    return out


@compiled
def _part(line, red, green, blue):
    """A row's channels into arrays of their own, as float32: arithmetic on those works on several pixels at once."""
    for j in range(INDEX(red.size)):
        k = INDEX(3) * j
        red[j], green[j], blue[j] = line[k], line[k + INDEX(1)], line[k + INDEX(2)]


@compiled
def _join(red, green, blue, line):
    """Three channels in [0, 256) into a row of pixels; fractions are dropped."""
    for j in range(INDEX(red.size)):
        k = INDEX(3) * j
        line[k], line[k + INDEX(1)] = np.uint8(np.int32(red[j])), np.uint8(np.int32(green[j]))
        line[k + INDEX(2)] = np.uint8(np.int32(blue[j]))


@inlined
def _level(v):
    """A real level as one whose fraction can be dropped."""
    v += F32(0.5)
    return F32(0.0) if v < F32(0.0) else F32(255.5) if v > F32(255.5) else v


@compiled
def _mix_grey(pixels, share, red, green, blue, out):
    for i in range(pixels.shape[0]):
        _part(pixels[i].reshape(-1), red, green, blue)
        for j in range(red.size):
            # in 65536ths, whole and below 2**24, so exact
            grey = F32(19595.0) * red[j] + F32(38470.0) * green[j] + F32(7471.0) * blue[j] + F32(32768.0)
            grey = np.floor(grey * F32(2.0**-16))
            red[j] = _level(red[j] + share * (grey - red[j]))
            green[j] = _level(green[j] + share * (grey - green[j]))
            blue[j] = _level(blue[j] + share * (grey - blue[j]))
        _join(red, green, blue, out[i].reshape(-1))


def _three_rows(pixels: Tensor) -> tuple[np.ndarray, ...]:
    return tuple(np.empty(pixels.shape[3], F32) for _ in range(3))


@kernel
def mix_grey(pixels: Tensor, share: Tensor) -> Tensor:
    source, (out, target) = side_by_side(pixels), new_pixels(pixels)
    shares = share.numpy()

    def work(start: int, stop: int) -> None:
        channels = _three_rows(pixels)
        for i in range(start, stop):
            if shares[i] == 0.0:
                target[i] = source[i]
            else:
                _mix_grey(source[i], shares[i], *channels, target[i])

    over_images(work, len(pixels))
    return out


@compiled
def _mix_channels(pixels, mixture, red, green, blue, out):
    a, b, c, d, e, f, g, h, k = mixture.ravel()
    for i in range(pixels.shape[0]):
        _part(pixels[i].reshape(-1), red, green, blue)
        for j in range(red.size):
            r, s, t = red[j], green[j], blue[j]
            red[j] = _level(a * r + b * s + c * t)
            green[j] = _level(d * r + e * s + f * t)
            blue[j] = _level(g * r + h * s + k * t)
        _join(red, green, blue, out[i].reshape(-1))


@kernel
def mix_channels(pixels: Tensor, mixture: Tensor) -> Tensor:
    source, (out, target) = side_by_side(pixels), new_pixels(pixels)
    shares = mixture.numpy().astype(F32) * F32(1 / 1024)

    def work(start: int, stop: int) -> None:
        channels = _three_rows(pixels)
        for i in range(start, stop):
            _mix_channels(source[i], shares, *channels, target[i])

    over_images(work, len(pixels))
    return out
