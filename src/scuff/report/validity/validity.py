"""The page about validity: which sections it has, how its numbers came about, and the folder that it is read from."""

from __future__ import annotations

import os
from collections.abc import Mapping
from operator import itemgetter
from typing import Any

from scuff.options import OBJECT
from scuff.report import parts
from scuff.report.page import Page
from scuff.report.parts import Facts, Section
from scuff.report.settings import all_facts, meanings, settings_section
from scuff.report.validity import sections, tables
from scuff.report.validity.scores import ALL, ValidityScores
from scuff.report.validity.tables import some_of
from scuff.report.validity.verdicts import STRONG, WEAK, validity_verdicts
from scuff.studies.base import Again, again
from scuff.studies.validity.study import ValidityStudy
from scuff.tables import Column, Table
from scuff.words import count, grouped, listed

MOST_STANDARD = 10  # models that are named
TABLE, CATEGORIES = "shifts.csv", "categories.yaml"  # the copy of the table that a study keeps; a file to be written
GIVEN_TABLE = "The table was given in Python; this is the copy that the folder keeps."
GIVEN_CATEGORIES = "Categories were given in Python: put them into this file, category: [corruptions]."
SHOWN_ELSEWHERE = ("left_out", "suites", "categories", "notes", "models", "same", "different", "groups", "options")
NAMES = {"table": "fingerprint of the table", "count": "benchmarks of a group, about", "search": "sizes of searches"}


def definitions(scores: ValidityScores) -> dict[str, str]:
    """What the numbers on the page mean."""
    optional = {"contributions": scores.contributions, "groups": scores.groups, "searches": scores.searches}
    units = "models" if scores.shifts.families is None else "whole families of models"
    known = [name for name, table in optional.items() if table is not None]
    return meanings("validity", *known, units=units, weak=WEAK, strong=STRONG)


def validity_again(settings: Mapping[str, Any], out: str | None) -> Again | None:
    """The command with all non-default options; what was given in Python is replaced by files."""
    if out is None or "options" not in settings:
        return None
    options, notes = dict(settings["options"]), []
    if isinstance(options["source"], dict) or isinstance(options.get("mapping"), dict):
        options = {key: v for key, v in options.items() if key not in ("mapping", "natural", "severities")}
        options["source"] = os.path.join(out, TABLE)
        notes.append(GIVEN_TABLE)
    if isinstance(options.get("categories"), dict):
        options["categories"] = CATEGORIES
        notes.append(GIVEN_CATEGORIES)
    command = again(ValidityStudy, options, out)
    return Again(command.words, (*notes, *command.notes))


def validity_settings(scores: ValidityScores, same: Again | None) -> Section:
    """How the numbers came about: models, settings, the command, and what each number means."""
    left_out, models = [], scores.shifts.left_out
    if models:
        columns = [Column("model", itemgetter(0)), Column("why", itemgetter(1))]
        table = Table.of("Models that are left out", models.items(), columns)
        left_out = [
            parts.table(tables.reason_table(scores)),
            parts.folded(table, f"All {len(models)} that are left out"),
        ]
    notes = [f"{note}.".replace("..", ".") for note in scores.settings.get("notes", ())]
    return settings_section(_facts(scores), same, definitions(scores), *left_out, notes=notes)


def _facts(scores: ValidityScores) -> Facts:
    """Models, benchmarks and settings."""
    shifts, options = scores.shifts, scores.settings.get("options", {})
    models = grouped(len(shifts.models)) + (f"; {len(shifts.left_out)} left out" if shifts.left_out else "")
    facts = [("Models", models)]
    if shifts.families is not None:
        facts.append(("Families", f"{shifts.families.nunique()}, resampled and held out as a whole"))
    facts.append(("Standard models", _standard_words(shifts.standard)))
    facts.append(("Natural benchmarks", listed(scores.natural)))
    suites = [(suite, listed(list(map(scores.name, names)))) for suite, names in scores.members.items() if suite != ALL]
    sources = {key: _source_words(options.get(key)) for key in ("source", "mapping", "natural")}
    sources["categories from"] = _source_words(options.get("categories"))
    numbers = {NAMES.get(key, key): value for key, value in scores.settings.items() if key not in SHOWN_ELSEWHERE}
    return [*facts, *suites, *all_facts(sources | numbers)]


def _source_words(given: Any) -> Any:
    if isinstance(given, dict):
        return f"{given[OBJECT]}, as given in Python" if OBJECT in given else "as given in Python"
    return given


def _standard_words(standard: tuple[str, ...] | None) -> str:
    if standard is None:
        return "none named, so all serve"
    return listed(some_of(standard, MOST_STANDARD)) if standard else "all that were named are left out"


MOST_NAMED = 3  # natural benchmarks in a title


def page(directory: str) -> Page:
    """The page about the study of validity in a folder."""
    return validity_page(ValidityScores(**vars(ValidityStudy.read(directory))), directory)


def validity_page(scores: ValidityScores, directory: str | None = None) -> Page:
    """The page about a study; tables that are None, or have no rows, have no section."""
    suite = scores.suites[0][1] if scores.suites else ALL
    subject = "a synthetic benchmark" if suite == ALL else suite
    natural = listed(scores.natural) if len(scores.natural) <= MOST_NAMED else "natural shifts"
    return Page(
        f"Does {subject} predict robustness to {natural}?",
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
            validity_settings(scores, validity_again(scores.settings, directory)),
        ],
        [scores.name(name) for _, name in scores.drawn],
        "Benchmark",
    )


def _lead(scores: ValidityScores) -> str:
    shifts = scores.shifts
    left = f" ({count(len(shifts.left_out), 'other')} left out)" if shifts.left_out else ""
    families = "" if shifts.families is None else f" of {count(shifts.families.nunique(), 'family', 'families')}"
    numbers = {"corruption": shifts.corrupted.shape[1], "other score": shifts.scores.shape[1]}
    synthetic = listed([count(number, noun) for noun, number in numbers.items() if number])
    return f"{count(len(shifts.models), 'model')}{families}{left}, {synthetic}, against {listed(scores.natural)}."
