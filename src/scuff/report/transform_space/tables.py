"""The tables of the page about distances, and the matrix of all of them."""

from __future__ import annotations

import math

import pandas as pd

from scuff.report.colours import shade
from scuff.report.heatmap import HeatCell, scale
from scuff.report.matrix import Matrix, make_matrix
from scuff.report.transform_space.names import full_name, is_subset, short_name
from scuff.report.transform_space.scores import KINDS, RHO, DistanceScores
from scuff.report.transform_space.shared import near
from scuff.tables import Column, Table
from scuff.words import count, decimals, hundredths, p_value, percent, percent_sign

MOST_NEAREST = 3  # schemes that are named for every corruption
MOST_ROWS = 64  # of the matrix: of more schemes, the nearest are shown


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
            line |= {"best": short_name(errors.idxmin()), "error": errors.min()}  # type: ignore[union-attr]
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


# --- the matrix -------------------------------------------------------------------------------------------------------


def distance_matrix(scores: DistanceScores) -> Matrix:
    """The MSD of every scheme to every corruption. Colours compare the schemes of a column; the nearest is framed."""
    lowest, highest = scores.msd.min(), scores.msd.max()

    def cell(scheme: str, corruption: str) -> HeatCell:
        value, least, most = scores.msd.at[scheme, corruption], lowest[corruption], highest[corruption]
        is_nearest = value == least and len(scores.msd) > 1
        colour = shade(most - value, (most - least) or 1.0)
        return HeatCell(near(value), colour, _tip(scores, scheme, corruption), is_nearest)

    rows = shown_schemes(scores)
    groups = [[s for s in rows if not is_subset(s)], [s for s in rows if is_subset(s)]]
    shown = scores.shown | {scheme: short_name(scheme) for scheme in rows}
    return make_matrix(
        "MSD of schemes to corruptions, mean over severities",
        "",
        scale("farthest", "nearest scheme"),
        [("", group) for group in groups if group],
        [("", list(scores.msd.columns))],
        cell,
        shown,
        is_flat=True,
    )


def shown_schemes(scores: DistanceScores) -> list[str]:
    """The schemes that have a row, from near to far: all with a name of their own, and the nearest of the others."""
    if len(scores.by_distance) <= MOST_ROWS:
        return scores.by_distance
    room = max(0, MOST_ROWS - len(scores.named))
    kept = {*scores.named, *[scheme for scheme in scores.by_distance if is_subset(scheme)][:room]}
    return [scheme for scheme in scores.by_distance if scheme in kept]


def _tip(scores: DistanceScores, scheme: str, corruption: str) -> str:
    deviation = scores.spread.at[scheme, corruption]
    lines = [
        full_name(scheme),
        f"to {scores.shown[corruption]}: MSD {near(scores.msd.at[scheme, corruption])}",
        f"deviation {near(deviation)} over {count(scores.resamplings, 'resampling')}" if deviation >= 0 else "",
        f"MMD {near(scores.mmd.at[scheme, corruption])}",
    ]
    if scores.errors is not None and scores.errors.at[scheme, corruption] >= 0:
        lines.append(f"trained with it: {percent_sign(scores.errors.at[scheme, corruption])} error")
    return "\n".join(filter(None, lines))
