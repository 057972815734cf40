"""What a design can start from, in files: overlaps of corruptions, or their categories."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from scuff.metrics.overlap.accuracies import read_accuracies
from scuff.metrics.overlap.scores import Overlaps, overlaps, read_overlaps
from scuff.suites import Suite

ACCURACY_COLUMNS = {"trained_on", "tested_on", "accuracy"}  # one of them tells a table of accuracies


def read_overlaps_file(path: str | os.PathLike[str], suites: Sequence[Suite] = ()) -> Overlaps:
    """The overlaps in a CSV file: a square matrix of them, or accuracies from which they follow."""
    with Path(path).open(encoding="utf-8", errors="replace") as file:
        header = {cell.strip(' "') for cell in file.readline().strip().split(",")}
    if header & ACCURACY_COLUMNS:
        return overlaps(read_accuracies(path, suites))
    return read_overlaps(path, suites)


def read_categories(path: str | os.PathLike[str]) -> dict[str, list[str]]:
    """A file that maps categories to their corruptions, YAML or JSON."""
    import yaml

    try:
        found = yaml.safe_load(Path(path).read_text(encoding="utf-8"))  # JSON is YAML, too
    except yaml.YAMLError as error:
        raise ValueError(f"cannot read {path}: {error}") from error
    if not found or not isinstance(found, dict) or not all(isinstance(members, list) for members in found.values()):
        raise ValueError(f"{path} must map categories to lists of corruptions, as scuff design categories writes them")
    return {str(category): list(map(str, members)) for category, members in found.items()}
