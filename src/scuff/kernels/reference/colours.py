"""Colours: bytes through tables and colour spaces, channels and whole images mixed, dither."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from scuff.kernels.constants import constant
from scuff.kernels.dispatch import kernel
from scuff.kernels.portable import divide
from scuff.kernels.strips import in_strips

__all__ = [
    "add_streaks", "change_colours", "dither_rows", "lookup", "map_colours", "mean_grey", "mix_bytes", "mix_channels",
    "mix_grey", "scale_colours", "scale_saturation", "shift_value", "sum_levels", "whiten",
]  # fmt: skip


@kernel
def lookup(pixels: Tensor, tables: Tensor) -> Tensor:
    """Replace uint8 (N, C, H, W) by `tables[n, c, value]`; tables are uint8 (N, C, 256), or (N, 1, 256) if shared."""
    n, channels = pixels.shape[:2]
    levels = tables.expand(n, channels, 256).gather(2, pixels.flatten(2).long())
    return levels.view(pixels.shape)


def _luma(pixels: Tensor) -> Tensor:
    red, green, blue = pixels.to(torch.int32).split(1, dim=1)
    return (19595 * red + 38470 * green + 7471 * blue + 32768) >> 16


@kernel
def mean_grey(pixels: Tensor, active: Tensor) -> Tensor:
    """The mean of Pillow's rounded luma over each image of uint8 RGB, float32 (N,); 0 for those not `active` (N,).

    Bit-equal in every back end: a sum of whole numbers, and one quotient.
    """
    height, width = pixels.shape[-2:]
    return torch.where(active, divide(_luma(pixels).sum((1, 2, 3)).float(), height * width), 0.0)


@kernel
def sum_levels(pixels: Tensor) -> Tensor:
    """The sum over all pixels and channels of each image of uint8 (N, C, H, W): int64 (N,)."""
    return pixels.sum((1, 2, 3))


@kernel
def mix_grey(pixels: Tensor, share: Tensor) -> Tensor:
    """v + share * (grey - v), rounded, for uint8 RGB and `share` (N,); grey is Pillow's rounded luma.

    Bit-equal in every back end: the product is rounded before it is added.
    """
    grey, levels = _luma(pixels).float(), pixels.float()
    return torch.floor(levels + share[:, None, None, None] * (grey - levels) + 0.5).clamp_(0, 255).to(torch.uint8)


@kernel
def scale_colours(pixels: Tensor, factor: Tensor) -> Tensor:
    """grey + factor * (v - grey), truncated, for uint8 RGB and `factor` (N,); grey is Pillow's rounded luma."""
    grey, levels = _luma(pixels).float(), pixels.float()
    scaled = grey + factor[:, None, None, None] * (levels - grey)
    return scaled.clamp_(0, 255).to(torch.uint8)


@kernel
def mix_channels(pixels: Tensor, mixture: Tensor) -> Tensor:
    """Each channel of uint8 RGB as a mixture of all three: int32 (3, 3), in 1024ths, rounded."""
    red, green, blue = pixels.to(torch.int32)[:, :, None].unbind(1)
    shares = mixture[..., None, None]
    levels = (shares[:, 0] * red + shares[:, 1] * green + shares[:, 2] * blue + 512) >> 10
    return levels.clamp_(0, 255).to(torch.uint8)


# what OpenCV's integer colour conversion divides by, in 4096ths
HUE_STEPS = np.array([0, *(round((180 << 12) / (6.0 * spread)) for spread in range(1, 256))], dtype=np.int32)
SATURATION_STEPS = np.array([0, *(round((255 << 12) / room) for room in range(1, 256))], dtype=np.int32)

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


@kernel
def change_colours(pixels: Tensor, way: Tensor, levels: Tensor, share: Tensor, hues: Tensor) -> Tensor:
    """Change uint8 RGB, each image in its own `way` (N,).

    0 and 1 send all values through a table `levels`, uint8 (N, 256). 2 mixes in a `share` (N,) of grey: `mix_grey`. 3
    sends hues, OpenCV's half degrees, through a table `hues`, uint8 (N, 256).
    """
    same = torch.arange(256, device=pixels.device).to(torch.uint8).expand(len(pixels), 256)
    pixels = lookup(pixels, torch.where((way < 2)[:, None], levels, same)[:, None])
    pixels = mix_grey(pixels, torch.where(way == 2, share, 0.0))
    return map_colours(pixels, "hsv", torch.stack((hues, same, same), dim=1), way == 3)


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
    hue = (divide(hue.double(), 6.0) + 1.0).remainder(1.0).float()
    saturation = (spread / top.clamp(min=1.0)).double()
    return torch.floor(255.0 * hue.double()), torch.floor(255.0 * saturation), top


def _from_pillow_hsv(hue: Tensor, saturation: Tensor, value: Tensor) -> Planes:
    sixths, high = divide(hue.double() * 6.0, 255.0), value.double()
    low = high * (1.0 - divide(saturation.double(), 255.0))

    def channel(shift: float) -> Tensor:
        k = (sixths + shift).remainder(6.0)
        return torch.floor(high - (high - low) * torch.minimum(k, 4.0 - k).clamp(0.0, 1.0) + 0.5)

    return channel(5.0), channel(3.0), channel(1.0)


_SPACES = {"hsv": (_to_hsv, _from_hsv), "hls": (_to_hls, _from_hls), "pillow_hsv": (_to_pillow_hsv, _from_pillow_hsv)}


@kernel
def mix_bytes(pixels: Tensor, others: Tensor, shares: Tensor) -> Tensor:
    """Images and versions of them, mixed: float32 (N, C, H, W), not rounded.

    `pixels` is uint8 (N, C, H, W), `others` uint8 (L, N, C, H, W). `shares` is float32 (L + 1, N), that of `pixels`
    first. Each product is rounded before it is added, and they are added in this order: bit-equal in every back end.
    """
    own, *theirs = shares[..., None, None, None].unbind(0)
    mixed = pixels * own
    for other, share in zip(others, theirs, strict=True):
        mixed += other * share  # not addcmul: a fused product and sum would be rounded once, and only on some devices
    return mixed


@kernel
def dither_rows(pixels: Tensor, levels: int) -> Tensor:
    """Quantise uint8 (N, C, H, W) to `levels` >= 2 levels, passing the error on to the right. Equal in every back end.

    The next pixel gets 7/16 of the error, but not in the first row, then 1/16, but not in the last row; it is rounded
    down and clipped to a byte after each.
    """
    v = pixels.int()
    row = torch.arange(v.shape[-2], device=v.device)
    above, below = row > 0, row < len(row) - 1
    out, error = [], torch.zeros_like(v[..., 0])
    for current in v.unbind(-1):
        current = torch.where(above, (current + (7 * error >> 4)).clamp(0, 255), current)
        current = torch.where(below, (current + (error >> 4)).clamp(0, 255), current)
        out.append(255 * (levels * current >> 8) // (levels - 1))
        error = current - out[-1]
    return torch.stack(out, dim=-1).to(torch.uint8)


@kernel
@in_strips
def whiten(x: Tensor, keep: float) -> Tensor:
    """The pale light of a snowy day on a share 1 - `keep` of float32 (N, C, H, W), grey or RGB.

    Bit-equal in every back end: every product and sum is rounded, red first.
    """
    luma = 0.299 * x[:, :1] + 0.587 * x[:, 1:2] + 0.114 * x[:, 2:] if x.shape[1] == 3 else x
    return keep * x + (1.0 - keep) * torch.maximum(x, 1.5 * luma + 0.5)


@kernel
def add_streaks(scene: Tensor, streaks: Tensor) -> Tensor:
    """Add uint8 (N, 1, H, W), as shares of 255, to float32 (N, C, H, W): as they are, then rotated by half a turn."""
    return _add_shares(scene, streaks, streaks.flip((-2, -1)))


@in_strips
def _add_shares(x: Tensor, first: Tensor, second: Tensor) -> Tensor:
    return x + divide(first.float(), 255.0) + divide(second.float(), 255.0)


@kernel
@in_strips
def shift_value(x: Tensor, shift: float) -> Tensor:
    """Add `shift` to the V of HSV and clip it.

    Hue and saturation stay, so every channel scales by V'/V; black has no hue and becomes the grey V'.
    """
    value = x.amax(1, keepdim=True)
    shifted = (value + shift).clamp_(0.0, 1.0)
    return torch.where(value > 0, x * (shifted / value), shifted)


@kernel
@in_strips
def scale_saturation(x: Tensor, gain: float, shift: float) -> Tensor:
    """Replace the S of HSV by clip(gain * S + shift, 0, 1).

    The distance of each channel from V scales by S'/S. Grey has S = 0 and by convention hue 0, so a positive shift
    tints it red.
    """
    value = x.amax(1, keepdim=True)
    spread = value - x.amin(1, keepdim=True)
    saturation = torch.where(value > 0, spread / value, 0.0)
    wanted = (gain * saturation + shift).clamp_(0.0, 1.0)
    coloured = value - (value - x) * (wanted / saturation)
    red = torch.cat((value, value * (1.0 - wanted), value * (1.0 - wanted)), dim=1)
    return torch.where(spread > 0, coloured, red)
