"""Reports: one HTML file about an evaluation or a study, that can be opened, sent and printed as it is."""

from scuff.report.build import write_report
from scuff.report.overlap.build import write_overlap_report
from scuff.report.separation.build import write_separation_report

__all__ = ["write_overlap_report", "write_report", "write_separation_report"]
