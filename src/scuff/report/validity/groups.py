"""The sections about groups of benchmarks: how they predict, and what changes from one to another."""

from __future__ import annotations

import pandas as pd

from scuff.report import parts
from scuff.report.figure import Figure
from scuff.report.parts import Part, Section
from scuff.report.validity import tables
from scuff.report.validity.figures import forest, group_figure, over
from scuff.report.validity.notes import notes_of
from scuff.report.validity.scores import ALL, ValidityScores
from scuff.report.validity.verdicts import TRENDS, compared_words


def group_section(scores: ValidityScores) -> Section | None:
    """Groups of benchmarks: tables 2 and 3 of the paper."""
    if scores.groups is None:
        return None
    inside: list[Part] = []
    titles = {
        "n,k": ("Categories and corruptions of each", "Mean r of benchmarks of n categories, k corruptions of each"),
        "std": ("Balance", "Mean r of benchmarks by the std of corruptions per category"),
    }
    for place, (kind, (title, caption)) in enumerate(titles.items()):
        its = scores.groups[scores.groups["kind"] == kind]
        if len(its):
            inside += [
                parts.heading(title),
                parts.figures([group_figure(f"groups{place}", scores, its, caption)], side_by_side=False),
                parts.table(tables.group_table(scores, its, f"{caption}, with 95 % intervals", kind == "n,k")),
                *(parts.note(words) for words in notes_of(scores, its, "group")),
                parts.folded(tables.group_facts_table(its), "What the groups are made of"),
            ]
    return parts.section(
        "groups",
        "Groups of benchmarks",
        parts.text(
            "The mean correlation of many benchmarks that are composed alike. Every set of categories weighs the same, "
            "and so does every arrangement of uneven numbers. A category with fewer than k corruptions is not in "
            "benchmarks of k of each, so that groups may differ in their categories, too: the next section compares "
            "like with like, in the same resamples of models."
        ),
        *inside,
    )


def trend_section(scores: ValidityScores) -> Section | None:
    """Changes from group to group."""
    if scores.trends is None:
        return None
    questions = [question for question in TRENDS if (scores.trends["question"] == question).any()]
    slopes = [_slopes(scores, question) for question in questions]
    pairs = [figure for question in questions if (figure := _pairs(scores, question)) is not None]
    return parts.section(
        "trends",
        "What makes a benchmark predict",
        parts.text(
            "How the mean correlation changes with the composition of benchmarks, where both sides of a comparison "
            "have every category equally often. An interval that holds 0 does not tell. Part of a rise is arithmetic: "
            "a mean over more, and more different, corruptions has less of what is peculiar to each."
        ),
        parts.figures([figure for figure in slopes if figure is not None]),
        *([parts.heading("From group to group"), parts.figures(pairs)] if pairs else []),
        *(parts.note(words) for words in notes_of(scores, scores.trends.assign(about=_asked(scores)), "about")),
        parts.folded(tables.trend_table(scores)),
    )


def _slopes(scores: ValidityScores, question: str) -> Figure | None:
    its = scores.trends[(scores.trends["question"] == question) & (scores.trends["smaller"] == ALL)]
    its = its[its["natural"].isin(scores.columns)]
    if its.empty:
        return None
    title, unit, _ = TRENDS[question]
    points = its.rename(columns={"difference": "value"})
    compared = compared_words(scores.trends, question, scores.overall)
    note = f"{unit[:1].upper()}{unit[1:]}{f', from {compared}' if compared else ''}."
    return forest(f"slope-{question}", title, its["natural"].tolist(), points, note=note)


def _pairs(scores: ValidityScores, question: str) -> Figure | None:
    is_pair = (scores.trends["question"] == question) & (scores.trends["smaller"] != ALL)
    its = scores.trends[is_pair & (scores.trends["natural"] == scores.overall)]
    if its.empty:
        return None
    names = [f"{row.smaller} to {row.larger}" for row in its.itertuples(index=False)]
    points = its.rename(columns={"difference": "value"})
    return forest(f"pairs-{question}", TRENDS[question][0], names, points, note=over(scores.overall))


def _asked(scores: ValidityScores) -> pd.Series:
    return scores.trends["question"].map({question: title for question, (title, *_) in TRENDS.items()})
