"""Philox 4x32-10 on int64 tensors, the distributions made from its words, and clouds."""

from __future__ import annotations

import torch
from torch import Tensor

from scuff.kernels import portable
from scuff.kernels.dispatch import kernel
from scuff.kernels.portable import divide, fused, square_root
from scuff.kernels.reference.functions import exponential, logarithm
from scuff.kernels.strips import in_strips

__all__ = ["derive_keys", "integers", "normal", "photon_noise", "plasma", "poisson_quantile", "uniform", "words"]


_LOW32 = 0xFFFFFFFF


def _philox(c0: Tensor, c1: Tensor, c2: Tensor, c3: Tensor, k0: Tensor, k1: Tensor) -> tuple[Tensor, ...]:
    """Ten Philox rounds on int64 tensors that hold 32-bit values; int64 products wrap modulo 2**64, as they must."""
    for _ in range(10):
        p0, p1 = c0 * 0xD2511F53, c2 * 0xCD9E8D57
        c0, c1, c2, c3 = (p1 >> 32 & _LOW32) ^ c1 ^ k0, p1 & _LOW32, (p0 >> 32 & _LOW32) ^ c3 ^ k1, p0 & _LOW32
        k0, k1 = k0 + 0x9E3779B9 & _LOW32, k1 + 0xBB67AE85 & _LOW32
    return c0, c1, c2, c3


@kernel
def derive_keys(ids: Tensor, cell: int) -> Tensor:
    """One 64-bit key per image id (int64): two Philox words at counter (id, 0, 0) under the 64-bit key `cell`."""
    zero = torch.zeros_like(ids)
    k0, k1 = zero + (cell & _LOW32), zero + (cell >> 32)
    low, high, _, _ = _philox(ids & _LOW32, ids >> 32 & _LOW32, zero, zero, k0, k1)
    return high << 32 | low


@kernel
def words(keys: Tensor, stream: int, count: int) -> Tensor:
    """`count` 32-bit Philox words per key, as int64 in [0, 2**32): shape (N, count). Bit-equal in every back end."""
    block = torch.arange(-(-count // 4), device=keys.device).expand(len(keys), -1)
    zero = torch.zeros_like(block)
    k0, k1 = (keys & _LOW32)[:, None], (keys >> 32 & _LOW32)[:, None]
    out = _philox(block & _LOW32, block >> 32, zero + stream, zero, k0, k1)
    return torch.stack(out, dim=-1).flatten(1)[:, :count]


@kernel
def uniform(keys: Tensor, stream: int, count: int, low: float = 0.0, high: float = 1.0) -> Tensor:
    """float32 in (0, 1], one per word, times high - low, plus low: (N, count). Bit-equal in every back end."""
    return stretched(_unit(words(keys, stream, count)), high - low, low)


def stretched(values: Tensor, factor: float, offset: float) -> Tensor:
    """values * factor + offset, with two roundings and in place."""
    return values if (factor, offset) == (1.0, 0.0) else values.mul_(factor).add_(offset)


def _unit(word: Tensor) -> Tensor:
    """(w + 1/2) / 2**32 in float32: never 0, so its logarithm is finite."""
    return word.to(torch.float32) * 2.0**-32 + 2.0**-33


@kernel
def normal(keys: Tensor, stream: int, count: int, mean: float = 0.0, std: float = 1.0) -> Tensor:
    """Standard normal float32 by Box-Muller on pairs of words, times std, plus mean: (N, count).

    Bit-equal in every back end: logarithm, sine and cosine are short polynomials by fused multiply-adds, the rest are
    single roundings.
    """
    u = uniform(keys, stream, count + count % 2).unflatten(1, (-1, 2))
    radius = square_root(-2.0 * _log(u[..., 0].contiguous()))
    sine, cosine = _turn(u[..., 1].contiguous())
    return stretched(torch.stack((radius * cosine, radius * sine), dim=-1).flatten(1)[:, :count], std, mean)


# Minimax polynomials for float32, the highest power first.
LOG = (
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
    -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
)  # fmt: skip
SINE = (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
COSINE = (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)


def _horner(coefficients: tuple[float, ...], x: Tensor) -> Tensor:
    value = torch.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        value = fused(value, x, coefficient)
    return value


def _log(x: Tensor) -> Tensor:
    """Natural logarithm of a positive normal float32: split off the exponent, then a polynomial."""
    bits = x.view(torch.int32)
    exponent = (bits - 0x3F3504F3) >> 23
    f = (bits - (exponent << 23)).view(torch.float32) - 1.0
    z = f * f
    return fused(0.693147180559945, exponent.float(), f + fused(-0.5, z, _horner(LOG, f) * f * z))


def _turn(v: Tensor) -> tuple[Tensor, Tensor]:
    """(sin, cos) of 2 pi v for v in [0, 1]: reduce to an eighth of a turn, then two short polynomials."""
    quarter = (v * 4.0 + 0.5).to(torch.int32)
    t = (v - quarter * 0.25) * 6.283185307179586
    z = t * t
    s = fused(_horner(SINE, z) * z, t, t)
    c = fused(-0.5, z, _horner(COSINE, z) * z * z) + 1.0
    swap = quarter & 1 != 0
    sine, cosine = torch.where(swap, c, s), torch.where(swap, s, c)
    return torch.where(quarter & 2 != 0, -sine, sine), torch.where((quarter + 1) & 2 != 0, -cosine, cosine)


@kernel
def integers(keys: Tensor, stream: int, count: int, low: int, high: int) -> Tensor:
    """int32, uniform on low..high with both ends included: (N, count). Bit-equal in every back end."""
    return (low + (words(keys, stream, count) * (high - low + 1) >> 32)).to(torch.int32)


@kernel
def poisson_quantile(u: Tensor, rate: Tensor) -> Tensor:
    """The smallest count (float32) whose Poisson distribution function reaches u: a Poisson draw if u is uniform.

    `u` in (0, 1] and `rate` >= 0 are float32 tables (N, count).

    Search upward from 6.5 standard deviations below the mean, where less than 1e-9 of the mass is left out. Bit-equal
    in every back end: the first mass comes from our own exponential and logarithm in float64, and every further step is
    a product, a quotient and a sum of float32, each rounded correctly.
    """
    count, mass = poisson_start(rate.double())
    total = mass
    while True:
        active = (u > total) & ((count < rate) | (mass > 1e-10))
        if not bool(active.any()):
            return count
        count = torch.where(active, count + 1, count)
        mass = torch.where(active, mass * rate / count, mass)
        total = torch.where(active, total + mass, total)


@kernel
@in_strips
def photon_noise(u: Tensor, x: Tensor, photons: float) -> Tensor:
    """Poisson(photons * x) / photons as the quantiles at `u`; float32, of the same shape each."""
    return divide(poisson_quantile(u.flatten(1), (x * photons).flatten(1)).view(x.shape), photons)


def poisson_start(rate: Tensor) -> tuple[Tensor, Tensor]:
    """Where the search begins, and the probability of that count, both float32, for rates in float64.

    Stirling's series is arranged so that nothing large cancels.
    """
    count = torch.floor(rate - 6.5 * square_root(rate) - 3.0).clamp(min=0.0)
    k = count.clamp(min=1.0)
    series = portable.stirling_series(k)
    log_mass = k * logarithm(rate.clamp(min=1e-30) / k) + (k - rate) - 0.5 * logarithm(6.283185307179586 * k) - series
    return count.float(), exponential(torch.where(count == 0, -rate, log_mass)).float()


@kernel
def plasma(noise: Tensor, decay: float) -> Tensor:
    """Diamond-square clouds in [0, 1] on a torus, from noise in [-1, 1], (N, S, S) with S a power of two.

    Each place of the map is set once: the mean of four neighbours plus its own noise times w^2. The amplitude w starts
    at 100 and is divided by `decay` at each halving of the grid, so the power falls by decay^2 per octave. Bit-equal in
    every back end: four terms are added in one order, and each product is rounded.
    """
    height = torch.zeros_like(noise)
    step, amplitude = noise.shape[-1], 100.0
    while step >= 2:
        half, power = step // 2, amplitude * amplitude
        corners = height[:, ::step, ::step]
        below = torch.roll(corners, -1, 1)
        right = torch.roll(corners, -1, 2)
        centres = (corners + below + right + torch.roll(below, -1, 2)) * 0.25
        centres = centres + power * noise[:, half::step, half::step]
        height[:, half::step, half::step] = centres
        edges = (centres + torch.roll(centres, 1, 1) + corners + right) * 0.25
        height[:, ::step, half::step] = edges + power * noise[:, ::step, half::step]
        edges = (centres + torch.roll(centres, 1, 2) + corners + below) * 0.25
        height[:, half::step, ::step] = edges + power * noise[:, half::step, ::step]
        step, amplitude = half, amplitude / decay
    low = height.amin((1, 2), keepdim=True)
    return (height - low) / (height.amax((1, 2), keepdim=True) - low)
