"""The tables of the report of a dissimilar benchmark."""

from __future__ import annotations

import math

from scuff.design import Dissimilar
from scuff.report.tables import Cell, Column, Table, words
from scuff.report.transform_space.scores import near
from scuff.report.words import hundredths, percent, short_names


def member_table(found: Dissimilar) -> Table:
    """The corruptions of the benchmark: severities, error, distance, shift."""
    shown = short_names(found.shifts["corruption"].tolist())
    shifts = found.shifts.set_index("corruption")
    rows = []
    for name, its in found.picks.groupby("corruption", sort=False):
        line = shifts.loc[name]
        deviation = "" if math.isnan(line["sd"]) else f"± {hundredths(line['sd'])}"
        rows.append(
            [
                Cell(shown[name]),
                Cell(", ".join(f"{severity:g}" for severity in its["severity"]), is_text=True),
                Cell(percent(its["error"].mean()), its["error"].mean()),
                Cell(f"{percent(its['error'].iloc[0])} to {percent(its['error'].iloc[-1])}", is_text=True),
                Cell(near(its["distance"].mean()), its["distance"].mean()),
                Cell(hundredths(line["shift"]), line["shift"], deviation),
            ]
        )
    columns = [words("corruption"), words("severities"), Column("error %"), words("from first to last")]
    return Table("The chosen corruptions", [*columns, Column("distance"), Column("shift")], rows)


def level_table(found: Dissimilar) -> Table:
    """Every corruption of the benchmark at every severity."""
    shown = short_names(found.shifts["corruption"].tolist())
    rows = [
        [
            Cell(shown[row.corruption]),
            Cell(str(row.level), row.level),
            Cell(f"{row.severity:g}", row.severity),
            Cell(percent(row.error), row.error),
            Cell(near(row.distance), row.distance),
        ]
        for row in found.picks.itertuples()
    ]
    heads = ("severity here", "severity of the candidate", "error %", "distance")
    return Table("Severities of the chosen corruptions", [words("corruption"), *map(Column, heads)], rows)


def shift_table(found: Dissimilar) -> Table:
    """The shifts of all candidates."""
    shown = short_names(found.shifts["corruption"].tolist())
    rows = [
        [
            Cell(shown[row.corruption]),
            Cell(hundredths(row.shift), row.shift),
            Cell(hundredths(row.sd), row.sd),
            Cell("yes" if row.chosen else "no", is_text=True),
        ]
        for row in found.shifts.itertuples()
    ]
    columns = [words("candidate"), Column("shift"), Column("deviation over repetitions"), words("chosen")]
    return Table("Shifts of all candidates", columns, rows)
