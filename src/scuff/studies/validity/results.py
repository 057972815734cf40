"""What a study of validity leaves behind: the table it rests on, its findings, and its settings."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass, field, replace

import pandas as pd

from scuff.metrics.validity.shift_tables import read_named_table, read_shifts
from scuff.metrics.validity.shifts import BETWEEN, MEAN, Shifts
from scuff.store import Settings, Store, open_results, save_settings
from scuff.studies.validity.study import ValidityStudy

SETTINGS = ValidityStudy.file
SHIFTS = "shifts.csv"
REQUIRED = ("table", "models", "left_out", "suites", "categories", "search", "seed", "resamples", "notes")
COLUMNS = {
    "correlations": "what benchmark size natural kind value low high p_value models note",
    "contributions": "corruption natural alone alone_low alone_high alone_gain alone_gain_low alone_gain_high "
    "without gain gain_low gain_high note",
    "groups": "group kind n k std size benchmarks natural value low high spread p_value note",
    "trends": "question natural smaller larger categories difference low high other_sign_share note",
    "searches": "size members fitted chosen chosen_low chosen_high held_out held_out_low held_out_high random "
    "random_low random_high whole whole_low whole_high gain gain_low gain_high gain_over_whole gain_over_whole_low "
    "gain_over_whole_high drop drop_low drop_high stability exact warning",
}
NAMES = {"what", "benchmark", "natural", "kind", "corruption", "group", "question", "smaller", "larger", "members"}
TEXTS = NAMES | {"warning", "note"}  # which may be empty, as names may not
COUNTS = {"size", "models", "n", "k", "benchmarks", "categories"}


@dataclass(frozen=True, eq=False, repr=False)
class Validity:
    """How well synthetic benchmarks predict natural shifts. Tables are None where there was nothing to compute.

    Parameters
    ----------
    shifts
        The accuracies on which everything rests.
    correlations
        A row for every benchmark, natural benchmark ("mean" among them) and kind of correlation. Column `what` is
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
    contributions: pd.DataFrame | None = None
    groups: pd.DataFrame | None = None
    trends: pd.DataFrame | None = None
    searches: pd.DataFrame | None = None
    settings: Settings = field(default_factory=dict)

    def __repr__(self) -> str:
        present = ", ".join(name for name in COLUMNS if getattr(self, name) is not None)
        return f"Validity({self.shifts!r}; {present})"


def save_validity(store: Store, result: Validity) -> None:
    """Write all tables, and last the settings, with which the study is complete.

    Nothing of an earlier study is left in the folder; its settings go first.
    """
    store.remove(SETTINGS)
    tables = {SHIFTS: result.shifts.to_frame()} | {f"{name}.csv": getattr(result, name) for name in COLUMNS}
    for file, table in tables.items():
        if table is None:
            store.remove(file)
        else:
            store.write(file, table.to_csv(index=False).encode())
    save_settings(store, SETTINGS, result.settings)


def read_validity(directory: str | os.PathLike[str]) -> Validity:
    """A finished study of validity from its folder."""
    store = open_results(directory, SETTINGS, "a study of validity")
    settings = ValidityStudy.read_settings(directory)
    try:
        missing = [name for name in (*REQUIRED, "same", "different") if name not in settings]
        if missing:
            raise ValueError(f"the settings lack {', '.join(missing)}")
        shifts = read_shifts(_read(store, SHIFTS, ("model", "family")))
        tables = {name: _read_checked(store, name, shifts) for name in COLUMNS}
        return Validity(replace(shifts, left_out=settings["left_out"]), **tables, settings=settings)
    except (ValueError, KeyError, OSError) as error:
        raise ValueError(
            f"the study in {store.root} was made by another version, or is damaged ({error}); delete the folder and "
            "run it again"
        ) from error


def _read(store: Store, name: str, words: Collection[str]) -> pd.DataFrame:
    try:
        return read_named_table(store.read(name), words)
    except (ValueError, OSError) as error:
        raise ValueError(f"{name} is missing or not readable") from error


def _read_checked(store: Store, name: str, shifts: Shifts) -> pd.DataFrame | None:
    """A table with the columns of its kind, and with valid values in them."""
    file, columns = f"{name}.csv", COLUMNS[name].split()
    if name != "correlations" and not store.exists(file):
        return None
    table = _read(store, file, TEXTS)
    if list(table) != columns:
        odd = [column for column in columns if column not in table] or [c for c in table if c not in columns]
        raise ValueError(f"{file} has other columns: {', '.join(odd) or 'in another order'}")
    for column, values in table.items():
        kinds = "i" if column in COUNTS else "fib"
        if (column in NAMES and (values == "").any()) or (column not in TEXTS and values.dtype.kind not in kinds):
            raise ValueError(f"{file} has wrong values in the column {column}")
    strange = set(table.get("natural", ())) - {*shifts.natural, MEAN}
    if strange:
        raise ValueError(f"{file} has an unknown natural benchmark {strange.pop()}")
    if name == "searches" and (table["members"].str.count(BETWEEN) + 1 != table["size"]).any():
        raise ValueError(f"{file} has fewer or more members than the size says")
    return table
