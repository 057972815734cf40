"""Questions of the papers as plans of cells, and pure functions over their results."""

from scuff.studies.calibration.study import CalibrationStudy, calibrate_suite
from scuff.studies.overlap.results import read_overlap
from scuff.studies.overlap.study import OverlapStudy, overlap
from scuff.studies.separation.distances import read_neighbours, read_separation, separation
from scuff.studies.separation.plan import MscrPlan, plan_mscr
from scuff.studies.separation.results import read_mscr
from scuff.studies.separation.study import mscr, run_mscr
from scuff.studies.transform_space.correlation import CorrelationPlan, correlation, plan_correlation, run_correlation
from scuff.studies.transform_space.dissimilar import dissimilar, read_dissimilar, run_dissimilar
from scuff.studies.transform_space.dissimilar_plan import DissimilarPlan, plan_dissimilar
from scuff.studies.transform_space.distances import distances, read_distance_study, run_distances
from scuff.studies.transform_space.mixing import MixingPlan, mixing, plan_mixing, run_mixing
from scuff.studies.transform_space.plan import DistancePlan, plan_distances
from scuff.studies.transform_space.subsets import SubsetPlan, plan_subsets, run_subsets, subsets
from scuff.studies.validity.evaluations import read_shift_evaluations
from scuff.studies.validity.results import Validity, read_validity
from scuff.studies.validity.study import ValidityPlan, plan_validity, run_validity, validity
from scuff.studies.validity.table import read_accuracy_table

__all__ = [
    "CalibrationStudy",
    "CorrelationPlan",
    "DissimilarPlan",
    "DistancePlan",
    "MixingPlan",
    "MscrPlan",
    "OverlapStudy",
    "SubsetPlan",
    "Validity",
    "ValidityPlan",
    "calibrate_suite",
    "correlation",
    "dissimilar",
    "distances",
    "mixing",
    "mscr",
    "overlap",
    "plan_correlation",
    "plan_dissimilar",
    "plan_distances",
    "plan_mixing",
    "plan_mscr",
    "plan_subsets",
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
    "run_correlation",
    "run_dissimilar",
    "run_distances",
    "run_mixing",
    "run_mscr",
    "run_subsets",
    "run_validity",
    "separation",
    "subsets",
    "validity",
]
