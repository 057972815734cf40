"""Where pixels are read from, worked out in registers and written once; and what is kept where none is read."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from scuff.kernels.constants import constant
from scuff.kernels.dispatch import kernel
from scuff.kernels.triton_gpu.filters import folded, mix
from scuff.kernels.triton_gpu.functions import powers_of, sines_of
from scuff.kernels.triton_gpu.launching import blocks, launch

LANES, ROWS, COLUMNS = 256, 8, 64


@triton.jit
def _moved(at, sine, cosine, reach, length):
    """See the reference."""
    hashed = 43758.5453 * sines_of(12.9898 * sine + 78.233 * cosine)[0]
    place = at + reach * (2.0 * (hashed - tl.floor(hashed)) - 1.0)
    return tl.minimum(tl.maximum(place, 0.0), length - 1.0).to(tl.float32)


@triton.jit
def _scatter_kernel(twist, reach, rows, columns, height, width, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """A tile needs the sines of its rows and of its columns once."""
    image = tl.program_id(0).to(tl.int64)
    i = tl.program_id(1) * ROWS + tl.arange(0, ROWS)[:, None]
    j = tl.program_id(2) * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    q, far = tl.load(twist + image).to(tl.float64), tl.load(reach)
    row, column = i.to(tl.float64), j.to(tl.float64)
    row_sine, row_cosine = sines_of(row * q)
    column_sine, column_cosine = sines_of(column * q)
    at = (image * height + i) * width + j
    inside = (i < height) & (j < width)
    tl.store(rows + at, _moved(row, row_sine, column_cosine, far, height), mask=inside)
    tl.store(columns + at, _moved(column, column_sine, row_cosine, far, width), mask=inside)


@kernel
def scattered_places(twist: Tensor, reach: float, height: int, width: int) -> tuple[Tensor, Tensor]:
    n = twist.shape[0]
    rows, columns = (torch.empty(n, height, width, device=twist.device) for _ in range(2))
    launch(
        _scatter_kernel, (n, blocks(height, ROWS), blocks(width, COLUMNS)), rows,
        twist.contiguous(), constant((reach,), twist.device, torch.float64), rows, columns, height, width,
        ROWS=ROWS, COLUMNS=COLUMNS,
    )  # fmt: skip
    return rows, columns


@triton.jit
def _nearest(x):
    """Rounded to a whole number, halves to the even one."""
    low = tl.floor(x)
    rest, odd = x - low, low - 2.0 * tl.floor(0.5 * low)
    return low + tl.where((rest > 0.5) | ((rest == 0.5) & (odd > 0.0)), 1.0, 0.0)


@triton.jit
def _water_kernel(surface, rows, columns, lights, bend, height, width, LANES: tl.constexpr):
    image, size = tl.program_id(0).to(tl.int64), height * width
    at = tl.program_id(1) * LANES + tl.arange(0, LANES)
    inside = at < size
    i, j = at // width, at % width
    surface += image * size + at
    below = tl.load(surface + width, mask=inside & (i < height - 1), other=0.0)
    down = below - tl.load(surface - width, mask=inside & (i > 0), other=0.0)
    right = tl.load(surface + 1, mask=inside & (j < width - 1), other=0.0)
    across = right - tl.load(surface - 1, mask=inside & (j > 0), other=0.0)
    slope = tl.sqrt_rn(down * down + across * across)
    cosine = tl.div_rn(tl.zeros_like(slope) + 1.0, tl.sqrt_rn(1.0 + slope * slope))
    sine, quarter = slope * cosine, 0.25 * slope * cosine
    turn = (sine * tl.sqrt_rn(1.0 - quarter * quarter) - cosine * quarter) * bend
    turn = tl.where(cosine >= 0.999, 0.0, tl.div_rn(turn, tl.maximum(slope, 1e-9)))
    thousand = tl.zeros_like(turn) + 1000.0
    at += image * size
    tl.store(rows + at, i.to(tl.float32) + tl.div_rn(_nearest(1000.0 * (turn * down)), thousand), mask=inside)
    tl.store(columns + at, j.to(tl.float32) + tl.div_rn(_nearest(1000.0 * (turn * across)), thousand), mask=inside)
    tl.store(lights + at, down - across, mask=inside)


@kernel
def refracted_places(surface: Tensor, bend: float) -> tuple[Tensor, Tensor, Tensor]:
    surface, (n, height, width) = surface.contiguous(), surface.shape
    rows, columns, lights = (torch.empty_like(surface) for _ in range(3))
    launch(
        _water_kernel, (n, blocks(height * width, LANES)), rows,
        surface, rows, columns, lights, float(bend), height, width, LANES=LANES,
    )  # fmt: skip
    return rows, columns, lights


@triton.jit
def _twirl_kernel(
    twirl, exponent, rows, columns, cell, half, down, across, height, width, LANES: tl.constexpr
):  # fmt: skip
    image, size = tl.program_id(0).to(tl.int64), height * width
    at = tl.program_id(1) * LANES + tl.arange(0, LANES)
    row, column = at // width, at % width
    i, j = row // cell, column // cell
    place = tl.minimum(i, down - 1) * across + tl.minimum(j, across - 1)
    turn = tl.load(twirl + image * down * across + place)
    middle_y, middle_x = (i.to(tl.float32) + 0.5) * cell, (j.to(tl.float32) + 0.5) * cell
    dy, dx = row.to(tl.float32) - middle_y, column.to(tl.float32) - middle_x
    distance = tl.sqrt_rn(dy * dy + dx * dx)
    d = tl.div_rn(distance, tl.zeros_like(distance) + half)
    moves = (d <= 1.0) & (distance >= 0.0005) & (i < down) & (j < across)
    squeezed = tl.maximum(sines_of((1.5707963267948966 * d).to(tl.float64))[0].to(tl.float32), 1e-6)
    stretch = powers_of(squeezed.to(tl.float64), tl.load(exponent).to(tl.float64)).to(tl.float32)
    sine, cosine = sines_of((turn * ((1.0 - d) * (1.0 - d))).to(tl.float64))
    sine, cosine = sine.to(tl.float32), cosine.to(tl.float32)
    y = tl.where(moves, middle_y + stretch * (dy * cosine - dx * sine), row.to(tl.float32))
    x = tl.where(moves, middle_x + stretch * (dy * sine + dx * cosine), column.to(tl.float32))
    tl.store(rows + image * size + at, y, mask=at < size)
    tl.store(columns + image * size + at, x, mask=at < size)


@kernel
def twirled_places(twirl: Tensor, cell: int, exponent: float, height: int, width: int) -> tuple[Tensor, Tensor]:
    n, down, across = twirl.shape
    rows, columns = (torch.empty(n, height, width, device=twirl.device) for _ in range(2))
    launch(
        _twirl_kernel, (n, blocks(height * width, LANES)), rows,
        twirl.contiguous(), constant((exponent,), twirl.device), rows, columns, cell, 0.5 * cell, down, across,
        height, width, LANES=LANES,
    )  # fmt: skip
    return rows, columns


@triton.jit
def _waving_kernel(
    centre, wavelength, phase, push, rows, columns, height, width, LANES: tl.constexpr
):  # fmt: skip
    image, size = tl.program_id(0).to(tl.int64), height * width
    at = tl.program_id(1) * LANES + tl.arange(0, LANES)
    row, column = (at // width).to(tl.float32), (at % width).to(tl.float32)
    dy, dx = row - tl.load(centre + 2 * image), column - tl.load(centre + 2 * image + 1)
    distance, wave = tl.sqrt_rn(dy * dy + dx * dx), tl.zeros_like(dy) + tl.load(wavelength + image)
    angle = tl.div_rn(6.283185307179586 * distance, wave) - tl.load(phase + image)
    by = push * wave * sines_of(angle.to(tl.float64))[0].to(tl.float32)
    near = (distance <= tl.minimum(height, width) // 2) & (distance > 0.0)
    by = tl.where(near, tl.div_rn(by, tl.maximum(distance, 1e-9)), 0.0)
    tl.store(rows + image * size + at, row + by * dy, mask=at < size)
    tl.store(columns + image * size + at, column + by * dx, mask=at < size)


@kernel
def waving_places(
    centre: Tensor, wavelength: Tensor, phase: Tensor, push: float, height: int, width: int
) -> tuple[Tensor, Tensor]:
    n = centre.shape[0]
    rows, columns = (torch.empty(n, height, width, device=centre.device) for _ in range(2))
    given = (numbers.contiguous() for numbers in (centre, wavelength, phase))
    launch(
        _waving_kernel, (n, blocks(height * width, LANES)), rows,
        *given, float(push), rows, columns, height, width, LANES=LANES,
    )  # fmt: skip
    return rows, columns


@triton.jit
def _keep_kernel(
    x, rows, columns, out, channels, height, width, tall_period, wide_period, LANES: tl.constexpr
):  # fmt: skip
    image, size = tl.program_id(0).to(tl.int64), height * width
    at = tl.program_id(1) * LANES + tl.arange(0, LANES)
    inside = at < size
    y = tl.load(rows + image * size + at, mask=inside, other=0.0)
    z = tl.load(columns + image * size + at, mask=inside, other=0.0)
    read = (z >= 0.0) & (z < width) & (y >= 0.0) & (y < height)
    y, z = folded(y - 0.5, (height - 1) * 1.0, tall_period, 0.5), folded(z - 0.5, (width - 1) * 1.0, wide_period, 0.5)
    top, left = tl.floor(y).to(tl.int32), tl.floor(z).to(tl.int32)
    down, across = y - top.to(tl.float32), z - left.to(tl.float32)
    right, above, below = tl.minimum(left + 1, width - 1), top * width, tl.minimum(top + 1, height - 1) * width
    for c in range(channels):
        plane = x + (image * channels + c) * size
        upper = mix(tl.load(plane + above + left), tl.load(plane + above + right), across)
        lower = mix(tl.load(plane + below + left), tl.load(plane + below + right), across)
        kept = tl.load(plane + at, mask=inside & ~read, other=0.0)
        value = tl.where(read, mix(upper, lower, down), kept)
        tl.store(out + (image * channels + c) * size + at, value, mask=inside)


@kernel
def sample_or_keep(x: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    x, (n, channels, height, width) = x.contiguous(), x.shape
    out = torch.empty_like(x)
    return launch(
        _keep_kernel, (n, blocks(height * width, LANES)), out,
        x, rows.contiguous(), columns.contiguous(), out, channels, height, width, 2.0 * height, 2.0 * width,
        LANES=LANES,
    )  # fmt: skip
