"""Poisson quantiles: every lane walks up its own distribution function."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.triton_gpu.launching import launch

LANES = 1024


@triton.jit
def _quantile_kernel(uniforms, rates, out, count, LANES: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * LANES + tl.arange(0, LANES)
    inside = at < count
    u = tl.load(uniforms + at, mask=inside, other=0.0)
    rate = tl.load(rates + at, mask=inside, other=0.0)
    # the mass at the start is a small difference of large numbers: double precision, once per value
    wide = rate.to(tl.float64)
    start = tl.maximum(tl.floor(wide - 6.5 * tl.sqrt(wide) - 3.0), 0.0)
    k = tl.maximum(start, 1.0)
    series = (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / 1260.0 / (k * k)) / (k * k)) / k
    log_mass = k * tl.log(tl.maximum(wide, 1e-30) / k) + (k - wide) - 0.5 * tl.log(6.283185307179586 * k) - series
    mass = tl.exp(tl.where(start == 0.0, -wide, log_mass)).to(tl.float32)
    number = start.to(tl.float32)
    total = mass
    active = (u > total) & ((number < rate) | (mass > 1e-10))
    while tl.max(active.to(tl.int32), axis=0) > 0:
        number = tl.where(active, number + 1.0, number)
        mass = tl.where(active, mass * rate / number, mass)
        total = tl.where(active, total + mass, total)
        active = (u > total) & ((number < rate) | (mass > 1e-10))
    tl.store(out + at, number, mask=inside)


@kernel
def poisson_quantile(u: Tensor, rate: Tensor) -> Tensor:
    u, rate = u.contiguous(), rate.contiguous()
    out = torch.empty_like(rate)
    return launch(_quantile_kernel, (triton.cdiv(out.numel(), LANES),), out, u, rate, out, out.numel(), LANES=LANES)
