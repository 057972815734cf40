"""Functions whose last bits machines do not agree on, by the reference's polynomials."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from scuff.kernels import portable
from scuff.kernels.dispatch import kernel
from scuff.kernels.reference import functions
from scuff.kernels.triton_gpu.launching import blocks, launch

LANES = 1024
QUARTERS, EXPONENT, SPLIT = (tl.constexpr(n) for n in (functions.QUARTERS, functions.EXPONENT, functions.SPLIT))
LEAST, MOST = tl.constexpr(functions.LEAST), tl.constexpr(functions.MOST)
HALF_PI, QUARTER_PI, PI = (tl.constexpr(n) for n in (functions.HALF_PI, functions.QUARTER_PI, functions.PI))

_sine, _cosine, _rest = (
    triton.jit(f) for f in (portable.sine_polynomial, portable.cosine_polynomial, portable.rest_of_quarters)
)
_exponential, _logarithm, _arctangent = (
    triton.jit(f)
    for f in (portable.exponential_polynomial, portable.logarithm_polynomial, portable.arctangent_polynomial)
)


@triton.jit
def sines_of(wide):
    """Sine and cosine of float64."""
    quarters = tl.floor(wide * QUARTERS + 0.5)
    r = _rest(wide, quarters)
    s, c = _sine(r), _cosine(r)
    quarter = quarters.to(tl.int32)
    swap = (quarter & 1) != 0
    sine, cosine = tl.where(swap, c, s), tl.where(swap, s, c)
    sine = tl.where((quarter & 2) != 0, -sine, sine)
    return sine, tl.where(((quarter + 1) & 2) != 0, -cosine, cosine)


@triton.jit
def _sines_kernel(x, sines, cosines, count, LANES: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * LANES + tl.arange(0, LANES)
    sine, cosine = sines_of(tl.load(x + at, mask=at < count, other=0.0).to(tl.float64))
    tl.store(sines + at, sine.to(sines.dtype.element_ty), mask=at < count)
    tl.store(cosines + at, cosine.to(cosines.dtype.element_ty), mask=at < count)


@kernel
def sine_and_cosine(x: Tensor) -> tuple[Tensor, Tensor]:
    x = x.contiguous()
    sines, cosines = torch.empty_like(x), torch.empty_like(x)
    launch(_sines_kernel, (blocks(x.numel(), LANES),), sines, x, sines, cosines, x.numel(), LANES=LANES)
    return sines, cosines


@triton.jit
def angles_of(v, u):
    """The angle of (u, v), float64; see the reference."""
    steep = tl.abs(v) > tl.abs(u)
    shorter, longer = tl.where(steep, tl.abs(u), tl.abs(v)), tl.where(steep, tl.abs(v), tl.abs(u))
    t = shorter / tl.where(longer > 0.0, longer, 1.0)
    far = t > 0.66
    angle = _arctangent(tl.where(far, (t - 1.0) / (t + 1.0), t))
    angle = tl.where(far, QUARTER_PI + angle, angle)
    angle = tl.where(steep, HALF_PI - angle, angle)
    angle = tl.where(u < 0.0, PI - angle, angle)
    return tl.where(v < 0.0, -angle, angle)


@triton.jit
def _angles_kernel(y, x, out, count, LANES: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * LANES + tl.arange(0, LANES)
    v = tl.load(y + at, mask=at < count, other=0.0).to(tl.float64)
    u = tl.load(x + at, mask=at < count, other=0.0).to(tl.float64)
    tl.store(out + at, angles_of(v, u).to(out.dtype.element_ty), mask=at < count)


@kernel
def arctangent(y: Tensor, x: Tensor) -> Tensor:
    out = torch.empty(y.shape, dtype=y.dtype, device=y.device)
    grid = (blocks(out.numel(), LANES),)
    return launch(_angles_kernel, grid, out, y.contiguous(), x.contiguous(), out, out.numel(), LANES=LANES)


@triton.jit
def logarithm(x):
    """See the reference."""
    bits = x.to(tl.int64, bitcast=True)
    exponent = (bits - SPLIT) >> EXPONENT
    f = (bits - (exponent << EXPONENT)).to(tl.float64, bitcast=True) - 1.0
    return _logarithm(f, exponent.to(tl.float64))


@triton.jit
def exponential(x):
    """See the reference."""
    x = tl.minimum(tl.maximum(x, LEAST), MOST)
    twos = tl.floor(x * 1.4426950408889634 + 0.5)
    r = (x - twos * 6.93147180369123816490e-01) - twos * 1.90821492927058770002e-10
    return _exponential(r) * ((twos.to(tl.int64) + 1023) << EXPONENT).to(tl.float64, bitcast=True)


@triton.jit
def powers_of(base, exponent):
    """base^exponent, float64, where 0 stays 0."""
    value = exponential(exponent * logarithm(tl.where(base > 0.0, base, 1.0)))
    return tl.where(base > 0.0, value, 0.0)


@triton.jit
def _powers_kernel(x, exponents, out, count, SHARED: tl.constexpr, LANES: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * LANES + tl.arange(0, LANES)
    base = tl.load(x + at, mask=at < count, other=1.0).to(tl.float64)
    exponent = tl.load(exponents + (at - at if SHARED else at), mask=at < count, other=1.0).to(tl.float64)
    tl.store(out + at, powers_of(base, exponent).to(out.dtype.element_ty), mask=at < count)


@kernel
def power(x: Tensor, exponent: Tensor) -> Tensor:
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    return launch(
        _powers_kernel, (blocks(out.numel(), LANES),), out,
        x.contiguous(), exponent.contiguous(), out, out.numel(), SHARED=exponent.numel() == 1, LANES=LANES,
    )  # fmt: skip
