"""Rows as arrays: right or wrong for every cell (a corruption at a severity) and image of one model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import pandas as pd

from scuff.suites import Suite, is_bundled, load_suite

CLEAN = "clean"  # what rows call the uncorrupted images
MOST_SEVERITY = 1000
CELL_COLUMNS = ("model", "source", "suite", "corruption", "severity", "image_id", "label", "prediction")


@dataclass(frozen=True, eq=False)
class Cells:
    """The rows of one model: `wrong` and `confidence` are (cells x images); cell k is `keys[k]`, image i `images[i]`.

    Every score takes these in place of rows, so that rows which serve for many scores are read once.
    """

    model: str
    source: str
    suite: str
    keys: tuple[tuple[str, int], ...]
    images: np.ndarray
    wrong: np.ndarray
    confidence: np.ndarray | None

    def clean(self) -> int:
        """The place of the clean images among the cells."""
        if (CLEAN, 0) not in self.keys:
            raise ValueError(
                f"the rows of {self.model} hold no clean images, which this score compares with; evaluate them too "
                f"(corruption {CLEAN!r}, severity 0)"
            )
        return self.keys.index((CLEAN, 0))

    def take(self, places: Sequence[int]) -> Cells:
        """Some of the cells."""
        places = list(places)
        confidence = None if self.confidence is None else self.confidence[places]
        return replace(self, keys=tuple(self.keys[k] for k in places), wrong=self.wrong[places], confidence=confidence)


Rows: TypeAlias = pd.DataFrame | Cells
ManyRows: TypeAlias = pd.DataFrame | Mapping[str, Rows]  # of many models: one table, or {model: its rows}


def read_cells(rows: Rows) -> Cells:
    """Check the rows of one model and align them: every cell must hold every image once.

    >>> rows = pd.DataFrame({"model": "m", "source": "s", "suite": "x", "corruption": "fog", "severity": [1, 1, 2, 2],
    ...                      "image_id": [7, 5, 5, 7], "label": 0, "prediction": [0, 1, 1, 1]})
    >>> cells = read_cells(rows)
    >>> cells.keys, cells.images.tolist(), cells.wrong.astype(int).tolist()
    ((('fog', 1), ('fog', 2)), [5, 7], [[1, 0], [1, 1]])
    """
    if isinstance(rows, Cells):
        return rows
    check_columns(rows, CELL_COLUMNS)
    if "frame" in rows:
        raise ValueError("these are rows of sequences; their scores are flip_probability, mfr, top5_distance and mt5d")
    model, source, suite = only(rows, "model"), only(rows, "source"), suite_name(rows)
    keys, cell = _number_cells(rows)
    images, image = number_images(rows["image_id"])
    slot = cell * len(images) + image
    counts = np.bincount(slot, minlength=len(keys) * len(images)).reshape(len(keys), len(images))
    _check_counts(counts, model, keys, images)
    wrong = np.empty(counts.size, bool)
    wrong[slot] = rows["label"].to_numpy() != rows["prediction"].to_numpy()
    confidence = None
    if "confidence" in rows:
        flat = np.empty(counts.size, np.float32)
        flat[slot] = rows["confidence"].to_numpy(np.float32)
        confidence = flat.reshape(counts.shape)
    return Cells(model, source, suite, keys, images, wrong.reshape(counts.shape), confidence)


def by_model(rows: ManyRows) -> dict[str, Rows]:
    """The rows of every model, in the order in which the models appear; rows that are split already stay as they are.

    >>> list(by_model(pd.DataFrame({"model": ["b", "a", "b"]})))
    ['b', 'a']
    """
    if isinstance(rows, Mapping):
        return dict(rows)
    check_columns(rows, ("model",))
    codes, names = _codes(rows["model"])
    order = pd.unique(codes)
    if len(order) == 1:
        return {names[order[0]]: rows}
    return {names[code]: rows[codes == code] for code in order}


def check_columns(rows: pd.DataFrame, columns: Iterable[str]) -> None:
    """Refuse a table without rows, or without one of the columns."""
    missing = [name for name in columns if name not in rows]
    if missing:
        raise ValueError(f"the rows lack the columns {', '.join(missing)}; found {', '.join(map(str, rows.columns))}")
    if len(rows) == 0:
        raise ValueError("there are no rows to score")


def only(rows: pd.DataFrame, column: str) -> str:
    """The one value of a column; several are refused."""
    codes, names = _codes(rows[column])
    values = [names[code] for code in np.flatnonzero(np.bincount(codes))]
    if len(values) > 1:
        listed = ", ".join(values[:5]) + (", ..." if len(values) > 5 else "")
        remedy = "scuff.metrics.by_model splits them; summary, ranks and compare take many" if column == "model" else ""
        remedy = remedy or f"choose one with rows[rows.{column} == ...]"
        raise ValueError(f"expected the rows of one {column}, got {len(values)}: {listed}; {remedy}")
    return values[0]


def suite_name(rows: pd.DataFrame) -> str:
    """The suite of the corrupted rows; clean ones belong to every suite."""
    corrupted = rows["suite"][(rows["corruption"] != CLEAN).to_numpy()]
    return only(corrupted.to_frame(), "suite") if len(corrupted) else ""


def find_suite(name: str, suite: Suite | str | None = None) -> Suite | None:
    """The suite that was passed, or the bundled one of that name; None where there is neither."""
    if suite is None:
        return load_suite(name) if is_bundled(name) else None
    return suite if isinstance(suite, Suite) else load_suite(suite)


def scored_cells(cells: Cells, suite: Suite | str | None, partial: bool) -> tuple[dict[str, list[int]], str]:
    """The cells that count, as {entry: places in `cells`}, and a note if some are missing.

    The suite says which entries count (all but those for validation) and which levels they have; without a known suite,
    whatever is there counts.
    """
    known = find_suite(cells.suite, suite)
    if known is None:
        wanted = [key for key in cells.keys if key[0] != CLEAN]
    else:
        wanted = [(entry, level or 0) for entry in known.benchmark() for level in known.levels(entry)]
    places = {key: place for place, key in enumerate(cells.keys)}
    missing = [key for key in wanted if key not in places]
    if len(missing) == len(wanted):
        which = "corrupted images" if known is None else f"the scored entries of {known.name}"
        raise ValueError(f"the rows of {cells.model} hold none of {which}")
    if missing and not partial:
        assert known is not None  # or nothing could be missing
        raise ValueError(
            f"the rows of {cells.model} lack {len(missing)} of the {len(wanted)} cells that count in {known.name}: "
            f"{_list_cells(missing)}; evaluate them, or pass partial=True to score those that are there"
        )
    entries: dict[str, list[int]] = {}
    for key in wanted:
        if key in places:
            entries.setdefault(key[0], []).append(places[key])
    return entries, f"partial: {len(wanted) - len(missing)} of {len(wanted)} cells" if missing else ""


def number_images(ids: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """The image ids in order, and for every row the place of its image among them."""
    codes, images = pd.factorize(ids.to_numpy())
    order = np.argsort(images)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return images[order], place[codes]


def _number_cells(rows: pd.DataFrame) -> tuple[tuple[tuple[str, int], ...], np.ndarray]:
    """The cells that occur, clean ones first, and for every row the number of its cell."""
    corruption, names = _codes(rows["corruption"])
    severity = rows["severity"].to_numpy(np.int64)
    if severity.min() < 0 or severity.max() > MOST_SEVERITY:
        wrong = severity.min() if severity.min() < 0 else severity.max()
        raise ValueError(f"severity must be a level from 0 to {MOST_SEVERITY}, got {wrong}")
    levels = int(severity.max()) + 1
    code = corruption.astype(np.int64) * levels + severity
    present = np.flatnonzero(np.bincount(code))
    keys = [(names[c // levels], int(c % levels)) for c in present]
    order = sorted(range(len(keys)), key=lambda k: keys[k][0] != CLEAN)  # stable: all others stay as they are
    number = np.empty(int(present[-1]) + 1, np.int64)
    number[present[order]] = np.arange(len(order))
    return tuple(keys[k] for k in order), number[code]


def _check_counts(counts: np.ndarray, model: str, keys: tuple[tuple[str, int], ...], images: np.ndarray) -> None:
    if counts.max() > 1:
        cell, image = np.argwhere(counts > 1)[0]
        raise ValueError(
            f"image {images[image]} occurs {counts[cell, image]} times in {_list_cells([keys[cell]])} of {model}; each "
            "image may occur once in a cell: were the same rows joined twice?"
        )
    if counts.min() == 0:
        short = np.flatnonzero((counts == 0).any(axis=1))
        raise ValueError(
            f"all cells of {model} must hold the same images: of {len(images)} images, {(counts[short[0]] == 0).sum()} "
            f"are missing in {_list_cells([keys[short[0]]])}, and {len(short)} of {len(keys)} cells are short: "
            f"{_list_cells([keys[k] for k in short])}; evaluate those again, or keep the images that all have"
        )


def _list_cells(keys: list[tuple[str, int]], most: int = 8) -> str:
    names = [f"{corruption} {severity}" if severity else corruption for corruption, severity in keys[:most]]
    return ", ".join(names) + (f" and {len(keys) - most} more" if len(keys) > most else "")


def _codes(column: pd.Series) -> tuple[np.ndarray, list[str]]:
    """A whole number for every row, and the text that each number stands for."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        codes, names = column.cat.codes.to_numpy(), column.cat.categories
    else:
        codes, names = pd.factorize(column)
    if codes.min(initial=0) < 0:
        raise ValueError(f"the column {column.name} has {(codes < 0).sum()} rows without a value")
    return codes, [str(name) for name in names]
