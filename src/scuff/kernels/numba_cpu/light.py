"""Light on a scene, and what lies before it: one pass over each picture, with every product and sum rounded."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from scuff.kernels.dispatch import KERNELS, kernel
from scuff.kernels.numba_cpu.compiling import F32, INDEX, byte_to_unit, compiled
from scuff.kernels.numba_cpu.filling import fill, fill_pixels
from scuff.kernels.numba_cpu.pixels import mean_of


def _of_colours(name: str, loop: Callable, x: Tensor, *numbers: float) -> Tensor:
    """`loop` over the planes (3, pixels) of colour pictures; others are rare, and left to plain torch."""
    if x.shape[1] != 3:
        return KERNELS["reference", name](x, *numbers)
    out = torch.empty(x.shape)
    fill(out.flatten(2), loop, x.flatten(2), *map(float, numbers))
    return out


@compiled
def _whiten(x, share, out):
    keep, rest = F32(share), F32(1.0 - share)
    for j in range(INDEX(x.shape[1])):
        red, green, blue = x[0, j], x[1, j], x[2, j]
        pale = F32(1.5) * (F32(0.299) * red + F32(0.587) * green + F32(0.114) * blue) + F32(0.5)
        out[0, j] = keep * red + rest * max(red, pale)
        out[1, j] = keep * green + rest * max(green, pale)
        out[2, j] = keep * blue + rest * max(blue, pale)


@kernel
def whiten(x: Tensor, keep: float) -> Tensor:
    return _of_colours("whiten", _whiten, x, keep)


@compiled
def _add_streaks(scene, streaks, out):
    size = INDEX(scene.shape[1])
    for c in range(len(scene)):
        for j in range(size):
            streak, turned = byte_to_unit(streaks[j]), byte_to_unit(streaks[size - INDEX(1) - j])
            out[c, j] = scene[c, j] + streak + turned


@kernel
def add_streaks(scene: Tensor, streaks: Tensor) -> Tensor:
    out = torch.empty(scene.shape)
    fill(out.flatten(2), _add_streaks, scene.flatten(2), streaks.flatten(1))
    return out


@compiled
def _shift_value(x, shift, out):
    for j in range(INDEX(x.shape[1])):
        red, green, blue = x[0, j], x[1, j], x[2, j]
        value = max(max(red, green), blue)
        shifted = min(max(value + F32(shift), F32(0.0)), F32(1.0))
        is_black, gain = value <= F32(0.0), shifted / value
        out[0, j] = shifted if is_black else red * gain
        out[1, j] = shifted if is_black else green * gain
        out[2, j] = shifted if is_black else blue * gain


@kernel
def shift_value(x: Tensor, shift: float) -> Tensor:
    return _of_colours("shift_value", _shift_value, x, shift)


@compiled
def _scale_saturation(x, gain, shift, out):
    for j in range(INDEX(x.shape[1])):
        red, green, blue = x[0, j], x[1, j], x[2, j]
        value = max(max(red, green), blue)
        spread = value - min(min(red, green), blue)
        saturation = spread / value if value > F32(0.0) else F32(0.0)
        wanted = min(max(F32(gain) * saturation + F32(shift), F32(0.0)), F32(1.0))
        ratio, tinted = wanted / saturation, value * (F32(1.0) - wanted)
        is_coloured = spread > F32(0.0)
        out[0, j] = value - (value - red) * ratio if is_coloured else value
        out[1, j] = value - (value - green) * ratio if is_coloured else tinted
        out[2, j] = value - (value - blue) * ratio if is_coloured else tinted


@kernel
def scale_saturation(x: Tensor, gain: float, shift: float) -> Tensor:
    return _of_colours("scale_saturation", _scale_saturation, x, gain, shift)


@compiled
def _blend_window(x, which, corner, keep, textures, share, out):
    texture, row, column = textures[which], INDEX(corner[0]), INDEX(corner[1])
    for c in range(INDEX(x.shape[0])):
        for i in range(INDEX(x.shape[1])):
            for j in range(INDEX(x.shape[2])):
                out[c, i, j] = keep * x[c, i, j] + share * texture[c, row + i, column + j]


@kernel
def blend_windows(x: Tensor, keep: float, table: Tensor, which: Tensor, corners: Tensor, share: float) -> Tensor:
    """Rows are read whole, an image while it is in the caches; a gather would look up every pixel."""
    textures = table.contiguous().numpy()
    return fill(torch.empty(x.shape), _blend_window, x, which, corners, F32(keep), textures, F32(share))


@compiled
def _add_cloud(x, cloud, strength, tops, out):
    """`x` and `out` are (C, H, W). `tops` is scratch: maxima of columns, several at a time."""
    for j in range(INDEX(tops.size)):
        tops[j] = x[0, 0, j]
    for c in range(x.shape[0]):
        for i in range(x.shape[1]):
            row = x[c, i]
            for j in range(INDEX(tops.size)):
                tops[j] = row[j] if row[j] > tops[j] else tops[j]
    brightest = tops.max()
    share = brightest / (brightest + strength)
    for c in range(x.shape[0]):
        for i in range(x.shape[1]):
            row, puffs, target = x[c, i], cloud[i], out[c, i]
            for j in range(INDEX(row.size)):
                target[j] = (strength * puffs[j] + row[j]) * share


@kernel
def add_cloud(x: Tensor, cloud: Tensor, strength: float) -> Tensor:
    out, width = torch.empty(x.shape), x.shape[3]
    return fill(out, _add_cloud, x, cloud[:, 0], F32(strength), scratch=lambda: (np.empty(width, F32),))


@compiled
def _scale_contrast(plane, gain, out):
    middle = F32(mean_of(plane))
    for j in range(INDEX(plane.size)):
        out[j] = (plane[j] - middle) * gain + middle


@kernel
def scale_contrast(x: Tensor, gain: float) -> Tensor:
    """A plane is in the cache when its mean is known."""
    out = torch.empty(x.shape)
    fill(out.flatten(2).flatten(0, 1), _scale_contrast, x.flatten(2).flatten(0, 1), F32(gain))
    return out


@compiled
def _lay_fog(image, puffs, clear, table, out):
    """`table` (counts, 256) is scratch: what becomes of each level behind so many puffs."""
    left, channels = F32(1.0), image.shape[2]
    for count in range(len(table)):
        for level in range(256):
            value = F32(1.0) - (F32(1.0) - byte_to_unit(level)) * left
            value = min(max(value, F32(0.0)), F32(1.0)) * F32(255.0) + F32(0.5)
            table[count, level] = np.uint8(np.int32(value))
        left *= clear
    for i in range(len(image)):
        line, above, target = image[i], puffs[i], out[i]
        for j in range(INDEX(len(line))):
            for c in range(INDEX(channels)):
                target[j, c] = table[above[j], line[j, c]]


@kernel
def lay_fog(pixels: Tensor, puffs: Tensor, clear: Tensor, most: int) -> Tensor:
    """Few levels behind few puffs: a table, looked up."""
    return fill_pixels(pixels, _lay_fog, puffs, clear, scratch=lambda: (np.empty((most + 1, 256), np.uint8),))
