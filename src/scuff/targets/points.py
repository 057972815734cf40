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
from scuff.targets.blocks import BLOCK, blocks_of, of_each

AT_ONCE = 4096  # points

LOST, COVERED, SEEN = 0, 1, 2  # as COCO counts the visibility of keypoints


def move_points(points: Tensor, motion: Motion, of: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Points (K, 2), x and y counted from the centre of the first pixel, in the corrupted picture; and how visible.

    The motion is that of one picture, or of several, and then `of` (K,) says in which of them each point lies. Places
    are float64, NaN for a point that is nowhere; 0 in the second tensor is a point that cannot be seen, 1 one behind
    something, 2 one in plain sight.
    """
    points = points.double()
    of = torch.zeros(len(points), dtype=torch.long, device=points.device) if of is None else of
    if motion.stays:
        moved = points
    elif motion.matrix is not None:
        moved = project(points[:, None], of_each(inverted(motion.matrix), of))[:, 0]
    elif motion.tiles is not None:
        moved = _among_tiles(points, motion, of)
    else:
        parts = zip(points.split(AT_ONCE), of.split(AT_ONCE), strict=True)
        moved = torch.cat([_in_field(part, motion, its) for part, its in parts] or [points])
    is_seen = _inside(points, motion.size) & _inside(moved, motion.size) & ~_marked(moved, motion.ghosts, of)
    return moved, torch.where(is_seen, torch.where(_marked(moved, motion.covered, of), COVERED, SEEN), LOST)


def _inside(points: Tensor, size: tuple[int, int]) -> Tensor:
    x, y = points.unbind(1)
    return (x >= -0.5) & (x <= size[1] - 0.5) & (y >= -0.5) & (y <= size[0] - 0.5)


def _marked(points: Tensor, marks: Tensor | None, of: Tensor) -> Tensor:
    """Whether the nearest pixel is marked in (N, H, W), of the picture that each point lies in."""
    if marks is None:
        return torch.zeros(len(points), dtype=torch.bool, device=points.device)
    x, y = (
        torch.round(at.nan_to_num(0.0)).clamp(0, side - 1).long()
        for at, side in zip(points.unbind(1), (marks.shape[2], marks.shape[1]), strict=True)
    )
    return marks[of if len(marks) > 1 else 0, y, x]


# --- matrices -------------------------------------------------------------------------------------------------------


def inverted(matrix: Tensor) -> Tensor:
    """The inverses of (N, 3, 3), scaled so that depths stay positive where they are; NaN if there is none."""
    inverse, failed = torch.linalg.inv_ex(matrix.double())
    is_flat = failed.bool() | (torch.linalg.det(matrix.double()).abs() < 1e-6)
    return torch.where(is_flat[:, None, None], torch.nan, inverse)


def project(points: Tensor, matrix: Tensor) -> Tensor:
    """Points (n, k, 2) sent through matrices (n, 3, 3); NaN beyond the horizon."""
    across, down, depth = (pad(points, (0, 1), value=1.0) @ matrix.mT).unbind(-1)
    depth = torch.where(depth > 1e-9, depth, torch.nan)
    return torch.stack((across / depth, down / depth), dim=-1)


# --- tiles ----------------------------------------------------------------------------------------------------------


def _among_tiles(points: Tensor, motion: Motion, of: Tensor) -> Tensor:
    """A point keeps its place relative to its pixel."""
    height, width = motion.size
    rows, columns = motion.sources()
    place = (rows * width + columns).long().flatten(1)
    goes_to = torch.empty_like(place).scatter_(
        1, place, torch.arange(height * width, device=place.device).expand_as(place)
    )
    pixel = torch.floor(points + 0.5)
    x, y = pixel.unbind(1)
    known = _inside(points, motion.size)
    at = torch.where(known, y.clamp(0, height - 1) * width + x.clamp(0, width - 1), 0).long()
    at = goes_to[of if len(goes_to) > 1 else 0, at]
    corner = torch.stack((at % width, torch.div(at, width, rounding_mode="floor")), dim=1)
    return torch.where(known[:, None], corner + (points - pixel), torch.nan)


# --- fields ---------------------------------------------------------------------------------------------------------


def _in_field(points: Tensor, motion: Motion, of: Tensor) -> Tensor:
    which, values, top, left, torn = _candidates(points, motion, of)
    nw, ne, sw, se = (values[:, :, i, j].double() for i in (0, 1) for j in (0, 1))
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
        holds &= _inside(place, motion.size) & ~_marked(place, motion.ghosts, of[which])
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


def _candidates(points: Tensor, motion: Motion, of: Tensor) -> tuple[Tensor, ...]:
    """Pairs of a point and a cell, between four pixels, whose bounding box holds it: the point, where the cell's pixels
    are read (n, 2, 2, 2), its row and column, and whether it is torn.
    """
    blocks, slack = blocks_of(motion), 1e-3
    which, block = blocks.near(points, points, of, slack)
    values = blocks.take(of[which], block)
    most = torch.cat((-values, values), dim=1)  # less the least, and the greatest
    most = torch.maximum(most[:, :, 1:], most[:, :, :-1])
    most = torch.maximum(most[..., 1:], most[..., :-1])[..., :BLOCK, :BLOCK]  # the others belong to the next blocks
    wanted = torch.cat((-points, points), dim=1).float()[which, :, None, None] - slack
    pair, row, column = (wanted <= most).all(1).nonzero(as_tuple=True)
    cells = torch.stack([values[pair, :, row + i, column + j] for i in (0, 1) for j in (0, 1)], dim=2)
    first, start = (at[pair] for at in blocks.starts(block))
    which, top, left = which[pair], first + row, start + column
    height, width = blocks.torn.shape[1:]
    torn = blocks.torn[of[which] if len(blocks.torn) > 1 else 0, top.clamp(max=height - 1), left.clamp(max=width - 1)]
    return which, cells.unflatten(2, (2, 2)), top, left, torn
