"""P, mPC, rPC, CD and rCD of detectors and segmenters, from rows with one line per image and cell.

P is the performance on clean images: AP of boxes, mIoU of regions. mPC is the mean over corruptions of the mean over
severities, and rPC = mPC / P (Michaelis et al. 2019). With D = 1 - performance, CD of a corruption is the sum of D over
severities, relative to that of a reference, and rCD the same of D - D on clean images (Kamann and Rother 2020).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from scuff.metrics.evaluation.tables import CLEAN
from scuff.metrics.score import Score
from scuff.metrics.tasks.groups import group_images, jackknife
from scuff.metrics.tasks.precision import average_precision
from scuff.metrics.tasks.regions import mean_iou

Cell = tuple[str, int]


@dataclass(frozen=True, eq=False)
class Performance:
    """How well one model does in every cell: on all images (cells,), and without each group of them (groups, cells)."""

    cells: tuple[Cell, ...]
    values: np.ndarray
    left_out: np.ndarray
    n: int

    def score(self, statistic: Callable[[np.ndarray], np.ndarray], note: str = "") -> Score:
        """A statistic of performances (..., cells), with its interval."""
        with np.errstate(divide="ignore", invalid="ignore"):  # a model that is never right has no ratio
            return jackknife(float(statistic(self.values)), statistic(self.left_out), self.n, note)

    def places(self, corruption: str) -> list[int]:
        """The cells of a corruption."""
        return [place for place, (entry, _) in enumerate(self.cells) if entry == corruption]

    def corruptions(self, entries: Iterable[str] | None = None) -> list[str]:
        """The corruptions that there are, or those of `entries`."""
        there = dict.fromkeys(entry for entry, _ in self.cells if entry != CLEAN)
        return [entry for entry in there if entries is None or entry in set(entries)]


def performance(rows: pd.DataFrame) -> Performance:
    """The performance of one model: AP if rows have boxes, mIoU if they have counts of pixels."""
    measure = average_precision if "boxes" in rows else mean_iou
    names = [column for column in rows if rows[column].dtype == object or column == "classes"]
    by_cell = {
        (str(corruption), int(severity)): of_cell.sort_values("image_id")
        for (corruption, severity), of_cell in rows.groupby(["corruption", "severity"], observed=True, sort=False)
    }
    first = next(iter(by_cell.values()))
    ids = first["image_id"].to_numpy()
    groups = group_images(ids)
    found = []
    for cell, of_cell in by_cell.items():
        if not np.array_equal(of_cell["image_id"].to_numpy(), ids):
            raise ValueError(f"{cell[0]} {cell[1]} is not of the images of the other cells; take the rows of one model")
        found.append(measure({name: of_cell[name].to_numpy() for name in names}, groups))
    left_out = np.array([without for _, without in found]).T.reshape(-1, len(found))
    return Performance(tuple(by_cell), np.array([value for value, _ in found]), left_out, len(ids))


def task_scores(
    mine: Performance, reference: Performance | None = None, entries: Iterable[str] | None = None
) -> dict[str, Score]:
    """P, mPC and rPC as far as there are such cells; with a reference CD and rCD. In per cent, but for CD and rCD."""
    entries = mine.corruptions(entries)
    clean = mine.places(CLEAN)
    scores = {}
    if clean:
        scores["P"] = mine.score(lambda values: 100 * values[..., clean[0]])
    if entries:
        scores["mPC"] = mine.score(lambda values: 100 * _mpc(mine, values, entries))
    if clean and entries:
        scores["rPC"] = mine.score(lambda values: 100 * _mpc(mine, values, entries) / _above_0(values[..., clean[0]]))
    if reference is not None and entries:
        scores |= _degradations(mine, reference, entries, bool(clean))
    return scores


def corruption_scores(mine: Performance) -> dict[str, Score]:
    """The mean over severities of every corruption, in per cent."""

    def mean(entry: str) -> Score:
        return mine.score(lambda values: 100 * values[..., mine.places(entry)].mean(-1))

    return {entry: mean(entry) for entry in mine.corruptions()}


def cell_scores(mine: Performance) -> pd.DataFrame:
    """The performance of every cell in per cent, with its interval: corruption, severity, value, low, high, n."""
    lines = []
    for place, (entry, severity) in enumerate(mine.cells):
        score = mine.score(lambda values, at=place: 100 * values[..., at])  # type: ignore[misc]
        about = {"value": score.value, "low": score.low, "high": score.high, "n": score.n}
        lines.append({"corruption": entry, "severity": severity, **about})
    return pd.DataFrame(lines)


def _above_0(values: np.ndarray) -> np.ndarray:
    """NaN for 0: a model that is never right has no ratio."""
    return np.where(values > 0, values, np.nan)


def _mpc(of: Performance, values: np.ndarray, entries: Iterable[str]) -> np.ndarray:
    return np.mean([values[..., of.places(entry)].mean(-1) for entry in entries], axis=0)


def _degradations(mine: Performance, reference: Performance, entries: list[str], has_clean: bool) -> dict[str, Score]:
    """CD and rCD: both models without the same group of images."""
    if mine.cells != reference.cells or mine.n != reference.n:
        raise ValueError("the reference must have the cells and images of the model; evaluate it in the same folder")
    both = Performance(
        mine.cells,
        np.stack([mine.values, reference.values]),
        np.stack([mine.left_out, reference.left_out], 1),
        mine.n,
    )
    clean = mine.places(CLEAN)

    def ratio(values: np.ndarray, relative: bool) -> np.ndarray:
        lost = 1 - values
        lost = lost - lost[..., clean[:1]] if relative else lost
        sums = np.stack([lost[..., mine.places(entry)].sum(-1) for entry in entries], -1)
        return 100 * (sums[..., 0, :] / sums[..., 1, :]).mean(-1)

    scores = {"CD": both.score(lambda values: ratio(values, False))}
    return scores | ({"rCD": both.score(lambda values: ratio(values, True))} if has_clean else {})
