"""Noise with a given spectrum: products with an eighth of the matrices.

Cosines are even and sines odd, in frequency and in place, and half a turn changes their sign or nothing. So opposite
frequencies are added for cosines and subtracted for sines, even and odd ones are multiplied apart, and four places
follow from one: eight times fewer products. Sums of whole numbers are exact, so these have the bits of the full ones.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from scuff.kernels.dispatch import KERNELS, kernel
from scuff.kernels.numba_cpu.compiling import F32, compiled
from scuff.kernels.numba_cpu.filling import fill
from scuff.kernels.numba_cpu.functions import sine_and_cosine_of
from scuff.kernels.reference.spectra import amplitudes, deviation_unit, turn_table, whole_bits

F64 = np.float64
TURN = 2.0 * math.pi
TOGETHER = 4  # planes for each thread: what they need stays in its cache


@lru_cache(maxsize=32)
def _quarter_turns(length: int, bits: int) -> Tensor | None:
    """Tables (4, K, K) of frequency by place, up to a quarter: cosines of even, of odd frequencies, sines likewise.

    A frequency that is its own opposite is added to itself, so its cosines count half. None for odd lengths, and if
    rounding has made a table asymmetric.
    """
    cos, sin = turn_table(length, bits)
    step = torch.arange(length)
    opposite, across = -step % length, (step + length // 2) % length
    even = torch.equal(cos, cos[opposite]) and torch.equal(sin, -sin[opposite])
    if length % 2 or not even or not all(torch.equal(table, -table[across]) for table in (cos, sin)):
        return None
    half, count = length // 2, length // 4 + 1
    tables = torch.zeros(4, count, count, dtype=torch.float64)
    for odd in (0, 1):
        k = torch.arange(odd, half + 1, 2)
        step = k[:, None] * torch.arange(count) % length
        tables[odd, : len(k)] = cos[step] * torch.where(k % half == 0, 0.5, 1.0)[:, None]
        tables[2 + odd, : len(k)] = sin[step]
    return tables


@compiled
def _turn_half(u, sine, cosine):
    """Sines and cosines of the phases of half a row."""
    for c in range(sine.size):
        sine[c], cosine[c] = sine_and_cosine_of(F64(u[c]) * TURN)


@compiled
def _fold_row(own, opposite, amplitude, line, which, r, parts):
    """One part of a row's frequencies, from its own half and from the opposite row's, into the four `parts`."""
    half = own.size
    for c in range(half):
        line[c] = np.floor(own[c] * amplitude[c])
        line[half + c] = np.floor(opposite[half - 1 - c] * amplitude[half + c])
    line[2 * half] = line[0]
    for odd in range(2):
        added, subtracted = parts[odd, which, r], parts[2 + odd, which, r]
        for k in range((half - odd) // 2 + 1):
            a, b = line[half + odd + 2 * k], line[half - odd - 2 * k]
            added[k], subtracted[k] = a + b, a - b


@compiled
def _fold_columns(u, amplitude, halves, line, parts):
    """The frequencies of a plane, folded along rows: `parts` (4, 2, H, K), real and imaginary. The rest is scratch.

    Opposite rows have the same phases, so that the sines of their left halves serve both.
    """
    height = len(u)
    for r in range(height // 2):
        for side in range(2):
            _turn_half(u[height - 1 - r if side else r], halves[side, 1], halves[side, 0])
        for side in range(2):
            row = height - 1 - r if side else r
            for which in range(2):
                _fold_row(halves[side, which], halves[1 - side, which], amplitude[row], line, which, row, parts)


@compiled
def _unfold_row(cos_even, cos_odd, sin_even, sin_odd, sign, shrink, out):
    """A row of sums, cosines + sign * sines, from those up to a quarter; rounded down to as many bits as before."""
    half = out.size // 2
    out[0] = np.floor((cos_even[0] + cos_odd[0]) * shrink)
    out[half] = np.floor((cos_even[0] - cos_odd[0]) * shrink)
    for j in range(1, cos_even.size):
        cos, cos_beyond = cos_even[j] + cos_odd[j], cos_even[j] - cos_odd[j]
        sin, sin_beyond = sign * (sin_even[j] + sin_odd[j]), sign * (sin_odd[j] - sin_even[j])
        out[j], out[2 * half - j] = np.floor((cos + sin) * shrink), np.floor((cos - sin) * shrink)
        out[half - j] = np.floor((cos_beyond + sin_beyond) * shrink)
        out[half + j] = np.floor((cos_beyond - sin_beyond) * shrink)


@compiled
def _fold_rows(turned, shrink, a, b, parts):
    """A plane transformed along its rows, unfolded along them, and folded along columns; a and b are scratch."""
    height = turned.shape[2]
    half = height // 2
    for k in range(half + 1):
        one, other = (half + k) % height, half - k
        for which, sign in ((0, -1.0), (1, 1.0)):  # cosines of one part, sines of the other
            for line, r in ((a, one), (b, other)):
                ce, co = turned[0, which, r], turned[1, which, r]
                se, so = turned[2, 1 - which, r], turned[3, 1 - which, r]
                _unfold_row(ce, co, se, so, sign, shrink, line)
            target = parts[2 * which + k % 2, k // 2]
            for c in range(target.size):
                target[c] = a[c] - b[c] if which else a[c] + b[c]


@compiled
def _unfold_rows(parts, z):
    """A plane of sums, cosines - sines, from those up to a quarter of its height."""
    half = len(z) // 2
    for j in range(parts.shape[1]):
        before, below, beyond, after = z[j], z[(2 * half - j) % (2 * half)], z[half - j], z[(half + j) % (2 * half)]
        for c in range(z.shape[1]):
            cos_even, cos_odd, sin_even, sin_odd = parts[0, j, c], parts[1, j, c], parts[2, j, c], parts[3, j, c]
            cos, cos_beyond = cos_even + cos_odd, cos_even - cos_odd
            sin, sin_beyond = sin_even + sin_odd, sin_odd - sin_even
            before[c], below[c] = cos - sin, cos + sin
            beyond[c], after[c] = cos_beyond - sin_beyond, cos_beyond + sin_beyond


@compiled
def _scale(parts, unit, z, out):
    """A transformed plane over its standard deviation; see the reference. `z` is scratch."""
    _unfold_rows(parts, z)
    total, squares = np.int64(0), np.int64(0)
    for i in range(len(z)):
        for c in range(z.shape[1]):
            q = np.int64(np.floor(z[i, c] * (1.0 / unit)))
            total += q
            squares += q * q
    average = F64(total) / F64(z.size)
    deviation = max(np.sqrt(max(F64(squares) / F64(z.size) - average * average, 0.0)) * unit, 1e-12)
    for i in range(len(z)):
        for c in range(z.shape[1]):
            out[i, c] = F32(z[i, c] / deviation)


@kernel
def spectrum_noise(u: Tensor, kind: str) -> Tensor:
    height, width = u.shape[-2:]
    if u.numel() == 0:
        return u
    bits = whole_bits(height, width)
    across, down = (_quarter_turns(n, bits) for n in (width, height))
    if across is None or down is None:
        return KERNELS["reference", "spectrum_noise"](u, kind)
    planes = u.reshape(-1, height, width)
    out, together = torch.empty_like(planes), TOGETHER * torch.get_num_threads()
    for some, target in zip(planes.split(together), out.split(together), strict=True):
        _transform(some, kind, across, down, target)
    return out.view(u.shape)


def _transform(u: Tensor, kind: str, across: Tensor, down: Tensor, out: Tensor) -> None:
    n, height, width = u.shape
    amplitude, shrink = amplitudes(height, width, kind, u.device)
    columns = torch.zeros(n, 4, 2, height, width // 4 + 1, dtype=torch.float64)
    fill(
        columns, _fold_columns, u, amplitude[None], scratch=lambda: (np.empty((2, 2, width // 2)), np.empty(width + 1))
    )
    turned = (columns.flatten(2, 3) @ across).view(columns.shape)
    rows = torch.zeros(n, 4, height // 4 + 1, width, dtype=torch.float64)
    fill(rows, _fold_rows, turned, shrink, scratch=lambda: (np.empty(width), np.empty(width)))
    fill(out, _scale, down.mT @ rows, deviation_unit(height, width), scratch=lambda: (np.empty((height, width)),))
