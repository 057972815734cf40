"""What a study of validity leaves behind: the table it rests on, its findings, and its settings."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace

import pandas as pd

from scuff.metrics.shift_tables import read_shifts
from scuff.metrics.shifts import Shifts
from scuff.store import Settings, Store, read_settings, save_settings
from scuff.studies.validity_table import read_named_table

SETTINGS = "validity.json"
SHIFTS = "shifts.csv"
TABLES = ("correlations", "contributions", "groups", "trends", "searches")
ALWAYS = ("correlations",)
TEXTS = ("what", "benchmark", "natural", "kind", "corruption", "group", "question", "smaller", "larger")
TEXTS += ("members", "warning", "note")


@dataclass(frozen=True, eq=False)
class Validity:
    """How well synthetic benchmarks predict natural shifts. Tables are None where there was nothing to say.

    Parameters
    ----------
    shifts
        The accuracies on which everything rests.
    correlations
        A line for every benchmark, natural benchmark ("mean" among them) and kind of correlation. Column `what` is
        suite, category, corruption or score.
    contributions
        What each corruption of the largest suite says alone, and adds to the others.
    groups, trends
        Mean correlations of many benchmarks with n categories and k corruptions of each, or with a given spread; and
        whether they rise with n, k, size and spread.
    searches
        The most predictive benchmark of each size that was asked for, scored on models that did not choose it.
    settings
        The content of `validity.json`.
    """

    shifts: Shifts = field(repr=False)
    correlations: pd.DataFrame = field(repr=False)
    contributions: pd.DataFrame | None = field(repr=False)
    groups: pd.DataFrame | None = field(repr=False)
    trends: pd.DataFrame | None = field(repr=False)
    searches: pd.DataFrame | None = field(repr=False)
    settings: Settings = field(repr=False)


def save_validity(store: Store, found: Validity) -> None:
    """Write all tables, and the settings last: with them, the study is there."""
    store.write(SHIFTS, found.shifts.to_frame().to_csv(index=False).encode())
    for name in TABLES:
        table = getattr(found, name)
        if table is not None:
            store.write(f"{name}.csv", table.to_csv(index=False).encode())
    save_settings(store, SETTINGS, found.settings)


def read_validity(directory: str | os.PathLike[str]) -> Validity:
    """A finished study of validity from its folder."""
    store = Store(directory)
    if not store.exists(SETTINGS):
        raise ValueError(f"{store.root} is not the folder of a study of validity: there is no {SETTINGS} in it")
    settings = read_settings(store, SETTINGS)
    try:
        shifts = read_shifts(read_named_table(store.read(SHIFTS), ("model", "family")))
        there = {name: store.exists(f"{name}.csv") or name in ALWAYS for name in TABLES}
        tables = {name: read_named_table(store.read(f"{name}.csv"), TEXTS) if there[name] else None for name in TABLES}
        return Validity(replace(shifts, left_out=settings.get("left_out", {})), **tables, settings=settings)
    except (ValueError, KeyError, OSError) as error:
        raise ValueError(
            f"the study in {store.root} is damaged ({error}); delete the folder and run it again"
        ) from error
