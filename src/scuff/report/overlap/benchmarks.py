"""Coverage, balance and corruption errors of benchmarks in tables and sentences, for the page and the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from scuff.report.overlap.scores import OverlapScores
from scuff.tables import Cell, Column, Table
from scuff.words import count, fine, hundredths, listed, plain


def coverage_table(scores: OverlapScores) -> Table:
    """How many corruptions a benchmark covers by overlaps, and which it does not."""
    records: list[dict[str, Any]] = []
    for (benchmark, suite), frame in scores.coverage.items():
        covered = frame["covered"]
        missed = listed([scores.shown[name] for name in frame.loc[~covered, "corruption"]])
        record = {"benchmark": f"{benchmark} against {suite}", "missed": missed or None}
        covers = Cell(f"{int(covered.sum())} of {len(frame)}", covered.mean())
        records.append({**record, "covers": covers, "surely": int((covered & frame["certain"]).sum())})
    counts = [Column("benchmark", "benchmark"), Column("covers", "covers", str), Column("surely", "surely", str)]
    return Table.of("Coverage by overlaps", records, [*counts, Column("does not cover", "missed")])


def nearest_table(scores: OverlapScores) -> Table:
    """The corruption of a benchmark that is nearest to each of the others."""
    everything = pd.concat([frame.assign(benchmark=name) for (name, _), frame in scores.coverage.items()])
    columns = [
        Column("corruption", lambda row: scores.shown[row["corruption"]]),
        Column("benchmark", "benchmark"),
        Column("nearest in it", lambda row: scores.shown.get(row["nearest"])),
        Column("overlap", "overlap", hundredths, interval=True),
        Column("covered", lambda row: ("yes" if row["covered"] else "no") + ("" if row["certain"] else ", not sure")),
    ]
    return Table.of("Coverage by overlaps, with 95 % intervals", everything, columns)


def direct_table(scores: OverlapScores) -> Table:
    """What training on a whole benchmark does against corruptions that it does not hold."""
    everything = pd.concat([frame.assign(suite=suite) for suite, frame in scores.direct.items()])
    columns = [
        Column("corruption", lambda row: scores.shown[row["corruption"]]),
        Column("trained on all of", "suite"),
        Column("robustness, standard", "standard", fine),
        Column("robustness, trained", "trained", fine),
        Column("difference", "difference", fine, interval=True),
        Column("training", lambda row: "helped" if row["helped"] else "harmed" if row["harmed"] else "not clear"),
    ]
    caption = "Robustness scores with training on a whole benchmark, with 95 % intervals"
    return Table.of(caption, everything, columns)


def direct_words(scores: OverlapScores) -> Iterator[str]:
    """A sentence per benchmark that a model was trained on, which says how it was counted."""
    rule = "counted by the sign of the difference, as in the paper" if scores.as_paper else "95 % intervals exclude 0"
    for suite, frame in scores.direct.items():
        trained, of = f"Training on all of {suite}", count(len(frame), "corruption")
        if not scores.as_paper and frame["low"].isna().all():
            above = int((frame["difference"] > 0).sum())
            yield f"{trained} raises robustness to {above} of {of}; there are no intervals to tell whether by chance."
        else:
            helped, harmed = int(frame["helped"].sum()), int(frame["harmed"].sum())
            yield f"{trained} helped against {helped} of {of} and harmed {harmed} ({rule})."


def balance_table(scores: OverlapScores) -> Table:
    """The spread of the mCE of models that were each trained on one corruption of a benchmark."""
    columns = [
        Column("benchmark", "benchmark"),
        Column("corruptions", lambda balance: len(balance["mces"]), str),
        Column("range of mCE", "range", plain),
        Column("standard deviation of mCE", "std", plain),
    ]
    records = [{"benchmark": name, **vars(balance)} for name, balance in scores.balances.items()]
    caption = "Spread of the mean corruption errors, with 95 % intervals; smaller is better balanced"
    return Table.of(caption, records, columns)


def ce_tables(scores: OverlapScores) -> Iterator[tuple[str, Table]]:
    """By benchmark, the corruption errors of models (down) on its corruptions (across), and their mean."""
    names = scores.shown | {"all": "mCE"}
    for benchmark, frame in scores.errors.items():
        frame = frame.assign(head=frame["corruption"].map(names))
        caption = f"Corruption errors on {benchmark} in per cent, with 95 % intervals: {frame['note'].iloc[0]}"
        column = Column("trained on", "value", plain, interval=True)
        yield benchmark, Table.pivot(caption, frame, "model", "head", column, name=scores.shown.get)  # type: ignore[arg-type]
