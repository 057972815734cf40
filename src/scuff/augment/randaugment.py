"""RandAugment: a few operations, all equally likely and all of one level (Cubuk et al. 2020)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from scuff.augment import conventions
from scuff.augment.conventions import GREY, Amount, Steps, draw_values
from scuff.augment.operations import operate
from scuff.augment.scheme import Scheme, cutout, draw_centres
from scuff.kernels.constants import constant
from scuff.ops.textures import each
from scuff.random import integers
from scuff.ranges import is_number

PAPER = (
    "identity", "autocontrast", "equalize", "rotate", "solarize", "color", "posterize", "contrast", "brightness",
    "sharpness", "shear_x", "shear_y", "translate_x", "translate_y",
)  # fmt: skip
EXTRAS = ("cutout", "solarize_add")  # which the TPU program adds, with invert and without identity
OPERATIONS = {"torchvision": PAPER, "tpu": (*PAPER[1:], "invert", *EXTRAS)}
HIGHEST_LEVEL = 30


@dataclass(frozen=True)
class RandAugment(Scheme):
    """Each image goes through `count` operations, drawn with replacement, at the same level.

    Parameters
    ----------
    count, level
        The N and M of the paper: 2 and 9 for ImageNet, 3 and 4 for CIFAR-10.
    convention
        "torchvision": the paper's 14 operations, levels of 30, nearest, black borders. "tpu": 16 operations, levels of
        10, nearest, grey borders; a higher level makes two of its operations weaker. See `conventions`.
    """

    count: int = 2
    level: float = 9
    convention: str = "torchvision"

    kind: ClassVar[str] = "randaugment"

    def __post_init__(self) -> None:
        if self.convention not in OPERATIONS:
            raise ValueError(f"RandAugment has no convention {self.convention!r}; there are {', '.join(OPERATIONS)}")
        if not isinstance(self.count, int) or self.count < 1:
            raise ValueError(f"RandAugment needs a count of at least one operation, got {self.count!r}")
        if not is_number(self.level) or not 0 <= self.level <= HIGHEST_LEVEL:
            raise ValueError(f"a level of RandAugment is from 0 to {HIGHEST_LEVEL}, got {self.level!r}")

    def __call__(self, images: Tensor, ids: Tensor, seed: int = 0) -> Tensor:
        steps = self.draw(ids, images.shape[-2:], seed)
        if self.convention == "tpu":
            return self._operate_tpu(images, steps, self.keys(ids, seed))
        for which, values in steps:
            images = operate(images, steps.operations, which, values, resampling="nearest")
        return images

    def draw(self, ids: Tensor, size: Sequence[int], seed: int = 0) -> Steps:
        """What images of these ids draw, if they have this height and width."""
        keys, operations = self.keys(ids, seed), OPERATIONS[self.convention]
        which = integers(keys, "operation", (self.count,), low=0, high=len(operations) - 1).long()
        return Steps(operations, which, draw_values(keys, [self.amount(name, *size) for name in operations], which))

    def _operate_tpu(self, images: Tensor, steps: Steps, keys: Tensor) -> Tensor:
        """Steps among which are the two that only this convention has, and that come last in its list."""
        common = (*steps.operations[: -len(EXTRAS)], "identity")
        patch, add = (steps.operations.index(name) for name in EXTRAS)
        half, summand = (int(self.amount(name, *images.shape[-2:]).start) for name in EXTRAS)
        grey = constant((GREY,), images.device, torch.uint8)
        for position, (which, values) in enumerate(steps):
            centres = draw_centres(keys, images.shape[-2:], f"patch {position}")
            painted, brighter = cutout(images, centres, 2 * half, grey), solarize_add(images, summand)
            common_which = which.clamp(max=len(common) - 1)
            images = operate(images, common, common_which, values, resampling="nearest", fill=GREY)
            images = torch.where(each(which == patch), painted, torch.where(each(which == add), brighter, images))
        return images

    def amount(self, operation: str, height: int, width: int) -> Amount:
        """What the level means for an operation on images of this size."""
        if self.convention == "tpu":
            return conventions.tpu(operation, self.level, height, width)
        return conventions.torchvision(operation, self.level / HIGHEST_LEVEL, height, width)


def solarize_add(images: Tensor, amount: int) -> Tensor:
    """Add to the dark half of all bytes, up to 255.

    >>> solarize_add(torch.tensor([0, 127, 128], dtype=torch.uint8), 150)
    tensor([150, 255, 128], dtype=torch.uint8)
    """
    brighter = (images.to(torch.int16) + amount).clamp_(max=255).to(torch.uint8)
    return torch.where(images < GREY, brighter, images)
