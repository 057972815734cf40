"""Reports: one HTML file about an evaluation or a study, that can be opened, sent and printed as it is."""

from scuff.report.page import render_page
from scuff.report.write import write_report

__all__ = ["render_page", "write_report"]
