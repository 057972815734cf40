"""The tables of an overlap study."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import pandas as pd

from scuff.report.overlap.scores import OverlapScores, suite_of
from scuff.tables import Cell, Column, Table
from scuff.words import fine, grouped, hundredths, listed, plain

MOST_PAIRS = 30  # in the table of the strongest overlaps
STEPS = {
    "same": "correlation inside",
    "different": "correlation between",
    "silhouette": "silhouette",
    "hierarchical_same": "correlation inside, hierarchical",
    "hierarchical_silhouette": "silhouette, hierarchical",
    "rand": "agreement of both (adjusted Rand)",
}


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


def category_members(scores: OverlapScores) -> Table:
    """The corruptions of every category."""
    groups = [(name, members) for name, members in scores.groups if name]
    members = Column("corruptions", lambda group: listed_names(scores, group[1]))
    return Table.of("By K-means", groups, [Column("category", lambda group: group[0]), members])


def category_steps(steps: pd.DataFrame) -> Table:
    """What came out with every number of categories."""
    columns = [Column(heading, name, hundredths) for name, heading in STEPS.items()]
    return Table.of("By number of categories", steps, [Column("categories", lambda step: int(step["k"])), *columns])


def chosen_members(scores: OverlapScores) -> Table:
    """The chosen corruptions, each with the one that it overlaps with most."""
    members = scores.selection.members

    def nearest(name: str) -> str:
        return max(set(members) - {name}, key=lambda other: scores.overlaps.score(name, other).value)

    columns = [
        Column("corruption", scores.shown.get),
        Column("suite", suite_of) if len(scores.suites) > 1 else None,
        Column("nearest other", lambda name: scores.shown[nearest(name)]),
        Column("overlap", lambda name: scores.overlaps.score(name, nearest(name)), hundredths),
    ]
    return Table.of("The chosen corruptions, with 95 % intervals", members, columns)


def sweep_table(scores: OverlapScores) -> Table:
    """The largest benchmark at every threshold."""
    columns = [
        Column("threshold", lambda row: f"{row['threshold']:g}"),
        Column("size", "size", str),
        Column("mean overlap", "mean_overlap", fine),
        Column("sets of that size", lambda row: counted(row["largest_subsets"], row["all_counted"])),
        Column("the best", lambda row: listed_names(scores, row["members"])),
    ]
    return Table.of("The largest benchmarks by threshold", scores.sweep, columns)


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


def counted(number: int, is_exact: bool) -> str:
    """A number that was counted, or up to which it was counted."""
    return f"{'' if is_exact else 'more than '}{grouped(number)}"
