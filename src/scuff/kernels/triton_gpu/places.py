"""Where pixels are read from, worked out in registers and written once."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from scuff.kernels.constants import constant
from scuff.kernels.dispatch import kernel
from scuff.kernels.triton_gpu.functions import sines_of
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
