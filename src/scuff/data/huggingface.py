"""Datasets of Hugging Face's `datasets`: saved to disk, or read from the hub as a stream."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from scuff.data.source import Source, numbered, whole_labels
from scuff.data.stored import StoredBytes, StoredRows
from scuff.memory import available_memory
from scuff.packages import need

HUB = re.compile(r"(?P<name>\w[\w.-]*(/\w[\w.-]*)?)(:(?P<split>[\w.-]+))?")
INTEGERS = ("label", "labels", "class", "target", "y")  # columns of whole numbers that may be classes


def open_dataset(place: str, split: str) -> Source:
    """`hf:DIR`: what `save_to_disk` has written, or a folder of Parquet files. `hf:NAME` or `hf:NAME:SPLIT`: a stream.

    A stream comes from the hub, or from any place where `datasets` finds it, and is not stored on disk.
    """
    need(f"hf:{place}", "datasets")
    path = Path(place).expanduser()
    if path.is_dir() and (_is_saved(path) or not any(path.rglob("*.parquet"))):
        return _open_saved(path, split)
    named = HUB.fullmatch(place)
    if path.is_dir():
        return _open_stream(str(path), path.resolve().name, split)
    if path.exists() or named is None:
        raise ValueError(f"there is no folder {place}, wanted by hf:{place}, nor can this be the name of a dataset")
    return _open_stream(named["name"], named["name"].rpartition("/")[2], named["split"] or split)


def _is_saved(path: Path) -> bool:
    return any((path / name).exists() for name in ("state.json", "dataset_dict.json"))


def _open_saved(path: Path, split: str) -> Source:
    import datasets

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


def _open_stream(place: str, name: str, split: str) -> Source:
    """All rows of a stream, in order, with pictures as they are encoded, in memory. A row's number is its id."""
    import datasets

    try:
        stream = datasets.load_dataset(place, split=split, streaming=True)
        if stream.features is None:
            stream = stream._resolve_features()
    except Exception as error:  # of the network, of the hub and of its files
        raise ValueError(f"cannot stream the split {split!r} of {place}: {error}") from error
    images = _only_column(place, stream, datasets.Image, "pictures (datasets.Image)")
    classes = _class_column(place, stream)
    pictures = stream.select_columns([images, classes]).cast_column(images, datasets.Image(decode=False))
    content, places, labels = bytearray(), [], []
    most = available_memory() // 2
    for row in pictures:
        encoded = (row[images] or {}).get("bytes") or b""
        places.append((len(content), len(encoded)))
        labels.append(row[classes])
        content += encoded
        if len(content) > most:
            raise ValueError(
                f"{place}: more than {len(labels)} pictures do not fit into half of the free memory, "
                f"{most / 2**30:.1f} GiB; load the dataset, save_to_disk, and give hf:DIR"
            )
    if not labels:
        raise ValueError(f"{place} has no rows in its split {split!r}")
    numbers = whole_labels(place, np.array(labels))
    feature = stream.features[classes]
    names = tuple(feature.names) if isinstance(feature, datasets.ClassLabel) else numbered(place, numbers)
    stored = StoredBytes(np.frombuffer(content, np.uint8), np.array(places, np.int64))
    return Source(name, stored, numbers, np.arange(len(numbers)), names)


def _class_column(place: str, stream: Any) -> str:
    """The column of classes, or, without one, a column of whole numbers that is called like it."""
    import datasets

    if not any(isinstance(feature, datasets.ClassLabel) for feature in stream.features.values()):
        whole = [name for name, feature in stream.features.items() if "int" in str(getattr(feature, "dtype", ""))]
        called = [name for name in whole if name in INTEGERS]
        if len(called) == 1:
            return called[0]
    return _only_column(place, stream, datasets.ClassLabel, "classes (datasets.ClassLabel)")


def _only_column(place: object, saved: Any, kind: type, what: str) -> str:
    matching = [name for name, feature in saved.features.items() if isinstance(feature, kind)]
    if len(matching) != 1:
        columns = ", ".join(f"{name} ({type(feature).__name__})" for name, feature in saved.features.items())
        raise ValueError(
            f"{place}: expected one column of {what}, found {len(matching)} among {columns}; remove_columns helps"
        )
    return matching[0]
