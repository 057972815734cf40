"""Pixels moved, colours parted: lenses, water, creases, tilts, and hands that turn."""

from __future__ import annotations

import math
from functools import partial

import torch
from torch import Tensor

from scuff import kernels, random
from scuff.corruptions.draws import Shape, draw_caustics, fair_signs, position
from scuff.corruptions.motion import Motion, field_motion, no_motion, ramps
from scuff.corruptions.registry import MINTUN, register
from scuff.kernels import portable
from scuff.kernels.constants import constant
from scuff.kernels.grids import pixel_grid
from scuff.kernels.portable import divide
from scuff.ops import filters, textures
from scuff.ops.textures import per_image
from scuff.ops.warp import sum_reads
from scuff.ranges import Range

LIMITS = {"amount": Range(0.0, 100.0)}

mintun = partial(register, family="warp", reference=MINTUN, limits=LIMITS)


Sources = tuple[Tensor, Tensor]  # the rows and columns at which pixels are read


def _refracted(shape: tuple[int, ...], time: Tensor, size: Tensor, *, amount: float) -> tuple[Tensor, Tensor, Tensor]:
    """Rows and columns at which pixels are read through moving water, and how its slopes light them."""
    height, width = shape[-2:]
    surface = filters.gaussian_blur(kernels.caustics(time, size, height, width)[:, None], 1.0, 4.0, "reflect")
    return kernels.refracted_places(surface[:, 0], 0.05 * amount * min(height, width))


@mintun(
    draw=draw_caustics,
    motion=field_motion(lambda shape, time, size, *, amount: _refracted(shape, time, size, amount=amount)[:2]),
)
def caustic_refraction(x: Tensor, time: Tensor, size: Tensor, *, amount: float) -> Tensor:
    """The image under moving water: bent by the slopes of a caustic pattern, and lit by them."""
    rows, columns, light = _refracted(x.shape, time, size, amount=amount)
    return kernels.sample_bilinear(x, rows, columns, border="zeros").add_(light.mul_(0.2 * amount)[:, None])


def _twirl_cells(height: int, width: int) -> tuple[int, int, int]:
    """Side of a cell, and how many fit down and across: five to a large image's side, three to a small one's."""
    side = min(height, width)
    cell = max(1, side // (5 if side >= 128 else 3))
    return cell, height // cell, width // cell


def _draw_twirls(keys: Tensor, shape: Shape, *, amount: float) -> dict[str, Tensor]:
    _, down, across = _twirl_cells(*shape[1:])
    return {"twirl": fair_signs(keys, "twirl", (down, across)) * (math.pi / 20.0 * amount)}


def _twirled(shape: tuple[int, ...], twirl: Tensor, *, amount: float) -> Sources:
    cell, *_ = _twirl_cells(*shape[-2:])
    return kernels.twirled_places(twirl, cell, -(0.04 * amount + 0.1), *shape[-2:])


@mintun(draw=_draw_twirls, motion=field_motion(_twirled))
def pinch_and_twirl(x: Tensor, twirl: Tensor, *, amount: float) -> Tensor:
    """A grid of lenses that squeeze the image and turn it, each one way or the other."""
    return kernels.sample_bilinear(x, *_twirled(x.shape, twirl, amount=amount), border="zeros")


def _lens_count(shape: tuple[int, ...]) -> int:
    """As many on every square of the picture; where the shorter side has less than 8 pixels, 8 on every pixel.

    >>> _lens_count((3, 224, 224)), _lens_count((3, 8, 16)), _lens_count((3, 1, 1000))
    (501, 1003, 8000)
    """
    return min(int(501.76 * shape[1] * shape[2] / min(shape[1:]) ** 2), 8 * shape[1] * shape[2])


def _draw_lenses(keys: Tensor, shape: Shape) -> dict[str, Tensor]:
    _, height, width = shape
    sides = constant((float(height), float(width)), keys.device)
    return {"centres": random.uniform(keys, "centres", (_lens_count(shape), 2)) * sides}


def _fish_eye_motion(shape: Shape, centres: Tensor, *, amount: float) -> Motion:
    """Measured: hundreds of reads, one of the other, add up to more than the product of their maps."""
    grid = ramps(shape, centres)
    read = fish_eye(torch.cat((grid, torch.ones_like(grid[:, :1])), dim=1), centres, amount=amount)
    light = read[:, 2]  # what is read from beyond the frame is missing in it
    rows, columns = (torch.where(light > 0.5, read[:, k] / light.clamp(min=0.5), -grid[:, k] - 1.0) for k in (0, 1))
    return Motion(shape[1:], rows=rows, columns=columns)


@mintun(
    draw=_draw_lenses,
    memory=lambda images, shape, _: 4 * images * _lens_count(shape),
    motion=_fish_eye_motion,
)
def fish_eye(x: Tensor, centres: Tensor, *, amount: float) -> Tensor:
    """Hundreds of small drops on the lens, one after the other, each bending what the earlier ones have bent.

    A drop's radius is a twentieth of the shorter side, its refractive index 1 + 0.2 amount.
    """
    return kernels.refract_drops(x, centres, max(0.05 * min(x.shape[-2:]), 3.0), 1.0 + 0.2 * amount)


def _draw_drop(keys: Tensor, shape: Shape) -> dict[str, Tensor]:
    return {
        "centre": position(keys, shape, 0.25, 0.75),
        "wavelength": random.uniform(keys, "wavelength", (), 0.05, 0.2) * min(shape[1:]),
        "phase": random.uniform(keys, "phase", (), 0.0, 2 * math.pi),
    }


def _under_waves(
    shape: tuple[int, ...], centre: Tensor, wavelength: Tensor, phase: Tensor, *, amount: float
) -> Sources:
    return kernels.waving_places(centre, wavelength, phase, 0.025 * amount, *shape[-2:])


@mintun(draw=_draw_drop, motion=field_motion(_under_waves))
def water_drop(x: Tensor, centre: Tensor, wavelength: Tensor, phase: Tensor, *, amount: float) -> Tensor:
    """Round waves from one point, out to half the side."""
    return kernels.sample_bilinear(x, *_under_waves(x.shape, centre, wavelength, phase, amount=amount), border="zeros")


def _draw_ripple(keys: Tensor, shape: Shape) -> dict[str, Tensor]:
    sides = constant((float(shape[1]), float(shape[2])), keys.device)
    return {
        "wavelength": random.uniform(keys, "wavelength", (2,), 0.1, 0.3) * sides,
        "phase": random.uniform(keys, "phase", (2,), 0.0, 2 * math.pi),
    }


def _rippled(shape: tuple[int, ...], wavelength: Tensor, phase: Tensor, *, amount: float) -> Sources:
    height, width = shape[-2:]
    sources = []
    for axis, (at, side) in enumerate(zip(pixel_grid(height, width, phase.device), (height, width), strict=True)):
        wave = textures.sine(2 * math.pi * at / per_image(wavelength[:, axis]) + per_image(phase[:, axis]))
        sources.append((at + (0.0025 * amount * side) * wave).expand(-1, height, width))
    rows, columns = sources
    return rows, columns


@mintun(draw=_draw_ripple, motion=field_motion(_rippled))
def ripple(x: Tensor, wavelength: Tensor, phase: Tensor, *, amount: float) -> Tensor:
    """Waves down and across: each axis shifts as a sine of its own coordinate."""
    return kernels.sample_bilinear(x, *_rippled(x.shape, wavelength, phase, amount=amount), border="zeros")


@mintun(draw=lambda keys, shape: {"twist": random.uniform(keys, "twist", (), 0.0, 10.0)})
def scatter(x: Tensor, twist: Tensor, *, amount: float) -> Tensor:
    """Every pixel read from a place up to a hundredth of the side per unit away, by a hash of its own place."""
    places = kernels.scattered_places(twist, 0.01 * amount * min(x.shape[-2:]), *x.shape[-2:])
    return kernels.sample_bilinear(x, *places, border="zeros")


def _between_corners(shape: tuple[int, ...], jitter: Tensor, *, amount: float) -> Sources:
    height, width = shape[-2:]
    rows, columns = pixel_grid(height, width, jitter.device)
    sides = constant((float(width), float(height)), jitter.device)
    corners = constant(((0.0, 0.0), (0.0, 1.0), (1.0, 1.0), (1.0, 0.0)), jitter.device) * sides
    corners = corners + jitter * sides * (amount / 30.0)
    u, w = divide(columns + 0.5, width), divide(rows + 0.5, height)

    def blend(k: int) -> Tensor:
        nw, sw, se, ne = (per_image(c) for c in corners[..., k].unbind(1))
        return nw + (ne - nw) * u + (sw - nw) * w + (se - sw - ne + nw) * u * w

    return blend(1), blend(0)


@mintun(
    draw=lambda keys, shape: {"jitter": random.uniform(keys, "jitter", (4, 2), -1.0, 1.0)},
    motion=field_motion(_between_corners, -0.5),
)
def quadrilateral_no_bars(x: Tensor, jitter: Tensor, *, amount: float) -> Tensor:
    """The four corners pulled apart by up to a thirtieth of the side per unit; gaps show the unwarped image."""
    return kernels.sample_or_keep(x, *_between_corners(x.shape, jitter, amount=amount))


def _tilted(shape: tuple[int, ...], sign: Tensor, *, amount: float) -> Sources:
    height, width = shape[-2:]
    rows, columns = pixel_grid(height, width, sign.device)
    a, e, b, d, c, f = (per_image(s) for s in sign.unbind(1))
    at_x, at_y = columns + 0.5, rows + 0.5
    denominator = (0.02 * amount / width) * at_x + (0.02 * amount / height) * at_y + 1.0
    two = 0.6931471805599453
    larger, smaller = (portable.exp(sign * two * 0.015 * amount) for sign in (1.0, -1.0))
    grow_x, grow_y = (torch.where(sign > 0, larger, smaller) for sign in (a, e))
    source_x = grow_x * at_x + 0.01 * amount * (b * at_y + c * width)
    source_y = 0.01 * amount * (d * at_x + f * height) + grow_y * at_y
    return source_y / denominator, source_x / denominator


@mintun(
    draw=lambda keys, shape: {"sign": fair_signs(keys, "sign", (6,))},
    motion=field_motion(_tilted, -0.5),
)
def perspective_no_bars(x: Tensor, sign: Tensor, *, amount: float) -> Tensor:
    """A tilted view; gaps show the unwarped image. Only the signs are random, and the tilt itself has none."""
    return kernels.sample_or_keep(x, *_tilted(x.shape, sign, amount=amount))


def _draw_directions(keys: Tensor, shape: Shape) -> dict[str, Tensor]:
    return {"angle": random.uniform(keys, "angle", (3,), 0.0, 2 * math.pi)}


@mintun(draw=_draw_directions, family="aberration", domain="byte", colour=True, motion=no_motion)
def chromatic_abberation(pixels: Tensor, angle: Tensor, *, amount: float) -> Tensor:
    """Each channel shifted its own way, a hundredth of the side per unit (the name's spelling is the original's).

    Read by a spline that also smooths, black where it runs out of the image.
    """
    height, width = pixels.shape[-2:]
    rows, columns = pixel_grid(height, width, pixels.device)
    shift = 0.01 * amount * min(height, width)
    sine, cosine = kernels.sine_and_cosine(angle)
    at_rows, at_columns = rows[:, 0] - shift * cosine[..., None], columns[0] - shift * sine[..., None]
    return kernels.read_spline_bytes(pixels, at_rows, at_columns)


def _draw_order(keys: Tensor, shape: Shape) -> dict[str, Tensor]:
    return {"order": random.permutation(keys, "order", 3)}


@mintun(draw=_draw_order, family="aberration", domain="byte", colour=True, motion=no_motion)
def transverse_chromatic_abberation(pixels: Tensor, order: Tensor, *, amount: float) -> Tensor:
    """Each channel magnified differently, by 0, 2.5 and 5 per cent per unit, in random order; all of them smoothed."""
    at = []
    for length in pixels.shape[-2:]:
        places = []
        for k in range(3):
            zoomed = max(round(length * (1.0 + 0.025 * amount * k)), 1)
            offset = (zoomed - length) // 2
            place = (torch.arange(length, device=pixels.device) + offset) * ((length - 1) / max(zoomed - 1, 1))
            places.append(place.clamp(max=length - 1))
        at.append(torch.stack(places)[order])
    return kernels.read_spline_bytes(pixels, *at)


ROTATIONS = 21


@mintun(family="aberration", copies=3.6)
def circular_motion_blur(x: Tensor, *, amount: float) -> Tensor:
    """A camera that turns about its axis by up to 1.5 degrees per unit either way; corners fade to black."""
    height, width = x.shape[-2:]
    rows, columns = pixel_grid(height, width, x.device)
    dy, dx = rows - 0.5 * (height - 1), columns - 0.5 * (width - 1)
    times = [i / 10.0 - 1.0 for i in range(ROTATIONS)]
    turns = [math.radians(1.5 * amount * t) for t in times]
    sine, cosine = (constant(tuple(map(f, turns)), x.device)[:, None, None] for f in (portable.sin, portable.cos))
    at_rows, at_columns = cosine * dy - sine * dx + 0.5 * (height - 1), sine * dy + cosine * dx + 0.5 * (width - 1)
    shares = constant(tuple(portable.scaled_to_one([portable.exp(-2.0 * t * t) for t in times])), x.device)
    return sum_reads(x, at_rows, at_columns, shares)
