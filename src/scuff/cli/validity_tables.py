"""What `scuff validity` shows in the terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pandas as pd
from rich import box
from rich.table import Table

from scuff.cli.console import open_console
from scuff.metrics.validity.shifts import BETWEEN, MEAN
from scuff.metrics.words import name_some
from scuff.report.validity.notes import gather_notes
from scuff.report.validity.verdicts import compared_words
from scuff.studies import Validity
from scuff.studies.validity.benchmarks import ALL
from scuff.suites.combine import entry_names

KINDS = {
    "pearson": "Pearson",
    "spearman": "Spearman",
    "partial": "given clean (line)",
    "curved": "given clean (curve)",
    "effective": "effective",
}
QUESTIONS = {
    "n": ("More categories at the same size", "category"),
    "size": ("More corruptions of the same categories", "corruption"),
    "std": ("Less balance of the same categories", "unit of std"),
}
SHOWN = 3  # corruptions that are named for predicting best, or worst
MEMBERS = 10  # of a benchmark that was searched for, that are named


def print_validity(found: Validity) -> None:
    """Tables first, then what they say in words."""
    console = open_console()
    console.print(benchmark_table(found.correlations))
    if (found.correlations["what"] == "category").any():
        console.print(category_table(found.correlations))
    if found.groups is not None:
        for kind in found.groups["kind"].unique():
            console.print(group_table(found.groups[found.groups["kind"] == kind], found.correlations))
    if found.searches is not None:
        console.print(search_table(found.searches))
    for line in explain(found):
        console.print(line)


def benchmark_table(correlations: pd.DataFrame) -> Table:
    """Every suite and score, with every natural benchmark, by all kinds of correlation."""
    chosen = _benchmarks(correlations)
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


def group_table(groups: pd.DataFrame, correlations: pd.DataFrame) -> Table:
    """Natural benchmarks by groups of synthetic ones, as in the tables 2 and 3 of the paper on ImageNet-Syn2Nat.

    Beside groups by n and k stand suites and scores, as in table 2.
    """
    names, is_std = list(groups["group"].unique()), groups["kind"].iloc[0] == "std"
    title = "std" if is_std else "categories,corruptions of each"
    pearson = _benchmarks(correlations).query("kind == 'pearson'")
    suites = [] if is_std else list(pearson["benchmark"].unique())
    table = _table(f"mean Pearson by {title}", *(name.removeprefix("std ") for name in names), *suites, left=1)
    wide = groups.pivot(index="natural", columns="group", values="value")
    beside = pearson.pivot(index="natural", columns="benchmark", values="value")
    for natural in groups["natural"].unique():
        cells = [_number(wide.loc[natural, name], 3) for name in names]
        table.add_row(natural, *cells, *(_number(beside.loc[natural, name], 3) for name in suites))
    counts = groups.drop_duplicates("group").set_index("group")["benchmarks"]
    table.add_row("benchmarks", *(str(counts[name]) for name in names), *("1" for _ in suites))
    return table


def search_table(searches: pd.DataFrame) -> Table:
    """One row per size."""
    table = _table(
        *("size", "on the choosing models", "held out", "random", "all together", "gain over random", "gain over all"),
        "stability",
        left=0,
    )
    table.add_column("corruptions")
    for row in searches.to_dict("records"):
        scores = ("chosen", "held_out", "random", "whole", "gain", "gain_over_whole")
        numbers = [_interval(row, name) for name in scores]
        members = entry_names(row["members"].split(BETWEEN)).values()
        table.add_row(str(row["size"]), *numbers, _number(row["stability"]), name_some(list(members), MEMBERS))
    return table


def explain(found: Validity) -> Iterator[str]:
    """What the tables say."""
    yield from explain_corruptions(found.correlations)
    same, different = found.settings["same"], found.settings["different"]
    if same is not None and different is not None:
        yield (
            f"Over models, corruptions of one category correlate by {same:.2f}, of different ones by {different:.2f}."
        )
    if found.trends is not None:
        yield from explain_trends(found.trends)
    if found.searches is not None:
        if (found.searches["size"] > MEMBERS).any():
            yield "All corruptions of benchmarks that were searched for are in searches.csv."
        for row in found.searches.itertuples():
            if row.warning:
                yield f"Warning, size {row.size}: {row.warning}"
    for note in found.settings["notes"]:
        yield f"Note: {note}"
    yield from explain_notes(found.correlations)
    if found.shifts.families is None:
        yield "Intervals: bootstrap over models 95 %."
    else:
        yield f"Intervals: bootstrap over {found.shifts.families.nunique()} families of models 95 %."


def explain_corruptions(correlations: pd.DataFrame) -> Iterator[str]:
    """Which corruptions predict most alone, of those that are known to, in the mean over natural benchmarks."""
    alone = correlations[(correlations["what"] == "corruption") & (correlations["kind"] == "pearson")]
    alone = alone[(alone["natural"] == MEAN) & alone["value"].notna()].sort_values("value", ascending=False)
    if len(alone) <= 2 * SHOWN:
        return
    most, least = alone[alone["low"] > 0].head(SHOWN), alone.tail(SHOWN)
    said = [", ".join(f"{row.benchmark} {_number(row.value)}" for row in its.itertuples()) for its in (most, least)]
    if most.empty:
        yield f"Alone, none of {len(alone)} corruptions is known to predict: all intervals of the mean reach 0 or less."
    else:
        yield f"Alone, most predictive: {said[0]}; least: {said[1]}."


def explain_notes(correlations: pd.DataFrame) -> Iterator[str]:
    """What correlations note, each clause once for all benchmarks of which it is said."""
    naturals = correlations["natural"].unique()
    rows = correlations[correlations["note"] != ""].itertuples()
    for clause, kinds in gather_notes((row.note, (row.benchmark, *naturals), KINDS[row.kind]) for row in rows).items():
        yield f"Note on {', '.join(kinds)}: {clause}"


def explain_trends(trends: pd.DataFrame) -> Iterator[str]:
    """One sentence per question, of the mean over natural benchmarks."""
    slopes = trends[(trends["smaller"] == "all") & (trends["natural"] == MEAN)]
    for row in slopes.itertuples():
        what, unit = QUESTIONS[row.question]
        if not math.isfinite(row.low):
            yield f"{what}: unknown ({row.note})."
            continue
        verdict = "predicts more" if row.low > 0 else "predicts less" if row.high < 0 else "no difference is shown"
        compared = compared_words(trends, row.question, MEAN)
        amount = f"{row.difference:+.4f} [{row.low:+.4f}, {row.high:+.4f}] per {unit}"
        yield f"{what}: {verdict}; {amount}{f', from {compared}' if compared else ''}."


def _benchmarks(correlations: pd.DataFrame) -> pd.DataFrame:
    """The lines of suites, of scores, and of all corruptions together, in this order."""
    chosen = correlations[correlations["what"].isin(["suite", "score"])]
    return chosen.sort_values("benchmark", key=lambda names: names == ALL, kind="stable")


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
