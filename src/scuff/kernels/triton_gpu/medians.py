# mypy: disable-error-code="assignment"
# Tuples grow here, in loops that are unrolled.
"""Medians, 32 pixels to a thread: one bit of each in a word, and logic of words in place of arithmetic of pixels."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.triton_gpu.launching import blocks, launch

LANES = 64
BYTES = tl.constexpr(0x01010101)  # the lowest bit of each of four bytes


@triton.jit
def _slice_kernel(pixels, slices, height, width, strip, reach, WIDE: tl.constexpr, LANES: tl.constexpr):
    """Eight words for each place of a strip and of its surroundings: word b has bit b of the same place in 32 strips.

    So neighbours of 32 pixels are neighbouring words, up, down and aside. Edges repeat.
    """
    plane, y = tl.program_id(0).to(tl.int64), tl.program_id(1)
    column = tl.program_id(2) * LANES + tl.arange(0, LANES)
    pixels += plane * height * width + tl.minimum(tl.maximum(column - reach, 0), width - 1)
    zero = tl.zeros((LANES,), tl.int32)
    words = (zero, zero, zero, zero, zero, zero, zero, zero)
    for j in tl.static_range(8):
        four = zero
        for k in tl.static_range(4):
            row = tl.minimum(tl.maximum((j + 8 * k) * strip + y - reach, 0), height - 1)
            four |= tl.load(pixels + row * width).to(tl.int32) << (8 * k)
        more = ()
        for bit in tl.static_range(8):
            more += (words[bit] | (((four >> bit) & BYTES) << j),)
        words = more
    slices += ((plane * (strip + 2 * reach) + y) * 8) * WIDE + column
    for bit in tl.static_range(8):
        tl.store(slices + bit * WIDE, words[bit])


@triton.jit
def _counted(count, one, other):
    """Two bits for each pixel, added to numbers whose bits are in the words of `count`."""
    more = (count[0] ^ one ^ other,)
    carry = (count[0] & one) | (other & (count[0] ^ one))
    for k in tl.static_range(1, len(count)):
        more += (count[k] ^ carry,)
        carry = count[k] & carry
    return more


@triton.jit
def _added(total, count):
    """Sums of two numbers for each pixel; the second has fewer bits."""
    carry = tl.zeros_like(total[0])
    more = ()
    for k in tl.static_range(len(total)):
        if k < len(count):
            more += (total[k] ^ count[k] ^ carry,)
            carry = (total[k] & count[k]) | (carry & (total[k] ^ count[k]))
        else:
            more += (total[k] ^ carry,)
            carry = total[k] & carry
    return more


@triton.jit
def _at_least(words, known, BIT: tl.constexpr, WIDE: tl.constexpr):
    """Whether pixels are at least what is known of the medians, with a one as their next bit and zeros behind it."""
    result = tl.load(words + BIT * WIDE)
    for k in tl.static_range(BIT + 1, 8):
        bit = tl.load(words + k * WIDE)
        result = (bit & ~known[7 - k]) | (result & ~(bit ^ known[7 - k]))
    return result


@triton.jit
def _median_kernel(
    slices, radius, out, channels, height, width, strip, most,
    ROW_BITS: tl.constexpr, BITS: tl.constexpr, WIDE: tl.constexpr, LANES: tl.constexpr,
):  # fmt: skip
    """Bit by bit, from the highest: it is set if most values of the window are at least what is known with it set.

    Values are counted in binary, a word for each digit. Counts start so high that the majority reaches the last digit.
    """
    plane, y = tl.program_id(0).to(tl.int64), tl.program_id(1)
    column = tl.program_id(2) * LANES + tl.arange(0, LANES)
    reach = tl.load(radius + plane // channels)
    majority = (2 * reach + 1) * (2 * reach + 1) // 2 + 1
    slices += (plane * (strip + 2 * most) + y + most - reach) * 8 * WIDE
    slices += tl.minimum(column, width - 1) + most  # clamped, so that loads coalesce: see `_lanes` of correlations.py
    zero = tl.zeros((LANES,), tl.int32)
    known = ()
    for step in tl.static_range(8):
        total = ()
        for k in tl.static_range(BITS):
            total += (zero - (((1 << (BITS - 1)) - majority >> k) & 1),)
        for down in range(2 * reach + 1):
            row = slices + down * 8 * WIDE
            count = (_at_least(row, known, 7 - step, WIDE),)
            for _ in tl.static_range(1, ROW_BITS):
                count += (zero,)
            for aside in range(1, reach + 1):
                left = _at_least(row - aside, known, 7 - step, WIDE)
                count = _counted(count, left, _at_least(row + aside, known, 7 - step, WIDE))
            total = _added(total, count)
        known += (total[BITS - 1],)
    out += plane * height * width + tl.minimum(column, width - 1)
    for j in tl.static_range(8):
        four = zero
        for bit in tl.static_range(8):
            four |= ((known[7 - bit] >> j) & BYTES) << bit
        for k in tl.static_range(4):
            row = zero + (j + 8 * k) * strip + y
            level = (four >> (8 * k)) & 255
            tl.store(out + row * width, level.to(tl.uint8), mask=(column < width) & (row < height))


@kernel
def median(pixels: Tensor, radius: Tensor, largest: int) -> Tensor:
    pixels, (n, channels, height, width) = pixels.contiguous(), pixels.shape
    out = torch.empty_like(pixels)
    strip, wide = blocks(height, 32), blocks(width + 2 * largest, 64) * 64
    tall, side = strip + 2 * largest, 2 * largest + 1
    slices = torch.empty(n * channels, tall, 8, wide, dtype=torch.int32, device=pixels.device)
    launch(
        _slice_kernel, (n * channels, tall, wide // LANES), slices,
        pixels, slices, height, width, strip, largest, WIDE=wide, LANES=LANES, num_warps=1,
    )  # fmt: skip
    return launch(
        _median_kernel, (n * channels, strip, blocks(width, LANES)), out,
        slices, radius.contiguous(), out, channels, height, width, strip, largest,
        ROW_BITS=side.bit_length(), BITS=(side * side // 2).bit_length() + 1, WIDE=wide, LANES=LANES, num_warps=2,
    )  # fmt: skip
