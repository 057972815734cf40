"""Poisson quantiles: tables for the few rates that a picture holds."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.numba_cpu.compiling import F32, compiled
from scuff.kernels.threads import each_image

U32 = np.uint32


@compiled
def _poisson_start(rate):
    """Where the search begins, and the mass there; see the reference."""
    k = max(np.floor(rate - 6.5 * np.sqrt(rate) - 3.0), 0.0)
    if k == 0.0:
        return k, np.exp(-rate)
    series = (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / 1260.0 / (k * k)) / (k * k)) / k
    return k, np.exp(k * np.log(rate / k) + (k - rate) - 0.5 * np.log(2.0 * np.pi * k) - series)


@compiled
def _poisson_search(rate, u):
    k, mass = _poisson_start(rate)
    total = mass
    while u > total and (k < rate or mass > 1e-10):
        k += 1.0
        mass *= rate / k
        total += mass
    return k


@compiled
def _tabulate(rate, cdf, guide):
    """Fill a distribution function from `_poisson_start` on, and for 64 slices of u the entry to start looking at."""
    k, mass = _poisson_start(rate)
    total = mass
    last = 0
    cdf[0] = total
    while last < cdf.size - 1 and (k < rate or mass > 1e-10):
        k += 1.0
        mass *= rate / k
        total += mass
        last += 1
        cdf[last] = total
    cdf[last:] = np.inf
    entry = 0
    for slice_ in range(guide.size):
        while cdf[entry] < slice_ / guide.size:
            entry += 1
        guide[slice_] = entry


@compiled
def _quantiles(uniforms, rates, out):
    """Inversion with memory: pictures hold few distinct values, so each rate's table is made once and found again.

    A rate that finds no free place in the table is searched for directly, so pictures with a continuum of
    values are slower but get the same counts.
    """
    slots = 1024
    longest = np.int64(13.0 * np.sqrt(np.max(rates)) + 40.0)
    known = np.full(slots, F32(-1.0))
    start = np.empty(slots, F32)
    cdf = np.empty((slots, longest))
    guide = np.empty((slots, 64), np.int16)
    for e in range(out.size):
        rate = rates[e]
        u = np.float64(uniforms[e])
        slot = np.int64(U32(F32(rate).view(U32) * U32(2654435761)) >> U32(22))
        for _ in range(8):
            if known[slot] == rate or known[slot] < F32(0.0):
                break
            slot = (slot + 1) & (slots - 1)
        if known[slot] != rate:
            if known[slot] >= F32(0.0):
                out[e] = _poisson_search(np.float64(rate), u)
                continue
            known[slot] = rate
            start[slot] = _poisson_start(np.float64(rate))[0]
            _tabulate(np.float64(rate), cdf[slot], guide[slot])
        k = np.int64(guide[slot, min(np.int64(u * 64.0), 63)])
        while cdf[slot, k] < u:
            k += 1
        out[e] = start[slot] + F32(k)


@kernel
def poisson_quantile(u: Tensor, rate: Tensor) -> Tensor:
    out = torch.empty(rate.shape, dtype=torch.float32)
    uniforms, rates, target = u.contiguous().numpy(), rate.contiguous().numpy(), out.numpy()

    if out.numel():
        each_image(lambda i: _quantiles(uniforms[i], rates[i], target[i]), len(out))
    return out
