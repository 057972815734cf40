"""Why the nearest augmentation counts and not the mean: networks trained with two corruptions in changing shares.

An image meets the wrong corruption with probability p, the right one otherwise; the test is on the right one. The mean
of the augmentations moves away from the test in proportion to p, and so does MMD. But as long as some augmentations are
right, a network learns from them: the error stays low, and so does MSD. This is figure 2b of Mintun, Kirillov and Xie.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import pandas as pd
from torch import Tensor

from scuff.augment import Scheme
from scuff.door import corrupt, each_its_way, find_entry
from scuff.random import bernoulli
from scuff.ranges import is_number
from scuff.store import Store, save_settings
from scuff.studies.base import Plan, check_folder, complete_settings
from scuff.studies.transform_space.correlation import CorrelationWork, plan_scheme_trials
from scuff.studies.transform_space.files import join_tables, read_table, save_table
from scuff.studies.transform_space.plan import open_distances
from scuff.studies.transform_space.study import MixingStudy
from scuff.studies.transform_space.trials import mean_errors, read_errors
from scuff.suites import Suite

MIXING = "mixing.csv"
USUAL_SEVERITY = 3


@dataclass(frozen=True)
class Mixture(Scheme):
    """A scheme: the corruption `other` with the probability `share`, else the corruption `right`, at one severity."""

    suite: Suite
    right: str
    other: str
    share: float
    severity: int | None

    kind: ClassVar[str] = "mixture"

    def __call__(self, images: Tensor, ids: Tensor, seed: int = 0) -> Tensor:
        drawn = bernoulli(self.keys(ids, seed), "other", probability=self.share)
        # A seed of its own: with the given one, its draws would be those that make the centres of corruptions.
        options = {"severity": self.severity, "suite": self.suite, "seed": mixture_seed(seed), "check": False}
        ways = [partial(corrupt, name=entry, **options) for entry in (self.right, self.other)]  # type: ignore[arg-type]
        return each_its_way(images, ids, drawn, ways)

    def settings(self) -> dict[str, Any]:
        """What determines the pixels, as plain data."""
        entries = self.suite.to_dict()["entries"]
        return {
            "scheme": "mixture",
            "suite": self.suite.name,
            "right": {self.right: entries[self.right]},
            "other": {self.other: entries[self.other]},
            "share": self.share,
            "severity": self.severity,
        }


def mixture_seed(seed: int) -> int:
    """The seed of corruptions in a mixture."""
    return int.from_bytes(hashlib.blake2b(f"mixture|{seed}".encode(), digest_size=8).digest(), "little") >> 1


def scheme_name(share: float) -> str:
    """What a mixture is called."""
    return f"share-{float(share)!r}"


def plan_mixing(study: MixingStudy) -> Plan[pd.DataFrame]:
    """Plan a correlation study whose schemes are mixtures of two corruptions, tested on one of them."""
    (suite, right), (second_suite, other) = find_entry(study.right), find_entry(study.other)
    if suite.to_dict() != second_suite.to_dict():
        raise ValueError(f"expected two corruptions of one suite, got {study.right} and {study.other}")
    if right == other:
        raise ValueError(f"expected two different corruptions, got {study.right} twice")
    if not study.shares or not all(is_number(share) and 0 <= share <= 1 for share in study.shares):
        raise ValueError(f"shares must be numbers from 0 to 1, got {list(study.shares)}")
    shares, severity = sorted(set(map(float, study.shares))), study.severity
    if severity is None and suite.listed_levels(right):
        severity = min(USUAL_SEVERITY, suite.severities)
    for entry in (right, other):  # refuses a severity that one of them does not have
        suite.parameters(entry, severity)
    schemes = {scheme_name(share): Mixture(suite, right, other, share, severity) for share in shares}
    counts = {"augmentations": study.augmentations, "resamplings": study.resamplings}
    severities = None if severity is None else [severity]
    distances, engine = open_distances(study, schemes, suite, [right], severities, **counts)
    trials = plan_scheme_trials(study, distances)
    pair = {"right": f"{suite.name}/{right}", "other": f"{suite.name}/{other}", "severity": severity, "shares": shares}
    settings = complete_settings(study, {**distances.settings, **trials.settings(), **pair})
    check_folder(study, distances.store, settings)
    return Plan(study, settings, MixingWork(distances, trials, settings), distances.store, engine)


@dataclass(eq=False)
class MixingWork(CorrelationWork):
    """The same work as that of a correlation, with another table in the end."""

    def collect(self) -> pd.DataFrame:
        """Distances and errors by share; shares and seeds that the folder holds from before stay in the table."""
        store, distances, errors = self.distances.store, self.distances.collect(), read_errors(self.trials)
        near = {kind: distances.by_corruption(kind).iloc[:, 0] for kind in ("mmd", "msd")}
        lines = []
        for share in self.settings["shares"]:
            name = scheme_name(share)
            for seed, lines_of_seed in errors[errors["scheme"] == name].groupby("seed"):
                means = mean_errors(lines_of_seed)
                line = {"share": share, "mmd": near["mmd"][name], "msd": near["msd"][name], "seed": seed}
                lines.append(line | {"error": means["error"], "clean_error": means["clean_error"]})
        table = join_tables(store, MIXING, pd.DataFrame(lines), ["share", "seed"])
        table = table.sort_values(["share", "seed"], ignore_index=True)
        joined = {f"{key}s": sorted(set(table[key].tolist())) for key in ("share", "seed")}
        save_settings(store, MixingStudy.file, {**self.settings, **joined})
        save_table(store, MIXING, table)
        return table

    def describe(self) -> Iterator[str]:
        """Distances and trainings."""
        yield from self.distances.describe()
        yield self.trials.describe()


def read_mixing(directory: str | os.PathLike[str]) -> pd.DataFrame:
    """The table of a study: share, mmd, msd, seed, error, clean_error."""
    return read_table(Store(directory), MIXING)
