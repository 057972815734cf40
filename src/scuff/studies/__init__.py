"""Questions of the papers as plans of cells, and pure functions over their results."""

from scuff.studies.correlation import CorrelationPlan, correlation, plan_correlation, run_correlation
from scuff.studies.dissimilar import dissimilar, read_dissimilar, run_dissimilar
from scuff.studies.dissimilar_plan import DissimilarPlan, plan_dissimilar
from scuff.studies.mixing import MixingPlan, mixing, plan_mixing, run_mixing
from scuff.studies.mscr import mscr, run_mscr
from scuff.studies.mscr_plan import MscrPlan, plan_mscr
from scuff.studies.mscr_results import read_mscr
from scuff.studies.overlap import overlap, run_overlap
from scuff.studies.overlap_plan import OverlapPlan, plan_overlap
from scuff.studies.overlap_results import read_overlap
from scuff.studies.separation import read_neighbours, read_separation, separation
from scuff.studies.subsets import SubsetPlan, plan_subsets, run_subsets, subsets
from scuff.studies.transform_space import distances, read_distance_study, run_distances
from scuff.studies.transform_space_plan import DistancePlan, plan_distances
from scuff.studies.validity import ValidityPlan, plan_validity, run_validity, validity
from scuff.studies.validity_evaluations import read_shift_evaluations
from scuff.studies.validity_results import Validity, read_validity
from scuff.studies.validity_table import read_accuracy_table

__all__ = [
    "CorrelationPlan",
    "DissimilarPlan",
    "DistancePlan",
    "MixingPlan",
    "MscrPlan",
    "OverlapPlan",
    "SubsetPlan",
    "Validity",
    "ValidityPlan",
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
    "plan_overlap",
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
    "run_overlap",
    "run_subsets",
    "run_validity",
    "separation",
    "subsets",
    "validity",
]
