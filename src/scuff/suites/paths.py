"""Severities between the levels: what an entry does there.

A path leads from the image itself, at severity 0, through the levels of an entry. Between two of them every parameter
moves along a coordinate of its own, in which its way is straight: a deviation as it is, a gain by its logarithm. What
cannot move, such as a number of taps, takes both neighbouring values, and their results are averaged. A parameter with
a `zero` takes this value where the image is left alone. Where a corruption has none, as snow, the image and level 1 are
averaged below level 1, with the draws of level 1.

A corruption that is not in the table has parameters that move as they are; so a suite of your own has paths too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from scuff.ranges import is_number
from scuff.suites.suite import Suite, SuiteError

Parameters = Mapping[str, Any]
Term = tuple[float, Parameters | None]  # a weight and what to apply; None is the image itself
NAMES = ("levels", "monotone")

FAINTEST = 100_000.0  # photons: more of them make less noise than one level of a byte


def stretch(suite: Suite, entry: str, severity: float | None, path: str = "levels") -> tuple[int, int, float]:
    """The two levels between which a severity lies, and its share of the way from the first; 0 is the image itself.

    The path "levels" leads through all of them, "monotone" only through those that move away from the image.

    >>> from scuff.suites import load_suite
    >>> stretch(load_suite("imagenet-c"), "snow", 2.5), stretch(load_suite("imagenet-c"), "snow", 2.5, "monotone")
    ((2, 3, 0.5), (2, 4, 0.25))
    >>> stretch(load_suite("imagenet-c"), "snow", 3)
    (2, 3, 1.0)
    """
    if path not in NAMES:
        raise SuiteError(f"path must be {' or '.join(NAMES)}, got {path!r}")
    stops = suite.listed_levels(entry)
    if severity is None or not is_number(severity) or not 0 <= severity <= len(stops):
        given = "" if severity is None else f", got {severity!r}"
        raise SuiteError(f"{suite.name}/{entry} needs a severity from 0 to {len(stops)}{given}")
    if path == "monotone":
        stops = tuple(suite.monotone.get(entry, stops))
    if not stops:
        raise SuiteError(f"{suite.name}/{entry} has no monotone path: none of its levels lead away from the image")
    upper = next(level for level in stops if level >= severity)
    lower = max((level for level in stops if level < severity), default=0)
    return lower, upper, (severity - lower) / (upper - lower)


@dataclass(frozen=True)
class Coordinate:
    """Where a parameter's way is straight: there and back, for images whose shorter side is known.

    If `averaged`, only whole values and the two ends can be applied: what lies between is an average of its neighbours.
    """

    there: Callable[[Any, int], float] = lambda value, side: value
    back: Callable[[Any, int], Any] = lambda value, side: value
    averaged: bool = False


def _sides(n: float, side: int) -> float:
    """A share of the image's side, of which whole pixels are made. Box windows tie at some, where the result jumps."""
    pixels = max(1, round(n))
    pixels += (pixels // math.gcd(side, pixels)) % 2 == 0
    return (min(pixels, side) + 1e-6) / side


LINEAR, WHOLE = Coordinate(), Coordinate(averaged=True)
LOG = Coordinate(lambda value, _: math.log(value), lambda at, _: math.exp(at))
DEVIATION = Coordinate(lambda photons, _: photons**-0.5, lambda at, _: min(at**-2.0, FAINTEST) if at else FAINTEST)
SIDES = Coordinate(lambda fraction, side: max(1, int(fraction * side)), _sides)
TABLES = Coordinate(  # the scale of JPEG's quantisation tables, in per cent
    lambda quality, _: 5000 // quality if quality < 50 else 200 - 2 * quality,
    lambda scale, _: 5000.0 / scale if scale > 100 else 100.0 - 0.5 * scale,
)
LINES = Coordinate(lambda amount, side: int(0.1 * amount * side), lambda n, side: (n + 0.5) / (0.1 * side), True)


@dataclass(frozen=True)
class Move:
    """How a parameter moves between two levels, and its value where the image is left alone.

    At an end of 0, what moves by its logarithm moves as it is, or with `held` stays at the other end. Where nothing can
    lie between two values, `breaks` says so, and the levels are averaged.
    """

    by: Coordinate = LINEAR
    zero: float | None = None
    held: bool = False
    breaks: Callable[[float, float], bool] = lambda start, end: False

    def between(self, start: float, end: float, share: float, side: int) -> list[tuple[float, Any]]:
        """What to take at `share` of the way, with weights that sum to 1."""
        if self.by is LOG and min(start, end) <= 0:
            return [(1.0, max(start, end) if self.held else start + share * (end - start))]
        first, last = self.by.there(start, side), self.by.there(end, side)
        at = first + share * (last - first)
        if not self.by.averaged:
            return [(1.0, self.by.back(at, side))]
        low, high = max(math.floor(at), min(first, last)), min(math.floor(at) + 1, max(first, last))
        part = (at - low) / (high - low) if high > low else 0.0
        ends = {first: start, last: end}  # as they are listed
        nodes = [(1.0 - part, low), (part, high)]
        return [(weight, ends.get(node, self.by.back(node, side))) for weight, node in nodes if weight > 0]


AMOUNT = {"amount": Move(zero=0.0)}
REAL, AVERAGED = Move(), Move(breaks=lambda start, end: True)
PATHS: dict[str, dict[str, Move]] = {
    "gaussian_noise": {"std": Move(zero=0.0)},
    "speckle_noise": {"std": Move(zero=0.0)},
    "shot_noise": {"photons": Move(DEVIATION, zero=math.inf)},
    "impulse_noise": AMOUNT,
    "gaussian_blur": {"sigma": Move(zero=0.0)},
    "defocus_blur": {"radius": Move(WHOLE, zero=0.0, breaks=lambda start, end: 0 < min(start, end) < 1)},
    "glass_blur": {"sigma": Move(zero=0.0), "reach": Move(LINEAR, zero=1.0), "passes": Move(LINEAR, zero=0.0)},
    "motion_blur": {"sigma": Move(zero=0.0)},
    "zoom_blur": {"steps": AVERAGED, "step": AVERAGED},
    "frost": {"keep": Move(zero=1.0), "ice": Move(zero=0.0)},
    "fog": {"strength": Move(zero=0.0)},
    "brightness": {"shift": Move(zero=0.0)},
    "contrast": {"gain": Move(LOG, zero=1.0)},
    "saturate": {"gain": Move(LOG, zero=1.0), "shift": Move(zero=0.0)},
    "elastic_transform": {"alpha": Move(LOG, zero=0.0), "sigma": Move(LOG, held=True), "jitter": Move(zero=0.0)},
    "pixelate": {"fraction": Move(SIDES, zero=1.0)},
    "jpeg_compression": {"quality": Move(TABLES, zero=100)},
    "spatter": {"water": Move(breaks=lambda start, end: (start == 0) != (end == 0))},  # else it is mud
    "lines": {"amount": Move(LINES, zero=0.0)},
    **dict.fromkeys(
        (
            "bleach_bypass", "blue_noise", "brownish_noise", "caustic_noise", "caustic_refraction",
            "checkerboard_cutout", "circular_motion_blur", "cocentric_sine_waves", "color_balance", "fish_eye",
            "hue_shift", "perlin_noise", "perspective_no_bars", "plasma_noise", "pseudocolor",
            "quadrilateral_no_bars", "ripple", "scatter", "single_frequency_greyscale", "technicolor",
            "voronoi_noise", "water_drop",
        ),
        AMOUNT,
    ),
}  # fmt: skip


def between(corruption: str, lower: Parameters | None, upper: Parameters, share: float, side: int) -> list[Term]:
    """What a corruption does at `share` of the way from `lower` to `upper`, as weighted parameters; side in pixels.

    None is the image itself. Averages are taken of pixels, of the same draws.

    >>> between("fog", {"strength": 2.0, "decay": 2.0}, {"strength": 2.5, "decay": 1.5}, 0.5, 224)
    [(1.0, {'strength': 2.25, 'decay': 1.75})]
    >>> between("motion_blur", {"radius": 10, "sigma": 3.0}, {"radius": 15, "sigma": 5.0}, 0.5, 224)
    [(0.5, {'radius': 12, 'sigma': 4.0}), (0.5, {'radius': 13, 'sigma': 4.0})]
    """
    if share in (0.0, 1.0):
        return [(1.0, upper if share else lower)]
    moves, zeros = PATHS.get(corruption, {}), dict[str, float]()
    if lower is None:
        zeros = {p: move.zero for p, move in moves.items() if move.zero is not None}
        if not zeros:
            return [(1.0 - share, None), (share, upper)]
        lower = {**upper, **zeros}
    ways = {}
    for parameter, end in upper.items():
        start = lower[parameter]
        whole = isinstance(start, int) and isinstance(end, int)
        move = moves.get(parameter, Move(WHOLE) if whole else REAL)
        if start != end and move.breaks(start, end):
            return [(1.0 - share, lower), (share, upper)]
        ways[parameter] = [(1.0, end)] if start == end else move.between(start, end, share, side)
    terms: list[Term] = []
    for chosen in product(*ways.values()):
        values = dict(zip(ways, (value for _, value in chosen), strict=True))
        alone = any(len(ways[p]) > 1 and values[p] == zero for p, zero in zeros.items())  # averaged with the image
        terms.append((math.prod(weight for weight, _ in chosen), None if alone else values))
    return terms
