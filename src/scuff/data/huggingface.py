"""Datasets that Hugging Face's `datasets` has saved to disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from scuff.data.folders import check_folder
from scuff.data.source import Source, whole_labels
from scuff.data.stored import StoredRows
from scuff.packages import need


def open_saved_dataset(path: Path, split: str) -> Source:
    """`hf:DIR`: what `save_to_disk` has written, a dataset or a dictionary of them by split."""
    need(f"hf:{path}", "datasets")
    import datasets

    check_folder(path)
    try:
        saved = datasets.load_from_disk(str(path))
    except Exception as error:  # of many kinds: its files are JSON and Arrow
        raise ValueError(f"cannot read {path} as a saved dataset: {error}") from error
    if isinstance(saved, datasets.DatasetDict):
        if split not in saved:
            raise ValueError(f"{path} has no split {split!r}; it has {', '.join(saved)}")
        saved = saved[split]
    images = _only_column(path, saved, datasets.Image, "pictures (datasets.Image)")
    classes = _only_column(path, saved, datasets.ClassLabel, "classes (datasets.ClassLabel)")
    labels = np.array(saved.with_format("numpy")[classes])
    pictures = saved.select_columns([images]).cast_column(images, datasets.Image(decode=False))
    names = tuple(saved.features[classes].names)
    ids = np.arange(len(saved))
    return Source(path.resolve().name, StoredRows(pictures, images), whole_labels(str(path), labels), ids, names)


def _only_column(path: Path, saved: Any, kind: type, what: str) -> str:
    matching = [name for name, feature in saved.features.items() if isinstance(feature, kind)]
    if len(matching) != 1:
        columns = ", ".join(f"{name} ({type(feature).__name__})" for name, feature in saved.features.items())
        raise ValueError(
            f"{path}: expected one column of {what}, found {len(matching)} among {columns}; remove_columns helps"
        )
    return matching[0]
