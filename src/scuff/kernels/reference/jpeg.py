"""JPEG there and back, by the arithmetic of libjpeg between pixels and quantised coefficients.

That is fixed-point colour conversion, 2 x 2 chroma, the "islow" integer DCT, quantisation, and triangle upsampling.
Huffman coding is lossless, so it is left out. Each DCT pass is an integer 8 x 8 matrix followed by one rounding shift;
in float64 the products are exact, so this gives the codec's bytes and not merely something near them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from scuff.kernels.borders import fold
from scuff.kernels.constants import remembered
from scuff.kernels.dispatch import kernel

__all__ = ["through_jpeg"]


@kernel
def through_jpeg(pixels: Tensor, luma: Tensor, chroma: Tensor, swapped: bool = False) -> Tensor:
    """Uint8 RGB (N, 3, H, W) through a baseline JPEG with 4:2:0 chroma; `swapped` takes red for blue, and blue for red.

    The quantisation tables are int32 (N, 8, 8), or (1, 8, 8) when every image shares them. Whole numbers throughout,
    and so bit-equal in every back end.
    """
    height, width = pixels.shape[-2:]
    red, green, blue = (pixels.flip(1) if swapped else pixels).to(torch.int32).unbind(1)
    y = (19595 * red + 38470 * green + 7471 * blue + 32768) >> 16
    offset = (128 << 16) + 32767
    cb = (-11058 * red - 21710 * green + 32768 * blue + offset) >> 16
    cr = (32768 * red - 27439 * green - 5329 * blue + offset) >> 16
    y = _through_blocks(y, luma)
    colours = _shrink(torch.stack((cb, cr), dim=1).flatten(0, 1))
    colours = _through_blocks(colours, chroma.repeat_interleave(2, 0) if len(chroma) > 1 else chroma)
    cb, cr = (_enlarge(colours, height, width) - 128).unflatten(0, (len(pixels), 2)).unbind(1)
    red = y + ((91881 * cr + 32768) >> 16)
    green = y + ((-22554 * cb - 46802 * cr + 32768) >> 16)
    blue = y + ((116130 * cb + 32768) >> 16)
    channels = (blue, green, red) if swapped else (red, green, blue)
    return torch.stack(channels, dim=1).clamp_(0, 255).to(torch.uint8)


@remembered(16)
def dct_matrix(device: torch.device, dtype: torch.dtype = torch.float64) -> Tensor:
    """One pass of the islow DCT as integers scaled by 2**13: its butterflies, run on the eight unit vectors."""
    return torch.from_numpy(np.stack(butterflies([*np.eye(8, dtype=np.int64)]))).to(device, dtype)


def butterflies(values: Sequence[Any]) -> tuple[Any, ...]:
    """Eight values become coefficients, 2**13 times as large; of anything that has sums, and products with numbers."""
    a, b, c, d, e, f, g, h = values
    outer, inner = (a + h) + (d + e), (b + g) + (c + f)
    tilt, bend = _turn((a + h) - (d + e), (b + g) - (c + f))
    seven, five, three, one = _mix_odd(d - e, c - f, b - g, a - h)
    return (outer + inner) * 8192, one, tilt, three, (outer - inner) * 8192, five, bend, seven


def butterflies_back(coefficients: Sequence[Any]) -> tuple[Any, ...]:
    """Eight coefficients become values again: the transposed matrix."""
    zero, one, two, three, four, five, six, seven = coefficients
    tilt, bend = _turn(two, six)
    outer, inner = (zero + four) * 8192, (zero - four) * 8192
    e, f, g, h = _mix_odd(seven, five, three, one)
    a, b, c, d = outer + tilt, inner + bend, inner - bend, outer - tilt
    return a + h, b + g, c + f, d + e, d - e, c - f, b - g, a - h


def _turn(a: Any, b: Any) -> tuple[Any, Any]:
    """The second and the sixth coefficient, or what they come from."""
    return a * 10703 + b * 4433, a * 4433 - b * 10704


def _mix_odd(a: Any, b: Any, c: Any, d: Any) -> tuple[Any, ...]:
    """The seventh, fifth, third and first coefficient, or what they come from."""
    p, q, r, s = (a + d) * 7373, (b + c) * 20995, a + c, b + d
    r, s = s * 9633 - r * 6436, r * 9633 + s * 6437
    return a * 2446 - p + r, b * 16819 - q + s, c * 25172 - q + r, d * 12299 - p + s


def _pass(lines: Tensor, matrix: Tensor, shift: int) -> Tensor:
    """Transform the last axis, round to the given number of bits, and swap the last two axes for the other pass."""
    product = lines @ matrix
    return product.mul_(2.0**-shift).add_(0.5).floor_().mT.contiguous()


def _through_blocks(plane: Tensor, table: Tensor) -> Tensor:
    """Quantise the DCT of each 8 x 8 block of int32 (N, H, W); sides are padded by repetition and cut back after."""
    n, h, w = plane.shape
    plane = _extended(plane, (0, -h % 8), (0, -w % 8))
    down, across = plane.shape[1] // 8, plane.shape[2] // 8
    blocks = plane.view(n, down, 8, across, 8).transpose(2, 3).sub(128).double()
    matrix, table = dct_matrix(plane.device), table.double()[:, None, None]
    # forward: rows, then columns (each pass leaves the block transposed); the result is eight times the DCT
    coefficients = _pass(_pass(blocks, matrix.mT, 11), matrix.mT, 15)
    steps = coefficients.abs().div_(8.0).add_(0.5 * table).div_(table).floor_()
    coefficients = steps.copysign_(coefficients).mul_(table)
    # back: columns, then rows
    samples = _pass(_pass(coefficients.mT, matrix, 11), matrix, 18)
    samples = samples.mT.add(128.0).clamp_(0.0, 255.0).to(torch.int32)
    return samples.transpose(2, 3).reshape(n, down * 8, across * 8)[:, :h, :w]


def _shrink(chroma: Tensor) -> Tensor:
    """2 x 2 means with the encoder's alternating bias. Columns are repeated before, rows (beyond one) after it."""
    n, h, w = chroma.shape
    full = _extended(chroma, (0, h % 2), (0, -w % 16))
    total = full.view(n, (h + 1) // 2, 2, full.shape[2] // 2, 2).sum((2, 4), dtype=torch.int32)
    bias = 1 + torch.arange(total.shape[2], device=chroma.device, dtype=torch.int32) % 2
    return (total + bias) >> 2


def _enlarge(chroma: Tensor, height: int, width: int) -> Tensor:
    """Triangle filter: 3/4 of the nearer sample and 1/4 of the farther one, in both directions."""
    chroma = chroma[:, : (height + 1) // 2, : (width + 1) // 2]
    if chroma.shape[2] <= 2:  # too narrow for the decoder's filter: it repeats samples
        wide = chroma.repeat_interleave(2, 1).repeat_interleave(2, 2)
        return wide[:, :height, :width]
    tall = _extended(chroma, (1, 1), (0, 0))
    near = 3 * chroma
    rows = torch.stack((near + tall[:, :-2], near + tall[:, 2:]), dim=2).flatten(1, 2)
    wide = _extended(rows, (0, 0), (1, 1))
    near = 3 * rows
    left, right = (near + wide[..., :-2] + 8) >> 4, (near + wide[..., 2:] + 7) >> 4
    return torch.stack((left, right), dim=3).flatten(2)[:, :height, :width]


def _extended(plane: Tensor, rows: tuple[int, int], columns: tuple[int, int]) -> Tensor:
    """(N, H, W) with its outermost rows and columns repeated, (before, after)."""
    for axis, (before, after) in ((1, rows), (2, columns)):
        length = plane.shape[axis]
        at = torch.arange(-before, length + after, device=plane.device)
        plane = plane.index_select(axis, fold(at, length, "edge"))
    return plane
