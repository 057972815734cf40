"""The plan of a study of validity: the table is read, and what can be scored is found out, without scoring it."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from scuff import design
from scuff.design.validity.held_out import ask_predictive
from scuff.metrics import Resampling, Shifts
from scuff.metrics.validity.resampled import resample_models
from scuff.store import Store
from scuff.studies.base import Plan, check_folder, complete_settings
from scuff.studies.validity.benchmarks import find_suites, note_incomplete, resolve_categories
from scuff.studies.validity.cells import check_severities
from scuff.studies.validity.choices import (
    LEAST_RESAMPLES,
    check_pairs,
    check_sizes,
    choose_units,
    note_families,
    whole_number,
)
from scuff.studies.validity.results import Validity
from scuff.studies.validity.sources import read_source
from scuff.studies.validity.study import ValidityStudy
from scuff.studies.validity.work import ValidityWork


def plan_validity(study: ValidityStudy) -> Plan[Validity]:
    """Check the options, read the table, and refuse now what would fail later."""
    resamples = whole_number(study.resamples, "resamples", LEAST_RESAMPLES)
    resampling = Resampling(count=resamples, seed=whole_number(study.seed, "seed", 0))
    search, pairs, count = check_sizes(study.search), check_pairs(study.pairs), whole_number(study.count, "count")
    severities = check_severities(study.severities)
    shifts, notes = read_source(study.source, study.mapping, study.natural, severities)
    shifts = choose_units(shifts, study.resample)
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
    settings = complete_settings(
        study,
        {
            "table": _fingerprint(shifts),
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
            "notes": [*notes, *category_notes, *note_families(shifts)],
        },
    )
    store = None if study.out is None else Store(study.out)
    check_folder(study, store, settings)
    return Plan(study, settings, ValidityWork(shifts, settings, store), store)


def _fingerprint(shifts: Shifts) -> str:
    content = shifts.to_frame().round(9).to_csv(index=False)
    return hashlib.blake2b(content.encode(), digest_size=8).hexdigest()
