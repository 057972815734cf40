"""Reports: one HTML file about an evaluation or a study, that can be opened, sent and printed as it is."""

from scuff.report.evaluation.build import write_report
from scuff.report.overlap.build import write_overlap_report
from scuff.report.progress.build import render_progress, write_progress_report
from scuff.report.separation.build import write_separation_report
from scuff.report.transform_space.build import write_distance_report
from scuff.report.transform_space.dissimilar import render_dissimilar
from scuff.report.transform_space.distances import render_distances
from scuff.report.transform_space.mixing import render_mixing
from scuff.report.transform_space.subsets import render_subsets
from scuff.report.validity.build import render_validity, write_validity_report

__all__ = [
    "render_dissimilar",
    "render_distances",
    "render_mixing",
    "render_progress",
    "render_subsets",
    "render_validity",
    "write_distance_report",
    "write_overlap_report",
    "write_progress_report",
    "write_report",
    "write_separation_report",
    "write_validity_report",
]
