"""How far apart the classes of a dataset are: the search, its cost, and the folder that keeps what it finds."""

from __future__ import annotations

import io
import math
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import torch

from scuff.arrays import reading_arrays
from scuff.data import Points, open_points
from scuff.engine import Progress, Run
from scuff.engine.cost import Estimate, StudyCost
from scuff.environment import environment
from scuff.metrics.norms import parse_norm
from scuff.metrics.separation.classes import (
    Neighbours,
    Separation,
    class_separation,
    class_separations,
    nearest_other_class,
)
from scuff.store import Settings, Store, check_settings, read_settings, save_settings
from scuff.studies.base import Plan, complete_settings, open_engine_of
from scuff.studies.separation.study import MscrStudy, SeparationStudy

SEPARATION = SeparationStudy.file
PAIRS = "pairs.csv"  # of classes
NEAREST = "nearest.npz"  # of every point
TRIAL_SECONDS = 2.0  # after its first part, a search that is only timed is stopped


class _Timed(Exception):
    """Ends a search that is only timed."""


def plan_separation(study: SeparationStudy) -> Plan[Separation]:
    """Open and check the data and the folder."""
    engine, device = open_engine_of(study)
    work = SeparationWork(study, open_study_points(study), device)
    work.check_folder()
    return Plan(study, work.depends_on, work, work.store, engine)


def open_study_points(study: SeparationStudy | MscrStudy) -> Points:
    """The points of a study; options of opening are for those that are not open yet."""
    options = {name: getattr(study, name) for name in ("label", "scale", "resize", "crop")}
    if not isinstance(study.data, Points):
        return open_points(study.data, **options)
    if any(value is not None for value in options.values()):
        raise ValueError(f"{', '.join(options)} are for data that are not opened yet; {study.data.name} is")
    return study.data


@dataclass(eq=False)
class SeparationWork:
    """The searches of a study, of which those in the folder are not repeated, and what they found."""

    study: SeparationStudy
    points: Points = field(repr=False)
    device: torch.device
    separation: Separation | None = None
    pairs: pd.DataFrame | None = field(default=None, repr=False)
    neighbours: Neighbours | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        p = parse_norm(self.study.norm)
        self.store = None if self.study.out is None else Store(self.study.out)
        self.depends_on: Settings = {
            "data_fingerprint": self.points.fingerprint(),
            "norm": "inf" if math.isinf(p) else p,
            "drop_duplicates": self.study.drop_duplicates,
        }

    def check_folder(self) -> None:
        """Refuse a folder whose separation is that of other data, or was found with other settings."""
        if self.store is None:
            return
        if self.store.exists(SEPARATION):
            noted_only = tuple(name for name in read_settings(self.store, SEPARATION) if name not in self.depends_on)
            check_settings(self.store, SEPARATION, self.depends_on, noted_only)
            return
        orphans = [name for name in (PAIRS, NEAREST) if self.store.exists(name)]
        if orphans:
            raise ValueError(
                f"{self.store.root} holds {orphans[0]} without the {SEPARATION} it belongs to; use another folder"
            )

    def run(self, run: Run) -> None:
        """Do the searches that were asked for."""
        self.measure(run.progress)

    def measure(self, progress: Progress | None = None) -> None:
        """Search, or read what the folder holds already; progress is told (what is compared, done, to do)."""
        began = time.perf_counter()
        self.separation = self._find(
            SEPARATION,
            lambda root: _separation(read_separation(root)),
            lambda: self._search(class_separation, "all points", progress),
            lambda separation: self._save(separation, time.perf_counter() - began),
        )
        if self.study.per_class:
            self.pairs = self._find(
                PAIRS,
                read_pairs,
                lambda: self._search(class_separations, "pairs of classes", progress),
                lambda pairs: self.store.write(PAIRS, pairs.to_csv(index=False).encode()),
            )
        if self.study.per_point:
            self.neighbours = self._find(
                NEAREST,
                read_neighbours,
                lambda: self._search(nearest_other_class, "every point", progress),
                lambda neighbours: self.store.write(NEAREST, _pack(neighbours, self.points.is_test)),
            )

    def _find(self, name: str, read: Callable, compute: Callable, write: Callable) -> Any:
        """What the folder holds already, else what is computed now, which is kept if there is a folder."""
        if self.store is not None and self.store.exists(name):
            return read(self.store.root)
        result = compute()
        if self.store is not None:
            write(result)
        return result

    def _search(self, function: Callable[..., Any], what: str, progress: Progress | None) -> Any:
        tell = None if progress is None else lambda done, total: progress(what, done, total)
        drop, x, labels = self.study.drop_duplicates, self.points.x, self.points.labels
        return function(x, labels, self.study.norm, drop_duplicates=drop, device=str(self.device), progress=tell)

    def _save(self, separation: Separation, seconds: float) -> None:
        """Write `separation.json`."""
        points = self.points
        result = {
            "distance": separation.distance,
            "epsilon_min": separation.epsilon_min,
            "rows": separation.rows,
            "labels": separation.labels,
            "points": separation.points,
            "dropped": separation.dropped,
            "class_names": points.class_names,
            "is_image": points.x.dtype == np.uint8,
            **(points.origin or {"data": points.name}),
            **self.depends_on,
            "seconds": round(seconds, 3),
            "environment": environment(self.device),
        }
        save_settings(self.store, SEPARATION, complete_settings(self.study, result))

    def collect(self) -> Separation:
        """The separation; pairs and neighbours are kept here and in the folder."""
        return self.separation

    def cost(self) -> StudyCost:
        """Every search that is left, timed for a few seconds and taken to go on at that pace."""
        classes, points = len({*self.points.labels.tolist()}), len(self.points)
        searches = [(SEPARATION, class_separation, "all points", 2000)]
        if self.study.per_class:
            searches.append((PAIRS, class_separations, "pairs of classes", 25 * classes * (classes - 1)))
        if self.study.per_point:
            searches.append((NEAREST, nearest_other_class, "every point", 16 * points))  # type: ignore[arg-type]
        estimate = Estimate(self.device)
        for file, function, what, size in searches:
            if self.store is None or not self.store.exists(file):
                estimate.add("search", partial(self._time, function, what), size if self.store else 0, what)
        return estimate.total()

    def _time(self, function: Callable[..., Any], what: str) -> tuple[float, str]:
        """Seconds that a search takes, and how this was found out."""
        told: list[tuple[float, int]] = []  # when, and how many pairs were done
        began, whole = time.perf_counter(), 0

        def watch(what: str, done: int, total: int) -> None:
            nonlocal whole
            told.append((time.perf_counter() - began, done))
            whole = total
            if told[-1][0] - told[0][0] > TRIAL_SECONDS and told[0][1] < done < total:
                raise _Timed

        try:
            self._search(function, what, watch)
            return time.perf_counter() - began, "measured now on all points"
        except _Timed:
            (first, before), (last, done) = told[0], told[-1]
            left = (last - first) * (whole - done) / (done - before)
            return last + left, f"measured now on {done / whole:.0%} of the pairs, and taken to grow in proportion"

    def describe(self) -> Iterator[str]:
        """Points and classes."""
        yield describe_points(self.points)
        if self.points.label_column is not None and self.points.origin["label"] is None:
            yield f"Classes: column {self.points.label_column}"


def describe_points(points: Points) -> str:
    """Name, number, shape and classes of points."""
    shape, classes = " x ".join(map(str, points.x.shape[1:])), len({*points.labels.tolist()})
    return f"Data: {points.name}, {len(points)} points ({shape}), {classes} classes"


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
    """The nearest point of another class for each point; None if this was not computed."""
    arrays = _unpack(directory)
    if arrays is None:
        return None
    norm = parse_norm(read_separation(directory)["norm"])
    return Neighbours(arrays["distances"], arrays["rows"], arrays["points"], norm)


def read_is_test(directory: str | os.PathLike[str]) -> np.ndarray | None:
    """Which rows of the data are test points: bool (n,); None without splits, or if neighbours were not computed."""
    arrays = _unpack(directory)
    return None if arrays is None else arrays.get("is_test")


def _separation(settings: Settings) -> Separation:
    pairs = {name: tuple(settings[name]) for name in ("rows", "labels", "dropped")}
    norm = parse_norm(settings["norm"])
    return Separation(distance=settings["distance"], norm=norm, points=settings["points"], **pairs)


def _pack(neighbours: Neighbours, is_test: np.ndarray | None) -> bytes:
    arrays = {name: getattr(neighbours, name) for name in ("distances", "rows", "points")}
    file = io.BytesIO()
    np.savez_compressed(file, **arrays, **({} if is_test is None else {"is_test": is_test}))  # type: ignore[arg-type]
    return file.getvalue()


def _unpack(directory: str | os.PathLike[str]) -> dict[str, np.ndarray] | None:
    store = Store(directory)
    if not store.exists(NEAREST):
        return None
    with reading_arrays(f"{store.root}/{NEAREST}"):  # type: ignore[arg-type]
        return dict(np.load(io.BytesIO(store.read(NEAREST)), allow_pickle=False))
