"""How far apart the classes of a dataset are, kept in a folder.

Twice r, the distance between the nearest points of different classes, says how much noise a classifier has to bear:
balls of radius r around all points overlap nowhere but within a class, so no noise within them excuses a mistake. That
radius is epsilon_min. The distances themselves are found by `scuff.metrics.class_separation` and its siblings.
"""

from __future__ import annotations

import io
import json
import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import torch

import scuff
from scuff.arrays import reading_arrays
from scuff.data import Points, open_points
from scuff.engine import Progress
from scuff.environment import environment, find_device
from scuff.metrics.norms import parse_norm
from scuff.metrics.separation.classes import (
    Neighbours,
    Separation,
    class_separation,
    class_separations,
    nearest_other_class,
)
from scuff.store import Settings, Store, check_settings, read_settings

SEPARATION = "separation.json"
PAIRS = "pairs.csv"  # of classes
NEAREST = "nearest.npz"  # of every point


@dataclass(frozen=True, eq=False)
class Measured:
    """A separation, and what else was asked for: that of each pair of classes, and each point's nearest neighbour."""

    separation: Separation
    pairs: pd.DataFrame | None = None
    neighbours: Neighbours | None = None


def separation(
    data: Any,
    out: str | os.PathLike[str] | None = None,
    *,
    norm: float | str = "inf",
    label: str | None = None,
    scale: str | None = None,
    resize: int | None = None,
    crop: int | None = None,
    drop_duplicates: bool = False,
    per_class: bool = False,
    per_point: bool = False,
    device: str | torch.device | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Separation:
    """Find the separation of the classes of a dataset.

    Parameters
    ----------
    data, label, scale, resize, crop
        As in `scuff.data.open_points`, or Points.
    out
        A folder for `separation.json` and what is asked for below. What is there is not computed again.
    norm
        "inf", 2, 1 or any other p of at least 1.
    drop_duplicates
        Points that coincide with points of another class are an error; with this they are left out.
    per_class, per_point
        Also the separation of every pair of classes, in `pairs.csv`, and of every point the nearest one of another
        class, in `nearest.npz`; for a folder. Of 60 000 small images this takes a minute on two cores.
    device
        By default the GPU if there is one.
    progress
        Called with (pairs done, pairs to do).

    >>> import numpy as np
    >>> separation((np.array([[0.0, 0.0], [0.1, 0.3], [1.0, 1.0]]), ["a", "b", "b"])).epsilon_min
    0.15
    """
    options = {"label": label, "scale": scale, "resize": resize, "crop": crop}
    points = open_points(data, **options) if not isinstance(data, Points) else data
    if isinstance(data, Points) and any(value is not None for value in options.values()):
        raise ValueError(f"{', '.join(options)} are for data that are not opened yet; {data.name} is")
    found = measure_separation(
        points,
        out,
        norm=norm,
        drop_duplicates=drop_duplicates,
        per_class=per_class and out is not None,
        per_point=per_point and out is not None,
        device=device,
        progress=None if progress is None else lambda what, done, total: progress(done, total),
    )
    return found.separation


def measure_separation(
    points: Points,
    out: str | os.PathLike[str] | None = None,
    *,
    norm: float | str = "inf",
    drop_duplicates: bool = False,
    per_class: bool = False,
    per_point: bool = False,
    device: str | torch.device | None = None,
    progress: Progress | None = None,
) -> Measured:
    """The same of points, with all that was asked for. `progress` is called with (what is compared, done, to do)."""
    where, p = find_device(device), parse_norm(norm)
    store = None if out is None else Store(out)
    depends_on = _settings(points, p, drop_duplicates)
    if store is not None:
        check_folder(store.root, points, p, drop_duplicates)

    def search(function: Callable[..., Any], what: str) -> Any:
        told = None if progress is None else lambda done, total: progress(what, done, total)
        return function(points.x, points.labels, p, drop_duplicates=drop_duplicates, device=str(where), progress=told)

    def find(name: str, read: Callable[[str], Any], compute: Callable[[], Any], pack: Callable[[Any], bytes]) -> Any:
        """What the folder holds already, or what is computed now, and kept if there is a folder."""
        if store is not None and store.exists(name):
            return read(store.root)
        found = compute()
        if store is not None:
            store.write(name, pack(found))
        return found

    start = time.perf_counter()
    found = find(
        SEPARATION,
        lambda root: _separation(read_separation(root)),
        lambda: search(class_separation, "all points"),
        lambda found: _describe(found, points, depends_on, where, time.perf_counter() - start),
    )
    pairs = neighbours = None
    if per_class:
        compute = partial(search, class_separations, "pairs of classes")
        pairs = find(PAIRS, read_pairs, compute, lambda pairs: pairs.to_csv(index=False).encode())
    if per_point:
        compute = partial(search, nearest_other_class, "every point")
        neighbours = find(NEAREST, read_neighbours, compute, lambda found: _pack(found, points.is_test))
    return Measured(found, pairs, neighbours)


# --- the folder -------------------------------------------------------------------------------------------------------


def read_separation(directory: str | os.PathLike[str]) -> Settings:
    """What `separation.json` says: the distance, the pair that attains it, and what it was computed from."""
    store = Store(directory)
    if not store.exists(SEPARATION):
        raise ValueError(f"there is no {SEPARATION} in {store.root}; scuff separation DATA --out {store.root} makes it")
    return read_settings(store, SEPARATION)


def read_pairs(directory: str | os.PathLike[str]) -> pd.DataFrame | None:
    """The separation of every pair of classes, as `scuff.metrics.class_separations` gives it; None if not computed."""
    store = Store(directory)
    return pd.read_csv(io.BytesIO(store.read(PAIRS))) if store.exists(PAIRS) else None


def read_neighbours(directory: str | os.PathLike[str]) -> Neighbours | None:
    """Of every point the nearest one of another class; None if this was not computed."""
    arrays = _unpack(directory)
    if arrays is None:
        return None
    norm = parse_norm(read_separation(directory)["norm"])
    return Neighbours(arrays["distances"], arrays["rows"], arrays["points"], norm)


def read_is_test(directory: str | os.PathLike[str]) -> np.ndarray | None:
    """Which rows of the data are test points: bool (n,); None without splits, or if neighbours were not computed."""
    arrays = _unpack(directory)
    return None if arrays is None else arrays.get("is_test")


def _settings(points: Points, p: float, drop_duplicates: bool) -> Settings:
    """What a separation depends on."""
    norm = "inf" if math.isinf(p) else p
    return {"data_fingerprint": points.fingerprint(), "norm": norm, "drop_duplicates": drop_duplicates}


def check_folder(directory: str | os.PathLike[str], points: Points, p: float, drop_duplicates: bool) -> None:
    """Refuse a folder whose separation is of other data, or was found with other settings."""
    store, depends_on = Store(directory), _settings(points, p, drop_duplicates)
    if store.exists(SEPARATION):
        noted_only = tuple(name for name in read_settings(store, SEPARATION) if name not in depends_on)
        check_settings(store, SEPARATION, depends_on, noted_only)
        return
    orphans = [name for name in (PAIRS, NEAREST) if store.exists(name)]
    if orphans:
        raise ValueError(f"{store.root} holds {orphans[0]} without the {SEPARATION} it belongs to; use another folder")


def _describe(found: Separation, points: Points, depends_on: Settings, device: torch.device, seconds: float) -> bytes:
    """The content of `separation.json`."""
    about = {
        "distance": found.distance,
        "epsilon_min": found.epsilon_min,
        "rows": found.rows,
        "labels": found.labels,
        "points": found.points,
        "dropped": found.dropped,
        "class_names": points.class_names,
        "is_image": points.x.dtype == np.uint8,
        **(points.origin or {"data": points.name}),
        **depends_on,
        "seconds": round(seconds, 3),
        "environment": environment(device),
        "scuff": scuff.__version__,
    }
    return (json.dumps(about, indent=2) + "\n").encode()


def _separation(about: Settings) -> Separation:
    pairs = {name: tuple(about[name]) for name in ("rows", "labels", "dropped")}
    return Separation(distance=about["distance"], norm=parse_norm(about["norm"]), points=about["points"], **pairs)


def _pack(neighbours: Neighbours, is_test: np.ndarray | None) -> bytes:
    arrays = {name: getattr(neighbours, name) for name in ("distances", "rows", "points")}
    file = io.BytesIO()
    np.savez_compressed(file, **arrays, **({} if is_test is None else {"is_test": is_test}))
    return file.getvalue()


def _unpack(directory: str | os.PathLike[str]) -> dict[str, np.ndarray] | None:
    store = Store(directory)
    if not store.exists(NEAREST):
        return None
    with reading_arrays(f"{store.root}/{NEAREST}"):
        return dict(np.load(io.BytesIO(store.read(NEAREST)), allow_pickle=False))
