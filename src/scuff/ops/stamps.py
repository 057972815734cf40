"""Small shapes put down many times: discs, rhombi, dashes. A shape is a set of pixels around its anchor.

Shapes are designed for images of 224 pixels, and grow and shrink with the image by `scale`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

import torch
from torch import Tensor

from scuff import kernels
from scuff.kernels.constants import remembered
from scuff.ops.tables import round8

Pixels = tuple[tuple[int, int], ...]  # (row, column) offsets

NOWHERE = 1 << 20  # an offset beyond any image: fills up the shorter of several shapes


@remembered(64)
def _offsets(shapes: tuple[Pixels, ...], device: torch.device) -> tuple[Tensor, Tensor]:
    longest = max(map(len, shapes))
    filled = [[*shape, *[(NOWHERE, NOWHERE)] * (longest - len(shape))] for shape in shapes]
    table = torch.tensor(filled, dtype=torch.int32).to(device)
    return table[..., 0].contiguous(), table[..., 1].contiguous()


def topmost(places: Tensor, kinds: Tensor, shapes: tuple[Pixels, ...], height: int, width: int) -> Tensor:
    """Number, from 1, of the last stamp on each pixel, 0 where there is none: int32 (N, H, W).

    `places` is int32 (N, K, 2), rows and columns; `kinds` int32 (N, K) chooses one of the shapes, or -1 for none.
    """
    (rows, columns), (dy, dx) = places.unbind(2), _offsets(shapes, places.device)
    return kernels.stamp(rows, columns, kinds, dy, dx, height, width)


def coverage(places: Tensor, kinds: Tensor, shapes: tuple[Pixels, ...], height: int, width: int) -> Tensor:
    """How many stamps cover each pixel: int32 (N, H, W)."""
    (rows, columns), (dy, dx) = places.unbind(2), _offsets(shapes, places.device)
    return kernels.stamp(rows, columns, kinds, dy, dx, height, width, count=True)


def paint(pixels: Tensor, page: Tensor, colours: Tensor) -> Tensor:
    """Give each pixel of uint8 (N, C, H, W) the colour of its topmost stamp.

    `colours` in [0, 1] are greys (N, K), or (N, K, C); a first dimension of 1 is shared by all images.
    """
    channels = pixels.shape[1]
    colours = colours[..., None].expand(-1, -1, channels) if colours.ndim == 2 else colours[..., :channels]
    return kernels.paint(pixels, page, round8(255.0 * colours))


# --- shapes ---------------------------------------------------------------------------------------------------------


def _rows(reach: int, edges: Callable[[int], tuple[int, int]]) -> Pixels:
    """The pixels from `edges(i)[0]` to `edges(i)[1]` of each row i."""
    spans = ((i, *edges(i)) for i in range(-reach, reach + 1))
    return tuple((i, j) for i, left, right in spans for j in range(left, right + 1))


DISC = (6, 6, 5, 5, 4, 3, 1)  # half widths of the rows 0, 1, ..., 6 away from the middle


@lru_cache(maxsize=64)
def disc(scale: float) -> Pixels:
    """A disc of 13 x 13 pixels and 121 in all; at a seventh of the size it is a plus."""

    def edges(i: int) -> tuple[int, int]:
        half = round(scale * DISC[min(round(abs(i) / scale), 6)])
        return -half, half

    return _rows(round(6 * scale), edges)


@lru_cache(maxsize=64)
def rhombus(scale: float) -> Pixels:
    """A rhombus of 13 rows and 14 columns, 98 pixels, which reaches one pixel farther to the left than to the right."""

    def edges(i: int) -> tuple[int, int]:
        return -max(round(7 * scale - abs(i)), 0), max(round(6 * scale - abs(i)), 0)

    return _rows(round(6 * scale), edges)


CORE, RIGHT, LEFT = range(-2, 3), range(6, 15, 2), range(-10, -1, 2)


@lru_cache(maxsize=64)
def dashes(scale: float) -> tuple[Pixels, ...]:
    """Three rows of a short bar, then with dots to its right, to its left, and to both sides."""
    thick = max(1, round(3 * scale))

    def stretched(columns: Iterable[int]) -> set[int]:
        if scale < 1.0:
            return {round(scale * c) for c in columns}
        wanted = set(columns)
        return {j for j in range(round(-11 * scale), round(15 * scale) + 1) if round(j / scale) in wanted}

    parts = ((), RIGHT, LEFT, (*RIGHT, *LEFT))
    return tuple(
        tuple((i - thick // 2, j) for i in range(thick) for j in sorted(stretched((*CORE, *part)))) for part in parts
    )


def transposed(shape: Pixels) -> Pixels:
    """Rows for columns."""
    return tuple((j, i) for i, j in shape)


@lru_cache(maxsize=64)
def square(side: int) -> Pixels:
    """`side` x `side` pixels right of and below the anchor."""
    return tuple((i, j) for i in range(side) for j in range(side))


@lru_cache(maxsize=64)
def line(down: int, across: int) -> Pixels:
    """The pixels of a line one pixel wide from the anchor to (down, across), both not negative."""
    longer, shorter = max(down, across), min(down, across)
    steps = [(k, -((longer - 2 * k * shorter) // (2 * longer)) if longer else 0) for k in range(longer + 1)]
    return tuple(steps) if down >= across else tuple((b, a) for a, b in steps)
