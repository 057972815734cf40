"""The page about the mixing study: training images that mostly meet another corruption than the test (figure 2b)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from scuff.report import parts
from scuff.report.figure import Figure, error_bars, label, layout_of, line_trace, numbers, percents, titled
from scuff.report.page import Page, Verdicts
from scuff.report.parts import Section
from scuff.report.settings import meanings, read_study
from scuff.report.transform_space.scores import last_section, near, over_seeds, side_by_side
from scuff.studies import MixingStudy
from scuff.tables import Column, Table
from scuff.words import Form, bracketed, count, entry_name, listed, percent, percent_sign

FORMS: dict[str, tuple[str, Form]] = {
    "mmd": ("MMD", near),
    "msd": ("MSD", near),
    "error": ("error %", percent),
    "clean_error": ("clean error %", percent),
}


def page(directory: str) -> Page:
    """The page about the study in a folder."""
    return mixing_page(*read_study(MixingStudy, directory), directory=directory)


def mixing_page(
    table: pd.DataFrame, settings: Mapping[str, Any] | None = None, *, directory: str | None = None
) -> Page:
    """The page, from a table with the columns share, mmd, msd, seed, error, clean_error."""
    settings = settings or {}
    given = (settings.get(key, f"the {key} corruption") for key in ("right", "other"))
    test, other = (entry_name(address.rpartition("/")[2]) for address in given)
    severity = f", severity {settings['severity']}" if settings.get("severity") else ""
    seeds, shares = count(table["seed"].nunique(), "seed"), count(table["share"].nunique(), "share")
    once = table.drop_duplicates("share")  # distances do not depend on the seed of a training, and have no interval
    means = {name: over_seeds(table if "error" in name else once, "share", name) for name in FORMS if name in table}
    return Page(
        f"Training with {other} for a test with {test}",
        f"Training images meet {other} or {test}{severity}; {shares} of {other}, {seeds}.",
        mixing_verdicts(means),
        [mixing_section(means, test, other), last_section(MixingStudy, settings, directory, meanings("mixing"))],
    )


def mixing_verdicts(means: Mapping[str, pd.DataFrame]) -> Verdicts:
    """How both distances and the error grow with the share, and whether a little of the right corruption is enough."""
    errors = means["error"]
    places = list(dict.fromkeys([0, *range(max(0, len(errors) - 2), len(errors))]))  # the first and the last two

    def words(name: str, write: Form) -> str:
        lines = [means[name].iloc[place] for place in places]
        return listed([f"{write(r['value'])}{bracketed(r['low'], r['high'])} at share {r['share']:g}" for r in lines])

    distances = [(name.upper(), f"{words(name, near)}.") for name in ("mmd", "msd")]
    return [*distances, ("Error", f"{words('error', percent_sign)}. {_lesson(errors)}".strip())]


def _lesson(errors: pd.DataFrame) -> str:
    """What the largest share below 1 tells, if there are shares to compare."""
    shares, values = errors["share"].tolist(), errors["value"].tolist()
    if len(values) < 3 or shares[-1] != 1:
        return ""
    share = percent(1 - shares[-2], 0)
    if values[-2] - values[0] < values[-1] - values[-2]:
        return f"With {share}\u00a0% of images right, it is still nearer to that of all right than to that of none."
    return f"With {share}\u00a0% of images right, it is nearer to that of none right than to that of all."


def mixing_section(means: Mapping[str, pd.DataFrame], test: str, other: str) -> Section:
    """Distances and errors by share, side by side."""
    columns = [Column("share", lambda line: f"{line['share']:g}")]
    columns += [Column(*(FORMS[name][0], name, FORMS[name][1]), interval=True) for name in means]
    titles = {"mmd": "MMD", "msd": "MSD", "error": f"Error on {test}"}
    return parts.section(
        "mixing",
        "Distances and error by share",
        f"The larger the share of {other}, the farther the mean augmentation is from {test} (MMD). The nearest one "
        "stays near as long as there is any (MSD). The error shows which of the two matters.",
        parts.figures([share_curve(name, title, means[name]) for name, title in titles.items()]),
        parts.folded(Table.of("By share, with 95 % intervals", side_by_side(means, "share"), columns)),
    )


def share_curve(name: str, title: str, points: pd.DataFrame) -> Figure:
    """A number by share, with its intervals. Columns: share, value, low, high, n."""
    heading, write = FORMS[name]
    scale, unit = (percents, "\u00a0%") if write is percent else (numbers, "")
    texts = [
        label(title, f"share {row.share:g}: {write(row.value)}{unit}{bracketed(row.low, row.high, write)}")
        for row in points.itertuples()
    ]
    bars = error_bars(points, "@series0/0.6", scale)
    line = line_trace(0, points["share"], scale(points["value"]), texts, error_y=bars)
    x_axis = {"title": {"text": "share of the other corruption"}, "range": [-0.04, 1.04], "dtick": 0.25}
    layout = layout_of(x_axis, {"title": titled(heading), "rangemode": "tozero"})
    description = f"{title} by the share of the other corruption; the table below has the numbers."
    return Figure(f"mixing-{name}", title, description, 280, [line], layout)
