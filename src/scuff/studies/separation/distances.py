"""How far apart the classes of a dataset are: the search, its cost, and the folder that keeps what it finds."""

from __future__ import annotations

import io
import math
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch

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
from scuff.store import Settings, Store, check_settings, read_arrays, read_settings, save_settings, write_arrays
from scuff.studies.base import Plan, complete_settings, open_engine_of
from scuff.studies.separation.study import MscrStudy, SeparationStudy
from scuff.studies.sources import left_out_of

SEPARATION = SeparationStudy.file
PAIRS = "pairs.csv"  # of classes
NEAREST = "nearest.npz"  # of every point
TRIAL_SECONDS = 2.0  # after its first part, a search that is only timed is stopped


def plan_separation(study: SeparationStudy) -> Plan[Separation]:
    """Open and check the data and the folder."""
    engine, device = open_engine_of(study)
    work = SeparationWork(study, open_study_points(study), device)
    work.check_folder()
    return Plan(study, {**work.depends_on, **left_out_of(work.points)}, work, work.store, engine)


def open_study_points(study: SeparationStudy | MscrStudy) -> Points:
    """The points of a study; options of opening are for those that are not open yet."""
    options = {name: getattr(study, name) for name in ("label", "scale", "resize", "crop")}
    if not isinstance(study.data, Points):
        return open_points(study.data, **options, skip_unreadable=study.skip_unreadable, progress=study.progress)
    if any(value is not None for value in options.values()):
        raise ValueError(f"{', '.join(options)} are for data that are not opened yet; {study.data.name} is")
    return study.data


class Search(NamedTuple):
    """A search: what becomes of it in `SeparationWork`, its file and about how many bytes that has."""

    result: str
    file: str
    size: int
    function: Callable[..., Any]
    what: str


class _Timed(Exception):
    """Ends a search that is only timed."""


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

    def searches(self) -> list[Search]:
        """The searches that were asked for."""
        classes, points = len({*self.points.labels.tolist()}), len(self.points)
        searches = [Search("separation", SEPARATION, 2000, class_separation, "all points")]
        if self.study.per_class:
            size = 25 * classes * (classes - 1)
            searches.append(Search("pairs", PAIRS, size, class_separations, "pairs of classes"))
        if self.study.per_point:
            searches.append(Search("neighbours", NEAREST, 16 * points, nearest_other_class, "every point"))
        return searches

    def run(self, run: Run) -> None:
        """Do the searches that were asked for."""
        self.measure(run.progress)

    def measure(self, progress: Progress | None = None) -> None:
        """Search, or read what the folder holds already; progress is told (what is compared, done, to do)."""
        for search in self.searches():
            if self.store is not None and self.store.exists(search.file):
                setattr(self, search.result, READERS[search.file](self.store.root))
                continue
            began = time.perf_counter()
            result = self._search(search, progress)
            if self.store is not None:
                self._save(self.store, result, time.perf_counter() - began)
            setattr(self, search.result, result)

    def _search(self, search: Search, progress: Progress | None) -> Any:
        tell = None if progress is None else lambda done, total: progress(search.what, done, total)
        options = {"drop_duplicates": self.study.drop_duplicates, "device": str(self.device), "progress": tell}
        return search.function(self.points.x, self.points.labels, self.study.norm, **options)

    def _save(self, store: Store, result: Separation | pd.DataFrame | Neighbours, seconds: float) -> None:
        """Write what a search has found."""
        points = self.points
        if isinstance(result, pd.DataFrame):
            store.write(PAIRS, result.to_csv(index=False).encode())
        elif isinstance(result, Neighbours):
            arrays: dict[str, Any] = {name: getattr(result, name) for name in ("distances", "rows", "points")}
            arrays |= {} if points.is_test is None else {"is_test": points.is_test}
            arrays |= {"x": points.x, "labels": points.labels} if points.x.shape[1:] == (2,) else {}  # to be drawn
            write_arrays(store, NEAREST, arrays, is_compressed=True)
        else:
            names = ("distance", "epsilon_min", "rows", "labels", "points", "dropped")
            settings = {
                **{name: getattr(result, name) for name in names},
                "class_names": points.class_names,
                "is_image": points.x.dtype == np.uint8,
                **(points.origin or {"data": points.name}),
                **left_out_of(points),
                **self.depends_on,
                "seconds": round(seconds, 3),
                "environment": environment(self.device),
            }
            save_settings(store, SEPARATION, complete_settings(self.study, settings))

    def collect(self) -> Separation:
        """The separation; pairs and neighbours are kept here and in the folder."""
        assert self.separation is not None
        return self.separation

    def cost(self) -> StudyCost:
        """Every search that is left, timed for a few seconds and taken to go on at that pace."""
        estimate = Estimate(self.device)
        for search in self.searches():
            if self.store is None or not self.store.exists(search.file):
                size = 0 if self.store is None else search.size
                estimate.add("search", partial(self._time, search), size, search.what)
        return estimate.total()

    def _time(self, search: Search) -> tuple[float, str]:
        """Seconds that a search takes, and how this was found out."""
        steps: list[tuple[float, int, int]] = []  # when, how many pairs were done, and of how many
        began = time.perf_counter()

        def watch(what: str, done: int, total: int) -> None:
            steps.append((time.perf_counter() - began, done, total))
            if steps[-1][0] - steps[0][0] > TRIAL_SECONDS and steps[0][1] < done < total:
                raise _Timed

        try:
            self._search(search, watch)
            return time.perf_counter() - began, "measured now on all points"
        except _Timed:
            (first, before, _), (last, done, total) = steps[0], steps[-1]
            left = (last - first) * (total - done) / (done - before)
            return last + left, f"measured now on {done / total:.0%} of the pairs, and taken to grow in proportion"

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
    return SeparationStudy.read_settings(directory)


def read_pairs(directory: str | os.PathLike[str]) -> pd.DataFrame | None:
    """The separation of every pair of classes, as `scuff.metrics.class_separations` gives it; None if not computed."""
    store = Store(directory)
    return pd.read_csv(io.BytesIO(store.read(PAIRS))) if store.exists(PAIRS) else None


def read_neighbours(directory: str | os.PathLike[str]) -> Neighbours | None:
    """The nearest point of another class for each point; None if this was not computed."""
    arrays = _read_nearest(directory)
    if not arrays:
        return None
    norm = parse_norm(read_separation(directory)["norm"])
    return Neighbours(arrays["distances"], arrays["rows"], arrays["points"], norm)


def read_is_test(directory: str | os.PathLike[str]) -> np.ndarray | None:
    """Which rows of the data are test points: bool (n,); None without splits, or if neighbours were not computed."""
    return _read_nearest(directory).get("is_test")


def read_plane(directory: str | os.PathLike[str]) -> tuple[np.ndarray, np.ndarray] | None:
    """The points (n, 2) and their labels, if they are of the plane and neighbours were computed."""
    arrays = _read_nearest(directory)
    return (arrays["x"], arrays["labels"]) if "x" in arrays else None


def _read_nearest(directory: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    store = Store(directory)
    return read_arrays(store, NEAREST) if store.exists(NEAREST) else {}


def _read_again(directory: str) -> Separation:
    settings = read_separation(directory)
    pairs = {name: tuple(settings[name]) for name in ("rows", "labels", "dropped")}
    return Separation(settings["distance"], norm=parse_norm(settings["norm"]), points=settings["points"], **pairs)


READERS: dict[str, Callable[[str], Any]] = {SEPARATION: _read_again, PAIRS: read_pairs, NEAREST: read_neighbours}
