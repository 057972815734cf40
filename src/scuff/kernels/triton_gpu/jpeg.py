"""JPEG there and back: blocks of 8 x 8 in registers, whole numbers throughout.

Blocks never leave the chip between colour conversion and dequantised samples: luma and half-sized chroma are written as
bytes, and a second pass over them enlarges the chroma, whose filter looks across blocks, and makes colours again. A DCT
pass is a sum of eight products for each value. Sums wrap modulo 2**32 and their results lie far within that, so that
neither order nor size of terms matters.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.reference.jpeg import dct_matrix
from scuff.kernels.triton_gpu.launching import blocks, launch

BLOCKS, LANES = 4, 1024


@triton.jit
def _pass(lines, matrix, SHIFT: tl.constexpr):
    """Transform the last axis of (BLOCKS, 8, 8), round to the given number of bits, and swap the last two axes."""
    product = tl.sum(lines[:, :, :, None] * matrix[None, None, :, :], axis=2)
    return tl.permute((product + (1 << (SHIFT - 1))) >> SHIFT, (0, 2, 1))


@triton.jit
def _there_and_back(levels, table, matrix, transposed):
    """Quantise the DCT of blocks of levels around 0; see the reference."""
    coefficients = _pass(_pass(levels, transposed, 11), transposed, 15)
    steps = (tl.abs(coefficients) + 4 * table) // (8 * table)
    coefficients = tl.where(coefficients < 0, -steps, steps) * table
    samples = _pass(_pass(tl.permute(coefficients, (0, 2, 1)), matrix, 11), matrix, 18)
    return tl.minimum(tl.maximum(tl.permute(samples, (0, 2, 1)) + 128, 0), 255)


@triton.jit
def _weighed(pixels, at, size, first, red, green, blue, offset):
    """A weighted sum of the three channels; the weights count 65536ths."""
    total = red * tl.load(pixels + first * size + at).to(tl.int32)
    total += green * tl.load(pixels + size + at).to(tl.int32)
    total += blue * tl.load(pixels + (2 - first) * size + at).to(tl.int32)
    return (total + offset) >> 16


@triton.jit
def _blocks_kernel(
    pixels, tables, matrix, out, height, width, tall, wide, down, across, first, table_step,
    CHROMA: tl.constexpr, BLOCKS: tl.constexpr,
):  # fmt: skip
    """`out` is (N, planes, tall, wide): the luma, or the two chroma planes at half size."""
    image, plane, size = tl.program_id(0).to(tl.int64), tl.program_id(2), height * width
    block = tl.program_id(1) * BLOCKS + tl.arange(0, BLOCKS)[:, None, None]
    i, j = tl.arange(0, 8)[None, :, None], tl.arange(0, 8)[None, None, :]
    row, column = block // across * 8 + i, block % across * 8 + j
    pixels += image * 3 * size
    y = tl.minimum(row, tall - 1)
    if CHROMA:  # 2 x 2 means with the encoder's alternating bias
        is_blue = plane == 0
        red, green, blue = (
            tl.where(is_blue, -11058, 32768),
            tl.where(is_blue, -21710, -27439),
            tl.where(is_blue, 32768, -5329),
        )
        offset: tl.constexpr = (128 << 16) + 32767
        top, bottom = 2 * y * width, tl.minimum(2 * y + 1, height - 1) * width
        left, right = tl.minimum(2 * column, width - 1), tl.minimum(2 * column + 1, width - 1)
        levels = _weighed(pixels, top + left, size, first, red, green, blue, offset)
        levels += _weighed(pixels, top + right, size, first, red, green, blue, offset)
        levels += _weighed(pixels, bottom + left, size, first, red, green, blue, offset)
        levels += _weighed(pixels, bottom + right, size, first, red, green, blue, offset)
        levels = (levels + 1 + (column & 1)) >> 2
    else:
        at = y * width + tl.minimum(column, width - 1)
        levels = _weighed(pixels, at, size, first, 19595, 38470, 7471, 32768)
    k, m = tl.arange(0, 8)[:, None], tl.arange(0, 8)[None, :]
    table = tl.load(tables + image * table_step + i * 8 + j)
    samples = _there_and_back(levels - 128, table, tl.load(matrix + k * 8 + m), tl.load(matrix + m * 8 + k))
    out += (image * tl.num_programs(2) + plane) * tall * wide
    used = (block < down * across) & (row < tall) & (column < wide)
    tl.store(out + row * wide + column, samples.to(tl.uint8), mask=used)


@triton.jit
def _enlarged(chroma, near, far, row, other, SMOOTH: tl.constexpr, bias):
    """Chroma around 0 at full size: 3/4 of the nearer sample and 1/4 of the farther one, in both directions."""
    value = tl.load(chroma + row + near).to(tl.int32)
    if SMOOTH:
        value = 3 * value + tl.load(chroma + other + near).to(tl.int32)
        beside = 3 * tl.load(chroma + row + far).to(tl.int32) + tl.load(chroma + other + far).to(tl.int32)
        value = (3 * value + beside + bias) >> 4
    return value - 128


@triton.jit
def _level(value):
    return tl.minimum(tl.maximum(value, 0), 255).to(tl.uint8)


@triton.jit
def _colours_kernel(
    luma, chroma, out, height, width, tall, wide, first, SMOOTH: tl.constexpr, LANES: tl.constexpr
):  # fmt: skip
    image, size = tl.program_id(0).to(tl.int64), height * width
    at = tl.program_id(1) * LANES + tl.arange(0, LANES)
    inside = at < size
    place = tl.where(inside, at, 0)
    i, j = place // width, place % width
    k, m = i >> 1, j >> 1
    row, other = k * wide, tl.minimum(tl.maximum(k - 1 + 2 * (i & 1), 0), tall - 1) * wide
    far, bias = tl.minimum(tl.maximum(m - 1 + 2 * (j & 1), 0), wide - 1), 8 - (j & 1)
    chroma += image * 2 * tall * wide
    y = tl.load(luma + image * size + place).to(tl.int32)
    cb = _enlarged(chroma, m, far, row, other, SMOOTH, bias)
    cr = _enlarged(chroma + tall * wide, m, far, row, other, SMOOTH, bias)
    out += image * 3 * size + at
    tl.store(out + first * size, _level(y + ((91881 * cr + 32768) >> 16)), mask=inside)
    tl.store(out + size, _level(y + ((-22554 * cb - 46802 * cr + 32768) >> 16)), mask=inside)
    tl.store(out + (2 - first) * size, _level(y + ((116130 * cb + 32768) >> 16)), mask=inside)


@kernel
def through_jpeg(pixels: Tensor, luma: Tensor, chroma: Tensor, swapped: bool = False) -> Tensor:
    pixels, (n, _, height, width) = pixels.contiguous(), pixels.shape
    tall, wide, first = (height + 1) // 2, (width + 1) // 2, 2 if swapped else 0
    matrix = dct_matrix(pixels.device, torch.int32)
    planes = []
    for tables, count, size in ((luma, 1, (height, width)), (chroma, 2, (tall, wide))):
        plane = torch.empty(n, count, *size, dtype=torch.uint8, device=pixels.device)
        down, across = (blocks(length, 8) for length in size)
        launch(
            _blocks_kernel, (n, blocks(down * across, BLOCKS), count), plane,
            pixels, tables.contiguous(), matrix, plane, height, width, *size, down, across, first,
            64 if len(tables) > 1 else 0, CHROMA=count == 2, BLOCKS=BLOCKS, num_warps=1,
        )  # fmt: skip
        planes.append(plane)
    out = torch.empty_like(pixels)
    return launch(
        _colours_kernel, (n, blocks(height * width, LANES)), out,
        *planes, out, height, width, tall, wide, first, SMOOTH=wide > 2, LANES=LANES,
    )  # fmt: skip
