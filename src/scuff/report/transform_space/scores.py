"""What pages of transform space share: names of schemes, means over seeds, the last section; numbers of distances."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from scuff.metrics import Distances
from scuff.metrics.evaluation.tables import CLEAN
from scuff.metrics.intervals import student_half_width
from scuff.report.parts import Section
from scuff.report.settings import study_section
from scuff.studies.base import Study
from scuff.words import entry_name, short_names

SUBSET = "powerset:"  # how the names of subsets of the nine operations begin
SHORT = {
    "shear_x": "shX",
    "shear_y": "shY",
    "translate_x": "trX",
    "translate_y": "trY",
    "rotate": "rot",
    "solarize": "sol",
    "equalize": "equ",
    "autocontrast": "aut",
    "posterize": "pos",
}
MOST_LISTED = 5  # operations of a name; of a larger subset, those are named that it lacks
ABBREVIATIONS = f"In short names, {', '.join(f'{short} is {entry_name(name)}' for name, short in SHORT.items())}."


def is_subset(scheme: str) -> bool:
    """Whether a scheme is AugMix with some of its nine operations: one of many, and not known by a name of its own."""
    return scheme.startswith(SUBSET)


def full_name(scheme: str) -> str:
    """A scheme for labels, tables and sentences: a subset by its operations, or by those that it lacks.

    >>> full_name("powerset:rotate+shear_x"), full_name("powerset:none"), full_name("autoaugment")
    ('AugMix of rotate + shear x', 'AugMix of no operation', 'autoaugment')
    >>> full_name("powerset:" + "+".join(name for name in SHORT if name != "rotate"))
    'AugMix without rotate'
    """
    return _name(scheme, ("AugMix of {}", "AugMix without {}", "all nine operations"), " + ", entry_name)


def short_name(scheme: str) -> str:
    """A scheme for the rows of a matrix: operations by three letters.

    >>> short_name("powerset:rotate+shear_x"), short_name("powerset:none"), short_name("autoaugment")
    ('rot shX', 'no operation', 'autoaugment')
    >>> short_name("powerset:" + "+".join(name for name in SHORT if name != "rotate"))
    'all but rot'
    """
    return _name(scheme, ("{}", "all but {}", "all nine"), " ", lambda name: SHORT.get(name, name))


def _name(scheme: str, words: tuple[str, str, str], between: str, name: Callable[[str], str]) -> str:
    """A scheme by what it has, or lacks of all nine operations; `words` frame these, and stand for all."""
    if not is_subset(scheme):
        return scheme
    these, but, everything = words
    operations = [operation for operation in scheme.removeprefix(SUBSET).split("+") if operation != "none"]
    missing = [operation for operation in SHORT if operation not in operations]
    if len(operations) > MOST_LISTED and missing:
        return but.format(between.join(map(name, missing)))
    return these.format((between.join(map(name, operations)) if missing else everything) or "no operation")


MOST_VALUES = 12  # values of a setting that are listed; of more, their number is shown


def near(value: float) -> str:
    """A distance, with three significant digits.

    >>> near(0.29834), near(12.0), near(1234.5)
    ('0.298', '12.0', '1234')
    """
    return f"{value:#.3g}".rstrip(".") if abs(value) < 1000 else f"{value:.0f}"


def over_seeds(table: pd.DataFrame, by: str, column: str) -> pd.DataFrame:
    """The mean of a column for every value of another: the columns `by`, value, low, high, n.

    >>> table = pd.DataFrame({"size": [1, 1, 2], "error": [0.2, 0.4, 0.1]})
    >>> over_seeds(table, "size", "error").round(3).values.tolist()
    [[1.0, 0.3, -0.971, 1.571, 2.0], [2.0, 0.1, nan, nan, 1.0]]
    """
    rows = []
    for key, values in table.groupby(by)[column]:
        half = float(student_half_width(values.to_numpy(float))) if len(values) > 1 else math.nan
        rows.append((key, values.mean(), values.mean() - half, values.mean() + half, len(values)))
    return pd.DataFrame(rows, columns=[by, "value", "low", "high", "n"])


def side_by_side(means: Mapping[str, pd.DataFrame], by: str) -> pd.DataFrame:
    """Several means of `over_seeds` as one frame: `by`, then NAME, NAME_low and NAME_high of each."""
    parts = [
        frame.set_index(by)[["value", "low", "high"]].set_axis([name, f"{name}_low", f"{name}_high"], axis=1)
        for name, frame in means.items()
    ]
    return pd.concat(parts, axis=1).reset_index()


def last_section(
    study: type[Study[Any]], settings: Mapping[str, Any], directory: str | None, definitions: Mapping[str, str]
) -> Section:
    """What was set, the same again, and how to read the numbers."""
    shown = {**settings, "schemes": list(settings["schemes"])} if "schemes" in settings else settings
    hidden = ("levels", "options", "result")
    return study_section(study, shown, directory, definitions, hidden=hidden, most_listed=MOST_VALUES)


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
