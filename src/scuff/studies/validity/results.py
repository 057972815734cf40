"""What a study of validity leaves behind: the table it rests on, its findings, and its settings."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pandas as pd

from scuff.metrics.validity.shift_tables import read_named_table, read_shifts
from scuff.metrics.validity.shifts import Shifts
from scuff.store import Settings, Store, read_settings, save_settings
from scuff.studies.validity.checks import COLUMNS, TEXTS, check_kept_settings, check_kept_table

SETTINGS = "validity.json"
SHIFTS = "shifts.csv"
ALWAYS = ("correlations",)
TABLES = tuple(COLUMNS)


@dataclass(frozen=True, eq=False, repr=False)
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
        whether they rise with n, size and spread, comparing like with like.
    searches
        The most predictive benchmark of each size that was asked for, scored on models that did not choose it.
    settings
        The content of `validity.json`.
    """

    shifts: Shifts
    correlations: pd.DataFrame
    contributions: pd.DataFrame | None
    groups: pd.DataFrame | None
    trends: pd.DataFrame | None
    searches: pd.DataFrame | None
    settings: Settings

    def __repr__(self) -> str:
        there = ", ".join(name for name in TABLES if getattr(self, name) is not None)
        return f"Validity({self.shifts!r}; {there})"


def save_validity(store: Store, found: Validity) -> None:
    """Write all tables, and the settings last: with them, the study is there.

    Of an earlier study in the folder nothing is left, and first of all its settings go.
    """
    store.remove(SETTINGS)
    store.write(SHIFTS, found.shifts.to_frame().to_csv(index=False).encode())
    for name in TABLES:
        table = getattr(found, name)
        if table is None:
            store.remove(f"{name}.csv")
        else:
            store.write(f"{name}.csv", table.to_csv(index=False).encode())
    save_settings(store, SETTINGS, found.settings)


def read_validity(directory: str | os.PathLike[str]) -> Validity:
    """A finished study of validity from its folder."""
    store = Store(directory)
    if not store.exists(SETTINGS):
        raise ValueError(f"{store.root} is not the folder of a study of validity: there is no {SETTINGS} in it")
    settings = read_settings(store, SETTINGS)
    try:
        check_kept_settings(settings)
        shifts = read_shifts(_read(store, SHIFTS, ("model", "family")))
        tables = {name: _read_kept(store, name, shifts) for name in TABLES}
        return Validity(replace(shifts, left_out=settings["left_out"]), **tables, settings=settings)
    except (ValueError, KeyError, OSError) as error:
        raise ValueError(
            f"the study in {store.root} was made by another version, or is damaged ({error}); delete the folder and "
            "run it again"
        ) from error


def _read(store: Store, name: str, words: Sequence[str]) -> pd.DataFrame:
    try:
        return read_named_table(store.read(name), words)
    except (ValueError, OSError) as error:
        raise ValueError(f"{name} is not there, or not readable") from error


def _read_kept(store: Store, name: str, shifts: Shifts) -> pd.DataFrame | None:
    if name not in ALWAYS and not store.exists(f"{name}.csv"):
        return None
    table = _read(store, f"{name}.csv", TEXTS)
    check_kept_table(name, table, shifts)
    return table
