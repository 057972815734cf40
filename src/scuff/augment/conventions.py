"""What the levels of AutoAugment and RandAugment mean: the published programs differ, and each is here by its name.

The levels of a policy are whole numbers that every program translates in its own way. Two things differ most. The
original counts brightness and its kin from 0.1 to 1.9, where others go from 1 in a random direction. And the original
keeps 4 bits or fewer of an image that it posterises, others 4 or more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from scuff.kernels.constants import constant
from scuff.random import bernoulli

CIFAR_MEAN = (125, 123, 114)
IMAGENET_MEAN = (124, 116, 104)
ENHANCEMENTS = ("color", "contrast", "brightness", "sharpness")
GREY = 128


@dataclass(frozen=True)
class Amount:
    """The value of an operation: start + size, or in half of the cases start - size."""

    start: float = 0.0
    size: float = 0.0


Amounts = Callable[[str, float, int, int], Amount]  # operation, level, height, width of the images


def _amounts(
    *, shear: float, across: float, down: float, angle: float, enhance: Amount, bits: int, threshold: float
) -> dict[str, Amount]:
    return {
        "shear_x": Amount(0, shear),
        "shear_y": Amount(0, shear),
        "translate_x": Amount(0, across),
        "translate_y": Amount(0, down),
        "rotate": Amount(0, angle),
        **dict.fromkeys(ENHANCEMENTS, enhance),
        "posterize": Amount(bits),
        "solarize": Amount(threshold),
    }


def comparison(operation: str, level: float, height: int, width: int) -> Amount:
    """The comparison of Mintun et al. (2021): levels 0..10, nothing rounded but bits.

    >>> comparison("contrast", 6, 32, 32), comparison("posterize", 7, 32, 32).start
    (Amount(start=1, size=0.54), 6)
    """
    return _amounts(
        shear=0.03 * level,
        across=150 / 331 * width * level / 10,
        down=150 / 331 * height * level / 10,
        angle=3 * level,
        enhance=Amount(1, 0.09 * level),
        bits=int(4 + 0.4 * level),
        threshold=256 - 25.6 * level,
    ).get(operation, Amount())


def original(operation: str, level: float, height: int, width: int) -> Amount:
    """The CIFAR program of AutoAugment: levels 0..10; translations are for 32 pixels, and grow with larger images.

    >>> original("contrast", 6, 32, 32).size, original("posterize", 7, 32, 32).start
    (0.0, 2)
    """
    return _amounts(
        shear=0.03 * level,
        across=int(width * level / 32),
        down=int(height * level / 32),
        angle=int(3 * level),
        enhance=Amount(0.1 + 1.8 * level / 10),
        bits=4 - int(4 * level / 10),
        threshold=256 - int(256 * level / 10),
    ).get(operation, Amount())


def torchvision(operation: str, share: float, height: int, width: int) -> Amount:
    """torchvision, where a level is a share of the largest one: level / 9 of AutoAugment, level / 30 of RandAugment.

    >>> torchvision("posterize", 7 / 9, 32, 32).start
    5
    """
    return _amounts(
        shear=0.3 * share,
        across=int(150 / 331 * width * share),
        down=int(150 / 331 * height * share),
        angle=30 * share,
        enhance=Amount(1, 0.9 * share),
        bits=8 - round(4 * share),
        threshold=255 - 255 * share,
    ).get(operation, Amount())


def tpu(operation: str, level: float, height: int, width: int) -> Amount:
    """The TPU program of EfficientNet: levels 0..10 or more; pixels are for 224 and grow or shrink with the image.

    A higher level posterises and solarises less. Bits stay between 1 and 8. "cutout" is half of the patch's side.

    >>> tpu("solarize", 9, 224, 224).start, tpu("cutout", 9, 224, 224).start
    (230, 36)
    """
    amounts = _amounts(
        shear=0.03 * level,
        across=10 * level * width / 224,
        down=10 * level * height / 224,
        angle=3 * level,
        enhance=Amount(0.1 + 1.8 * level / 10),
        bits=min(max(int(4 * level / 10), 1), 8),
        threshold=min(int(256 * level / 10), 256),
    )
    half = Amount(int(4 * level * min(height, width) / 224))
    return {**amounts, "cutout": half, "solarize_add": Amount(min(int(11 * level), 255))}.get(operation, Amount())


# --- what images draw -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Steps:
    """What N images drew: places in `operations` and the values of these, (N, steps) each."""

    operations: tuple[str, ...]
    which: Tensor
    values: Tensor

    def __iter__(self):
        """The operations and values of all images, step by step: (N,) each."""
        return iter(zip(self.which.unbind(1), self.values.unbind(1), strict=True))


def draw_values(keys: Tensor, amounts: Sequence[Amount], which: Tensor) -> Tensor:
    """The values of operations that are given by their places in `amounts`: float64, (N, steps) like `which`.

    All that is random about them is the sign.
    """

    def of(name: str) -> Tensor:
        return constant(tuple(getattr(amount, name) for amount in amounts), keys.device, torch.float64)[which]

    minus = bernoulli(keys, "sign", which.shape[1:], probability=0.5)
    size = of("size")
    return of("start") + torch.where(minus, -size, size)
