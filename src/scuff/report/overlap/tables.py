"""The tables of an overlap study, and those of designs, for the page and the terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import pandas as pd

from scuff.suites.combine import entry_names
from scuff.tables import Cell, Column, Table
from scuff.words import fine, hundredths, listed, plain

if TYPE_CHECKING:
    from scuff.design import Categories, Selection
    from scuff.metrics import Overlaps
    from scuff.report.overlap.scores import OverlapScores

Shown = Callable[[str], str]  # how a corruption is written, given its address

MOST_PAIRS = 30  # in the table of the strongest overlaps
STEPS = {
    "same": "correlation within",
    "different": "between",
    "silhouette": "silhouette",
    "hierarchical_same": "within, tree",
    "hierarchical_silhouette": "silhouette, tree",
    "rand": "adjusted Rand index",
}


def identity(address: str) -> str:
    """Corruptions by their addresses, for commands to take."""
    return address


def strongest_pairs(scores: OverlapScores) -> Table:
    """The pairs that overlap most."""
    pairs = [(a, b, scores.overlaps.score(a, b)) for a, b in combinations(scores.leaves, 2)]
    pairs.sort(key=lambda pair: -pair[2].value)
    columns = [
        Column("corruption", lambda pair: scores.shown[pair[0]]),
        Column("other corruption", lambda pair: scores.shown[pair[1]]),
        Column("overlap", lambda pair: pair[2], hundredths),
    ]
    return Table.of("The strongest overlaps, with 95 % intervals", pairs[:MOST_PAIRS], columns)


def groups_table(groups: Mapping[str, Sequence[str]], shown: Shown = identity) -> Table:
    """The corruptions of every category."""
    members = Column("corruptions", lambda group: ", ".join(map(shown, group[1])))
    return Table.of("Categories", groups.items(), [Column("category", lambda group: group[0]), members])


def steps_table(categories: Categories) -> Table:
    """What came out with every number of categories that was tried; the chosen one is marked."""
    columns = [Column(heading, name, hundredths) for name, heading in STEPS.items()]
    number = Column("categories", lambda step: f"{step['k']:.0f}")
    chosen = Column("", lambda step: "chosen" if step["k"] == categories.k else "")
    return Table.of("By number of categories", categories.steps, [number, *columns, chosen])


def selection_table(overlaps: Overlaps, selection: Selection, shown: Shown = identity) -> Table:
    """The chosen corruptions: their mean overlap with the others, and the largest one, with its interval."""
    records = []
    for name in selection.members:
        scores = {other: overlaps.score(name, other) for other in selection.members if other != name}
        nearest = max(scores, key=lambda other: scores[other].value, default=None)
        mean = sum(score.value for score in scores.values()) / len(scores) if scores else None
        largest = scores.get(nearest)
        is_overlap = largest is not None and largest.value > 0
        record = {"name": shown(name), "mean": mean, "largest": largest}
        records.append(record | {"nearest": shown(nearest) if is_overlap else ""})
    columns = [
        Column("corruption", "name"),
        Column("mean overlap", "mean", fine),
        Column("largest overlap", "largest", fine),
        Column("with", "nearest"),
    ]
    return Table.of("The chosen corruptions, with 95 % intervals where they are known", records, columns)


def sweep_table(sweep: pd.DataFrame, shown: Shown | None = None) -> Table:
    """The largest benchmark at every threshold."""

    def members(row: Mapping[str, Any]) -> str:
        written = map(shown, row["members"]) if shown else entry_names(row["members"]).values()
        return ", ".join(written) + ("" if row["proven"] else " (not proven optimal)")

    columns = [
        Column("threshold", lambda row: f"{row['threshold']:g}"),
        Column("size", "size", str),
        Column("mean overlap", "mean_overlap", fine),
        Column("largest overlap", "largest_overlap", fine),
        Column("sets as large", lambda row: f"{row['largest_subsets']}{'' if row['all_counted'] else '+'}", str),
        Column("corruptions", members),
    ]
    return Table.of("The largest benchmarks by threshold", sweep, columns)


def coverage_counts(scores: OverlapScores) -> Table:
    """How much of each suite each benchmark covers."""
    records = [
        {
            "benchmark": f"{benchmark} against {suite}",
            "covers": Cell(f"{int(frame['covered'].sum())} of {len(frame)}", frame["covered"].mean()),
            "surely": int((frame["covered"] & frame["certain"]).sum()),
            "missed": listed_names(scores, frame.loc[~frame["covered"], "corruption"].tolist()) or None,
        }
        for (benchmark, suite), frame in scores.coverage.items()
    ]
    columns = [Column("benchmark", "benchmark"), Column("covers", "covers", str), Column("surely", "surely", str)]
    return Table.of("Coverage by overlaps", records, [*columns, Column("does not cover", "missed")])


def nearest_table(scores: OverlapScores) -> Table:
    """Every corruption and the nearest one of each benchmark."""
    frames = [frame.assign(benchmark=benchmark) for (benchmark, _), frame in scores.coverage.items()]
    columns = [
        Column("corruption", lambda row: scores.shown[row["corruption"]]),
        Column("benchmark", "benchmark"),
        Column("nearest in it", lambda row: scores.shown.get(row["nearest"])),
        Column("overlap", "overlap", hundredths, interval=True),
        Column("covered", lambda row: ("yes" if row["covered"] else "no") + ("" if row["certain"] else ", not sure")),
    ]
    return Table.of("Coverage by overlaps, with 95 % intervals", pd.concat(frames), columns)


def direct_table(scores: OverlapScores) -> Table:
    """Every corruption with and without training on a whole benchmark."""
    columns = [
        Column("corruption", lambda row: scores.shown[row["corruption"]]),
        Column("trained on all of", "suite"),
        Column("robustness, standard", "standard", fine),
        Column("robustness, trained", "trained", fine),
        Column("difference", "difference", fine, interval=True),
    ]
    frame = pd.concat([frame.assign(suite=suite) for suite, frame in scores.direct.items()])
    return Table.of("Robustness scores with training on a whole benchmark, with 95 % intervals", frame, columns)


def spread_table(scores: OverlapScores) -> Table:
    """Range and standard deviation of every benchmark."""
    columns = [
        Column("benchmark", "benchmark"),
        Column("corruptions", lambda balance: len(balance["mces"]), str),
        Column("range of mCE", "range", plain),
        Column("standard deviation of mCE", "std", plain),
    ]
    records = [{"benchmark": name, **vars(balance)} for name, balance in scores.balances.items()]
    caption = "Spread of the mean corruption errors, with 95 % intervals; smaller is better balanced"
    return Table.of(caption, records, columns)


def mce_table(scores: OverlapScores) -> Table:
    """The mean corruption error of every model."""
    records = [
        {"benchmark": name, "model": scores.shown[model], "mce": mce}
        for name, balance in scores.balances.items()
        for model, mce in {"standard": balance.standard, **balance.mces}.items()
    ]
    columns = [Column("benchmark", "benchmark"), Column("trained on", "model"), Column("mCE %", "mce", plain)]
    return Table.of("Mean corruption errors", records, columns)


def listed_names(scores: OverlapScores, names: Sequence[str]) -> str:
    """Corruptions as in a sentence."""
    return listed([scores.shown[name] for name in names])
