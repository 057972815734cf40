"""Accuracies of models on points that are moved at random within balls, by the radius in training and in testing.

MSCR is a function of this table. A study makes one; a file of your own will do:

    model,copies,train_noise,test_noise,run,accuracy
    forest,10,0,0,0,0.9953
    forest,10,0,0.004,0,0.9941
    ...
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from scuff.metrics.long_tables import read_long

KEYS = ("copies", "model", "train_noise", "test_noise", "run")
SAME = 1e-9  # relative difference below which radii are the same
ROUNDING = 3e-4  # how far shares that were stored in half precision may be off


@dataclass(frozen=True, eq=False)
class RobustAccuracies:
    """Shares of right predictions, `values[c, m, i, j, r]`: copies c, model m, radii i and j, run r.

    `train_noise` are the radii of the balls in which training points were moved, (0.0,) for models that are taken as
    they are. `test_noise` are those of the test, ascending: 0, which is the clean accuracy, and `epsilon_min`, half the
    class separation, are among them. `copies` are the numbers of noisy points that were made of every point. `right`
    says of every test point which share of its copies was right, (copies, models, train, test, points); intervals rest
    on it if there is only one run.

    >>> table = RobustAccuracies(("forest",), (0.0,), (0.0, 0.1), np.array([[[[[0.9, 0.8], [0.8, 0.7]]]]]), 0.1,
    ...                          runs=(0, 1))
    >>> table.accuracies("forest", 0, 0.1).tolist()
    [0.8, 0.7]
    """

    models: tuple[str, ...]
    train_noise: tuple[float, ...]
    test_noise: tuple[float, ...]
    values: np.ndarray = field(repr=False)
    epsilon_min: float
    copies: tuple[int, ...] = (10,)
    runs: tuple[int, ...] = (0,)
    right: np.ndarray | None = field(default=None, repr=False)
    norm: float = math.inf

    def __post_init__(self) -> None:
        axes = (self.copies, self.models, self.train_noise, self.test_noise, self.runs)
        _check_axes(self)
        shape = tuple(map(len, axes))
        if self.values.shape != shape:
            raise ValueError(
                f"expected accuracies (copies, models, train_noise, test_noise, runs) = {shape}, got "
                f"{self.values.shape}"
            )
        bad = ~((self.values >= 0) & (self.values <= 1))
        if bad.any():
            where = ", ".join(
                f"{key} {axis[place]}" for key, axis, place in zip(KEYS, axes, np.argwhere(bad)[0], strict=True)
            )
            raise ValueError(f"accuracies are shares from 0 to 1, got {self.values[bad][0]} for {where}")
        if self.right is not None:
            _check_right(self)

    @property
    def most_copies(self) -> int:
        """The largest number of copies, whose accuracies vary least with the noise that was drawn."""
        return max(self.copies)

    def accuracies(self, model: str, train_noise: float, test_noise: float, copies: int | None = None) -> np.ndarray:
        """The accuracies of a model, one per run; `copies` is by default the largest number of them."""
        train = place_of_radius(self.train_noise, train_noise, "training noise")
        return self.values[(*self.place(model, copies), train, self.place_of_test(test_noise))]

    def place(self, model: str, copies: int | None = None) -> tuple[int, int]:
        """The places of a number of copies, by default the largest, and of a model."""
        copies = self.most_copies if copies is None else copies
        if copies not in self.copies:
            raise ValueError(f"there is nothing with {copies} copies; there are {', '.join(map(str, self.copies))}")
        if model not in self.models:
            raise ValueError(f"there is no model {model!r}; there are {', '.join(self.models)}")
        return self.copies.index(copies), self.models.index(model)

    def place_of_test(self, test_noise: float) -> int:
        """The place of a radius of the test; 0 is the clean accuracy."""
        return place_of_radius(self.test_noise, test_noise, "test noise")

    def to_frame(self) -> pd.DataFrame:
        """One line per accuracy: the columns model, copies, train_noise, test_noise, run, accuracy."""
        axes = [self.copies, self.models, self.train_noise, self.test_noise, self.runs]
        index = pd.MultiIndex.from_product(axes, names=KEYS)
        frame = pd.Series(self.values.ravel(), index, name="accuracy").reset_index()
        return frame[["model", "copies", "train_noise", "test_noise", "run", "accuracy"]]


def read_robust_accuracies(
    source: pd.DataFrame | str | os.PathLike[str], *, epsilon_min: float, norm: float = math.inf
) -> RobustAccuracies:
    """A table from a DataFrame or a CSV file as `RobustAccuracies.to_frame` makes it; `run` may be absent if it is one.

    Every model must have been tested with every radius, in every run. `epsilon_min` is one of the radii of the test.

    >>> frame = pd.DataFrame({"model": "forest", "copies": 10, "train_noise": 0.0, "test_noise": [0.0, 0.1],
    ...                       "accuracy": [0.9, 0.8]})
    >>> read_robust_accuracies(frame, epsilon_min=0.1).values.ravel().tolist()
    [0.9, 0.8]
    """
    radii = ["train_noise", "test_noise"]
    keys, (values,) = read_long(
        source,
        "accuracies",
        [[key] for key in KEYS],
        ["accuracy"],
        optional="run",
        whole=["copies", "run"],
        numbers=radii,
        ascending=[*radii, "run"],
    )
    copies, models, train, test, runs = ([key for (key,) in axis] for axis in keys)
    return RobustAccuracies(
        tuple(map(str, models)),
        tuple(map(float, train)),
        tuple(map(float, test)),
        values,
        float(epsilon_min),
        tuple(map(int, copies)),
        tuple(map(int, runs)),
        norm=norm,
    )


def place_of_radius(radii: Sequence[float], radius: float, what: str) -> int:
    """The place of a radius among others; numbers that differ in their last bits are the same."""
    places = np.flatnonzero(np.isclose(radii, radius, SAME, 0))
    if not len(places):
        raise ValueError(f"there is no {what} of {radius:g}; there is {', '.join(f'{r:g}' for r in radii)}")
    return int(places[0])


def _check_axes(table: RobustAccuracies) -> None:
    for what, names in (("models", table.models), ("copies", table.copies), ("runs", table.runs)):
        if not names or len(set(names)) < len(names):
            raise ValueError(f"{what} must be given, each once; got {', '.join(map(str, names)) or 'none'}")
    for what, radii in (("train_noise", table.train_noise), ("test_noise", table.test_noise)):
        if not radii or list(radii) != sorted(set(radii)) or not 0 <= radii[0] <= radii[-1] < math.inf:
            raise ValueError(
                f"{what} must be radii from 0 upwards, ascending; got {', '.join(map(str, radii)) or 'none'}"
            )
    if not table.epsilon_min > 0:
        raise ValueError(
            f"epsilon_min must be above 0, got {table.epsilon_min}; leave out points of different classes that coincide"
        )
    for radius, what in (
        (0.0, "0, for the clean accuracy,"),
        (table.epsilon_min, f"epsilon_min = {table.epsilon_min:g}"),
    ):
        if not np.isclose(table.test_noise, radius, SAME, 0).any():
            raise ValueError(f"{what} must be among test_noise; got {', '.join(f'{r:g}' for r in table.test_noise)}")


def _check_right(table: RobustAccuracies) -> None:
    assert table.right is not None
    shape = table.right.shape
    if len(table.runs) > 1 or shape[:-1] != table.values.shape[:-1] or not shape[-1]:
        raise ValueError(
            f"`right` is for one run and has the shape (copies, models, train_noise, test_noise, points) = "
            f"{(*table.values.shape[:-1], '...')}; got {shape} and {len(table.runs)} runs"
        )
    if not np.allclose(table.right.mean(axis=-1, dtype=float), table.values[..., 0], 0, ROUNDING):
        raise ValueError("`right` and `values` disagree: the mean over points of the one is not the other")
