"""Square patches at random places, cut at the border of the image."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from scuff.augment.scheme import each
from scuff.random import integers


def draw_centres(keys: Tensor, size: Sequence[int], stream: str = "centre") -> tuple[Tensor, Tensor]:
    """A row and a column for each image of this height and width, all places alike: int32 (N,) each."""
    height, width = size
    row = integers(keys, f"{stream} row", low=0, high=height - 1)
    return row, integers(keys, f"{stream} column", low=0, high=width - 1)


def patch_mask(centres: tuple[Tensor, Tensor], side: Tensor | float, size: Sequence[int]) -> Tensor:
    """Where the patches are: bool (N, 1, H, W).

    A patch reaches from floor(side / 2) before its centre to ceil(side / 2) - 1 after it, so that a whole `side` is
    that number of pixels, and a real one stands for the next whole numbers. One number for all, or one for each (N,).

    >>> mask = patch_mask((torch.tensor([0]), torch.tensor([2])), 3, (4, 4))
    >>> mask[0, 0].int().tolist()
    [[0, 1, 1, 1], [0, 1, 1, 1], [0, 0, 0, 0], [0, 0, 0, 0]]
    """
    half = each(side / 2) if isinstance(side, Tensor) else torch.tensor(side / 2)
    before, after = half.floor(), half.ceil()
    row, column = (each(centre) for centre in centres)
    i = torch.arange(size[0], device=row.device)[:, None]
    j = torch.arange(size[1], device=row.device)
    return (i >= row - before) & (i < row + after) & (j >= column - before) & (j < column + after)


def cutout(images: Tensor, centres: tuple[Tensor, Tensor], side: int, fill: Tensor) -> Tensor:
    """Images (N, C, H, W) with a patch each in one colour; `fill` has the type of the images, and meets their shape."""
    return torch.where(patch_mask(centres, side, images.shape[-2:]), fill, images)
