"""Colours of the whole picture: channels, hue, grey."""

from __future__ import annotations

import torch
from torch import Tensor

from scuff import kernels, random
from scuff.corruptions.draws import Shape, fair_signs, pick
from scuff.corruptions.registry import NOC, SYN2NAT, register
from scuff.kernels.constants import constant
from scuff.ops.tables import map_components, map_levels, round8, trunc8
from scuff.ranges import Range


def _one_of_three(keys: Tensor, stream: str) -> Tensor:
    """One channel of each image: bool (N, 3)."""
    return random.integers(keys, stream, (1,), low=0, high=2) == torch.arange(3, device=keys.device)


def _draw_tinge(keys: Tensor, shape: Shape, *, shift: Range | float) -> dict[str, Tensor]:
    return {"shift": 255.0 * pick(keys, shift)[:, None] * _one_of_three(keys, "channel").float()}


@register(family="colour", draw=_draw_tinge, domain="byte", colour=True, ranges=("shift",), reference=NOC)
def color_distortion(pixels: Tensor, shift: Tensor) -> Tensor:
    """A cast of red, green or blue: one channel is raised. (Spelled color_disortion in the original.)"""
    return map_levels(pixels, lambda level: round8(level + shift[..., None]))


def _draw_greyness(keys: Tensor, shape: Shape, *, share: Range | float) -> dict[str, Tensor]:
    return {"share": pick(keys, share)}


@register(family="colour", draw=_draw_greyness, domain="byte", colour=True, ranges=("share",), reference=NOC)
def gray_scale(pixels: Tensor, share: Tensor) -> Tensor:
    """Colours that fade: a share of every pixel is replaced by its grey."""
    return kernels.mix_grey(pixels, share)


def _draw_turn(keys: Tensor, shape: Shape, *, turn: Range | float) -> dict[str, Tensor]:
    return {"turn": pick(keys, turn) * fair_signs(keys, "sign")}


@register(family="colour", draw=_draw_turn, domain="byte", colour=True, ranges=("turn",), reference=NOC)
def hue(pixels: Tensor, turn: Tensor) -> Tensor:
    """All hues turned on the colour circle, in Pillow's 256 steps; half a turn is the most."""
    step = torch.trunc(255.0 * turn)[:, None]
    return map_components(pixels, "pillow_hsv", (lambda h: (h + step).remainder(256.0).to(torch.uint8), None, None))


def _draw_channel(keys: Tensor, shape: Shape) -> dict[str, Tensor]:
    return {"dropped": _one_of_three(keys, "channel")}


@register(family="colour", draw=_draw_channel, domain="byte", colour=True, reference=SYN2NAT)
def channel_dropout(pixels: Tensor, dropped: Tensor) -> Tensor:
    """One of the three channels lost: it becomes 0."""
    return map_levels(pixels, lambda level: torch.where(dropped[..., None], 0.0, level).to(torch.uint8))


def _draw_shifts(keys: Tensor, shape: Shape, *, shift: Range | float) -> dict[str, Tensor]:
    return {"shift": pick(keys, shift, "shift", (3,))}


@register(family="colour", draw=_draw_shifts, domain="byte", colour=True, ranges=("shift",), reference=SYN2NAT)
def rgb_shift(pixels: Tensor, shift: Tensor) -> Tensor:
    """Each channel raised or lowered by an amount of its own, up to 200 levels."""
    return map_levels(pixels, lambda level: trunc8(level + shift[..., None]))


@register(family="colour", domain="byte", reference=SYN2NAT)
def invert_img(pixels: Tensor) -> Tensor:
    """The negative of the picture: every value becomes 255 less itself."""
    return 255 - pixels


@register(family="colour", domain="byte", reference=SYN2NAT)
def solarize(pixels: Tensor, *, threshold: int) -> Tensor:
    """Overexposed film: values from `threshold` on turn into their negative."""
    return map_levels(pixels, lambda level: torch.where(level >= threshold, 255.0 - level, level)[None].to(torch.uint8))


SEPIA = ((402, 787, 194), (357, 702, 172), (279, 547, 134))  # .393 .769 .189 and so on, in OpenCV's 1024ths


@register(family="colour", domain="byte", colour=True, reference=SYN2NAT)
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


@register(
    family="colour",
    draw=_draw_hsv,
    domain="byte",
    colour=True,
    ranges=("hue", "saturation", "value"),
    reference=SYN2NAT,
)
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


@register(family="colour", draw=_draw_jitter, domain="byte", colour=True, reference=SYN2NAT)
def color_jitter(pixels: Tensor, factors: Tensor, hue: Tensor, order: Tensor) -> Tensor:
    """Brightness, contrast, saturation and hue changed at random, one after the other in random order.

    Factors reach `strength` to either side of 1, and so does the hue in turns: more than half a circle, as in the
    original.
    """
    brightness, contrast, saturation = factors[:, :, None].unbind(1)
    for step in range(4):
        turn = order[:, step, None]
        gain = torch.where(turn == 0, brightness, torch.where(turn == 1, contrast, 1.0))
        pivot = kernels.mean_grey(pixels, active=turn[:, 0] == 1)[:, None] * (1.0 - contrast)
        pixels = map_levels(pixels, lambda level, gain=gain, pivot=pivot: trunc8(gain * level + pivot))  # type: ignore[misc]
        pixels = kernels.mix_grey(pixels, torch.where(turn == 2, 1.0 - saturation, 0.0)[:, 0])
        shift = (lambda h: _turned(h, hue[:, None]), None, None)
        pixels = map_components(pixels, "hsv", shift, active=turn[:, 0] == 3)
    return pixels
