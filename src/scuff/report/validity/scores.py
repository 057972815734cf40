"""All numbers of the page about validity, from the tables of the study; and how they are written."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from scuff.metrics.validity.shifts import BETWEEN, MEAN
from scuff.studies.validity.results import COLUMNS, Validity
from scuff.words import NOTHING, bracketed, hundredths, short_names

ALL = "all"  # corruptions of the table as a benchmark; groups of a trend
KINDS = {
    "pearson": "Pearson",
    "spearman": "Spearman",
    "partial": "given a line in clean accuracy",
    "curved": "given a curve in clean accuracy",
    "effective": "effective robustness",
}
SUITES = ("suite", "score")  # benchmarks of their own; the others are parts of one
TEXTS = ("benchmark", "group", "smaller", "larger", "note", "warning", "members")


@dataclass(frozen=True, eq=False, repr=False)
class ValidityScores(Validity):
    """What the page shows of a study: its tables, in which names and notes are texts; None if they have no rows."""

    def __post_init__(self) -> None:
        for name in COLUMNS:
            table = getattr(self, name)
            if table is not None:
                texts = {column: table[column].fillna("").astype(str) for column in TEXTS if column in table}
                object.__setattr__(self, name, None if table.empty else table.assign(**texts))

    @cached_property
    def natural(self) -> list[str]:
        """The natural benchmarks."""
        return list(self.shifts.natural.columns)

    @cached_property
    def columns(self) -> list[str]:
        """The natural benchmarks, and their mean if there are several."""
        return [*self.natural, *([MEAN] if len(self.natural) > 1 else [])]

    @property
    def overall(self) -> str:
        """The column that stands for all natural benchmarks."""
        return self.columns[-1]

    @cached_property
    def shown(self) -> dict[str, str]:
        """The names of corruptions and suites for people."""
        return {ALL: "all corruptions", **short_names(list(self.shifts.corrupted))}

    @cached_property
    def members(self) -> Mapping[str, Sequence[str]]:
        """The corruptions of suites; if not in the settings, all of the table, or all that have the suite's name."""
        if self.settings.get("suites"):
            return self.settings["suites"]
        sizes = self.correlations[self.correlations["what"] == "suite"].groupby("benchmark", sort=False)["size"].first()
        named = {s: [n for n in self.shifts.corrupted if s in (ALL, n.rpartition("/")[0])] for s in sizes.index}
        return {suite: members for suite, members in named.items() if len(members) == sizes[suite]}

    @cached_property
    def suites(self) -> list[tuple[str, str]]:
        """All benchmarks that are not parts of others, as (what, name): the largest first, all corruptions last."""
        rows = self.correlations[self.correlations["what"].isin(SUITES)].drop_duplicates(["what", "benchmark"])
        rows = rows.sort_values("size", ascending=False, kind="stable")
        return sorted(zip(rows["what"], rows["benchmark"], strict=True), key=lambda suite: suite == ("suite", ALL))

    @cached_property
    def drawn(self) -> list[tuple[str, str]]:
        """The benchmarks that can be drawn, as it is known what models lose to them."""
        return [suite for suite in self.suites if self.residual(*suite) is not None]

    @cached_property
    def corruptions(self) -> list[str]:
        """The corruptions that are scored alone, the most predictive first."""
        single = self._single[self._single["natural"] != MEAN]
        means = single.groupby("benchmark", sort=False)["value"].mean()
        return means.sort_values(ascending=False, kind="stable").index.tolist()

    @cached_property
    def telling(self) -> list[str]:
        """The columns by which single corruptions are compared: the mean; if it is not defined, all that are."""
        known = set(self._single.loc[self._single["value"].notna(), "natural"])
        return [self.overall] if self.overall in known else [natural for natural in self.columns if natural in known]

    @cached_property
    def contributing(self) -> str:
        """The benchmark whose members' contributions were computed."""
        assert self.contributions is not None
        whole = set(self.contributions["corruption"])
        return next((self.name(s) for s, members in self.members.items() if set(members) == whole), "the benchmark")

    def name(self, benchmark: str) -> str:
        """A benchmark in tables and sentences."""
        return self.shown.get(benchmark, benchmark)

    def names(self, what: str) -> list[str]:
        """All benchmarks of a kind, in the order of the table."""
        return self.correlations.loc[self.correlations["what"] == what, "benchmark"].drop_duplicates().tolist()

    def score(self, what: str, benchmark: str, natural: str | None = None, kind: str = "pearson") -> Any:
        """One row of correlations, by default that of all natural benchmarks; None if it was not computed."""
        return self._rows.get((what, benchmark, natural or self.overall, kind))

    def by_natural(self, what: str, benchmark: str, kind: str = "pearson") -> dict[str, Any]:
        """The rows of a benchmark by natural benchmark; none if that kind was not computed."""
        rows = {natural: self.score(what, benchmark, natural, kind) for natural in self.natural}
        return {natural: row for natural, row in rows.items() if row is not None}

    def residual(self, what: str, benchmark: str) -> pd.Series | None:
        """The residual robustness of all models on a benchmark, or its score; None if its members are not known."""
        residuals = self.shifts.synthetic_residuals()
        if what == "score":
            return residuals[benchmark]
        return residuals[list(self.members[benchmark])].mean(axis=1) if benchmark in self.members else None

    def members_of(self, members: str) -> list[str]:
        """The corruptions that a search has found, by their names for people."""
        return [self.name(name) for name in members.split(BETWEEN)]

    @property
    def _single(self) -> pd.DataFrame:
        """Pearson's correlations of single corruptions."""
        return self.correlations[(self.correlations["what"] == "corruption") & (self.correlations["kind"] == "pearson")]

    @cached_property
    def _rows(self) -> dict[tuple[str, str, str, str], Any]:
        rows = self.correlations.itertuples(index=False)
        return {(row.what, row.benchmark, row.natural, row.kind): row for row in rows}


def signed(value: float) -> str:
    """A change of a correlation: three digits after the point, with its sign.

    >>> signed(0.0123), signed(-0.2), signed(math.nan)
    ('+0.012', '−0.200', '–')
    """
    return NOTHING if math.isnan(value) else f"{value:+.3f}".replace("-", "\u2212")


def with_interval(score: Any) -> str:
    """A correlation in a sentence, with its interval if there is one."""
    return f"{hundredths(score.value)}{bracketed(score.low, score.high, hundredths)}"
