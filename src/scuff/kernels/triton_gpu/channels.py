"""The three channels of a pixel, which kernels of colours read and write together."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def load_colour(image, size, at, inside):
    """Red, green and blue at places `at` of an image of planes of `size` values; 0 where not `inside`."""
    red = tl.load(image + at, mask=inside, other=0)
    green = tl.load(image + size + at, mask=inside, other=0)
    return red, green, tl.load(image + 2 * size + at, mask=inside, other=0)


@triton.jit
def load_levels(image, size, at, inside):
    """`load_colour` of bytes, as whole numbers that may grow."""
    red, green, blue = load_colour(image, size, at, inside)
    return red.to(tl.int32), green.to(tl.int32), blue.to(tl.int32)


@triton.jit
def store_colour(image, size, at, inside, red, green, blue):
    """Floats into floats, or whole numbers into bytes."""
    tl.store(image + at, red.to(image.dtype.element_ty), mask=inside)
    tl.store(image + size + at, green.to(image.dtype.element_ty), mask=inside)
    tl.store(image + 2 * size + at, blue.to(image.dtype.element_ty), mask=inside)


@triton.jit
def extremes(red, green, blue):
    """The greatest and the least."""
    return tl.maximum(tl.maximum(red, green), blue), tl.minimum(tl.minimum(red, green), blue)


@triton.jit
def luma(red, green, blue):
    """Pillow's grey of levels, rounded."""
    return (19595 * red + 38470 * green + 7471 * blue + 32768) >> 16
