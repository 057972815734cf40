"""The command line that makes a study of validity again."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from scuff.report.settings import Again

TABLE = "shifts.csv"  # the copy of the table that a study keeps
CATEGORIES = "categories.yaml"
USUAL = {"count": 1000, "resamples": 1000, "seed": 0}
OBJECTS = "Shifts", "DataFrame", "TableMapping"  # what is written down of a source or a mapping that was no file
GIVEN_TABLE = "The table was given in Python; this is the copy that the folder keeps."
GIVEN_CATEGORIES = "Categories were given in Python: put them into this file, category: [corruptions]."


def validity_again(settings: Mapping[str, Any], out: str) -> Again:
    """`scuff validity`, with everything that was not left to itself, as far as it was written down."""
    source, mapping, notes = settings["source"], settings.get("mapping"), []
    if isinstance(mapping, dict) or source in OBJECTS or mapping in OBJECTS:
        words, about = [os.path.join(out, TABLE)], {}
        notes.append(GIVEN_TABLE)
    else:
        words = [source] if isinstance(source, str) else list(source)
        about = {"mapping": mapping, "natural": _natural_words(settings.get("natural"))}
        about["severity"] = _joined(settings.get("severities"))
    categories = _categories_word(settings)
    notes += [GIVEN_CATEGORIES] if categories == CATEGORIES else []
    options = {
        **about,
        "categories": categories,
        "suite": settings.get("suites_from") or [],
        "pairs": _joined([f"{n},{k}" for n, k in settings.get("pairs") or ()], " "),
        "search": _joined(settings.get("search")),
        "resample": settings.get("resample"),
        **{key: settings[key] for key, usual in USUAL.items() if settings.get(key, usual) != usual},
        "out": out,
    }
    given = [
        word
        for key, value in options.items()
        for each in (value if isinstance(value, list) else [value])
        if each is not None
        for word in (f"--{key}", str(each))
    ]
    return Again(shlex.join(["scuff", "validity", *words, *given]), tuple(notes))


def _natural_words(natural: Any) -> list[str]:
    """Folders of natural benchmarks as the command takes them: [NAME=]DIR[,REFERENCE]."""
    if not isinstance(natural, dict):
        return natural or []
    return [
        f"{name}={folder}" + (f",{reference}" if reference else "")
        for name, folders in natural.items()
        for folder, reference in folders
    ]


def _categories_word(settings: Mapping[str, Any]) -> str | None:
    """Where categories are from; families go without saying unless it is for groups of all pairs."""
    given = settings.get("categories_from", "families")
    if given == "families":
        return given if settings.get("groups") and settings.get("pairs") is None else None
    return given if isinstance(given, str) else CATEGORIES


def _joined(values: Sequence[Any] | None, by: str = ",") -> str | None:
    return by.join(map(str, values)) if values else None
