"""The plan of a study of validity: the table is read, and what can be scored is found out, without scoring it."""

from __future__ import annotations

import hashlib
import operator
import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, get_args

import pandas as pd

from scuff import design
from scuff.design.validity.predictive import ask_predictive
from scuff.metrics import Resampling, Shifts, read_shifts
from scuff.metrics.validity.resampled import resample_models
from scuff.metrics.validity.shift_tables import check_severities, read_header
from scuff.store import Store
from scuff.studies.base import Plan, check_folder, complete_settings
from scuff.studies.validity.benchmarks import find_suites, note_incomplete, resolve_categories
from scuff.studies.validity.evaluations import check_exists, natural_folders, read_noted_evaluations
from scuff.studies.validity.results import Validity
from scuff.studies.validity.study import Units, ValidityStudy
from scuff.studies.validity.table import read_accuracy_table
from scuff.studies.validity.work import ValidityWork

LEAST_RESAMPLES = 100  # the ends of a 95 % interval are then the second or third value from either side
FEW_FAMILIES = 10  # a bootstrap of fewer has few different resamples, and intervals that are too narrow


def plan_validity(study: ValidityStudy) -> Plan[Validity]:
    """Check the options, read the table, and refuse now what would fail later."""
    resamples = whole_number(study.resamples, "resamples", LEAST_RESAMPLES)
    resampling = Resampling(count=resamples, seed=whole_number(study.seed, "seed", 0))
    sizes = [study.search] if isinstance(study.search, str) or not isinstance(study.search, Iterable) else study.search
    search = [whole_number(size, "a size to search") for size in sizes]
    pairs, count = check_pairs(study.pairs), whole_number(study.count, "count")
    severities = check_severities(study.severities)
    shifts, notes = read_source(replace(study, severities=severities))
    shifts = _choose_units(shifts, study.resample)
    corruptions = list(shifts.corrupted)
    suites = find_suites(corruptions, study.suites)
    ambiguous = [name for name in shifts.scores if name in suites]
    if ambiguous:
        raise ValueError(f"{ambiguous[0]} is both a suite of corruptions and another score; rename one of them")
    notes += note_incomplete(corruptions, suites) if study.suites is None else []
    categories, category_notes = resolve_categories(
        corruptions, study.categories, suites=study.suites, seed=resampling.seed
    )
    has_groups = study.categories is not None or pairs is not None
    if has_groups and not categories:
        raise ValueError(f"none of the {len(corruptions)} corruptions of the table is in a category")
    for n, k in pairs or ():
        design.count_benchmarks(categories, n, k)  # which refuses impossible pairs
    resample_models(len(shifts.models), replace(resampling, count=1), shifts.families)  # which refuses few families
    for size in search:
        ask_predictive(shifts, size, seed=resampling.seed)  # which refuses what a search would
    settings = {
        "table": hashlib.blake2b(shifts.to_frame().round(9).to_csv(index=False).encode(), digest_size=8).hexdigest(),
        "models": list(shifts.models),
        "left_out": dict(shifts.left_out),
        "suites": suites,
        "categories": categories,
        "groups": has_groups,
        "pairs": pairs,
        "count": count,
        "search": search,
        "severities": None if severities is None else list(severities),
        "seed": resampling.seed,
        "resamples": resampling.count,
        "notes": [*notes, *category_notes, *_note_families(shifts)],
    }
    settings = complete_settings(study, settings)
    store = None if study.out is None else Store(study.out)
    check_folder(study, store, settings)
    return Plan(study, settings, ValidityWork(shifts, settings, store), store)


# --- the table --------------------------------------------------------------------------------------------------------


def read_source(study: ValidityStudy) -> tuple[Shifts, list[str]]:
    """The table that a study rests on, from whatever was given, and notes on what a reader must know about it."""
    source, mapping, natural = study.source, study.mapping, study.natural
    if isinstance(source, Shifts | pd.DataFrame):
        return _read_table(study, source), []
    places = [source] if isinstance(source, str | os.PathLike) else list(source)
    for place in places:
        check_exists(place)
    tables = [place for place in places if os.path.isfile(place) or os.fspath(place).endswith(".csv")]
    if tables and len(places) == 1:
        return _read_table(study, places[0]), []
    if mapping is not None:
        raise ValueError("a mapping is for one table of accuracies, and these are folders of evaluations")
    if tables:
        raise ValueError(f"either one table or folders of evaluations are read; got {tables[0]} among {places}")
    if not natural:
        raise ValueError("folders of evaluations need natural benchmarks to be compared with: natural=, or --natural")
    return read_noted_evaluations(places, natural_folders(natural), study.severities)


def _read_table(study: ValidityStudy, source: Shifts | pd.DataFrame | str | os.PathLike[str]) -> Shifts:
    """Shifts from one table, which may be Shifts already, have their columns, or need a mapping."""
    if study.natural:
        raise ValueError("natural is for folders of evaluations; in a table, a mapping names natural benchmarks")
    if study.mapping is not None and not isinstance(source, Shifts):
        return read_accuracy_table(source, study.mapping, severities=study.severities)
    if study.mapping is not None or study.severities is not None:
        raise ValueError("mapping and severities are for wide tables; here columns have names and are means already")
    if isinstance(source, Shifts):
        return source
    columns = list(source) if isinstance(source, pd.DataFrame) else read_header(source)
    if not {"model", "clean"} <= set(columns):
        raise ValueError(
            "a table without the columns model and clean needs a mapping that says what its columns mean; it has "
            f"{', '.join(map(str, columns[:3]))} and so on"
        )
    return read_shifts(source)


def _choose_units(shifts: Shifts, resample: str | None) -> Shifts:
    """The table with families of models only if these are to be resampled."""
    if resample not in (None, *get_args(Units)):
        raise ValueError(f"resample must be {' or '.join(get_args(Units))}, got {resample!r}")
    if resample == "families" and shifts.families is None:
        raise ValueError("the table has no families of models; a mapping names them, or a column family")
    return replace(shifts, families=None) if resample == "models" else shifts


def _note_families(shifts: Shifts) -> list[str]:
    """What makes intervals by families unreliable."""
    if shifts.families is None:
        return []
    sizes = shifts.families.value_counts()
    reasons = [f"there are {len(sizes)} families of models"] if len(sizes) < FEW_FAMILIES else []
    if 2 * sizes.iloc[0] > len(shifts.models):
        reasons.append(f"the family {sizes.index[0]} has {sizes.iloc[0]} of the {len(shifts.models)} models")
    rough = "so that intervals by families are rough; compare those of --resample models"
    return [f"{' and '.join(reasons)}, {rough}"] if reasons else []


# --- numbers ----------------------------------------------------------------------------------------------------------


def whole_number(value: Any, what: str, least: int = 1) -> int:
    """An int from any whole number, NumPy's included.

    >>> whole_number(2.5, "count")
    Traceback (most recent call last):
    ...
    ValueError: count must be a whole number of at least 1, got 2.5
    """
    try:
        number = least - 1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = least - 1
    if number < least:
        raise ValueError(f"{what} must be a whole number of at least {least}, got {value!r}")
    return number


def check_pairs(pairs: Sequence[tuple[int, int]] | tuple[int, int] | None) -> list[tuple[int, ...]] | None:
    """Pairs of the number of categories and of corruptions of each; a single one may come alone.

    >>> check_pairs([(2, 3), (3, 2)]), check_pairs((2, 3))
    ([(2, 3), (3, 2)], [(2, 3)])
    """
    if pairs is None:
        return None
    several: list[Any] = list(pairs) if isinstance(pairs, Iterable) else []
    if several and not any(isinstance(pair, Iterable) for pair in several):
        several = [several]
    if not several or not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in several):
        raise ValueError(f"pairs must be pairs of whole numbers, as in [(2, 3), (3, 2)], got {pairs!r}")
    return [tuple(whole_number(number, "a number of a pair") for number in pair) for pair in several]
