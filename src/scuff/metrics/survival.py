"""How severe a corruption may become before a model fails: curves and scores of the first failure of every image.

Rows have a line per image and corruption: `failure`, the first severity at which the model is wrong (0 if it is wrong
about the clean image, infinite if it never is), `highest`, the severity up to which was searched, and `flips_back`,
whether the model is right again at a later level. All images are followed to the same severity, so that the share of
survivors is the Kaplan-Meier curve.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import pandas as pd

from scuff.metrics.estimate import bootstrap, bootstrap_difference
from scuff.metrics.evaluation.comparison import holm
from scuff.metrics.intervals import DEFAULT, Resampling, percent, wilson
from scuff.metrics.score import Difference, Score

COLUMNS = ("corruption", "image_id", "failure", "highest", "flips_back")


def survival(rows: pd.DataFrame, *, level: float = 0.95) -> pd.DataFrame:
    """The share of images that survive each severity, for the rows of one model and one corruption.

    A line for each severity at which it changes, from 0 on: `value` is the share of images whose first failure lies
    beyond; `low` and `high` are Wilson's interval there, `band_low` and `band_high` hold for the whole curve at once
    (Dvoretzky, Kiefer and Wolfowitz, with Massart's constant).
    """
    failure, highest = _failures(rows)
    n = len(failure)
    at = np.unique(np.concatenate(([0.0], failure[np.isfinite(failure)], [highest])))
    alive = n - np.searchsorted(np.sort(failure), at, side="right")
    low, high = wilson(alive, n, level)
    half = math.sqrt(math.log(2 / (1 - level)) / (2 * n))
    value = alive / n
    band = {"band_low": np.maximum(value - half, 0.0), "band_high": np.minimum(value + half, 1.0)}
    return pd.DataFrame({"severity": at, "value": value, "low": low, "high": high, **band})


def median_failure(rows: pd.DataFrame, *, level: float = 0.95) -> Score:
    """The severity up to which half of the images survive; infinite if more than half survive all of them.

    Its interval are the severities at which a half lies inside Wilson's interval of the curve.
    """
    curve = survival(rows, level=level)

    def first(column: str) -> float:
        below = curve["severity"][curve[column] <= 0.5]
        return float(below.iloc[0]) if len(below) else math.inf

    note = "" if math.isfinite(first("value")) else f"more than half survive {_failures(rows)[1]:g}"
    return Score(first("value"), first("low"), first("high"), len(rows), f"Wilson {percent(level)}, inverted", note)


def survival_area(rows: pd.DataFrame, *, resampling: Resampling = DEFAULT) -> Score:
    """The area below the curve as a share of all severities, 0..1: how far the average image gets.

    Without flips back it is the mean accuracy along the path, else it is less.
    """
    return bootstrap(_lengths(rows), resampling=resampling)


def survival_scores(rows: pd.DataFrame, *, resampling: Resampling = DEFAULT) -> pd.DataFrame:
    """A line for each model and corruption: `n`, clean accuracy, `median`, `area` and the share that `flips_back`.

    The share that flips back is one of the images that fail although they are right when clean.
    """
    lines = []
    for (model, corruption), its in _groups(rows):
        failure, _ = _failures(its)
        fails = (failure > 0) & np.isfinite(failure)
        back, failed = int((its["flips_back"].to_numpy() & fails).sum()), int(fails.sum())
        low, high = wilson(back, max(failed, 1), resampling.level)
        line = {"model": model, "corruption": corruption, "n": len(its), "clean_accuracy": float((failure > 0).mean())}
        for name, score in (
            ("median", median_failure(its, level=resampling.level)),
            ("area", survival_area(its, resampling=resampling)),
            ("flips_back", Score(back / failed if failed else math.nan, float(low), float(high), failed, "Wilson")),
        ):
            line |= {name: score.value, f"{name}_low": score.low, f"{name}_high": score.high}
        lines.append(line)
    return pd.DataFrame(lines)


def survival_differences(
    rows: pd.DataFrame, other: pd.DataFrame, *, resampling: Resampling = DEFAULT
) -> dict[str, Difference]:
    """The area of one model minus that of another, by corruption, paired by image; `holm` corrects the p-values."""
    differences = {}
    theirs = {corruption: its for (_, corruption), its in _groups(other)}
    for (_, corruption), its in _groups(rows):
        if corruption not in theirs:
            continue
        a, b = (frame.sort_values("image_id") for frame in (its, theirs[corruption]))
        if not np.array_equal(a["image_id"], b["image_id"]) or _failures(a)[1] != _failures(b)[1]:
            raise ValueError(f"{corruption}: to compare two models, both must have seen the same images and severities")
        differences[corruption] = bootstrap_difference(_lengths(a), _lengths(b), resampling=resampling)
    if not differences:
        raise ValueError("the two models share no corruption")
    return differences


def survival_table(differences: dict[str, Difference]) -> pd.DataFrame:
    """Differences as a table, with p-values after Holm's correction for as many corruptions."""
    corrected = holm([difference.p_value for difference in differences.values()])
    lines = [{"corruption": c, "area": d.value, "area_low": d.low, "area_high": d.high} for c, d in differences.items()]
    return pd.DataFrame(lines).assign(p_value=list(corrected))


def _lengths(rows: pd.DataFrame) -> np.ndarray:
    """The share of the severities that each image survives, (N, 1)."""
    failure, highest = _failures(rows)
    return (np.minimum(failure, highest) / highest)[:, None]


def _failures(rows: pd.DataFrame) -> tuple[np.ndarray, float]:
    missing = [column for column in COLUMNS if column not in rows]
    if missing or not len(rows):
        raise ValueError(f"rows need the columns {', '.join(COLUMNS)}; missing: {', '.join(missing) or 'all rows'}")
    if rows["corruption"].nunique() > 1 or rows["highest"].nunique() > 1 or rows["image_id"].duplicated().any():
        raise ValueError("expected the rows of one model and one corruption, one per image")
    return rows["failure"].to_numpy(float), float(rows["highest"].iloc[0])


def _groups(rows: pd.DataFrame) -> Iterable[tuple[tuple[str, str], pd.DataFrame]]:
    return rows.groupby(["model", "corruption"], sort=False, observed=True)
