"""The page about an overlap study: what it says first, and its sections."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

from scuff.design.overlap.nonoverlapping import THRESHOLD
from scuff.metrics import Accuracies, read_accuracies
from scuff.metrics.overlap.accuracies import STANDARD
from scuff.metrics.overlap.scores import Use
from scuff.report import parts
from scuff.report.figure import Figure
from scuff.report.overlap import benchmarks, designs, figures
from scuff.report.overlap.scores import COVERED, OverlapScores, measure_overlap, suite_of
from scuff.report.overlap.stability import stability_section, stability_words
from scuff.report.page import Page, Verdicts
from scuff.report.parts import Part, Section
from scuff.report.settings import meanings, read_study, study_section
from scuff.studies.overlap.study import OverlapStudy
from scuff.suites import list_suites, load_suite
from scuff.tables import Column, Table
from scuff.words import NOTHING, bracketed, count, fine, hundredths, listed, name_some, plain, sentence, short_names

MOST_PAIRS = 120  # in the table of the strongest overlaps: all of 16 corruptions


def page(
    directory: str,
    *,
    threshold: float = THRESHOLD,
    use: Use = "robustness",
    baseline: str = STANDARD,
    as_paper: bool = False,
) -> Page:
    """The page about the overlap study in a folder, or about a CSV table of accuracies.

    Parameters
    ----------
    threshold
        Pairs of the benchmark without overlaps overlap less than this.
    use, as_paper
        As for `metrics.overlaps` and `metrics.direct_coverage`.
    baseline
        What corruption errors are relative to: a model of the table, or "alexnet" (published errors).
    """
    options: dict[str, Any] = {"threshold": threshold, "use": use, "baseline": baseline, "as_paper": as_paper}
    if directory.endswith(".csv"):
        return overlap_page(read_table(directory), {"accuracies": directory}, **options)
    return overlap_page(*read_study(OverlapStudy, directory), directory, **options)


def read_table(file: str) -> Accuracies:
    """A CSV table of accuracies; the suites of its corruptions are those of the package, as far as it has them."""
    accuracies = read_accuracies(file)
    named = dict.fromkeys(map(suite_of, accuracies.corruptions))
    return replace(accuracies, suites=tuple(load_suite(name) for name in named if name in list_suites()))


def overlap_page(
    accuracies: Accuracies, settings: Mapping[str, Any], directory: str | None = None, **options: Any
) -> Page:
    """The page, from the accuracies of a study, what it was made with, and the folder that it is in.

    The options are those of `page`.
    """
    scores = measure_overlap(accuracies, **{"threshold": THRESHOLD} | options)
    tested = f", tested on {count(accuracies.images, 'image')} each" if accuracies.images else ""
    lead = (
        f"{count(len(scores.overlaps.names), 'corruption')} of {listed(scores.suites)}: a model trained on each and "
        f"one on none, {count(len(accuracies.seeds), 'seed')}{tested}."
    )
    title, sections = f"Overlaps of {listed(scores.suites)}", overlap_sections(scores, settings, directory)
    return Page(title, lead, overlap_verdicts(scores), sections)


def overlap_sections(
    scores: OverlapScores, settings: Mapping[str, Any], directory: str | None = None
) -> list[Section | None]:
    """All sections, None for those that the study has no numbers for; of a study in a folder, with its command."""
    coverage = [*(_nearest_parts(scores) if scores.coverage else []), *(_direct_parts(scores) if scores.direct else [])]
    return [
        _matrix_section(scores),
        _categories_section(scores) if scores.categories else None,
        _benchmark_section(scores) if scores.selection else None,
        stability_section(scores) if scores.stability else None,
        parts.section("coverage", "Coverage", *coverage) if coverage else None,
        _balance_section(scores) if scores.balances else None,
        _accuracies_section(scores),
        study_section(
            OverlapStudy,
            settings,
            directory,
            meanings("overlap", covered=COVERED) | {"intervals": sentence(scores.overlaps.interval)},
            key="overlap-settings",
            title="Settings of the overlap study",
        ),
    ]


def overlap_verdicts(scores: OverlapScores) -> Verdicts:
    """What is found, in a sentence each."""
    verdicts = [("Overlaps", _overlap_words(scores))]
    selection = scores.selection
    if selection is not None:
        mean = f"; mean overlap {fine(selection.mean_overlap)}" if len(selection.members) > 1 else ""
        chosen = f"{len(selection.members)} of {count(len(scores.leaves), 'corruption')}"
        names = _listed_names(scores, selection.members)
        verdicts.append(
            ("Benchmark without overlaps", f"{chosen}, all pairs below {selection.threshold:g}: {names}{mean}.")
        )
    if scores.categories is not None:
        named = [name_some([scores.shown[member] for member in members]) for name, members in scores.groups if name]
        verdicts.append(("Categories", f"{len(named)}: {'; '.join(named)}."))
    if scores.stability is not None:
        verdicts.append(("Stability", stability_words(scores.stability)))
    if scores.balances:
        spreads = [
            f"{name} {plain(balance.std.value)}{bracketed(balance.std.low, balance.std.high, plain)}"
            for name, balance in scores.balances.items()
        ]
        verdicts.append(("Balance", f"standard deviation of the mCE: {', '.join(spreads)}."))
    return verdicts


def _overlap_words(scores: OverlapScores) -> str:
    overlaps, names = scores.overlaps.defined(), scores.leaves
    if len(names) < 2:
        return "of no pair, as too few corruptions gain from training on them."
    a, b = max(combinations(names, 2), key=lambda pair: overlaps.score(*pair).value)
    strongest, pairs = overlaps.score(a, b), count(math.comb(len(names), 2), "pair")
    return (
        f"mean {hundredths(overlaps.mean_overlap())} over {pairs}; most between {scores.shown[a]} and "
        f"{scores.shown[b]}, {hundredths(strongest.value)}{bracketed(strongest.low, strongest.high, hundredths)}."
    )


# --- sections ---------------------------------------------------------------------------------------------------------


def _matrix_section(scores: OverlapScores) -> Section:
    """The matrix of all overlaps, and the pairs that overlap most."""
    undefined = [(scores.shown[name], sentence(why)) for name, why in scores.overlaps.undefined.items()]
    pairs = [(a, b, scores.overlaps.score(a, b)) for a, b in combinations(scores.leaves, 2)]
    pairs.sort(key=lambda pair: -pair[2].value)
    columns = [
        Column("corruption", lambda pair: scores.shown[pair[0]]),
        Column("other corruption", lambda pair: scores.shown[pair[1]]),
        Column("overlap", lambda pair: pair[2], hundredths),
    ]
    strongest = Table.of("The strongest overlaps, with 95 % intervals", pairs[:MOST_PAIRS], columns)
    return parts.section(
        "overlap",
        "Overlaps",
        "How far training on one corruption helps against another, and vice versa: 1 as much as training on "
        "the other itself, 0 not at all. Corruptions of a category stand together. Hover over a "
        "cell, or tap it, for its interval and what it rests on.",
        parts.matrix(figures.overlap_matrix(scores)),
        parts.note("Not defined, and striped in the matrix:") if undefined else None,
        parts.facts(undefined) if undefined else None,
        parts.folded(strongest, "The strongest overlaps") if pairs else None,
    )


def _categories_section(scores: OverlapScores) -> Section:
    """Which corruptions belong together, by two methods."""
    groups = {name: members for name, members in scores.groups if name}
    category = {member: name for name, members in groups.items() for member in members}
    assert scores.categories is not None
    steps = designs.steps_table(scores.categories)
    return parts.section(
        "categories",
        "Categories",
        "Corruptions that overlap with the same others form a category. "
        f"{' '.join(designs.explain_categories(replace(scores.categories, undefined={})))} The number after a name "
        "in the dendrogram is its category.",
        parts.table(designs.groups_table(groups, scores.shown.__getitem__), sortable=False),
        parts.figures([figures.dendrogram(scores, category)], side_by_side=False),
        parts.folded(steps, "Numbers of categories that were tried") if steps.rows else None,
    )


def _benchmark_section(scores: OverlapScores) -> Section:
    """The largest benchmark without overlaps, at the chosen threshold and at others."""
    assert scores.selection is not None
    selection, shown = scores.selection, scores.shown.__getitem__
    matrices = designs.sweep_matrices(scores.overlaps, scores.sweep, shown)
    words = list(designs.explain_selection(replace(selection, undefined={})))
    pairs = [scores.overlaps.score(a, b) for a, b in combinations(selection.members, 2)]
    if pairs:
        doubtful = sum(pair.high >= selection.threshold for pair in pairs)
        words.append(f"Pairs whose interval reaches the threshold: {doubtful} of {len(pairs)}.")
    return parts.section(
        "benchmark",
        "A benchmark without overlaps",
        " ".join(words),
        parts.table(designs.selection_table(scores.overlaps, selection, shown)) if pairs else None,
        parts.figures([figures.sweep_line(scores)], side_by_side=False),
        parts.table(designs.sweep_table(scores.sweep, shown), sortable=False),
        *(parts.folded(table, title) for title, table in matrices.items()),
    )


def _nearest_parts(scores: OverlapScores) -> list[Part]:
    """Which corruptions a benchmark covers by overlaps, and how surely."""
    dots: list[Figure] = []

    def label(row: Any) -> str:
        return f"overlap {hundredths(row.overlap)} with {scores.shown.get(row.nearest, NOTHING)}"

    for (benchmark, suite), frame in scores.coverage.items():
        names, title = short_names(frame["corruption"].tolist()), f"{benchmark} against {suite}"
        dots.append(figures.dots(f"coverage{len(dots)}", title, frame, "overlap", COVERED, label, names))
    return [
        "Whether a benchmark would notice that a model cannot cope with a corruption that it does not hold: "
        f"whether it has one that overlaps with it by more than {COVERED:g}, the dotted line.",
        parts.table(benchmarks.coverage_table(scores)),
        parts.figures(dots),
        parts.folded(benchmarks.nearest_table(scores)),
    ]


def _direct_parts(scores: OverlapScores) -> list[Part]:
    """What training on a whole benchmark does against corruptions that it does not hold."""

    def label(row: Any) -> str:
        return f"robustness {fine(row.standard)}, trained {fine(row.trained)}"

    dots = [
        figures.dots(f"direct{k}", f"trained on all of {suite}", frame, "difference", 0.0, label, scores.shown)
        for k, (suite, frame) in enumerate(scores.direct.items())
    ]
    return [
        parts.heading("Training on a whole benchmark"),
        "The direct experiment: a model that was trained on all corruptions of a benchmark, against the standard "
        "model, on corruptions that the benchmark does not hold, or on its own where there are no others. Right of the "
        "dotted line, training helped. " + " ".join(benchmarks.direct_words(scores)),
        parts.figures(dots),
        parts.folded(benchmarks.direct_table(scores)),
    ]


def _balance_section(scores: OverlapScores) -> Section:
    """The spread of models that were trained with one corruption each."""
    balances = scores.balances
    highest = 1.05 * max(max(*balance.mces.values(), balance.standard) for balance in balances.values())
    bars = [
        figures.mce_bars(f"balance{k}", name, balance, highest, short_names(list(balance.mces)))
        for k, (name, balance) in enumerate(balances.items())
    ]
    return parts.section(
        "balance",
        "Balance",
        "Every bar is a model that was trained on one corruption of a benchmark, and its mean corruption error "
        "on the benchmark; the dotted line is the standard model. If some bars are much shorter than others, the "
        "benchmark favours those kinds of robustness.",
        parts.table(benchmarks.balance_table(scores)),
        *(parts.note(f"{note}.") for note in dict.fromkeys(balance.range.note for balance in balances.values())),
        parts.figures(bars),
        *(parts.folded(table, f"Corruption errors on {name}") for name, table in benchmarks.ce_tables(scores)),
    )


def _accuracies_section(scores: OverlapScores) -> Section:
    """What everything else was computed from."""
    seeds, images = len(scores.accuracies.seeds), scores.accuracies.images
    over = [f"; mean of {seeds} seeds" if seeds > 1 else "", f"; {count(images, 'test image')}" if images else ""]
    return parts.section(
        "accuracies",
        "Accuracies",
        "Share of right predictions of every model (down: what it was trained on) on every test (across)"
        f"{''.join(over)}.",
        parts.matrix(figures.accuracy_matrix(scores)),
    )


def _listed_names(scores: OverlapScores, names: Iterable[str]) -> str:
    return listed([scores.shown[name] for name in names])
