"""Philox words and distributions, four values per lane, written in one contiguous piece; Poisson quantiles; clouds."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from scuff.kernels import portable
from scuff.kernels.constants import constant
from scuff.kernels.dispatch import kernel
from scuff.kernels.triton_gpu.functions import exponential, logarithm
from scuff.kernels.triton_gpu.launching import blocks, launch

LANES = 1024
WARP_LANES = 128  # of a single warp, whose lanes agree on the end of a loop without waiting for others


@triton.jit
def _words(keys, stream, LANES: tl.constexpr):
    """The four words of `LANES` consecutive counters of this program's image."""
    block = tl.program_id(1) * LANES + tl.arange(0, LANES)
    key = tl.load(keys + tl.program_id(0))
    zero = tl.zeros((LANES,), tl.uint32)
    return tl.philox(key, block.to(tl.uint32), zero, zero + stream.to(tl.uint32), zero, n_rounds=10)


@triton.jit(do_not_specialize=["cell"])
def _derive_kernel(ids, cell, out, count, LANES: tl.constexpr):
    at = tl.program_id(0) * LANES + tl.arange(0, LANES)
    number = tl.load(ids + at, mask=at < count, other=0)
    zero = tl.zeros((LANES,), tl.uint32)
    low, high, _, _ = tl.philox(cell, number.to(tl.uint32), (number >> 32).to(tl.uint32), zero, zero, n_rounds=10)
    tl.store(out + at, (high.to(tl.int64) << 32) | low.to(tl.int64), mask=at < count)


@triton.jit
def _store(out, count, a, b, c, d, LANES: tl.constexpr):
    """Interleave to a0 b0 c0 d0 a1 ... and store, so that lanes write side by side."""
    values = tl.interleave(tl.interleave(a, c), tl.interleave(b, d))
    at = tl.program_id(1) * (4 * LANES) + tl.arange(0, 4 * LANES)
    tl.store(out + tl.program_id(0).to(tl.int64) * count + at, values, mask=at < count)


@triton.jit
def _unit(word):
    return word.to(tl.float32) * 2.3283064365386963e-10 + 1.1641532182693481e-10  # (w + 1/2) / 2**32


@triton.jit(do_not_specialize=["stream"])
def _words_kernel(keys, stream, out, count, LANES: tl.constexpr):
    a, b, c, d = _words(keys, stream, LANES)
    _store(out, count, a.to(tl.int64), b.to(tl.int64), c.to(tl.int64), d.to(tl.int64), LANES)


@triton.jit
def _stretch(value, factor, offset):
    return value * factor + offset


@triton.jit
def _store_stretched(out, count, a, b, c, d, factor, offset, LANES: tl.constexpr):
    a, b = _stretch(a, factor, offset), _stretch(b, factor, offset)
    c, d = _stretch(c, factor, offset), _stretch(d, factor, offset)
    _store(out, count, a, b, c, d, LANES)


@triton.jit(do_not_specialize=["stream"])
def _uniform_kernel(keys, stream, out, count, factor, offset, LANES: tl.constexpr):
    a, b, c, d = _words(keys, stream, LANES)
    _store_stretched(out, count, _unit(a), _unit(b), _unit(c), _unit(d), factor, offset, LANES)


@triton.jit
def _add(a, b, number):
    """a * b + number, rounded once."""
    return tl.fma(a, b, tl.zeros_like(b) + number)


@triton.jit
def _scale(number, b, c):
    """number * b + c, rounded once."""
    return tl.fma(tl.zeros_like(b) + number, b, c)


@triton.jit
def _log(x):
    """See the reference."""
    bits = x.to(tl.int32, bitcast=True)
    exponent = (bits - 0x3F3504F3) >> 23
    f = (bits - (exponent << 23)).to(tl.float32, bitcast=True) - 1.0
    y = _add(tl.zeros_like(f) + 7.0376836292e-2, f, -1.1514610310e-1)
    y = _add(_add(y, f, 1.1676998740e-1), f, -1.2420140846e-1)
    y = _add(_add(y, f, 1.4249322787e-1), f, -1.6668057665e-1)
    y = _add(_add(y, f, 2.0000714765e-1), f, -2.4999993993e-1)
    y = _add(y, f, 3.3333331174e-1)
    z = f * f
    return _scale(0.693147180559945, exponent.to(tl.float32), f + _scale(-0.5, z, y * f * z))


@triton.jit
def _box_muller(first, second):
    """See the reference."""
    radius, v = tl.sqrt_rn(-2.0 * _log(_unit(first))), _unit(second)
    quarter = (v * 4.0 + 0.5).to(tl.int32)
    t = (v - quarter.to(tl.float32) * 0.25) * 6.283185307179586
    z = t * t
    s = _add(_add(tl.zeros_like(z) - 1.9515295891e-4, z, 8.3321608736e-3), z, -1.6666654611e-1)
    s = tl.fma(s * z, t, t)
    c = _add(_add(tl.zeros_like(z) + 2.443315711809948e-5, z, -1.388731625493765e-3), z, 4.166664568298827e-2)
    c = _scale(-0.5, z, c * z * z) + 1.0
    swap = (quarter & 1) != 0
    sine, cosine = tl.where(swap, c, s), tl.where(swap, s, c)
    sine = tl.where((quarter & 2) != 0, -sine, sine)
    cosine = tl.where(((quarter + 1) & 2) != 0, -cosine, cosine)
    return radius * cosine, radius * sine


@triton.jit(do_not_specialize=["stream"])
def _normal_kernel(keys, stream, out, count, factor, offset, LANES: tl.constexpr):
    a, b, c, d = _words(keys, stream, LANES)
    p, q = _box_muller(a, b)
    r, s = _box_muller(c, d)
    _store_stretched(out, count, p, q, r, s, factor, offset, LANES)


@triton.jit
def _in_range(word, low, span):
    return (low + (word.to(tl.uint64) * span.to(tl.uint64) >> 32).to(tl.int64)).to(tl.int32)


@triton.jit(do_not_specialize=["stream", "low", "span"])
def _integers_kernel(keys, stream, out, count, low, span, LANES: tl.constexpr):
    a, b, c, d = _words(keys, stream, LANES)
    a, b, c, d = _in_range(a, low, span), _in_range(b, low, span), _in_range(c, low, span), _in_range(d, low, span)
    _store(out, count, a, b, c, d, LANES)


def _generate(generator, dtype: torch.dtype, keys: Tensor, stream: int, count: int, *arguments: float) -> Tensor:
    out = torch.empty(len(keys), count, dtype=dtype, device=keys.device)
    # Images first: CUDA allows 65535 blocks along the second axis, and far more along the first.
    grid = (len(keys), blocks(count, 4 * LANES))
    return launch(generator, grid, out, keys, stream, out, count, *arguments, LANES=LANES)


@kernel
def derive_keys(ids: Tensor, cell: int) -> Tensor:
    out = torch.empty_like(ids)
    signed = cell - 2**64 if cell >= 2**63 else cell  # always an int64, whatever its top bit
    return launch(_derive_kernel, (blocks(len(ids), LANES),), out, ids, signed, out, len(ids), LANES=LANES)


@kernel
def words(keys: Tensor, stream: int, count: int) -> Tensor:
    return _generate(_words_kernel, torch.int64, keys, stream, count)


@kernel
def uniform(keys: Tensor, stream: int, count: int, low: float = 0.0, high: float = 1.0) -> Tensor:
    return _generate(_uniform_kernel, torch.float32, keys, stream, count, float(high - low), float(low))


@kernel
def normal(keys: Tensor, stream: int, count: int, mean: float = 0.0, std: float = 1.0) -> Tensor:
    return _generate(_normal_kernel, torch.float32, keys, stream, count, float(std), float(mean))


@kernel
def integers(keys: Tensor, stream: int, count: int, low: int, high: int) -> Tensor:
    return _generate(_integers_kernel, torch.int32, keys, stream, count, low, high - low + 1)


_series = triton.jit(portable.stirling_series)


@triton.jit
def _quantile_kernel(uniforms, rates, out, count, photons, SCALED: tl.constexpr, LANES: tl.constexpr):
    """If SCALED, rates are in units of `photons`, and so are the quantiles."""
    at = tl.program_id(0).to(tl.int64) * LANES + tl.arange(0, LANES)
    inside = at < count
    u = tl.load(uniforms + at, mask=inside, other=0.0)
    rate = tl.load(rates + at, mask=inside, other=0.0)
    if SCALED:
        rate = rate * photons
    first, mass = quantile_start(rate)
    number = quantile_from(u, rate, first, mass)
    if SCALED:
        number = tl.div_rn(number, tl.zeros_like(number) + photons)
    tl.store(out + at, number, mask=inside)


@triton.jit
def quantile_start(rate):
    """A count below all but a billionth of a Poisson distribution, and its probability.

    That is a small difference of large numbers: double precision, once per value.
    """
    wide = rate.to(tl.float64)
    start = tl.maximum(tl.floor(wide - 6.5 * tl.sqrt(wide) - 3.0), 0.0)
    k = tl.maximum(start, 1.0)
    positive = tl.where(wide > 0.0, wide, 1.0)  # any number will do: at rate 0, `start` is 0
    log_mass = k * logarithm(positive / k) + (k - wide) - 0.5 * logarithm(6.283185307179586 * k) - _series(k)
    mass = exponential(tl.where(start == 0.0, -wide, log_mass)).to(tl.float32)
    return start.to(tl.float32), mass


@triton.jit
def quantile_from(u, rate, number, mass):
    """The first count from `number` on whose distribution function reaches u."""
    total = mass
    active = (u > total) & ((number < rate) | (mass > 1e-10))
    while tl.max(active.to(tl.int32), axis=0) > 0:
        for _ in tl.static_range(4):  # steps of lanes that are done change nothing
            number = tl.where(active, number + 1.0, number)
            mass = tl.where(active, tl.div_rn(mass * rate, tl.maximum(number, 1.0)), mass)
            total = tl.where(active, total + mass, total)
            active = active & (u > total) & ((number < rate) | (mass > 1e-10))
    return number


@kernel
def poisson_quantile(u: Tensor, rate: Tensor) -> Tensor:
    return _quantiles(u, rate, 1.0, False)


@kernel
def photon_noise(u: Tensor, x: Tensor, photons: float) -> Tensor:
    return _quantiles(u, x, float(photons), True)


def _quantiles(u: Tensor, rate: Tensor, photons: float, scaled: bool) -> Tensor:
    u, rate = u.contiguous(), rate.contiguous()
    out = torch.empty_like(rate)
    return launch(
        _quantile_kernel, (blocks(out.numel(), WARP_LANES),), out,
        u, rate, out, out.numel(), photons, SCALED=scaled, LANES=WARP_LANES, num_warps=1,
    )  # fmt: skip


@triton.jit
def _plasma_kernel(noise, powers, height, side, levels, LANES: tl.constexpr):
    """A program per image; its map stays in the caches of one processor while the grid is halved, again and again."""
    start = tl.program_id(0).to(tl.int64) * side * side
    noise += start
    height += start
    tl.store(height, 0.0)
    low, high = tl.zeros((LANES,), tl.float32), tl.zeros((LANES,), tl.float32)  # the place just set is 0
    wrap, step = side - 1, side  # a power of two less one: `& wrap` is the remainder
    for level in range(levels):
        half, power = step // 2, tl.load(powers + level)
        count = 1 << (2 * level)
        tl.debug_barrier()  # all have set what is read here
        for first in range(0, count, LANES):
            k = first + tl.arange(0, LANES)
            inside = k < count
            i, j = (k >> level) * step, (k & ((1 << level) - 1)) * step
            below, right = (i + step) & wrap, (j + step) & wrap
            total = tl.load(height + i * side + j, mask=inside, other=0.0)
            total += tl.load(height + below * side + j, mask=inside, other=0.0)
            total += tl.load(height + i * side + right, mask=inside, other=0.0)
            total += tl.load(height + below * side + right, mask=inside, other=0.0)
            low, high = _set(noise, height, (i + half) * side + j + half, total, power, inside, low, high)
        tl.debug_barrier()
        for first in range(0, count, LANES):
            k = first + tl.arange(0, LANES)
            inside = k < count
            i, j = (k >> level) * step, (k & ((1 << level) - 1)) * step
            below, right, up, left = (i + step) & wrap, (j + step) & wrap, (i - half) & wrap, (j - half) & wrap
            centre = tl.load(height + (i + half) * side + j + half, mask=inside, other=0.0)
            corner = tl.load(height + i * side + j, mask=inside, other=0.0)
            total = centre + tl.load(height + up * side + j + half, mask=inside, other=0.0) + corner
            total += tl.load(height + i * side + right, mask=inside, other=0.0)
            low, high = _set(noise, height, i * side + j + half, total, power, inside, low, high)
            total = centre + tl.load(height + (i + half) * side + left, mask=inside, other=0.0) + corner
            total += tl.load(height + below * side + j, mask=inside, other=0.0)
            low, high = _set(noise, height, (i + half) * side + j, total, power, inside, low, high)
        step = half
    tl.debug_barrier()
    least, most = tl.min(low, axis=0), tl.max(high, axis=0)
    for first in range(0, side * side, LANES):
        at = first + tl.arange(0, LANES)
        value = tl.load(height + at, mask=at < side * side, other=0.0) - least
        tl.store(height + at, tl.div_rn(value, value - value + (most - least)), mask=at < side * side)


@triton.jit
def _set(noise, height, at, total, power, inside, low, high):
    """The mean of four neighbours and a place's own noise; see the reference."""
    value = total * 0.25 + power * tl.load(noise + at, mask=inside, other=0.0)
    tl.store(height + at, value, mask=inside)
    value = tl.where(inside, value, 0.0)
    return tl.minimum(low, value), tl.maximum(high, value)


@kernel
def plasma(noise: Tensor, decay: float) -> Tensor:
    noise, side = noise.contiguous(), noise.shape[-1]
    height = torch.empty_like(noise)
    levels, amplitudes = side.bit_length() - 1, [100.0]
    for _ in range(levels):
        amplitudes.append(amplitudes[-1] / decay)
    powers = constant(tuple(a * a for a in amplitudes), noise.device)
    lanes = min(2048, max(64, side * side // 4))
    return launch(
        _plasma_kernel, (len(noise),), height,
        noise, powers, height, side, levels, LANES=lanes, num_warps=max(1, lanes // 128),
    )  # fmt: skip
