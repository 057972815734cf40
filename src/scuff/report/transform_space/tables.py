"""The tables of the page about distances."""

from __future__ import annotations

import math

import pandas as pd

from scuff.report.transform_space.names import full_name, short_name
from scuff.report.transform_space.scores import KINDS, RHO, DistanceScores
from scuff.report.transform_space.shared import near
from scuff.tables import Column, Table
from scuff.words import decimals, hundredths, p_value, percent

MOST_NEAREST = 3  # schemes that are named for every corruption


def correlation_table(scores: DistanceScores) -> Table:
    """The correlations of every corruption, with intervals; those that are not defined say why."""
    lines = pd.DataFrame({"name": scores.shown, "schemes": math.nan})
    notes = pd.DataFrame({kind: table["note"] for kind, table in scores.correlations.items()})
    lines["note"] = notes.apply(lambda row: "; ".join(dict.fromkeys(filter(None, row))), axis=1)
    columns = [Column("corruption", "name")]
    for kind, table in scores.correlations.items():
        lines[[kind, f"{kind}_low", f"{kind}_high", f"{kind}_p"]] = table[["rho", "low", "high", "p_value"]]
        lines["schemes"] = lines["schemes"].fillna(table["schemes"])
        columns.append(Column(f"{RHO} of {KINDS[kind]}", kind, hundredths, interval=True))
        columns.append(Column(f"p of {KINDS[kind]}", f"{kind}_p", p_value))
    columns += [Column("schemes", "schemes", decimals(0)), Column("note", "note") if lines["note"].any() else None]
    return Table.of("Rank correlations of distance and error over schemes, with 95 % intervals", lines, columns)


def scheme_table(scores: DistanceScores) -> Table:
    """Every scheme on average over corruptions, from near to far; the best of each column is marked."""
    lines = pd.DataFrame({"msd": scores.msd.mean(axis=1), "mmd": scores.mmd.mean(axis=1)})
    lines["spread"], lines["clean"] = scores.spread.mean(axis=1), scores.clean
    lines["name"] = lines.index.map(full_name)
    lines["nearest"] = scores.msd.idxmin(axis=1).map(scores.shown)
    lines[["error", "error_low", "error_high"]] = scores.mean_errors.reindex(lines.index)[["value", "low", "high"]]
    columns = [
        Column("scheme", "name"),
        Column("MSD", "msd", near, best="lowest"),
        Column("deviation of MSD", "spread", near) if scores.resamplings > 1 else None,
        Column("MMD", "mmd", near, best="lowest"),
        Column("comes nearest to", "nearest"),
        Column("error %", "error", percent, interval=True, best="lowest") if scores.errors is not None else None,
        Column("clean error %", "clean", percent, best="lowest") if lines["clean"].notna().any() else None,
    ]
    return Table.of("Schemes, mean over all corruptions", lines, columns, sort="MSD")


def nearest_table(scores: DistanceScores) -> Table:
    """The nearest schemes of every corruption, and the one with the lowest error."""
    lines = []
    for corruption in scores.msd.columns:
        nearest = scores.msd[corruption].nsmallest(MOST_NEAREST)
        line = {"name": scores.shown[corruption], "msd": nearest.iloc[0], "best": None, "error": math.nan}
        line["nearest"] = "; ".join(map(short_name, nearest.index))
        errors = [] if scores.errors is None else scores.errors[corruption].dropna()
        if len(errors):
            line |= {"best": short_name(errors.idxmin()), "error": errors.min()}
        lines.append(line)
    has_errors = any(line["best"] is not None for line in lines)
    columns = [
        Column("corruption", "name"),
        Column("smallest MSD", "msd", near),
        Column("nearest schemes", "nearest"),
        Column("lowest error, trained with", "best") if has_errors else None,
        Column("that error %", "error", percent) if has_errors else None,
    ]
    return Table.of("The nearest schemes of every corruption", lines, columns)
