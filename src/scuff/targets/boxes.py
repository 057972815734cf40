"""Boxes that follow a motion: the tight box of what is seen of them, and how much that is.

Boxes are (n, 4): left, top, right and bottom, from 0 to the width and the height of the picture.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from scuff.corruptions.motion import Motion
from scuff.targets.points import extended, inverted, is_torn, move_points, project


def move_boxes(boxes: Tensor, motion: Motion, clip: bool = True) -> tuple[Tensor, Tensor]:
    """Boxes in the corrupted picture, float64, NaN for one that cannot be seen; and the share of each that is visible.

    The motion is that of one picture. A box counts as far as it lies in the clean picture. Under a matrix, the corners
    move; under a field, every pixel is asked which boxes it shows, and edges lie where neighbours differ.
    """
    boxes = boxes.double()
    height, width = motion.size
    frame = torch.tensor([width, height, width, height], dtype=torch.float64, device=boxes.device)
    within = torch.minimum(boxes.clamp(min=0.0), frame)
    if motion.stays and motion.covered is None:
        return (within if clip else boxes), torch.ones_like(boxes[:, 0])
    if not len(boxes):
        return boxes, boxes[:, 0]
    moved, visible = _by_matrix(within, motion) or _by_field(within, motion)
    if motion.stays:
        moved = within if clip else boxes
    elif motion.matrix is not None and not clip:
        outline = project(corners_of(boxes), inverted(edges(motion.matrix[0])))
        whole = torch.cat((outline.amin(1), outline.amax(1)), dim=1)
        moved = torch.where(whole.isfinite().all(1, keepdim=True), whole, moved)
    return moved, visible


def corners_of(boxes: Tensor) -> Tensor:
    """Top left, top right, bottom right, bottom left: (n, 4, 2)."""
    left, top, right, bottom = boxes.unbind(1)
    return torch.stack((left, top, right, top, right, bottom, left, bottom), dim=1).view(-1, 4, 2)


def edges(matrix: Tensor) -> Tensor:
    """A map (3, 3) of pixels' centres, written for coordinates in which the first centre is at 1/2."""
    half = torch.eye(3, dtype=torch.float64, device=matrix.device)
    half[:2, 2] = 0.5
    return half @ matrix.double() @ torch.linalg.inv(half)


def _hull(places: Tensor, valid: Tensor, size: tuple[int, int]) -> Tensor:
    """The boxes around those of (n, P, 2) places that are valid, within the frame; NaN if none is."""
    low = torch.where(valid[..., None], places, torch.inf).amin(1)
    high = torch.where(valid[..., None], places, -torch.inf).amax(1)
    far = torch.tensor([size[1], size[0]], dtype=places.dtype, device=places.device)
    low, high = low.clamp(min=0.0), torch.minimum(high, far)
    return torch.where(valid.any(1, keepdim=True), torch.cat((low, high), dim=1), torch.nan)


# --- matrices -------------------------------------------------------------------------------------------------------


def _by_matrix(boxes: Tensor, motion: Motion) -> tuple[Tensor, Tensor] | None:
    """What the boxes have in common with the part of the clean picture that is still in sight, a quadrangle.

    None if there is no matrix, or the horizon is in sight, or something is covered.
    """
    if motion.matrix is None or motion.covered is not None or motion.ghosts is not None:
        return None
    height, width = motion.size
    back = edges(motion.matrix[0])
    frame = torch.tensor([[0.0, 0.0, width, height]], dtype=torch.float64, device=boxes.device)
    quadrangle, there = project(corners_of(frame)[0], back), inverted(back)
    if not bool(quadrangle.isfinite().all() & there.isfinite().all()):
        return None
    corners = corners_of(boxes)
    seen = project(corners, there)
    far = frame[0, 2:]
    places, valid = [corners], [((seen >= -1e-9) & (seen <= far + 1e-9)).all(2)]
    low, high = boxes[:, None, :2] - 1e-9, boxes[:, None, 2:] + 1e-9
    places.append(quadrangle.expand(len(boxes), -1, -1))
    valid.append(((places[-1] >= low) & (places[-1] <= high)).all(2))
    begin, step = quadrangle, quadrangle.roll(-1, 0) - quadrangle
    for line in range(4):  # a side of a box meets the sides of the quadrangle
        axis = line % 2
        share = (boxes[:, line, None] - begin[:, axis]) / step[:, axis]
        at = begin + share[..., None].nan_to_num(0.0, 0.0, 0.0) * step
        other = at[..., 1 - axis]
        between = (other >= low[..., 1 - axis]) & (other <= high[..., 1 - axis])
        places.append(at)
        valid.append((share >= 0.0) & (share <= 1.0) & between)
    outline, is_valid = torch.cat(places, dim=1), torch.cat(valid, dim=1)
    return _hull(project(outline, there), is_valid, motion.size), _area(outline, is_valid) / area_of(boxes)


def area_of(boxes: Tensor) -> Tensor:
    """Square pixels, (n,); a hair more than 0."""
    return ((boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])).clamp(min=1e-9)


def _area(places: Tensor, valid: Tensor) -> Tensor:
    """Of the convex polygons whose corners are the valid ones of (n, P, 2) places, in any order."""
    count = valid.sum(1, keepdim=True).clamp(min=1)
    middle = torch.where(valid[..., None], places, 0.0).sum(1) / count
    first = valid.int().argmax(1)
    spare = places[torch.arange(len(places), device=places.device), first]
    x, y = (torch.where(valid[..., None], places, spare[:, None]) - middle[:, None]).unbind(2)
    order = torch.atan2(y, x).argsort(1)
    x, y = x.gather(1, order), y.gather(1, order)
    area = 0.5 * (x * y.roll(-1, 1) - y * x.roll(-1, 1)).sum(1).abs()
    return torch.where(valid.any(1), area, 0.0)


# --- fields ---------------------------------------------------------------------------------------------------------


def _by_field(boxes: Tensor, motion: Motion) -> tuple[Tensor, Tensor]:
    field = extended(motion) + 0.5
    parts = [_shown(box[None], *_window(box, field, motion)) for box in boxes]
    moved, visible = (torch.cat(part) for part in zip(*parts, strict=True))
    if motion.tiles is None:  # a corner may lie between pixels
        n = len(boxes)
        corners, seen = move_points(corners_of(boxes).flatten(0, 1) - 0.5, motion)
        places = torch.cat(((corners + 0.5).view(n, 4, 2), moved.view(n, 2, 2)), dim=1).nan_to_num(0.0)
        valid = torch.cat((seen.view(n, 4) > 0, moved.isfinite().all(1, keepdim=True).expand(-1, 2)), dim=1)
        moved = _hull(places, valid, motion.size)
    return moved, visible


def _window(box: Tensor, field: Tensor, motion: Motion) -> tuple[Tensor, Motion, tuple[int, int]]:
    """The part of an extended field and of its motion that shows a box, and its first row and column."""
    (x, y), (left, top, right, bottom) = field[:, 1:-1, 1:-1], box.tolist()
    near = (x > left - 2.0) & (x < right + 2.0) & (y > top - 2.0) & (y < bottom + 2.0)
    rows, columns = (near.any(axis).nonzero().flatten() for axis in (1, 0))
    if not len(rows):
        rows = columns = torch.zeros(1, dtype=torch.long)
    (first, last), (start, stop) = ((int(at[0]), int(at[-1]) + 1) for at in (rows, columns))
    part = replace(motion, matrix=None, rows=None, columns=None)
    part = part.changed(lambda value: value[:, first:last, start:stop])
    return field[:, first : last + 2, start : stop + 2], part, (first, start)


def _shown(boxes: Tensor, field: Tensor, motion: Motion, first: tuple[int, int]) -> tuple[Tensor, Tensor]:
    """The hull of the pixels that show each box, and the share of it that they show.

    Of an extended field and its motion, which may be parts of larger ones that begin at the row and column `first`.
    """
    x, y = field
    left, top, right, bottom = (side[:, None, None] for side in boxes.float().unbind(1))
    inner = torch.minimum(torch.minimum(x - left, right - x), torch.minimum(y - top, bottom - y))
    if motion.tiles is None:
        torn = is_torn(field)  # on all sides: a row at the border, read from far away
        alone = (torn[1:, 1:] & torn[1:, :-1] & torn[:-1, 1:] & torn[:-1, :-1])[None]
        alone = alone if motion.ghosts is None else alone | motion.ghosts
        inner[:, 1:-1, 1:-1] = torch.where(alone, -0.5, inner[:, 1:-1, 1:-1])
        motion = replace(motion, ghosts=alone)
    at = inner[:, 1:-1, 1:-1]
    shows = at >= 0.0
    weight = _share_shown(boxes, field, motion)
    if motion.tiles is not None:
        tiles = motion.tiles[0].flatten()
        sizes = at.new_zeros(len(boxes), int(tiles.max()) + 1).index_add_(1, tiles, shows.flatten(1).to(at.dtype))
        largest = sizes.argmax(1)[:, None, None] == motion.tiles
        shows, weight = shows & largest, weight * largest

    def reach(neighbour: Tensor) -> Tensor:
        """How far towards a neighbour the box goes, in pixels."""
        if motion.tiles is not None:
            return at.clamp(max=0.5)
        return torch.where(neighbour < 0.0, at / (at - neighbour), 1.0)

    height, width = at.shape[1:]
    rows = torch.arange(height, device=x.device)[:, None] + (first[0] + 0.5)
    columns = torch.arange(width, device=x.device) + (first[1] + 0.5)
    sides = (
        torch.where(shows, columns - reach(inner[:, 1:-1, :-2]), torch.inf).amin((1, 2)),
        torch.where(shows, rows - reach(inner[:, :-2, 1:-1]), torch.inf).amin((1, 2)),
        torch.where(shows, columns + reach(inner[:, 1:-1, 2:]), -torch.inf).amax((1, 2)),
        torch.where(shows, rows + reach(inner[:, 2:, 1:-1]), -torch.inf).amax((1, 2)),
    )
    places = torch.stack(sides, dim=1).double().view(-1, 2, 2)
    moved = _hull(places, shows.flatten(1).any(1, keepdim=True).expand(-1, 2), motion.size)
    return moved, (weight.sum((1, 2), dtype=torch.float64) / area_of(boxes)).clamp(max=1.0)


def _share_shown(boxes: Tensor, field: Tensor, motion: Motion) -> Tensor:
    """The area of each box that a pixel shows, (n, H, W): of the pixel's footprint in the clean picture."""
    across, down = (field[:, 1:-1, 2:] - field[:, 1:-1, :-2]) / 2.0, (field[:, 2:, 1:-1] - field[:, :-2, 1:-1]) / 2.0
    if motion.tiles is not None:
        across, down = torch.ones_like(across), torch.ones_like(down)
        across[1], down[0] = 0.0, 0.0
    shares = (across[0] * down[1] - across[1] * down[0]).abs()
    if motion.covered is not None:
        shares = torch.where(motion.covered[0], 0.0, shares)
    if motion.ghosts is not None:
        shares = torch.where(motion.ghosts[0], 0.0, shares)
    out = shares
    for axis in (0, 1):
        extent = (across[axis].abs() + down[axis].abs()).clamp(min=1e-3)
        at = field[axis, 1:-1, 1:-1]
        low, high = (boxes[:, axis + k, None, None].float() for k in (0, 2))
        common = torch.minimum(at + extent / 2.0, high) - torch.maximum(at - extent / 2.0, low)
        out = out * (common.clamp(min=0.0) / extent)
    return out
