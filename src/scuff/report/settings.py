"""The last section of every page: what was set, the command that makes the same again, and how to read the numbers.

`settings_section(facts, again, definitions)` is the section, `study_section(study, settings, directory, definitions)`
that of a study; `all_facts(settings)` turns the settings of a folder into facts; `meanings(page)` are its definitions,
from glossary.yaml; `scuff.studies.base.again_from` is the command.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

from scuff.report import parts
from scuff.report.parts import Facts, Part, Section
from scuff.studies.base import Again, Study, again_from
from scuff.words import entry_name


def settings_section(
    facts: Facts,
    again: Again | str | None,
    definitions: Facts | Mapping[str, str],
    *more: Part,
    notes: Sequence[str] = (),
    key: str = "settings",
    title: str = "Settings and environment",
) -> Section:
    """What was set, with `notes` before and `more` parts after it; the same again; and what each number means."""
    if isinstance(again, str):
        again = Again(again)
    same = [] if again is None else [parts.heading("The same again"), parts.command(again.words)]
    return parts.section(
        key,
        title,
        *map(parts.note, notes),
        parts.facts(facts) if facts else None,
        *more,
        *same,
        *([] if again is None else map(parts.note, again.notes)),
        parts.heading("How to read this"),
        parts.facts(list(definitions.items()) if isinstance(definitions, Mapping) else definitions),
    )


def read_study(study: type[Study[Any]], directory: str) -> tuple[Any, dict[str, Any]]:
    """The results of the study in a folder, and its settings."""
    settings = study.read_settings(directory)
    return study.read(directory), settings


def study_section(
    study: type[Study[Any]],
    settings: Mapping[str, Any],
    directory: str | None,
    definitions: Facts | Mapping[str, str],
    *,
    hidden: Collection[str] = ("options",),
    most_listed: int | None = None,
    **more: Any,
) -> Section:
    """The section about a study that is in a folder, or in none; the other options as for the two functions here."""
    facts = all_facts(settings, hidden=hidden, most_listed=most_listed)
    return settings_section(facts, again_from(study, settings, directory), definitions, **more)


def meanings(*pages: str, **values: Any) -> dict[str, str]:
    """What numbers mean, from glossary.yaml: all terms of some of its parts, with `values` in place of braces.

    >>> meanings("contributions")
    {'gain': 'The correlation of a benchmark minus that of the benchmark without a corruption.'}
    """
    terms = (term for page in pages for term in _glossary()[page].items())
    return {name.format(**values): text.format(**values) for name, text in terms}


@cache
def _glossary() -> dict[str, dict[str, str]]:
    import yaml

    return yaml.safe_load((resources.files(__package__) / "glossary.yaml").read_text(encoding="utf-8"))


def all_facts(settings: Mapping[str, Any], *, hidden: Collection[str] = (), most_listed: int | None = None) -> Facts:
    """Settings of any kind by name, those inside of others too; what is not set, or `hidden`, is left out.

    Of lists with more than `most_listed` values only the number is told.

    >>> all_facts({"seeds": [0, 1], "recipe": {"name": "cifar-fast", "weight_decay": 0.0005, "cutout": None}})
    [('Seeds', '0; 1'), ('Recipe, name', 'cifar-fast'), ('Recipe, weight decay', '0.0005')]
    >>> all_facts({"sizes": [1, 2, 3], "levels": {"fog": 1}}, hidden=["levels"], most_listed=2)
    [('Sizes', '3 of them')]
    """
    shown = {
        name: f"{len(value)} of them" if isinstance(value, list) and len(value) > (most_listed or len(value)) else value
        for name, value in settings.items()
        if name not in hidden
    }
    facts = [fact for name, value in shown.items() for fact in _flat(name, value)]
    return [(entry_name(name[:1].upper() + name[1:]), text) for name, text in facts if text]


def _flat(name: str, value: Any) -> Facts:
    """One fact, or those inside of a mapping; a suite is named by what identifies it."""
    if isinstance(value, dict) and "entries" in value:
        return [(name, f"{value.get('suite')}, version {value.get('version')}")]
    if isinstance(value, dict):
        return [fact for inner, more in value.items() for fact in _flat(f"{name}, {inner}", more)]
    if isinstance(value, list):
        return [(name, "; ".join(text for each in value for _, text in _flat(name, each)))]
    if isinstance(value, bool):
        return [(name, "yes" if value else "no")]
    return [(name, "" if value is None else str(value))]
