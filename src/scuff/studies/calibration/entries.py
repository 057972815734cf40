"""The entries of a suite that have a severity to calibrate, how far it can go, and the suite that comes out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from scuff.corruptions import Corruption, get
from scuff.ranges import Range
from scuff.suites import Suite

Row = dict[str, Any]  # of the table: the result for one entry
SIDE = math.inf  # stands for the shorter side of the image, in pixels

# Of the one parameter that a corruption may draw from a range: the smallest and the largest value, by corruption.
LIMITS = {
    # shares, probabilities, and shifts of values between 0 and 1
    **dict.fromkeys(("mixed_box_blur", "fade_to_mean", "gray_scale", "salt_pepper", "random_fog"), (0, 1)),
    **dict.fromkeys(("random_snow", "level_shift", "backlight", "color_distortion"), (0, 1)),
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


def choose_entries(suite: Suite, only: Sequence[str] | None) -> list[str]:
    """The entries to calibrate. Those without a single range of severities are refused."""
    chosen = list(suite.choose(only))
    good = [entry for entry in suite.entries if _has_severity(suite, entry)]
    bad = [entry for entry in chosen if entry not in good]
    if bad:
        hint = f"choose from {', '.join(good)}" if good else "no entry of this suite has one"
        raise ValueError(
            "an entry that is to be calibrated needs exactly one range, of values that are worse at one end than at "
            f"the other, as in count: {{from: 12, to: 120}}; {suite.name} has none for {', '.join(bad)}; {hint}"
        )
    return chosen


def _has_severity(suite: Suite, entry: str) -> bool:
    """Whether an entry has one range of severities; a range of both signs is mildest in its middle."""
    between = suite.severity_range(entry)
    return between is not None and between.low >= 0 and suite.corruption(entry) not in NO_SEVERITY


def resized(suite: Suite, entries: Sequence[str], name: str, side: int) -> Suite:
    """These entries of a suite, with lengths for images of another size, as a suite of another name."""

    scaled = {}
    for entry in entries:
        corruption = get(suite.corruption(entry))
        scaled[entry] = {**suite.entries[entry], **corruption.scaled(suite.parameters(entry), side / suite.size)}
    return _with_entries(replace(suite, name=name, version=1, size=side, severities=None), scaled)


def with_ranges(suite: Suite, rows: Mapping[str, Row]) -> Suite:
    """The suite with the ranges that were found, without the entries for which there is none."""
    entries = {
        entry: {**suite.entries[entry], row["parameter"]: Range(row["low"], row["high"])}
        for entry, row in rows.items()
        if row["low"] is not None
    }
    if not entries:
        notes = ". ".join(f"{entry}: {row['note']}" for entry, row in rows.items())
        raise ValueError(f"no entry could be calibrated, so there is no suite to make. {notes}")
    return _with_entries(suite, entries)


def _with_entries(suite: Suite, entries: dict[str, Any]) -> Suite:
    """A suite with other entries, and without whatever else it says of those that are gone."""
    groups = {category: [e for e in group if e in entries] for category, group in suite.categories.items()}
    return replace(
        suite,
        entries=entries,
        validation=tuple(e for e in suite.validation if e in entries),
        aliases={alias: e for alias, e in suite.aliases.items() if e in entries},
        monotone={},
        categories={category: group for category, group in groups.items() if group},
    )


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
