"""Bytes in and out, and glass blur's copies."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.triton_gpu.launching import launch

LANES = 1024


@triton.jit
def _strided(at, channels, height, width, sn, sc, sh, sw):
    """Where element `at` of a contiguous (N, C, H, W) lies in a tensor of other strides."""
    j = at % width
    i = at // width % height
    c = at // (width * height) % channels
    n = at // (width * height * channels)
    return n * sn + c * sc + i * sh + j * sw


@triton.jit
def _to_unit_kernel(pixels, out, count, channels, height, width, sn, sc, sh, sw, LANES: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * LANES + tl.arange(0, LANES)
    inside = at < count
    value = tl.load(pixels + _strided(at, channels, height, width, sn, sc, sh, sw), mask=inside, other=0)
    # a correctly rounded quotient: truncating 255 times it gives the byte back
    tl.store(out + at, tl.div_rn(value.to(tl.float32), 255.0), mask=inside)


@triton.jit
def _to_bytes_kernel(batch, out, count, channels, height, width, sn, sc, sh, sw, shift, LANES: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * LANES + tl.arange(0, LANES)
    inside = at < count
    value = tl.load(batch + at, mask=inside, other=0.0)
    level = (tl.minimum(tl.maximum(value, 0.0), 1.0) * 255.0 + shift).to(tl.int32).to(tl.uint8)
    tl.store(out + _strided(at, channels, height, width, sn, sc, sh, sw), level, mask=inside)


@kernel
def bytes_to_unit(pixels: Tensor) -> Tensor:
    out = torch.empty(pixels.shape, dtype=torch.float32, device=pixels.device)
    return _convert(_to_unit_kernel, pixels, out, pixels)


@kernel
def unit_to_bytes(batch: Tensor, out: Tensor, nearest: bool = False) -> Tensor:
    return _convert(_to_bytes_kernel, batch.contiguous(), out, out, 0.5 if nearest else 0.0)


def _convert(converting, source: Tensor, out: Tensor, strided: Tensor, *arguments: float) -> Tensor:
    count = source.numel()
    sizes = (*source.shape[1:], *strided.stride())
    return launch(converting, (triton.cdiv(count, LANES),), out, source, out, count, *sizes, *arguments, LANES=LANES)


@triton.jit
def _is_written(p, height, width, reach):
    row, column = p // width, p % width
    return (row > reach) & (row <= height - reach) & (column > reach) & (column <= width - reach)


@triton.jit
def _local_copies_kernel(pixels, dy, dx, out, channels, height, width, reach, sy, LANES: tl.constexpr):
    """Each lane follows its own chain of copies to the pixel that still holds an old value; see the reference."""
    size = height * width
    image = tl.program_id(1).to(tl.int64)
    place = tl.program_id(0) * LANES + tl.arange(0, LANES)
    inside = place < size
    p = tl.minimum(place, size - 1)
    shift = image * sy
    written = _is_written(p, height, width, reach)
    q = p + tl.where(written, tl.load(dy + shift + p) * width + tl.load(dx + shift + p), 0)
    follow = written & (q > p) & _is_written(q, height, width, reach)
    while tl.max(follow.to(tl.int32), axis=0) > 0:
        p = tl.where(follow, q, p)
        q = tl.where(follow, p + tl.load(dy + shift + p) * width + tl.load(dx + shift + p), q)
        follow = follow & (q > p) & _is_written(q, height, width, reach)
    for c in range(channels):
        plane = (image * channels + c) * size
        tl.store(out + plane + place, tl.load(pixels + plane + q), mask=inside)


@kernel
def local_copies(pixels: Tensor, dy: Tensor, dx: Tensor, reach: int) -> Tensor:
    pixels = pixels.contiguous()
    n, channels, height, width = pixels.shape
    if dy.stride() != dx.stride() or dy.stride()[1:] != (width, 1):
        dy, dx = dy.contiguous(), dx.contiguous()
    out = torch.empty_like(pixels)
    return launch(
        _local_copies_kernel, (triton.cdiv(height * width, LANES), n), out,
        pixels, dy, dx, out, channels, height, width, reach, dy.stride(0), LANES=LANES,
    )  # fmt: skip
