"""The report of the mixing study: training images that mostly meet another corruption than the test (figure 2b)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape
from typing import Any

import pandas as pd

from scuff.metrics import Score
from scuff.report import parts
from scuff.report.figure import Figure, Scale, error_bars, labels, layout_of, numbers, percents
from scuff.report.page import Page, Verdicts
from scuff.report.parts import Section
from scuff.report.separation.figures import titled
from scuff.report.tables import Cell, Column, Table, score_cell, words
from scuff.report.transform_space.command import mixing_again
from scuff.report.transform_space.read import needed_table
from scuff.report.transform_space.scores import near
from scuff.report.transform_space.seeds import INTERVALS, over_seeds
from scuff.report.transform_space.settings import FEATURE, MMD, MSD, settings_section
from scuff.report.words import bracketed, count, entry_name, listed, percent, percent_sign
from scuff.store import Store, read_settings

DEFINITIONS = [
    ("share", "Of training images that meet the other corruption; the rest meet that of the test."),
    ("MSD", MSD),
    ("MMD", MMD),
    ("feature", FEATURE),
    ("intervals", INTERVALS),
]


def page(directory: str) -> Page:
    """The page about the study in a folder."""
    store = Store(directory)
    settings = read_settings(store, "mixing.json")
    return mixing_page(needed_table(store, "mixing.csv"), settings, directory=directory)


def mixing_page(
    table: pd.DataFrame,
    settings: Mapping[str, Any] | None = None,
    *,
    directory: str | None = None,
) -> Page:
    """The page, from a table with the columns share, mmd, msd, seed, error, clean_error."""
    settings = settings or {}
    again = None if directory is None or not settings else mixing_again(settings, directory)
    test, other = (corruption_name(settings, key) for key in ("right", "other"))
    severity = f", severity {settings['severity']}" if settings.get("severity") else ""
    seeds, shares = count(table["seed"].nunique(), "seed"), count(table["share"].nunique(), "share")
    return Page(
        f"Training with {other} for a test with {test}",
        f"Training images meet {other} or {test}{severity}; {shares} of {other}, {seeds}.",
        mixing_verdicts(table),
        [mixing_section(table, test, other), settings_section(settings, again, DEFINITIONS)],
    )


def mixing_verdicts(table: pd.DataFrame) -> Verdicts:
    """How both distances and the error grow with the share, and whether a little of the right corruption is enough."""
    found = {column: by_share(table, column).set_index("share") for column in ("mmd", "msd", "error")}
    shares = list(dict.fromkeys([*found["error"].index[:1], *found["error"].index[-2:]]))
    verdicts = [
        (column.upper(), f"{_listed({share: near(found[column].at[share, 'value']) for share in shares})}.")
        for column in ("mmd", "msd")
    ]
    errors = found["error"]
    words = {share: f"{percent_sign(errors.at[share, 'value'])}{_between(errors.loc[share])}" for share in shares}
    return [*verdicts, ("Error", f"{_listed(words)}. {_lesson(errors['value'])}".strip())]


def mixing_section(table: pd.DataFrame, test: str, other: str) -> Section:
    """Distances and errors by share, side by side."""
    return parts.section(
        "mixing",
        "Distances and error by share",
        parts.text(
            f"The larger the share of {other}, the farther is the mean augmentation from {test} (MMD). The nearest one "
            "stays near while there is any (MSD). The error tells which of the two matters."
        ),
        parts.figures(
            [
                share_curve("mixing-mmd", "MMD", by_share(table, "mmd"), "MMD", numbers, near),
                share_curve("mixing-msd", "MSD", by_share(table, "msd"), "MSD", numbers, near),
                share_curve("mixing-error", f"Error on {test}", by_share(table, "error"), "error %"),
            ]
        ),
        parts.folded(mixing_table(table)),
    )


def share_curve(
    key: str,
    title: str,
    points: pd.DataFrame,
    axis: str,
    scale: Scale = percents,
    write: Callable[[float], str] = percent,
) -> Figure:
    """A number by share, with its intervals. Columns: share, value, low, high, n."""
    unit = "\u00a0%" if axis.endswith("%") else ""
    texts = [
        f"<b>{escape(title)}</b><br>share {row.share:g}: {write(row.value)}{unit}{bracketed(row.low, row.high, write)}"
        for row in points.itertuples()
    ]
    line = {
        "x": points["share"].tolist(),
        "y": scale(points["value"]),
        "mode": "lines+markers",
        "line": {"color": "@series0", "width": 2},
        "marker": {"size": 7},
        "error_y": error_bars(points, "@series0/0.6", scale),
        **labels(texts),
    }
    x_axis = {"title": {"text": "share of the other corruption"}, "range": [-0.04, 1.04], "dtick": 0.25}
    layout = layout_of(x_axis, {"title": titled(axis), "rangemode": "tozero"})
    description = f"{title} by the share of the other corruption; the table below has the numbers."
    return Figure(key, title, description, 280, [line], layout)


def mixing_table(table: pd.DataFrame) -> Table:
    """All numbers by share."""
    kinds = {"mmd": near, "msd": near, "error": percent, "clean_error": percent}
    found = {column: by_share(table, column).set_index("share") for column in kinds if column in table}
    shares = next(iter(found.values())).index
    rows = [
        [Cell(f"{share:g}"), *(score_cell(_score(found[name].loc[share]), kinds[name]) for name in found)]
        for share in shares
    ]
    heads = {"mmd": "MMD", "msd": "MSD", "error": "error %", "clean_error": "clean error %"}
    return Table("By share, with 95 % intervals", [words("share"), *(Column(heads[name]) for name in found)], rows)


def by_share(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """The mean of a column for every share. Distances do not depend on the seed of a training, and have no interval."""
    return over_seeds(table if "error" in column else table.drop_duplicates("share"), "share", column)


def corruption_name(settings: Mapping[str, Any], key: str) -> str:
    """The name of a corruption in the settings, where it is an address."""
    return entry_name(settings.get(key, f"the {key} corruption").rpartition("/")[2])


def _listed(values: Mapping[float, str]) -> str:
    return listed([f"{words} at share {share:g}" for share, words in values.items()])


def _lesson(errors: pd.Series) -> str:
    """What the largest share below 1 tells, if there are shares to compare."""
    if len(errors) < 3 or errors.index[-1] != 1:
        return ""
    start, almost, end = (errors.iloc[place] for place in (0, -2, -1))
    share = percent(1 - errors.index[-2], 0)
    if almost - start < end - almost:
        return f"With {share}\u00a0% of images right, it is still nearer to that of all right than to that of none."
    return f"With {share}\u00a0% of images right, it is nearer to that of none right than to that of all."


def _score(line: pd.Series) -> Score:
    return Score(line["value"], line["low"], line["high"], int(line["n"]), "")


def _between(line: pd.Series) -> str:
    return bracketed(line["low"], line["high"])
