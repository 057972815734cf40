"""Boxes that follow a motion: the tight box of what is seen of them, and how much that is.

Boxes are (n, 4): left, top, right and bottom, from 0 to the width and the height of the picture. Those of many pictures
move at once, on the device of the motion.
"""

from __future__ import annotations

import torch
from torch import Tensor

from scuff.corruptions.motion import Motion
from scuff.targets.blocks import BLOCK, blocks_of, of_each
from scuff.targets.points import inverted, move_points, project

AT_ONCE = {"cpu": 1 << 10, "cuda": 1 << 16}  # blocks of pixels


def move_boxes(boxes: Tensor, motion: Motion, clip: bool = True, of: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Boxes in the corrupted picture, float64, NaN for one that cannot be seen; and the share of each that is visible.

    The motion is that of one picture, or of several, and then `of` (n,) says in which of them each box lies. A box
    counts as far as it lies in the clean picture. Under a matrix, the corners move; under a field, every pixel is asked
    which boxes it shows, and edges lie where neighbours differ.
    """
    boxes = boxes.double()
    of = torch.zeros(len(boxes), dtype=torch.long, device=boxes.device) if of is None else of
    within = torch.minimum(boxes.clamp(min=0.0), _frame(boxes, motion.size))
    if motion.stays and motion.covered is None:
        return (within if clip else boxes), torch.ones_like(boxes[:, 0])
    if not len(boxes):
        return boxes, boxes[:, 0]
    if motion.matrix is None or motion.covered is not None or motion.ghosts is not None:
        moved, visible = _by_field(within, motion, of)
    else:
        moved, visible, known = _by_matrix(within, of_each(motion.matrix, of), motion.size)
        if not bool(known.all()):  # the horizon is in sight
            moved[~known], visible[~known] = _by_field(within[~known], motion, of[~known])
    if motion.stays:
        moved = within if clip else boxes
    elif motion.matrix is not None and not clip:
        outline = project(corners_of(boxes), of_each(inverted(edges(motion.matrix)), of))
        whole = torch.cat((outline.amin(1), outline.amax(1)), dim=1)
        moved = torch.where(whole.isfinite().all(1, keepdim=True), whole, moved)
    return moved, visible


def _frame(like: Tensor, size: tuple[int, int]) -> Tensor:
    """The most that the four sides of a box can be, (1, 4)."""
    return like.new_tensor([size[::-1] * 2])


def corners_of(boxes: Tensor) -> Tensor:
    """Top left, top right, bottom right, bottom left: (n, 4, 2)."""
    left, top, right, bottom = boxes.unbind(1)
    return torch.stack((left, top, right, top, right, bottom, left, bottom), dim=1).view(-1, 4, 2)


def edges(matrix: Tensor) -> Tensor:
    """Maps (N, 3, 3) of pixels' centres, written for coordinates in which the first centre is at 1/2."""
    half = torch.zeros(3, 3, dtype=torch.float64, device=matrix.device)
    half[:2, 2] = 0.5
    whole = torch.eye(3, dtype=torch.float64, device=matrix.device)
    return (whole + half) @ matrix.double() @ (whole - half)


def _hull(places: Tensor, valid: Tensor, size: tuple[int, int]) -> Tensor:
    """The boxes around those of (n, P, 2) places that are valid, within the frame; NaN if none is."""
    low = torch.where(valid[..., None], places, torch.inf).amin(1)
    high = torch.where(valid[..., None], places, -torch.inf).amax(1)
    return _cut(torch.cat((low, high), dim=1), valid.any(1), size)


def _cut(boxes: Tensor, valid: Tensor, size: tuple[int, int]) -> Tensor:
    """Boxes within the frame; NaN where there is none."""
    cut = torch.minimum(boxes.clamp(min=0.0), _frame(boxes, size))
    return torch.where(valid[:, None], cut, torch.nan)


# --- matrices -------------------------------------------------------------------------------------------------------


def _by_matrix(boxes: Tensor, matrix: Tensor, size: tuple[int, int]) -> tuple[Tensor, Tensor, Tensor]:
    """What each box has in common with the part of the clean picture that is still in sight, a quadrangle.

    And whether that is so: not if the horizon is in sight.
    """
    back = edges(matrix)
    there, far = inverted(back), _frame(boxes, size)[:, :2]
    quadrangle = project(corners_of(torch.cat((torch.zeros_like(far), far), dim=1)), back)
    known = torch.cat((quadrangle.flatten(1), there.flatten(1)), dim=1).isfinite().all(1)
    corners = corners_of(boxes)
    seen = project(corners, there)
    places, valid = [corners], [((seen >= -1e-9) & (seen <= far + 1e-9)).all(2)]
    low, high = boxes[:, None, :2] - 1e-9, boxes[:, None, 2:] + 1e-9
    places.append(quadrangle)
    valid.append(((quadrangle >= low) & (quadrangle <= high)).all(2))
    step = quadrangle.roll(-1, 1) - quadrangle
    for line in range(4):  # a side of a box meets the sides of the quadrangle
        axis = line % 2
        share = (boxes[:, line, None] - quadrangle[..., axis]) / step[..., axis]
        at = quadrangle + share[..., None].nan_to_num(0.0, 0.0, 0.0) * step
        other = at[..., 1 - axis]
        between = (other >= low[..., 1 - axis]) & (other <= high[..., 1 - axis])
        places.append(at)
        valid.append((share >= 0.0) & (share <= 1.0) & between)
    outline, is_valid = torch.cat(places, dim=1), torch.cat(valid, dim=1)
    return _hull(project(outline, there), is_valid, size), _area(outline, is_valid) / area_of(boxes), known


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


def _by_field(boxes: Tensor, motion: Motion, of: Tensor) -> tuple[Tensor, Tensor]:
    which, block = blocks_of(motion).near(boxes[:, :2] - 0.5, boxes[:, 2:] - 0.5, of, 2.0)
    parts = list(zip(*(each.split(AT_ONCE.get(boxes.device.type, 1 << 10)) for each in (which, block)), strict=True))
    looks = _Looks(boxes.float(), motion, of)
    largest = None if motion.tiles is None else looks.largest_tiles(parts)
    found = [looks.hulls(pairs, near, largest) for pairs, near in parts]
    sides, shown = (torch.cat(each) for each in zip(*found, strict=True))
    moved, place = torch.full_like(boxes, torch.inf), which[:, None].expand(-1, 4)
    moved.scatter_reduce_(0, place, sides, "amin")  # those on the right and below are negative here
    moved = torch.cat((moved[:, :2], -moved[:, 2:]), dim=1)
    visible = torch.zeros_like(boxes[:, 0]).index_add_(0, which, shown) / area_of(boxes)
    is_seen = moved.isfinite().all(1)
    if motion.tiles is None:  # a corner may lie between pixels
        corners, seen = move_points(corners_of(boxes).flatten(0, 1) - 0.5, motion, of.repeat_interleave(4))
        places = torch.cat(((corners + 0.5).view(-1, 4, 2), moved.view(-1, 2, 2)), dim=1)
        valid = torch.cat((seen.view(-1, 4) > 0, is_seen[:, None].expand(-1, 2)), dim=1)
        return _hull(places, valid, motion.size), visible.clamp(max=1.0)
    return _cut(moved, is_seen, motion.size), visible.clamp(max=1.0)


class _Looks:
    """What pixels in blocks show of boxes (n, 4), which lie in the pictures `of` a motion."""

    def __init__(self, boxes: Tensor, motion: Motion, of: Tensor) -> None:
        self.boxes, self.motion, self.of, self.blocks = boxes, motion, of, blocks_of(motion)
        alone = None if motion.tiles is not None else _alone(self.blocks.torn, motion)
        self.alone = alone if alone is not None and bool(alone.any()) else None

    def hulls(self, which: Tensor, block: Tensor, largest: Tensor | None) -> tuple[Tensor, Tensor]:
        """For pairs of a box and a block, the hull of the pixels that show it, its right and bottom negative, infinite
        if there are none; and the area of the box that they show. Of tiles, only the largest counts.
        """
        inner, inside, field = self._look(which, block)
        at = inner[:, 1:-1, 1:-1]
        shows = (at >= 0.0) & inside
        weight = _share_shown(self.boxes[which], field, largest is not None) * inside
        for hidden in (self.motion.covered, self.alone):
            if hidden is not None:
                weight = weight * ~self._marks(hidden, which, block)
        if largest is not None:
            is_largest = self._tiles(which, block) == largest[which, None, None]
            shows, weight = shows & is_largest, weight * is_largest

        def reach(neighbour: Tensor) -> Tensor:
            """How far towards a neighbour the box goes, in pixels."""
            return torch.where(neighbour < 0.0, at / (at - neighbour), 1.0) if largest is None else at.clamp(max=0.5)

        rows, columns = (place + 0.5 for place in self._places(block))
        ends = (
            columns - reach(inner[:, 1:-1, :-2]),
            rows - reach(inner[:, :-2, 1:-1]),
            -columns - reach(inner[:, 1:-1, 2:]),
            -rows - reach(inner[:, 2:, 1:-1]),
        )
        sides = torch.stack([torch.where(shows, end, torch.inf).amin((1, 2)) for end in ends], dim=1)
        return sides.double(), weight.sum((1, 2), dtype=torch.float64)

    def largest_tiles(self, parts: list[tuple[Tensor, Tensor]]) -> Tensor:
        """The tile that shows most of each box."""
        assert self.motion.tiles is not None
        count = int(self.motion.tiles.max()) + 1
        sizes = torch.zeros(len(self.boxes) * count, dtype=torch.long, device=self.boxes.device)
        for which, block in parts:
            inner, inside, _ = self._look(which, block)
            shows = (inner[:, 1:-1, 1:-1] >= 0.0) & inside
            place = which[:, None, None] * count + self._tiles(which, block)
            sizes.index_add_(0, place.flatten(), shows.flatten().long())
        return sizes.view(-1, count).argmax(1)

    def _look(self, which: Tensor, block: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """How far inside of its box the pixels of a block and those around it are read; which pixels of the block are
        in the picture; and where all are read.
        """
        field = self.blocks.take(self.of[which], block) + 0.5
        x, y = field.unbind(1)
        left, top, right, bottom = (side[:, None, None] for side in self.boxes[which].unbind(1))
        inner = torch.minimum(torch.minimum(x - left, right - x), torch.minimum(y - top, bottom - y))
        if self.alone is not None:
            inner = torch.where(self._marks(self.alone, which, block, 1), -0.5, inner)
        rows, columns = self._places(block)
        return inner, (rows < self.motion.size[0]) & (columns < self.motion.size[1]), field

    def _places(self, block: Tensor, more: int = 0) -> tuple[Tensor, Tensor]:
        """Rows (n, side, 1) and columns (n, 1, side) of the pixels of blocks, and of `more` around them."""
        side = torch.arange(-more, BLOCK + more, device=block.device)
        first, start = self.blocks.starts(block)
        return first[:, None, None] + side[:, None], start[:, None, None] + side

    def _marks(self, marks: Tensor, which: Tensor, block: Tensor, more: int = 0) -> Tensor:
        """What (N, H, W) says of the pixels of blocks; of those outside, what it says of the nearest one."""
        of = self.of[which][:, None, None] if len(marks) > 1 else 0
        rows, columns = (
            at.clamp(0, side - 1) for at, side in zip(self._places(block, more), self.motion.size, strict=True)
        )
        return marks[of, rows, columns]

    def _tiles(self, which: Tensor, block: Tensor) -> Tensor:
        assert self.motion.tiles is not None
        return self._marks(self.motion.tiles, which, block)


def _alone(torn: Tensor, motion: Motion) -> Tensor:
    """Pixels that show nothing: torn from all their neighbours, as a row at the border that is read far away; or
    mirror images.
    """
    alone = torn[:, 1:, 1:] & torn[:, 1:, :-1] & torn[:, :-1, 1:] & torn[:, :-1, :-1]
    return alone if motion.ghosts is None else alone | motion.ghosts


def _share_shown(boxes: Tensor, field: Tensor, of_tiles: bool) -> Tensor:
    """The area of each box that a pixel shows, (n, H, W): of the pixel's footprint in the clean picture."""
    across = (field[:, :, 1:-1, 2:] - field[:, :, 1:-1, :-2]) / 2.0
    down = (field[:, :, 2:, 1:-1] - field[:, :, :-2, 1:-1]) / 2.0
    if of_tiles:
        across, down = torch.ones_like(across), torch.ones_like(down)
        across[:, 1], down[:, 0] = 0.0, 0.0
    out = (across[:, 0] * down[:, 1] - across[:, 1] * down[:, 0]).abs()
    for axis in (0, 1):
        extent = (across[:, axis].abs() + down[:, axis].abs()).clamp(min=1e-3)
        at = field[:, axis, 1:-1, 1:-1]
        low, high = (boxes[:, axis + k, None, None] for k in (0, 2))
        common = torch.minimum(at + extent / 2.0, high) - torch.maximum(at - extent / 2.0, low)
        out = out * (common.clamp(min=0.0) / extent)
    return out
