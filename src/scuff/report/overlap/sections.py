"""The sections about an overlap study: what each says, from scores to what the template shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

from scuff.report import parts
from scuff.report.overlap import tables
from scuff.report.overlap.figures import dendrogram_figure, direct_dots, mce_bars, nearest_dots, sweep_figure
from scuff.report.overlap.matrices import accuracy_matrix, overlap_matrix
from scuff.report.overlap.scores import COVERED, OverlapScores
from scuff.report.overlap.sentences import explain_categories, explain_selection
from scuff.report.parts import Part, Section
from scuff.report.settings import all_facts, meanings, settings_section
from scuff.studies.base import again_from
from scuff.studies.overlap.study import OverlapStudy
from scuff.words import count, sentence


def overlap_sections(
    scores: OverlapScores, settings: Mapping[str, Any], directory: str | None = None
) -> list[Section | None]:
    """All sections, None for those that the study has no numbers for; of a study in a folder, with its command."""
    return [
        matrix_section(scores),
        categories_section(scores),
        benchmark_section(scores),
        coverage_section(scores),
        balance_section(scores),
        accuracies_section(scores),
        settings_section(
            all_facts(settings, hidden=["options"]),
            None if directory is None else again_from(OverlapStudy, settings, directory),
            meanings("overlap", covered=COVERED) | {"intervals": sentence(scores.overlaps.interval)},
            key="overlap-settings",
            title="Settings of the overlap study",
        ),
    ]


def matrix_section(scores: OverlapScores) -> Section:
    """The matrix of all overlaps."""
    undefined = [(scores.shown[name], sentence(why)) for name, why in scores.overlaps.undefined.items()]
    without = parts.note("Not defined, and striped in the matrix:") if undefined else None
    return parts.section(
        "overlap",
        "Overlaps",
        parts.text(
            "How far training on one corruption helps against another, and vice versa: 1 as much as training on "
            "the other itself, 0 not at all. Corruptions of a category stand together. Hover over a "
            "cell, or tap it, for its interval and what it rests on."
        ),
        parts.matrix(overlap_matrix(scores)),
        without,
        parts.facts(undefined) if undefined else None,
        parts.folded(tables.strongest_pairs(scores), "The strongest overlaps") if len(scores.leaves) > 1 else None,
    )


def categories_section(scores: OverlapScores) -> Section | None:
    """Which corruptions belong together, by two methods."""
    categories = scores.categories
    if categories is None:
        return None
    groups = {name: members for name, members in scores.groups if name}
    category = {member: name for name, members in groups.items() for member in members}
    return parts.section(
        "categories",
        "Categories",
        parts.text(
            "Corruptions that overlap with the same others form a category. "
            f"{' '.join(explain_categories(replace(categories, undefined={})))} The number after a name in the "
            "dendrogram is its category."
        ),
        parts.table(tables.groups_table(groups, scores.shown.get), sortable=False),
        parts.figures(
            [dendrogram_figure("dendrogram", scores.tree, scores.leaves, scores.shown, category)], side_by_side=False
        ),
        parts.folded(tables.steps_table(categories), "Numbers of categories that were tried")
        if len(categories.steps)
        else None,
    )


def benchmark_section(scores: OverlapScores) -> Section | None:
    """The largest benchmark without overlaps, at the chosen threshold and at others."""
    chosen = scores.selection
    if chosen is None:
        return None
    return parts.section(
        "benchmark",
        "A benchmark without overlaps",
        parts.text(_chosen_words(scores)),
        parts.table(tables.selection_table(scores.overlaps, chosen, scores.shown.get))
        if len(chosen.members) > 1
        else None,
        parts.figures([sweep_figure("sweep", scores.sweep, chosen.threshold, scores.shown)], side_by_side=False),
        parts.table(tables.sweep_table(scores.sweep, scores.shown.get), sortable=False),
    )


def coverage_section(scores: OverlapScores) -> Section | None:
    """What benchmarks say of corruptions that they do not hold."""
    if not scores.coverage and not scores.direct:
        return None
    return parts.section(
        "coverage",
        "Coverage",
        *(_nearest_parts(scores) if scores.coverage else []),
        *(_direct_parts(scores) if scores.direct else []),
    )


def _nearest_parts(scores: OverlapScores) -> list[Part]:
    figures = [
        nearest_dots(f"coverage{place}", f"{benchmark} against {suite}", frame, scores.shown)
        for place, ((benchmark, suite), frame) in enumerate(scores.coverage.items())
    ]
    return [
        parts.text(
            "Whether a benchmark would notice that a model cannot cope with a corruption that it does not hold: "
            f"whether it has one that overlaps with it by more than {COVERED:g}, the dotted line."
        ),
        parts.table(tables.coverage_counts(scores)),
        parts.figures(figures),
        parts.folded(tables.nearest_table(scores)),
    ]


def _direct_parts(scores: OverlapScores) -> list[Part]:
    figures = [
        direct_dots(f"direct{place}", f"trained on all of {suite}", frame, scores.shown)
        for place, (suite, frame) in enumerate(scores.direct.items())
    ]
    return [
        parts.heading("Training on a whole benchmark"),
        parts.text(
            "The direct experiment: a model that was trained on all corruptions of a benchmark, against the standard "
            "model, on corruptions that the benchmark does not hold. Right of the dotted line, training helped."
        ),
        parts.figures(figures),
        parts.folded(tables.direct_table(scores)),
    ]


def balance_section(scores: OverlapScores) -> Section | None:
    """The spread of models that were trained with one corruption each."""
    if not scores.balances:
        return None
    balances = scores.balances
    highest = 1.05 * max(max(*balance.mces.values(), balance.standard) for balance in balances.values())
    figures = [mce_bars(f"balance{k}", name, balances[name], highest) for k, name in enumerate(balances)]
    notes = dict.fromkeys(balance.range.note for balance in balances.values())
    return parts.section(
        "balance",
        "Balance",
        parts.text(
            "Every bar is a model that was trained on one corruption of a benchmark, and its mean corruption error "
            "on the benchmark; the dotted line is the standard model. If some bars are much shorter than others, the "
            "benchmark favours those kinds of robustness."
        ),
        parts.table(tables.spread_table(scores)),
        *(parts.note(f"{note}.") for note in notes),
        parts.figures(figures),
        parts.folded(tables.mce_table(scores)),
    )


def accuracies_section(scores: OverlapScores) -> Section:
    """What everything else was computed from."""
    seeds, images = len(scores.accuracies.seeds), scores.accuracies.images
    over = [f"; mean of {seeds} seeds" if seeds > 1 else "", f"; {count(images, 'test image')}" if images else ""]
    return parts.section(
        "accuracies",
        "Accuracies",
        parts.text(
            "Share of right predictions of every model (down: what it was trained on) on every test (across)"
            f"{''.join(over)}."
        ),
        parts.matrix(accuracy_matrix(scores)),
    )


def _chosen_words(scores: OverlapScores) -> str:
    """The benchmark at the chosen threshold, and how many of its pairs are in doubt."""
    selection = scores.selection
    pairs = [scores.overlaps.score(a, b) for a, b in combinations(selection.members, 2)]
    doubtful = sum(pair.high >= selection.threshold for pair in pairs)
    doubt = [f"Pairs whose interval reaches the threshold: {doubtful} of {len(pairs)}."] if pairs else []
    return " ".join([*explain_selection(replace(selection, undefined={})), *doubt])
