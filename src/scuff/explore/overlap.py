"""The view of an overlap study: its matrix, and pictures of both corruptions of a pair."""

from __future__ import annotations

from typing import Any

from scuff.design.overlap.nonoverlapping import THRESHOLD
from scuff.report.overlap.figures import overlap_matrix
from scuff.report.overlap.scores import measure_overlap
from scuff.studies.overlap.results import read_overlap
from scuff.suites import Suite


class OverlapView:
    """What a page may ask about an overlap study in a folder."""

    def __init__(self, directory: str) -> None:
        self.scores = measure_overlap(read_overlap(directory), THRESHOLD)

    @property
    def suites(self) -> dict[str, Suite]:
        """The suites of the corruptions that were compared."""
        return {suite.name: suite for suite in self.scores.accuracies.suites}

    def start(self) -> dict[str, Any]:
        """The matrix, with the corruption of every row and column."""
        matrix, names = overlap_matrix(self.scores), [name for _, group in self.scores.groups for name in group]
        return {
            "caption": matrix.caption,
            "scale": matrix.scale,
            "width": matrix.width,
            "numbered": matrix.is_numbered,
            "groups": [{"name": heads.name, "names": list(heads.names)} for heads in matrix.columns],
            "rows": [[vars(cell) for cell in row.cells if cell] for group in matrix.rows for row in group.rows],
            "corruptions": [self._corruption(name) for name in names],
        }

    def answers(self) -> dict[str, Any]:
        return {}

    def pictures(self) -> dict[str, Any]:
        return {}

    def _corruption(self, address: str) -> dict[str, Any]:
        suite, _, entry = address.rpartition("/")
        known = self.suites.get(suite)
        levels = len(known.listed_levels(entry)) if known is not None and entry in known.entries else 0
        return {"title": self.scores.shown[address], "suite": suite, "entry": entry, "levels": levels}
