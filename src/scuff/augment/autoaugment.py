"""AutoAugment: one of 25 pairs of operations, which a search has found (Cubuk et al. 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import torch
from torch import Tensor

from scuff.augment import conventions
from scuff.augment.conventions import CIFAR_MEAN, GREY, IMAGENET_MEAN, Amount, Amounts, Steps, draw_values
from scuff.augment.operations import operate
from scuff.augment.policies import POLICIES
from scuff.augment.scheme import Scheme, cutout, draw_centres
from scuff.kernels.constants import constant
from scuff.random import integers, uniform

MEANS = {"cifar10": CIFAR_MEAN, "imagenet": IMAGENET_MEAN}
CONVENTIONS: dict[str, Amounts] = {
    "comparison": conventions.comparison,
    "original": conventions.original,
    "torchvision": lambda operation, level, height, width: conventions.torchvision(operation, level / 9, height, width),
}


@dataclass(frozen=True)
class AutoAugment(Scheme):
    """Each image draws one of the 25 pairs of a policy, and carries out each of its two operations or leaves it.

    Parameters
    ----------
    policy
        "cifar10" or "imagenet".
    convention
        What levels mean: "comparison" (bilinear), "original" or "torchvision" (both nearest). See `conventions`.
    cutout
        The side of a square, painted over in the end at a random place: 16 in the original's training on CIFAR-10, 0
        for none. It is grey, or the mean colour of the data by the original convention, which fills borders with it.
    slips
        Repeat two slips of the comparison's code: a translation of the CIFAR policy that never goes the other way, and
        a shear of the ImageNet policy by 1 +- 0.45.
    """

    policy: str = "cifar10"
    convention: str = "comparison"
    cutout: int = 0
    slips: bool = False

    kind: ClassVar[str] = "autoaugment"

    def __post_init__(self) -> None:
        for what, given, known in (("policy", self.policy, POLICIES), ("convention", self.convention, CONVENTIONS)):
            if given not in known:
                raise ValueError(f"AutoAugment has no {what} {given!r}; there are {', '.join(known)}")
        if not isinstance(self.cutout, int) or self.cutout < 0:
            raise ValueError(f"cutout is the side of a square in pixels, or 0 for none; got {self.cutout!r}")
        if self.slips and self.convention != "comparison":
            raise ValueError(f"the slips are those of the convention 'comparison', got {self.convention!r}")

    def __call__(self, images: Tensor, ids: Tensor, seed: int = 0) -> Tensor:
        channels, height, width = images.shape[1:]
        size = (height, width)
        steps = self.draw(ids, size, seed)
        mean = MEANS[self.policy] if channels == 3 else (round(sum(MEANS[self.policy]) / 3),)
        original = self.convention == "original"
        how: dict[str, Any] = {
            "resampling": "bilinear" if self.convention == "comparison" else "nearest",
            "fill": mean if original else 0,
        }
        for which, values in steps:
            images = operate(images, steps.operations, which, values, **how)
        if self.cutout:
            colour = constant(mean if original else (GREY,), images.device, torch.uint8)[:, None, None]
            images = cutout(images, draw_centres(self.keys(ids, seed), size), self.cutout, colour)
        return images

    def draw(self, ids: Tensor, size: tuple[int, int], seed: int = 0) -> Steps:
        """What images of these ids draw, if they have this height and width."""
        keys = self.keys(ids, seed)
        rows = [step for pair in POLICIES[self.policy] for step in pair]
        operations = (*sorted({step.operation for step in rows}), "identity")
        pair = integers(keys, "pair", (1,), low=0, high=len(rows) // 2 - 1).long()
        row = 2 * pair + constant((0, 1), keys.device, torch.int64)
        values = draw_values(keys, _amounts(self.policy, self.convention, self.slips, *size), row)
        happens = uniform(keys, "apply", (2,)) <= constant(tuple(step.probability for step in rows), keys.device)[row]
        number = tuple(operations.index(step.operation) for step in rows)
        which = constant(number, keys.device, torch.int64)[row].masked_fill(~happens, operations.index("identity"))
        return Steps(operations, which, values)


@lru_cache(maxsize=64)
def _amounts(policy: str, convention: str, slips: bool, height: int, width: int) -> tuple[Amount, ...]:
    """The values of all 50 operations, pair after pair."""
    of = CONVENTIONS[convention]
    amounts = [of(step.operation, step.level or 0, height, width) for pair in POLICIES[policy] for step in pair]
    if slips and policy == "cifar10":
        amounts[2 * 21] = Amount(amounts[2 * 21].size)
    if slips and policy == "imagenet":
        amounts[2 * 18] = of("contrast", 5, height, width)
    return tuple(amounts)
