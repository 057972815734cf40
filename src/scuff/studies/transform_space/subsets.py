"""Is it the nearest augmentations that help? Networks trained with few augmentations, chosen by their distance.

Many augmentations of a scheme are drawn once, and ordered: first those that come closest to some corruption of a suite.
Then networks are trained with the first k of them, the last k, or k at random, every image drawing one of the k anew.
This is the experiment of appendix B of Mintun, Kirillov and Xie.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from scuff.augment import Scheme
from scuff.engine import Run
from scuff.kernels.constants import constant
from scuff.random import integers
from scuff.store import Store, read_arrays
from scuff.studies.base import Plan
from scuff.studies.trainings import TrainingCell, run_trainings
from scuff.studies.transform_space.cells import EncodingCell
from scuff.studies.transform_space.distances import DistanceWork, is_constant, plan_distances
from scuff.studies.transform_space.files import join_tables, read_table
from scuff.studies.transform_space.study import SubsetsStudy
from scuff.studies.transform_space.trials import TrialWork, plan_trials
from scuff.training.treatment import Augmented

SUBSETS, ORDER = "subsets.csv", "order.npz"
KINDS = ("closest", "random", "farthest")
ALL = "all"


@dataclass(frozen=True)
class FewDraws(Scheme):
    """A scheme of which only some draws are ever used; every image draws one of them anew."""

    scheme: Scheme
    draws: tuple[int, ...] = field(repr=False)
    seed: int = 0  # with which the draws of the scheme are numbered

    kind: ClassVar[str] = "few-draws"

    def __call__(self, images: Tensor, ids: Tensor, seed: int = 0) -> Tensor:
        chosen = integers(self.keys(ids, seed), "draw", low=0, high=len(self.draws) - 1).long()
        return self.scheme(images, constant(self.draws, ids.device, torch.int64)[chosen], self.seed)

    def settings(self) -> dict[str, Any]:
        """The scheme, and a hash of the draws."""
        digest = hashlib.blake2b(np.array(self.draws, np.int64).tobytes(), digest_size=8).hexdigest()
        return {"scheme": self.kind, "of": self.scheme.settings(), "draws": digest, "seed": self.seed}


def choose_draws(order: np.ndarray, kind: str, size: int, seed: int = 0) -> tuple[int, ...]:
    """`size` of the ordered draws: the first, the last, or random ones."""
    if kind == "random":
        chosen = np.random.default_rng(seed).choice(order, size, replace=False)
    else:
        chosen = order[:size] if kind == "closest" else order[-size:]
    return tuple(sorted(chosen.tolist()))


def plan_subsets(study: SubsetsStudy) -> Plan[pd.DataFrame]:
    """Check the scheme and the subsets; which augmentations are the closest is known only when they are measured."""
    distances = plan_distances(study.distances(schemes=study.scheme, augmentations=study.draws), OrderWork)
    _check_scheme(distances.work.schemes)
    unknown = [kind for kind in study.kinds if kind not in KINDS]
    if unknown or not study.kinds:
        raise ValueError(f"kinds of subsets are {', '.join(KINDS)}, got {', '.join(map(repr, unknown)) or 'none'}")
    bad = [size for size in study.sizes if type(size) is not int or not 1 <= size <= study.draws]
    if bad or not study.sizes:
        raise ValueError(f"sizes must be whole numbers from 1 to the {study.draws} draws, got {list(study.sizes)}")
    subsets = {"sizes": sorted(set(study.sizes)), "kinds": [kind for kind in KINDS if kind in study.kinds]}
    return plan_trials(study, distances, SubsetsWork, **distances.settings, **subsets)


def _check_scheme(schemes: dict[str, Scheme]) -> None:
    """Refuse several schemes, and those of which no draws can be chosen."""
    names = ", ".join(schemes)
    if len(schemes) > 1:
        raise ValueError(f"subsets are those of one scheme, got {names}")
    scheme = next(iter(schemes.values()))
    if is_constant(scheme):
        raise ValueError(f"the augmentations of {names} are all the same: nothing to choose from")
    if scheme.before_crop:
        raise ValueError("the augmentations of this scheme act before flips and shifts, and cannot be replayed after")


@dataclass(eq=False)
class OrderWork(DistanceWork):
    """The order of a scheme's draws by distance, in the place of distances; when it is known, nothing is missing."""

    kind: ClassVar[str] = "order"

    def is_known(self) -> bool:
        """Whether the order of the draws is known."""
        return self.store.exists(ORDER)

    def untrained(self) -> list[TrainingCell]:
        """The training of the extractor, if it is still to do."""
        return [] if self.is_known() else super().untrained()

    def missing_centres(self) -> list[EncodingCell]:
        """The entries whose centres are not measured yet."""
        return [] if self.is_known() else super().missing_centres()

    def missing_schemes(self) -> list[EncodingCell]:
        """The scheme whose draws are to be put in order."""
        return [] if self.is_known() else [EncodingCell(name, 0, ORDER) for name in self.schemes]

    def values(self, name: str) -> int:
        """Numbers in the file of the order."""
        return self.draws(name)


@dataclass(eq=False)
class SubsetsWork(TrialWork):
    """Trials with some draws of a scheme, which are known when its draws are in order."""

    distances: OrderWork

    def treatments(self) -> dict[str, Augmented]:
        """The scheme and subsets of it; before the order is known, any draws stand in for those to be chosen."""
        settings, scheme = self.settings, next(iter(self.distances.schemes.values()))
        is_known, order = self.distances.is_known(), np.arange(self.settings["augmentations"])
        order = read_arrays(self.store, ORDER, ["order"])["order"] if is_known else order
        treatments = {ALL: Augmented(scheme)}
        for kind in settings["kinds"]:
            for size in settings["sizes"]:
                few = FewDraws(scheme, choose_draws(order, kind, size, settings["seed"]), settings["seed"])
                treatments[f"{kind}-{size}"] = Augmented(few)
        return treatments

    def check_trained(self) -> None:
        """Refuse networks of the folder that were trained otherwise, as soon as it is known how they should be."""
        if self.distances.is_known():
            super().check_trained()

    def run(self, run: Run) -> None:
        """Order the draws, train and test; nothing is trained without an order."""
        self.expect(run)
        run_trainings(run, self.distances.untrained(), self.distances.device)
        self.distances.measure(run)
        if not run.failures:
            self.check_trained()
            run_trainings(run, self.missing(), self.distances.device)
            self.run_tests(run)

    def collect(self) -> pd.DataFrame:
        """Mean errors; what the folder holds from before stays in the table."""
        means = self.mean_errors()
        names = means["scheme"].str.partition("-")
        new = means.assign(kind=names[0], size=names[2].replace("", "0").astype(int))
        keys = ["kind", "size", "seed"]
        table = join_tables(self.store, SUBSETS, new[[*keys, "clean_error", "error"]], keys)
        table = table.sort_values(keys, key=_in_order, ignore_index=True)
        chosen = table[table["kind"] != ALL]
        kinds, sizes, seeds = (column.unique().tolist() for column in (chosen["kind"], chosen["size"], table["seed"]))
        self.save(SUBSETS, table, kinds=kinds, sizes=sorted(sizes), seeds=sorted(seeds))
        return table


def _in_order(column: pd.Series) -> pd.Series:
    """Kinds in the order in which they are listed; numbers as they are."""
    return column.map((ALL, *KINDS).index) if column.name == "kind" else column


def read_subsets(directory: str | os.PathLike[str]) -> pd.DataFrame:
    """The table of a study: kind, size, seed, clean_error, error."""
    return read_table(Store(directory), SUBSETS)
