"""The sections about validity, each from tables of the study; None where there is nothing to show."""

from __future__ import annotations

from scuff.report import parts
from scuff.report.figure import Figure
from scuff.report.parts import Part, Section
from scuff.report.validity import tables
from scuff.report.validity.figures import corruption_matrix, forest, gain_forests, group_figure, model_scatter, over
from scuff.report.validity.scores import ALL, ValidityScores
from scuff.report.validity.tables import notes_of, suite_notes
from scuff.report.validity.verdicts import TRENDS, compared_words, warnings
from scuff.words import count, hundredths

GROUPS = {
    "n,k": ("Categories and corruptions of each", "Mean r of benchmarks of n categories, k corruptions of each"),
    "std": ("Balance", "Mean r of benchmarks by the std of corruptions per category"),
}


def correlation_section(scores: ValidityScores) -> Section | None:
    """Every suite against every natural benchmark."""
    if not scores.suites:
        return None
    return parts.section(
        "correlations",
        "Correlations",
        f"Over {count(len(scores.shifts.models), 'model')}: whether those that lose more to a synthetic benchmark "
        "also lose more to a natural shift. An interval that holds 0 is inconclusive. Of each kind, the best of a "
        "column is marked.",
        parts.table(tables.correlation_table(scores)),
        *map(parts.note, suite_notes(scores)),
        parts.folded(tables.p_table(scores), "p-values"),
    )


def scatter_section(scores: ValidityScores) -> Section | None:
    """What models lose to natural shifts over what they lose to a benchmark, one benchmark at a time."""
    if not scores.drawn:
        return None
    standard = len(scores.shifts.standard or ())
    marked = f" Diamonds are the {standard} standard ones, without an intervention for robustness." if standard else ""
    panels = {}
    for place, (what, name) in enumerate(scores.drawn):
        keys = {natural: f"models{place}-{number}" for number, natural in enumerate(scores.natural)}
        figures = [model_scatter(key, scores, what, name, natural) for natural, key in keys.items()]
        panels[scores.name(name)] = [parts.figures(figures)]
    return parts.section(
        "models",
        "Models",
        "Every point is a model: left is more robust to the synthetic benchmark, down is more robust to the "
        f"natural shift.{marked} Hover over a point for its name.",
        *([parts.panels(panels)] if len(panels) > 1 else next(iter(panels.values()))),
    )


def corruption_section(scores: ValidityScores) -> Section | None:
    """Which corruptions carry the signal."""
    if not scores.corruptions:
        return None
    gains: list[Part] = []
    if scores.contributions is not None:
        gains = [
            parts.heading("What each adds"),
            f"How far the correlation of {scores.contributing} falls without a corruption. Right of 0, the "
            "benchmark is better with it; left of 0, it would predict better without it.",
            parts.figures(gain_forests(scores), side_by_side=False),
            *map(parts.note, notes_of(scores, scores.contributions, "corruption")),
            parts.folded(tables.gain_table(scores)),
        ]
    return parts.section(
        "corruptions",
        "Corruptions",
        "Which corruptions carry the signal: the correlation of each alone with each natural benchmark, the best "
        "on top. The best of a column is framed. Hover over a cell, or tap it, for more.",
        parts.matrix(corruption_matrix(scores)),
        *(parts.folded(tables.corruption_table(scores, natural)) for natural in scores.telling),
        *gains,
    )


def category_section(scores: ValidityScores) -> Section | None:
    """Categories as benchmarks, and whether their corruptions belong together."""
    if not scores.names("category"):
        return None
    words = f"The corruptions of a category, as a benchmark.{agreement_words(scores)}"
    return parts.section("categories", "Categories", words, parts.table(tables.category_table(scores)))


def agreement_words(scores: ValidityScores) -> str:
    """Whether corruptions of one category agree more than others, as far as it is known."""
    same, different = (scores.settings.get(key) for key in ("same", "different"))
    if same is None or different is None:
        return ""
    return (
        " On average, what models lose to two corruptions of the same category correlates by "
        f"{hundredths(same)}, of different ones by {hundredths(different)}."
    )


def group_section(scores: ValidityScores) -> Section | None:
    """Groups of benchmarks: tables 2 and 3 of the paper."""
    if scores.groups is None:
        return None
    inside: list[Part] = []
    for place, (kind, (title, caption)) in enumerate(GROUPS.items()):
        groups = scores.groups[scores.groups["kind"] == kind]
        if len(groups):
            inside += [
                parts.heading(title),
                parts.figures([group_figure(f"groups{place}", scores, groups, caption)], side_by_side=False),
                parts.table(tables.group_table(scores, kind, f"{caption}, with 95 % intervals")),
                *map(parts.note, notes_of(scores, groups, "group")),
                parts.folded(tables.group_facts_table(scores, kind), "What the groups are made of"),
            ]
    return parts.section(
        "groups",
        "Groups of benchmarks",
        "The mean correlation of many benchmarks that are composed alike. Every set of categories weighs the same, "
        "and so does every arrangement of uneven numbers. A category with fewer than k corruptions is not in "
        "benchmarks of k of each, so groups may differ in their categories as well: the next section compares "
        "like with like, in the same resamples of models.",
        *inside,
    )


def trend_section(scores: ValidityScores) -> Section | None:
    """Changes from group to group."""
    if scores.trends is None:
        return None
    trends = scores.trends.assign(title=scores.trends["question"].map({q: title for q, (title, *_) in TRENDS.items()}))
    figures = [_trend_figures(scores, question) for question in TRENDS if (trends["question"] == question).any()]
    slopes, steps = ([figure for figure in kind if figure is not None] for kind in zip(*figures, strict=True))
    return parts.section(
        "trends",
        "What makes a benchmark predict",
        "How the mean correlation changes with the composition of benchmarks, where both sides of a comparison "
        "have every category equally often. An interval that holds 0 is inconclusive. Part of a rise is "
        "arithmetic: a mean over more, and more different, corruptions has less of what is peculiar to each.",
        parts.figures(slopes),
        *([parts.heading("From group to group"), parts.figures(steps)] if steps else []),
        *map(parts.note, notes_of(scores, trends, "title")),
        parts.folded(tables.trend_table(scores)),
    )


def _trend_figures(scores: ValidityScores, question: str) -> tuple[Figure | None, Figure | None]:
    """The slopes of a question by natural benchmark, and its steps on average; None if there are none."""
    title, unit, _ = TRENDS[question]
    assert scores.trends is not None
    rows = scores.trends[scores.trends["question"] == question].rename(columns={"difference": "value"})
    is_slope = rows["smaller"] == ALL
    slopes = rows[is_slope & rows["natural"].isin(scores.columns)]
    steps = rows[~is_slope & (rows["natural"] == scores.overall)]
    compared = compared_words(scores.trends, question, scores.overall)
    note = f"{unit[:1].upper()}{unit[1:]}{f', from {compared}' if compared else ''}."
    names = [tables.step_name(row) for row in steps.to_dict("records")]
    return (
        forest(f"slope-{question}", title, slopes["natural"].tolist(), slopes, note=note) if len(slopes) else None,
        forest(f"pairs-{question}", title, names, steps, note=over(scores.overall)) if names else None,
    )


def search_section(scores: ValidityScores) -> Section | None:
    """The most predictive benchmarks, with warnings about them."""
    if scores.searches is None:
        return None
    return parts.section(
        "searches",
        "The most predictive benchmarks",
        "Which corruptions predict best together. A choice fits the models that it is made on, so what counts is "
        "its correlation over models that had no part in it, and its gain over random benchmarks of the same size. "
        "That holds for new models, not for new natural benchmarks: the same ones choose and score.",
        *warnings(scores),
        parts.table(tables.search_table(scores)),
        parts.folded(tables.member_table(scores), "All members, and how firm the choice is"),
    )
