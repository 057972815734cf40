"""What all schemes have in common: a scheme is data that says how training images are changed.

A scheme is called with a batch, the ids of its images and a seed. What an image meets depends on these two numbers and
on nothing else (`scuff.random`), so one id given to many images is one transform for all of them: this is how
transforms are compared with each other, and how one is repeated.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from torch import Tensor

from scuff.random import image_keys


@dataclass(frozen=True)
class Scheme:
    """The base of all schemes. `kind` is the first word of its address."""

    kind: ClassVar[str]
    before_crop: ClassVar[bool] = False  # whether it acts on images before they are mirrored and shifted

    def __call__(self, images: Tensor, ids: Tensor, seed: int = 0) -> Tensor:
        """uint8 images (N, C, H, W) and int64 ids (N,) on their device: uint8, or float32 in 0..255 as it comes.

        The images are not modified.
        """
        raise NotImplementedError

    def settings(self) -> dict[str, Any]:
        """Everything that decides over pixels, as plain data."""
        fields = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}
        return {"scheme": self.kind, **fields}

    def keys(self, ids: Tensor, seed: int) -> Tensor:
        """What the draws of each image come from: (N,)."""
        return image_keys(self.kind, None, ids, seed)


@dataclass(frozen=True)
class NoAugmentation(Scheme):
    """Images as they are.

    >>> import torch
    >>> pixels = torch.full((2, 3, 4, 4), 7, dtype=torch.uint8)
    >>> torch.equal(NoAugmentation()(pixels, torch.arange(2)), pixels)
    True
    """

    kind: ClassVar[str] = "none"

    def __call__(self, images: Tensor, ids: Tensor, seed: int = 0) -> Tensor:
        return images


def each(value: Tensor) -> Tensor:
    """(N,) -> (N, 1, 1, 1), to meet images."""
    return value[:, None, None, None]
