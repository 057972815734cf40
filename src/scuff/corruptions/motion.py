"""What a corruption does to places: where each pixel of a corrupted picture comes from, and what is hidden.

A `motion` stands beside `draw` and `apply`, and takes what `apply` takes, but the shape (C, H, W) in place of pixels:

    @register(family="geometry", draw=_draw_offset, motion=lambda shape, offset: shifted(shape, offset))
    def translation(pixels, offset): ...

A corruption without one leaves all places as they are. The `motion` of a sequence yields one Motion per frame.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from torch import Tensor

from scuff.kernels.grids import pixel_grid

Size = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Motion:
    """Where the pixels of N pictures of `size` (H, W) come from, and which of them show nothing of the scene.

    Places are read at their centres, so that pixel (r, c) lies at row r and column c. One of three says where output
    pixels are read: `matrix` (N, 3, 3), times (column, row, 1); `rows` and `columns` (N, H, W); or these two with
    `tiles` (N, H, W), numbers of the pieces that moved as a whole. Without any of them, all stays in its place.
    `ghosts` (N, H, W) marks pixels that show a mirror image although they are read inside the frame; `covered` those
    behind something. A first dimension of 1 stands for all pictures.
    """

    size: Size
    matrix: Tensor | None = None
    rows: Tensor | None = None
    columns: Tensor | None = None
    tiles: Tensor | None = None
    ghosts: Tensor | None = None
    covered: Tensor | None = None

    @property
    def stays(self) -> bool:
        """Whether every place stays where it is."""
        return self.matrix is None and self.rows is None

    def changed(self, function: Callable[[Tensor], Tensor]) -> Motion:
        """All tensors changed by a function."""
        held = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "size"}
        new: dict[str, Any] = {name: function(value) for name, value in held.items() if value is not None}
        return replace(self, **new)

    def __getitem__(self, picture: int) -> Motion:
        """That of a single picture."""
        return self.changed(lambda value: value[:1] if len(value) == 1 else value[picture : picture + 1])

    def to(self, device: torch.device | str) -> Motion:
        return self.changed(lambda value: value.to(device))

    def sources(self, device: torch.device | None = None) -> tuple[Tensor, Tensor]:
        """Row and column that each pixel is read at: (N, H, W) each; on a device, if nothing moves."""
        if self.rows is not None and self.columns is not None:
            return self.rows, self.columns
        grid = pixel_grid(*self.size, self.device if device is None else device)
        rows, columns = (at.expand(1, *self.size) for at in grid)
        if self.matrix is None:
            return rows, columns
        across, down, depth = (
            row[:, :1, None] * columns + row[:, 1:2, None] * rows + row[:, 2:, None]
            for row in self.matrix.double().unbind(1)
        )
        depth = torch.where(depth > 1e-9, depth, torch.nan)  # beyond the horizon
        beyond = -2.0 * max(self.size)
        return tuple((at / depth).nan_to_num(beyond).float() for at in (down, across))  # type: ignore[return-value]

    @property
    def device(self) -> torch.device:
        held = (self.matrix, self.rows, self.covered)
        return next((value.device for value in held if value is not None), torch.device("cpu"))

    def filled(self, device: torch.device | None = None) -> Tensor:
        """Which pixels show no part of the picture, or a mirror image of it: bool (N, H, W); devices as `sources`."""
        rows, columns = self.sources(device)
        outside = (rows < -0.5) | (rows >= self.size[0] - 0.5) | (columns < -0.5) | (columns >= self.size[1] - 0.5)
        return outside if self.ghosts is None else outside | self.ghosts


Shape = tuple[int, ...]
Motions = Callable[..., Any]  # a Motion, or for a sequence one per frame


def no_motion(shape: Shape) -> Motion:
    """Everything stays. To say so of a corruption that moves parts of what it shows, or colours each their own way."""
    return Motion((shape[-2], shape[-1]))


def matrix_motion(shape: Shape, entries: Sequence[Tensor | float]) -> Motion:
    """The nine entries of a matrix, or six with a last row of 0, 0, 1: each a number or (N,)."""
    entries = [*entries, 0.0, 0.0, 1.0][:9]
    likes = [e for e in entries if isinstance(e, Tensor)]
    like = likes[0].double() if likes else torch.zeros(1, dtype=torch.float64)
    stacked = torch.stack([e.double() if isinstance(e, Tensor) else torch.full_like(like, e) for e in entries], dim=1)
    return Motion((shape[-2], shape[-1]), matrix=stacked.view(-1, 3, 3))


def shifted(shape: Shape, offset: Tensor) -> Motion:
    """The picture moved by `offset` (N, 2), rows and columns."""
    return matrix_motion(shape, (1.0, 0.0, -offset[:, 1], 0.0, 1.0, -offset[:, 0]))


def affine_motion(matrices: Callable[..., Tensor | None]) -> Motions:
    """A motion from a function that gives matrices (N, 2, 3), or None where nothing moves."""

    @functools.wraps(matrices)  # which keeps the names of its arguments
    def motion(shape: Shape, *draws: Tensor, **parameters: Any) -> Motion:
        found = matrices(shape, *draws, **parameters)
        return no_motion(shape) if found is None else matrix_motion(shape, found.flatten(1).unbind(1))

    return motion


def field_motion(sources: Callable[..., tuple[Tensor, Tensor]], offset: float = 0.0) -> Motions:
    """A motion from a function that says at which rows and columns pixels are read, plus `offset`."""

    @functools.wraps(sources)
    def motion(shape: Shape, *draws: Tensor, **parameters: Any) -> Motion:
        size = (shape[-2], shape[-1])
        rows, columns = (at.float() + offset for at in sources(shape, *draws, **parameters))
        return Motion(size, rows=rows.expand(-1, *size), columns=columns.expand(-1, *size))

    return motion


def filter_motion(read: Callable[..., Tensor]) -> Motions:
    """A motion from a function that filters ramps (N, 2, H, W), whose values are the rows and columns themselves.

    What a filter mixes comes from the mean of its places, weighted as the pixels are.
    """

    @functools.wraps(read)
    def motion(shape: Shape, *draws: Tensor, **parameters: Any) -> Motion:
        found = read(shape, *draws, **parameters)
        return Motion((shape[-2], shape[-1]), rows=found[:, 0], columns=found[:, 1])

    return motion


def ramps(shape: Shape, like: Tensor | None = None) -> Tensor:
    """Rows and columns of all pixels, float32 (N, 2, H, W): as many as `like` has images, on its device."""
    height, width = shape[-2:]
    device = like.device if like is not None else torch.device("cpu")
    grid = torch.stack([at.expand(height, width) for at in pixel_grid(height, width, device)])
    return grid.expand(1 if like is None else len(like), -1, -1, -1).contiguous()


def cover(pages: Callable[..., Tensor]) -> Motions:
    """A motion from a function that says which pixels are hidden, where it is not 0: (N, H, W)."""

    @functools.wraps(pages)
    def motion(shape: Shape, *draws: Tensor, **parameters: Any) -> Motion:
        return Motion((shape[-2], shape[-1]), covered=pages(shape, *draws, **parameters) != 0)

    return motion


def mixed(terms: Sequence[tuple[float, Motion]]) -> Motion:
    """That of a weighted mean of pictures: places in it come from the mean of places; tiles from the heaviest."""
    heaviest = max(terms, key=lambda term: term[0])[1]
    if len(terms) == 1 or all(motion.stays for _, motion in terms) or heaviest.tiles is not None:
        return heaviest
    read = [(weight, motion.sources(heaviest.device)) for weight, motion in terms]
    rows, columns = (functools.reduce(operator.add, [weight * at[k] for weight, at in read]) for k in (0, 1))
    return replace(heaviest, matrix=None, rows=rows, columns=columns)


def joined(motions: Sequence[Motion]) -> Motion:
    """One motion of many pictures, from those of each: by matrices if all have one, else by fields."""
    held: dict[str, Any] = {}
    matrices = [motion.matrix for motion in motions if motion.matrix is not None]
    device = next((motion.device for motion in motions if not motion.stays), None)
    if len(matrices) == len(motions):
        held["matrix"] = torch.cat(matrices)
    elif device is not None:
        read = [motion.sources(device) for motion in motions]
        held["rows"], held["columns"] = (torch.cat([at[k] for at in read]) for k in (0, 1))
    for name in ("tiles", "ghosts", "covered"):
        values = [getattr(motion, name) for motion in motions]
        like = next((value for value in values if value is not None), None)
        if like is not None:
            held[name] = torch.cat([torch.zeros_like(like) if value is None else value for value in values])
    return Motion(motions[0].size, **held)
