"""What the tables of validity note: every clause once, for all rows that it is about."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import pandas as pd

from scuff.metrics.validity.shifts import MEAN
from scuff.report.validity.scores import KINDS, SUITES, ValidityScores
from scuff.words import listed

MOST_NAMED = 4  # in a sentence
BEFORE_NAMES = (" on ", " residual robustness to ", " the rest without ")  # what clauses have before a name
About = TypeVar("About", bound=Hashable)


def gather_notes(
    notes: Iterable[tuple[str, Sequence[str], About]], shown: Mapping[str, str] | None = None
) -> dict[str, list[About]]:
    """All clauses of notes, each once, and what they are about.

    Every note comes with the names that it may mention, and with what it is about. Clauses that differ only in such a
    name become one with all the names, written as in `shown`.

    >>> few = "the line has 2 models"
    >>> notes = [(f"on fog, {few}; on v2, {few}", ["fog", "v2"], "mean"), (f"on snow, {few}", ["snow", "v2"], "v2")]
    >>> gather_notes(notes)
    {'on fog, v2 and snow, the line has 2 models': ['mean', 'v2']}
    """
    clauses: dict[tuple[str, str], tuple[dict[str, None], dict[About, None]]] = {}
    for note, names, about in notes:
        for clause in note.split("; "):
            before, name, after = _split_at_name(clause, names)
            named, abouts = clauses.setdefault((before, after), ({}, {}))
            named[(shown or {}).get(name, name)] = None
            abouts[about] = None
    return {
        f"{before}{listed(some_of(list(named)))}{after}": list(abouts)
        for (before, after), (named, abouts) in clauses.items()
    }


def suite_notes(scores: ValidityScores) -> list[str]:
    """Notes on correlations of suites; which suites is said only if they are not all."""
    table = scores.correlations[scores.correlations["what"].isin(SUITES)]
    suites_of = {kind: set(rows["benchmark"]) for kind, rows in table.groupby("kind")}
    sentences = []
    for clause, rows in _gather(scores, table, "benchmark").items():
        suites = list(dict.fromkeys(row.benchmark for row in rows))
        is_all = set(suites) == set().union(*(suites_of[row.kind] for row in rows))
        of = "" if is_all else f"{listed(some_of(list(map(scores.name, suites))))}, "
        kinds = _about([(KINDS[row.kind], row.natural) for row in rows], scores.columns)
        sentences.append(f"{of}{kinds}: {clause}.")
    return sentences


def notes_of(scores: ValidityScores, table: pd.DataFrame, column: str) -> list[str]:
    """Notes of a table, one sentence for all rows with the same note."""
    return [
        f"{_about([(scores.name(getattr(row, column)), row.natural) for row in rows], scores.columns)}: {clause}."
        for clause, rows in _gather(scores, table, column).items()
    ]


def _gather(scores: ValidityScores, table: pd.DataFrame, column: str) -> dict[str, list[Any]]:
    """The clauses of the notes of a table, each with its rows."""
    rows = table[table["note"] != ""].itertuples(index=False)
    return gather_notes(((row.note, (getattr(row, column), *scores.natural), row) for row in rows), scores.shown)


def some_of(names: Sequence[str], most: int = MOST_NAMED) -> list[str]:
    """The first names, and how many more there are.

    >>> some_of(["a", "b", "c"], most=2)
    ['a', 'b', '1 more']
    """
    return [*names[:most], f"{len(names) - most} more"] if len(names) > most else list(names)


def _split_at_name(clause: str, names: Sequence[str]) -> tuple[str, str, str]:
    """A clause in three: what is before a name that it mentions, the name, and what is after it."""
    for name in names:
        for start in BEFORE_NAMES:
            before, matched, after = f" {clause}".partition(f"{start}{name}")
            if matched and after[:1] in ("", " ", ","):
                return f"{before}{start}".lstrip(), name, after
    return clause, "", ""


def _about(pairs: Iterable[tuple[str, str]], columns: Sequence[str]) -> str:
    """Subjects and the natural benchmarks that go with them, which are not named if they are all."""
    naturals: dict[str, set[str]] = {}
    for subject, natural in pairs:
        naturals.setdefault(subject, set()).add(natural)
    alike: dict[str, list[str]] = {}
    for subject, noted in naturals.items():
        names = ["the mean" if name == MEAN else name for name in columns if name in noted]
        alike.setdefault("" if len(names) in (0, len(columns)) else f" with {listed(names)}", []).append(subject)
    return listed([f"{listed(some_of(subjects))}{ending}" for ending, subjects in alike.items()])
