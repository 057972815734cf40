"""What is said of a selection and of categories, on the page and in the terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from scuff.design.overlap.lightest import MOST_TIES
from scuff.suites.combine import entry_names
from scuff.words import sentence

if TYPE_CHECKING:
    from scuff.design import Categories, Selection


def explain_selection(selection: Selection) -> Iterator[str]:
    """What a reader must know about the choice of a benchmark without overlaps."""
    size, count = len(selection.members), selection.largest_subsets
    if size == 1:
        yield f"No two corruptions overlap less than {selection.threshold:g}: a higher threshold is needed."
        return
    yield f"{size} corruptions overlap less than {selection.threshold:g}; mean overlap {selection.mean_overlap:.4f}."
    if count == 1:
        yield "No other set is as large."
    elif selection.proven:
        yield f"Of {count if selection.all_counted else f'more than {count}'} sets as large, none overlaps less."
    else:
        yield (
            f"More than {count} sets are as large: too many to prove that none overlaps less. This is the best one "
            "found; another threshold may leave fewer."
        )
    if selection.ties:
        more = "at least " if len(selection.ties) == MOST_TIES else ""
        first = ", ".join(entry_names(selection.ties[0]).values())
        yield f"As low is the mean of {more}{len(selection.ties)} others; the first: {first}."
    yield from _explain_undefined(selection.undefined)


def explain_categories(categories: Categories, correlation: float = 0.5) -> Iterator[str]:
    """How the number of categories was chosen."""
    if math.isnan(categories.same):
        yield f"No two corruptions correlate by more than {correlation:g}: each is a category of its own."
    else:
        yield (
            f"{categories.k} categories. Overlaps correlate by {categories.same:.2f} within categories and by "
            f"{categories.different:.2f} between them."
        )
    yield from _explain_undefined(categories.undefined)


def _explain_undefined(undefined: Mapping[str, str]) -> Iterator[str]:
    for name, why in undefined.items():
        yield f"Left out: {name}. {sentence(why)}"
