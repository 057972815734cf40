"""What the pages of transform space share: means over seeds, distances as text, and the last section."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from scuff.metrics.intervals import student_half_width
from scuff.report.parts import Section
from scuff.report.settings import all_facts, settings_section
from scuff.studies.base import Study, again_from

MOST_LISTED = 12  # values of a setting that are listed; of more, their number is shown


def near(value: float) -> str:
    """A distance, with three significant digits.

    >>> near(0.29834), near(12.0), near(1234.5)
    ('0.298', '12.0', '1234')
    """
    return f"{value:#.3g}".rstrip(".") if abs(value) < 1000 else f"{value:.0f}"


def over_seeds(table: pd.DataFrame, by: str, column: str) -> pd.DataFrame:
    """The mean of a column for every value of another: the columns `by`, value, low, high, n.

    >>> table = pd.DataFrame({"size": [1, 1, 2], "error": [0.2, 0.4, 0.1]})
    >>> over_seeds(table, "size", "error").round(3).values.tolist()
    [[1.0, 0.3, -0.971, 1.571, 2.0], [2.0, 0.1, nan, nan, 1.0]]
    """
    rows = []
    for key, values in table.groupby(by)[column]:
        half = float(student_half_width(values.to_numpy(float))) if len(values) > 1 else math.nan
        rows.append((key, values.mean(), values.mean() - half, values.mean() + half, len(values)))
    return pd.DataFrame(rows, columns=[by, "value", "low", "high", "n"])


def side_by_side(means: Mapping[str, pd.DataFrame], by: str) -> pd.DataFrame:
    """Several means of `over_seeds` as one frame: `by`, then NAME, NAME_low and NAME_high of each."""
    parts = [
        frame.set_index(by)[["value", "low", "high"]].set_axis([name, f"{name}_low", f"{name}_high"], axis=1)
        for name, frame in means.items()
    ]
    return pd.concat(parts, axis=1).reset_index()


def last_section(
    study: type[Study[Any]], settings: Mapping[str, Any], directory: str | None, definitions: Mapping[str, str]
) -> Section:
    """What was set, the same again, and how to read the numbers."""
    again = None if directory is None else again_from(study, settings, directory)
    names = {"schemes": list(settings["schemes"])} if "schemes" in settings else {}
    facts = all_facts({**settings, **names}, hidden=("levels", "options", "result"), most_listed=MOST_LISTED)
    return settings_section(facts, again, definitions)
