"""What the tables of validity note, in one sentence for all lines of which the same is said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from scuff.report.validity.scores import KINDS, SUITES, ValidityScores, suite_name
from scuff.report.words import listed

MOST_NAMED = 4  # in a sentence


def suite_notes(scores: ValidityScores) -> list[str]:
    """What is said of correlations of suites, one sentence for all of which the same is said."""
    its = scores.correlations[scores.correlations["what"].isin(SUITES)]
    sentences = []
    for note, lines in its[its["note"] != ""].groupby("note", sort=False):
        suites = [suite_name(name) for name in lines["benchmark"].unique()]
        of = "" if len(suites) == len(scores.suites) else f"{listed(_some(suites))}, "
        pairs = (lines["kind"].map(KINDS) + " with " + lines["natural"]).unique()
        sentences.append(f"{of}{listed(_some(list(pairs)))}: {note}.")
    return sentences


def notes_of(table: pd.DataFrame, column: str, shown: Mapping[str, str] | None = None) -> list[str]:
    """Notes of a table, one sentence for all lines of which the same is said; `shown` says how names are written."""
    said: dict[str, dict[str, None]] = {}
    for row in table[table["note"] != ""].itertuples(index=False):
        about = getattr(row, column)
        said.setdefault(row.note, {})[f"{(shown or {}).get(about, about)} and {row.natural}"] = None
    return [f"{listed(_some(list(names)))}: {note}." for note, names in said.items()]


def _some(names: Sequence[str]) -> list[str]:
    return [*names[:MOST_NAMED], f"{len(names) - MOST_NAMED} more"] if len(names) > MOST_NAMED else list(names)
