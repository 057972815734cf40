"""Reports: one HTML file about an evaluation or an overlap study, that can be opened, sent and printed as it is."""

from scuff.report.build import write_report
from scuff.report.overlap.build import write_overlap_report

__all__ = ["write_overlap_report", "write_report"]
