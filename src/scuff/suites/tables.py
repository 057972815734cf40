"""Suites as rows of text, for tables on a screen or on a page."""

from __future__ import annotations

from collections.abc import Iterable

from scuff.ranges import Range
from scuff.suites.suite import ABOUT_ENTRY, Suite


def parameter_table(suite: Suite, entries: Iterable[str]) -> tuple[list[str], dict[str, list[list[str]]]]:
    """The headings of a table, and for each entry its rows: a parameter and its values.

    A value per level has a column of its own; what holds at all levels, or has none, stands once before them.

    >>> from scuff.suites import load_suite
    >>> headings, rows = parameter_table(load_suite("imagenet-c"), ["frost"])
    >>> headings
    ['parameter', 'always', '1', '2', '3', '4', '5']
    >>> rows["frost"][2]
    ['scale', '1', '', '', '', '', '']
    """
    values = {e: {p: v for p, v in suite.entries[e].items() if p not in ABOUT_ENTRY} for e in entries}
    is_graded = [isinstance(v, list) for parameters in values.values() for v in parameters.values()]
    levels = [str(k + 1) for k in range(suite.severities or 0)] if any(is_graded) else []
    always = [] if all(is_graded) else ["always" if levels else "value"]

    def row(parameter: str, value: list | Range | float) -> list[str]:
        if isinstance(value, list):
            return [parameter, *("" for _ in always), *map(_text, value)]
        return [parameter, _text(value), *("" for _ in levels)]

    return ["parameter", *always, *levels], {e: [row(p, v) for p, v in values[e].items()] for e in values}


def severity_rule(suite: Suite, entry: str, is_sequence: bool = False) -> str:
    """What the severity of an entry is, in a few words. Whether it is a sequence, only the registry knows."""
    if suite.levels(entry) != (None,):
        levels = f"1 to {suite.severities}"
        return f"frames at difficulties {levels}" if is_sequence else f"levels {levels}"
    if suite.listed_levels(entry):
        return f"levels 1 to {suite.severities}, drawn per image or fixed"
    if is_sequence:
        return "frames, alike at all difficulties"
    return "none" if suite.severity_range(entry) is None else "a range, drawn per image or fixed"


def lengths_rule(suite: Suite, entry: str) -> str:
    """What becomes of lengths in pixels on images of other sizes, in a few words."""
    size = suite.size_of(entry)
    return (
        "Lengths, for images of any size"
        if size is None
        else (f"Lengths, for {size}-pixel images; they scale with the image")
    )


def count_entries(suite: Suite) -> str:
    """How many entries count for the score, and how many do not, as in 15 + 4."""
    return f"{len(suite.benchmark())} + {len(suite.validation)}" if suite.validation else str(len(suite.entries))


def _text(value: float | Range) -> str:
    return str(value) if isinstance(value, Range) else f"{value:g}"
