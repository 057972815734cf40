"""Colours: channels, hue and grey of the whole picture; film, palettes and dither, pixel by pixel."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from scuff import kernels, random
from scuff.corruptions.draws import Shape, fair_signs, pick
from scuff.corruptions.motion import no_motion
from scuff.corruptions.registry import MINTUN, NOC, SYN2NAT, register
from scuff.kernels.constants import constant
from scuff.ops.tables import LEVELS, map_components, map_levels, round8, trunc8
from scuff.ranges import Range

LIMITS = {
    "shift": Range(-1000.0, 1000.0),
    "share": Range(0.0, 1.0),
    "turn": Range(-1.0, 1.0),
    "threshold": Range(0.0, 256.0),
    "hue": Range(-1000.0, 1000.0),
    "saturation": Range(-1000.0, 1000.0),
    "value": Range(-1000.0, 1000.0),
    "strength": Range(0.0, 100.0),
    "amount": Range(-100.0, 100.0),
}

mintun = partial(register, family="tint", domain="byte", colour=True, reference=MINTUN, limits=LIMITS)
noc = partial(register, family="colour", domain="byte", colour=True, reference=NOC, limits=LIMITS)
syn2nat = partial(register, family="colour", domain="byte", colour=True, reference=SYN2NAT, limits=LIMITS)


def _one_of_three(keys: Tensor, stream: str) -> Tensor:
    """One channel of each image: bool (N, 3)."""
    return random.integers(keys, stream, (1,), low=0, high=2) == torch.arange(3, device=keys.device)


def _draw_tinge(keys: Tensor, shape: Shape, *, shift: Range | float) -> dict[str, Tensor]:
    return {"shift": 255.0 * pick(keys, shift)[:, None] * _one_of_three(keys, "channel").float()}


@noc(draw=_draw_tinge, ranges=("shift",))
def color_distortion(pixels: Tensor, shift: Tensor) -> Tensor:
    """A cast of red, green or blue: one channel is raised. (Spelled color_disortion in the original.)"""
    return map_levels(pixels, lambda level: round8(level + shift[..., None]))


@noc(draw=lambda keys, shape, *, share: {"share": pick(keys, share)}, ranges=("share",))
def gray_scale(pixels: Tensor, share: Tensor) -> Tensor:
    """Colours that fade: a share of every pixel is replaced by its grey."""
    return kernels.mix_grey(pixels, share)


@noc(draw=lambda keys, shape, *, turn: {"turn": pick(keys, turn) * fair_signs(keys, "sign")}, ranges=("turn",))
def hue(pixels: Tensor, turn: Tensor) -> Tensor:
    """All hues turned on the colour circle, in Pillow's 256 steps; half a turn is the most."""
    step = torch.trunc(255.0 * turn)[:, None]
    return map_components(pixels, "pillow_hsv", (lambda h: (h + step).remainder(256.0).to(torch.uint8), None, None))


@syn2nat(draw=lambda keys, shape: {"dropped": _one_of_three(keys, "channel")})
def channel_dropout(pixels: Tensor, dropped: Tensor) -> Tensor:
    """One of the three channels lost: it becomes 0."""
    return map_levels(pixels, lambda level: torch.where(dropped[..., None], 0.0, level).to(torch.uint8))


@syn2nat(draw=lambda keys, shape, *, shift: {"shift": pick(keys, shift, "shift", (3,))}, ranges=("shift",))
def rgb_shift(pixels: Tensor, shift: Tensor) -> Tensor:
    """Each channel raised or lowered by an amount of its own, up to 200 levels."""
    return map_levels(pixels, lambda level: trunc8(level + shift[..., None]))


@syn2nat(colour=False)
def invert_img(pixels: Tensor) -> Tensor:
    """The negative of the picture: every value becomes 255 less itself."""
    return ~pixels  # of bytes: 255 - pixels


@syn2nat(colour=False)
def solarize(pixels: Tensor, *, threshold: int) -> Tensor:
    """Overexposed film: values from `threshold` on turn into their negative."""
    return map_levels(pixels, lambda level: torch.where(level >= threshold, 255.0 - level, level)[None].to(torch.uint8))


SEPIA = ((402, 787, 194), (357, 702, 172), (279, 547, 134))  # .393 .769 .189 and so on, in OpenCV's 1024ths


@syn2nat()
def to_sepia(pixels: Tensor) -> Tensor:
    """The brown of old photographs: one mixture of the channels for each of them."""
    return kernels.mix_channels(pixels, constant(SEPIA, pixels.device, torch.int32))


def _draw_hsv(
    keys: Tensor, shape: Shape, *, hue: Range | float, saturation: Range | float, value: Range | float
) -> dict[str, Tensor]:
    return {
        "hue": pick(keys, hue, "hue"),
        "saturation": pick(keys, saturation, "saturation"),
        "value": pick(keys, value, "value"),
    }


@syn2nat(draw=_draw_hsv, ranges=("hue", "saturation", "value"))
def hue_saturation_value(pixels: Tensor, hue: Tensor, saturation: Tensor, value: Tensor) -> Tensor:
    """Hue, saturation and value shifted, each by its own amount: in half degrees, and in levels."""
    return map_components(
        pixels,
        "hsv",
        (
            lambda h: _turned(h, hue[:, None]),
            lambda s: trunc8(s + saturation[:, None]),
            lambda v: trunc8(v + value[:, None]),
        ),
    )


def _turned(hue: Tensor, shift: Tensor) -> Tensor:
    return torch.floor((hue + shift).remainder(180.0)).clamp(max=179.0).to(torch.uint8)


def _draw_jitter(keys: Tensor, shape: Shape, *, strength: float) -> dict[str, Tensor]:
    factors = random.uniform(keys, "factors", (3,), 1.0 - strength, 1.0 + strength)
    return {
        "factors": factors,
        "hue": 180.0 * random.uniform(keys, "hue", (), -strength, strength),
        "order": random.permutation(keys, "order", 4),
    }


@syn2nat(draw=_draw_jitter)
def color_jitter(pixels: Tensor, factors: Tensor, hue: Tensor, order: Tensor) -> Tensor:
    """Brightness, contrast, saturation and hue changed at random, one after the other in random order.

    Factors reach `strength` to either side of 1, and so does the hue in turns: more than half a circle, as in the
    original.
    """
    brightness, contrast, saturation = factors[:, :, None].unbind(1)
    levels = constant(LEVELS, pixels.device)
    hues = _turned(levels, hue[:, None])
    for step in range(4):
        way = order[:, step]
        pivot = kernels.mean_grey(pixels, active=way == 1)[:, None] * (1.0 - contrast)
        table = trunc8(torch.where(way[:, None] == 0, brightness, contrast) * levels + pivot)
        pixels = kernels.change_colours(pixels, way, table, 1.0 - saturation[:, 0], hues)
    return pixels


@mintun()
def bleach_bypass(pixels: Tensor, *, amount: float) -> Tensor:
    """Film developed without its bleach: harsh contrast over muted colours.

    The original doubles in 8 bits (a value of 128 and more wraps) and does not clip. Both are kept.
    """
    return kernels.bleach_bypass(pixels, 0.1 * amount)


@mintun()
def technicolor(pixels: Tensor, *, amount: float) -> Tensor:
    """Three-strip film: each channel is multiplied by the mattes of the other two. Values above 255 wrap: kept."""
    return kernels.technicolor(pixels, 0.1 * amount)


def _draw_palette(keys: Tensor, shape: Shape) -> dict[str, Tensor]:
    return {
        "smoothness": random.uniform(keys, "smoothness", (), 0.25, 0.75),
        "palette": random.integers(keys, "palette", (5, 3), low=0, high=254),
    }


@mintun(draw=_draw_palette)
def pseudocolor(pixels: Tensor, smoothness: Tensor, palette: Tensor, *, amount: float) -> Tensor:
    """Lightness painted with a random palette of five colours, mixed in by a twentieth per unit.

    One of the two ways between colours takes their difference in 8 bits, which wraps: the original's, and kept.
    """
    return kernels.pseudocolor(pixels, smoothness, palette, 0.05 * amount)


def _draw_sign(keys: Tensor, shape: Shape) -> dict[str, Tensor]:
    return {"sign": fair_signs(keys, "sign")}


@mintun(draw=_draw_sign, domain="unit")
def hue_shift(x: Tensor, sign: Tensor, *, amount: float) -> Tensor:
    """All hues turned by a twentieth of the colour circle per unit, one way or the other."""
    return kernels.shift_hue(x, 0.05 * amount * sign)


@mintun(draw=_draw_sign)
def color_balance(pixels: Tensor, sign: Tensor, *, amount: float) -> Tensor:
    """Colours a tenth stronger or paler per unit, about the pixel's own grey."""
    return kernels.scale_colours(pixels, 1.0 + 0.1 * amount * sign)


@mintun(colour=False, limits={"amount": Range(-200.0, 12.99)}, motion=no_motion)
def color_dither(pixels: Tensor, *, amount: float) -> Tensor:
    """Few levels per channel, 14 less one per unit, the error passed on along the row.

    Meant as Floyd-Steinberg's two-dimensional dither; the original's error never leaves its row. Kept.
    """
    return kernels.dither_rows(pixels, 14 - int(amount))
