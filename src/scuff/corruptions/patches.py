"""Patches laid over the picture: dashes, rhombi, discs, rectangles.

Shapes are meant for 224 pixels. On another image they scale, and their number is chosen so that the same share of the
picture is covered.
"""

from __future__ import annotations

import torch
from torch import Tensor

from scuff import random
from scuff.corruptions.draws import Shape, largest, pick_whole, whole_position
from scuff.corruptions.registry import NOC, SYN2NAT, register
from scuff.kernels.constants import constant
from scuff.ops import stamps
from scuff.ops.stamps import Pixels
from scuff.ranges import Range


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


def draw_centres(
    keys: Tensor, shape: Shape, count: Range | int, scale: float, figure: Pixels, original: Pixels
) -> dict[str, Tensor]:
    """Centres (N, K, 2) of shapes of 13 pixels, which do not cross the border, and which of them are used (kinds)."""
    number, most = count_shapes(keys, shape, count, scale, figure, original)
    margin = max(1, round(7 * scale))
    places = whole_position(keys, "centre", most, *(_room(figure, axis, shape[axis + 1], margin) for axis in (0, 1)))
    used = torch.arange(most, device=keys.device) < number[:, None]
    return {"places": places, "kinds": used.to(torch.int32) - 1}


def _room(figure: Pixels, axis: int, length: int, margin: int = 0) -> tuple[int, int]:
    """First and last place of a figure's anchor along an axis (0: rows), so that the figure stays inside."""
    offsets = [pixel[axis] for pixel in figure]
    return max(margin, -min(offsets)), length - max(margin, max(offsets) + 1)


# --- stamps ---------------------------------------------------------------------------------------------------------


def _draw_dashes(keys: Tensor, shape: Shape, count: Range | int, scale: float) -> dict[str, Tensor]:
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


def _draw_artifacts(keys: Tensor, shape: Shape, *, count: Range | int, scale: float) -> dict[str, Tensor]:
    return _draw_dashes(keys, shape, count, scale)


@register(family="obscure", draw=_draw_artifacts, domain="byte", lengths=("scale",), ranges=("count",), reference=NOC)
def artifacts(pixels: Tensor, places: Tensor, kinds: Tensor, grey: Tensor, *, scale: float) -> Tensor:
    """Transmission errors: short horizontal bars of one grey, most of them with dots to the left and to the right.

    The paper counts from 15 bars, the original code from 14; its 14 is the default.
    """
    return stamps.paint(pixels, stamps.topmost(places, kinds, stamps.dashes(scale), *pixels.shape[-2:]), grey)


def _draw_vertical_artifacts(keys: Tensor, shape: Shape, *, count: Range | int, scale: float) -> dict[str, Tensor]:
    channels, height, width = shape
    drawn = _draw_dashes(keys, (channels, width, height), count, scale)
    return {**drawn, "places": drawn["places"].flip(2)}


@register(
    family="obscure",
    draw=_draw_vertical_artifacts,
    domain="byte",
    lengths=("scale",),
    ranges=("count",),
    reference=NOC,
)
def vertical_artifacts(pixels: Tensor, places: Tensor, kinds: Tensor, grey: Tensor, *, scale: float) -> Tensor:
    """Transmission errors as in `artifacts`, upright."""
    shapes = tuple(stamps.transposed(shape) for shape in stamps.dashes(scale))
    return stamps.paint(pixels, stamps.topmost(places, kinds, shapes, *pixels.shape[-2:]), grey)


def _draw_rhombi(keys: Tensor, shape: Shape, *, count: Range | int, scale: float) -> dict[str, Tensor]:
    drawn = draw_centres(keys, shape, count, scale, stamps.rhombus(scale), stamps.rhombus(1.0))
    return {**drawn, "grey": random.uniform(keys, "grey", drawn["kinds"].shape[1:])}


@register(family="obscure", draw=_draw_rhombi, domain="byte", lengths=("scale",), ranges=("count",), reference=NOC)
def rhombus(pixels: Tensor, places: Tensor, kinds: Tensor, grey: Tensor, *, scale: float) -> Tensor:
    """Rhombi of 13 x 14 pixels, each of its own grey, the later ones on top."""
    return stamps.paint(pixels, stamps.topmost(places, kinds, (stamps.rhombus(scale),), *pixels.shape[-2:]), grey)


def _draw_arlequin(keys: Tensor, shape: Shape, *, count: Range | int, scale: float) -> dict[str, Tensor]:
    drawn = draw_centres(keys, shape, count, scale, stamps.rhombus(scale), stamps.rhombus(1.0))
    colour = random.uniform(keys, "colour", (1, 3)).expand(-1, drawn["kinds"].shape[1], -1)
    return {**drawn, "colour": colour}


@register(family="obscure", draw=_draw_arlequin, domain="byte", lengths=("scale",), ranges=("count",), reference=NOC)
def arlequin(pixels: Tensor, places: Tensor, kinds: Tensor, colour: Tensor, *, scale: float) -> Tensor:
    """A harlequin's coat: rhombi, all of one random colour."""
    return stamps.paint(pixels, stamps.topmost(places, kinds, (stamps.rhombus(scale),), *pixels.shape[-2:]), colour)


def _draw_discs(keys: Tensor, shape: Shape, *, count: Range | int, scale: float) -> dict[str, Tensor]:
    drawn = draw_centres(keys, shape, count, scale, stamps.disc(scale), stamps.disc(1.0))
    return {**drawn, "grey": random.uniform(keys, "grey", drawn["kinds"].shape[1:])}


@register(family="obscure", draw=_draw_discs, domain="byte", lengths=("scale",), ranges=("count",), reference=NOC)
def circle(pixels: Tensor, places: Tensor, kinds: Tensor, grey: Tensor, *, scale: float) -> Tensor:
    """Discs of 13 pixels, each of its own grey, the later ones on top."""
    return stamps.paint(pixels, stamps.topmost(places, kinds, (stamps.disc(scale),), *pixels.shape[-2:]), grey)


def _draw_holes(keys: Tensor, shape: Shape, *, count: Range | int, side: int) -> dict[str, Tensor]:
    _, height, width = shape
    most = largest(count)
    used = torch.arange(most, device=keys.device) < pick_whole(keys, count)[:, None]
    places = whole_position(keys, "hole", most, (0, max(height - side, 0)), (0, max(width - side, 0)))
    return {"places": places, "kinds": used.to(torch.int32) - 1}


@register(
    family="obscure", draw=_draw_holes, domain="byte", lengths=("side",), ranges=("count",), reference=SYN2NAT
)  # fmt: skip
def coarse_dropout(pixels: Tensor, places: Tensor, kinds: Tensor, *, side: int) -> Tensor:
    """Small black squares, all over the picture."""
    page = stamps.topmost(places, kinds, (stamps.square(side),), *pixels.shape[-2:])
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


@register(family="obscure", draw=_draw_obstruction, domain="byte", lengths=("side",), ranges=("side",), reference=NOC)
def obstruction(pixels: Tensor, side: Tensor, top: Tensor, left: Tensor, grey: Tensor) -> Tensor:
    """Something in front of the scene: one grey square, somewhere."""
    return stamps.paint(pixels, _rectangle(pixels.shape, top, top + side, left, left + side), grey[:, None])


def _draw_thickness(keys: Tensor, shape: Shape, *, thickness: Range | int) -> dict[str, Tensor]:
    return {"thickness": pick_whole(keys, thickness)}


@register(
    family="obscure",
    draw=_draw_thickness,
    domain="byte",
    lengths=("thickness",),
    ranges=("thickness",),
    reference=NOC,
)
def grey_border(pixels: Tensor, thickness: Tensor) -> Tensor:
    """A frame around the picture: the outermost rows and columns become mid-grey."""
    height, width = pixels.shape[-2:]
    inner = _rectangle(pixels.shape, thickness, height - thickness, thickness, width - thickness)
    return stamps.paint(pixels, 1 - inner, torch.full((1, 1), 0.5, device=pixels.device))


@register(family="obscure", domain="byte", lengths=("side",), reference=SYN2NAT)
def black_border(pixels: Tensor, *, side: int) -> Tensor:
    """Only the middle of the picture is left: everything outside a square of `side` pixels is black."""
    height, width = pixels.shape[-2:]
    top, left = max(0, (height - side) // 2), max(0, (width - side) // 2)
    out = torch.zeros_like(pixels)
    out[..., top : top + side, left : left + side] = pixels[..., top : top + side, left : left + side]
    return out


def _draw_cutout(keys: Tensor, shape: Shape, *, side: int) -> dict[str, Tensor]:
    return {"centre": whole_position(keys, "centre", 1, (0, shape[1]), (0, shape[2]))[:, 0]}


@register(family="obscure", draw=_draw_cutout, domain="byte", lengths=("side",), reference=SYN2NAT)
def cutout(pixels: Tensor, centre: Tensor, *, side: int) -> Tensor:
    """One large black square around a random point.

    A square that would begin outside is moved in at the top and at the left, but cut at the bottom and at the right:
    the original's, and kept.
    """
    top, left = (centre - side // 2).clamp(min=0).unbind(1)
    hole = _rectangle(pixels.shape, top, top + side, left, left + side)
    return stamps.paint(pixels, hole, torch.zeros(1, 1, device=pixels.device))
