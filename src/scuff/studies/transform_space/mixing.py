"""Why the nearest augmentation counts and not the mean: networks trained with two corruptions in changing shares.

An image is augmented by the wrong corruption with probability p, by the right one otherwise; the test is on the right
one. The mean of the augmentations moves away from the test in proportion to p, and so does MMD. But as long as some
augmentations are right, a network learns from them: the error stays low, and so does MSD. This is the experiment of
figure 2b of Mintun, Kirillov and Xie.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import pandas as pd
from torch import Tensor

from scuff.augment import Scheme
from scuff.data import Source
from scuff.door import corrupt, each_its_way, find_entry
from scuff.engine import Engine, Progress, Run
from scuff.metrics.overlap.accuracies import CLEAN
from scuff.random import bernoulli
from scuff.ranges import is_number
from scuff.store import check_settings, save_settings
from scuff.studies.transform_space.correlation import CorrelationPlan, measure_and_test, plan_correlation
from scuff.studies.transform_space.distances import collect
from scuff.studies.transform_space.trials import join_tables, read_errors
from scuff.suites import Suite
from scuff.training.recipes import Recipe

SETTINGS, MIXING = "mixing.json", "mixing.csv"
NOTED_ONLY = (
    "data", "extractor_address", "test", "shares", "seeds", "schemes", "environment", "device", "scuff",
)  # fmt: skip
SHARES = (0.0, 0.5, 0.9, 0.99, 1.0)
DRAWS = 1000
SEVERITY = 3


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
        ways = [partial(corrupt, name=entry, **options) for entry in (self.right, self.other)]
        return each_its_way(images, ids, drawn, ways)

    def settings(self) -> dict[str, Any]:
        """What decides over pixels, as plain data."""
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


@dataclass(frozen=True)
class MixingPlan:
    """An experiment that is ready to run: a correlation study whose schemes are mixtures."""

    plan: CorrelationPlan
    settings: dict[str, Any]


def mixing(
    right: str,
    other: str,
    data: str | Source,
    out: str | os.PathLike[str],
    *,
    severity: int | None = None,
    shares: Sequence[float] = SHARES,
    augmentations: int = DRAWS,
    recipe: str | Recipe,
    seeds: int | Sequence[int] = 1,
    engine: Engine | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> pd.DataFrame:
    """Distances and errors by the share of the wrong corruption: share, mmd, msd, seed, error, clean_error.

    Parameters
    ----------
    right, other
        The corruption that is tested, and the one that is mixed in: `"cifar10-c/impulse_noise"` and
        `"cifar10-c/motion_blur"` in the paper. Both of one suite.
    severity
        Of both: by default 3, or none for entries without levels.
    shares
        Of the wrong corruption.
    data, out, recipe, seeds, augmentations, engine, options
        As in `scuff.studies.correlation`, all whose other options are taken.
    """
    plan = plan_mixing(
        right,
        other,
        data,
        out,
        severity=severity,
        shares=shares,
        augmentations=augmentations,
        recipe=recipe,
        seeds=seeds,
        engine=engine,
        **options,
    )
    return run_mixing(plan, progress=progress)


def plan_mixing(
    right: str,
    other: str,
    data: str | Source,
    out: str | os.PathLike[str],
    *,
    severity: int | None = None,
    shares: Sequence[float] = SHARES,
    augmentations: int = DRAWS,
    **options: Any,
) -> MixingPlan:
    """Plan an experiment without computing anything; the arguments are those of `mixing`."""
    (suite, first), (second_suite, second) = find_entry(right), find_entry(other)
    if suite.to_dict() != second_suite.to_dict():
        raise ValueError(f"expected two corruptions of one suite, got {right} and {other}")
    if first == second:
        raise ValueError(f"expected two different corruptions, got {right} twice")
    if not shares or not all(is_number(share) and 0 <= share <= 1 for share in shares):
        raise ValueError(f"shares must be numbers from 0 to 1, got {list(shares)}")
    shares = sorted(set(map(float, shares)))
    if severity is None and suite.listed_levels(first):
        severity = min(SEVERITY, suite.severities)
    for entry in (first, second):  # refuses a severity that one of them does not have
        suite.parameters(entry, severity)
    schemes = {scheme_name(share): Mixture(suite, first, second, share, severity) for share in shares}
    severities = None if severity is None else [severity]
    plan = plan_correlation(
        schemes, suite, data, out, only=[first], severities=severities, augmentations=augmentations, **options
    )
    settings = {
        **plan.distances.settings,
        **plan.trials.settings(),
        "right": f"{suite.name}/{first}",
        "other": f"{suite.name}/{second}",
        "severity": severity,
        "shares": shares,
    }
    check_settings(plan.trials.store, SETTINGS, settings, NOTED_ONLY)
    return MixingPlan(plan, settings)


def scheme_name(share: float) -> str:
    """What a mixture is called."""
    return f"share-{float(share)!r}"


def run_mixing(plan: MixingPlan, *, progress: Progress | None = None) -> pd.DataFrame:
    """Carry out what `plan_mixing` has planned, and write the table."""
    store = plan.plan.trials.store
    save_settings(store, SETTINGS, plan.settings)
    with Run(plan.plan.distances.engine, store, progress, "mixing") as run:
        evaluation = measure_and_test(run, plan.plan)
    distances, errors = collect(store), read_errors(plan.plan.trials, evaluation)
    near = {kind: distances.by_corruption(kind).iloc[:, 0] for kind in ("mmd", "msd")}
    lines = []
    for share in plan.settings["shares"]:
        name = scheme_name(share)
        for seed, its in errors[errors["scheme"] == name].groupby("seed"):
            is_clean = its["corruption"] == CLEAN
            found = {"share": share, "mmd": near["mmd"][name], "msd": near["msd"][name], "seed": seed}
            lines.append(
                found | {"error": its[~is_clean]["error"].mean(), "clean_error": its[is_clean]["error"].mean()}
            )
    table = join_tables(store, MIXING, pd.DataFrame(lines), ["share", "seed"])
    table = table.sort_values(["share", "seed"], ignore_index=True)
    its = {"shares": sorted(set(table["share"].tolist())), "seeds": sorted(set(table["seed"].tolist()))}
    save_settings(store, SETTINGS, {**plan.settings, **its})
    store.write(MIXING, table.to_csv(index=False).encode())
    return table
