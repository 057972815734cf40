"""The fields of motions in blocks of pixels: a point or a box is compared only with those that may show it.

Those of all pictures at once, on the device of the motion. Blocks overlap, so that each holds its pixels' neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import max_pool2d

from scuff.corruptions.motion import Motion

BLOCK = 16  # pixels of a side
TEAR = 8.0  # neighbouring pixels that are read farther apart show nothing of what lies between


@dataclass(frozen=True, eq=False)
class Blocks:
    """Where pixels are read, x and y, with one more pixel on each side, in blocks (N, 2, down, across, side, side).

    Their first dimension may be 1, for all pictures. `extents` (N, 4, blocks) are less the least x and y of a block,
    and the greatest. `torn` (N, H + 1, W + 1) marks cells between four pixels that show nothing of what lies between.
    """

    values: Tensor
    extents: Tensor
    torn: Tensor

    @property
    def across(self) -> int:
        """Blocks that lie side by side."""
        return self.values.shape[3]

    def near(self, low: Tensor, high: Tensor, of: Tensor, slack: float) -> tuple[Tensor, Tensor]:
        """Pairs of one of the boxes from `low` to `high` (n, 2) of pictures `of` and a block that may show it."""
        wanted = torch.cat((-high, low), dim=1).float()[:, :, None] - slack
        overlaps = (wanted <= of_each(self.extents, of)).all(1)
        which, block = overlaps.nonzero(as_tuple=True)
        return which, block

    def take(self, of: Tensor, block: Tensor) -> Tensor:
        """Blocks of pictures: (n, 2, side, side)."""
        of = of if len(self.values) > 1 else torch.zeros_like(of)
        return self.values[of, :, torch.div(block, self.across, rounding_mode="floor"), block % self.across]

    def starts(self, block: Tensor) -> tuple[Tensor, Tensor]:
        """The first row and column of blocks, (n,) each, of the picture's own pixels."""
        return torch.div(block, self.across, rounding_mode="floor") * BLOCK, block % self.across * BLOCK


def blocks_of(motion: Motion) -> Blocks:
    """The blocks of a motion, made when they are first asked for."""
    if "_blocks" not in motion.__dict__:
        object.__setattr__(motion, "_blocks", _make_blocks(motion))
    return motion.__dict__["_blocks"]


def _make_blocks(motion: Motion) -> Blocks:
    height, width = motion.size
    field = _extended(motion)
    values = field.unfold(2, BLOCK + 2, BLOCK).unfold(3, BLOCK + 2, BLOCK)
    extents = torch.cat([max_pool2d(one, BLOCK + 2, BLOCK) for one in (-field, field)], dim=1).flatten(2)
    read = field[:, :, : height + 2, : width + 2]
    across, down = ((read.diff(dim=axis).abs() > TEAR).any(1) for axis in (3, 2))
    torn = across[:, 1:] | across[:, :-1] | down[..., 1:] | down[..., :-1]
    return Blocks(values, extents, torn)


def _extended(motion: Motion) -> Tensor:
    """Where pixels are read, x and y, float32, with one more pixel before them, and more after them to fill blocks.

    The pixels around the picture go on as its last two do; what is beyond them repeats them.
    """
    rows, columns = motion.sources()
    filled = (-(-(side + 1) // BLOCK) * BLOCK + 2 for side in motion.size)
    field = rows.new_empty(len(rows), 2, *filled, dtype=torch.float32)
    inner = field[:, :, 1 : motion.size[0] + 1, 1 : motion.size[1] + 1]
    inner[:, 0], inner[:, 1] = columns, rows
    for axis, side in zip((3, 2), motion.size[::-1], strict=True):  # x is the last axis of a picture
        first, last = field.narrow(axis, 1, 1), field.narrow(axis, side, 1)
        if side > 1:
            before, after = (2.0 * end - field.narrow(axis, at, 1) for end, at in ((first, 2), (last, side - 1)))
        else:
            step = torch.tensor([float(axis == 3), float(axis == 2)], device=field.device)[:, None, None]
            before, after = first - step, last + step
        field.narrow(axis, 0, 1).copy_(before)
        field.narrow(axis, side + 1, field.shape[axis] - side - 1).copy_(after)
    return field


def of_each(values: Tensor, of: Tensor) -> Tensor:
    """The entry of a tensor for each picture of `of`; a first dimension of 1 stands for all pictures."""
    return values[of] if len(values) > 1 else values.expand(len(of), *values.shape[1:])
