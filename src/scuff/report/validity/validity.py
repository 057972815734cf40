"""The page about validity: which sections it has, and the folder that it is read from."""

from __future__ import annotations

from scuff.report.page import Page
from scuff.report.validity import sections
from scuff.report.validity.scores import ALL, ValidityScores, scores_of
from scuff.report.validity.settings import validity_again, validity_settings
from scuff.report.validity.verdicts import validity_verdicts
from scuff.words import count, listed

MOST_NAMED = 3  # natural benchmarks in a title


def page(directory: str) -> Page:
    """The page about the study of validity in a folder."""
    from scuff.studies import read_validity

    return validity_page(scores_of(read_validity(directory)), directory)


def validity_page(scores: ValidityScores, directory: str | None = None) -> Page:
    """The page about a study; tables that are None, or have no rows, have no section."""
    return Page(
        f"Does {_subject(scores)} predict robustness to {_natural(scores)}?",
        _lead(scores),
        validity_verdicts(scores),
        [
            sections.correlation_section(scores),
            sections.scatter_section(scores),
            sections.corruption_section(scores),
            sections.category_section(scores),
            sections.group_section(scores),
            sections.trend_section(scores),
            sections.search_section(scores),
            validity_settings(scores, None if directory is None else validity_again(scores.settings, directory)),
        ],
        [scores.name(name) for _, name in scores.drawn],
        "Benchmark",
    )


def _subject(scores: ValidityScores) -> str:
    """The first suite by its name, if it has one."""
    name = scores.suites[0][1] if scores.suites else ALL
    return "a synthetic benchmark" if name == ALL else name


def _natural(scores: ValidityScores) -> str:
    return listed(scores.natural) if len(scores.natural) <= MOST_NAMED else "natural shifts"


def _lead(scores: ValidityScores) -> str:
    shifts = scores.shifts
    left = f" ({count(len(shifts.left_out), 'other')} left out)" if shifts.left_out else ""
    families = "" if shifts.families is None else f" of {count(shifts.families.nunique(), 'family', 'families')}"
    numbers = {"corruption": shifts.corrupted.shape[1], "other score": shifts.scores.shape[1]}
    synthetic = listed([count(number, noun) for noun, number in numbers.items() if number])
    return f"{count(len(shifts.models), 'model')}{families}{left}, {synthetic}, against {listed(scores.natural)}."
