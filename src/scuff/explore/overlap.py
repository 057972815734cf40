"""The view of an overlap study: its matrix, and pictures of both corruptions of a pair."""

from __future__ import annotations

import json
from typing import Any

from scuff.design.overlap.nonoverlapping import THRESHOLD
from scuff.explore.view import View
from scuff.report.overlap.figures import overlap_matrix
from scuff.report.overlap.overlap import read_table
from scuff.report.overlap.scores import measure_overlap
from scuff.report.write import TABLE
from scuff.studies.overlap.results import read_overlap


class OverlapView(View):
    """What a page may ask about an overlap study in a folder, or about a CSV table of accuracies."""

    def __init__(self, directory: str) -> None:
        accuracies = read_table(directory) if directory.endswith(TABLE) else read_overlap(directory)
        self.scores = measure_overlap(accuracies, THRESHOLD)
        read = f"scuff.studies.read_overlap({json.dumps(directory)})"
        self.suites = [(suite, f"{read}.suites[{k}]") for k, suite in enumerate(accuracies.suites)]

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

    def _corruption(self, address: str) -> dict[str, Any]:
        suite, _, entry = address.rpartition("/")
        known = next((each for each, _ in self.suites if each.name == suite), None)
        levels = len(known.listed_levels(entry)) if known is not None and entry in known.entries else 0
        return {"title": self.scores.shown[address], "suite": suite, "entry": entry, "levels": levels}
