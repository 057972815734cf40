"""The first things that a page says of still images: a sentence for every model, and the table of all scores."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import pandas as pd

from scuff.metrics.evaluation.comparison import SIGNIFICANT
from scuff.metrics.evaluation.own import own_metrics
from scuff.metrics.evaluation.references import is_relative
from scuff.report import parts
from scuff.report.evaluation.scores import Scores
from scuff.report.parts import Section
from scuff.report.settings import meanings
from scuff.tables import Cell, Column, Table
from scuff.words import Form, bracketed, entry_name, fine, listed, percent, plain, reference_name, sharp, signed_percent


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
    kinds = shown_kinds(scores.summary, scores.suite.name).values()
    higher = [f"the {kind.name}" for kind in kinds if kind.higher_is_better]
    but = f", except for {listed(higher)}" if higher else ""
    note = (
        f"Lower is better{but}.{best} Click on a heading to sort the table. "
        'The scores are defined at the end, under "How to read this".'
    )
    notes = [parts.note(text) for text in (scores.note, note) if text]
    return parts.section("summary", "Summary", parts.table(summary_table(scores)), *notes)


def summary_table(scores: Scores) -> Table:
    """All scores of all models, the best of each marked, sorted by the one that counts most."""
    kinds = shown_kinds(scores.summary, scores.suite.name)
    columns = [Column("model", "model"), *(kind.column(key) for key, kind in kinds.items())]
    caption = "Scores, with 95 % intervals below them"
    return Table.of(caption, scores.summary, columns, sort=kinds[scores.main].name)


def verdict(line: pd.Series, scores: Scores, baseline: str | None) -> str:
    """One sentence about a model: the scores that count most, each with its interval."""
    clauses = []
    for key in ("mce", "mean_error", "clean_error"):
        kind = shown_kinds(scores.summary, scores.suite.name).get(key)
        if kind is not None and not math.isnan(line[key]):
            than = f", where {reference_name(baseline)} has 100" if key == "mce" else ""
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
