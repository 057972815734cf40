"""Stars of many rays: a pixel is lit by all of them in registers, and written once."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from scuff.kernels.constants import constant
from scuff.kernels.dispatch import kernel
from scuff.kernels.triton_gpu.functions import angles_of, powers_of
from scuff.kernels.triton_gpu.launching import blocks, launch

LANES = 256


@triton.jit
def _ray(lengths, ray, m):
    return tl.load(lengths + tl.where(ray >= m, ray - m, ray).to(tl.int32))


@triton.jit
def _glow(centre, count, lengths, star, row, column, most):
    """See `_rays` of the reference."""
    dy, dx = row - tl.load(centre + 2 * star), column - tl.load(centre + 2 * star + 1)
    m = tl.load(count + star).to(tl.float32)
    angle = angles_of(dx.to(tl.float64), dy.to(tl.float64)).to(tl.float32)
    turn = m * tl.div_rn(angle + 3.141592653589793, tl.zeros_like(angle) + 6.283185307179586)
    first = tl.floor(turn)
    share = turn - first
    near = _ray(lengths + star * most, first, m)
    reach = near + share * (_ray(lengths + star * most, first + 1.0, m) - near)
    return tl.div_rn(reach * reach, dy * dy + dx * dx + 1e-4), 1.0 - (share - 0.5) * (share - 0.5)


@triton.jit
def _stars_kernel(
    x, centre, count, lengths, exponent, out, stars, most, channels, height, width,
    FADES: tl.constexpr, LANES: tl.constexpr,
):  # fmt: skip
    """Of all `stars`, or if FADES of one whose glow is raised to a power."""
    image = tl.program_id(0).to(tl.int64)
    size = height * width
    at = tl.program_id(1) * LANES + tl.arange(0, LANES)
    inside = at < size
    place = tl.minimum(at, size - 1)
    row, column = (place // width).to(tl.float32), (place % width).to(tl.float32)
    dark = tl.zeros_like(row) + 1.0
    for k in range(stars):
        glow, profile = _glow(centre, count, lengths, image * stars + k, row, column, most)
        if FADES:
            light = profile * powers_of(glow.to(tl.float64), tl.load(exponent).to(tl.float64)).to(tl.float32)
            dark = tl.minimum(tl.maximum(light, 0.0), 1.0)
        else:
            dark = dark * (1.0 - tl.minimum(tl.maximum(profile * glow, 0.0), 1.0))
    for c in range(channels):
        here = (image * channels + c) * size + at
        value = tl.load(x + here, mask=inside, other=0.0)
        tl.store(out + here, value + (1.0 - value) * (1.0 - dark), mask=inside)


def _under_stars(
    x: Tensor, centre: Tensor, count: Tensor, lengths: Tensor, exponent: Tensor, stars: int, fades: bool
) -> Tensor:
    x, (n, channels, height, width) = x.contiguous(), x.shape
    out = torch.empty_like(x)
    return launch(
        _stars_kernel, (n, blocks(height * width, LANES)), out,
        x, centre.contiguous(), count.contiguous(), lengths.contiguous(), exponent, out,
        stars, lengths.shape[-1], channels, height, width, FADES=fades, LANES=LANES,
    )  # fmt: skip


@kernel
def light_stars(x: Tensor, centre: Tensor, count: Tensor, lengths: Tensor) -> Tensor:
    return _under_stars(x, centre, count, lengths, constant((1.0,), x.device), centre.shape[1], fades=False)


@kernel
def fade_around_star(x: Tensor, centre: Tensor, count: Tensor, lengths: Tensor, exponent: float) -> Tensor:
    return _under_stars(x, centre, count, lengths, constant((exponent,), x.device), 1, fades=True)
