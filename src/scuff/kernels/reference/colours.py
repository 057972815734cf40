"""Colours through a colour space of bytes and back."""

from __future__ import annotations

import torch
from torch import Tensor

from scuff.kernels.colour_tables import HUE_STEPS, SATURATION_STEPS
from scuff.kernels.constants import constant
from scuff.kernels.dispatch import kernel
from scuff.kernels.reference.tables import lookup

__all__ = ["map_colours"]

Planes = tuple[Tensor, Tensor, Tensor]


@kernel
def map_colours(pixels: Tensor, space: str, tables: Tensor, active: Tensor) -> Tensor:
    """Take uint8 RGB to a colour space of bytes, map each component by its table, and come back.

    `space` is "hsv" or "hls" (OpenCV's: hue in half degrees, components rounded; in this order) or "pillow_hsv" (hue
    0..255, truncated). `tables` is uint8 (N, 3, 256). Images that are not `active` (bool, (N,)) stay as they are.
    """
    there, back = _SPACES[space]
    components = torch.stack(there(*pixels.to(torch.int32).unbind(1)), dim=1).to(torch.uint8)
    mapped = torch.stack(back(*lookup(components, tables).to(torch.int32).unbind(1)), dim=1)
    return torch.where(active[:, None, None, None], mapped.to(torch.uint8), pixels)


# --- OpenCV's bytes: whole numbers throughout -----------------------------------------------------------------------


def _extremes(red: Tensor, green: Tensor, blue: Tensor) -> tuple[Tensor, Tensor]:
    return torch.maximum(torch.maximum(red, green), blue), torch.minimum(torch.minimum(red, green), blue)


def _divided(numerator: Tensor, denominator: Tensor, steps) -> Tensor:
    """A quotient by a table of reciprocals, rounded."""
    table = constant(tuple(steps.tolist()), numerator.device, torch.int32)
    return (numerator * table[denominator.long()] + 2048) >> 12


def _half_degrees(red: Tensor, green: Tensor, blue: Tensor, top: Tensor, spread: Tensor) -> Tensor:
    """The hue, 0..179; grey has hue 0."""
    hue = torch.where(top == green, blue - red + 2 * spread, red - green + 4 * spread)
    hue = _divided(torch.where(top == red, green - blue, hue), spread, HUE_STEPS)
    return torch.where(hue < 0, hue + 180, hue)


def _to_hsv(red: Tensor, green: Tensor, blue: Tensor) -> Planes:
    top, low = _extremes(red, green, blue)
    spread = top - low
    return _half_degrees(red, green, blue, top, spread), _divided(spread, top, SATURATION_STEPS), top


def _to_hls(red: Tensor, green: Tensor, blue: Tensor) -> Planes:
    top, low = _extremes(red, green, blue)
    spread, total = top - low, top + low
    room = torch.where(total < 255, total, 510 - total)
    return _half_degrees(red, green, blue, top, spread), (total + 1) >> 1, _divided(spread, room, SATURATION_STEPS)


def _from_hsv(hue: Tensor, saturation: Tensor, value: Tensor) -> Planes:
    return _from_hue(hue, value * (255 - saturation), 255 * value)


def _from_hls(hue: Tensor, lightness: Tensor, saturation: Tensor) -> Planes:
    high = 255 * lightness + torch.minimum(lightness, 255 - lightness) * saturation
    return _from_hue(hue, 510 * lightness - high, high)


def _from_hue(hue: Tensor, low: Tensor, high: Tensor) -> Planes:
    """Channels between `low` and `high`, in 255ths: in each sixth of the circle one is low, one high, one between."""
    sixth, step = hue // 30, hue % 30
    between = torch.where(sixth % 2 == 0, 30 * low + (high - low) * step, 30 * high - (high - low) * step)
    low, high, between = ((30 * low + 3825) // 7650, (30 * high + 3825) // 7650, (between + 3825) // 7650)

    def channel(own: int) -> Tensor:
        """The channel whose own hue is `own` sixths: high beside it, low opposite."""
        away = (sixth - own + 6) % 6
        return torch.where((away == 0) | (away == 5), high, torch.where((away == 2) | (away == 3), low, between))

    return channel(0), channel(2), channel(4)


# --- Pillow's bytes -------------------------------------------------------------------------------------------------


def _to_pillow_hsv(red: Tensor, green: Tensor, blue: Tensor) -> Planes:
    """All three 0..255, truncated; so Pillow's roundings to single precision on the way are kept."""
    top, low = (plane.float() for plane in _extremes(red, green, blue))
    spread = top - low
    r, g, b = (((top - channel) / spread.clamp(min=1.0)).double() for channel in (red, green, blue))
    hue = torch.where(top == red, b - g, torch.where(top == green, 2.0 + r - b, 4.0 + g - r)).float()
    hue = (hue.double() / 6.0 + 1.0).remainder(1.0).float()
    saturation = (spread / top.clamp(min=1.0)).double()
    return torch.floor(255.0 * hue.double()), torch.floor(255.0 * saturation), top


def _from_pillow_hsv(hue: Tensor, saturation: Tensor, value: Tensor) -> Planes:
    sixths, high = hue.double() * 6.0 / 255.0, value.double()
    low = high * (1.0 - saturation.double() / 255.0)

    def channel(shift: float) -> Tensor:
        k = (sixths + shift).remainder(6.0)
        return torch.floor(high - (high - low) * torch.minimum(k, 4.0 - k).clamp(0.0, 1.0) + 0.5)

    return channel(5.0), channel(3.0), channel(1.0)


_SPACES = {
    "hsv": (_to_hsv, _from_hsv),
    "hls": (_to_hls, _from_hls),
    "pillow_hsv": (_to_pillow_hsv, _from_pillow_hsv),
}
