"""The entries of a suite that have a severity to calibrate, and the suite that comes out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from scuff.corruptions import get
from scuff.ranges import Range
from scuff.studies.calibration.limits import NO_SEVERITY
from scuff.suites import Suite

Row = dict[str, Any]  # of the table: the result for one entry


def choose_entries(suite: Suite, only: Sequence[str] | None) -> list[str]:
    """The entries to calibrate. Those without a single range of severities are refused."""
    chosen = list(suite.choose(only))
    bad = [entry for entry in chosen if not _has_severity(suite, entry)]
    if bad:
        good = [entry for entry in suite.entries if _has_severity(suite, entry)]
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

    def resize(entry: str) -> dict[str, Any]:
        corruption = get(suite.corruption(entry))
        return {**suite.entries[entry], **corruption.scaled(suite.parameters(entry), side / suite.size)}

    return _with_entries(
        replace(suite, name=name, version=1, size=side, severities=None), {entry: resize(entry) for entry in entries}
    )


def with_ranges(suite: Suite, rows: Mapping[str, Row], about: str) -> Suite:
    """The suite with the ranges that were found, without the entries for which there is none."""
    entries = {
        entry: {**suite.entries[entry], row["parameter"]: Range(row["low"], row["high"])}
        for entry, row in rows.items()
        if row["low"] is not None
    }
    if not entries:
        notes = ". ".join(f"{entry}: {row['note']}" for entry, row in rows.items())
        raise ValueError(f"no entry could be calibrated, so there is no suite to make. {notes}")
    return replace(_with_entries(suite, entries), about=about)


def _with_entries(suite: Suite, entries: dict[str, Any]) -> Suite:
    """A suite with other entries, and without whatever else it says of those that are gone."""
    groups = {category: [e for e in group if e in entries] for category, group in suite.categories.items()}
    return replace(
        suite,
        entries=entries,
        validation=tuple(e for e in suite.validation if e in entries),
        aliases={alias: e for alias, e in suite.aliases.items() if e in entries},
        categories={category: group for category, group in groups.items() if group},
    )
