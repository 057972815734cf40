"""Colours: greys, whole images mixed, dither.

Images are worked on with a pixel's channels side by side, the order in which pictures usually come.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.numba_cpu.compiling import F32, INDEX, compiled, copy, inlined, values_of
from scuff.kernels.numba_cpu.filling import fill, fill_pixels
from scuff.kernels.numba_cpu.sharing import share


@inlined
def _luma(pixels, k):
    red, green, blue = np.int32(pixels[k]), np.int32(pixels[k + INDEX(1)]), np.int32(pixels[k + INDEX(2)])
    return (19595 * red + 38470 * green + 7471 * blue + 32768) >> 16


@compiled
def _mean_grey(pixels, is_active, out):
    total = 0
    for k in range(INDEX(0), INDEX(pixels.size if is_active else 0), INDEX(3)):
        total += _luma(pixels, k)
    out[0] = F32(total) / F32(pixels.size // 3)


@kernel
def mean_grey(pixels: Tensor, active: Tensor) -> Tensor:
    out = torch.empty(len(pixels), 1)
    return fill(out, _mean_grey, pixels.permute(0, 2, 3, 1).flatten(1), active)[:, 0]


@inlined
def _level(v):
    """A real level as one whose fraction can be dropped."""
    v += F32(0.5)
    return F32(0.0) if v < F32(0.0) else F32(255.5) if v > F32(255.5) else v


@compiled
def mix_image_with_grey(image, share, made):
    pixels, out = values_of(image), values_of(made)
    if share == F32(0.0):
        copy(pixels, out)
        return
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
    return fill_pixels(pixels, mix_image_with_grey, share)


@inlined
def _scaled(level, grey, factor):
    return np.uint8(np.int32(min(max(grey + factor * (F32(level) - grey), F32(0.0)), F32(255.0))))


@compiled
def _scale_colours(image, factor, made):
    pixels, out = values_of(image), values_of(made)
    for j in range(INDEX(pixels.size // 3)):
        k = INDEX(3) * j
        grey = F32(_luma(pixels, k))
        out[k] = _scaled(pixels[k], grey, factor)
        out[k + INDEX(1)] = _scaled(pixels[k + INDEX(1)], grey, factor)
        out[k + INDEX(2)] = _scaled(pixels[k + INDEX(2)], grey, factor)


@kernel
def scale_colours(pixels: Tensor, factor: Tensor) -> Tensor:
    return fill_pixels(pixels, _scale_colours, factor)


BLOCK = 1024  # values: their sums stay in the fastest cache until the last layer has been added


@compiled
def _mix_bytes(start, stop, pixels, others, shares, out):
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
    share(_mix_bytes, len(pixels), source, layers, weights, target)
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
