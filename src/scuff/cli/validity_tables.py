"""What `scuff validity` shows in the terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pandas as pd
from rich import box
from rich.table import Table

from scuff.cli.console import open_console
from scuff.metrics.shifts import MEAN
from scuff.studies import Validity
from scuff.suites.combine import entry_names

KINDS = {"pearson": "Pearson", "spearman": "Spearman", "partial": "given clean accuracy", "effective": "effective"}
QUESTIONS = {
    "n": ("More categories at the same size", "category"),
    "k": ("More corruptions from each of as many categories", "corruption of each category"),
    "size": ("More corruptions in all", "corruption"),
    "std": ("Less balance", "unit of std"),
}
SHOWN = 3  # corruptions that are named for predicting best, or worst


def print_validity(found: Validity) -> None:
    """Tables first, then what they say in words."""
    console = open_console()
    console.print(benchmark_table(found.correlations))
    if (found.correlations["what"] == "category").any():
        console.print(category_table(found.correlations))
    if found.groups is not None:
        for kind in found.groups["kind"].unique():
            console.print(group_table(found.groups[found.groups["kind"] == kind]))
    if found.searches is not None:
        console.print(search_table(found.searches))
    for line in explain(found):
        console.print(line)


def benchmark_table(correlations: pd.DataFrame) -> Table:
    """Every suite and score, with every natural benchmark, by all kinds of correlation."""
    chosen = correlations[correlations["what"].isin(["suite", "score"])]
    kinds = [kind for kind in KINDS if kind in set(chosen["kind"])]
    table = _table("benchmark", "natural shift", *(KINDS[kind] for kind in kinds), left=2)
    for benchmark, its in chosen.groupby("benchmark", sort=False):
        wide = its.set_index(["kind", "natural"])
        for natural in its["natural"].unique():
            cells = [_interval(wide.loc[(k, natural)]) if (k, natural) in wide.index else "" for k in kinds]
            table.add_row(benchmark if natural == its["natural"].iloc[0] else "", natural, *cells)
    return table


def category_table(correlations: pd.DataFrame) -> Table:
    """Pearson's correlations of every category, an interval for their mean."""
    chosen = correlations[(correlations["what"] == "category") & (correlations["kind"] == "pearson")]
    naturals = [natural for natural in chosen["natural"].unique() if natural != MEAN]
    table = _table("category, Pearson", "size", *naturals, MEAN, left=1)
    for category, its in chosen.groupby("benchmark", sort=False):
        wide = its.set_index("natural")
        cells = [_number(wide.loc[natural, "value"]) for natural in naturals]
        table.add_row(category, str(its["size"].iloc[0]), *cells, _interval(wide.loc[MEAN]))
    return table


def group_table(groups: pd.DataFrame) -> Table:
    """Natural benchmarks by groups of synthetic ones, as in the tables 2 and 3 of the paper on ImageNet-Syn2Nat."""
    names = list(groups["group"].unique())
    title = "std" if groups["kind"].iloc[0] == "std" else "categories,corruptions of each"
    table = _table(f"mean Pearson by {title}", *(name.removeprefix("std ") for name in names), left=1)
    wide = groups.pivot(index="natural", columns="group", values="value")
    for natural in groups["natural"].unique():
        table.add_row(natural, *(_number(wide.loc[natural, name], 3) for name in names))
    counts = groups.drop_duplicates("group").set_index("group")["benchmarks"]
    table.add_row("benchmarks", *(str(counts[name]) for name in names))
    return table


def search_table(searches: pd.DataFrame) -> Table:
    """One row per size."""
    table = _table(
        "size", "on all models", "held out", "random", "all together", "gain over random", "stability", left=0
    )
    table.add_column("corruptions")
    for row in searches.to_dict("records"):
        numbers = [_interval(row, name) for name in ("held_out", "random", "whole", "gain")]
        members = ", ".join(entry_names(row["members"].split()).values())
        table.add_row(str(row["size"]), _number(row["fitted"]), *numbers, _number(row["stability"]), members)
    return table


def explain(found: Validity) -> Iterator[str]:
    """What the tables say."""
    alone = found.correlations[found.correlations["what"] == "corruption"]
    alone = alone[(alone["kind"] == "pearson") & (alone["natural"] == MEAN)].sort_values("value", ascending=False)
    alone = alone[alone["value"].notna()]
    if len(alone) > 2 * SHOWN:
        said = [f"{row.benchmark} {_number(row.value)}" for row in alone.itertuples()]
        yield f"Alone, most predictive: {', '.join(said[:SHOWN])}; least: {', '.join(said[-SHOWN:])}."
    same, different = found.settings["same"], found.settings["different"]
    if same is not None and different is not None:
        yield (
            f"Over models, corruptions of one category correlate by {same:.2f}, of different ones by {different:.2f}."
        )
    if found.trends is not None:
        yield from explain_trends(found.trends)
    if found.searches is not None:
        for row in found.searches.itertuples():
            if row.warning:
                yield f"Warning, size {row.size}: {row.warning}"
    for note in found.settings["notes"]:
        yield f"Note: {note}"
    noted = found.correlations[found.correlations["note"] != ""]
    for note, its in noted.groupby("note", sort=False):
        yield f"Note on {', '.join(KINDS[kind] for kind in its['kind'].unique())}: {note}"
    if found.shifts.families is None:
        yield "Intervals: bootstrap over models 95 %."
    else:
        yield f"Intervals: bootstrap over {found.shifts.families.nunique()} families of models 95 %."


def explain_trends(trends: pd.DataFrame) -> Iterator[str]:
    """One sentence per question, of the mean over natural benchmarks."""
    slopes = trends[(trends["smaller"] == "all") & (trends["natural"] == MEAN)]
    for row in slopes.itertuples():
        what, unit = QUESTIONS[row.question]
        if not math.isfinite(row.low):
            verdict = f"unknown ({row.note})"
        elif row.low > 0:
            verdict = "predicts more"
        elif row.high < 0:
            verdict = "predicts less"
        else:
            verdict = "makes no difference that these models can show"
        yield f"{what}: {verdict}; {row.difference:+.4f} [{row.low:+.4f}, {row.high:+.4f}] per {unit}."


def _interval(row: pd.Series | dict, name: str = "value") -> str:
    prefix = "" if name == "value" else f"{name}_"
    value, low, high = row[name], row[f"{prefix}low"], row[f"{prefix}high"]
    return _number(value) + (f" [{low:.2f}, {high:.2f}]" if math.isfinite(low) else "")


def _number(value: float, decimals: int = 2) -> str:
    return f"{value:.{decimals}f}" if math.isfinite(value) else "-"


def _table(*headings: str, left: int) -> Table:
    """The first columns are text, the others numbers."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="left" if place < left else "right", no_wrap=place < left)
    return table
