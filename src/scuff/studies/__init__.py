"""Questions of the papers as plans of cells, and pure functions over their results."""

from scuff.studies.mscr import mscr, run_mscr
from scuff.studies.mscr_plan import MscrPlan, plan_mscr
from scuff.studies.mscr_results import read_mscr
from scuff.studies.overlap import overlap, run_overlap
from scuff.studies.overlap_plan import OverlapPlan, plan_overlap
from scuff.studies.overlap_results import read_overlap
from scuff.studies.separation import read_neighbours, read_separation, separation

__all__ = [
    "MscrPlan",
    "OverlapPlan",
    "mscr",
    "overlap",
    "plan_mscr",
    "plan_overlap",
    "read_mscr",
    "read_neighbours",
    "read_overlap",
    "read_separation",
    "run_mscr",
    "run_overlap",
    "separation",
]
