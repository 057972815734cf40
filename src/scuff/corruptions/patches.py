"""Parts of the image hidden: dashes, rhombi, discs, rectangles.

Patches are meant for 224 pixels. On another image they scale, and their number is chosen so that the same share of the
picture is covered.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from scuff import random
from scuff.corruptions.draws import Shape, largest, pick_whole, whole_position
from scuff.corruptions.motion import cover
from scuff.corruptions.registry import NOC, SYN2NAT, Parameters, register
from scuff.kernels.constants import constant
from scuff.ops import stamps
from scuff.ops.stamps import Pixels
from scuff.ranges import Range

LIMITS = {
    "count": Range(0, 10_000),
    "scale": Range(0.000_001, 100.0),
    "side": Range(1, 100_000),
    "thickness": Range(0, 100_000),
    "amount": Range(0.0, 100.0),
}

noc = partial(register, family="obscure", domain="byte", reference=NOC, limits=LIMITS)
syn2nat = partial(register, family="obscure", domain="byte", reference=SYN2NAT, limits=LIMITS)


def count_shapes(
    keys: Tensor, shape: Shape, count: Range | int, scale: float, figure: Pixels, original: Pixels
) -> tuple[Tensor, int]:
    """How many shapes each image gets, (N,), and the most that one can get.

    `figure` is the shape at `scale`, `original` at 224 pixels: the covered share of the image stays.
    """
    side = min(shape[1:])
    factor = scale * scale * (shape[1] * shape[2] / side**2) * len(original) / len(figure)
    number = torch.round(pick_whole(keys, count).float() * factor).clamp(min=1.0).to(torch.int32)
    return number, max(1, round(largest(count) * factor))


def shapes_memory(images: int, shape: tuple[int, ...], parameters: Parameters) -> float:
    """All pixels of all shapes, of which an elongated image has many."""
    count = images * largest(parameters["count"]) * shape[1] * shape[2] / min(shape[1:]) ** 2
    return count * (10 + 4 * 121 * parameters["scale"] ** 2)


def draw_centres(
    keys: Tensor, shape: Shape, count: Range | int, scale: float, figure_at: Callable[[float], Pixels]
) -> dict[str, Tensor]:
    """Centres (N, K, 2) of shapes of 13 pixels, which do not cross the border, and which of them are used (kinds)."""
    figure = figure_at(scale)
    number, most = count_shapes(keys, shape, count, scale, figure, figure_at(1.0))
    margin = max(1, round(7 * scale))
    places = whole_position(keys, "centre", most, *(_room(figure, axis, shape[axis + 1], margin) for axis in (0, 1)))
    used = torch.arange(most, device=keys.device) < number[:, None]
    return {"places": places, "kinds": used.to(torch.int32) - 1}


def _room(figure: Pixels, axis: int, length: int, margin: int = 0) -> tuple[int, int]:
    """First and last place of a figure's anchor along an axis (0: rows), so that the figure stays inside."""
    offsets = [pixel[axis] for pixel in figure]
    return max(margin, -min(offsets)), length - max(margin, max(offsets) + 1)


# --- stamps ---------------------------------------------------------------------------------------------------------


def _draw_dashes(keys: Tensor, shape: Shape, *, count: Range | int, scale: float) -> dict[str, Tensor]:
    _, height, width = shape
    figures, original = stamps.dashes(scale), stamps.dashes(1.0)[3]
    number, most = count_shapes(keys, shape, count, scale, figures[3], original)
    places = whole_position(keys, "dash", most, _room(figures[0], 0, height), _room(figures[0], 1, width))
    dotted = random.integers(keys, "dots", (most,), low=0, high=6) > 0
    column = places[..., 1]
    leftmost, rightmost = _room(figures[3], 1, width)  # dots need more room; a side that lacks it has none
    right, left = dotted & (column <= rightmost), dotted & (column >= leftmost)
    kinds = right.int() + 2 * left.int()
    used = torch.arange(most, device=keys.device) < number[:, None]
    return {
        "places": places,
        "kinds": torch.where(used, kinds, -1),
        "grey": random.uniform(keys, "grey", (1,)).expand(-1, most),
    }


# Where shapes lie on images of `shape`: numbers of the topmost ones, from 1, or 0: int32 (N, H, W).


def _dash_page(shape: tuple[int, ...], places: Tensor, kinds: Tensor, *, scale: float) -> Tensor:
    return stamps.topmost(places, kinds, stamps.dashes(scale), *shape[-2:])


def _upright_page(shape: tuple[int, ...], places: Tensor, kinds: Tensor, *, scale: float) -> Tensor:
    figures = tuple(stamps.transposed(figure) for figure in stamps.dashes(scale))
    return stamps.topmost(places, kinds, figures, *shape[-2:])


def _rhombus_page(shape: tuple[int, ...], places: Tensor, kinds: Tensor, *, scale: float) -> Tensor:
    return stamps.topmost(places, kinds, (stamps.rhombus(scale),), *shape[-2:])


def _disc_page(shape: tuple[int, ...], places: Tensor, kinds: Tensor, *, scale: float) -> Tensor:
    return stamps.topmost(places, kinds, (stamps.disc(scale),), *shape[-2:])


def _square_page(shape: tuple[int, ...], places: Tensor, kinds: Tensor, *, side: int) -> Tensor:
    return stamps.topmost(places, kinds, (stamps.square(side),), *shape[-2:])


many = partial(noc, lengths=("scale",), ranges=("count",), memory=shapes_memory)


@many(draw=_draw_dashes, motion=cover(_dash_page))
def artifacts(pixels: Tensor, places: Tensor, kinds: Tensor, grey: Tensor, *, scale: float) -> Tensor:
    """Transmission errors: short horizontal bars of one grey, most of them with dots to the left and to the right.

    The paper counts from 15 bars, the original code from 14; its 14 is the default.
    """
    return stamps.paint(pixels, _dash_page(pixels.shape, places, kinds, scale=scale), grey)


def _draw_vertical_artifacts(keys: Tensor, shape: Shape, *, count: Range | int, scale: float) -> dict[str, Tensor]:
    channels, height, width = shape
    drawn = _draw_dashes(keys, (channels, width, height), count=count, scale=scale)
    return {**drawn, "places": drawn["places"].flip(2)}


@many(draw=_draw_vertical_artifacts, motion=cover(_upright_page))
def vertical_artifacts(pixels: Tensor, places: Tensor, kinds: Tensor, grey: Tensor, *, scale: float) -> Tensor:
    """Transmission errors as in `artifacts`, upright."""
    return stamps.paint(pixels, _upright_page(pixels.shape, places, kinds, scale=scale), grey)


def _draw_greys(figure_at: Callable[[float], Pixels]) -> Callable[..., dict[str, Tensor]]:
    """Figures, each of a grey of its own."""

    def draw(keys: Tensor, shape: Shape, *, count: Range | int, scale: float) -> dict[str, Tensor]:
        drawn = draw_centres(keys, shape, count, scale, figure_at)
        return {**drawn, "grey": random.uniform(keys, "grey", drawn["kinds"].shape[1:])}

    return draw


@many(draw=_draw_greys(stamps.rhombus), motion=cover(_rhombus_page))
def rhombus(pixels: Tensor, places: Tensor, kinds: Tensor, grey: Tensor, *, scale: float) -> Tensor:
    """Rhombi of 13 x 14 pixels, each of its own grey, the later ones on top."""
    return stamps.paint(pixels, _rhombus_page(pixels.shape, places, kinds, scale=scale), grey)


def _draw_arlequin(keys: Tensor, shape: Shape, *, count: Range | int, scale: float) -> dict[str, Tensor]:
    drawn = draw_centres(keys, shape, count, scale, stamps.rhombus)
    colour = random.uniform(keys, "colour", (1, 3)).expand(-1, drawn["kinds"].shape[1], -1)
    return {**drawn, "colour": colour}


@many(draw=_draw_arlequin, motion=cover(_rhombus_page))
def arlequin(pixels: Tensor, places: Tensor, kinds: Tensor, colour: Tensor, *, scale: float) -> Tensor:
    """A harlequin's coat: rhombi, all of one random colour."""
    return stamps.paint(pixels, _rhombus_page(pixels.shape, places, kinds, scale=scale), colour)


@many(draw=_draw_greys(stamps.disc), motion=cover(_disc_page))
def circle(pixels: Tensor, places: Tensor, kinds: Tensor, grey: Tensor, *, scale: float) -> Tensor:
    """Discs of 13 pixels, each of its own grey, the later ones on top."""
    return stamps.paint(pixels, _disc_page(pixels.shape, places, kinds, scale=scale), grey)


def _draw_holes(keys: Tensor, shape: Shape, *, count: Range | int, side: int) -> dict[str, Tensor]:
    _, height, width = shape
    most = largest(count)
    used = torch.arange(most, device=keys.device) < pick_whole(keys, count)[:, None]
    places = whole_position(keys, "hole", most, (0, max(height - side, 0)), (0, max(width - side, 0)))
    return {"places": places, "kinds": used.to(torch.int32) - 1}


@syn2nat(
    draw=_draw_holes,
    lengths=("side",),
    ranges=("count",),
    limits={"count": Range(1, 10_000), "side": Range(1, 1000)},
    memory=lambda images, shape, p: 4 * images * largest(p["count"]) * p["side"] ** 2,
    motion=cover(_square_page),
)
def coarse_dropout(pixels: Tensor, places: Tensor, kinds: Tensor, *, side: int) -> Tensor:
    """Small black squares, all over the picture."""
    page = _square_page(pixels.shape, places, kinds, side=side)
    return stamps.paint(pixels, page, torch.zeros(1, kinds.shape[1], device=pixels.device))


# --- rectangles -----------------------------------------------------------------------------------------------------


def _rectangle(shape: tuple[int, ...], top: Tensor, bottom: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """A page with 1 in rows top..bottom-1 and columns left..right-1, all (N,): int32 (N, H, W)."""

    def between(length: int, low: Tensor, high: Tensor) -> Tensor:
        at = torch.arange(length, dtype=torch.int32, device=low.device)
        return ((at >= low[:, None]) & (at < high[:, None])).to(torch.int32)

    height, width = shape[-2:]
    return between(height, top, bottom)[:, :, None] * between(width, left, right)[:, None]


def _draw_obstruction(keys: Tensor, shape: Shape, *, side: Range | int) -> dict[str, Tensor]:
    _, height, width = shape
    sides = pick_whole(keys, side).clamp(max=min(height, width))
    room = constant((height, width), keys.device, torch.int32) - sides[:, None]
    corner = (random.uniform(keys, "corner", (2,)) * (room + 1)).to(torch.int32).minimum(room)
    return {"side": sides, "top": corner[:, 0], "left": corner[:, 1], "grey": random.uniform(keys, "grey")}


def _obstructed(shape: tuple[int, ...], side: Tensor, top: Tensor, left: Tensor) -> Tensor:
    return _rectangle(shape, top, top + side, left, left + side)


@noc(draw=_draw_obstruction, lengths=("side",), ranges=("side",), motion=cover(_obstructed))
def obstruction(pixels: Tensor, side: Tensor, top: Tensor, left: Tensor, grey: Tensor) -> Tensor:
    """Something in front of the scene: one grey square, somewhere."""
    return stamps.paint(pixels, _obstructed(pixels.shape, side, top, left), grey[:, None])


def _draw_thickness(keys: Tensor, shape: Shape, *, thickness: Range | int) -> dict[str, Tensor]:
    return {"thickness": pick_whole(keys, thickness)}


def _frame(shape: tuple[int, ...], thickness: Tensor) -> Tensor:
    height, width = shape[-2:]
    return 1 - _rectangle(shape, thickness, height - thickness, thickness, width - thickness)


@noc(draw=_draw_thickness, lengths=("thickness",), ranges=("thickness",), motion=cover(_frame))
def grey_border(pixels: Tensor, thickness: Tensor) -> Tensor:
    """A frame around the picture: the outermost rows and columns become mid-grey."""
    return stamps.paint(pixels, _frame(pixels.shape, thickness), torch.full((1, 1), 0.5, device=pixels.device))


def _outside(shape: tuple[int, ...], *, side: int) -> Tensor:
    top, left = (torch.tensor([max(0, (length - side) // 2)]) for length in shape[-2:])
    return 1 - _rectangle(shape, top, top + side, left, left + side)


@syn2nat(lengths=("side",), motion=cover(_outside))
def black_border(pixels: Tensor, *, side: int) -> Tensor:
    """Only the middle of the picture is left: everything outside a square of `side` pixels is black."""
    height, width = pixels.shape[-2:]
    top, left = max(0, (height - side) // 2), max(0, (width - side) // 2)
    out = torch.zeros_like(pixels)
    out[..., top : top + side, left : left + side] = pixels[..., top : top + side, left : left + side]
    return out


def _draw_cutout(keys: Tensor, shape: Shape, *, side: int) -> dict[str, Tensor]:
    return {"centre": whole_position(keys, "centre", 1, (0, shape[1]), (0, shape[2]))[:, 0]}


def _hole(shape: tuple[int, ...], centre: Tensor, *, side: int) -> Tensor:
    top, left = (centre - side // 2).clamp(min=0).unbind(1)
    return _rectangle(shape, top, top + side, left, left + side)


@syn2nat(draw=_draw_cutout, lengths=("side",), motion=cover(_hole))
def cutout(pixels: Tensor, centre: Tensor, *, side: int) -> Tensor:
    """One large black square around a random point.

    A square that would begin outside is moved in at the top and at the left, but cut at the bottom and at the right:
    the original's, and kept.
    """
    return stamps.paint(pixels, _hole(pixels.shape, centre, side=side), torch.zeros(1, 1, device=pixels.device))
