"""What all schemes have in common: a scheme is data that says how training images are changed.

A scheme is called with a batch, the ids of its images and a seed. What an image meets depends on these two numbers and
on nothing else (`scuff.random`), so one id given to many images is one transform for all of them: this is how
transforms are compared with each other, and how one is repeated.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar

from torch import Tensor

from scuff.random import image_keys


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
