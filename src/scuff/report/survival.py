"""The page about how severe corruptions may become before a model fails."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pandas as pd

from scuff.metrics import Difference, survival, survival_scores, survival_table
from scuff.report import parts
from scuff.report.figure import SILENT, Figure, label, labels, layout_of, percents, titled
from scuff.report.page import Page
from scuff.report.settings import all_facts, meanings, settings_section
from scuff.store import Store, read_settings
from scuff.studies.base import again_from
from scuff.studies.survival import SurvivalStudy, read_survival
from scuff.tables import Column, Table
from scuff.words import count, entry_name, hundredths, interval, p_value, percent


def page(directory: str) -> Page:
    """The page about a study in a folder."""
    rows, settings = read_survival(directory), read_settings(Store(directory), SurvivalStudy.file)
    scores = survival_scores(rows).sort_values("area")
    images = count(int(scores["n"].max()), "image")
    worst, best = scores.iloc[0], scores.iloc[-1]
    verdicts = [("Fails first", _sentence(worst, rows))]
    if len(scores) > 1:
        verdicts.append(("Fails last", _sentence(best, rows)))
    return Page(
        f"When {settings['model_name']} fails",
        f"The severity at which it is wrong for the first time, on {images} of {settings['data']}.",
        verdicts,
        [
            parts.section("scores", "Scores", parts.table(score_table(scores))),
            parts.section("curves", "Survivors by severity", parts.figures(survival_figures(rows))),
            settings_section(
                all_facts(settings, hidden=["options"]),
                again_from(SurvivalStudy, settings, directory),
                meanings("survival"),
            ),
        ],
    )


def score_table(scores: pd.DataFrame) -> Table:
    """Median, area and flips back of every corruption, for the page and the terminal."""
    columns = [
        Column("corruption", lambda row: entry_name(row["corruption"])),
        Column("clean %", "clean_accuracy", percent),
        Column("median severity", "median", _severity, interval=True),
        Column("area", "area", hundredths, interval=True, best="highest"),
        Column("right again %", "flips_back", percent, interval=True),
        Column("images", "n", str),
    ]
    return Table.of("First failures", scores, columns)


def difference_table(differences: Mapping[str, Difference], other: str) -> Table:
    """The paired differences of two models."""
    columns = [
        Column("corruption", lambda row: entry_name(row["corruption"])),
        Column("area", "area", hundredths, interval=True),
        Column("p (Holm)", "p_value", p_value),
    ]
    return Table.of(f"Area minus that of {other}, paired by image", survival_table(dict(differences)), columns)


def survival_figures(rows: pd.DataFrame) -> list[Figure]:
    """A curve with its band for each corruption."""
    figures = []
    for corruption, its in rows.groupby("corruption", sort=False, observed=True):
        curve, name = survival(its), entry_name(str(corruption))
        line = {"shape": "hv", "color": "@series0", "width": 2}
        band = {"x": list(curve["severity"]), "mode": "lines", "line": line | {"width": 0}, **SILENT}
        texts = [
            label(name, f"severity {row.severity:g}: {percent(row.value)} % survive", interval(row.low, row.high))
            for row in curve.itertuples()
        ]
        traces = [
            band | {"y": percents(curve["band_low"])},
            band | {"y": percents(curve["band_high"]), "fill": "tonexty", "fillcolor": "@series0/0.15"},
            {"x": list(curve["severity"]), "y": percents(curve["value"]), "mode": "lines", "line": line}
            | labels(texts),
        ]
        layout = layout_of(
            {"title": {"text": "severity"}, "range": [0, float(its["highest"].iloc[0])]},
            {"title": titled("survivors, %"), "range": [0, 101]},
        )
        described = f"The share of images that the model is right about up to each severity of {name}, with a band."
        figures.append(Figure(f"survival-{corruption}", name, described, 240, traces, layout))
    return figures


def _sentence(score: pd.Series, rows: pd.DataFrame) -> str:
    name, highest = entry_name(score["corruption"]), rows["highest"].max()
    if math.isinf(score["median"]):
        return f"{name}: more than half of all images are recognised up to severity {highest:g}."
    if score["median"] == 0:
        return f"{name}: half of all images are not even recognised when clean."
    return f"{name}: half of all images are no longer recognised at severity {score['median']:.2g}."


def _severity(value: float) -> str:
    return "never" if math.isinf(value) else hundredths(value)
