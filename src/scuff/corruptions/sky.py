"""Weather and sun painted over the picture."""

from __future__ import annotations

import math
from functools import partial

import torch
from torch import Tensor

from scuff import kernels, random
from scuff.corruptions.draws import Shape, largest, pick, pick_whole, whole_position
from scuff.corruptions.motion import Motion, shifted
from scuff.corruptions.patches import draw_centres, shapes_memory
from scuff.corruptions.registry import NOC, SYN2NAT, Parameters, register
from scuff.kernels.constants import constant
from scuff.kernels.portable import divide
from scuff.ops import stamps
from scuff.ops.tables import map_components, trunc8
from scuff.ranges import Range

LIMITS = {
    "count": Range(1, 10_000),
    "scale": Range(0.000_001, 100.0),
    "strength": Range(0.0, 10.0),
    "opacity": Range(0.0, 0.099),
    "length": Range(1, 10_000),
    "slant": Range(0, 10_000),
    "blur": Range(1, 1000),
    "amount": Range(-10.0, 10.0),
    "circles": Range(1, 20),
    "radius": Range(1, 5000),
}

noc = partial(register, family="weather", domain="real", reference=NOC, limits=LIMITS)
syn2nat = partial(register, family="weather", domain="byte", reference=SYN2NAT, limits=LIMITS)


def _draw_drops(keys: Tensor, shape: Shape, *, count: Range | int, scale: float) -> dict[str, Tensor]:
    return draw_centres(keys, shape, count, scale, stamps.disc)


@noc(draw=_draw_drops, lengths=("scale",), ranges=("count",), memory=shapes_memory)
def rain(x: Tensor, places: Tensor, kinds: Tensor, *, scale: float) -> Tensor:
    """Drops on a window: discs of 13 pixels, each of which takes what it covers halfway to white."""
    drops = stamps.coverage(places, kinds, (stamps.disc(scale),), *x.shape[-2:])
    halves = constant(tuple(0.5**k for k in range(32)), x.device)
    return kernels.pale_by_number(x, drops, halves)


# --- fog ------------------------------------------------------------------------------------------------------------

THIRD = 74  # a third of 224 pixels: the counts of discs are those of that size


def _draw_puffs(keys: Tensor, shape: Shape, *, strength: Range | float) -> dict[str, Tensor]:
    _, height, width = shape
    f = pick(keys, strength)
    size = torch.floor((width // 3) * f).clamp(1.0, max(1, width // 3))
    # two rings of puffs: some near the middle, twice as many farther out
    each = torch.floor(divide(torch.floor(THIRD * f), 10.0))
    most = int(THIRD * largest(strength)) // 10
    places, used = [], []
    left, top = width // 2 - 2.0 * size, height // 2 - size
    for ring in (1, 2):
        u = random.uniform(keys, f"ring {ring}", (ring * most, 2))
        corner = torch.stack((top, left), dim=1)[:, None]
        room = torch.stack((height - 2.0 * top - size, width - 2.0 * left - size), dim=1)[:, None]
        places.append(corner + torch.floor(u * (room + 1.0)).minimum(room))
        used.append(torch.arange(ring * most, device=keys.device) < ring * each[:, None])
        top = top - torch.floor(divide(3.0 * size * height, height + width))
        left = left - torch.floor(divide(3.0 * size * width, height + width))
    centre = torch.cat(places, dim=1) + torch.floor(0.5 * size)[:, None, None]
    return {"strength": f, "size": size, "places": centre.to(torch.int32), "used": torch.cat(used, dim=1)}


def _box_motion(shape: Shape, side: Tensor) -> Motion:
    """A box of an even side reaches farther up and left, so the picture goes half a pixel down and right."""
    return shifted(shape, (0.5 * (1.0 - side.double() % 2.0))[:, None].expand(-1, 2))


def _puff_box(size: Tensor) -> Tensor:
    return torch.floor(divide(size, 10.0)).clamp(min=1.0).to(torch.int32)


@syn2nat(draw=_draw_puffs, ranges=("strength",), motion=lambda shape, size: _box_motion(shape, _puff_box(size)))
def random_fog(
    pixels: Tensor, strength: Tensor, size: Tensor, places: Tensor, used: Tensor, *, opacity: float
) -> Tensor:
    """Puffs of fog: fifteen to twenty-one large discs that pale what they cover, then a slight blur.

    Their size is a third of the width times the drawn strength, their opacity `opacity` times it.
    """
    height, width = pixels.shape[-2:]
    radii = torch.where(used, torch.floor(0.5 * size).to(torch.int32)[:, None], -1)
    rows, columns = places.unbind(2)
    puffs = kernels.count_discs(rows, columns, radii, height, width)
    foggy = kernels.lay_fog(pixels, puffs, 1.0 - opacity * strength, used.shape[1])
    return kernels.box_mean(foggy, _puff_box(size), max(1, width // 3 // 10))


# --- rain, snow, shadow ---------------------------------------------------------------------------------------------


def _draw_streaks(keys: Tensor, shape: Shape, *, count: int, length: int) -> dict[str, Tensor]:
    _, height, width = shape
    slant = torch.trunc(random.uniform(keys, "slant", (1,), -10.0, 10.0))
    room = width - slant  # from 0 to width - slant, or from slant to width if it is negative
    column = slant.clamp(max=0.0) + torch.floor(random.uniform(keys, "columns", (count,)) * (room + 1.0)).minimum(room)
    row = random.integers(keys, "rows", (count,), low=0, high=max(height - length, 0))
    return {"places": torch.stack((row, column.to(torch.int32)), dim=2)}


STREAK = 200.0


@syn2nat(
    draw=_draw_streaks,
    colour=True,
    lengths=("length", "slant", "blur"),
    motion=lambda shape, *, blur: _box_motion(shape, torch.tensor([blur])),
)
def random_rain(pixels: Tensor, places: Tensor, *, length: int, slant: int, blur: int) -> Tensor:
    """Light streaks over a scene that is blurred and three tenths darker.

    All streaks slant the same way: the original draws a slant, but uses it only to choose where streaks begin. Kept.
    """
    shape, kinds = stamps.line(length, slant), torch.zeros_like(places[..., 0])
    streaks = stamps.topmost(places, kinds, (shape,), *pixels.shape[-2:])
    wet = stamps.paint(pixels, streaks, torch.full((1, places.shape[1]), STREAK / 255.0, device=pixels.device))
    size = torch.full((len(pixels),), blur, dtype=torch.int32, device=pixels.device)
    wet = kernels.box_mean(wet, size, blur)
    return map_components(wet, "hls", (None, lambda light: trunc8(0.7 * light), None))


def _draw_threshold(keys: Tensor, shape: Shape, *, amount: Range | float) -> dict[str, Tensor]:
    return {"threshold": 127.5 * pick(keys, amount) + 85.0}


@syn2nat(draw=_draw_threshold, colour=True, ranges=("amount",))
def random_snow(pixels: Tensor, threshold: Tensor) -> Tensor:
    """Snow on the ground: whatever is darker than a threshold becomes two and a half times as light."""

    def bleach(light: Tensor) -> Tensor:
        return torch.where(light < threshold[:, None], trunc8(2.5 * light), light.to(torch.uint8))

    return map_components(pixels, "hls", (None, bleach, None))


VERTICES = 8


def _draw_shadows(keys: Tensor, shape: Shape, *, count: Range | int) -> dict[str, Tensor]:
    most = largest(count)
    corners = whole_position(keys, "corner", most * VERTICES, (0, shape[1]), (0, shape[2]))
    return {"corners": corners.unflatten(1, (most, VERTICES)), "count": pick_whole(keys, count)}


@syn2nat(draw=_draw_shadows, colour=True, ranges=("count",))
def random_shadow(pixels: Tensor, corners: Tensor, count: Tensor) -> Tensor:
    """Shadows of something ragged: polygons of eight random corners, in which the picture is half as light.

    Sides cross each other, and the even-odd rule leaves holes where they do. The rest of the picture passes through
    bytes of HLS too, which moves many colours by a level or two: the original's, and kept.
    """
    shadow = kernels.fill_polygons(corners, count, *pixels.shape[-2:])
    dark = map_components(pixels, "hls", (None, lambda light: trunc8(0.5 * light), None))
    return torch.where(shadow[:, None], dark, map_components(pixels, "hls", (None, None, None)))


# --- sun ------------------------------------------------------------------------------------------------------------

RINGS = 20
MOST_REACH = 8  # pixels, of a flare at 224 pixels
FADING = [1.0 - t * t * t for t in ((RINGS - 1 - i) / (RINGS - 1) for i in range(RINGS))]
# what is left of a pixel's distance from white if ring i is the innermost that reaches it; beyond the last: all of it
REMAINS = (*(math.prod(FADING[i:]) for i in range(RINGS)), 1.0)


def _draw_flare(keys: Tensor, shape: Shape, *, circles: Range | int) -> dict[str, Tensor]:
    _, height, width = shape
    most = largest(circles)
    row = torch.floor(random.uniform(keys, "sun row", (), 0.0, 0.5) * height)
    column = torch.floor(random.uniform(keys, "sun column") * width).clamp(max=width - 1)
    sine, cosine = kernels.sine_and_cosine(2.0 * math.pi * random.uniform(keys, "angle", (1,)))
    slope = sine / cosine
    at = 10.0 * random.integers(keys, "along", (most,), low=0, high=max((width - 1) // 10, 0)).float()
    along = torch.trunc(row[:, None] - slope * (at - column[:, None])).clamp(-1e6, 1e6)
    used = torch.arange(most, device=keys.device) < pick_whole(keys, circles, "circles")[:, None]
    return {
        "sun": torch.stack((row, column), dim=1),
        "places": torch.stack((along, at), dim=2),
        "reach": random.integers(keys, "radius", (most,), low=1, high=2).float() ** 3,
        "share": torch.where(used, random.uniform(keys, "share", (most,), 0.05, 0.2), 0.0),
        "colour": divide(random.integers(keys, "colour", (most, 3), low=205, high=255).float(), 255.0),
    }


def _flare_pixels(images: int, shape: tuple[int, ...], parameters: Parameters) -> float:
    reach = MOST_REACH * parameters["radius"] / 200
    return 25 * images * largest(parameters["circles"]) * math.pi * max(1.0, reach) ** 2


@syn2nat(
    draw=_draw_flare,
    domain="real",
    colour=True,
    lengths=("radius",),
    ranges=("circles",),
    memory=_flare_pixels,
)
def random_sun_flare(
    x: Tensor, sun: Tensor, places: Tensor, reach: Tensor, share: Tensor, colour: Tensor, *, radius: int
) -> Tensor:
    """The sun in the picture: a white glow that fades over `radius` pixels, and small lens flares along a line.

    Flares that fall outside the picture are lost; the original fails and draws again.
    """
    most = max(1, round(MOST_REACH * radius / 200))
    x = kernels.paint_flares(x, places, reach * (radius / 200.0), share, colour, most)
    squares = tuple(float(int(1 + (radius - 1) * i / (RINGS - 1)) ** 2) for i in range(RINGS))
    return kernels.add_glow(x, sun, squares, REMAINS)
