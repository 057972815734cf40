"""The report of validity: which sections it has, and the folder that it is read from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from scuff.metrics.validity.shifts import Shifts
from scuff.report.page import Page
from scuff.report.validity import groups as about_groups
from scuff.report.validity import sections as about
from scuff.report.validity.command import validity_again
from scuff.report.validity.scores import ALL, ValidityScores, measure_validity, suite_name
from scuff.report.validity.settings import settings_section
from scuff.report.validity.verdicts import validity_verdicts
from scuff.report.words import count, listed

MOST_NAMED = 3  # natural benchmarks in a title


def page(directory: str) -> Page:
    """The page about the study of validity in a folder."""
    from scuff.studies import read_validity

    found = read_validity(directory)
    tables = found.correlations, found.contributions, found.groups, found.trends, found.searches
    return validity_page(found.shifts, *tables, found.settings, directory=directory)


def validity_page(
    shifts: Shifts,
    correlations: pd.DataFrame,
    contributions: pd.DataFrame | None = None,
    groups: pd.DataFrame | None = None,
    trends: pd.DataFrame | None = None,
    searches: pd.DataFrame | None = None,
    settings: Mapping[str, Any] | None = None,
    *,
    directory: str | None = None,
) -> Page:
    """The page, from the tables of `studies.validity`.

    `correlations` is what `metrics.validity` makes, with a column `what` in front: suite, category, corruption or
    score. `contributions` is that of `metrics.contributions`. What is None, or has no lines, has no section.
    `directory` is the folder that all of it is in.
    """
    settings = settings or {}
    scores = measure_validity(shifts, correlations, contributions, groups, trends, searches, settings)
    again = None if directory is None or "source" not in settings else validity_again(settings, directory)
    sections = [
        about.correlation_section(scores),
        about.scatter_section(scores),
        about.corruption_section(scores),
        about.category_section(scores, settings),
        about_groups.group_section(scores),
        about_groups.trend_section(scores),
        about.search_section(scores),
        settings_section(scores, settings, again),
    ]
    return Page(
        f"Does {_subject(scores)} predict robustness to {_natural(scores)}?",
        _lead(scores),
        validity_verdicts(scores),
        sections,
        [suite_name(name) for _, name in scores.drawn],
        "Benchmark",
    )


def _subject(scores: ValidityScores) -> str:
    """The first suite by its name, if it has one."""
    name = scores.suites[0][1] if scores.suites else ALL
    return "a synthetic benchmark" if name == ALL else name


def _natural(scores: ValidityScores) -> str:
    names = scores.natural
    return listed(names) if len(names) <= MOST_NAMED else "natural shifts"


def _lead(scores: ValidityScores) -> str:
    shifts = scores.shifts
    left = f" ({count(len(shifts.left_out), 'other')} left out)" if shifts.left_out else ""
    families = "" if shifts.families is None else f" of {count(shifts.families.nunique(), 'family', 'families')}"
    synthetic = [count(shifts.corrupted.shape[1], "corruption"), count(shifts.scores.shape[1], "other score")]
    some = listed([words for words in synthetic if not words.startswith("0 ")])
    return f"{count(len(shifts.models), 'model')}{families}{left}, {some}, against {listed(scores.natural)}."
