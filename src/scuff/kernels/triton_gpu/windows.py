"""Windows of textures, pixels taken from elsewhere; maps between points."""

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
