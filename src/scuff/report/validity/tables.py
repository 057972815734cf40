"""The tables of the report of validity."""

from __future__ import annotations

import pandas as pd

from scuff.metrics import Score
from scuff.report.tables import Cell, Column, Table, mark_best, score_cell, words
from scuff.report.transform_space.tables import p_cell
from scuff.report.validity.notes import some_of
from scuff.report.validity.scores import ALL, KINDS, MEAN, ValidityScores, signed, suite_name
from scuff.report.words import NOTHING, count, fine, hundredths, listed, percent

MOST_MEMBERS = 10  # of a benchmark that are named in a table
QUESTIONS = {
    "n": "categories, at the same size",
    "size": "corruptions of the same categories",
    "std": "imbalance of categories (std)",
}


def correlation_table(scores: ValidityScores) -> Table:
    """All kinds of correlation of every suite with every natural benchmark; of each kind, the best is marked."""
    rows = []
    for kind, name in KINDS.items():
        its = [
            [Cell(suite_name(benchmark)), Cell(name, is_text=True), *cells]
            for what, benchmark in scores.suites
            if (cells := _cells(scores, what, benchmark, kind)) is not None
        ]
        rows += mark_best(its, range(2, 2 + len(scores.columns)), max)
    columns = [words("benchmark"), words("correlation"), *map(Column, scores.columns)]
    return Table("Correlations over models with what natural shifts cost, with 95 % intervals", columns, rows)


def p_table(scores: ValidityScores) -> Table:
    """The p-values of the same correlations."""
    rows = []
    for kind, name in KINDS.items():
        for what, benchmark in scores.suites:
            if _cells(scores, what, benchmark, kind) is not None:
                values = [scores.p_value(what, benchmark, natural, kind) for natural in scores.natural]
                rows.append([Cell(suite_name(benchmark)), Cell(name, is_text=True), *map(p_cell, values)])
    columns = [words("benchmark"), words("correlation"), *map(Column, scores.natural)]
    caption = "p-values (two-sided), as if models were independent"
    return Table(caption + ("" if scores.shifts.families is None else ": they ignore families"), columns, rows)


def category_table(scores: ValidityScores) -> Table:
    """Pearson's correlation of every category, and which corruptions it has."""
    rows = []
    for category in scores.names("category"):
        members = [scores.shown.get(name, name) for name in scores.categories.get(category, ())]
        cells = _cells(scores, "category", category, "pearson")
        rows.append([Cell(category), Cell(", ".join(members) or NOTHING, is_text=True), *cells])
    rows = mark_best(rows, range(2, 2 + len(scores.columns)), max)
    columns = [words("category"), words("corruptions"), *map(Column, scores.columns)]
    return Table("Pearson's correlation by category, with 95 % intervals", columns, rows)


def corruption_table(scores: ValidityScores, natural: str) -> Table:
    """Every corruption alone, by all kinds of correlation, with a natural benchmark or in the mean over all."""
    rows = []
    for name in scores.corruptions:
        cells = [score_cell(scores.score("corruption", name, natural, kind), hundredths) for kind in KINDS]
        rows.append([Cell(scores.shown[name]), *cells])
    with_what = "natural benchmarks, mean" if natural == MEAN else natural
    columns = [words("corruption"), *(Column(name) for name in KINDS.values())]
    return Table(
        f"Corruptions alone: correlation with {with_what}", columns, mark_best(rows, range(1, 1 + len(KINDS)), max)
    )


def gain_table(scores: ValidityScores) -> Table:
    """What each corruption adds to the benchmark, for every natural one."""
    found = {(row.corruption, row.natural): row for row in scores.contributions.itertuples(index=False)}
    rows = []
    for name in scores.contributions["corruption"].drop_duplicates():
        its = [found.get((name, natural)) for natural in scores.columns]
        cells = [Cell(NOTHING) if line is None else score_cell(_gain(line), signed) for line in its]
        rows.append([Cell(scores.shown.get(name, name)), *cells])
    columns = [words("corruption"), *map(Column, scores.columns)]
    return Table(f"Gain: Pearson's r of {scores.contributing} minus that without the corruption", columns, rows)


def group_table(scores: ValidityScores, groups: pd.DataFrame, caption: str, with_suites: bool) -> Table:
    """Mean correlations by group and natural benchmark: tables 2 and 3 of the paper, with a line per group.

    As in its table 2, suites and scores may stand below the groups.
    """
    found = {(row.group, row.natural): row for row in groups.itertuples(index=False)}
    rows = [
        [Cell(group), *(score_cell(_line_score(found.get((group, natural))), fine) for natural in scores.columns)]
        for group in groups["group"].drop_duplicates()
    ]
    rows += [
        [Cell(suite_name(name)), *(score_cell(scores.score(what, name, natural), fine) for natural in scores.columns)]
        for what, name in (scores.suites if with_suites else [])
    ]
    return Table(caption, [words("group"), *map(Column, scores.columns)], rows)


def group_facts_table(groups: pd.DataFrame) -> Table:
    """What groups are made of: how many benchmarks, how large, and how much they differ."""
    rows = []
    for row in groups[groups["natural"] == MEAN].itertuples(index=False):
        numbers = [Cell(str(int(row.size)), row.size), Cell(str(int(row.benchmarks)), row.benchmarks)]
        spread = Cell(fine(row.spread), row.spread)
        rows.append([Cell(row.group), *numbers, spread, p_cell(row.p_value)])
    numbers = ("corruptions", "benchmarks", "deviation of r", "mean of p-values")
    columns = [words("group"), *map(Column, numbers)]
    return Table("Groups of benchmarks; deviation over their benchmarks, for the mean r", columns, rows)


def trend_table(scores: ValidityScores) -> Table:
    """All differences between groups, and slopes over all of them."""
    rows = []
    for row in scores.trends[scores.trends["natural"].isin(scores.columns)].itertuples(index=False):
        pair = "slope over all" if row.smaller == ALL else f"{row.smaller} to {row.larger}"
        other = Cell(NOTHING if pd.isna(row.other_sign_share) else fine(row.other_sign_share), row.other_sign_share)
        change = score_cell(Score(row.difference, row.low, row.high, 0, ""), signed)
        about = [Cell(pair, is_text=True), Cell(row.natural, is_text=True), Cell(str(row.categories), row.categories)]
        rows.append([Cell(QUESTIONS.get(row.question, row.question)), *about, change, other])
    columns = [words("more"), words("groups"), words("natural benchmark")]
    columns += map(Column, ("out of categories", "change of r", "share of other sign"))
    return Table("Changes of the mean correlation, with 95 % intervals", columns, rows)


def search_table(scores: ValidityScores) -> Table:
    """What was found for every size, and how well it predicts for models that had no part in the choice."""
    rows = []
    for row in scores.searches.itertuples(index=False):
        members = some_of(scores.members_of(row), MOST_MEMBERS)
        rows.append(
            [
                Cell(count(int(row.size), "corruption")),
                Cell(listed(members), is_text=True),
                *(score_cell(_named_score(row, key), hundredths) for key in ("chosen", "held_out", "random", "whole")),
                *(score_cell(_named_score(row, key), signed) for key in ("gain", "gain_over_whole")),
            ]
        )
    numbers = ("r on the choosing models", "r, held out", "r of random ones", "r of all together")
    numbers += ("gain over random", "gain over all")
    columns = [words("size"), words("the most predictive benchmark"), *map(Column, numbers)]
    return Table("Most predictive benchmarks; 95 % intervals over held-out models", columns, rows)


def member_table(scores: ValidityScores) -> Table:
    """All members of what was found, and how firm the choice is."""
    rows = []
    for row in scores.searches.itertuples(index=False):
        members, chosen = ", ".join(scores.members_of(row)), "all sets tried" if row.exact else "best found"
        texts = [Cell(members, is_text=True), Cell(chosen, is_text=True)]
        rows.append([Cell(count(int(row.size), "corruption")), *texts, Cell(percent(row.stability, 0), row.stability)])
    columns = [words("size"), words("members"), words("how"), Column("stability %")]
    return Table("All members of the most predictive benchmarks", columns, rows)


def reason_table(scores: ValidityScores) -> Table:
    """Why models of the source are not used, how many for every reason, and the first of them."""
    models: dict[str, list[str]] = {}
    for model, why in scores.shifts.left_out.items():
        models.setdefault(why, []).append(model)
    rows = [
        [Cell(count(len(its), "model")), Cell(why, is_text=True), Cell(listed(some_of(its)), is_text=True)]
        for why, its in sorted(models.items(), key=lambda reason: -len(reason[1]))
    ]
    return Table("Why models are left out", [words("how many"), words("why"), words("which")], rows)


def left_out_table(scores: ValidityScores) -> Table:
    """Which models of the source are not used, and why."""
    rows = [[Cell(model), Cell(why, is_text=True)] for model, why in scores.shifts.left_out.items()]
    return Table("Models that are left out", [words("model"), words("why")], rows)


def _cells(scores: ValidityScores, what: str, benchmark: str, kind: str) -> list[Cell] | None:
    """A cell for every natural benchmark; None if there is no correlation of this kind."""
    found = [scores.score(what, benchmark, natural, kind) for natural in scores.columns]
    return None if all(one is None for one in found) else [score_cell(one, hundredths) for one in found]


def _gain(line) -> Score:
    return Score(line.gain, line.gain_low, line.gain_high, 0, "")


def _line_score(line) -> Score | None:
    return None if line is None else Score(line.value, line.low, line.high, 0, "")


def _named_score(line, key: str) -> Score:
    """A score of a search, whose interval is in the columns `_low` and `_high`."""
    return Score(getattr(line, key), getattr(line, f"{key}_low"), getattr(line, f"{key}_high"), 0, "")
