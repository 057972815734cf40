"""All numbers of the report of validity, from the tables of the study; and how they are written."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pandas as pd

from scuff.metrics import Score
from scuff.metrics.validity.scores import MEAN
from scuff.metrics.validity.shifts import BETWEEN, Shifts
from scuff.report.words import NOTHING, bracketed, hundredths, short_names

ALL = "all"  # corruptions of the table as a benchmark; groups of a trend
KINDS = {
    "pearson": "Pearson",
    "spearman": "Spearman",
    "partial": "given a line in clean accuracy",
    "curved": "given a curve in clean accuracy",
    "effective": "effective robustness",
}
WEAK, STRONG = 0.3, 0.6  # correlations below and from which words say so
SUITES = ("suite", "score")  # what is a benchmark of its own; the others are parts of one


@dataclass(frozen=True, eq=False)
class ValidityScores:
    """What the report shows. Tables have the columns that the study writes, and are None if they have no lines."""

    shifts: Shifts
    correlations: pd.DataFrame = field(repr=False)
    contributions: pd.DataFrame | None = field(repr=False)
    groups: pd.DataFrame | None = field(repr=False)
    trends: pd.DataFrame | None = field(repr=False)
    searches: pd.DataFrame | None = field(repr=False)
    members: Mapping[str, Sequence[str]] = field(repr=False)  # corruptions by suite
    categories: Mapping[str, Sequence[str]] = field(repr=False)  # and by category

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
        """The names of corruptions for people."""
        return short_names([*self.shifts.corrupted.columns, *self.shifts.scores.columns])

    @cached_property
    def residuals(self) -> pd.DataFrame:
        """What models lose to every corruption, and other scores: models x synthetic names."""
        return self.shifts.synthetic_residuals()

    @cached_property
    def suites(self) -> list[tuple[str, str]]:
        """All benchmarks that are no parts of others, as (what, name): the largest first, but all corruptions last."""
        found = self.correlations[self.correlations["what"].isin(SUITES)].drop_duplicates(["what", "benchmark"])
        found = found.sort_values("size", ascending=False, kind="stable")
        suites = list(zip(found["what"], found["benchmark"], strict=True))
        return sorted(suites, key=lambda suite: suite == ("suite", ALL))

    @cached_property
    def drawn(self) -> list[tuple[str, str]]:
        """Those of which it is known what models lose to them, so that they can be drawn."""
        return [suite for suite in self.suites if self.residual(*suite) is not None]

    @cached_property
    def corruptions(self) -> list[str]:
        """The corruptions that are scored alone, the one first that predicts best where it can be told."""
        its = self._alone[self._alone["natural"] != MEAN]
        means = its.groupby("benchmark", sort=False)["value"].mean()
        return means.sort_values(ascending=False, kind="stable").index.tolist()

    @cached_property
    def telling(self) -> list[str]:
        """The columns that tell of single corruptions: the last, or all that have correlations if it has none."""
        known = set(self._alone.loc[self._alone["value"].notna(), "natural"])
        found = [natural for natural in self.columns if natural in known]
        return [self.overall] if self.overall in found else found

    @cached_property
    def contributing(self) -> str:
        """The benchmark that contributions are those to."""
        its = set(self.contributions["corruption"])
        found = [name for name, members in self.members.items() if set(members) == its]
        return suite_name(found[0]) if found else "the benchmark"

    def names(self, what: str) -> list[str]:
        """All benchmarks of a kind, in the order of the table."""
        return self.correlations.loc[self.correlations["what"] == what, "benchmark"].drop_duplicates().tolist()

    def score(self, what: str, benchmark: str, natural: str | None = None, kind: str = "pearson") -> Score | None:
        """One correlation, by default that with all natural benchmarks; None if it was not computed."""
        line = self._lines.get((what, benchmark, natural or self.overall, kind))
        return None if line is None else Score(line.value, line.low, line.high, int(line.models), "", line.note)

    def p_value(self, what: str, benchmark: str, natural: str, kind: str) -> float:
        """Its p-value."""
        line = self._lines.get((what, benchmark, natural, kind))
        return float("nan") if line is None else line.p_value

    def size(self, what: str, benchmark: str) -> int:
        """How many corruptions a benchmark has."""
        return next(int(line.size) for key, line in self._lines.items() if key[:2] == (what, benchmark))

    def members_of(self, search: Any) -> list[str]:
        """The corruptions that a search found, by their names for people."""
        return [self.shown.get(name, name) for name in search.members.split(BETWEEN)]

    def residual(self, what: str, benchmark: str) -> pd.Series | None:
        """The residual robustness of all models on a benchmark, or its score; None if its members are not known."""
        if what == "score":
            return self.residuals[benchmark]
        return self.residuals[list(self.members[benchmark])].mean(axis=1) if benchmark in self.members else None

    @property
    def _alone(self) -> pd.DataFrame:
        """Pearson's correlations of single corruptions."""
        return self.correlations[(self.correlations["what"] == "corruption") & (self.correlations["kind"] == "pearson")]

    @cached_property
    def _lines(self) -> dict[tuple[str, str, str, str], Any]:
        rows = self.correlations.itertuples(index=False)
        return {(row.what, row.benchmark, row.natural, row.kind): row for row in rows}


def measure_validity(
    shifts: Shifts,
    correlations: pd.DataFrame,
    contributions: pd.DataFrame | None = None,
    groups: pd.DataFrame | None = None,
    trends: pd.DataFrame | None = None,
    searches: pd.DataFrame | None = None,
    settings: Mapping[str, Any] | None = None,
) -> ValidityScores:
    """Bring the tables of a study into the form in which they are shown."""
    settings = settings or {}
    tables = [_tidy(table) for table in (correlations, contributions, groups, trends, searches)]
    members = settings.get("suites") or _guessed_members(shifts, tables[0])
    return ValidityScores(shifts, *tables, members, settings.get("categories") or {})


def suite_name(suite: str) -> str:
    """A suite in sentences."""
    return "all corruptions" if suite == ALL else suite


def signed(value: float) -> str:
    """A change of a correlation: three digits after the point, with its sign.

    >>> signed(0.0123), signed(-0.2), signed(math.nan)
    ('+0.012', '−0.200', '–')
    """
    return NOTHING if math.isnan(value) else f"{value:+.3f}".replace("-", "\u2212")


def with_interval(score: Score) -> str:
    """A correlation in a sentence, with its interval if there is one.

    >>> with_interval(Score(0.654, 0.5, 0.75, 40, ""))
    '0.65 (95 % interval 0.50 to 0.75)'
    """
    return f"{hundredths(score.value)}{bracketed(score.low, score.high, hundredths)}"


def _tidy(table: pd.DataFrame | None) -> pd.DataFrame | None:
    """A table whose empty notes are empty texts, and whose names are texts; None if it has no lines."""
    if table is None or table.empty:
        return None
    texts = ("benchmark", "group", "smaller", "larger", "note", "warning", "members")
    return table.assign(**{name: table[name].fillna("").astype(str) for name in texts if name in table})


def _guessed_members(shifts: Shifts, correlations: pd.DataFrame) -> dict[str, list[str]]:
    """The corruptions of suites of which nothing is written down: all of the table, or all of that suite in it."""
    names = list(shifts.corrupted.columns)
    sizes = correlations[correlations["what"] == "suite"].groupby("benchmark", sort=False)["size"].first()
    guesses = {
        suite: names if suite == ALL else [n for n in names if n.startswith(f"{suite}/")] for suite in sizes.index
    }
    return {suite: members for suite, members in guesses.items() if len(members) == sizes[suite]}
