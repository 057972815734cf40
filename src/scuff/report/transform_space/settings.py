"""How the numbers of these reports came about: the last section of each, and what it says of distances."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scuff.report import parts
from scuff.report.parts import Facts, Section
from scuff.report.settings import Again, all_facts

MOST_LISTED = 12  # names in a fact; of more, how many there are
OTHERWISE_SAID = ("levels", "result")  # what other sections show

MSD = (
    "Minimal sample distance of a scheme to a corruption: how near the nearest of many drawn augmentations comes to "
    "the corruption's centre, in the features of a network that was trained with neither."
)
MMD = "Maximum mean discrepancy: the distance of the mean of all drawn augmentations to the corruption's centre."
FEATURE = (
    "Of a transform: the mean over a fixed set of images of what the last hidden layer of the extractor makes of the "
    "transformed image. The centre of a corruption is the mean over many draws of it. Distances are Euclidean."
)


def settings_section(settings: Mapping[str, Any], again: Again | None, definitions: Facts) -> Section:
    """What was set, what makes the same again, and how to read the numbers."""
    same = []
    if again is not None:
        same = [parts.heading("The same again"), parts.command(again.words), *map(parts.note, again.notes)]
    return parts.section(
        "settings",
        "Settings and environment",
        parts.facts(all_facts(shortened(settings))) if settings else None,
        *same,
        parts.heading("How to read this"),
        parts.facts(definitions),
    )


def shortened(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of which schemes have names only, and long lists their length.

    >>> shortened({"seed": 0, "schemes": {"none": {"scheme": "none"}}, "sizes": list(range(40))})
    {'seed': 0, 'schemes': ['none'], 'sizes': '40 of them'}
    """
    names = {"schemes": list(settings["schemes"])} if "schemes" in settings else {}
    kept = {key: value for key, value in {**settings, **names}.items() if key not in OTHERWISE_SAID}
    return {
        key: f"{len(value)} of them" if isinstance(value, list) and len(value) > MOST_LISTED else value
        for key, value in kept.items()
    }
