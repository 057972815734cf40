"""Fields of numbers that look like something, a pixel in registers from its place to its value."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from scuff.kernels.constants import constant
from scuff.kernels.dispatch import kernel
from scuff.kernels.reference.textures import cell_points
from scuff.kernels.triton_gpu.functions import angles_of, powers_of, sines_of
from scuff.kernels.triton_gpu.launching import blocks, launch

LANES, MANY = 256, 1024


@triton.jit
def _sine(x):
    return sines_of(x.to(tl.float64))[0].to(tl.float32)


@triton.jit
def _cosine(x):
    return sines_of(x.to(tl.float64))[1].to(tl.float32)


@triton.jit
def _place(width, LANES: tl.constexpr):
    """Which pixels a program makes, and their rows and columns."""
    at = tl.program_id(1) * LANES + tl.arange(0, LANES)
    return at, (at // width).to(tl.float32), (at % width).to(tl.float32)


@triton.jit
def _add_kernel(x, field, out, scale, channels, size, image_step, channel_step, LANES: tl.constexpr):
    image = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * LANES + tl.arange(0, LANES)
    field += image * image_step + at
    for c in range(channels):
        here = (image * channels + c) * size + at
        value = tl.load(x + here, mask=at < size, other=0.0)
        share = scale * tl.load(field + c * channel_step, mask=at < size, other=0.0)
        tl.store(out + here, value + share, mask=at < size)


@kernel
def add_field(x: Tensor, field: Tensor, scale: float) -> Tensor:
    x, (n, channels, height, width) = x.contiguous(), x.shape
    out, field, size = torch.empty_like(x), field.contiguous(), height * width
    steps = (size, 0) if field.ndim == 3 else (channels * size, size)
    return launch(
        _add_kernel, (n, blocks(size, MANY)), out, x, field, out, float(scale), channels, size, *steps, LANES=MANY
    )


@triton.jit
def _rings_kernel(centre, petals, sway, spacing, out, height, width, LANES: tl.constexpr):
    image = tl.program_id(0).to(tl.int64)
    at, row, column = _place(width, LANES)
    dy, dx = row - tl.load(centre + 2 * image), column - tl.load(centre + 2 * image + 1)
    angle = angles_of(dx.to(tl.float64), dy.to(tl.float64)).to(tl.float32)
    distance = tl.sqrt_rn(dy * dy + dx * dx) + tl.load(sway + image) * _sine(tl.load(petals + image) * angle)
    turns = tl.div_rn(distance, tl.maximum(tl.zeros_like(distance) + tl.load(spacing + image), 1e-6))
    tl.store(out + image * height * width + at, turns - tl.floor(turns) - 0.5, mask=at < height * width)


@kernel
def ring_waves(centre: Tensor, petals: Tensor, sway: Tensor, spacing: Tensor, height: int, width: int) -> Tensor:
    out = torch.empty(centre.shape[0], height, width, device=centre.device)
    given = (numbers.contiguous() for numbers in (centre, petals, sway, spacing))
    grid = (centre.shape[0], blocks(height * width, LANES))
    return launch(_rings_kernel, grid, out, *given, out, height, width, LANES=LANES)


@triton.jit
def _phase(at, size):
    turns = tl.div_rn(at, tl.zeros_like(at) + size)
    return 6.28318530718 * (turns - tl.floor(turns)) - 250.0


@triton.jit
def _caustics_kernel(time, size, paces, exponent, out, height, width, LANES: tl.constexpr):
    image = tl.program_id(0).to(tl.int64)
    at, row, column = _place(width, LANES)
    moment, period = tl.load(time + image), tl.load(size + image)
    p0, p1 = _phase(row, period), _phase(column, period)
    i0, i1, total = p0, p1, tl.zeros_like(p0) + 1.0
    for k in range(5):
        t = moment * tl.load(paces + k)
        j0 = p0 + _cosine(t - i0) + _sine(t + i1)
        i1 = p1 + _sine(t - i1) + _cosine(t + i0)
        i0 = j0
        y, x = tl.div_rn(0.005 * p0, _sine(i0 + t)), tl.div_rn(0.005 * p1, _cosine(i1 + t))
        total += tl.div_rn(tl.zeros_like(p0) + 1.0, tl.sqrt_rn(y * y + x * x))
    base = tl.div_rn(total, tl.zeros_like(total) + 5.0).to(tl.float64)
    light = 1.17 - powers_of(base, tl.load(exponent).to(tl.float64)).to(tl.float32)
    for _ in tl.static_range(3):
        light = light * light
    light = tl.minimum(tl.maximum(light, 0.0), 1.0)
    tl.store(out + image * height * width + at, light, mask=at < height * width)


@kernel
def caustics(time: Tensor, size: Tensor, height: int, width: int) -> Tensor:
    out = torch.empty(time.shape[0], height, width, device=time.device)
    paces, exponent = constant(tuple(1.0 - 3.5 / k for k in range(1, 6)), time.device), constant((1.4,), time.device)
    return launch(
        _caustics_kernel, (time.shape[0], blocks(height * width, LANES)), out,
        time.contiguous(), size.contiguous(), paces, exponent, out, height, width, LANES=LANES,
    )  # fmt: skip


@triton.jit
def _waves_kernel(
    time, rounds, sharpness, scale, frequencies, slowness, out, height, width, LANES: tl.constexpr
):  # fmt: skip
    image = tl.program_id(0).to(tl.int64)
    at, y, x = _place(width, LANES)
    none = tl.zeros_like(x)
    t, folds = none + tl.load(time + image), tl.load(rounds + image)
    x, y = tl.div_rn(x, none + tl.load(scale + image)), tl.div_rn(y, none + tl.load(scale + image))
    damping, more = none + 1.0, 2.25 - tl.load(sharpness + image)
    for k in range(6):
        frequency, shift = tl.load(frequencies + k), tl.div_rn(t, none + tl.load(slowness + k))
        p, q = tl.div_rn(_cosine(frequency * y + shift), damping), tl.div_rn(_sine(frequency * x + shift), damping)
        x, y = tl.where(folds > k, x + p - 0.3 * q, x), tl.where(folds > k, y + q + 0.3 * p, y)
        damping = damping * more
    size = height * width
    out += image * 3 * size + at
    tl.store(out, _sine(x - t), mask=at < size)
    tl.store(out + size, _sine(0.5 * (x + y + _sine(t))), mask=at < size)
    tl.store(out + 2 * size, _sine(y + t), mask=at < size)


@kernel
def plasma_waves(time: Tensor, rounds: Tensor, sharpness: Tensor, scale: Tensor, height: int, width: int) -> Tensor:
    out = torch.empty(time.shape[0], 3, height, width, device=time.device)
    frequencies, slowness = [1.0], [1.0]
    for _ in range(5):
        frequencies.append(1.93 * frequencies[-1])
        slowness.append(1.15 * slowness[-1])
    tables = (constant(tuple(numbers), time.device) for numbers in (frequencies, slowness))
    given = (number.contiguous() for number in (time, rounds, sharpness, scale))
    grid = (time.shape[0], blocks(height * width, LANES))
    return launch(_waves_kernel, grid, out, *given, *tables, out, height, width, LANES=LANES)


@triton.jit
def _slope(order, gradients, i, j, u, w, DOWN: tl.constexpr, ACROSS: tl.constexpr):
    """What the gradient of a corner of the lattice's cell adds up to at each place."""
    row = tl.load(order + ((i + DOWN) & 255))
    node = tl.load(order + ((row + ((j + ACROSS) & 255)) & 255))
    return tl.load(gradients + 2 * node) * (u - DOWN) + tl.load(gradients + 2 * node + 1) * (w - ACROSS)


@triton.jit
def _perlin_kernel(gradients, order, out, height, width, side, LANES: tl.constexpr):
    image = tl.program_id(0).to(tl.int64)
    at, row, column = _place(width, LANES)
    gradients += image * 512
    order += image * 256
    total, side, f = tl.zeros_like(row), tl.zeros_like(row) + side, tl.zeros_like(row) + 1.0
    for _ in range(5):
        a, b = tl.div_rn(7.0 * f * row, side), tl.div_rn(7.0 * f * column, side)
        u, w = a - tl.floor(a), b - tl.floor(b)
        i, j = tl.floor(a).to(tl.int32), tl.floor(b).to(tl.int32)
        along, across = u * u * (3.0 - 2.0 * u), w * w * (3.0 - 2.0 * w)
        near, below = _slope(order, gradients, i, j, u, w, 0, 0), _slope(order, gradients, i, j, u, w, 1, 0)
        far, corner = _slope(order, gradients, i, j, u, w, 0, 1), _slope(order, gradients, i, j, u, w, 1, 1)
        near, far = near + along * (below - near), far + along * (corner - far)
        total += tl.div_rn(tl.abs(1.5 * (near + across * (far - near))), f)
        f = 2.0 * f
    tl.store(out + image * height * width + at, total, mask=at < height * width)


@kernel
def perlin_turbulence(gradients: Tensor, order: Tensor, height: int, width: int) -> Tensor:
    out = torch.empty(order.shape[0], height, width, device=order.device)
    return launch(
        _perlin_kernel, (order.shape[0], blocks(height * width, LANES)), out,
        gradients.contiguous(), order.contiguous(), out, height, width, float(min(height, width)), LANES=LANES,
    )  # fmt: skip


@triton.jit
def _voronoi_kernel(points, density, size, out, down, across, height, width, LANES: tl.constexpr):
    """The points of nine cells around a pixel lie in a cache: there are a hundred times fewer of them than pixels."""
    image = tl.program_id(0).to(tl.int64)
    at, row, column = _place(width, LANES)
    side = tl.zeros_like(row) + tl.load(size + image)
    x, y = tl.div_rn(column, side) + 1.0, tl.div_rn(row, side) + 1.0
    cell_x, cell_y = tl.floor(x), tl.floor(y)
    points += 2 * image * down * across
    nearest = tl.zeros_like(x) + 1.0
    for i in tl.static_range(-1, 2):
        for j in tl.static_range(-1, 2):
            place = points + (cell_y.to(tl.int32) + j) * across + cell_x.to(tl.int32) + i
            dx = i + tl.load(place, mask=at < height * width, other=0.0) - (x - cell_x)
            dy = j + tl.load(place + down * across, mask=at < height * width, other=0.0) - (y - cell_y)
            nearest = tl.minimum(nearest, tl.sqrt_rn(dy * dy + dx * dx))
    t = tl.minimum(tl.maximum(nearest * tl.load(density + image), 0.0), 1.0)
    tl.store(out + image * height * width + at, t * t * (3.0 - 2.0 * t) - 0.5, mask=at < height * width)


@kernel
def voronoi_cells(twist: Tensor, density: Tensor, size: Tensor, height: int, width: int, smallest: float) -> Tensor:
    points = cell_points(twist, height, width, smallest).contiguous()
    out = torch.empty(twist.shape[0], height, width, device=twist.device)
    return launch(
        _voronoi_kernel, (twist.shape[0], blocks(height * width, LANES)), out,
        points, density.contiguous(), size.contiguous(), out, *points.shape[2:], height, width, LANES=LANES,
    )  # fmt: skip
