"""The tables of validity, for the page and for the terminal, and what they note: each clause once, for all its rows."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import pandas as pd

from scuff.metrics.validity.shifts import MEAN
from scuff.report.validity.scores import ALL, KINDS, SUITES, ValidityScores, signed
from scuff.tables import Column, Table
from scuff.words import NOTHING, count, fine, grouped, hundredths, listed, p_value, percent

MOST_NAMED = 4  # in a sentence
BEFORE_NAMES = (" on ", " residual robustness to ", " the rest without ")  # what clauses have before a name
About = TypeVar("About", bound=Hashable)


def gather_notes(
    notes: Iterable[tuple[str, Sequence[str], About]], shown: Mapping[str, str] | None = None
) -> dict[str, list[About]]:
    """All clauses of notes, each once, and what they are about.

    Every note comes with the names that it may mention, and with what it is about. Clauses that differ only in such a
    name become one with all the names, written as in `shown`.

    >>> few = "the line has 2 models"
    >>> notes = [(f"on fog, {few}; on v2, {few}", ["fog", "v2"], "mean"), (f"on snow, {few}", ["snow", "v2"], "v2")]
    >>> gather_notes(notes)
    {'on fog, v2 and snow, the line has 2 models': ['mean', 'v2']}
    """
    clauses: dict[tuple[str, str], tuple[dict[str, None], dict[About, None]]] = {}
    for note, names, about in notes:
        for clause in note.split("; "):
            before, name, after = _split_at_name(clause, names)
            named, abouts = clauses.setdefault((before, after), ({}, {}))
            named[(shown or {}).get(name, name)] = None
            abouts[about] = None
    return {
        f"{before}{listed(some_of(list(named)))}{after}": list(abouts)
        for (before, after), (named, abouts) in clauses.items()
    }


def suite_notes(scores: ValidityScores) -> list[str]:
    """Notes on correlations of suites; which suites is said only if they are not all."""
    table = scores.correlations[scores.correlations["what"].isin(SUITES)]
    suites_of = {kind: set(rows["benchmark"]) for kind, rows in table.groupby("kind")}
    sentences = []
    for clause, rows in _gather(scores, table, "benchmark").items():
        suites = list(dict.fromkeys(row.benchmark for row in rows))
        is_all = set(suites) == set().union(*(suites_of[row.kind] for row in rows))
        of = "" if is_all else f"{listed(some_of(list(map(scores.name, suites))))}, "
        kinds = _about([(KINDS[row.kind], row.natural) for row in rows], scores.columns)
        sentences.append(f"{of}{kinds}: {clause}.")
    return sentences


def notes_of(scores: ValidityScores, table: pd.DataFrame, column: str) -> list[str]:
    """Notes of a table, one sentence for all rows with the same note."""
    return [
        f"{_about([(scores.name(getattr(row, column)), row.natural) for row in rows], scores.columns)}: {clause}."
        for clause, rows in _gather(scores, table, column).items()
    ]


def _gather(scores: ValidityScores, table: pd.DataFrame, column: str) -> dict[str, list[Any]]:
    """The clauses of the notes of a table, each with its rows."""
    rows = table[table["note"] != ""].itertuples(index=False)
    return gather_notes(((row.note, (getattr(row, column), *scores.natural), row) for row in rows), scores.shown)


def some_of(names: Sequence[str], most: int = MOST_NAMED) -> list[str]:
    """The first names, and how many more there are.

    >>> some_of(["a", "b", "c"], most=2)
    ['a', 'b', '1 more']
    """
    return [*names[:most], f"{len(names) - most} more"] if len(names) > most else list(names)


def _split_at_name(clause: str, names: Sequence[str]) -> tuple[str, str, str]:
    """A clause in three: what is before a name that it mentions, the name, and what is after it."""
    for name in names:
        for start in BEFORE_NAMES:
            before, matched, after = f" {clause}".partition(f"{start}{name}")
            if matched and after[:1] in ("", " ", ","):
                return f"{before}{start}".lstrip(), name, after
    return clause, "", ""


def _about(pairs: Iterable[tuple[str, str]], columns: Sequence[str]) -> str:
    """Subjects and the natural benchmarks that go with them, which are not named if they are all."""
    naturals: dict[str, set[str]] = {}
    for subject, natural in pairs:
        naturals.setdefault(subject, set()).add(natural)
    alike: dict[str, list[str]] = {}
    for subject, noted in naturals.items():
        names = ["the mean" if name == MEAN else name for name in columns if name in noted]
        alike.setdefault("" if len(names) in (0, len(columns)) else f" with {listed(names)}", []).append(subject)
    return listed([f"{listed(some_of(subjects))}{ending}" for ending, subjects in alike.items()])


MOST_MEMBERS = 10  # of a benchmark that are named in a table
QUESTIONS = {
    "n": "categories, at the same size",
    "size": "corruptions of the same categories",
    "std": "imbalance of categories (std)",
}


def correlation_table(scores: ValidityScores) -> Table:
    """All kinds of correlation of every suite with every natural benchmark; of each kind, the best is marked."""
    columns = [Column(natural, natural, hundredths, best="highest") for natural in scores.columns]
    columns = [Column("benchmark", "name"), Column("correlation", "kind"), *columns]
    caption = "Correlations over models with what natural shifts cost, with 95 % intervals"
    return Table.of(caption, _suite_records(scores), columns, best_within="kind")


def p_table(scores: ValidityScores) -> Table:
    """The p-values of the same correlations."""
    columns = [Column(n, lambda record, n=n: record[n].p_value, p_value) for n in scores.natural]  # type: ignore[misc]
    caption = "p-values (two-sided), as if models were independent"
    caption += "" if scores.shifts.families is None else ": they ignore families"
    columns = [Column("benchmark", "name"), Column("correlation", "kind"), *columns]
    return Table.of(caption, _suite_records(scores), columns)


def category_table(scores: ValidityScores) -> Table:
    """Pearson's correlation of every category, and which corruptions it has."""
    records = []
    for category in scores.names("category"):
        members = ", ".join(map(scores.name, scores.settings.get("categories", {}).get(category, ()))) or NOTHING
        records.append({"name": category, "members": members} | _by_column(scores, "category", category))
    columns = [Column(natural, natural, hundredths, best="highest") for natural in scores.columns]
    columns = [Column("category", "name"), Column("corruptions", "members"), *columns]
    return Table.of("Pearson's correlation by category, with 95 % intervals", records, columns)


def corruption_table(scores: ValidityScores, natural: str) -> Table:
    """Every corruption alone, by all kinds of correlation, with a natural benchmark or on average over all."""
    records = [
        {"name": scores.name(name)} | {kind: scores.score("corruption", name, natural, kind) for kind in KINDS}
        for name in scores.corruptions
    ]
    columns = [Column(words, kind, hundredths, best="highest") for kind, words in KINDS.items()]
    with_what = "natural benchmarks, mean" if natural == MEAN else natural
    caption = f"Corruptions alone: correlation with {with_what}"
    return Table.of(caption, records, [Column("corruption", "name"), *columns])


def gain_table(scores: ValidityScores) -> Table:
    """What each corruption adds to the benchmark, for every natural one."""
    caption = f"Gain: Pearson's r of {scores.contributing} minus that without the corruption"
    gain = Column("corruption", "gain", signed, interval=True)
    assert scores.contributions is not None
    table = scores.contributions
    return Table.pivot(caption, table, "corruption", "natural", gain, heads=scores.columns, name=scores.name)


def group_table(scores: ValidityScores, kind: str, caption: str) -> Table:
    """Mean correlations by group and natural benchmark: tables 2 and 3 of the paper, with a row per group.

    As in its table 2, suites and scores stand below groups by n and k.
    """
    assert scores.groups is not None
    table = scores.groups[scores.groups["kind"] == kind]
    if kind == "n,k":
        suites = [scores.by_natural(*suite) | {MEAN: scores.score(*suite)} for suite in scores.suites]
        rows = pd.DataFrame([row for rows in suites for row in rows.values()])
        table = pd.concat([table, rows.assign(group=rows["benchmark"])]) if len(rows) else table
    mean = Column("group", "value", fine, interval=True)
    return Table.pivot(caption, table, "group", "natural", mean, heads=scores.columns, name=scores.name)


def group_facts_table(scores: ValidityScores, kind: str) -> Table:
    """What groups are made of: how many benchmarks, how large, and how much they differ."""
    columns = [Column("group", "group"), Column("corruptions", "size", grouped)]
    columns += [Column("benchmarks", "benchmarks", grouped), Column("deviation of r", "spread", fine)]
    columns += [Column("mean of p-values", "p_value", p_value)]
    assert scores.groups is not None
    table = scores.groups[(scores.groups["kind"] == kind) & (scores.groups["natural"] == MEAN)]
    return Table.of("Groups of benchmarks; deviation over their benchmarks, for the mean r", table, columns)


def trend_table(scores: ValidityScores) -> Table:
    """All differences between groups, and slopes over all of them."""
    columns = [
        Column("more", lambda row: QUESTIONS.get(row["question"], row["question"])),
        Column("groups", lambda row: "slope over all" if row["smaller"] == ALL else step_name(row)),
        Column("natural benchmark", "natural"),
        Column("out of categories", "categories", grouped),
        Column("change of r", "difference", signed, interval=True),
        Column("fraction of other sign", "other_sign_share", fine),
    ]
    assert scores.trends is not None
    table = scores.trends[scores.trends["natural"].isin(scores.columns)]
    return Table.of("Changes of the mean correlation, with 95 % intervals", table, columns)


def step_name(row: pd.Series | dict) -> str:
    """A step from one group to another."""
    return f"{row['smaller']} to {row['larger']}"


def search_table(scores: ValidityScores) -> Table:
    """What was found for every size, and how well it predicts for models that had no part in the choice."""
    numbers = {"r on the choosing models": "chosen", "r, held out": "held_out", "r of random ones": "random"}
    numbers |= {"r of all together": "whole"}
    gains = {"gain over random": "gain", "gain over all": "gain_over_whole"}
    columns = [
        Column("size", lambda row: count(row["size"], "corruption")),
        Column("the most predictive benchmark", lambda row: listed(some_of(_members(scores, row), MOST_MEMBERS))),
        *(Column(heading, key, hundredths, interval=True) for heading, key in numbers.items()),
        *(Column(heading, key, signed, interval=True) for heading, key in gains.items()),
        Column("stability %", "stability", lambda value: percent(value, 0)),
    ]
    assert scores.searches is not None
    return Table.of("Most predictive benchmarks; 95 % intervals over held-out models", scores.searches, columns)


def member_table(scores: ValidityScores) -> Table:
    """All members of what was found, and how firm the choice is."""
    columns = [
        Column("size", lambda row: count(row["size"], "corruption")),
        Column("members", lambda row: ", ".join(_members(scores, row))),
        Column("how", lambda row: "all sets tried" if row["exact"] else "best found"),
        Column("stability %", "stability", lambda value: percent(value, 0)),
    ]
    assert scores.searches is not None
    return Table.of("All members of the most predictive benchmarks", scores.searches, columns)


def reason_table(scores: ValidityScores) -> Table:
    """Why models of the source are left out, how many for every reason, and the first of them."""
    models: dict[str, list[str]] = {}
    for model, why in scores.shifts.left_out.items():
        models.setdefault(why, []).append(model)
    reasons = sorted(models.items(), key=lambda reason: -len(reason[1]))
    columns = [
        Column("how many", lambda reason: count(len(reason[1]), "model")),
        Column("why", lambda reason: reason[0]),
        Column("which", lambda reason: listed(some_of(reason[1]))),
    ]
    return Table.of("Why models are left out", reasons, columns)


def _suite_records(scores: ValidityScores) -> list[dict]:
    """Every kind of correlation of every suite, as far as it was computed, with a score for each natural benchmark."""
    return [
        {"name": scores.name(benchmark), "kind": words} | _by_column(scores, what, benchmark, kind)
        for kind, words in KINDS.items()
        for what, benchmark in scores.suites
        if scores.by_natural(what, benchmark, kind)
    ]


def _by_column(scores: ValidityScores, what: str, benchmark: str, kind: str = "pearson") -> dict:
    return {natural: scores.score(what, benchmark, natural, kind) for natural in scores.columns}


def _members(scores: ValidityScores, row: dict) -> list[str]:
    return scores.members_of(row["members"])
