"""All numbers of the page about distances, from tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd

from scuff.metrics import Distances
from scuff.metrics.evaluation.tables import CLEAN
from scuff.report.transform_space.names import is_subset
from scuff.report.transform_space.shared import over_seeds
from scuff.words import short_names

RHO = "\u03c1"  # Spearman's rank correlation
KINDS = {"msd": "MSD", "mmd": "MMD"}


@dataclass(frozen=True, eq=False)
class DistanceScores:
    """What the page about distances shows; frames of schemes x corruptions are means over severities."""

    distances: Distances
    msd: pd.DataFrame = field(repr=False)
    mmd: pd.DataFrame = field(repr=False)
    spread: pd.DataFrame = field(repr=False)  # of the MSD over resamplings; NaN if there is one
    errors: pd.DataFrame | None = field(repr=False)  # schemes x corruptions; NaN where not known yet
    clean: pd.Series | None = field(repr=False)  # by scheme
    mean_errors: pd.DataFrame = field(repr=False)  # value, low, high by scheme, of those that have all errors
    correlations: Mapping[str, pd.DataFrame] = field(repr=False)  # by kind, a line for every corruption

    @cached_property
    def shown(self) -> dict[str, str]:
        """The names of corruptions for people."""
        return short_names(list(self.msd.columns))

    @cached_property
    def by_distance(self) -> list[str]:
        """All schemes, from the smallest mean MSD to the largest."""
        return self.msd.mean(axis=1).sort_values(kind="stable").index.tolist()

    @cached_property
    def named(self) -> list[str]:
        """Schemes with names of their own, in the order of the study: figures give them colours."""
        return [scheme for scheme in self.distances.schemes if not is_subset(scheme)]

    @property
    def has_subsets(self) -> bool:
        """Whether some schemes are subsets of AugMix's operations."""
        return len(self.named) < len(self.distances.schemes)

    @property
    def resamplings(self) -> int:
        """How often distances were measured."""
        return len(self.distances.msd)


def measure_distances(
    distances: Distances,
    errors: pd.DataFrame | None = None,
    correlations: Mapping[str, pd.DataFrame] | None = None,
) -> DistanceScores:
    """Bring the tables of a study into the form in which they are shown."""
    msd, mmd = (distances.by_corruption(kind) for kind in KINDS)  # type: ignore[arg-type]
    clean, means = None, pd.DataFrame(columns=["value", "low", "high"])
    if errors is not None:
        is_clean = errors["corruption"] == CLEAN
        clean = errors[is_clean].groupby("scheme")["error"].mean().reindex(msd.index)
        rows = errors[~is_clean] if "seed" in errors else errors[~is_clean].assign(seed=0)
        by_seed = rows.groupby(["scheme", "seed", "corruption"])["error"].mean()  # over severities
        errors = by_seed.groupby(["scheme", "corruption"]).mean().unstack().reindex(msd.index, columns=msd.columns)
        complete = by_seed.groupby(["scheme", "seed"]).mean()[errors.dropna().index].reset_index()
        means = over_seeds(complete, "scheme", "error").set_index("scheme")
    tables = {kind: t.set_index("corruption").reindex(msd.columns) for kind, t in (correlations or {}).items()}
    tables = {kind: table.fillna({"note": ""}) for kind, table in tables.items()}
    return DistanceScores(distances, msd, mmd, _spread(distances, msd), errors, clean, means, tables)


def _spread(distances: Distances, like: pd.DataFrame) -> pd.DataFrame:
    """The standard deviation over resamplings of the MSD, which is averaged over severities first."""
    if len(distances.msd) < 2:
        return like * np.nan
    cells = np.array([corruption for corruption, _ in distances.cells])
    means = np.stack([distances.msd[:, :, cells == name].mean(axis=2) for name in like.columns], axis=2)
    return pd.DataFrame(means.std(axis=0, ddof=1), like.index, like.columns)
