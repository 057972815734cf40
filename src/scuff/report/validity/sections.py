"""The sections about validity, each from tables of the study; those that there is nothing to say in are None."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scuff.report import parts
from scuff.report.parts import Part, Section
from scuff.report.validity import tables
from scuff.report.validity.figures import gain_forests, model_scatter
from scuff.report.validity.matrices import corruption_matrix
from scuff.report.validity.notes import notes_of, suite_notes
from scuff.report.validity.scores import ValidityScores, suite_name
from scuff.report.validity.verdicts import warnings
from scuff.report.words import count, hundredths


def correlation_section(scores: ValidityScores) -> Section | None:
    """Every suite against every natural benchmark."""
    if not scores.suites:
        return None
    return parts.section(
        "correlations",
        "Correlations",
        parts.text(
            f"Over {count(len(scores.shifts.models), 'model')}: whether those that lose more to a synthetic benchmark "
            "lose more to a natural shift, too. An interval that holds 0 does not tell. Of each kind, the best of a "
            "column is marked."
        ),
        parts.table(tables.correlation_table(scores)),
        *(parts.note(words) for words in suite_notes(scores)),
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
        panels[suite_name(name)] = [parts.figures(figures)]
    return parts.section(
        "models",
        "Models",
        parts.text(
            "Every point is a model: left is more robust to the synthetic benchmark, down is more robust to the "
            f"natural shift.{marked} Hover over a point for its name."
        ),
        *([parts.panels(panels)] if len(panels) > 1 else next(iter(panels.values()))),
    )


def corruption_section(scores: ValidityScores) -> Section | None:
    """Which corruptions carry the signal."""
    if not scores.corruptions:
        return None
    has_gains = scores.contributions is not None
    gains: list[Part] = []
    if has_gains:
        gains = [
            parts.heading("What each adds"),
            parts.text(
                f"How far the correlation of {scores.contributing} falls without a corruption. Right of 0, the "
                "benchmark is better with it; left of 0, it would predict better without it."
            ),
            parts.figures(gain_forests(scores), side_by_side=False),
            *(parts.note(words) for words in notes_of(scores, scores.contributions, "corruption", scores.shown)),
            parts.folded(tables.gain_table(scores)),
        ]
    return parts.section(
        "corruptions",
        "Corruptions",
        parts.text(
            "Which corruptions carry the signal: the correlation of each alone with each natural benchmark, the best "
            "on top. The best of a column is framed. Hover over a cell, or tap it, for more."
        ),
        parts.matrix(corruption_matrix(scores)),
        *(parts.folded(tables.corruption_table(scores, natural)) for natural in scores.telling),
        *gains,
    )


def category_section(scores: ValidityScores, settings: Mapping[str, Any]) -> Section | None:
    """Categories as benchmarks, and whether their corruptions belong together."""
    if not scores.names("category"):
        return None
    same, different = (settings.get(key) for key in ("same", "different"))
    together = ""
    if same is not None and different is not None:
        together = (
            f" What models lose to two corruptions of the same category correlates by {hundredths(same)} in the mean, "
            f"of different ones by {hundredths(different)}."
        )
    return parts.section(
        "categories",
        "Categories",
        parts.text(f"The corruptions of a category, as a benchmark.{together}"),
        parts.table(tables.category_table(scores)),
    )


def search_section(scores: ValidityScores) -> Section | None:
    """The most predictive benchmarks, with what warns of them."""
    if scores.searches is None:
        return None
    return parts.section(
        "searches",
        "The most predictive benchmarks",
        parts.text(
            "Which corruptions predict best together. A choice fits the models that it is made on, so what counts is "
            "its correlation over models that had no part in it, and its gain over random benchmarks of the same size. "
            "That holds for new models, not for new natural benchmarks: the same ones choose and score."
        ),
        *map(parts.text, warnings(scores)),
        parts.table(tables.search_table(scores)),
        parts.folded(tables.member_table(scores), "All members, and how firm the choice is"),
    )
