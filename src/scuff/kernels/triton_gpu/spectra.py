"""Noise with a given spectrum, in a quarter of the reference's products.

Cosines and sines a quarter of a turn apart are each other, up to a sign. So the transform of a line is four transforms
of a quarter of its length, of sums over the four quarters of the line: a step of the fast Fourier transform. Sums are
made while a pass writes what the next product reads. All numbers are whole and exact, so that no order of sums shows.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from scuff.kernels.constants import remembered
from scuff.kernels.dispatch import KERNELS, kernel
from scuff.kernels.reference.spectra import amplitudes, deviation_unit, turn_table, whole_bits
from scuff.kernels.triton_gpu.functions import sines_of
from scuff.kernels.triton_gpu.launching import blocks, launch

LANES, MANY = 256, 2048


@triton.jit
def _store_sums(out, step, gap, inside, ra, ia, rb, ib, rc, ic, rd, id_):
    """a + i^p b + i^2p c + i^3p d for p = 0, 1, 2, 3, `step` apart, imaginary parts `gap` behind the real ones."""
    re, im, turned_re, turned_im = ra + rc, ia + ic, rb + rd, ib + id_
    tl.store(out, re + turned_re, mask=inside)
    tl.store(out + gap, im + turned_im, mask=inside)
    tl.store(out + 2 * step, re - turned_re, mask=inside)
    tl.store(out + 2 * step + gap, im - turned_im, mask=inside)
    re, im, turned_re, turned_im = ra - rc, ia - ic, id_ - ib, rb - rd
    tl.store(out + step, re + turned_re, mask=inside)
    tl.store(out + step + gap, im + turned_im, mask=inside)
    tl.store(out + 3 * step, re - turned_re, mask=inside)
    tl.store(out + 3 * step + gap, im - turned_im, mask=inside)


@triton.jit
def _wave(u, amplitude, phase_at, at, inside):
    """Real and imaginary part of a frequency, in whole numbers."""
    phase = tl.load(u + phase_at, mask=inside, other=0.0).to(tl.float64) * 6.283185307179586
    size = tl.load(amplitude + at, mask=inside, other=0.0)
    sine, cosine = sines_of(phase)
    return tl.floor(cosine * size), tl.floor(sine * size)


@triton.jit
def _spectrum_kernel(u, amplitude, out, step, height, width, LANES: tl.constexpr):
    """`out` is (4, planes, height, 2, width / 4): sums over the quarters of each row."""
    plane = tl.program_id(0).to(tl.int64)
    size, quarter = height * width, width // 4
    lane = tl.program_id(1) * LANES + tl.arange(0, LANES)
    inside = lane < size // 4
    row, column = lane // quarter, lane % quarter
    at = row * width + column
    u += plane * size
    ra, ia = _wave(u, amplitude, at, at, inside)
    rb, ib = _wave(u, amplitude, at + quarter, at + quarter, inside)
    at += 2 * quarter  # the right half has the phases of the left half, turned about the middle
    rc, ic = _wave(u, amplitude, size - 1 - at, at, inside)
    at += quarter
    rd, id_ = _wave(u, amplitude, size - 1 - at, at, inside)
    out += plane * (size // 2) + row * (2 * quarter) + column
    _store_sums(out, step, quarter, inside, ra, ia, rb, ib, rc, ic, rd, id_)


@triton.jit
def _shrunk(rows, gap, shrink, inside):
    real, imaginary = tl.load(rows, mask=inside, other=0.0), tl.load(rows + gap, mask=inside, other=0.0)
    return tl.floor(real * shrink), tl.floor(imaginary * shrink)


@triton.jit
def _columns_kernel(rows, out, shrink, step, line, height, width, LANES: tl.constexpr):
    """`rows` is (4, planes, height, 2, width / 4). `out` is (4, 2, height / 4, planes, width): sums over quarters.

    A quarter of either is `step` numbers, a line of `out` is `line`. Columns stay in the order of `rows`: every fourth
    one from 0 on, then those from 1, from 2 and from 3 on.
    """
    plane = tl.program_id(0).to(tl.int64)
    quarter, tall = width // 4, height // 4
    lane = tl.program_id(1) * LANES + tl.arange(0, LANES)
    inside = lane < tall * width
    row, column = (lane // width).to(tl.int64), lane % width
    rows += (column // quarter).to(tl.int64) * step + (plane * height + row) * (2 * quarter) + column % quarter
    next_ = tall * 2 * quarter
    ra, ia = _shrunk(rows, quarter, shrink, inside)
    rb, ib = _shrunk(rows + next_, quarter, shrink, inside)
    rc, ic = _shrunk(rows + 2 * next_, quarter, shrink, inside)
    rd, id_ = _shrunk(rows + 3 * next_, quarter, shrink, inside)
    _store_sums(
        out + row * line + plane * width + column, step, step // 2, inside, ra, ia, rb, ib, rc, ic, rd, id_
    )  # fmt: skip


@triton.jit
def _sums_kernel(z, sums, inverse, line, height, width, LANES: tl.constexpr):
    """Sums of z and of its squares for each plane, in whole units: of int64, and so in any order."""
    plane = tl.program_id(0).to(tl.int64)
    lane = tl.program_id(1) * LANES + tl.arange(0, LANES)
    at = (lane // width).to(tl.int64) * line + plane * width + lane % width
    value = tl.load(z + at, mask=lane < height * width, other=0.0)
    q = tl.floor(value * inverse).to(tl.int64)
    tl.atomic_add(sums + 2 * plane, tl.sum(q, axis=0))
    tl.atomic_add(sums + 2 * plane + 1, tl.sum(q * q, axis=0))


@triton.jit
def _noise_kernel(z, sums, out, unit, line, height, width, LANES: tl.constexpr):
    """`z` is (4, height / 4, planes, 4, width / 4), every fourth row and column. In deviations: see the reference."""
    plane = tl.program_id(0).to(tl.int64)
    count = height * width
    average = tl.load(sums + 2 * plane).to(tl.float64) / count
    variance = tl.load(sums + 2 * plane + 1).to(tl.float64) / count - average * average
    deviation = tl.sqrt(tl.maximum(variance, 0.0)) * unit
    deviation = tl.maximum(deviation, tl.full((), 1e-12, tl.float64))
    lane = tl.program_id(1) * LANES + tl.arange(0, LANES)
    inside = lane < count
    row, column = lane // width, lane % width
    at = (row % 4 * (height // 4) + row // 4).to(tl.int64) * line + plane * width
    at += column % 4 * (width // 4) + column // 4
    value = tl.load(z + at, mask=inside, other=0.0)
    tl.store(out + plane * count + lane, (value / deviation).to(tl.float32), mask=inside)


@remembered(32)
def _quarter(length: int, bits: int, device: torch.device) -> tuple[Tensor, Tensor] | None:
    """Cosines and sines of the first quarter of frequencies, at every fourth place from p on: (4, frequency, place).

    None where quarters of a turn are no whole steps, or where cosines and sines were not rounded alike.
    """
    cos, sin = turn_table(length, bits)
    if length % 4 or not (torch.equal(cos.roll(-length // 4), -sin) and torch.equal(sin.roll(-length // 4), cos)):
        return None
    k = torch.arange(length // 4)
    place = (4 * k + torch.arange(4)[:, None])[:, None]
    step = (k[:, None] - length // 2) * place % length
    return cos[step].to(device), sin[step].to(device)


@remembered(32)
def _products(height: int, width: int, device: torch.device) -> tuple[Tensor, Tensor] | None:
    """What rows are multiplied by from the right, (4, W / 2, W / 2), and columns from the left, (4, H / 4, H / 2)."""
    bits = whole_bits(height, width)
    across, down = _quarter(width, bits, device), _quarter(height, bits, device)
    if across is None or down is None:
        return None
    (cos, sin), (cos_down, sin_down) = across, down
    right = torch.cat((torch.cat((cos, sin), dim=2), torch.cat((-sin, cos), dim=2)), dim=1)
    return right, torch.cat((cos_down.mT, -sin_down.mT), dim=2).contiguous()


@kernel
def spectrum_noise(u: Tensor, kind: str) -> Tensor:
    height, width = u.shape[-2:]
    products = _products(height, width, u.device) if u.numel() else None
    if products is None:
        return KERNELS["reference", "spectrum_noise"](u, kind)
    right, left = products
    amplitude, shrink = amplitudes(height, width, kind, u.device)
    u, shape = u.contiguous(), u.shape
    planes, size = shape[:-2].numel(), height * width
    step, line, sides = planes * size // 2, planes * width, (height, width)
    waves = torch.empty(4, planes * height, width // 2, dtype=torch.float64, device=u.device)
    launch(_spectrum_kernel, (planes, blocks(size // 4, LANES)), waves, u, amplitude, waves, step, *sides, LANES=LANES)
    rows = torch.bmm(waves, right)
    columns = waves.view(4, height // 2, line)  # what was there has been read
    launch(
        _columns_kernel, (planes, blocks(size // 4, LANES)), columns,
        rows, columns, shrink, step, line, *sides, LANES=LANES,
    )  # fmt: skip
    z = torch.bmm(left, columns, out=rows.view(-1)[: planes * size].view(4, height // 4, line))
    unit, sums = deviation_unit(height, width), torch.zeros(planes, 2, dtype=torch.int64, device=u.device)
    launch(_sums_kernel, (planes, blocks(size, MANY)), sums, z, sums, 1.0 / unit, line, *sides, LANES=MANY)
    del waves, columns
    out = torch.empty(shape, device=u.device)
    return launch(_noise_kernel, (planes, blocks(size, LANES)), out, z, sums, out, unit, line, *sides, LANES=LANES)
