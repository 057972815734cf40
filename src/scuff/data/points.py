"""Points: labelled data of any kind as one array, for questions about distances: rows of a table, vectors, images."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from torch.utils.data import DataLoader, Dataset

from scuff.arrays import feed
from scuff.data.labelled_arrays import SCALES, check_pair, number_labels, read_labelled, scale_features
from scuff.data.open import SPLITS, forms, has_splits, open_source
from scuff.data.pixels import load_pixels
from scuff.data.readable import Progress, readable
from scuff.data.source import ClassMap, Source
from scuff.data.tables import label_column, read_table, split_table
from scuff.pictures import Cut

if TYPE_CHECKING:
    import pandas as pd

FILES = {"csv": "table", "npz": "arrays"}

Arrays = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class Points:
    """Labelled points.

    `x` is (n, ...): uint8 for pixels, whose unit is 255, float64 for everything else. `labels` are int64 (n,), counted
    from 0, and name a class in `class_names`. `features` names the columns of a table. `is_test` marks the points of
    the second split where data come with two: those of the first one come first. `origin` says how to open them again,
    as arguments of `open_points`. `classes` are the outputs of a model that count, where a source says so.
    `label_column` is the column of a table that held the classes.
    """

    name: str
    x: np.ndarray = field(repr=False)
    labels: np.ndarray = field(repr=False)
    class_names: tuple[str, ...] = field(repr=False)
    features: tuple[str, ...] = field(default=(), repr=False)
    is_test: np.ndarray | None = field(default=None, repr=False)
    origin: Mapping[str, Any] = field(default_factory=dict, repr=False)
    unreadable: Mapping[str, str] = field(default_factory=dict, repr=False)  # pictures that were left out, with reasons
    classes: ClassMap | None = field(default=None, repr=False)
    label_column: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if len(self.labels) != len(self.x):
            raise ValueError(f"{self.name}: {len(self.x)} points need as many labels, got {len(self.labels)}")
        if not len(self):
            raise ValueError(f"{self.name} has no points")
        if self.labels.min() == self.labels.max():
            only = self.class_names[self.labels[0]]
            raise ValueError(f"{self.name}: expected at least two classes, but all points are of class {only!r}")

    def __len__(self) -> int:
        return len(self.labels)

    def fingerprint(self) -> str:
        """A hash of points, labels, splits and names of classes and features. Other scales make other data."""
        about = (self.x.shape, self.x.dtype.str, self.class_names, self.features, self.is_test is None)
        state = hashlib.blake2b(repr(about).encode(), digest_size=8)
        for array in (self.x, self.labels, self.is_test):
            if array is not None:
                feed(state, array)
        return state.hexdigest()

    def vectors(self) -> np.ndarray:
        """The points as vectors (n, d), which most estimators want: pixels as float32 from 0 to 1, all else float64."""
        flat = self.x.reshape(len(self), -1)
        return np.divide(flat, 255, dtype=np.float32) if flat.dtype == np.uint8 else flat


def open_points(
    data: Any,
    *,
    label: str | None = None,
    scale: str | None = None,
    resize: int | None = None,
    crop: int | None = None,
    skip_unreadable: bool = False,
    progress: Progress | None = None,
) -> Points:
    """Open labelled points, and refuse what would make their distances meaningless.

    Parameters
    ----------
    data
        A table, as `FILE.csv` or as a DataFrame; arrays, as `FILE.npz` or as a pair (x, labels); or images, at any
        address of `open_source`, as a Source, or as a torch Dataset or DataLoader. Of data with two splits both are
        taken, the training points first.
    label
        The column of a table that holds the classes, words or numbers. Default: the one called label, class, target or
        y, else the last.
    scale
        Numbers must lie in [0, 1], so that no feature outweighs the others by its unit. "minmax" brings every feature
        there, from its smallest value to its largest; "none" takes numbers as they are. Bytes are pixels, from 0 to
        255, and need no scale.
    resize, crop
        For pictures: the shorter side, then the middle square, so that all have one size.
    skip_unreadable, progress
        Go on without pictures that cannot be read, instead of listing them and stopping; called with what is being
        done, how much is done, and how much there is to do.

    Examples
    --------
    >>> points = open_points((np.array([[0.1, 0.2], [0.5, 0.9]]), ["safe", "unsafe"]))
    >>> points.labels, points.class_names
    (array([0, 1]), ('safe', 'unsafe'))
    """
    if scale not in (None, *SCALES):
        raise ValueError(f"scale must be {' or '.join(SCALES)}, or left out; got {scale!r}")
    data = os.fspath(data) if isinstance(data, os.PathLike) else data
    kind = _kind(data)
    given: Any = data
    if label is not None and kind != "table":
        raise ValueError(f"label names a column of a table, but {_call(data)} is none; leave out {label!r}")
    if (resize, crop) != (None, None) and kind != "images":
        raise ValueError(f"resize and crop are for pictures, which {_call(data)} does not hold; leave them out")
    if kind == "table":
        points = _from_table(given, label, scale)
    elif kind == "arrays":
        points = _from_arrays(given, scale)
    else:
        cut = None if (resize, crop) == (None, None) else Cut(resize, crop)
        points = _from_images(given, scale, cut, lambda source: readable(source, skip_unreadable, progress))
    address = data if isinstance(data, str) else points.name
    return replace(points, origin={"data": address, "label": label, "scale": scale, "resize": resize, "crop": crop})


def _kind(data: object) -> str:
    """What points come from: a table, arrays, or images."""
    if isinstance(data, (Source, Dataset, DataLoader)):
        return "images"
    if isinstance(data, tuple):
        return "arrays"
    if isinstance(data, str):
        form, colon, _ = data.partition(":")
        suffix = Path(data).suffix.lower().removeprefix(".")
        if colon and form in FILES:
            return FILES[form]
        if form not in forms() and suffix in FILES:
            return FILES[suffix]
        if form not in forms() and Path(data).is_file():
            raise ValueError(f"expected a table FILE.csv or arrays FILE.npz, got the file {data}")
        return "images"
    import pandas as pd

    if isinstance(data, pd.DataFrame):
        return "table"
    raise ValueError(
        f"expected FILE.csv, FILE.npz, the address of a source, a pair (x, labels) or a DataFrame, got a {_call(data)}"
    )


def _call(data: object) -> str:
    return data if isinstance(data, str) else data.name if isinstance(data, Source) else type(data).__name__


def _existing(data: str) -> Path:
    path = Path(data.removeprefix("csv:").removeprefix("npz:")).expanduser()
    if not path.is_file():
        raise ValueError(f"there is no file {path}")
    return path


# --- the three kinds ------------------------------------------------------------------------------------------------


def _from_table(data: str | pd.DataFrame, label: str | None, scale: str | None) -> Points:
    path = _existing(data) if isinstance(data, str) else None
    name = "table" if path is None else path.stem
    table = data if path is None else read_table(path, label)
    chosen = label_column(name, table, label)
    x, labels, class_names, features = split_table(name, table, chosen)
    return Points(name, scale_features(name, x, scale, features), labels, class_names, features, label_column=chosen)


def _from_arrays(data: str | Arrays, scale: str | None) -> Points:
    if isinstance(data, str):
        path = _existing(data)
        name, (x, labels, is_test) = path.stem, read_labelled(path)
    elif len(data) == 2:
        name, x, labels, is_test = "points", *map(np.asarray, data), None
    else:
        raise ValueError(f"expected a pair (x, labels), got {len(data)} things")
    check_pair(name, x, labels)
    if x.dtype == np.uint8 and x.ndim > 2:
        _refuse_scale(name, scale)
    if x.dtype != np.uint8 or scale is not None:
        x = scale_features(name, x, scale)
    return Points(name, x, *number_labels(name, labels), is_test=is_test)


def _from_images(data: Any, scale: str | None, cut: Cut | None, tried: Callable[[Source], Source]) -> Points:
    sources = _open_splits(data)
    name, class_names = sources[0].name, sources[0].class_names
    _refuse_scale(name, scale)
    sources = [*map(tried, sources)]
    unreadable = {file: reason for source in sources for file, reason in (source.unreadable or {}).items()}
    images = [_pixels(source, cut) for source in sources]
    if len({array.shape[1:] for array in images}) > 1:
        sizes = " and ".join(str(array.shape[1:]) for array in images)
        raise ValueError(f"{name}: expected images of one size, got {sizes}; give them one with --resize and --crop")
    labels = np.concatenate([source.labels for source in sources])
    if len(images) == 1:
        return Points(name, images[0], labels, class_names, classes=sources[0].classes, unreadable=unreadable)
    is_test = np.repeat([False, True], [*map(len, images)])
    return Points(name, np.concatenate(images), labels, class_names, is_test=is_test, unreadable=unreadable)


def _open_splits(address: Any) -> list[Source]:
    """Both splits of an address that has two, else what there is."""
    name, _, place = address.partition(":") if isinstance(address, str) else ("", "", "")
    two = has_splits(address)
    if two and name in forms() and forms()[name].any_split:  # of one dataset saved by itself, every split is the same
        two = (Path(place).expanduser() / "dataset_dict.json").is_file()
    sources = [open_source(address, split) for split in SPLITS] if two else [open_source(address)]
    clean = [source for source in sources if isinstance(source, Source)]
    if len(clean) < len(sources):
        raise ValueError(f"{address} holds images that are corrupted already; give the clean ones")
    return clean


def _pixels(source: Source, cut: Cut | None) -> np.ndarray:
    """All images of a source: uint8 (n, H, W) or (n, H, W, C)."""
    if not source.has_pictures:
        source.check_cut(cut)
        return source.images.array
    loaded = load_pixels(source, cut)
    if loaded.images is None:
        raise ValueError(f"{source.name}: distances need all pictures in memory; make them smaller with --resize")
    return loaded.images.permute(0, 2, 3, 1).numpy()


def _refuse_scale(name: str, scale: str | None) -> None:
    if scale is not None:
        raise ValueError(f"{name} holds images of bytes, from 0 to 255, which are scaled alike; leave out {scale!r}")
