"""Corruptions as modules, for pipelines: torchvision v2, a DataLoader, a model that corrupts its own input."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scuff.door import corrupt, resolve_still
from scuff.images import Images
from scuff.modules import ImageModule
from scuff.random import Ids
from scuff.suites import Suite
from scuff.targets import KNOWN, Rules, open_tree


class Corrupt(ImageModule):
    """Corrupt every image that passes, single or batched, torch, numpy or PIL; labels and the like pass untouched.

    Boxes, masks, keypoints, depth and flow that come with a single image move with it: in a dictionary, by their names
    (`scuff.targets.move`), or anywhere, as torchvision's TVTensors.

    A pipeline hands over pictures without their numbers, so by default each one is keyed by its own content: the same
    picture is corrupted the same way in any order, worker or epoch. Call it with `ids=` to key them otherwise. To train
    with another corruption in every epoch, see `scuff.augment.RandomCorruption`.

    >>> import torch
    >>> fog = Corrupt("cifar10-c/fog", severity=3)
    >>> x = torch.rand(4, 3, 32, 32)
    >>> torch.equal(fog(x)[1], fog(x[1]))
    True
    """

    def __init__(
        self,
        name: str,
        severity: float | None = None,
        *,
        seed: int = 0,
        suite: Suite | str | None = None,
        parameters: dict[str, Any] | None = None,
        scale: bool = True,
        as_published: bool = False,
        check: bool = True,
        targets: Rules | None = None,
    ) -> None:
        super().__init__()
        resolve_still(name, severity, suite=suite, parameters=parameters)  # a wrong name fails here, not in a worker
        self.name, self.severity = name, severity
        self.options: dict[str, Any] = {
            "seed": seed,
            "suite": suite,
            "parameters": parameters,
            "scale": scale,
            "as_published": as_published,
            "check": check,
            "targets": targets,
        }

    def change(self, images: Images, ids: Ids) -> Images:
        return corrupt(images, self.name, self.severity, ids="content" if ids is None else ids, **self.options)

    def forward(self, *inputs: Any, ids: Ids = None, **named: Any) -> Any:
        tree = inputs[0] if len(inputs) == 1 else inputs
        if not named and open_tree(tree) is not None:
            return self.change(tree, ids)
        return super().forward(*inputs, ids=ids, **named)

    def change_named(self, named: dict[str, Any], ids: Ids) -> dict[str, Any]:
        return self.change(named, ids)

    def change_all(self, inputs: tuple[Any, ...], ids: Ids) -> tuple[Any, ...]:
        image, *others = inputs
        place = next((k for k, other in enumerate(others) if isinstance(other, Mapping) and KNOWN & other.keys()), None)
        if place is None:
            return super().change_all(inputs, ids)
        moved = self.change({**others[place], "image": image}, ids)
        image = moved.pop("image")
        others[place] = moved
        return (image, *others)

    def extra_repr(self) -> str:
        return f"{self.name!r}, severity={self.severity}, seed={self.options['seed']}"
