"""How pipelines call a module that changes images: torchvision's v2, a Dataset, dictionaries as in albumentations."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from torch import nn

from scuff.images import Images
from scuff.random import Ids


class ImageModule(nn.Module):
    """A module that changes images and hands on whatever comes with them.

    `module(images)` returns images. `module(images, labels, ...)`, as torchvision's `v2.Compose` calls it, returns them
    all, with only the images changed; `module(image=..., label=...)`, or one dictionary, returns a dictionary with only
    `image` changed. Ids of the images are given by name alone, so that no label is ever taken for one.
    """

    @abstractmethod
    def change(self, images: Images, ids: Ids) -> Images:
        """The images, changed. Without ids, each is identified by its content."""

    def forward(self, *inputs: Any, ids: Ids = None, **named: Any) -> Any:
        if len(inputs) == 1 and isinstance(inputs[0], Mapping) and not named:
            return self(ids=ids, **inputs[0])
        if bool(inputs) == bool(named) or (named and "image" not in named):
            raise TypeError("expected images, perhaps followed by labels, or image=... and whatever belongs to it")
        if named:
            return self.change_named(named, ids)
        return self.change_all(inputs, ids) if len(inputs) > 1 else self.change(inputs[0], ids)

    def change_named(self, named: dict[str, Any], ids: Ids) -> dict[str, Any]:
        """A dictionary with its image changed."""
        return {**named, "image": self.change(named["image"], ids)}

    def change_all(self, inputs: tuple[Any, ...], ids: Ids) -> tuple[Any, ...]:
        """Images, changed, and what comes with them."""
        return (self.change(inputs[0], ids), *inputs[1:])
