"""Parts of the image hidden: cells, lines, holes; dashes, rhombi, discs, rectangles.

Patches are meant for 224 pixels. On another image they scale, and their number is chosen so that the same share of the
picture is covered.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from scuff import kernels, random
from scuff.corruptions.draws import Shape, largest, pick_whole, whole_position
from scuff.corruptions.registry import MINTUN, NOC, SYN2NAT, Parameters, register
from scuff.kernels.constants import constant
from scuff.ops import stamps, textures
from scuff.ops.stamps import Pixels
from scuff.ops.warp import pixel_grid
from scuff.ranges import Range

LIMITS = {
    "count": Range(0, 10_000),
    "scale": Range(0.000_001, 100.0),
    "side": Range(1, 100_000),
    "thickness": Range(0, 100_000),
    "amount": Range(0.0, 100.0),
}

mintun = partial(register, family="obscure", reference=MINTUN, limits=LIMITS)
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


@noc(draw=_draw_dashes, lengths=("scale",), ranges=("count",), memory=shapes_memory)
def artifacts(pixels: Tensor, places: Tensor, kinds: Tensor, grey: Tensor, *, scale: float) -> Tensor:
    """Transmission errors: short horizontal bars of one grey, most of them with dots to the left and to the right.

    The paper counts from 15 bars, the original code from 14; its 14 is the default.
    """
    return stamps.paint(pixels, stamps.topmost(places, kinds, stamps.dashes(scale), *pixels.shape[-2:]), grey)


def _draw_vertical_artifacts(keys: Tensor, shape: Shape, *, count: Range | int, scale: float) -> dict[str, Tensor]:
    channels, height, width = shape
    drawn = _draw_dashes(keys, (channels, width, height), count=count, scale=scale)
    return {**drawn, "places": drawn["places"].flip(2)}


@noc(draw=_draw_vertical_artifacts, lengths=("scale",), ranges=("count",), memory=shapes_memory)
def vertical_artifacts(pixels: Tensor, places: Tensor, kinds: Tensor, grey: Tensor, *, scale: float) -> Tensor:
    """Transmission errors as in `artifacts`, upright."""
    shapes = tuple(stamps.transposed(shape) for shape in stamps.dashes(scale))
    return stamps.paint(pixels, stamps.topmost(places, kinds, shapes, *pixels.shape[-2:]), grey)


def _draw_greys(figure_at: Callable[[float], Pixels]) -> Callable[..., dict[str, Tensor]]:
    """Figures, each of a grey of its own."""

    def draw(keys: Tensor, shape: Shape, *, count: Range | int, scale: float) -> dict[str, Tensor]:
        drawn = draw_centres(keys, shape, count, scale, figure_at)
        return {**drawn, "grey": random.uniform(keys, "grey", drawn["kinds"].shape[1:])}

    return draw


@noc(draw=_draw_greys(stamps.rhombus), lengths=("scale",), ranges=("count",), memory=shapes_memory)
def rhombus(pixels: Tensor, places: Tensor, kinds: Tensor, grey: Tensor, *, scale: float) -> Tensor:
    """Rhombi of 13 x 14 pixels, each of its own grey, the later ones on top."""
    return stamps.paint(pixels, stamps.topmost(places, kinds, (stamps.rhombus(scale),), *pixels.shape[-2:]), grey)


def _draw_arlequin(keys: Tensor, shape: Shape, *, count: Range | int, scale: float) -> dict[str, Tensor]:
    drawn = draw_centres(keys, shape, count, scale, stamps.rhombus)
    colour = random.uniform(keys, "colour", (1, 3)).expand(-1, drawn["kinds"].shape[1], -1)
    return {**drawn, "colour": colour}


@noc(draw=_draw_arlequin, lengths=("scale",), ranges=("count",), memory=shapes_memory)
def arlequin(pixels: Tensor, places: Tensor, kinds: Tensor, colour: Tensor, *, scale: float) -> Tensor:
    """A harlequin's coat: rhombi, all of one random colour."""
    return stamps.paint(pixels, stamps.topmost(places, kinds, (stamps.rhombus(scale),), *pixels.shape[-2:]), colour)


@noc(draw=_draw_greys(stamps.disc), lengths=("scale",), ranges=("count",), memory=shapes_memory)
def circle(pixels: Tensor, places: Tensor, kinds: Tensor, grey: Tensor, *, scale: float) -> Tensor:
    """Discs of 13 pixels, each of its own grey, the later ones on top."""
    return stamps.paint(pixels, stamps.topmost(places, kinds, (stamps.disc(scale),), *pixels.shape[-2:]), grey)


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
)
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


@noc(draw=_draw_obstruction, lengths=("side",), ranges=("side",))
def obstruction(pixels: Tensor, side: Tensor, top: Tensor, left: Tensor, grey: Tensor) -> Tensor:
    """Something in front of the scene: one grey square, somewhere."""
    return stamps.paint(pixels, _rectangle(pixels.shape, top, top + side, left, left + side), grey[:, None])


def _draw_thickness(keys: Tensor, shape: Shape, *, thickness: Range | int) -> dict[str, Tensor]:
    return {"thickness": pick_whole(keys, thickness)}


@noc(draw=_draw_thickness, lengths=("thickness",), ranges=("thickness",))
def grey_border(pixels: Tensor, thickness: Tensor) -> Tensor:
    """A frame around the picture: the outermost rows and columns become mid-grey."""
    height, width = pixels.shape[-2:]
    inner = _rectangle(pixels.shape, thickness, height - thickness, thickness, width - thickness)
    return stamps.paint(pixels, 1 - inner, torch.full((1, 1), 0.5, device=pixels.device))


@syn2nat(lengths=("side",))
def black_border(pixels: Tensor, *, side: int) -> Tensor:
    """Only the middle of the picture is left: everything outside a square of `side` pixels is black."""
    height, width = pixels.shape[-2:]
    top, left = max(0, (height - side) // 2), max(0, (width - side) // 2)
    out = torch.zeros_like(pixels)
    out[..., top : top + side, left : left + side] = pixels[..., top : top + side, left : left + side]
    return out


def _draw_cutout(keys: Tensor, shape: Shape, *, side: int) -> dict[str, Tensor]:
    return {"centre": whole_position(keys, "centre", 1, (0, shape[1]), (0, shape[2]))[:, 0]}


@syn2nat(draw=_draw_cutout, lengths=("side",))
def cutout(pixels: Tensor, centre: Tensor, *, side: int) -> Tensor:
    """One large black square around a random point.

    A square that would begin outside is moved in at the top and at the left, but cut at the bottom and at the right:
    the original's, and kept.
    """
    top, left = (centre - side // 2).clamp(min=0).unbind(1)
    hole = _rectangle(pixels.shape, top, top + side, left, left + side)
    return stamps.paint(pixels, hole, torch.zeros(1, 1, device=pixels.device))


GREY = 128.0 / 255.0


def _cells_each_way(shape: tuple[int, ...]) -> int:
    """How many cells of the smallest size fit between the corner and the farthest pixel."""
    _, height, width = shape
    return math.ceil(math.hypot(height, width) / max(1.0, 0.1 * min(height, width))) + 1


def _draw_checkerboard(keys: Tensor, shape: Shape, *, amount: float) -> dict[str, Tensor]:
    cells = 2 * _cells_each_way(shape) + 1
    return {
        "angle": random.uniform(keys, "angle", (), 0.0, 2 * math.pi),
        "size": (random.uniform(keys, "size", (), 0.1, 0.25) * min(shape[1:])).clamp(min=1.0),
        "hidden": random.bernoulli(keys, "hidden", (cells, cells), probability=0.1 * amount),
    }


@mintun(draw=_draw_checkerboard, memory=lambda images, shape, _: 4 * images * (2 * _cells_each_way(shape)) ** 2)
def checkerboard_cutout(x: Tensor, angle: Tensor, size: Tensor, hidden: Tensor) -> Tensor:
    """A turned chessboard of which a tenth of the black cells per unit of `amount` is grey.

    Cells are numbered by truncation, so the two rows on either side of an axis share their fate: the original's.
    """
    r, c = pixel_grid(x.shape[-2], x.shape[-1], x.device)
    sine, cosine = map(textures.per_image, kernels.sine_and_cosine(angle))
    a, b = (cosine * r + sine * c) / textures.per_image(size), (cosine * c - sine * r) / textures.per_image(size)
    black = (torch.floor(a) + torch.floor(b)).remainder(2.0) == 0
    reach = hidden.shape[-1] // 2
    place = (torch.trunc(a).long() + reach) * hidden.shape[-1] + torch.trunc(b).long() + reach
    grey = black & hidden.flatten(1).gather(1, place.flatten(1)).view(black.shape)
    return torch.where(grey[:, None], GREY, x)


def _line_count(shape: tuple[int, ...], amount: float) -> int:
    _, height, width = shape
    side = min(height, width)
    return int(int(0.1 * amount * side) * (height * width / side**2))


def _draw_lines(keys: Tensor, shape: Shape, *, amount: float) -> dict[str, Tensor]:
    _, height, width = shape
    count = _line_count(shape, amount)
    u = random.uniform(keys, "lines", (count, 3))
    spread = random.uniform(keys, "spread", (1,), 0.1, 1.0)
    angle = random.uniform(keys, "angle", (1,), 0.0, 2 * math.pi) + 2 * math.pi * spread * (u[..., 2] - 0.5)
    row, column, half = u[..., 0] * height, u[..., 1] * width, float(max(height, width))
    sine, cosine = kernels.sine_and_cosine(angle)
    down, across = half * cosine, half * sine
    return {"ends": torch.trunc(torch.stack((row - down, column - across, row + down, column + across), dim=-1))}


@mintun(draw=_draw_lines, domain="byte", memory=lambda n, shape, p: 20 * n * _line_count(shape, p["amount"]))
def lines(pixels: Tensor, ends: Tensor) -> Tensor:
    """Grey lines in about one direction, each a pixel wide and smooth; every line truncates to bytes.

    `ends` (N, L, 4) are first and last row and column; their number is a tenth of the side per unit of `amount`.
    """
    return kernels.draw_lines(pixels, ends, 128.0)


@mintun(draw=lambda keys, shape: {"phases": random.uniform(keys, "phases", (1, *shape[1:]))})
def blue_noise_sample(x: Tensor, phases: Tensor, *, amount: float) -> Tensor:
    """Pixels missing, evenly scattered: black where blue noise is below 0.3 amount - 2.5 deviations."""
    return torch.where(textures.spectrum_noise(phases, "blue") > 0.3 * amount - 2.5, x, 0.0)
