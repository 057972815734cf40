"""The tables of the report of distances."""

from __future__ import annotations

import math

import pandas as pd

from scuff.metrics import Score
from scuff.report.tables import Cell, Column, Table, mark_best, score_cell, sorted_by, words
from scuff.report.transform_space.names import full_name, short_name
from scuff.report.transform_space.scores import KINDS, RHO, DistanceScores, near
from scuff.report.words import NOTHING, hundredths, percent

MOST_NEAREST = 3  # schemes that are named for every corruption


def correlation_table(scores: DistanceScores) -> Table:
    """The correlations of every corruption, with intervals; what is not defined says why."""
    rows = []
    for corruption in scores.msd.columns:
        lines = {k: table.loc[corruption] for k, table in scores.correlations.items() if corruption in table.index}
        row = [Cell(scores.shown[corruption])]
        for kind in scores.correlations:
            line = lines.get(kind)
            row += [Cell(NOTHING)] * 2 if line is None else [rho_cell(line), p_cell(line["p_value"])]
        first = next(iter(lines.values()), None)
        row.append(Cell(NOTHING) if first is None else Cell(str(int(first["schemes"])), first["schemes"]))
        notes = dict.fromkeys(line["note"] for line in lines.values() if line["note"])
        rows.append([*row, Cell("; ".join(notes), is_text=True)])
    heads = [
        Column(head) for kind in scores.correlations for head in (f"{RHO} of {KINDS[kind]}", f"p of {KINDS[kind]}")
    ]
    columns = [words("corruption"), *heads, Column("schemes"), words("note")]
    if not any(row[-1].text for row in rows):
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    return Table("Rank correlations of distance and error over schemes, with 95 % intervals", columns, rows)


def rho_cell(line: pd.Series) -> Cell:
    """A correlation with its interval."""
    return score_cell(Score(line["rho"], line["low"], line["high"], int(line["schemes"]), ""), hundredths)


def p_cell(value: float) -> Cell:
    """The probability of a correlation that strong if there were none.

    >>> p_cell(0.034).text, p_cell(1e-9).text, p_cell(math.nan).text
    ('0.034', '< 0.001', '–')
    """
    return Cell(NOTHING if math.isnan(value) else "< 0.001" if value < 0.001 else f"{value:.3f}", value)


def scheme_table(scores: DistanceScores) -> Table:
    """Every scheme in the mean over corruptions, from near to far; the best of each column is marked."""
    has_spread, has_errors = scores.resamplings > 1, scores.errors is not None
    clean = scores.clean if has_errors and scores.clean.notna().any() else None
    to = scores.msd.idxmin(axis=1)
    rows = []
    for scheme in scores.by_distance:
        msd, mmd, spread = (frame.loc[scheme].mean() for frame in (scores.msd, scores.mmd, scores.spread))
        rows.append(
            [
                Cell(full_name(scheme)),
                Cell(near(msd), msd),
                *([Cell(near(spread), spread)] if has_spread else []),
                Cell(near(mmd), mmd),
                Cell(scores.shown[to[scheme]], is_text=True),
                *([score_cell(error_score(scores, scheme))] if has_errors else []),
                *([percent_cell(clean[scheme])] if clean is not None else []),
            ]
        )
    columns = [
        words("scheme"),
        Column("MSD"),
        *([Column("deviation of MSD")] if has_spread else []),
        Column("MMD"),
        words("comes nearest to"),
        *([Column("error %")] if has_errors else []),
        *([Column("clean error %")] if clean is not None else []),
    ]
    numbers = [k for k, column in enumerate(columns) if column.is_number and column.name != "deviation of MSD"]
    return sorted_by(Table("Schemes, mean over all corruptions", columns, mark_best(rows, numbers)), 1)


def error_score(scores: DistanceScores, scheme: str) -> Score | None:
    """The mean error of a scheme with its interval; None if not all of its errors are known."""
    if scheme not in scores.mean_errors.index:
        return None
    line = scores.mean_errors.loc[scheme]
    return Score(line["value"], line["low"], line["high"], int(line["n"]), "")


def nearest_table(scores: DistanceScores) -> Table:
    """The nearest schemes of every corruption, and the one of which the errors are lowest."""
    has_errors = scores.errors is not None and scores.errors.notna().any(axis=None)
    rows = []
    for corruption in scores.msd.columns:
        nearest = scores.msd[corruption].nsmallest(MOST_NEAREST)
        row = [Cell(scores.shown[corruption]), Cell(near(nearest.iloc[0]), nearest.iloc[0])]
        row.append(Cell("; ".join(map(short_name, nearest.index)), is_text=True))
        if has_errors:
            errors = scores.errors[corruption].dropna()
            best = errors.idxmin() if len(errors) else None
            row += [
                Cell(NOTHING if best is None else short_name(best), is_text=True),
                percent_cell(math.nan if best is None else errors[best]),
            ]
        rows.append(row)
    columns = [words("corruption"), Column("smallest MSD"), words("nearest schemes")]
    columns += [words("lowest error, trained with"), Column("that error %")] if has_errors else []
    return Table("The nearest schemes of every corruption", columns, rows)


def percent_cell(share: float) -> Cell:
    """A share in per cent."""
    return Cell(percent(share), share)
