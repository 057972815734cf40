"""The sections about an overlap study: what each says, from scores to what the template shows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import combinations
from typing import Any

from scuff.design import Categories
from scuff.report import parts
from scuff.report.overlap.command import overlap_command
from scuff.report.overlap.figures import dendrogram_figure, direct_dots, mce_bars, nearest_dots, sweep_figure
from scuff.report.overlap.matrices import accuracy_matrix, overlap_matrix
from scuff.report.overlap.scores import COVERED, OverlapScores
from scuff.report.overlap.tables import (
    category_steps,
    chosen_members,
    coverage_counts,
    direct_table,
    listed_names,
    mce_table,
    nearest_table,
    spread_table,
    strongest_pairs,
    sweep_table,
)
from scuff.report.parts import Part, Section
from scuff.report.settings import all_facts
from scuff.report.tables import Cell, Table, words
from scuff.report.words import count, fine, grouped, hundredths

MOST_TIES = 3  # sets that are named

DEFINITIONS = [
    (
        "robustness score",
        "The share of its accuracy that a model keeps when images are corrupted: accuracy on corrupted images divided "
        "by that on clean ones.",
    ),
    (
        "overlap",
        "Of two corruptions: what training with one adds to the robustness score on the other, as a share of what "
        "training with the other itself adds; the mean of both ways, and 0 if that is negative. 1: either is as good "
        "as the other. 0: neither helps against the other.",
    ),
    (
        "not defined",
        "Where training with a corruption does not help against itself, there is nothing to compare with.",
    ),
    (
        "category",
        "Corruptions that overlap with the same others: K-means of the rows of the matrix, with the smallest K at "
        "which the rows of a category correlate enough in the mean.",
    ),
    (
        "dendrogram",
        "Joins the two groups with the largest mean overlap, again and again. A second opinion on the categories.",
    ),
    (
        "non-overlapping",
        "All pairs overlap less than the threshold. Of the largest such sets, that with the lowest mean overlap.",
    ),
    (
        "covered",
        f"A corruption overlaps by more than {COVERED:g} with one of the benchmark; surely, if the interval leaves no "
        "doubt.",
    ),
    (
        "balance",
        "Models trained with one corruption of a benchmark each, and the spread of their mean corruption errors on it: "
        "range (largest minus smallest) and standard deviation. Small if no kind of robustness counts more than the "
        "others.",
    ),
]


def overlap_sections(scores: OverlapScores, settings: Mapping[str, Any], directory: str | None = None) -> list[Section]:
    """All sections, but for those that the study has no numbers for; of one in a folder, with its command."""
    again = []
    if directory is not None:
        again = [parts.heading("The same again"), parts.command(overlap_command(settings, directory))]
    sections = [
        matrix_section(scores),
        categories_section(scores),
        benchmark_section(scores),
        coverage_section(scores),
        balance_section(scores),
        accuracies_section(scores),
        parts.section(
            "overlap-settings",
            "Settings of the overlap study",
            parts.facts(all_facts(settings)),
            *again,
            parts.heading("How to read this"),
            parts.facts([*DEFINITIONS, ("intervals", f"{_sentence(scores.overlaps.interval)}.")]),
        ),
    ]
    return [section for section in sections if section is not None]


def matrix_section(scores: OverlapScores) -> Section:
    """The matrix of all overlaps."""
    undefined = [(scores.shown[name], f"{_sentence(why)}.") for name, why in scores.overlaps.undefined.items()]
    without = parts.note("Not defined, and striped in the matrix:") if undefined else None
    return parts.section(
        "overlap",
        "Overlaps",
        parts.text(
            "How far training with one corruption helps against another, and the other way round: 1 as much as "
            "training with the other itself, 0 not at all. Corruptions of a category stand together. Hover over a "
            "cell, or tap it, for its interval and what it rests on."
        ),
        parts.matrix(overlap_matrix(scores)),
        without,
        parts.facts(undefined) if undefined else None,
        parts.folded(strongest_pairs(scores), "The strongest overlaps") if len(scores.leaves) > 1 else None,
    )


def categories_section(scores: OverlapScores) -> Section | None:
    """Which corruptions belong together, by two methods."""
    found = scores.categories
    if found is None:
        return None
    groups = [(name, members) for name, members in scores.groups if name]
    rows = [[Cell(name), Cell(listed_names(scores, members), is_text=True)] for name, members in groups]
    category = {member: name for name, members in groups for member in members}
    return parts.section(
        "categories",
        "Categories",
        parts.text(_category_words(found)),
        parts.table(Table("By K-means", [words("category"), words("corruptions")], rows), sortable=False),
        parts.figures(
            [dendrogram_figure("dendrogram", scores.tree, scores.leaves, scores.shown, category)], side_by_side=False
        ),
        parts.folded(category_steps(found.steps), "Numbers of categories that were tried")
        if len(found.steps)
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
        parts.table(chosen_members(scores)) if len(chosen.members) > 1 else None,
        parts.figures([sweep_figure("sweep", scores.sweep, chosen.threshold, scores.shown)], side_by_side=False),
        parts.table(sweep_table(scores), sortable=False),
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
        parts.table(coverage_counts(scores)),
        parts.figures(figures),
        parts.folded(nearest_table(scores)),
    ]


def _direct_parts(scores: OverlapScores) -> list[Part]:
    figures = [
        direct_dots(f"direct{place}", f"trained with all of {suite}", frame, scores.shown)
        for place, (suite, frame) in enumerate(scores.direct.items())
    ]
    return [
        parts.heading("Training with a whole benchmark"),
        parts.text(
            "The direct experiment: a model that was trained with all corruptions of a benchmark, against the standard "
            "model, on corruptions that the benchmark does not hold. Right of the dotted line, training helped."
        ),
        parts.figures(figures),
        parts.folded(direct_table(scores)),
    ]


def balance_section(scores: OverlapScores) -> Section | None:
    """The spread of models that were trained with one corruption each."""
    if not scores.balances:
        return None
    highest = 1.05 * max(max(*found.mces.values(), found.standard) for found in scores.balances.values())
    figures = [mce_bars(f"balance{k}", name, found, highest) for k, (name, found) in enumerate(scores.balances.items())]
    notes = dict.fromkeys(found.range.note for found in scores.balances.values())
    return parts.section(
        "balance",
        "Balance",
        parts.text(
            "Every bar is a model that was trained with one corruption of a benchmark, and its mean corruption error "
            "on the benchmark; the dotted line is the standard model. If some bars are much shorter than others, the "
            "benchmark favours those kinds of robustness."
        ),
        parts.table(spread_table(scores)),
        *(parts.note(f"{note}.") for note in notes),
        parts.figures(figures),
        parts.folded(mce_table(scores)),
    )


def accuracies_section(scores: OverlapScores) -> Section:
    """What everything else was computed from."""
    seeds, images = len(scores.accuracies.seeds), scores.accuracies.images
    over = [f"; mean of {seeds} seeds" if seeds > 1 else "", f"; {count(images, 'test image')}" if images else ""]
    return parts.section(
        "accuracies",
        "Accuracies",
        parts.text(
            "Share of right predictions of every model (down: what it was trained with) on every test (across)"
            f"{''.join(over)}."
        ),
        parts.matrix(accuracy_matrix(scores)),
    )


def _category_words(found: Categories) -> str:
    if math.isnan(found.same):
        text = "No number of categories brings together corruptions that overlap with the same others: each is its own"
    else:
        text = (
            f"Corruptions that overlap with the same others form a category. Of two in the same of these {found.k}, "
            f"the rows of the matrix correlate by {hundredths(found.same)} in the mean; of two in different ones, by "
            f"{hundredths(found.different)}"
        )
    return f"{text}. The number after a name in the dendrogram is its category."


def _chosen_words(scores: OverlapScores) -> str:
    """What is known of the benchmark at the chosen threshold."""
    chosen, members = scores.selection, scores.selection.members
    text = (
        f"No more than {len(members)} of {count(len(scores.leaves), 'corruption')} can stand together so that all "
        f"pairs overlap by less than {chosen.threshold:g}"
    )
    if len(members) == 1:
        return f"{text}: {listed_names(scores, members)}."
    pairs = [scores.overlaps.score(a, b) for a, b in combinations(members, 2)]
    doubtful = sum(pair.high >= chosen.threshold for pair in pairs)
    text += (
        f". Sets of that size: {'' if chosen.all_counted else 'more than '}{grouped(chosen.largest_subsets)}. This one "
        f"has the lowest mean overlap{'' if chosen.proven else ' that was found'}, {fine(chosen.mean_overlap)}. "
        f"Pairs whose interval reaches the threshold: {doubtful} of {len(pairs)}."
    )
    if chosen.ties:
        others = [listed_names(scores, tie) for tie in chosen.ties[:MOST_TIES]]
        more = f"; and {len(chosen.ties) - MOST_TIES} more" if len(chosen.ties) > MOST_TIES else ""
        text += f" As good: {'; '.join(others)}{more}."
    return text


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
