"""Pixels read elsewhere: between pixels, by splines, through drops of glass."""

from __future__ import annotations

import math

import torch
import triton
import triton.language as tl
from torch import Tensor

from scuff.kernels.constants import constant
from scuff.kernels.dispatch import kernel
from scuff.kernels.triton_gpu.filters import mix
from scuff.kernels.triton_gpu.launching import blocks, launch

LANES = 512
SPLINE_LANES, PLANES = 256, 4  # four planes side by side, so that one load fetches a tap of all of them
STRIP = 256  # pixels of a drop that a program bends at a time
BORDERS = {"zeros": 0, "edge": 1, "mirror": 2, "reflect": 3}


@triton.jit
def _fixed_point(at):
    """A coordinate in 32nds of a pixel."""
    return tl.floor(at * 32.0 + 0.5).to(tl.int32)


@triton.jit
def _neighbours(at, length, period, inverse, BORDER: tl.constexpr):
    """The two pixels around each coordinate, and their shares in 32nds; see the reference."""
    last = length - 1
    if BORDER == 0:
        v = _fixed_point(tl.minimum(tl.maximum(at, -2.0), length + 1.0))
        first, share = v >> 5, v & 31
        low = tl.where((first >= 0) & (first < length), 32 - share, 0)
        high = tl.where((first >= -1) & (first < last), share, 0)
        return (
            tl.minimum(tl.maximum(first, 0), last), tl.minimum(tl.maximum(first + 1, 0), last), low, high,
        )  # fmt: skip
    y = tl.minimum(tl.maximum(at, -1e6), 1e6)
    if BORDER > 1:
        edge = 0.5 if BORDER == 3 else 0.0
        y = tl.abs(y + edge)
        y -= period * tl.floor(y * inverse)
        y = tl.minimum(y, period - y) - edge
    v = _fixed_point(tl.minimum(tl.maximum(y, 0.0), last * 1.0))
    first, share = v >> 5, v & 31
    return first, tl.minimum(first + 1, last), 32 - share, share


@triton.jit
def _read(pixels, out, image, at, inside, y, x, channels, height, width, count, folds, BORDER: tl.constexpr):
    """Read all channels of an image at (y, x), and write them to place `at` of the result."""
    top, bottom, up, down = _neighbours(y, height, tl.load(folds), tl.load(folds + 1), BORDER)
    near, far, left, right = _neighbours(x, width, tl.load(folds + 2), tl.load(folds + 3), BORDER)
    above, below = top * width, bottom * width
    for c in range(channels):
        plane = pixels + (image * channels + c) * height * width
        first = left * tl.load(plane + above + near).to(tl.int32) + right * tl.load(plane + above + far).to(tl.int32)
        second = left * tl.load(plane + below + near).to(tl.int32) + right * tl.load(plane + below + far).to(tl.int32)
        value = (up * first + down * second + 512) >> 10
        tl.store(out + (image * channels + c) * count + at, value.to(tl.uint8), mask=inside)


@triton.jit
def _remap_kernel(
    pixels, rows, columns, out, channels, height, width, count, folds, BORDER: tl.constexpr, LANES: tl.constexpr
):  # fmt: skip
    image = tl.program_id(1).to(tl.int64)
    at = tl.program_id(0) * LANES + tl.arange(0, LANES)
    inside = at < count
    y = tl.load(rows + image * count + at, mask=inside, other=0.0)
    x = tl.load(columns + image * count + at, mask=inside, other=0.0)
    _read(pixels, out, image, at, inside, y, x, channels, height, width, count, folds, BORDER)


@triton.jit
def _project_kernel(
    pixels, matrix, extent, out, channels, height, width, wide, count, folds, BORDER: tl.constexpr, LANES: tl.constexpr
):  # fmt: skip
    image = tl.program_id(1).to(tl.int64)
    at = tl.program_id(0) * LANES + tl.arange(0, LANES)
    inside = at < count
    i, j = at // wide, at % wide
    m = matrix + image * 9
    u, v = j.to(tl.float32), i.to(tl.float32)
    depth = tl.load(m + 6) * u + (tl.load(m + 7) * v + tl.load(m + 8))
    near = tl.div_rn(1.0, depth)
    x = (tl.load(m) * u + (tl.load(m + 1) * v + tl.load(m + 2))) * near
    y = (tl.load(m + 3) * u + (tl.load(m + 4) * v + tl.load(m + 5))) * near
    x, y = tl.where(x == x, x, -1e6), tl.where(y == y, y, -1e6)
    used = (i < tl.load(extent + 2 * image)) & (j < tl.load(extent + 2 * image + 1))
    # what is not used is black already, and reads somewhere harmless
    _read(
        pixels, out, image, at, inside & used, tl.where(used, y, 0.0), tl.where(used, x, 0.0),
        channels, height, width, count, folds, BORDER,
    )  # fmt: skip


def _folds(height: int, width: int, border: str, device: torch.device) -> Tensor:
    """After how many pixels mirror images repeat, and the inverse of that, for rows and for columns."""
    edge = 0.5 if border == "reflect" else 0.0
    periods = [max(2.0 * (length - 1 + 2.0 * edge), 1.0) for length in (height, width)]
    return constant((periods[0], 1.0 / periods[0], periods[1], 1.0 / periods[1]), device)


@kernel
def remap(pixels: Tensor, rows: Tensor, columns: Tensor, border: str) -> Tensor:
    pixels, (n, channels, height, width) = pixels.contiguous(), pixels.shape
    out = torch.empty(n, channels, *rows.shape[1:], dtype=torch.uint8, device=pixels.device)
    count = rows.shape[1:].numel()
    return launch(
        _remap_kernel, (blocks(count, LANES), n), out,
        pixels, rows.contiguous(), columns.contiguous(), out, channels, height, width, count,
        _folds(height, width, border, pixels.device), BORDER=BORDERS[border], LANES=LANES,
    )  # fmt: skip


@kernel
def project(pixels: Tensor, matrix: Tensor, extent: Tensor, height: int, width: int, border: str) -> Tensor:
    pixels, (n, channels, tall, wide) = pixels.contiguous(), pixels.shape
    out = torch.zeros(n, channels, height, width, dtype=torch.uint8, device=pixels.device)
    return launch(
        _project_kernel, (blocks(height * width, LANES), n), out,
        pixels, matrix.contiguous(), extent.contiguous(), out, channels, tall, wide, width, height * width,
        _folds(tall, wide, border, pixels.device), BORDER=BORDERS[border], LANES=LANES,
    )  # fmt: skip


@triton.jit
def _cubic_weights(t):
    """See the reference."""
    near = 1.0 - t
    a, b = near * near * near * (1.0 / 6.0), 2.0 / 3.0 - t * t * (1.0 - 0.5 * t)
    return a, b, 2.0 / 3.0 - near * near * (1.0 - 0.5 * near), t * t * t * (1.0 / 6.0)


@triton.jit
def _mix(at, inside, a, b, c, d, PLANES: tl.constexpr):
    """Four taps along a row."""
    mixed = a * tl.load(at, mask=inside, other=0.0) + b * tl.load(at + PLANES, mask=inside, other=0.0)
    at += 2 * PLANES
    return mixed + c * tl.load(at, mask=inside, other=0.0) + d * tl.load(at + PLANES, mask=inside, other=0.0)


@triton.jit
def _sum_reads_kernel(
    source, rows, columns, weights, out, planes, count, sets, tall, wide, LANES: tl.constexpr, PLANES: tl.constexpr
):
    """`source` is (groups, tall, wide, PLANES), `out` is (planes, count)."""
    group = tl.program_id(0).to(tl.int64)
    source += group * PLANES * tall * wide + tl.arange(0, PLANES)[None, :]
    plane = group * PLANES + tl.arange(0, PLANES)[None, :]
    place = tl.program_id(1) * LANES + tl.arange(0, LANES)[:, None]
    total = tl.zeros((LANES, PLANES), tl.float32)
    for k in range(sets):
        y = tl.load(rows + k * count + place, mask=place < count, other=-1.0)
        x = tl.load(columns + k * count + place, mask=place < count, other=-1.0)
        inside = (y >= 0.0) & (y <= tall - 4) & (x >= 0.0) & (x <= wide - 4)
        top, left = tl.floor(y), tl.floor(x)
        p, q, r, s = _cubic_weights(y - top)
        a, b, c, d = _cubic_weights(x - left)
        at = source + (top.to(tl.int32) * wide + left.to(tl.int32)) * PLANES
        step = wide * PLANES
        read = p * _mix(at, inside, a, b, c, d, PLANES) + q * _mix(at + step, inside, a, b, c, d, PLANES)
        at += 2 * step
        read += r * _mix(at, inside, a, b, c, d, PLANES) + s * _mix(at + step, inside, a, b, c, d, PLANES)
        total += tl.load(weights + k) * read
    tl.store(out + plane * count + place, total, mask=(place < count) & (plane < planes))


@kernel
def sum_spline_reads(padded: Tensor, rows: Tensor, columns: Tensor, weights: Tensor) -> Tensor:
    n, channels, tall, wide = padded.shape
    out = torch.empty(n, channels, *rows.shape[1:], device=padded.device)
    planes, count = n * channels, rows.shape[1:].numel()
    groups = blocks(planes, PLANES)
    source = torch.nn.functional.pad(padded.flatten(0, 1), (0, 0, 0, 0, 0, groups * PLANES - planes))
    source = source.unflatten(0, (groups, PLANES)).permute(0, 2, 3, 1).contiguous()
    return launch(
        _sum_reads_kernel, (groups, blocks(count, SPLINE_LANES)), out,
        source, rows.contiguous(), columns.contiguous(), weights.contiguous(), out,
        planes, count, len(rows), tall, wide, LANES=SPLINE_LANES, PLANES=PLANES, num_warps=SPLINE_LANES // 32,
    )  # fmt: skip


@triton.jit
def _shift(offset, depth, index):
    """See the reference."""
    slant = tl.sqrt_rn((index * index - 1.0) * offset * offset + index * index * depth * depth)
    return tl.div_rn(depth * offset * (slant - depth), depth * slant + offset * offset)


@triton.jit
def _depth(row, column, cy, cx, radius, height, width):
    """The square of the glass's depth under each pixel, 0 or less where this drop changes nothing."""
    dy, dx = row - cy, column - cx
    inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
    return tl.where(inside, radius * radius - dy * dy - dx * dx, 0.0)


@triton.jit
def _refract_kernel(
    canvas, patches, centres, channels, drops, radius, index, reach, margin, height, width,
    ROWS: tl.constexpr, SIDE: tl.constexpr,
):  # fmt: skip
    """`canvas` has a black `margin`. What a drop shows is put aside until all of it has been read."""
    plane = tl.program_id(0).to(tl.int64)
    wide = width + 2 * margin
    canvas += plane * (height + 2 * margin) * wide + margin * wide + margin
    patches += plane * SIDE * SIDE
    centres += plane // channels * drops * 2
    i, j = tl.arange(0, ROWS)[:, None], tl.arange(0, SIDE)[None, :]
    for k in range(drops):
        cy, cx = tl.load(centres + 2 * k), tl.load(centres + 2 * k + 1)
        top, left = tl.floor(cy).to(tl.int32) - reach, tl.floor(cx).to(tl.int32) - reach
        column = left + j
        for start in range(0, 2 * reach + 1, ROWS):
            row = top + start + i
            depth = _depth(row, column, cy, cx, radius, height, width)
            z = tl.sqrt_rn(tl.maximum(depth, 1e-12))
            y, x = (start + i) - _shift(row - cy, z, index), j - _shift(column - cx, z, index)
            upmost, leftmost = tl.floor(y), tl.floor(x)
            down, across = y - upmost, x - leftmost
            at = canvas + (top + upmost.to(tl.int32)) * wide + left + leftmost.to(tl.int32)
            within = depth > 0.0
            upper = mix(tl.load(at, mask=within), tl.load(at + 1, mask=within), across)
            at += wide
            lower = mix(tl.load(at, mask=within), tl.load(at + 1, mask=within), across)
            tl.store(patches + (start + i) * SIDE + j, mix(upper, lower, down), mask=within)
        tl.debug_barrier()  # all has been read
        for start in range(0, 2 * reach + 1, ROWS):
            row = top + start + i
            within = _depth(row, column, cy, cx, radius, height, width) > 0.0
            bent = tl.load(patches + (start + i) * SIDE + j, mask=within)
            tl.store(canvas + row * wide + column, bent, mask=within)
        tl.debug_barrier()  # the next drop sees it


@kernel
def refract_drops(x: Tensor, centres: Tensor, radius: float, index: float) -> Tensor:
    n, channels, height, width = x.shape
    reach = math.ceil(radius)
    margin = reach + 2
    side = triton.next_power_of_2(2 * reach + 1)
    canvas = torch.nn.functional.pad(x, (margin, margin, margin, margin))
    patches = torch.empty(n * channels, side, side, device=x.device)
    rows = max(1, min(side, STRIP // side))
    launch(
        _refract_kernel, (n * channels,), canvas,
        canvas, patches, centres.contiguous(), channels, centres.shape[1], radius, index, reach, margin, height, width,
        ROWS=rows, SIDE=side, num_warps=max(1, min(16, rows * side // 32)),
    )  # fmt: skip
    return canvas[..., margin : margin + height, margin : margin + width]
