"""Which images models are right about: known from rows, or asked for and kept."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from scuff.evaluation.pairs import predict_pairs
from scuff.evaluation.plan import Cell, Plan
from scuff.evaluation.runner import Runner
from scuff.evaluation.sampled import MOST_STEPS, Sampling
from scuff.metrics.claims.file import Key
from scuff.store import read_rows, write_rows

UNKNOWN = -1


@dataclass(eq=False)
class Answers:
    """For "model" and "baseline", right (1), wrong (0) or unknown (-1) of every image in every cell that was asked for.

    Without a plan nothing can be asked: all that there is has been read from rows.
    """

    ids: np.ndarray
    plan: Plan | None = None
    runner: Runner | None = None
    names: dict[str, str] = field(default_factory=dict)  # the models of the plan: {"model": its name, ...}
    _known: dict[tuple[str, Key], np.ndarray] = field(default_factory=dict)
    _files: dict[str, int] = field(default_factory=dict)  # how many each has

    def right(self, who: str, key: Key, places: np.ndarray) -> np.ndarray:
        """Whether each image is recognised; all of them must be known."""
        answers = self._of(who, key)[places]
        assert not (answers == UNKNOWN).any()
        return answers.astype(bool)

    def is_known(self, who: str, key: Key, places: np.ndarray) -> np.ndarray:
        """Whether the answer is known, for each image."""
        return self._of(who, key)[places] != UNKNOWN

    def read(self, who: str, rows: pd.DataFrame) -> None:
        """Take answers from rows of one model."""
        order = np.argsort(self.ids)
        at = np.searchsorted(self.ids, rows["image_id"].to_numpy(), sorter=order)
        places = order[np.minimum(at, len(order) - 1)]
        ours = self.ids[places] == rows["image_id"].to_numpy()
        right = (rows["label"] == rows["prediction"]).to_numpy()
        cells = [rows["corruption"], rows["severity"], *([rows["dial"].fillna(0.0)] if "dial" in rows else [])]
        for (entry, severity, *dial), chosen in rows.groupby(cells, observed=True).indices.items():
            chosen = chosen[ours[chosen]]
            key = Key(str(entry), int(severity), float(dial[0]) if dial and dial[0] else None)
            self._of(who, key)[places[chosen]] = right[chosen]

    def resume(self) -> None:
        """Take what earlier runs have asked."""
        assert self.plan is not None
        for who in self.names:
            names = self.plan.store.names(self._folder(who), ".parquet")
            self._files[who] = len(names)
            if names:
                self.read(who, read_rows(self.plan.store, names))

    def ask(self, who: str, wanted: Iterable[tuple[Key, np.ndarray]]) -> None:
        """Find out what is not known of some images, and keep it."""
        lacking = [
            (image, key)
            for key, places in wanted
            for image in np.unique(places[~self.is_known(who, key, places)]).tolist()
        ]
        lacking.sort(key=lambda pair: pair[0])  # so that each image is decoded for one file
        for start in range(0, len(lacking), MOST_STEPS):
            images, keys = zip(*lacking[start : start + MOST_STEPS], strict=True)
            self._ask(who, np.array(images), [_cell(key) for key in keys])

    def _ask(self, who: str, images: np.ndarray, cells: list[Cell]) -> None:
        assert self.plan is not None
        assert self.runner is not None
        name, number = self.names[who], self._files.get(who, 0)
        order, columns_of = predict_pairs(self.runner, images, cells, (name,))
        columns = {**columns_of[name], "dial": np.array([cells[pair].dial for pair in order], float)}  # NaN at levels
        self.runner.check_numbers(name, "the claims", columns)
        constant = {"model": name, "source": self.plan.images.source.name, "suite": self.plan.suite.name}
        write_rows(self.plan.store, f"{self._folder(who)}/{number:06d}.parquet", constant, columns)
        self._files[who] = number + 1
        self.read(who, pd.DataFrame(columns))

    def _of(self, who: str, key: Key) -> np.ndarray:
        return self._known.setdefault((who, key), np.full(len(self.ids), UNKNOWN, np.int8))

    def _folder(self, who: str) -> str:
        """Named by everything that answers depend on, but not by the claims: other claims may use them too."""
        assert self.plan is not None
        return Sampling(self.plan).folder(self.names[who])


def _cell(key: Key) -> Cell:
    return Cell(key.entry, key.severity or None, key.dial)
