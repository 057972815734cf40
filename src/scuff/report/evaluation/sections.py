"""The sections about an evaluation of still images, from scores to what the template shows; a sentence per model."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from scuff.evaluation import CLEAN, Evaluation
from scuff.metrics import holm
from scuff.metrics.evaluation.comparison import SIGNIFICANT
from scuff.metrics.evaluation.own import own_metrics
from scuff.metrics.evaluation.references import is_relative
from scuff.report import parts
from scuff.report.evaluation.figures import corruption_bars, difference_plot, reliability_diagram, severity_curves
from scuff.report.evaluation.pictures import DataUnavailable, worst_cards
from scuff.report.evaluation.scores import Comparison, Scores, ce_table
from scuff.report.heatmap import columns_of, heat_groups, scale, top_of_scale
from scuff.report.parts import Facts, Part, Section
from scuff.report.settings import meanings
from scuff.tables import Cell, Column, Table
from scuff.words import (
    Form,
    bracketed,
    cell_name,
    entry_name,
    fine,
    grouped,
    interval,
    listed,
    p_value,
    percent,
    plain,
    reference_name,
    sharp,
    signed_percent,
)


def difference_map(cells: pd.DataFrame, of: str = "") -> Table:
    """Differences of error by corruption and severity; `cells` has corruption, severity, value and p_holm."""

    def cell(line: dict[str, Any]) -> Cell:
        return Cell(signed_percent(line["value"]) + ("*" if line["p_holm"] < SIGNIFICANT else " "), line["value"])

    correction = f"* marks p < {SIGNIFICANT} after Holm's correction for {len(cells)} cells"
    caption = f"Differences in points by severity{of}; {correction}"
    levels = sorted(set(cells["severity"]))
    return Table.pivot(
        caption, cells, "corruption", "severity", Column("corruption", cell), heads=levels, name=entry_name
    )


@dataclass(frozen=True)
class Kind:
    """A score of the summary: its name in tables, how it is written, and which way is better."""

    name: str
    form: Form
    higher_is_better: bool = False

    def column(self, key: str) -> Column:
        """The column of a table of models."""
        best = "highest" if self.higher_is_better else "lowest"
        return Column(self.name, key, self.form, interval=True, best=best)  # type: ignore[arg-type]


KINDS = {
    "clean_error": Kind("clean error %", percent),
    "mean_error": Kind("mean error %", percent),
    "mce": Kind("mCE %", plain),
    "relative_mce": Kind("relative mCE %", plain),
    "robustness_score": Kind("robustness score", fine, higher_is_better=True),
    "residual_robustness": Kind("residual robustness %", percent),
    "ece_clean": Kind("ECE clean %", percent),
    "ece_corrupted": Kind("ECE corrupted %", percent),
}


def shown_kinds(summary: pd.DataFrame, suite: str) -> dict[str, Kind]:
    """The scores of a summary that are defined; where mCE is the relative one, it is shown once, by that name."""
    own = {name: Kind(name.replace("_", " "), fine, metric.higher_is_better) for name, metric in own_metrics().items()}
    kinds = {key: kind for key, kind in (KINDS | own).items() if key in summary and summary[key].notna().any()}
    if "mce" in kinds and is_relative(suite):
        kinds["mce"] = kinds.pop("relative_mce")
    return kinds


def summary_section(scores: Scores) -> Section:
    """The table of all scores."""
    best = " The best value of each column is marked." if len(scores.models) > 1 else ""
    kinds = shown_kinds(scores.summary, scores.suite.name)
    higher = [f"the {kind.name}" for kind in kinds.values() if kind.higher_is_better]
    but = f", except for {listed(higher)}" if higher else ""
    note = (
        f"Lower is better{but}.{best} Click on a heading to sort the table. "
        'The scores are defined at the end, under "How to read this".'
    )
    columns = [Column("model", "model"), *(kind.column(key) for key, kind in kinds.items())]
    caption, main = "Scores, with 95 % intervals below them", kinds[scores.main].name
    table = Table.of(caption, scores.summary, columns, sort=main)
    return parts.section(
        "summary", "Summary", parts.table(table), *(parts.note(text) for text in (scores.note, note) if text)
    )


def verdict(line: pd.Series, scores: Scores, baseline: str | None) -> str:
    """One sentence about a model: the scores that count most, each with its interval."""
    clauses = []
    for key in ("mce", "mean_error", "clean_error"):
        kind = shown_kinds(scores.summary, scores.suite.name).get(key)
        if kind is not None and not math.isnan(line[key]):
            than = f", where {reference_name(baseline)} has 100" if key == "mce" and baseline is not None else ""
            low, high = line[f"{key}_low"], line[f"{key}_high"]
            form = sharp(kind.form, low, high)
            between = bracketed(low, high, form)
            clauses.append(f"{kind.name.removesuffix(' %')} {form(line[key])}\u00a0%{between}{than}")
    is_partial = line["cells"] < line["cells_of_suite"]
    done = f" So far {line['cells']} of {line['cells_of_suite']} cells of the suite." if is_partial else ""
    return "; ".join(clauses) + "." + done


def definitions_of(scores: Scores) -> dict[str, str]:
    """What every score that is shown means."""
    shown = {kind.name.removesuffix(" %") for kind in shown_kinds(scores.summary, scores.suite.name).values()}
    scored = {name: text for name, text in meanings("evaluation").items() if name in shown}
    scored |= {name.replace("_", " "): metric.text for name, metric in own_metrics().items() if metric.text}
    return scored | (meanings("comparison") if scores.comparison is not None else {})


EXTREMES = 3  # how many of the hardest and easiest corruptions are named


def cells_section(scores: Scores, evaluation: Evaluation, baseline: str | None) -> Section | None:
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
        "Errors in per cent, coloured as in the scale. Hover over a cell, or tap it, for its interval.",
        parts.heat_maps(scale("0 %", highest), columns, panels),
        parts.folded(ce_table(scores.ces, scores.models, baseline), "Corruption errors") if len(scores.ces) else None,  # type: ignore[arg-type]
    )


def severity_section(scores: Scores, evaluation: Evaluation) -> Section | None:
    """Curves over severity by family; bars for corruptions that have no levels."""
    if scores.errors.empty:
        return None
    models, curves = scores.models, scores.curves
    flat = scores.errors[scores.errors["severity"] == 0]
    figures = [
        severity_curves(f"curve{place}", family, lines, models, top_of_scale(curves))
        for place, (family, lines) in enumerate(curves.groupby("family", sort=False))
    ]
    if len(flat):
        figures.append(corruption_bars("bars", "Error by corruption", flat, models))
    numbers = pd.concat([curves.rename(columns={"family": "name"}), flat.rename(columns={"corruption": "name"})])
    numbers["cell"] = [
        cell_name(row.name, row.severity) for row in numbers[["name", "severity"]].itertuples(index=False)
    ]
    column = Column("corruptions", "value", percent, interval=True)
    table = Table.pivot("Error in per cent, with 95 % intervals", numbers, "cell", "model", column, heads=models)
    return parts.section(
        "severity",
        "By severity" if len(curves) else "By corruption",
        _family_words(evaluation, scores) if len(curves) else None,
        parts.figures(figures, side_by_side=len(curves) > 0, legend=True),
        parts.folded(table),
    )


def comparison_section(scores: Scores) -> Section | None:
    """Paired differences and ranks."""
    comparison, models = scores.comparison, scores.models
    if comparison is None:
        return None
    reference, differences = comparison.reference, comparison.differences
    title = f"Error minus that of {reference}"
    by_corruption = Table.pivot(
        f"{title}, in percentage points, with 95 % intervals",
        differences,
        "corruption",
        "model",
        Column("corruption", "value", signed_percent, interval=True),
        heads=[model for model in models if model != reference],
        name=entry_name,
    )
    ranked_by = shown_kinds(scores.summary, scores.suite.name)[comparison.ranked_by].name.removesuffix(" %")
    ranks = comparison.ranks[comparison.ranks["corruption"] != "all"]
    rank = Column("corruption", _rank_cell)
    return parts.section(
        "comparison",
        "Comparison",
        "All models saw the same images, so they are compared image by image: what makes an image hard for all "
        "models cancels out, and differences are known more precisely than the errors themselves.",
        "Only the cells that all models have are compared." if comparison.common_only else None,
        parts.table(_pairs_table(comparison)),
        parts.figures([difference_plot("differences", title, differences, models, reference)], side_by_side=False),
        parts.folded(by_corruption),
        *_difference_maps(comparison),
        parts.heading("Ranks"),
        parts.table(_overall_ranks(comparison, ranked_by)),
        parts.folded(
            Table.pivot("Ranks by corruption", ranks, "corruption", "model", rank, heads=models, name=entry_name),
            "Ranks by corruption",
        ),
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
        hint = f" Say where they are: scuff report {directory} --data SOURCE."
        if isinstance(error.__cause__, KeyError):  # it is a corruption that is missing
            hint = ""
        return parts.section(key, title, f"The images cannot be shown: {error}.{hint}")
    nothing = "No image is right when clean and wrong when corrupted." if has_clean else "No image is wrong."
    panels = [{"model": model, "cards": cards[model], "note": nothing} for model in models]
    about = f"{which} with the highest confidence when corrupted, exactly as the model saw them."
    return parts.section(key, title, about, parts.pictures(panels))


def calibration_section(scores: Scores) -> Section | None:
    """Whether confidence is justified."""
    keys = [key for key in ("ece_clean", "ece_corrupted") if scores.defined(key)]
    if not keys:
        return None
    bins = scores.reliability[scores.reliability["n"] > 0].sort_values(["kind", "from"], kind="stable")
    bins["name"] = [
        f"{kind}, {percent(low, 0)} to {percent(high, 0)} % sure"
        for kind, low, high in zip(bins["kind"], bins["from"], bins["to"], strict=True)
    ]
    figures = [
        reliability_diagram(f"reliability-{kind}", f"{kind.capitalize()} images", of_kind, scores.models)
        for kind, of_kind in bins.groupby("kind")
    ]
    caption = "Share of right predictions in per cent, with 95 % intervals"
    column = Column("images and confidence", "value", percent, interval=True)
    errors = [Column("model", "model"), *(KINDS[key].column(key) for key in keys)]
    return parts.section(
        "calibration",
        "Calibration",
        "Whether a model that is 80 % sure is right 80 % of the time. Below the dotted line, a model is overconfident.",
        parts.table(Table.of("Expected calibration error, with 95 % intervals", scores.summary, errors)),
        parts.figures(figures, legend=True),
        parts.folded(Table.pivot(caption, bins, "name", "model", column, heads=scores.models)),
    )


def _model_details(model: str, scores: Scores, means: pd.DataFrame, evaluation: Evaluation) -> Facts:
    """What stands beside the heat map of a model: its scores, and what it finds hardest and easiest."""
    line = scores.summary[scores.summary["model"] == model].iloc[0]
    facts = [
        (kind.name, f"{kind.form(line[key])} ({interval(line[f'{key}_low'], line[f'{key}_high'], kind.form)})")
        for key, kind in shown_kinds(scores.summary, scores.suite.name).items()
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


def _difference_maps(comparison: Comparison) -> Iterator[Part]:
    """By corruption and severity, a table of every model but the reference."""
    for model, cells in comparison.cells.groupby("model", sort=False):
        if cells["severity"].nunique() > 1:
            title = f"{model} minus {comparison.reference}"
            yield parts.folded(difference_map(cells, f": {title}"), f"{title}, by corruption and severity")


def _pairs_table(comparison: Comparison) -> Table:
    corrected = holm([difference.p_value for difference in comparison.pairs.values()])
    records = [(a, b, d, p) for ((a, b), d), p in zip(comparison.pairs.items(), corrected, strict=True)]

    def lower(record: Any) -> str:
        a, b, difference, p = record
        return (b if difference.value > 0 else a) if p < SIGNIFICANT else "not clear"

    columns = [
        Column("models", lambda record: f"{record[0]} minus {record[1]}"),
        Column("difference, points", lambda record: record[2], signed_percent),
        Column("p-value" if len(records) == 1 else "p-value (Holm)", lambda record: record[3], p_value),
        Column("lower error", lower),
    ]
    return Table.of("Differences of the mean error, with 95 % intervals", records, columns)


def _overall_ranks(comparison: Comparison, ranked_by: str) -> Table:
    """The rank of every model over all corruptions, and on how many of them it comes first."""
    ranks = comparison.ranks
    is_overall = ranks["corruption"] == "all"
    firsts = ranks[~is_overall & (ranks["rank"] == 1)].groupby("model").size()
    columns = [
        Column("model", "model"),
        Column("rank", _rank_cell, str),
        Column("corruptions on which it is first", lambda line: int(firsts.get(line["model"], 0)), str),
    ]
    caption = f"Rank by {ranked_by}, 1 is best; below it, where it is uncertain, the ranks in 95 % of resamples"
    return Table.of(caption, ranks[is_overall], columns, sort="rank")


def _rank_cell(line: dict[str, Any]) -> Cell:
    rank, low, high = (line[key] for key in ("rank", "low", "high"))
    return Cell(f"{rank:g}", rank, "" if low == high else f"{low:g} to {high:g}")
