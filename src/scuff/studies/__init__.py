"""Questions of the papers as plans of cells, and pure functions over their results.

A study is a class (`OverlapStudy`) and a function (`overlap`); both are light. What reads the folder of a study needs
numpy and pandas, and is imported on first use.
"""

from __future__ import annotations

import importlib
from typing import Any

from scuff.studies.adaptation import AdaptationStudy, adapt
from scuff.studies.calibration.study import CalibrationStudy, calibrate_suite
from scuff.studies.claims.study import ClaimsStudy, check
from scuff.studies.overlap.study import OverlapStudy, overlap
from scuff.studies.separation.study import MscrStudy, SeparationStudy, mscr, separation
from scuff.studies.survival import SurvivalStudy, survival
from scuff.studies.transform_space.study import (
    CorrelationStudy,
    DissimilarStudy,
    DistancesStudy,
    MixingStudy,
    SubsetsStudy,
    correlation,
    dissimilar,
    distances,
    mixing,
    subsets,
)
from scuff.studies.validity.study import ValidityStudy, validity
from scuff.studies.walks import WalkStudy, calibrate_walk

# A folder belongs to the first whose settings it holds: correlation keeps those of distances, too, and mscr those of
# separation.
STUDIES = (
    *(OverlapStudy, MscrStudy, SeparationStudy, ValidityStudy, SurvivalStudy),
    *(SubsetsStudy, MixingStudy, DissimilarStudy, CorrelationStudy, DistancesStudy, CalibrationStudy),
    *(ClaimsStudy, AdaptationStudy),
    WalkStudy,
)
FUNCTIONS = (
    calibrate_walk,
    adapt,
    calibrate_suite,
    check,
    correlation,
    dissimilar,
    distances,
    mixing,
    mscr,
    overlap,
    separation,
    subsets,
    survival,
    validity,
)
READERS = {
    "Checked": "claims.results",
    "Validity": "validity.results",
    "read_adaptation": "adaptation",
    "read_accuracy_table": "validity.table",
    "read_claims_study": "claims.results",
    "read_dissimilar": "transform_space.dissimilar",
    "read_distance_study": "transform_space.distances",
    "read_mscr": "separation.results",
    "read_neighbours": "separation.distances",
    "read_overlap": "overlap.results",
    "read_separation": "separation.distances",
    "read_shift_evaluations": "validity.evaluations",
    "read_survival": "survival",
    "read_validity": "validity.results",
    "read_walks": "walks",
}

__all__ = sorted([*(study.__name__ for study in STUDIES), *(function.__name__ for function in FUNCTIONS), *READERS])


def __getattr__(name: str) -> Any:
    if name in READERS:
        return getattr(importlib.import_module(f"scuff.studies.{READERS[name]}"), name)
    hint = _hint(name)
    raise AttributeError(f"module 'scuff.studies' has no attribute {name!r}{hint and f'; {hint}'}")


def _hint(name: str) -> str:
    """What has taken the place of names that every study had before version 0.1.

    >>> _hint("plan_overlap"), _hint("MscrPlan"), _hint("estimate_distances")
    ('use OverlapStudy(...).plan()', 'use MscrStudy(...).plan()', 'use DistancesStudy(...).plan().cost()')
    """
    action, _, what = name.lower().partition("_") if "_" in name else ("plan", "", name.removesuffix("Plan").lower())
    calls = {"plan": ".plan()", "run": ".plan().run()", "estimate": ".plan().cost()"}
    named = [study.__name__ for study in STUDIES if what in (study.name, study.name.removesuffix("s"))]
    return f"use {named[0]}(...){calls[action]}" if named and action in calls else ""
