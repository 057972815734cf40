"""Is it the nearest augmentations that help? Networks trained with few augmentations, chosen by their distance.

Many augmentations of a scheme are drawn once, and ordered: first those that come closest to some corruption of a suite.
Then networks are trained with the first k of them, the last k, or k at random, every image drawing one of the k anew.
This is the experiment of appendix B of Mintun, Kirillov and Xie.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from scuff.augment import Scheme
from scuff.data import Source
from scuff.engine import Run
from scuff.engine.cost import StudyCost
from scuff.kernels.constants import constant
from scuff.random import integers
from scuff.store import Settings, Store, read_arrays, save_settings
from scuff.studies.base import Plan, check_folder, complete_settings
from scuff.studies.trainings import run_trainings
from scuff.studies.transform_space.cells import DrawOrder, encode_cells
from scuff.studies.transform_space.cost import estimate_encodings
from scuff.studies.transform_space.distances import SETTINGS, DistanceWork, is_constant
from scuff.studies.transform_space.files import join_tables, read_table, save_table
from scuff.studies.transform_space.plan import open_distances
from scuff.studies.transform_space.study import SubsetsStudy
from scuff.studies.transform_space.trials import Trials, mean_errors, open_tests, plan_trials, read_errors
from scuff.training.treatment import Augmented, Treatment

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
    distances, engine = open_distances(
        study, study.scheme, study.suite, study.only, study.severities, augmentations=study.draws
    )
    distances.only = list(distances.levels)
    _check_scheme(distances.schemes)
    unknown = [kind for kind in study.kinds if kind not in KINDS]
    if unknown or not study.kinds:
        raise ValueError(f"kinds of subsets are {', '.join(KINDS)}, got {', '.join(map(repr, unknown)) or 'none'}")
    bad = [size for size in study.sizes if type(size) is not int or not 1 <= size <= study.draws]
    if bad or not study.sizes:
        raise ValueError(f"sizes must be whole numbers from 1 to the {study.draws} draws, got {list(study.sizes)}")
    subsets = {"sizes": sorted(set(study.sizes)), "kinds": [kind for kind in KINDS if kind in study.kinds]}
    work = SubsetsWork(study, distances, open_tests(study, distances), {**distances.settings, **subsets})
    settings = complete_settings(study, {**work.settings, **work.trials().settings()})
    work.settings = settings
    check_folder(study, distances.store, settings)
    return Plan(study, settings, work, distances.store, engine)


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
class SubsetsWork:
    """The order of a scheme's draws, trainings with some of them, and tests."""

    study: SubsetsStudy
    distances: DistanceWork
    test: Source
    settings: Settings = field(repr=False)
    tested: Trials | None = field(default=None, repr=False)

    @property
    def scheme(self) -> Scheme:
        """The scheme whose augmentations are chosen from."""
        return next(iter(self.distances.schemes.values()))

    def has_order(self) -> bool:
        """Whether the order of the draws is known."""
        return self.distances.store.exists(ORDER)

    def encodings(self) -> int:
        """Number of images that will go through the extractor: none if the order is known."""
        return 0 if self.has_order() else self.distances.encodings()

    def trials(self) -> Trials:
        """The trainings; before the order is known, with any draws in the place of those to be chosen."""
        settings, order = self.settings, np.arange(self.settings["augmentations"])
        if self.has_order():
            order = read_arrays(self.distances.store, ORDER, ["order"])["order"]
        treatments: dict[str, Treatment | None] = {ALL: Augmented(self.scheme)}
        for kind in settings["kinds"]:
            for size in settings["sizes"]:
                few = FewDraws(self.scheme, choose_draws(order, kind, size, settings["seed"]), settings["seed"])
                treatments[f"{kind}-{size}"] = Augmented(few)
        return plan_trials(self.study, self.distances, self.test, treatments)

    def run(self, run: Run) -> None:
        """Order the draws, train and test; nothing is trained without an order."""
        distances, store, networks = self.distances, self.distances.store, len(self.trials().cells)
        save_settings(store, SETTINGS, distances.settings)  # which the centres depend on
        extractors = 0 if distances.training is None or self.has_order() else 1
        trained = 0 if distances.untrained() else extractors
        run.expect("train", networks + extractors, trained)
        self.trials().expect_tests(run)
        if not self.has_order():
            run.expect("centres", len(distances.levels), len(distances.levels) - len(distances.missing_centres()))
            run.expect("order", 1)
            self._find_order(run)
            if run.failures:
                return
        self.tested = self.trials()
        self.tested.check_trained()
        missing = self.tested.missing()
        run.expect("train", networks + extractors, networks - len(missing) + trained)
        run_trainings(run, missing, distances.device)
        self.tested.run_tests(run)

    def _find_order(self, run: Run) -> None:
        """Order the draws, those first that come closest to some cell of the suite, if all cells have centres."""
        distances = self.distances
        distances.train_extractor(run)
        encoders = distances.encoders()
        distances.measure_centres(run, encoders)
        if not run.failures:
            draws = self.settings["augmentations"]
            work = DrawOrder(distances.store, encoders, distances.centre_files(0), self.scheme, draws)
            encode_cells(run, "order", work, [ORDER], lambda file: draws * self.settings["images"])

    def collect(self) -> pd.DataFrame:
        """Mean errors; what the folder holds from before stays in the table."""
        store = self.distances.store
        table = join_tables(store, SUBSETS, summarise(read_errors(self.tested)), ["kind", "size", "seed"])
        table = table.sort_values(["kind", "size", "seed"], key=_in_order, ignore_index=True)
        chosen = table[table["kind"] != ALL]
        joined = {"kinds": chosen["kind"], "sizes": chosen["size"].sort_values(), "seeds": table["seed"].sort_values()}
        joined = {key: values.drop_duplicates().tolist() for key, values in joined.items()}
        save_settings(store, SubsetsStudy.file, {**self.settings, **joined})
        save_table(store, SUBSETS, table)
        return table

    def cost(self) -> StudyCost:
        """Trainings and tests; encodings as long as the order is not known."""
        cost = self.trials().cost()
        return cost if self.has_order() else cost + estimate_encodings(self.distances, order=ORDER)

    def describe(self) -> Iterator[str]:
        """Distances and trainings."""
        yield from self.distances.describe(self.encodings())
        yield self.trials().describe()


def _in_order(column: pd.Series) -> pd.Series:
    """Kinds in the order in which they are listed; numbers as they are."""
    return column.map((ALL, *KINDS).index) if column.name == "kind" else column


def summarise(errors: pd.DataFrame) -> pd.DataFrame:
    """One line per network: kind, size, seed, clean_error, error (the mean over cells)."""
    lines = []
    for (name, seed), lines_of_network in errors.groupby(["scheme", "seed"], sort=False):
        kind, _, size = str(name).partition("-")
        lines.append({"kind": kind, "size": int(size or 0), "seed": seed, **mean_errors(lines_of_network)})
    return pd.DataFrame(lines)


def read_subsets(directory: str | os.PathLike[str]) -> pd.DataFrame:
    """The table of a study: kind, size, seed, clean_error, error."""
    return read_table(Store(directory), SUBSETS)
