"""The table that a study of validity rests on, from whatever was given."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, TypeAlias

import pandas as pd

from scuff.metrics import Shifts, read_shifts
from scuff.metrics.validity.shift_tables import read_header
from scuff.studies.validity.evaluations import Pairs, natural_folders, read_noted_evaluations
from scuff.studies.validity.folders import check_exists
from scuff.studies.validity.table import read_accuracy_table

Place = str | os.PathLike[str]
Source: TypeAlias = Shifts | pd.DataFrame | Place | Sequence[Place]


def read_source(
    source: Source, mapping: Any, natural: Pairs | Sequence[str] | None, severities: Sequence[int] | None
) -> tuple[Shifts, list[str]]:
    """The table, and notes on what a reader must know about it."""
    if isinstance(source, Shifts | pd.DataFrame):
        return _read_table(source, mapping, natural, severities), []
    places = [source] if isinstance(source, str | os.PathLike) else list(source)
    for place in places:
        check_exists(place)
    tables = [place for place in places if os.path.isfile(place) or os.fspath(place).endswith(".csv")]
    if tables and len(places) == 1:
        return _read_table(places[0], mapping, natural, severities), []
    if mapping is not None:
        raise ValueError("a mapping is for one table of accuracies, and these are folders of evaluations")
    if tables:
        raise ValueError(f"either one table or folders of evaluations are read; got {tables[0]} among {places}")
    if not natural:
        raise ValueError("folders of evaluations need natural benchmarks to be compared with: natural=, or --natural")
    return read_noted_evaluations(places, natural_folders(natural), severities=severities)


def _read_table(source: Shifts | pd.DataFrame | Place, mapping: Any, natural: Any, severities: Any) -> Shifts:
    """Shifts from one table, which may be Shifts already, have their columns, or need a mapping."""
    if natural:
        raise ValueError("natural is for folders of evaluations; in a table, a mapping names natural benchmarks")
    if mapping is not None and not isinstance(source, Shifts):
        return read_accuracy_table(source, mapping, severities=severities)
    if mapping is not None or severities is not None:
        raise ValueError("mapping and severities are for wide tables; here columns have names and are means already")
    if isinstance(source, Shifts):
        return source
    columns = list(source) if isinstance(source, pd.DataFrame) else read_header(source)
    if not {"model", "clean"} <= set(columns):
        raise ValueError(
            "a table without the columns model and clean needs a mapping that says what its columns mean; it has "
            f"{', '.join(map(str, columns[:3]))} and so on"
        )
    return read_shifts(source)
