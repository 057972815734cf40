"""Which images models are right about: known from rows, or asked for and kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from scuff.evaluation.pairs import predict_pairs
from scuff.evaluation.plan import Cell, Plan
from scuff.evaluation.runner import Runner
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
    _files: int = 0

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
            self._files = max(self._files, len(names))
            if names:
                self.read(who, read_rows(self.plan.store, names))

    def ask(self, who: str, wanted: Iterable[tuple[Key, np.ndarray]]) -> int:
        """Find out what is not known of some images, keep it, and say how many passes that took."""
        images, cells = [], []
        for key, places in wanted:
            lacking = np.unique(places[~self.is_known(who, key, places)])
            images.append(lacking)
            cells += [_cell(key)] * len(lacking)
        if not cells:
            return 0
        assert self.plan is not None
        assert self.runner is not None
        name = self.names[who]
        _, columns_of = predict_pairs(self.runner, np.concatenate(images), cells, (name,))
        columns = columns_of[name]
        self.runner.check_numbers(name, cells[0], columns)
        constant = {"model": name, "source": self.plan.images.source.name, "suite": self.plan.suite.name}
        write_rows(self.plan.store, f"{self._folder(who)}/{self._files:06d}.parquet", constant, columns)
        self._files += 1
        self.read(who, pd.DataFrame(columns))
        return len(cells)

    def _of(self, who: str, key: Key) -> np.ndarray:
        return self._known.setdefault((who, key), np.full(len(self.ids), UNKNOWN, np.int8))

    def _folder(self, who: str) -> str:
        """Named by everything that answers depend on, but not by the claims: other claims may use them too."""
        assert self.plan is not None
        depends = [self.plan.rows_name(self.names[who], cell) for cell in self.plan.cells]
        digest = hashlib.blake2b(json.dumps(depends).encode(), digest_size=6).hexdigest()
        return f"sampled/{self.names[who]}-{digest}"


def _cell(key: Key) -> Cell:
    return Cell(key.entry, key.severity or None, key.dial)
