"""Errors, accuracies, and what corruption takes away from them. All are fractions 0..1."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from scuff.metrics.estimate import Estimate, Group, score_together, scored
from scuff.metrics.evaluation.tables import CLEAN, Cells, Rows, find_suite, read_cells, scored_cells
from scuff.metrics.intervals import DEFAULT, Resampling, percent, wilson
from scuff.metrics.score import Score
from scuff.suites import Suite


def error(rows: Rows, *, resampling: Resampling = DEFAULT) -> Score:
    """The share of wrong predictions over all rows, a fraction: #(prediction != label) / #rows.

    One cell has Wilson's interval. Several cells show the same images again and again, so there the images are
    resampled, each with all its cells.

    >>> from scuff.metrics import example_rows
    >>> print(error(example_rows()[lambda r: r.corruption == "clean"]))
    0.20 [0.15, 0.26] (n = 200; Wilson 95 %)
    """
    cells = read_cells(rows)
    if len(cells.keys) > 1:
        return estimate_error(cells).score(resampling)
    n, wrong = cells.wrong.size, int(cells.wrong.sum())
    low, high = wilson(wrong, n, resampling.level)
    return Score(wrong / n, float(low), float(high), n, f"Wilson {percent(resampling.level)}")


def accuracy(rows: Rows, *, resampling: Resampling = DEFAULT) -> Score:
    """The share of right predictions over all rows, a fraction: 1 - error, and its interval likewise.

    >>> from scuff.metrics import example_rows
    >>> print(accuracy(example_rows()))
    0.66 [0.62, 0.71] (n = 200; bootstrap over images 95 %)
    """
    wrong = error(rows, resampling=resampling)
    return replace(wrong, value=1 - wrong.value, low=1 - wrong.high, high=1 - wrong.low)


def cell_errors(rows: Rows, *, level: float = 0.95) -> pd.DataFrame:
    """The error of every cell, a fraction with Wilson's interval: a table of corruption, severity, value, low, high, n.

    >>> from scuff.metrics import example_rows
    >>> cell_errors(example_rows())[["corruption", "severity", "value"]].values.tolist()[:2]
    [['clean', 0, 0.2], ['fog', 1, 0.3]]
    """
    cells = read_cells(rows)
    wrong, n = cells.wrong.sum(axis=1), len(cells.images)
    low, high = wilson(wrong, n, level)
    corruptions, severities = zip(*cells.keys, strict=True)
    values = {"value": wrong / n, "low": low, "high": high, "n": n, "interval": f"Wilson {percent(level)}"}
    return pd.DataFrame({"corruption": corruptions, "severity": severities, **values})


@scored
def mean_error(
    rows: Rows, *, suite: Suite | str | None = None, partial: bool = False, resampling: Resampling = DEFAULT
) -> Estimate:
    """The mean error under corruption, a fraction: of the errors at all severities, then of all corruptions that count.

    For CIFAR-10-C and Tiny-ImageNet-C this is the usual score. `suite` and `partial` as in `mce`.

    >>> from scuff.metrics import example_rows
    >>> print(mean_error(example_rows()))
    0.38 [0.33, 0.42] (n = 200; bootstrap over images 95 %)
    """
    cells = read_cells(rows)
    entries, note = scored_cells(cells, suite, partial)
    return Estimate((_mean_group(cells, entries),), lambda m: m[..., 0], note)


def family_means(
    rows: Rows,
    families: Mapping[str, str | Sequence[str]] | None = None,
    *,
    suite: Suite | str | None = None,
    partial: bool = False,
    resampling: Resampling = DEFAULT,
) -> dict[str, Score]:
    """The mean error of every family of corruptions, fractions.

    Parameters
    ----------
    families
        {corruption: family} or {family: [corruption, ...]}; by default the categories of the suite or, if it has
        none, the families of its corruptions, as in the gallery. Corruptions that are not named are left out.

    Examples
    --------
    >>> from scuff.metrics import example_rows
    >>> {family: round(float(s), 3) for family, s in family_means(example_rows(), {"weather": ["fog", "snow"]}).items()}
    {'weather': 0.375}
    """
    cells = read_cells(rows)
    entries, note = scored_cells(cells, suite, partial)
    if families is None:
        families = entry_families(find_suite(cells.suite, suite), entries)
    members = {family: [e for e in group if e in entries] for family, group in _by_family(families).items()}
    members = {family: group for family, group in members.items() if group}
    if not members:
        raise ValueError(
            f"no family names a corruption of the rows, which are {', '.join(entries)}; pass families as "
            "{corruption: family} or {family: [corruptions]}"
        )
    group = error_group(cells, entries)
    places = {family: [list(entries).index(e) for e in names] for family, names in members.items()}
    estimates = {f: Estimate((group,), lambda m, p=p: m[..., p].mean(axis=-1), note) for f, p in places.items()}
    return score_together(estimates, resampling)


@scored
def robustness_score(
    rows: Rows,
    corruption: str | None = None,
    *,
    suite: Suite | str | None = None,
    partial: bool = False,
    resampling: Resampling = DEFAULT,
) -> Estimate:
    """The share of the accuracy that survives corruption, R = A_c / A_clean; 1 is unharmed.

    For one corruption, whose severities are pooled, or the mean over those that count. It flatters models whose clean
    accuracy is low. (Laugros, Caplier and Ospici define it for their overlaps.)

    >>> from scuff.metrics import example_rows
    >>> print(robustness_score(example_rows(), "fog"))
    0.78 [0.72, 0.85] (n = 200; bootstrap over images 95 %)
    """
    cells = read_cells(rows)
    if corruption is None:
        entries, note = scored_cells(cells, suite, partial)
    else:
        entries, note = {corruption: _places(cells, corruption)}, ""
    group = _mean_group(cells, entries, clean=True)
    return Estimate((group,), lambda m: (1 - m[..., 1]) / (1 - m[..., 0]), note)


@scored
def residual_robustness(
    rows: Rows,
    shifted: Rows | None = None,
    *,
    suite: Suite | str | None = None,
    partial: bool = False,
    resampling: Resampling = DEFAULT,
) -> Estimate:
    """The accuracy that is lost, a fraction: A_clean - A_shifted. Smaller is more robust, below 0 is possible.

    With `rows` alone the shift is corruption: A_shifted is the mean over the corruptions that count, on the same
    images. With `shifted`, rows of another source such as ImageNet-A, both accuracies are those of clean rows, and as
    the images differ, each source is resampled on its own. Classes that the shifted source lacks should be left out
    of the clean source and of the model's choice too, or the difference measures that instead.

    >>> from scuff.metrics import example_rows
    >>> print(residual_robustness(example_rows()))
    0.17 [0.12, 0.23] (n = 200; bootstrap over images 95 %)
    """
    cells = read_cells(rows)
    if shifted is None:
        entries, note = scored_cells(cells, suite, partial)
        return Estimate((_mean_group(cells, entries, clean=True),), lambda m: m[..., 1] - m[..., 0], note)
    groups = tuple(error_group(c, {}, clean=True) for c in (cells, read_cells(shifted)))
    return Estimate(groups, lambda clean, other: other[..., 0] - clean[..., 0])


def estimate_error(rows: Rows) -> Estimate:
    """The error over all rows before its interval, for comparisons."""
    cells = read_cells(rows)
    return Estimate((_mean_group(cells, {"": list(range(len(cells.keys)))}),), lambda m: m[..., 0])


def error_group(cells: Cells, entries: Mapping[str, list[int]], clean: bool = False) -> Group:
    """A column per entry, each image's mean error over the entry's cells; before them the clean error, if asked for."""
    columns = [cells.wrong[cells.clean()]] if clean else []
    columns += [cells.wrong[places].mean(axis=0) for places in entries.values()]
    return Group(np.column_stack(columns).astype(float), cells.images, cells.source)


def _mean_group(cells: Cells, entries: Mapping[str, list[int]], clean: bool = False) -> Group:
    """One column for the mean over all entries, which is all that a mean of means needs; before it the clean error."""
    columns = error_group(cells, entries, clean).columns
    before = columns[:, : int(clean)]
    mean = columns[:, int(clean) :].mean(axis=1)
    return Group(np.column_stack([before, mean]), cells.images, cells.source)


def _places(cells: Cells, corruption: str) -> list[int]:
    places = [place for place, key in enumerate(cells.keys) if key[0] == corruption]
    if not places:
        corrupted = ", ".join(dict.fromkeys(c for c, _ in cells.keys if c != CLEAN)) or "clean images only"
        raise ValueError(f"the rows of {cells.model} hold no {corruption!r}; there are {corrupted}")
    return places


def entry_families(suite: Suite | None, entries: Iterable[str]) -> dict[str, str]:
    """The family of entries: the categories of a suite that has some, else those of its registered corruptions."""
    if suite is not None and suite.categories:
        return {entry: category for category, group in suite.categories.items() for entry in group}
    from scuff.corruptions import get, names  # torch, which nothing else here needs

    corruptions = {entry: entry if suite is None else suite.corruption(entry) for entry in entries}
    return {entry: get(name).family for entry, name in corruptions.items() if name in names()}


def _by_family(families: Mapping[str, str | Sequence[str]]) -> dict[str, list[str]]:
    members: dict[str, list[str]] = {}
    for key, value in families.items():
        if isinstance(value, str):
            members.setdefault(value, []).append(key)
        else:
            members[key] = list(value)
    return members
