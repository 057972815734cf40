"""What all schemes have in common: a scheme is data that says how training images are changed.

A scheme is called with a batch, the ids of its images and a seed. What an image meets depends on these two numbers and
on nothing else (`scuff.random`), so one id given to many images is one transform for all of them: this is how
transforms are compared with each other, and how one is repeated.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar

import torch
from torch import Tensor

from scuff.ops.textures import each
from scuff.random import image_keys, integers


@dataclass(frozen=True)
class Scheme(ABC):
    """The base of all schemes, and of your own: a frozen dataclass, whose fields are what it can be told.

    `kind` is the first word of its address. Draws begin with it, and settings.
    """

    kind: ClassVar[str]
    before_crop: ClassVar[bool] = False  # whether it acts on images before they are mirrored and shifted

    @abstractmethod
    def __call__(self, images: Tensor, ids: Tensor, seed: int = 0) -> Tensor:
        """uint8 images (N, C, H, W) and int64 ids (N,) on their device: uint8, or float32 in 0..255 as it comes.

        The images are not modified.
        """

    def settings(self) -> dict[str, Any]:
        """Everything that determines pixels, as plain data."""
        unseen = sorted(set(vars(self)) - {field.name for field in fields(self)})
        if unseen:  # two schemes that differ in them would be taken for one
            raise ValueError(
                f"{type(self).__name__} has attributes that are no fields: {', '.join(unseen)}; make it a frozen "
                "dataclass, or define settings()"
            )
        values = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}
        return {"scheme": self._named_kind(), **values}

    def keys(self, ids: Tensor, seed: int) -> Tensor:
        """What the draws of each image come from: (N,)."""
        return image_keys(self._named_kind(), None, ids, seed)

    def _named_kind(self) -> str:
        kind = getattr(self, "kind", None)
        if not isinstance(kind, str) or not kind:
            name = type(self).__name__
            raise ValueError(f'{name} has no kind; give its class a name, as in kind: ClassVar[str] = "{name.lower()}"')
        return kind


@dataclass(frozen=True)
class NoAugmentation(Scheme):
    """Images as they are.

    >>> pixels = torch.full((2, 3, 4, 4), 7, dtype=torch.uint8)
    >>> torch.equal(NoAugmentation()(pixels, torch.arange(2)), pixels)
    True
    """

    kind: ClassVar[str] = "none"

    def __call__(self, images: Tensor, ids: Tensor, seed: int = 0) -> Tensor:
        return images


# --- square patches at random places, cut at the border of the image ------------------------------------------------


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
