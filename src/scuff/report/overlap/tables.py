"""The tables of an overlap study."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import pandas as pd

from scuff.metrics import Score
from scuff.report.overlap.scores import OverlapScores, suite_of
from scuff.report.tables import Cell, Column, Table, score_cell, words
from scuff.report.words import NOTHING, fine, grouped, hundredths, listed, plain

MOST_PAIRS = 30  # in the table of the strongest overlaps


def strongest_pairs(scores: OverlapScores) -> Table:
    """The pairs that overlap most."""
    pairs = [(a, b, scores.overlaps.score(a, b)) for a, b in combinations(scores.leaves, 2)]
    pairs.sort(key=lambda pair: -pair[2].value)
    rows = [
        [Cell(scores.shown[a]), Cell(scores.shown[b], is_text=True), score_cell(score, hundredths)]
        for a, b, score in pairs[:MOST_PAIRS]
    ]
    columns = [words("corruption"), words("other corruption"), Column("overlap")]
    return Table("The strongest overlaps, with 95 % intervals", columns, rows)


def category_steps(steps: pd.DataFrame) -> Table:
    """What was found with every number of categories."""
    columns = {
        "same": "correlation inside",
        "different": "correlation between",
        "silhouette": "silhouette",
        "hierarchical_same": "correlation inside, hierarchical",
        "hierarchical_silhouette": "silhouette, hierarchical",
        "rand": "agreement of both (adjusted Rand)",
    }
    rows = [
        [Cell(str(int(row["k"]))), *(Cell(hundredths(row[name]), row[name]) for name in columns)]
        for _, row in steps.iterrows()
    ]
    return Table("By number of categories", [words("categories"), *map(Column, columns.values())], rows)


def chosen_members(scores: OverlapScores) -> Table:
    """The chosen corruptions, each with the one that it overlaps with most."""
    members, several = scores.selection.members, len(scores.suites) > 1
    rows = []
    for name in members:
        others = [other for other in members if other != name]
        nearest = max(others, key=lambda other: scores.overlaps.score(name, other).value)
        suite = [Cell(suite_of(name), is_text=True)] if several else []
        score = score_cell(scores.overlaps.score(name, nearest), hundredths)
        rows.append([Cell(scores.shown[name]), *suite, Cell(scores.shown[nearest], is_text=True), score])
    columns = [words("corruption"), *([words("suite")] if several else []), words("nearest other"), Column("overlap")]
    return Table("The chosen corruptions, with 95 % intervals", columns, rows)


def sweep_table(scores: OverlapScores) -> Table:
    """The largest benchmark at every threshold."""
    rows = [
        [
            Cell(f"{row.threshold:g}"),
            Cell(str(row.size), row.size),
            Cell(fine(row.mean_overlap), row.mean_overlap),
            Cell(("" if row.all_counted else "more than ") + grouped(row.largest_subsets), is_text=True),
            Cell(listed_names(scores, row.members), is_text=True),
        ]
        for row in scores.sweep.itertuples()
    ]
    heads = [words("threshold"), Column("size"), Column("mean overlap"), words("sets of that size"), words("the best")]
    return Table("The largest benchmarks by threshold", heads, rows)


def coverage_counts(scores: OverlapScores) -> Table:
    """How much of each suite each benchmark covers."""
    rows = []
    for (benchmark, others), frame in scores.coverage.items():
        missed = [scores.shown[row.corruption] for row in frame.itertuples() if not row.covered]
        covered, certain = int(frame["covered"].sum()), int((frame["covered"] & frame["certain"]).sum())
        rows.append(
            [
                Cell(f"{benchmark} against {others}"),
                Cell(f"{covered} of {len(frame)}", covered / len(frame)),
                Cell(str(certain), certain),
                Cell(listed(missed) if missed else NOTHING, is_text=True),
            ]
        )
    heads = [words("benchmark"), Column("covers"), Column("surely"), words("does not cover")]
    return Table("Coverage by overlaps", heads, rows)


def nearest_table(scores: OverlapScores) -> Table:
    """Every corruption and the nearest one of each benchmark."""
    rows = [
        [
            Cell(scores.shown[row.corruption]),
            Cell(benchmark, is_text=True),
            Cell(scores.shown[row.nearest] if row.nearest else NOTHING, is_text=True),
            score_cell(Score(row.overlap, row.low, row.high, row.n, ""), hundredths),
            Cell(_yes(row.covered, row.certain), is_text=True),
        ]
        for (benchmark, _), frame in scores.coverage.items()
        for row in frame.itertuples()
    ]
    heads = [words("corruption"), words("benchmark"), words("nearest in it"), Column("overlap"), words("covered")]
    return Table("Coverage by overlaps, with 95 % intervals", heads, rows)


def _yes(covered: bool, certain: bool) -> str:
    return ("yes" if covered else "no") + ("" if certain else ", not sure")


def direct_table(scores: OverlapScores) -> Table:
    """Every corruption with and without training on a whole benchmark."""
    rows = [
        [
            Cell(scores.shown[row.corruption]),
            Cell(suite, is_text=True),
            Cell(fine(row.standard), row.standard),
            Cell(fine(row.trained), row.trained),
            score_cell(Score(row.difference, row.low, row.high, row.n, ""), fine),
        ]
        for suite, frame in scores.direct.items()
        for row in frame.itertuples()
    ]
    heads = [
        words("corruption"),
        words("trained with all of"),
        Column("robustness, standard"),
        Column("robustness, trained"),
        Column("difference"),
    ]
    return Table("Robustness scores with training on a whole benchmark, with 95 % intervals", heads, rows)


def spread_table(scores: OverlapScores) -> Table:
    """Range and standard deviation of every benchmark."""
    rows = [
        [
            Cell(name),
            Cell(str(len(found.mces)), len(found.mces)),
            score_cell(found.range, plain),
            score_cell(found.std, plain),
        ]
        for name, found in scores.balances.items()
    ]
    heads = [words("benchmark"), Column("corruptions"), Column("range of mCE"), Column("standard deviation of mCE")]
    return Table("Spread of the mean corruption errors, with 95 % intervals; smaller is better balanced", heads, rows)


def mce_table(scores: OverlapScores) -> Table:
    """The mean corruption error of every model."""
    rows = [
        [Cell(name), Cell(scores.shown[model], is_text=True), Cell(plain(mce), mce)]
        for name, found in scores.balances.items()
        for model, mce in {"standard": found.standard, **found.mces}.items()
    ]
    return Table("Mean corruption errors", [words("benchmark"), words("trained with"), Column("mCE %")], rows)


def listed_names(scores: OverlapScores, names: Sequence[str]) -> str:
    """Corruptions as in a sentence."""
    return listed([scores.shown[name] for name in names])
