"""Hues of real colours, turned; grains of light. A pixel is read once and written once."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.portable import divide
from scuff.kernels.reference.hues import grain_rate
from scuff.kernels.triton_gpu.channels import extremes, load_colour, store_colour
from scuff.kernels.triton_gpu.launching import blocks, launch
from scuff.kernels.triton_gpu.random import quantile_from, quantile_start

LANES, MANY = 512, 2048
WARP_LANES = 128  # of a single warp, whose lanes agree on the end of a loop without waiting for others


@triton.jit
def _hue(red, green, blue, top, spread):
    """See the reference; of channels that are the greatest together, the last one counts."""
    lead = tl.where(top == blue, red - green, tl.where(top == green, blue - red, green - blue))
    corner = tl.where(top == blue, 4.0, tl.where(top == green, 2.0, 0.0))
    hue = tl.div_rn(corner + tl.div_rn(lead, tl.where(spread > 0.0, spread, 1.0)), tl.zeros_like(lead) + 6.0)
    hue = tl.where(spread > 0.0, hue, 0.0)
    return tl.where(hue < 0.0, hue + 1.0, hue)


@triton.jit
def _channel(sixths, shift, high, room):
    k = sixths + shift
    k = tl.where(k >= 6.0, k - 6.0, k)
    return high - room * tl.minimum(tl.maximum(tl.minimum(k, 4.0 - k), 0.0), 1.0)


@triton.jit
def _colour(hue, low, high):
    """Red, green and blue."""
    sixths, room = 6.0 * (hue - tl.floor(hue)), high - low
    red, green = _channel(sixths, 5.0, high, room), _channel(sixths, 3.0, high, room)
    return red, green, _channel(sixths, 1.0, high, room)


@triton.jit
def _shift_kernel(x, turns, out, size, LANES: tl.constexpr):
    image = tl.program_id(1).to(tl.int64)
    at = tl.program_id(0) * LANES + tl.arange(0, LANES)
    start = image * 3 * size
    red, green, blue = load_colour(x + start, size, at, at < size)
    top, low = extremes(red, green, blue)
    hue = _hue(red, green, blue, top, top - low) + tl.load(turns + image)
    red, green, blue = _colour(hue, low, top)
    store_colour(out + start, size, at, at < size, red, green, blue)


@kernel
def shift_hue(x: Tensor, turn: Tensor) -> Tensor:
    x, size = x.contiguous(), x.shape[-2:].numel()
    out, grid = torch.empty_like(x), (blocks(size, LANES), len(x))
    return launch(_shift_kernel, grid, out, x, turn.contiguous(), out, size, LANES=LANES)


@triton.jit
def _moments_kernel(x, sums, size, LANES: tl.constexpr):
    """Sums of lightness and of its square, in units of 2**-32: whole, so that pieces may be added in any order."""
    image = tl.program_id(1).to(tl.int64)
    at = tl.program_id(0) * LANES + tl.arange(0, LANES)
    red, green, blue = load_colour(x + image * 3 * size, size, at, at < size)  # black outside, which adds nothing
    top, low = extremes(red, green, blue)
    light = 0.5 * (top + low)
    tl.atomic_add(sums + 2 * image, tl.sum((light * 4294967296.0).to(tl.int64), axis=0))
    tl.atomic_add(sums + 2 * image + 1, tl.sum((light * light * 4294967296.0).to(tl.int64), axis=0))


@triton.jit
def _grain_kernel(x, rates, uniforms, turns, out, size, LANES: tl.constexpr):
    """To hue, lightness and saturation, and back; all pixels of an image begin their search at one count."""
    image = tl.program_id(1).to(tl.int64)
    at = tl.program_id(0) * LANES + tl.arange(0, LANES)
    inside, start, rate = at < size, image * 3 * size, tl.load(rates + image)
    red, green, blue = load_colour(x + start, size, at, inside)
    u = tl.load(uniforms + image * size + at, mask=inside, other=0.0)
    count, mass = quantile_start(rate)
    level = tl.zeros((LANES,), tl.float32)
    grains = tl.div_rn(quantile_from(u, rate + level, count + level, mass + level), level + 255.0)
    top, low = extremes(red, green, blue)
    spread, total = top - low, top + low
    room = tl.where(total < 1.0, total, 2.0 - total)
    saturation = tl.where(spread > 0.0, tl.div_rn(spread, tl.where(spread > 0.0, room, 1.0)), 0.0)
    hue = _hue(red, green, blue, top, spread) + tl.load(turns + image * size + at, mask=inside, other=0.0)
    light = 0.5 * total
    light = light + grains * (1.0 - light)
    high = tl.where(light <= 0.5, light * (1.0 + saturation), light + saturation * (1.0 - light))
    red, green, blue = _colour(hue, 2.0 * light - high, high)
    store_colour(out + start, size, at, inside, red, green, blue)


@kernel
def iso_noise(x: Tensor, intensity: Tensor, u: Tensor, turn: Tensor) -> Tensor:
    x, n, size = x.contiguous(), len(x), x.shape[-2:].numel()
    sums = torch.zeros(n, 2, dtype=torch.int64, device=x.device)
    launch(_moments_kernel, (blocks(size, MANY), n), sums, x, sums, size, LANES=MANY)
    mean, mean_square = divide(sums.double(), 2.0**32 * size).unbind(1)
    rate, out = grain_rate(mean, mean_square, intensity), torch.empty_like(x)
    return launch(
        _grain_kernel, (blocks(size, WARP_LANES), n), out,
        x, rate, u.contiguous(), turn.contiguous(), out, size, LANES=WARP_LANES, num_warps=1,
    )  # fmt: skip
