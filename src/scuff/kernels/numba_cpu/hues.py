"""Hues of real colours: the reference's thirty passes over memory in one, without a jump and so for several pixels."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.numba_cpu.compiling import F32, INDEX, compiled, inlined
from scuff.kernels.numba_cpu.filling import fill

NONE, HALF, ONE, TWO, FOUR, SIX = (F32(n) for n in (0.0, 0.5, 1.0, 2.0, 4.0, 6.0))


@inlined
def ends(red, green, blue):
    """The greatest and the least."""
    top, low = red if red > green else green, red if red < green else green
    return top if top > blue else blue, low if low < blue else blue


@inlined
def _hue(red, green, blue, top, spread):
    """See the reference; of channels that are the greatest together, the last one counts."""
    lead, corner = green - blue, NONE
    lead, corner = blue - red if top == green else lead, TWO if top == green else corner
    lead, corner = red - green if top == blue else lead, FOUR if top == blue else corner
    hue = (corner + lead / spread) / SIX
    hue = hue if spread > NONE else NONE
    return hue + ONE if hue < NONE else hue


@inlined
def _channel(sixths, shift, high, room):
    k = sixths + shift
    k = k - SIX if k >= SIX else k
    fall = FOUR - k
    k = k if k < fall else fall
    k = k if k > NONE else NONE
    return high - room * (k if k < ONE else ONE)


@inlined
def _colour(hue, low, high):
    """Red, green and blue."""
    sixths, room = SIX * (hue - np.floor(hue)), high - low
    return (
        _channel(sixths, F32(5.0), high, room),
        _channel(sixths, F32(3.0), high, room),
        _channel(sixths, ONE, high, room),
    )


@compiled
def _shift_hue(planes, turn, out):
    for k in range(INDEX(planes.shape[1])):
        red, green, blue = planes[0, k], planes[1, k], planes[2, k]
        top, low = ends(red, green, blue)
        out[0, k], out[1, k], out[2, k] = _colour(_hue(red, green, blue, top, top - low) + turn, low, top)


@kernel
def shift_hue(x: Tensor, turn: Tensor) -> Tensor:
    out = torch.empty(x.shape)
    fill(out.flatten(2), _shift_hue, x.flatten(2), turn)
    return out


@compiled
def _to_hls(planes, out):
    for k in range(INDEX(planes.shape[1])):
        red, green, blue = planes[0, k], planes[1, k], planes[2, k]
        top, low = ends(red, green, blue)
        spread, total = top - low, top + low
        saturation = spread / (total if total < ONE else TWO - total)
        out[0, k], out[1, k] = _hue(red, green, blue, top, spread), HALF * total
        out[2, k] = saturation if spread > NONE else NONE


@kernel
def to_hls(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    out = torch.empty(x.shape)
    fill(out.flatten(2), _to_hls, x.flatten(2))
    hue, light, saturation = out.unbind(1)
    return hue, light, saturation


@compiled
def _from_hls(hues, lights, saturations, out):
    for k in range(INDEX(hues.size)):
        light, saturation = lights[k], saturations[k]
        dark, bright = light * (ONE + saturation), light + saturation * (ONE - light)
        high = dark if light <= HALF else bright
        out[0, k], out[1, k], out[2, k] = _colour(hues[k], TWO * light - high, high)


@kernel
def from_hls(hue: Tensor, light: Tensor, saturation: Tensor) -> Tensor:
    out = torch.empty(len(hue), 3, *hue.shape[1:])
    fill(out.flatten(2), _from_hls, *(t.flatten(1) for t in (hue, light, saturation)))
    return out
