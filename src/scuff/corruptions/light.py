"""More light, less light, other light: one curve for all pixels, or one for each side of a line."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from scuff import kernels, random
from scuff.corruptions.draws import Shape, fair_signs, pick, pick_whole
from scuff.corruptions.registry import NOC, SYN2NAT, register
from scuff.kernels.grids import pixel_grid
from scuff.kernels.portable import divide
from scuff.ops.tables import map_levels, round8, trunc8
from scuff.ops.textures import per_image
from scuff.ranges import Range

LIMITS = {
    "shift": Range(-10.0, 10.0),
    "share": Range(0.0, 1.0),
    "gain": Range(-1000.0, 1000.0),
    "gamma": Range(0, 100_000),
}

noc = partial(register, family="light", domain="byte", reference=NOC, limits=LIMITS)
syn2nat = partial(register, family="light", domain="byte", reference=SYN2NAT, limits=LIMITS)


def _draw_backlight(keys: Tensor, shape: Shape, *, shift: Range | float) -> dict[str, Tensor]:
    _, height, width = shape
    return {
        "shift": pick(keys, shift) * fair_signs(keys, "sign"),
        "across": random.bernoulli(keys, "axis", probability=0.5),
        "column": width // 2 + random.integers(keys, "column", low=-width // 5, high=width // 5),
        "row": height // 2 + random.integers(keys, "row", low=-height // 5, high=height // 5),
    }


@noc(draw=_draw_backlight, domain="real", ranges=("shift",))
def backlight(x: Tensor, shift: Tensor, across: Tensor, column: Tensor, row: Tensor) -> Tensor:
    """One side of a straight line lighter, the other as much darker; the line is upright or level, near the middle."""
    rows, columns = pixel_grid(x.shape[-2], x.shape[-1], x.device)
    brighter = torch.where(per_image(across), columns >= per_image(column), rows < per_image(row))
    return x + torch.where(brighter, per_image(shift), -per_image(shift))[:, None]


def _draw_signed_shift(keys: Tensor, shape: Shape, *, shift: Range | float) -> dict[str, Tensor]:
    return {"shift": 255.0 * pick(keys, shift) * fair_signs(keys, "sign")}


@noc(draw=_draw_signed_shift, ranges=("shift",))
def level_shift(pixels: Tensor, shift: Tensor) -> Tensor:
    """Every value raised, or every value lowered, by the same amount."""
    return map_levels(pixels, lambda level: round8(level + shift[:, None]))


@noc(draw=lambda keys, shape, *, share: {"share": pick(keys, share)}, ranges=("share",))
def fade_to_mean(pixels: Tensor, share: Tensor) -> Tensor:
    """Less contrast: a share of every value is replaced by the mean over all pixels and channels."""
    mean = divide(kernels.sum_levels(pixels).float(), max(pixels[:1].numel(), 1))
    return map_levels(pixels, lambda level: round8(level + share[:, None] * (mean[:, None] - level)))


@syn2nat(draw=lambda keys, shape, *, shift: {"shift": 255.0 * pick(keys, shift)}, ranges=("shift",))
def random_brightness(pixels: Tensor, shift: Tensor) -> Tensor:
    """Every value raised or lowered by up to nine tenths of the scale."""
    return map_levels(pixels, lambda level: trunc8(level + shift[:, None]))


@syn2nat(draw=lambda keys, shape, *, gain: {"gain": pick(keys, gain)}, ranges=("gain",))
def random_contrast(pixels: Tensor, gain: Tensor) -> Tensor:
    """Every value multiplied by one factor. There is no pivot, and a negative factor gives a black picture: kept."""
    return map_levels(pixels, lambda level: trunc8(gain[:, None] * level))


def _draw_gamma(keys: Tensor, shape: Shape, *, gamma: Range | int) -> dict[str, Tensor]:
    return {"gamma": divide(pick_whole(keys, gamma).float(), 100.0)}


@syn2nat(draw=_draw_gamma, ranges=("gamma",))
def random_gamma(pixels: Tensor, gamma: Tensor) -> Tensor:
    """A much darker picture: the power `gamma` / 100, from 3 to 10, of every value."""

    def darkened(level: Tensor) -> Tensor:
        values, powers = torch.broadcast_tensors(divide(level.double(), 255.0), gamma.double()[:, None])
        return trunc8(255.0 * kernels.power(values, powers))  # a fraction is dropped, so the last bit counts

    return map_levels(pixels, darkened)
