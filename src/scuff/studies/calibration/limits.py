"""How far a severity can go: values of a parameter beyond which it makes no sense, or nothing changes any more."""

from __future__ import annotations

import math

from scuff.corruptions import Corruption
from scuff.ranges import Range

SIDE = math.inf  # stands for the shorter side of the image, in pixels

# Of the one parameter that a corruption may draw from a range: the smallest and the largest value, by corruption.
LIMITS = {
    # shares, probabilities, and shifts of values between 0 and 1
    **dict.fromkeys(
        ("mixed_box_blur", "fade_to_mean", "gray_scale", "salt_pepper", "random_fog", "random_snow"), (0, 1)
    ),
    **dict.fromkeys(("level_shift", "backlight", "color_distortion"), (0, 1)),
    "hue": (0, 0.5),  # of a turn
    "perspective": (0, 0.5),
    "affines": (0.05, 1),  # shrunk to a twentieth .. not at all
    # noise: a deviation of twice the range of values leaves next to nothing
    **dict.fromkeys(("half_normal_noise", "uniform_noise"), (0, 2)),
    "gauss_noise": (0, 255**2),
    # how many: enough to cover a picture several times over
    **dict.fromkeys(("artifacts", "vertical_artifacts", "rhombus", "arlequin", "circle", "rain"), (1, 2000)),
    "coarse_dropout": (1, 2000),
    **dict.fromkeys(("random_shadow", "random_sun_flare"), (1, 100)),
    # how fine, how coarse, how dark
    "quantization": (1, 255),
    "swapped_jpeg": (1, 100),
    "thumbnail_resize": (1, SIDE),
    "block_mean": (2, SIDE),
    "random_gamma": (100, 2500),  # hundredths; 100 changes nothing
    # degrees
    "shear": (1, 89),
    "rotation": (1, 180),
}
PARTS_OF_SIDE = {"grey_border": 0.5}  # a length is shorter than the side; this one than half of it
FARTHEST = 16  # times the range that is there: how far to look if nothing is known

# Their range is no severity, but the law by which every pixel draws its own value.
NO_SEVERITY = ("multiplicative_noise",)


def severity_limits(corruption: Corruption, parameter: str, start: Range, side: int) -> tuple[float, float]:
    """The smallest and the largest sensible value of a parameter, for images whose shorter side is `side` pixels.

    >>> from scuff.corruptions import get
    >>> severity_limits(get("grey_border"), "thickness", Range(1, 6), side=28)
    (1, 13)
    >>> severity_limits(get("hue"), "turn", Range(0.05, 0.5), side=28)
    (0.0, 0.5)
    """
    low, high = LIMITS.get(corruption.name, (int(start.is_whole), FARTHEST * start.high))
    if parameter in corruption.lengths:
        high = math.ceil(PARTS_OF_SIDE.get(corruption.name, 1.0) * side) - 1
    high = max(side if high == SIDE else high, low + 1 if start.is_whole else start.high)
    return (int(low), int(high)) if start.is_whole else (float(low), float(high))
