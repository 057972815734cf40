"""Points that follow a motion: where in the corrupted picture a place of the clean one is seen.

A motion says where each pixel is read; points go the other way. A matrix is inverted. A field is taken as linear on the
two triangles of every four neighbouring pixels, so that a point lies where a triangle holds it, without any iteration.
Where a field folds, several triangles do: then the one that is not turned over and moved least is taken.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import pad

from scuff.corruptions.motion import Motion

TEAR = 8.0  # neighbouring pixels that are read farther apart show nothing of what lies between
BLOCK = 16  # pixels of a side: points are looked for in blocks first
AT_ONCE = 4096  # points

LOST, COVERED, SEEN = 0, 1, 2  # as COCO counts the visibility of keypoints


def move_points(points: Tensor, motion: Motion) -> tuple[Tensor, Tensor]:
    """Points (K, 2), x and y counted from the centre of the first pixel, in the corrupted picture; and how visible.

    The motion is that of one picture. Places are float64, NaN for a point that is nowhere; 0 in the second tensor is a
    point that cannot be seen, 1 one behind something, 2 one in plain sight.
    """
    points = points.double()
    if motion.stays:
        moved = points
    elif motion.matrix is not None:
        moved = project(points, inverted(motion.matrix[0]))
    elif motion.tiles is not None:
        moved = _among_tiles(points, motion)
    else:
        moved = torch.cat([_in_field(part, motion) for part in points.split(AT_ONCE)] or [points])
    is_seen = _inside(points, motion.size) & _inside(moved, motion.size) & ~_marked(moved, motion.ghosts)
    return moved, torch.where(is_seen, torch.where(_marked(moved, motion.covered), COVERED, SEEN), LOST)


def _inside(points: Tensor, size: tuple[int, int]) -> Tensor:
    x, y = points.unbind(1)
    return (x >= -0.5) & (x <= size[1] - 0.5) & (y >= -0.5) & (y <= size[0] - 0.5)


def _marked(points: Tensor, marks: Tensor | None) -> Tensor:
    """Whether the nearest pixel is marked in (1, H, W)."""
    if marks is None:
        return torch.zeros(len(points), dtype=torch.bool, device=points.device)
    x, y = (
        torch.round(at.nan_to_num(0.0)).clamp(0, side - 1).long()
        for at, side in zip(points.unbind(1), (marks.shape[2], marks.shape[1]), strict=True)
    )
    return marks[0, y, x]


# --- matrices -------------------------------------------------------------------------------------------------------


def inverted(matrix: Tensor) -> Tensor:
    """The inverse (3, 3), scaled so that depths stay positive where they are; NaN if there is none."""
    inverse, failed = torch.linalg.inv_ex(matrix.double())
    return torch.where(failed.bool() | (torch.linalg.det(matrix.double()).abs() < 1e-6), torch.nan, inverse)


def project(points: Tensor, matrix: Tensor) -> Tensor:
    """Points (..., 2) sent through a matrix (3, 3); NaN beyond the horizon."""
    across, down, depth = (pad(points, (0, 1), value=1.0) @ matrix.mT).unbind(-1)
    depth = torch.where(depth > 1e-9, depth, torch.nan)
    return torch.stack((across / depth, down / depth), dim=-1)


# --- tiles ----------------------------------------------------------------------------------------------------------


def _among_tiles(points: Tensor, motion: Motion) -> Tensor:
    """A point keeps its place relative to its pixel."""
    height, width = motion.size
    rows, columns = motion.sources()
    place = (rows[0] * width + columns[0]).long().flatten()
    goes_to = torch.empty_like(place).scatter_(0, place, torch.arange(len(place), device=place.device))
    pixel = torch.floor(points + 0.5)
    x, y = pixel.unbind(1)
    known = _inside(points, motion.size)
    at = goes_to[torch.where(known, y.clamp(0, height - 1) * width + x.clamp(0, width - 1), 0).long()]
    corner = torch.stack((at % width, torch.div(at, width, rounding_mode="floor")), dim=1)
    return torch.where(known[:, None], corner + (points - pixel), torch.nan)


# --- fields ---------------------------------------------------------------------------------------------------------


def extended(motion: Motion) -> Tensor:
    """Where pixels are read, x and y, with one more pixel on each side: (2, H + 2, W + 2), float32."""
    rows, columns = motion.sources()
    field = torch.stack((columns[0], rows[0])).float()
    for axis in (1, 2):  # x is the second axis of a picture
        first, last = field.narrow(axis, 0, 1), field.narrow(axis, -1, 1)
        if field.shape[axis] > 1:
            before = 2.0 * first - field.narrow(axis, 1, 1)
            after = 2.0 * last - field.narrow(axis, field.shape[axis] - 2, 1)
        else:
            step = torch.tensor([float(axis == 2), float(axis == 1)], device=field.device)[:, None, None]
            before, after = first - step, last + step
        field = torch.cat((before, field, after), dim=axis)
    return field


def is_torn(field: Tensor) -> Tensor:
    """Which cells between four pixels of an extended field show nothing of what lies between: (H + 1, W + 1)."""
    across, down = (field.diff(dim=axis).abs().amax(0) > TEAR for axis in (2, 1))
    return across[1:] | across[:-1] | down[:, 1:] | down[:, :-1]


def _in_field(points: Tensor, motion: Motion) -> Tensor:
    field = extended(motion)
    which, cell = _candidates(points.float(), field)
    wide = field.shape[2]
    top, left = torch.div(cell, wide - 1, rounding_mode="floor"), cell % (wide - 1)
    flat, corner = field.flatten(1).double(), top * wide + left
    nw, ne, sw, se = (flat[:, corner + step].mT for step in (0, 1, wide, wide + 1))
    torn = is_torn(field).flatten()[cell]
    found = []
    for origin, across, down, sign in ((nw, ne, sw, 1.0), (se, sw, ne, -1.0)):
        u, w = across - origin, down - origin
        gap = points[which] - origin
        det = u[:, 0] * w[:, 1] - u[:, 1] * w[:, 0]
        safe = torch.where(det.abs() > 1e-9, det, torch.nan)
        a = (gap[:, 0] * w[:, 1] - gap[:, 1] * w[:, 0]) / safe
        b = (u[:, 0] * gap[:, 1] - u[:, 1] * gap[:, 0]) / safe
        holds = (a >= -1e-6) & (b >= -1e-6) & (a + b <= 1.0 + 1e-6) & ~torn
        start = torch.stack((left, top), dim=1) - 1.0 + (0.0 if sign > 0 else 1.0)
        place = start + sign * torch.stack((a, b), dim=1)
        holds &= _inside(place, motion.size) & ~_marked(place, motion.ghosts)
        found.append((which[holds], place[holds], det[holds]))
    which, place, det = (torch.cat(parts) for parts in zip(*found, strict=True))
    return _best(points, which, place, det)


def _best(points: Tensor, which: Tensor, place: Tensor, det: Tensor) -> Tensor:
    """Of the places of each point, the nearest of those that are not turned over; NaN where there is none."""
    far = (place - points[which]).norm(dim=1) + 1e6 * (det <= 0)
    order = far.argsort(stable=True)
    order = order[which[order].argsort(stable=True)]
    which, place = which[order], place[order]
    is_first = torch.ones_like(which, dtype=torch.bool)
    is_first[1:] = which[1:] != which[:-1]
    moved = torch.full_like(points, torch.nan)
    moved[which[is_first]] = place[is_first]
    return moved


def _candidates(points: Tensor, field: Tensor) -> tuple[Tensor, Tensor]:
    """Pairs of a point and a cell whose bounding box holds it; cells lie between four pixels, counted row by row."""
    most = torch.cat((-field, field))  # less the least, and the greatest
    most = torch.maximum(most[:, 1:], most[:, :-1])
    most = torch.maximum(most[..., 1:], most[..., :-1])
    tall, wide = most.shape[1:]
    down, across = (-(-side // BLOCK) for side in (tall, wide))
    room = (0, across * BLOCK - wide, 0, down * BLOCK - tall)
    extents = pad(most, room, value=-torch.inf)  # an empty cell holds nothing
    grouped = extents.unflatten(2, (across, BLOCK)).unflatten(1, (down, BLOCK)).permute(1, 3, 0, 2, 4)
    cells = grouped.flatten(3).flatten(0, 1)
    which, block = _holding(points, cells.amax(2).mT[:, None])
    pair, inner = _holding(points[which], cells[block].permute(1, 0, 2))
    which, block = which[pair], block[pair]
    row = torch.div(block, across, rounding_mode="floor") * BLOCK + torch.div(inner, BLOCK, rounding_mode="floor")
    return which, row * wide + block % across * BLOCK + inner % BLOCK


def _holding(points: Tensor, extents: Tensor) -> tuple[Tensor, Tensor]:
    """Pairs of a point of (K, 2) and a box of (4, K or 1, B): less the least x and y, and the greatest ones."""
    x, y = (at[:, None] for at in points.unbind(1))
    slack = 1e-3
    holds = (x >= -extents[0] - slack) & (y >= -extents[1] - slack)
    holds &= (x <= extents[2] + slack) & (y <= extents[3] + slack)
    which, box = holds.nonzero(as_tuple=True)
    return which, box
