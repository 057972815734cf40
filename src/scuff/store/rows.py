"""Rows: one per image and cell, the only thing that an evaluation leaves behind and that metrics need.

A cell's rows lie in one Parquet file. What is the same for the whole cell (model, source, suite, corruption) is stored
as a dictionary of one word, so that a row costs few bytes.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from scuff.store.sealed import BLANK, CHANGED, damaged, is_changed, seal
from scuff.store.store import Store

if TYPE_CHECKING:
    import pandas as pd

CONSTANT = ("model", "source", "suite", "corruption")  # text, the same in all rows of a cell
COLUMNS = {
    "severity": pa.int16(),  # 0: clean, or an entry without levels
    "image_id": pa.int64(),
    "label": pa.int32(),
    "prediction": pa.int32(),
    "confidence": pa.float32(),
}
FRAME_COLUMNS = {"frame": pa.int16(), **{f"rank{rank}": pa.int32() for rank in (2, 3, 4, 5)}}  # of sequences only
FAILURE_COLUMNS = {"failure": pa.float32(), "highest": pa.float32(), "flips_back": pa.bool_()}  # of survival only
FOUND_COLUMNS = {  # of detectors: what was found in an image, and what there is, boxes four numbers after the other
    "boxes": pa.list_(pa.float32()),
    "scores": pa.list_(pa.float32()),
    "labels": pa.list_(pa.int32()),
    "ghosts": pa.list_(pa.bool_()),  # whether a box lies on a mirror image
    "true_boxes": pa.list_(pa.float32()),
    "true_labels": pa.list_(pa.int32()),
    "true_crowd": pa.list_(pa.bool_()),
}
REGION_COLUMNS = {  # of segmenters: pairs of classes, true * (classes + 1) + taken, and how many pixels each has
    "pairs": pa.list_(pa.int32()),
    "counts": pa.list_(pa.int64()),
    "classes": pa.int16(),
}
DIAL_COLUMNS = {"dial": pa.float64()}  # of claims only: a severity in place of a level
STREAM_COLUMNS = {"position": pa.int64(), "segment": pa.int32()}  # of streams only, and so is the text `method`


def write_rows(store: Store, name: str, constant: Mapping[str, str], columns: Mapping[str, Any]) -> None:
    """Write the rows of one cell: `constant` once for all, `columns` (N,) each, or one number for all.

    Rows of a sample or a stream mix cells: their corruptions are a column. Severities of two corruptions at once are
    text.
    """
    count = len(columns["image_id"])
    zeros = pa.array(np.zeros(count, np.int32))
    table = {
        word: pa.array(columns[word]).dictionary_encode()
        if word in columns
        else pa.DictionaryArray.from_arrays(zeros, pa.array([constant[word]]))
        for word in (*CONSTANT, *(["method"] if "method" in constant else []))
    }
    known = {**COLUMNS, **FRAME_COLUMNS, **FAILURE_COLUMNS, **DIAL_COLUMNS, **STREAM_COLUMNS}
    for column, kind in {**known, **FOUND_COLUMNS, **REGION_COLUMNS}.items():
        if column in columns and pa.types.is_list(kind):
            table[column] = _lists(columns[column], kind)
        elif column in columns:
            values = np.broadcast_to(columns[column], count)
            table[column] = pa.array(values).dictionary_encode() if values.dtype == object else pa.array(values, kind)
    file = io.BytesIO()
    sealed = pa.table(table).replace_schema_metadata({"digest": BLANK})
    pq.write_table(sealed, file, compression="zstd", write_page_checksum=True)  # which other programs check as well
    store.write(name, seal(file.getvalue()))


def _lists(values: Sequence[np.ndarray], kind: pa.ListType) -> pa.ListArray:
    """An array of each image as a column of lists."""
    offsets = np.cumsum([0, *map(len, values)], dtype=np.int32)
    flat = np.concatenate(values) if len(values) else np.zeros(0)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(flat, kind.value_type))


def read_rows(store: Store, names: Iterable[str]) -> pd.DataFrame:
    """The rows of several cells as one DataFrame; text columns are categories."""
    names = list(names)
    tables = [_parse(store, name, content) for name, content in zip(names, store.read_each(names), strict=True)]
    if not tables:
        raise ValueError(f"there are no rows in {store.root}: no cell is finished; run the evaluation first")
    table = pa.concat_tables(tables, promote_options="default").unify_dictionaries()
    return table.to_pandas()


def read_columns(store: Store, name: str, columns: list[str]) -> list[np.ndarray]:
    """Some columns of one cell."""
    return next(read_columns_of_each(store, [name], columns))


def read_columns_of_each(store: Store, names: Sequence[str], columns: list[str]) -> Iterator[list[np.ndarray]]:
    """Some columns of many cells, one cell after the other."""
    for name, content in zip(names, store.read_each(names), strict=True):
        table = _parse(store, name, content, columns)
        yield [table[column].to_numpy() for column in columns]


def _parse(store: Store, name: str, content: bytes, columns: list[str] | None = None) -> pa.Table:
    try:
        if is_changed(content):
            raise ValueError(CHANGED)
        table = pq.read_table(io.BytesIO(content), columns=columns, page_checksum_verification=True)
        return table.replace_schema_metadata(None)
    except (ValueError, OSError, pa.ArrowException) as error:
        raise damaged(store, name, error, "evaluation") from error
