"""Accuracies of models that were each trained on some corruption, tested on images with each corruption.

Overlap, coverage and balance are functions of this table. A study makes one; a table of your own will do:

    trained_on,tested_on,seed,accuracy
    standard,clean,0,0.94
    standard,noc-candidates/rain,0,0.71
    noc-candidates/rain,clean,0,0.93
    ...
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import pandas as pd

from scuff.metrics.evaluation.tables import CLEAN
from scuff.metrics.long_tables import read_long
from scuff.suites import Suite

STANDARD = "standard"  # the model that was trained on clean images only
COLUMNS = ("trained_on", "tested_on", "accuracy")


@dataclass(frozen=True, eq=False)
class Accuracies:
    """Shares of right predictions, `values[s, i, j]`: seed s, the model trained with i, images corrupted by j.

    Corruptions are named by their addresses, `suite/entry`. Row `standard` is the model trained on clean images, column
    `clean` are clean images. `hits`, where it is known, says for every image whether it was right, (seeds, rows,
    columns, images); intervals rest on it if there is only one seed. `suites` holds the suites of the addresses.

    >>> table = Accuracies(("standard", "a/fog"), ("clean", "a/fog"), np.array([[[0.9, 0.5], [0.9, 0.8]]]))
    >>> table.corruptions, float(table.of("standard", "a/fog")[0])
    (('a/fog',), 0.5)
    """

    trained_on: tuple[str, ...]
    tested_on: tuple[str, ...]
    values: np.ndarray = field(repr=False)
    seeds: tuple[int, ...] = (0,)
    hits: np.ndarray | None = field(default=None, repr=False)
    images: int | None = None
    suites: tuple[Suite, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        shape = (len(self.seeds), len(self.trained_on), len(self.tested_on))
        if self.values.shape != shape:
            raise ValueError(f"expected accuracies (seeds, models, tests) = {shape}, got {self.values.shape}")
        if self.hits is not None and self.hits.shape[:3] != shape:
            raise ValueError(f"expected hits (seeds, models, tests, images) = {(*shape, '...')}, got {self.hits.shape}")
        for what, names in (("models", self.trained_on), ("tests", self.tested_on)):
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise ValueError(f"these {what} occur twice: {', '.join(twice)}")
        bad = ~((self.values >= 0) & (self.values <= 1))
        if bad.any():
            _, row, column = np.argwhere(bad)[0]
            raise ValueError(
                f"accuracies are shares from 0 to 1, got {self.values[bad][0]} for the model of "
                f"{self.trained_on[row]} on {self.tested_on[column]}"
            )

    @property
    def corruptions(self) -> tuple[str, ...]:
        """Those for which there is both a model trained with them, and a test."""
        return tuple(name for name in self.trained_on if name in self.tested_on)

    def of(self, trained_on: str, tested_on: str) -> np.ndarray:
        """The accuracies of one model on one test, one per seed."""
        return self.values[:, self.row(trained_on), self.column(tested_on)]

    def row(self, trained_on: str) -> int:
        """The place of a model."""
        return _place(self.trained_on, trained_on, "model trained with")

    def column(self, tested_on: str) -> int:
        """The place of a test."""
        return _place(self.tested_on, tested_on, "test on")

    def take(self, trained_on: Sequence[str], tested_on: Sequence[str]) -> Accuracies:
        """Some of the models and tests, in the given order."""
        rows, columns = [self.row(name) for name in trained_on], [self.column(name) for name in tested_on]
        chosen = np.ix_(range(len(self.seeds)), rows, columns)
        hits = None if self.hits is None else self.hits[chosen]
        return Accuracies(
            tuple(trained_on), tuple(tested_on), self.values[chosen], self.seeds, hits, self.images, self.suites
        )

    def to_frame(self) -> pd.DataFrame:
        """One line per seed, model and test: the columns trained_on, tested_on, seed, accuracy."""
        names = [self.seeds, self.trained_on, self.tested_on]
        index = pd.MultiIndex.from_product(names, names=["seed", "trained_on", "tested_on"])
        frame = pd.Series(self.values.ravel(), index, name="accuracy").reset_index()
        return frame[["trained_on", "tested_on", "seed", "accuracy"]]


AccuracyTable: TypeAlias = Accuracies | pd.DataFrame | str | os.PathLike[str]  # whatever `read_accuracies` takes


def read_accuracies(source: AccuracyTable, suites: Sequence[Suite] = ()) -> Accuracies:
    """A table from a DataFrame or a CSV file with the columns trained_on, tested_on, accuracy, and seed if several.

    Every model must have been tested on everything, with every seed. What is read already stays as it is.

    >>> frame = pd.DataFrame({"trained_on": ["standard"] * 2, "tested_on": ["clean", "a/fog"], "accuracy": [0.9, 0.5]})
    >>> read_accuracies(frame).values.tolist()
    [[[0.9, 0.5]]]
    """
    if isinstance(source, Accuracies):
        return source
    axes = ["seed"], ["trained_on"], ["tested_on"]
    keys, (values,) = read_long(source, "accuracies", axes, ["accuracy"], optional="seed", whole=["seed"])
    seeds, rows, columns = (tuple(name for (name,) in axis) for axis in keys)
    return Accuracies(rows, columns, values, tuple(map(int, seeds)), suites=tuple(suites))


def _place(names: tuple[str, ...], name: str, what: str) -> int:
    if name not in names:
        raise ValueError(f"there is no {what} {name!r}; there are {', '.join(names)}")
    return names.index(name)


__all__ = ["CLEAN", "STANDARD", "Accuracies", "AccuracyTable", "read_accuracies"]
