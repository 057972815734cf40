"""The tables of the report of validity."""

from __future__ import annotations

import pandas as pd

from scuff.metrics import Score
from scuff.report.tables import Cell, Column, Table, mark_best, score_cell, words
from scuff.report.transform_space.tables import p_cell
from scuff.report.validity.scores import ALL, KINDS, MEAN, ValidityScores, signed, suite_name
from scuff.report.words import NOTHING, count, fine, hundredths, percent

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
                values = [scores.p_value(what, benchmark, natural, kind) for natural in scores.columns]
                rows.append([Cell(suite_name(benchmark)), Cell(name, is_text=True), *map(p_cell, values)])
    columns = [words("benchmark"), words("correlation"), *map(Column, scores.columns)]
    caption = "p-values (two-sided), as if models were independent"
    caption += "" if scores.shifts.families is None else ": they ignore families"
    return Table(caption + ("; the last column is their mean" if MEAN in scores.columns else ""), columns, rows)


def category_table(scores: ValidityScores) -> Table:
    """Pearson's correlation of every category, and which corruptions it has."""
    rows = []
    for category in scores.names("category"):
        members = [scores.shown.get(name, name) for name in scores.categories.get(category, ())]
        cells = _cells(scores, "category", category, "pearson")
        rows.append([Cell(category), *cells, Cell(", ".join(members) or NOTHING, is_text=True)])
    rows = mark_best(rows, range(1, 1 + len(scores.columns)), max)
    columns = [words("category"), *map(Column, scores.columns), words("corruptions")]
    return Table("Pearson's correlation by category, with 95 % intervals", columns, rows)


def corruption_table(scores: ValidityScores) -> Table:
    """Every corruption alone, by all kinds of correlation, in the mean over natural benchmarks."""
    rows = []
    for name in scores.corruptions:
        cells = [score_cell(scores.score("corruption", name, kind=kind), hundredths) for kind in KINDS]
        rows.append([Cell(scores.shown[name]), *cells])
    with_what = _mean_words(scores)
    columns = [words("corruption"), *(Column(name) for name in KINDS.values())]
    return Table(f"Corruptions alone: correlation with {with_what}", columns, mark_best(rows, range(1, 5), max))


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
    """Mean correlations, natural benchmarks down and groups across, as in tables 2 and 3 of the paper.

    As in its table 2, suites and scores may stand beside the groups.
    """
    names = groups["group"].drop_duplicates().tolist()
    found = {(row.natural, row.group): row for row in groups.itertuples(index=False)}
    suites = scores.suites if with_suites else []
    rows = []
    for natural in scores.columns:
        cells = [score_cell(_line_score(found.get((natural, group))), fine) for group in names]
        cells += [score_cell(scores.score(*suite, natural=natural), fine) for suite in suites]
        rows.append([Cell(natural), *cells])
    heads = [*names, *(suite_name(name) for _, name in suites)]
    return Table(caption, [words("natural benchmark"), *map(Column, heads)], rows)


def group_facts_table(groups: pd.DataFrame) -> Table:
    """What groups are made of: how many benchmarks, how large, and how much they differ."""
    rows = []
    for row in groups[groups["natural"] == MEAN].itertuples(index=False):
        numbers = [Cell(str(int(row.size)), row.size), Cell(str(int(row.benchmarks)), row.benchmarks)]
        spread = Cell(fine(row.spread), row.spread)
        rows.append([Cell(row.group), *numbers, spread, p_cell(row.p_value)])
    columns = [words("group"), Column("corruptions"), Column("benchmarks"), Column("deviation of r"), Column("mean p")]
    return Table("Groups of benchmarks; deviation over their benchmarks, for the mean r", columns, rows)


def trend_table(scores: ValidityScores) -> Table:
    """All differences between groups, and slopes over all of them."""
    rows = []
    for row in scores.trends[scores.trends["natural"].isin(scores.columns)].itertuples(index=False):
        pair = "slope over all" if row.smaller == ALL else f"{row.smaller} to {row.larger}"
        other = Cell(NOTHING if pd.isna(row.other_sign_share) else fine(row.other_sign_share), row.other_sign_share)
        change = score_cell(Score(row.difference, row.low, row.high, 0, ""), signed)
        about = [Cell(pair, is_text=True), Cell(str(row.categories), row.categories), Cell(row.natural, is_text=True)]
        rows.append([Cell(QUESTIONS.get(row.question, row.question)), *about, change, other])
    columns = [words("more"), words("groups"), Column("out of categories"), words("natural benchmark")]
    columns += [Column("change of r")]
    return Table(
        "Changes of the mean correlation, with 95 % intervals", [*columns, Column("share of other sign")], rows
    )


def search_table(scores: ValidityScores) -> Table:
    """What was found for every size, and how well it predicts for models that had no part in the choice."""
    rows = []
    for row in scores.searches.itertuples(index=False):
        members = [scores.shown.get(name, name) for name in row.members.split()]
        chosen = "all sets tried" if row.exact else "best found"
        rows.append(
            [
                Cell(count(int(row.size), "corruption")),
                Cell(f"{', '.join(members)} ({chosen})", is_text=True),
                *(score_cell(_named_score(row, key), hundredths) for key in ("chosen", "held_out", "random", "whole")),
                *(score_cell(_named_score(row, key), signed) for key in ("gain", "gain_over_whole")),
                Cell(percent(row.stability, 0), row.stability),
            ]
        )
    numbers = ("r on the choosing models", "r, held out", "r of random ones", "r of all together")
    numbers += ("gain over random", "gain over all", "stability %")
    columns = [words("size"), words("the most predictive benchmark"), *map(Column, numbers)]
    return Table("Most predictive benchmarks; 95 % intervals over held-out models", columns, rows)


def left_out_table(scores: ValidityScores) -> Table:
    """Which models of the source are not used, and why."""
    rows = [[Cell(model), Cell(why, is_text=True)] for model, why in scores.shifts.left_out.items()]
    return Table("Models that are left out", [words("model"), words("why")], rows)


def _cells(scores: ValidityScores, what: str, benchmark: str, kind: str) -> list[Cell] | None:
    """A cell for every natural benchmark; None if there is no correlation of this kind."""
    found = [scores.score(what, benchmark, natural, kind) for natural in scores.columns]
    return None if all(one is None for one in found) else [score_cell(one, hundredths) for one in found]


def _mean_words(scores: ValidityScores) -> str:
    return "natural benchmarks, mean" if len(scores.natural) > 1 else scores.natural[0]


def _gain(line) -> Score:
    return Score(line.gain, line.gain_low, line.gain_high, 0, "")


def _line_score(line) -> Score | None:
    return None if line is None else Score(line.value, line.low, line.high, 0, "")


def _named_score(line, key: str) -> Score | None:
    """A score of a search, whose interval is in the columns `_low` and `_high`; None in a study that knew none."""
    if not hasattr(line, key):
        return None
    ends = (getattr(line, f"{key}_{end}", float("nan")) for end in ("low", "high"))
    return Score(getattr(line, key), *ends, 0, "")
