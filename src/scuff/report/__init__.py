"""Reports: one HTML file about an evaluation, that can be opened, sent and printed without anything else."""

from scuff.report.build import write_report

__all__ = ["write_report"]
