"""Why the nearest augmentation counts and not the mean: networks trained with two corruptions in changing shares.

An image meets the wrong corruption with probability p, the right one otherwise; the test is on the right one. The mean
of the augmentations moves away from the test in proportion to p, and so does MMD. But as long as some augmentations are
right, a network learns from them: the error stays low, and so does MSD. This is figure 2b of Mintun, Kirillov and Xie.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import pandas as pd
from torch import Tensor

from scuff.augment import Scheme
from scuff.door import corrupt, each_its_way, find_entry
from scuff.random import bernoulli
from scuff.ranges import is_number
from scuff.store import Store
from scuff.studies.base import Plan
from scuff.studies.transform_space.distances import plan_distances
from scuff.studies.transform_space.features import digest_seed
from scuff.studies.transform_space.files import join_tables, read_table
from scuff.studies.transform_space.study import MixingStudy
from scuff.studies.transform_space.trials import TrialWork, plan_trials
from scuff.suites import Suite

MIXING = "mixing.csv"
COLUMNS = ["share", "mmd", "msd", "seed", "error", "clean_error"]
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
        options = {
            "severity": self.severity,
            "suite": self.suite,
            "seed": digest_seed(f"mixture|{seed}"),
            "check": False,
        }
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
    if severity is None and (listed := suite.listed_levels(right)):
        severity = min(USUAL_SEVERITY, listed[-1])
    for entry in (right, other):  # refuses a severity that one of them does not have
        suite.parameters(entry, severity)
    schemes = {scheme_name(share): Mixture(suite, right, other, share, severity) for share in shares}
    levels = None if severity is None else [severity]
    distances = plan_distances(study.distances(schemes=schemes, suite=suite, only=[right], severities=levels))
    pair = {"right": f"{suite.name}/{right}", "other": f"{suite.name}/{other}", "severity": severity, "shares": shares}
    return plan_trials(study, distances, MixingWork, **distances.settings, **pair)


@dataclass(eq=False)
class MixingWork(TrialWork):
    """Trials with mixtures."""

    def collect(self) -> pd.DataFrame:
        """Distances and errors by share; shares and seeds that the folder holds from before stay in the table."""
        distances, table = self.distances.collect(), self.mean_errors()
        for kind in ("mmd", "msd"):
            table[kind] = table["scheme"].map(distances.by_corruption(kind).iloc[:, 0])
        table["share"] = table["scheme"].map({scheme_name(share): share for share in self.settings["shares"]})
        table = join_tables(self.store, MIXING, table[COLUMNS], ["share", "seed"])
        table = table.sort_values(["share", "seed"], ignore_index=True)
        self.save(MIXING, table, **{f"{key}s": sorted(set(table[key].tolist())) for key in ("share", "seed")})
        return table


def read_mixing(directory: str | os.PathLike[str]) -> pd.DataFrame:
    """The table of a study: share, mmd, msd, seed, error, clean_error."""
    return read_table(Store(directory), MIXING)
