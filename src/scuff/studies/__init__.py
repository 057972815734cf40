"""Questions of the papers as plans of cells, and pure functions over their results.

Studies are light; what reads their folders needs numpy and pandas, and is loaded when it is asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from scuff.studies.overlap.study import OverlapStudy, overlap
from scuff.studies.separation.distances import read_neighbours, read_separation, separation
from scuff.studies.separation.plan import MscrPlan, plan_mscr
from scuff.studies.separation.results import read_mscr
from scuff.studies.separation.study import mscr, run_mscr
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
from scuff.studies.validity.evaluations import read_shift_evaluations
from scuff.studies.validity.results import Validity, read_validity
from scuff.studies.validity.study import ValidityPlan, plan_validity, run_validity, validity
from scuff.studies.validity.table import read_accuracy_table

if TYPE_CHECKING:
    from scuff.studies.overlap.results import read_overlap
    from scuff.studies.transform_space.dissimilar import read_dissimilar
    from scuff.studies.transform_space.distances import read_distance_study

_LAZY = {
    "read_dissimilar": "scuff.studies.transform_space.dissimilar",
    "read_distance_study": "scuff.studies.transform_space.distances",
    "read_overlap": "scuff.studies.overlap.results",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_LAZY[name]), name)


__all__ = [
    "CorrelationStudy",
    "DissimilarStudy",
    "DistancesStudy",
    "MixingStudy",
    "MscrPlan",
    "OverlapStudy",
    "SubsetsStudy",
    "Validity",
    "ValidityPlan",
    "correlation",
    "dissimilar",
    "distances",
    "mixing",
    "mscr",
    "overlap",
    "plan_mscr",
    "plan_validity",
    "read_accuracy_table",
    "read_dissimilar",
    "read_distance_study",
    "read_mscr",
    "read_neighbours",
    "read_overlap",
    "read_separation",
    "read_shift_evaluations",
    "read_validity",
    "run_mscr",
    "run_validity",
    "separation",
    "subsets",
    "validity",
]
