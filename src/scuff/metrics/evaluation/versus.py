"""Two models against each other, image by image: over all corruptions, by corruption, by cell and by class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from scuff.metrics.estimate import Estimate, Group, subtract_together
from scuff.metrics.evaluation.comparison import holm
from scuff.metrics.evaluation.tables import CLEAN, Cells, find_suite, read_cells, scored_cells
from scuff.metrics.intervals import DEFAULT, Resampling
from scuff.metrics.score import Difference, Score
from scuff.suites import Suite


@dataclass(frozen=True)
class Versus:
    """The errors of models a and b on the same images, and b minus a: below 0, b is better.

    The frames have the columns a, b, value (b minus a), low, high, n, p_value, and p_holm, which is corrected for all
    lines of the frame; `corruptions` and `cells` have corruption, `cells` also severity, and `classes` has label.
    """

    a: str
    b: str
    overall: tuple[Score, Score, Difference] | None  # the mean error over the corruptions that count
    clean: tuple[Score, Score, Difference] | None
    corruptions: pd.DataFrame = field(repr=False)
    cells: pd.DataFrame = field(repr=False)
    classes: pd.DataFrame = field(repr=False)  # over the same corruptions as `overall`, or clean without any


def versus(
    a: pd.DataFrame, b: pd.DataFrame, suite: Suite | str | None = None, resampling: Resampling = DEFAULT
) -> Versus:
    """Compare two models on the cells that both have, each the rows of one model.

    >>> from scuff.metrics import example_rows
    >>> found = versus(example_rows("a"), example_rows("b", harder=0.1))
    >>> found.corruptions[["corruption", "a", "b", "value"]].round(3).values.tolist()
    [['fog', 0.375, 0.475, 0.1], ['snow', 0.375, 0.475, 0.1]]
    """
    both = [read_cells(rows) for rows in (a, b)]
    shared = [key for key in both[0].keys if key in both[1].keys]
    both = [cells.take([cells.keys.index(key) for key in shared]) for cells in both]
    if not shared or not np.array_equal(both[0].images, both[1].images):
        raise ValueError(
            f"{both[0].model} and {both[1].model} were not evaluated on the same images and corruptions; evaluate both "
            "on the same data, with the same --limit, into one folder or two"
        )
    has_corrupted = any(entry != CLEAN for entry, _ in shared)
    entries = scored_cells(both[0], find_suite(both[0].suite, suite), partial=True)[0] if has_corrupted else {}
    clean = {CLEAN: [both[0].clean()]} if (CLEAN, 0) in shared else {}
    pairs: dict[Any, tuple[Estimate, Estimate]] = {("all",): _pair(both, entries)} if entries else {}
    pairs |= {("clean",): _pair(both, clean)} if clean else {}
    pairs |= {("corruption", entry): _pair(both, {entry: places}) for entry, places in entries.items()}
    places_of = {key: place for place, key in enumerate(shared) if key[0] in entries}
    pairs |= {("cell", *key): _pair(both, {"": [place]}) for key, place in places_of.items()}
    label_of = a.drop_duplicates("image_id").set_index("image_id")["label"]
    labels = label_of.loc[both[0].images].to_numpy()
    pairs |= {("class", int(k)): _pair(both, entries or clean, labels == k) for k in np.unique(labels)}

    differences = subtract_together({key: (of_b, of_a) for key, (of_a, of_b) in pairs.items()}, resampling)

    def three(key: str) -> tuple[Score, Score, Difference] | None:
        if (key,) not in pairs:
            return None
        of_a, of_b = (estimate.score(resampling) for estimate in pairs[key,])
        return of_a, of_b, differences[key,]

    def frame(kind: str, *names: str) -> pd.DataFrame:
        chosen = {key[1:]: difference for key, difference in differences.items() if key[0] == kind}
        values = [[_value(estimate) for estimate in pairs[(kind, *key)]] for key in chosen]
        return _frame(chosen, values, names)

    return Versus(
        both[0].model,
        both[1].model,
        three("all"),
        three("clean"),
        frame("corruption", "corruption"),
        frame("cell", "corruption", "severity"),
        frame("class", "label"),
    )


def _pair(
    both: Sequence[Cells], entries: Mapping[str, Sequence[int]], chosen: np.ndarray | slice = slice(None)
) -> tuple[Estimate, Estimate]:
    """The mean error of both models over some entries, on all images or on some."""
    images = both[0].images[chosen]
    first, second = (
        np.mean([cells.wrong[list(places)][:, chosen].mean(axis=0) for places in entries.values()], axis=0)
        for cells in both
    )
    estimates = [
        Estimate((Group(each[:, None].astype(float), images),), lambda m: m[..., 0]) for each in (first, second)
    ]
    return estimates[0], estimates[1]


def _value(estimate: Estimate) -> float:
    return float(estimate.groups[0].columns.mean())


def _frame(
    differences: Mapping[tuple[Any, ...], Difference], values: list[list[float]], names: Sequence[str]
) -> pd.DataFrame:
    lines = [
        (*key, *ab, d.value, d.low, d.high, d.n, d.p_value)
        for (key, d), ab in zip(differences.items(), values, strict=True)
    ]
    table = pd.DataFrame(lines, columns=[*names, "a", "b", "value", "low", "high", "n", "p_value"])
    return table.assign(p_holm=holm(table["p_value"]))
