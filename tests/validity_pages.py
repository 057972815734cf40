"""Pages about made tables of validity, and what tests look for in them."""

from __future__ import annotations

import pandas as pd
from made_validity import made_settings, make_groups, make_searches, make_trends
from pages import Page, rendered

from scuff.report.page import Page as BuiltPage
from scuff.report.validity import validity
from scuff.report.validity.scores import ValidityScores


def validity_page(*tables, directory: str | None = None, **named) -> BuiltPage:
    """The page from the tables of a study."""
    return validity.validity_page(ValidityScores(*tables, **named), directory)


def render_all(shifts, correlations, contributions, **options) -> str:
    """The page of everything that a study can find."""
    groups = make_groups(shifts)
    tables = (groups, make_trends(groups), make_searches(), made_settings(shifts))
    return rendered(validity_page, shifts, correlations, contributions, *tables, directory="runs/valid", **options)


def verdicts(page: Page) -> dict[str, str]:
    """What a page says first, by what it is about."""
    return dict(text.split(": ", 1) for text in page.texts("li") if ": " in text)


def lines(table: pd.DataFrame, **wanted) -> pd.DataFrame:
    """The lines of a table that have these values."""
    for name, value in wanted.items():
        table = table[table[name] == value]
    return table
