"""Bytes read between pixels: coordinates are read once for all channels."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from scuff.kernels.constants import constant
from scuff.kernels.dispatch import kernel
from scuff.kernels.triton_gpu.launching import launch

LANES = 512
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
    x = (tl.load(m) * u + (tl.load(m + 1) * v + tl.load(m + 2))) / depth
    y = (tl.load(m + 3) * u + (tl.load(m + 4) * v + tl.load(m + 5))) / depth
    used = (i < tl.load(extent + 2 * image)) & (j < tl.load(extent + 2 * image + 1)) & (x == x) & (y == y)
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
        _remap_kernel, (triton.cdiv(count, LANES), n), out,
        pixels, rows.contiguous(), columns.contiguous(), out, channels, height, width, count,
        _folds(height, width, border, pixels.device), BORDER=BORDERS[border], LANES=LANES,
    )  # fmt: skip


@kernel
def project(pixels: Tensor, matrix: Tensor, extent: Tensor, height: int, width: int, border: str) -> Tensor:
    pixels, (n, channels, tall, wide) = pixels.contiguous(), pixels.shape
    out = torch.zeros(n, channels, height, width, dtype=torch.uint8, device=pixels.device)
    return launch(
        _project_kernel, (triton.cdiv(height * width, LANES), n), out,
        pixels, matrix.contiguous(), extent.contiguous(), out, channels, tall, wide, width, height * width,
        _folds(tall, wide, border, pixels.device), BORDER=BORDERS[border], LANES=LANES,
    )  # fmt: skip
