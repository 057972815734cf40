"""Questions of the papers as plans of cells, and pure functions over their results."""

from scuff.studies.overlap import overlap, run_overlap
from scuff.studies.overlap_plan import OverlapPlan, plan_overlap
from scuff.studies.overlap_results import read_overlap

__all__ = ["OverlapPlan", "overlap", "plan_overlap", "read_overlap", "run_overlap"]
