"""The published policies of AutoAugment: 25 pairs of operations, each with its probability and its level.

An operation without a level has "-". The policy for ImageNet repeats five of its pairs, as it was published. The policy
that comes with EfficientNet is a later one, and is not here.
"""

from __future__ import annotations

from dataclasses import dataclass

CIFAR10 = """
invert 0.1 -        contrast 0.2 6
rotate 0.7 2        translate_x 0.3 9
sharpness 0.8 1     sharpness 0.9 3
shear_y 0.5 8       translate_y 0.7 9
autocontrast 0.5 -  equalize 0.9 -
shear_y 0.2 7       posterize 0.3 7
color 0.4 3         brightness 0.6 7
sharpness 0.3 9     brightness 0.7 9
equalize 0.6 -      equalize 0.5 -
contrast 0.6 7      sharpness 0.6 5
color 0.7 7         translate_x 0.5 8
equalize 0.3 -      autocontrast 0.4 -
translate_y 0.4 3   sharpness 0.2 6
brightness 0.9 6    color 0.2 8
solarize 0.5 2      invert 0.0 -
equalize 0.2 -      autocontrast 0.6 -
equalize 0.2 -      equalize 0.6 -
color 0.9 9         equalize 0.6 -
autocontrast 0.8 -  solarize 0.2 8
brightness 0.1 3    color 0.7 0
solarize 0.4 5      autocontrast 0.9 -
translate_y 0.9 9   translate_y 0.7 9
autocontrast 0.9 -  solarize 0.8 3
equalize 0.8 -      invert 0.1 -
translate_y 0.7 9   autocontrast 0.9 -
"""

IMAGENET = """
posterize 0.4 8     rotate 0.6 9
solarize 0.6 5      autocontrast 0.6 -
equalize 0.8 -      equalize 0.6 -
posterize 0.6 7     posterize 0.6 6
equalize 0.4 -      solarize 0.2 4
equalize 0.4 -      rotate 0.8 8
solarize 0.6 3      equalize 0.6 -
posterize 0.8 5     equalize 1.0 -
rotate 0.2 3        solarize 0.6 8
equalize 0.6 -      posterize 0.4 6
rotate 0.8 8        color 0.4 0
rotate 0.4 9        equalize 0.6 -
equalize 0.0 -      equalize 0.8 -
invert 0.6 -        equalize 1.0 -
color 0.6 4         contrast 1.0 8
rotate 0.8 8        color 1.0 2
color 0.8 8         solarize 0.8 7
sharpness 0.4 7     invert 0.6 -
shear_x 0.6 5       equalize 1.0 -
color 0.4 0         equalize 0.6 -
equalize 0.4 -      solarize 0.2 4
solarize 0.6 5      autocontrast 0.6 -
invert 0.6 -        equalize 1.0 -
color 0.6 4         contrast 1.0 8
equalize 0.8 -      equalize 0.6 -
"""


@dataclass(frozen=True)
class Step:
    """One operation of a pair."""

    operation: str
    probability: float
    level: int | None


Policy = tuple[tuple[Step, Step], ...]


def _parse(table: str) -> Policy:
    def step(operation: str, probability: str, level: str) -> Step:
        return Step(operation, float(probability), None if level == "-" else int(level))

    rows = [line.split() for line in table.strip().splitlines()]
    return tuple((step(*row[:3]), step(*row[3:])) for row in rows)


POLICIES: dict[str, Policy] = {"cifar10": _parse(CIFAR10), "imagenet": _parse(IMAGENET)}
