"""The sections about an evaluation: what each says, from scores to what the template shows."""

from __future__ import annotations

from typing import Any

import pandas as pd

from scuff.evaluation import CLEAN, Evaluation
from scuff.report import parts
from scuff.report.evaluation.figures import corruption_bars, difference_plot, reliability_diagram, severity_curves
from scuff.report.evaluation.pictures import DataUnavailable, worst_cards
from scuff.report.evaluation.scores import Comparison, Scores, SequenceScores
from scuff.report.evaluation.settings import command, model_facts, setting_facts
from scuff.report.evaluation.summary import KINDS, sequence_headings, shown_kinds, summary_score, summary_table
from scuff.report.heatmap import columns_of, heat_groups, scale, top_of_scale
from scuff.report.parts import Facts, Section
from scuff.report.tables import Cell, Column, Table, mark_best, score_cell, sorted_by, table_by_model, words
from scuff.report.words import NOTHING, entry_name, fine, grouped, interval, percent, plain, signed_percent

EXTREMES = 3  # how many of the hardest and easiest corruptions are named

INTERVALS = (
    "Of 95 %. For the error of one cell: Wilson's. For everything else: the images are drawn again 1000 times, with "
    "replacement. They say how much the numbers would change with other images of the same kind, not with another seed "
    "or another training of the model."
)


def summary_section(scores: Scores) -> Section:
    """The table of all scores."""
    best = " The best value of each column is marked." if len(scores.models) > 1 else ""
    but = ", but for the robustness score" if scores.defined("robustness_score") else ""
    where = 'What each score means stands at the end, under "How to read this".'
    note = f"Lower is better{but}.{best} A click on a head sorts the table. {where}"
    return parts.section("summary", "Summary", parts.table(summary_table(scores)), parts.note(note))


def cells_section(scores: Scores, evaluation: Evaluation) -> Section | None:
    """The heat map of every model."""
    if scores.errors.empty:
        return None
    families = evaluation.settings["families"]
    panels = []
    for model in scores.models:
        errors = scores.errors[scores.errors["model"] == model]
        means = scores.means[scores.means["model"] == model]
        panels.append(
            {
                "model": model,
                "facts": _model_details(model, scores, means, evaluation),
                "caption": f"Error of {model} in per cent",
                "groups": heat_groups(errors, means, families, scores.errors),
            }
        )
    columns, highest = columns_of(scores.errors), f"{percent(top_of_scale(scores.errors), 0)} % error"
    return parts.section(
        "cells",
        "Every corruption" + (" at every severity" if len(columns) > 1 else ""),
        parts.text("Errors in per cent, coloured as in the scale. Hover over a cell, or tap it, for its interval."),
        parts.heat_maps(scale("0 %", highest), columns, panels),
    )


def severity_section(scores: Scores, evaluation: Evaluation) -> Section | None:
    """Curves over severity by family; bars for corruptions that have no levels."""
    flat = scores.errors[scores.errors["severity"] == 0]
    if scores.errors.empty:
        return None
    curves = scores.curves.assign(name=[f"{f}, severity {s}" for f, s in zip(*_columns(scores.curves), strict=True)])
    bars = flat.assign(name=flat["corruption"].map(entry_name))
    figures = []
    for place, family in enumerate(dict.fromkeys(curves["family"])):
        its = curves[curves["family"] == family]
        figures.append(severity_curves(f"curve{place}", family, its, scores.models, top_of_scale(curves)))
    if len(flat):
        figures.append(corruption_bars("bars", "Error by corruption", flat, scores.models))
    shown = pd.concat([frame[["name", "model", "value", "low", "high"]] for frame in (curves, bars) if len(frame)])
    names = list(dict.fromkeys(shown["name"]))
    table = table_by_model("Error in per cent, with 95 % intervals", shown, names, scores.models, "corruptions")
    return parts.section(
        "severity",
        "By severity" if len(curves) else "By corruption",
        parts.text(_family_words(evaluation, scores)) if len(curves) else None,
        parts.figures(figures, side_by_side=len(curves) > 0, legend=True),
        parts.folded(table),
    )


def comparison_section(scores: Scores) -> Section | None:
    """Paired differences and ranks."""
    comparison, models = scores.comparison, scores.models
    if comparison is None:
        return None
    reference, differences = comparison.reference, comparison.differences
    about = (
        "All models saw the same images, so they are compared image by image: what makes an image hard for all models "
        "cancels out, and differences are known better than the errors themselves."
    )
    entries = list(dict.fromkeys(differences["corruption"]))
    others = [model for model in models if model != reference]
    title = f"Error minus that of {reference}"
    named = differences.assign(name=differences["corruption"].map(entry_name))
    caption = f"Error minus that of {reference}, in percentage points, with 95 % intervals"
    names = [entry_name(entry) for entry in entries]
    ranked_by = shown_kinds(scores)[comparison.ranked_by].name.removesuffix(" %")
    return parts.section(
        "comparison",
        "Comparison",
        parts.text(about),
        parts.text("Only the cells that all models have are compared.") if comparison.common_only else None,
        parts.table(_pairs_table(comparison)),
        parts.figures([difference_plot("differences", title, differences, models, reference)], side_by_side=False),
        parts.folded(table_by_model(caption, named, names, others, "corruption", signed_percent)),
        parts.heading("Ranks"),
        parts.table(_overall_ranks(comparison.ranks, ranked_by)),
        parts.folded(_ranks_by_corruption(comparison.ranks, models), "Ranks by corruption"),
    )


def images_section(evaluation: Evaluation, models: list[str], data: Any, directory: str) -> Section:
    """The worst images, or why they cannot be shown."""
    has_clean = CLEAN in set(evaluation.rows["corruption"].unique())
    which = "Right when clean, wrong" if has_clean else "Wrong"
    key, title = "images", "Worst images"
    try:
        cards = worst_cards(evaluation, data)
    except DataUnavailable as error:
        if data is not None:
            raise ValueError(f"the images cannot be shown: {error}") from error  # whoever named them wants to know
        hint = f"Say where they are: scuff report {directory} --data SOURCE."
        return parts.section(key, title, parts.text(f"The images cannot be shown: {error}. {hint}"))
    nothing = "No image is right when clean and wrong when corrupted." if has_clean else "No image is wrong."
    panels = [{"model": model, "cards": cards[model], "note": nothing} for model in models]
    words = f"{which} with the highest confidence when corrupted, exactly as the model saw them."
    return parts.section(key, title, parts.text(words), parts.pictures(panels))


def calibration_section(scores: Scores) -> Section | None:
    """Whether confidence is deserved."""
    keys = [key for key in ("ece_clean", "ece_corrupted") if scores.defined(key)]
    if not keys:
        return None
    bins = scores.reliability[scores.reliability["n"] > 0]
    figures = [
        reliability_diagram(
            f"reliability-{kind}", f"{kind.capitalize()} images", bins[bins["kind"] == kind], scores.models
        )
        for kind in dict.fromkeys(bins["kind"])
    ]
    rows = [
        [Cell(line["model"]), *(score_cell(summary_score(line, key)) for key in keys)]
        for _, line in scores.summary.iterrows()
    ]
    columns = [words("model"), *(Column(KINDS[key].name) for key in keys)]
    rows = mark_best(rows, range(1, len(columns)))
    names = [
        f"{kind}, {percent(low, 0)} to {percent(high, 0)} % sure"
        for kind, low, high in zip(bins["kind"], bins["from"], bins["to"], strict=True)
    ]
    named = bins.assign(name=names)
    ordered = named.sort_values(["kind", "from"])["name"]
    caption = "Share of right predictions in per cent, with 95 % intervals"
    shares = table_by_model(caption, named, list(dict.fromkeys(ordered)), scores.models, "images and confidence")
    return parts.section(
        "calibration",
        "Calibration",
        parts.text(
            "Whether a model that is 80 % sure is right 80 % of the time. Below the dotted line a model is surer than "
            "it may be."
        ),
        parts.table(Table("Expected calibration error, with 95 % intervals", columns, rows)),
        parts.figures(figures, legend=True),
        parts.folded(shares),
    )


def sequences_section(scores: SequenceScores, several: bool) -> Section:
    """Flip probabilities and top-5 distances at one difficulty."""
    at = f", difficulty {scores.difficulty}" if several else ""
    tables = []
    for caption, frame, write in (
        (f"Flip probability in per cent, with 95 % intervals{at}", scores.flips, percent),
        (f"Top-5 distance, 0 to 15, with 95 % intervals{at}", scores.moves, fine),
    ):
        named = frame.assign(name=frame["corruption"].map(entry_name))
        table = table_by_model(caption, named, list(dict.fromkeys(named["name"])), scores.models, "perturbation", write)
        tables.append(table)
    return parts.section(
        f"sequences{scores.difficulty}" if several else "sequences",
        f"Every perturbation{at}",
        parts.text("How often the prediction changes from frame to frame, and how far the five best classes move."),
        *map(parts.table, tables),
    )


def sequence_summary_section(scores: SequenceScores) -> Section:
    """The table of mean flip rates and distances."""
    rates = [scores.flip_rates[model] for model in scores.models]
    rows = [
        [
            Cell(model),
            score_cell(scores.flip_rates[model], plain),
            score_cell(scores.distances[model], fine),
        ]
        for model in scores.models
    ]
    columns = [words("model"), *map(Column, sequence_headings(scores))]
    table = Table("Scores, with 95 % intervals below them", columns, mark_best(rows, (1, 2)))
    notes = sorted({rate.note for rate in rates if rate.note})
    return parts.section(
        "summary", "Summary", parts.table(sorted_by(table, 1)), *(parts.note(f"{note}.") for note in notes)
    )


def settings_section(evaluation: Evaluation, definitions: list[tuple[str, str]], directory: str) -> Section:
    """How the numbers came about, and how to read them."""
    shared, models = _split_facts(evaluation)
    return parts.section(
        "settings",
        "Settings and environment",
        parts.facts([*setting_facts(evaluation), *shared]),
        *([parts.heading("Models"), parts.table(models, sortable=False)] if models else []),
        parts.heading("The same again"),
        parts.command(command(evaluation, directory)),
        parts.heading("How to read this"),
        parts.facts([*definitions, ("intervals", INTERVALS)]),
    )


def _split_facts(evaluation: Evaluation) -> tuple[Facts, Table | None]:
    """What all models have in common, and a table of what they have not."""
    facts = [dict(model_facts(about)) for about in evaluation.models.values()]
    names = list(dict.fromkeys(name for each in facts for name in each))
    shared = [name for name in names if len({each.get(name) for each in facts}) == 1]
    own = [name for name in names if name not in shared]
    rows = [[Cell(each.get(name, NOTHING), is_text=True) for name in own] for each in facts]
    table = Table("What differs between the models", [words(name) for name in own], rows) if own else None
    return [(name, facts[0][name]) for name in shared], table


def definitions_of(scores: Scores) -> list[tuple[str, str]]:
    """What every score that is shown means, in a line."""
    meanings = [(kind.name.removesuffix(" %"), kind.meaning) for kind in shown_kinds(scores).values()]
    return meanings + (COMPARISON_DEFINITIONS if scores.comparison is not None else [])


COMPARISON_DEFINITIONS = [
    (
        "two-sided share",
        "Twice the share of resamples in which a difference does not have the sign that is shown; it may be read like "
        "a two-sided p-value.",
    ),
    ("lower error", "The model with the lower error where the interval of the difference does not hold 0."),
]
SEQUENCE_DEFINITIONS = [
    ("flip probability", "How often the prediction of a frame differs from that of the frame before; noise: frame 0."),
    ("mFR", "Mean flip rate: flip probabilities in per cent of the reference's, averaged over perturbations."),
    (
        "top-5 distance",
        "How many ranks the five best classes move between frames, in all; a class that leaves them is taken as sixth.",
    ),
    ("mT5D", "Top-5 distances in per cent of the reference's, averaged over perturbations."),
]


# --- tables and sentences of their own ------------------------------------------------------------------------------


def _columns(curves: pd.DataFrame) -> tuple[list[str], list[int]]:
    return curves["family"].tolist(), curves["severity"].tolist()


def _model_details(model: str, scores: Scores, means: pd.DataFrame, evaluation: Evaluation) -> Facts:
    """What stands beside the heat map of a model: its scores, and what it finds hardest and easiest."""
    line = scores.summary[scores.summary["model"] == model].iloc[0]
    facts = [
        (kind.name, f"{kind.write(line[key])} ({interval(line[f'{key}_low'], line[f'{key}_high'], kind.write)})")
        for key, kind in shown_kinds(scores).items()
        if key in ("clean_error", "mean_error", "mce")
    ]
    ordered = means.sort_values("value", ascending=False)
    if len(ordered) >= 2 * EXTREMES:
        for word, lines in (("hardest", ordered.head(EXTREMES)), ("easiest", ordered.tail(EXTREMES)[::-1])):
            facts.append(
                (word, ", ".join(f"{entry_name(row.corruption)} {percent(row.value)}" for row in lines.itertuples()))
            )
    parameters = evaluation.models.get(model, {}).get("parameters")
    return facts + ([("parameters", grouped(parameters))] if parameters is not None else [])


def _family_words(evaluation: Evaluation, scores: Scores) -> str:
    families: dict[str, list[str]] = {}
    for entry in dict.fromkeys(scores.errors["corruption"]):
        if entry in scores.suite.benchmark():
            families.setdefault(evaluation.settings["families"].get(entry, "other"), []).append(entry_name(entry))
    words = "; ".join(f"{family}: {', '.join(entries)}" for family, entries in families.items())
    return f"Mean errors of the corruptions of a family; bands are 95 % intervals. {words[:1].upper()}{words[1:]}."


def _pairs_table(comparison: Comparison) -> Table:
    rows = []
    for (a, b), difference in comparison.pairs.items():
        clear = difference.low > 0 or difference.high < 0
        lower = (b if difference.value > 0 else a) if clear else "not clear"
        share = difference.two_sided_share
        rows.append(
            [
                Cell(f"{a} minus {b}"),
                score_cell(difference, signed_percent),
                Cell(lower, is_text=True),
                Cell("< 0.002" if share == 0 else fine(share), share),
            ]
        )
    columns = [
        words("models"),
        Column("difference, points"),
        words("lower error"),
        Column("two-sided share"),
    ]
    return Table("Differences of the mean error, with 95 % intervals", columns, rows)


def _overall_ranks(ranks: pd.DataFrame, ranked_by: str) -> Table:
    """The rank of every model over all corruptions, and on how many of them it comes first."""
    overall = ranks["corruption"] == "all"
    firsts = ranks[~overall & (ranks["rank"] == 1)].groupby("model").size()
    rows = [
        [Cell(row.model), _rank_cell(row), Cell(str(firsts.get(row.model, 0)), float(firsts.get(row.model, 0)))]
        for row in ranks[overall].itertuples()
    ]
    columns = [words("model"), Column("rank"), Column("corruptions on which it is first")]
    caption = f"Rank by {ranked_by}, 1 is best; below it, where it is not sure, the ranks of 95 % of resamples"
    return sorted_by(Table(caption, columns, rows), 1)


def _ranks_by_corruption(ranks: pd.DataFrame, models: list[str]) -> Table:
    found = {(row.corruption, row.model): row for row in ranks.itertuples()}
    entries = [entry for entry in dict.fromkeys(ranks["corruption"]) if entry != "all"]
    rows = [[Cell(entry_name(entry)), *(_rank_cell(found[entry, model]) for model in models)] for entry in entries]
    return Table("Ranks by corruption", [words("corruption"), *map(Column, models)], rows)


def _rank_cell(row: Any) -> Cell:
    sure = row.low == row.high
    return Cell(f"{row.rank:g}", row.rank, "" if sure else f"{row.low:g} to {row.high:g}")
