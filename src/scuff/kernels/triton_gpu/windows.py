"""Windows of textures, pixels taken from elsewhere, weighted windows of lines; maps between points."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.triton_gpu.launching import blocks, launch

LANES = 512


@triton.jit
def _blend_kernel(
    x, table, which, corners, out, channels, tall, wide, height, width, keep, share, LANES: tl.constexpr
):  # fmt: skip
    plane = tl.program_id(0).to(tl.int64)
    image, channel = plane // channels, plane % channels
    at = tl.program_id(1) * LANES + tl.arange(0, LANES)
    inside = at < height * width
    row, column = tl.load(corners + 2 * image) + at // width, tl.load(corners + 2 * image + 1) + at % width
    table += (tl.load(which + image) * channels + channel) * tall * wide
    window = tl.load(table + row * wide + column, mask=inside, other=0.0)
    value = tl.load(x + plane * height * width + at, mask=inside, other=0.0)
    tl.store(out + plane * height * width + at, keep * value + share * window, mask=inside)


@kernel
def blend_windows(x: Tensor, keep: float, table: Tensor, which: Tensor, corners: Tensor, share: float) -> Tensor:
    x, (n, channels, height, width) = x.contiguous(), x.shape
    out, (tall, wide) = torch.empty_like(x), table.shape[-2:]
    return launch(
        _blend_kernel, (n * channels, blocks(height * width, LANES)), out,
        x, table.contiguous(), which.contiguous(), corners.contiguous(), out,
        channels, tall, wide, height, width, float(keep), float(share), LANES=LANES,
    )  # fmt: skip


@triton.jit
def _three_points(points, number, inside):
    """Column and row of the first point, and where the second and the third lie from there."""
    points += 6 * number
    x, y = _double(points, inside), _double(points + 1, inside)
    ux, uy = _double(points + 2, inside) - x, _double(points + 3, inside) - y
    return x, y, ux, uy, _double(points + 4, inside) - x, _double(points + 5, inside) - y


@triton.jit
def _double(at, inside):
    return tl.load(at, mask=inside, other=0.0).to(tl.float64)


@triton.jit
def _store_row(out, p, q, r, ax, ay, ux, uy, vx, vy, area, inside):
    across, down = (q * vy - r * uy) / area, (r * ux - q * vx) / area
    tl.store(out, across, mask=inside)
    tl.store(out + 1, down, mask=inside)
    tl.store(out + 2, p - across * ax - down * ay, mask=inside)


@triton.jit
def _affine_kernel(source, target, out, count, source_step, target_step, LANES: tl.constexpr):
    at = tl.program_id(0) * LANES + tl.arange(0, LANES)
    inside = at < count
    ax, ay, ux, uy, vx, vy = _three_points(source, at * source_step, inside)
    px, py, qx, qy, rx, ry = _three_points(target, at * target_step, inside)
    area = ux * vy - vx * uy
    _store_row(out + 6 * at, px, qx, rx, ax, ay, ux, uy, vx, vy, area, inside)
    _store_row(out + 6 * at + 3, py, qy, ry, ax, ay, ux, uy, vx, vy, area, inside)


@kernel
def affine_through(source: Tensor, target: Tensor) -> Tensor:
    (count,) = torch.broadcast_shapes(*(points.shape[:-2] or (1,) for points in (source, target)))
    out = torch.empty(count, 2, 3, dtype=torch.float64, device=source.device)
    steps = [int(points.ndim == 3 and points.shape[0] > 1) for points in (source, target)]
    return launch(
        _affine_kernel, (blocks(count, LANES),), out,
        source.contiguous(), target.contiguous(), out, count, *steps, LANES=LANES,
    )  # fmt: skip


@triton.jit
def _take_kernel(pixels, place, out, channels, size, count, image_step, LANES: tl.constexpr):
    image = tl.program_id(1).to(tl.int64)
    at = tl.program_id(0) * LANES + tl.arange(0, LANES)
    source = tl.load(place + image * image_step + at, mask=at < count, other=-1)
    for c in range(channels):
        plane = image * channels + c
        value = tl.load(pixels + plane * size + source, mask=source >= 0, other=0)
        tl.store(out + plane * count + at, value, mask=at < count)


@kernel
def take_pixels(pixels: Tensor, place: Tensor) -> Tensor:
    pixels, (n, channels, height, width) = pixels.contiguous(), pixels.shape
    out = torch.empty(n, channels, *place.shape[1:], dtype=torch.uint8, device=pixels.device)
    count = place.shape[1:].numel()
    return launch(
        _take_kernel, (blocks(count, LANES), n), out, pixels, place.contiguous(), out, channels, height * width, count,
        count if place.shape[0] > 1 else 0, LANES=LANES,
    )  # fmt: skip


@triton.jit
def _windows_kernel(
    x, first, weights, out, channels, height, width, tall, wide, length, taps, DOWN: tl.constexpr, LANES: tl.constexpr
):  # fmt: skip
    """Rows of `out` (tall x wide) are windows of rows if DOWN, otherwise its columns are windows of columns."""
    plane = tl.program_id(0).to(tl.int64)
    image = plane // channels
    at = tl.program_id(1) * LANES + tl.arange(0, LANES)
    inside = at < tall * wide
    i, j = at // wide, at % wide
    k = image * length + (i if DOWN else j)
    begin = tl.load(first + k, mask=inside, other=0)
    total = tl.zeros((LANES,), tl.float32)
    for t in range(taps):
        row = tl.minimum(begin + t, height - 1) if DOWN else i
        column = j if DOWN else tl.minimum(begin + t, width - 1)
        value = tl.load(x + plane * height * width + row * width + column, mask=inside, other=0.0)
        total += tl.load(weights + k * taps + t, mask=inside, other=0.0) * value
    tl.store(out + plane * tall * wide + at, total, mask=inside)


@kernel
def mix_windows(x: Tensor, first: Tensor, weights: Tensor, axis: int) -> Tensor:
    x, (n, channels, height, width) = x.contiguous(), x.shape
    length, taps = weights.shape[1:]
    tall, wide = (length, width) if axis == 2 else (height, length)
    out = torch.empty(n, channels, tall, wide, device=x.device)
    return launch(
        _windows_kernel, (n * channels, blocks(tall * wide, LANES)), out,
        x, first.contiguous(), weights.contiguous(), out, channels, height, width, tall, wide, length, taps,
        DOWN=axis == 2, LANES=LANES,
    )  # fmt: skip
