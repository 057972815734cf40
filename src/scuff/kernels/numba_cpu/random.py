"""Distributions made from Philox words, and clouds, as compiled loops.

Every distribution first fills a buffer with words, then maps it element by element.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from scuff.kernels import portable
from scuff.kernels.dispatch import kernel
from scuff.kernels.numba_cpu.compiling import F32, INDEX, compiled, copy, fma, inlined
from scuff.kernels.numba_cpu.filling import fill
from scuff.kernels.numba_cpu.functions import exponential, logarithm
from scuff.kernels.numba_cpu.words import U32, U64, fill_words, one_philox
from scuff.kernels.reference.random import stretched

I32 = np.int32
LONGEST = 1 << 16  # words of a row that are made at a time


@compiled
def _derive(ids, k0, k1, out):
    for i in range(ids.size):
        low, high = one_philox(ids[i] & U64(0xFFFFFFFF), ids[i] >> U64(32), k0, k1)
        out[i] = U64(high) << U64(32) | U64(low)


@inlined
def _unit(word):
    return F32(word) * F32(2.0**-32) + F32(2.0**-33)


@inlined
def _log(x):
    """See the reference."""
    bits = F32(x).view(I32)
    exponent = I32(I32(bits - I32(0x3F3504F3)) >> I32(23))
    f = I32(bits - I32(exponent << I32(23))).view(F32) - F32(1.0)
    y = fma(fma(F32(7.0376836292e-2), f, F32(-1.1514610310e-1)), f, F32(1.1676998740e-1))
    y = fma(fma(y, f, F32(-1.2420140846e-1)), f, F32(1.4249322787e-1))
    y = fma(fma(y, f, F32(-1.6668057665e-1)), f, F32(2.0000714765e-1))
    y = fma(fma(y, f, F32(-2.4999993993e-1)), f, F32(3.3333331174e-1))
    z = f * f
    return fma(F32(0.693147180559945), F32(exponent), f + fma(F32(-0.5), z, y * f * z))


@inlined
def _turn(v):
    """See the reference."""
    quarter = I32(v * F32(4.0) + F32(0.5))
    t = (v - F32(quarter) * F32(0.25)) * F32(6.283185307179586)
    z = t * t
    s = fma(fma(F32(-1.9515295891e-4), z, F32(8.3321608736e-3)), z, F32(-1.6666654611e-1))
    s = fma(s * z, t, t)
    c = fma(fma(F32(2.443315711809948e-5), z, F32(-1.388731625493765e-3)), z, F32(4.166664568298827e-2))
    c = fma(F32(-0.5), z, c * z * z) + F32(1.0)
    swap = (quarter & I32(1)) != 0
    sine = c if swap else s
    cosine = s if swap else c
    if (quarter & I32(2)) != 0:
        sine = -sine
    if (I32(quarter + I32(1)) & I32(2)) != 0:
        cosine = -cosine
    return sine, cosine


@inlined
def _words_from(first, key, stream, buffer, count):
    """Words of a row of `count`, from place `first` on: as many as the buffer holds."""
    words = buffer[: min(buffer.size, count - first)]
    fill_words(words, first // 4, stream, U32(U64(key) & U64(0xFFFFFFFF)), U32(U64(key) >> U64(32)))
    return words


@compiled
def _words(key, stream, buffer, out):
    for first in range(0, out.size, buffer.size):
        part, words = out[first:], _words_from(first, key, stream, buffer, out.size)
        for e in range(words.size):
            part[e] = words[e]


@compiled
def _uniform(key, stream, factor, offset, buffer, out):
    for first in range(0, out.size, buffer.size):
        part, words = out[first:], _words_from(first, key, stream, buffer, out.size)
        for e in range(words.size):
            part[e] = _unit(words[e]) * factor + offset


@compiled
def _normal(key, stream, buffer, out):
    for first in range(0, out.size, buffer.size):
        part, words = out[first:], _words_from(first, key, stream, buffer, out.size)
        for pair in range(words.size // 2):
            radius = np.sqrt(F32(-2.0) * _log(_unit(words[2 * pair])))
            sine, cosine = _turn(_unit(words[2 * pair + 1]))
            part[2 * pair] = radius * cosine
            part[2 * pair + 1] = radius * sine


@compiled
def _integers(key, stream, low, span, buffer, out):
    for first in range(0, out.size, buffer.size):
        part, words = out[first:], _words_from(first, key, stream, buffer, out.size)
        for e in range(words.size):
            part[e] = I32(low + I32(U64(words[e]) * span >> U64(32)))


def _drawn(loop: Callable, keys: Tensor, stream: int, count: int, dtype: torch.dtype, *numbers: Any) -> Tensor:
    """A row of `count` for every key, by way of words that stay in the cache."""
    buffer = max(1, min(LONGEST, count))
    out = torch.empty(len(keys), count, dtype=dtype)
    return fill(out, loop, keys, U32(stream), *numbers, scratch=lambda: (np.empty(buffer, U32),))


@kernel
def derive_keys(ids: Tensor, cell: int) -> Tensor:
    out = torch.empty_like(ids)
    _derive(ids.numpy().view(U64), U32(cell & 0xFFFFFFFF), U32(cell >> 32), out.numpy().view(U64))
    return out


@kernel
def words(keys: Tensor, stream: int, count: int) -> Tensor:
    return _drawn(_words, keys, stream, count, torch.int64)


@kernel
def uniform(keys: Tensor, stream: int, count: int, low: float = 0.0, high: float = 1.0) -> Tensor:
    return _drawn(_uniform, keys, stream, count, torch.float32, F32(high - low), F32(low))


@kernel
def normal(keys: Tensor, stream: int, count: int, mean: float = 0.0, std: float = 1.0) -> Tensor:
    even = count + count % 2  # Box-Muller makes pairs
    return stretched(_drawn(_normal, keys, stream, even, torch.float32)[:, :count], std, mean)


@kernel
def integers(keys: Tensor, stream: int, count: int, low: int, high: int) -> Tensor:
    return _drawn(_integers, keys, stream, count, torch.int32, I32(low), U64(high - low + 1))


_series = inlined(portable.stirling_series)
ONE, LITTLE = F32(1.0), F32(1e-10)
SLOTS, SLICES = 1024, 256  # of the tables of a thread


@compiled
def _poisson_start(rate):
    """Where the search begins, and the mass there; see the reference."""
    wide = np.float64(rate)
    k = max(np.floor(wide - 6.5 * np.sqrt(wide) - 3.0), 0.0)
    if k == 0.0:
        return F32(0.0), F32(exponential(-wide))
    log_mass = k * logarithm(wide / k) + (k - wide) - 0.5 * logarithm(6.283185307179586 * k) - _series(k)
    return F32(k), F32(exponential(log_mass))


@compiled
def _poisson_search(rate, u):
    k, mass = _poisson_start(rate)
    total = mass
    while u > total and (k < rate or mass > LITTLE):
        k += ONE
        mass = mass * rate / k
        total += mass
    return k


@compiled
def _tabulate(rate, cdf, guide):
    """Fill a distribution function from `_poisson_start` on, and for slices of u the entry to start looking at."""
    k, mass = _poisson_start(rate)
    total = mass
    last = 0
    cdf[0] = total
    while last < cdf.size - 1 and (k < rate or mass > LITTLE):
        k += ONE
        mass = mass * rate / k
        total += mass
        last += 1
        cdf[last] = total
    cdf[last:] = np.inf
    entry = 0
    for slice_ in range(guide.size):
        while cdf[entry] < F32(slice_) / F32(guide.size):
            entry += 1
        guide[slice_] = entry


@compiled
def _table_of(rate, slot, known, start, cdf, guide, used):
    """Where the table of a rate is, from its own place on; made if there is none. SLOTS if there is no free place."""
    for _ in range(8):
        if known[slot] == rate:
            return slot
        if known[slot] < F32(0.0):
            known[slot] = rate
            used[0] += 1
            start[slot] = _poisson_start(rate)[0]
            _tabulate(rate, cdf[slot], guide[slot])
            return slot
        slot = (slot + INDEX(1)) & INDEX(SLOTS - 1)
    return INDEX(SLOTS)


@compiled
def _quantiles(uniforms, x, photons, scale, known, start, cdf, guide, used, out):
    """Inversion with memory: pictures hold few distinct values, so each rate's table is made once and found again.

    Rates lie in the order of size, `scale` places for one: those of 256 levels have room. A rate that finds no free
    place is searched for directly, so pictures with a continuum of values are slower but get the same counts. Every
    picture finds half of the places free.
    """
    if used[0] > SLOTS // 2:
        for slot in range(SLOTS):
            known[slot] = F32(-1.0)
        used[0] = 0
    for e in range(INDEX(out.size)):
        rate, u = x[e] * photons, uniforms[e]
        slot = INDEX(rate * scale if rate > F32(0.0) else F32(0.0))  # what is no rate must not read elsewhere
        if known[slot] != rate:
            slot = _table_of(rate, slot, known, start, cdf, guide, used)
            if slot == INDEX(SLOTS):
                out[e] = _poisson_search(rate, u) / photons
                continue
        k = INDEX(guide[slot, min(INDEX(u * F32(SLICES)), INDEX(SLICES - 1))])
        while cdf[slot, k] < u:
            k += INDEX(1)
        out[e] = (start[slot] + F32(k)) / photons


@kernel
def photon_noise(u: Tensor, x: Tensor, photons: float) -> Tensor:
    out = torch.empty(x.shape)
    if not out.numel():
        return out
    greatest = max(float(x.max()) * photons, 1e-9)
    longest, scale = int(13.0 * math.sqrt(greatest) + 40.0), F32((SLOTS - 1) / greatest)

    def scratch() -> tuple[np.ndarray, ...]:
        known, start = np.full(SLOTS, F32(-1.0)), np.empty(SLOTS, F32)
        return known, start, np.empty((SLOTS, longest), F32), np.empty((SLOTS, SLICES), np.int16), np.zeros(1, I32)

    fill(out.flatten(1), _quantiles, u.flatten(1), x.flatten(1), F32(photons), scale, scratch=scratch)
    return out


@kernel
def poisson_quantile(u: Tensor, rate: Tensor) -> Tensor:
    return photon_noise(u, rate, 1.0)


@compiled
def _plasma(noise, decay, lows, highs, height):
    """`lows` and `highs` are scratch: the extremes of columns, of which several are compared at a time."""
    size = INDEX(noise.shape[0])
    wrap = size - INDEX(1)  # a power of two less one: `& wrap` is the remainder
    height[0, 0] = F32(0.0)
    step, amplitude = size, 100.0
    while step >= INDEX(2):
        half, power = step >> INDEX(1), F32(amplitude * amplitude)
        for i in range(INDEX(0), size, step):
            above, below, target, own = height[i], height[(i + step) & wrap], height[i + half], noise[i + half]
            for j in range(INDEX(0), size, step):
                right = (j + step) & wrap
                mean = (above[j] + below[j] + above[right] + below[right]) * F32(0.25)
                target[j + half] = mean + power * own[j + half]
        for i in range(INDEX(0), size, step):
            top, middle, below, up = height[i], height[i + half], height[(i + step) & wrap], height[(i - half) & wrap]
            own, own_middle = noise[i], noise[i + half]
            for j in range(INDEX(0), size, step):
                right, left = (j + step) & wrap, (j - half) & wrap
                centre, corner = middle[j + half], top[j]
                mean = (centre + up[j + half] + corner + top[right]) * F32(0.25)
                top[j + half] = mean + power * own[j + half]
                mean = (centre + middle[left] + corner + below[j]) * F32(0.25)
                middle[j] = mean + power * own_middle[j]
        step, amplitude = half, amplitude / decay
    copy(height[0], lows)
    copy(height[0], highs)
    for i in range(size):
        row = height[i]
        for j in range(size):
            lows[j] = row[j] if row[j] < lows[j] else lows[j]
            highs[j] = row[j] if row[j] > highs[j] else highs[j]
    low, high = lows.min(), highs.max()
    for i in range(size):
        row = height[i]
        for j in range(size):
            row[j] = (row[j] - low) / (high - low)


@kernel
def plasma(noise: Tensor, decay: float) -> Tensor:
    size = noise.shape[-1]
    return fill(torch.empty(noise.shape), _plasma, noise, decay, scratch=lambda: tuple(np.empty((2, size), F32)))
