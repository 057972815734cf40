"""Several models side by side: differences, ranks, and a line of scores for each."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from scuff.metrics.estimate import Estimate, Key, resample_values, score_together, subtract_together, without_noise
from scuff.metrics.evaluation.confidence import ece
from scuff.metrics.evaluation.corruption_error import Baseline, ce_statistic, has_reference, mce
from scuff.metrics.evaluation.errors import error, estimate_error, mean_error, residual_robustness, robustness_score
from scuff.metrics.evaluation.references import is_relative
from scuff.metrics.evaluation.stability import mfr, mt5d
from scuff.metrics.evaluation.tables import CLEAN, Cells, ManyRows, Rows, by_model, find_suite, read_cells, scored_cells
from scuff.metrics.intervals import DEFAULT, Resampling
from scuff.metrics.score import Difference, Score
from scuff.suites import Suite

ESTIMATES = {
    "error": estimate_error,
    "mean_error": mean_error.estimate,
    "mce": mce.estimate,
    "robustness_score": robustness_score.estimate,
    "residual_robustness": residual_robustness.estimate,
    "ece": ece.estimate,
    "mfr": mfr.estimate,
    "mt5d": mt5d.estimate,
}
OVERALL = "all"
SIGNIFICANT = 0.05  # p-values below this, after a correction for many comparisons, count as differences
SUMMARY = (
    "clean_error",
    "mean_error",
    "mce",
    "relative_mce",
    "robustness_score",
    "residual_robustness",
    "ece_clean",
    "ece_corrupted",
)


def scores(
    selections: Mapping[Key, Rows], score: str = "mean_error", *, resampling: Resampling = DEFAULT, **options: Any
) -> dict[Key, Score]:
    """The score of many selections of rows, such as models or corruptions, by their names: {name: rows}.

    The images are drawn once for all of them, which takes far less time than a score at a time. All intervals are by
    bootstrap, also that of the error of one cell. `score` and `options` as in `difference`.

    >>> from scuff.metrics import example_rows
    >>> rows = example_rows()
    >>> errors = scores({entry: rows[rows.corruption == entry] for entry in ("fog", "snow")})
    >>> {entry: round(float(score), 3) for entry, score in errors.items()}
    {'fog': 0.375, 'snow': 0.375}
    """
    estimate = _find_estimate(score)
    return score_together({key: estimate(rows, **options) for key, rows in selections.items()}, resampling)


def difference(
    rows_a: Rows, rows_b: Rows, score: str = "mean_error", *, resampling: Resampling = DEFAULT, **options: Any
) -> Difference:
    """A score of model a minus that of model b, in the score's own units, with an interval of the difference itself.

    Where both models saw the same images of the same source, each resample takes the same images for both: what makes
    an image hard for both models cancels, and the interval is far narrower than the two intervals of the models let
    expect. Otherwise the two are resampled independently; the interval says which.

    Parameters
    ----------
    score
        "error", "mean_error", "mce", "robustness_score", "residual_robustness", "ece", "mfr" or "mt5d".
    options
        Those of the score, for example `baseline=` of mce.

    Examples
    --------
    >>> from scuff.metrics import example_rows
    >>> d = difference(example_rows("a", harder=0.1), example_rows("b"))
    >>> print(d, d.p_value < 0.001)
    0.100 [0.079, 0.121] (n = 200; paired bootstrap over images 95 %) True
    """
    return differences({"": (rows_a, rows_b)}, score, resampling=resampling, **options)[""]


def differences(
    pairs: Mapping[Key, tuple[Rows, Rows]],
    score: str = "mean_error",
    *,
    resampling: Resampling = DEFAULT,
    **options: Any,
) -> dict[Key, Difference]:
    """`difference` for many pairs of rows by their names: the same numbers, with one pass of draws for all of them.

    >>> from scuff.metrics import example_rows
    >>> a, b = example_rows("a", harder=0.1), example_rows("b")
    >>> pairs = {entry: (a[a.corruption == entry], b[b.corruption == entry]) for entry in ("fog", "snow")}
    >>> {entry: round(float(d), 3) for entry, d in differences(pairs, "error").items()}
    {'fog': 0.1, 'snow': 0.1}
    """
    estimate = _find_estimate(score)
    both = {key: tuple(estimate(rows, **options) for rows in pair) for key, pair in pairs.items()}
    return subtract_together(both, resampling)  # type: ignore[arg-type]


def compare(
    rows: ManyRows, score: str = "mean_error", *, resampling: Resampling = DEFAULT, **options: Any
) -> pd.DataFrame:
    """`difference` for every pair of models in the rows: a table of a, b, value, low, high, n, p_value and interval.

    `p_value` is that of the pair alone, and `p_holm` after Holm's correction for all pairs of the table.

    >>> from scuff.metrics import example_rows
    >>> both = pd.concat([example_rows("a", harder=0.1), example_rows("b")])
    >>> compare(both)[["a", "b", "value", "n"]].round(3).values.tolist()
    [['a', 'b', 0.1, 200]]
    """
    estimates = {model: _find_estimate(score)(rows_of, **options) for model, rows_of in by_model(rows).items()}
    pairs = {(a, b): (estimates[a], estimates[b]) for a, b in itertools.combinations(estimates, 2)}
    lines = []
    for (a, b), d in subtract_together(pairs, resampling).items():
        interval = {"value": d.value, "low": d.low, "high": d.high, "n": d.n}
        lines.append({"a": a, "b": b, **interval, "p_value": d.p_value, "interval": d.interval})
    table = pd.DataFrame(lines, columns=["a", "b", "value", "low", "high", "n", "p_value", "interval"])
    return table.assign(p_holm=holm(table["p_value"]))


def holm(p_values: Sequence[float] | pd.Series) -> np.ndarray:
    """P-values after Holm's correction for many comparisons: if nothing differs, one is below 0.05 in 5 % of cases.

    The smallest of m is multiplied by m, the next by m - 1 and so on; none may fall below the one before, or exceed 1.
    Undefined ones stay so and do not count.

    >>> holm([0.01, 0.04, 0.02, float("nan")]).tolist()
    [0.03, 0.04, 0.04, nan]
    """
    p = np.asarray(p_values, float)
    order = np.argsort(p)[: np.isfinite(p).sum()]  # what is undefined comes last
    adjusted = np.full(len(p), np.nan)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(order), 0, -1)), 1.0)
    return adjusted


def ranks(
    rows: ManyRows,
    *,
    baseline: Baseline = "alexnet",
    relative: bool | None = None,
    suite: Suite | str | None = None,
    partial: bool = False,
    resampling: Resampling = DEFAULT,
) -> pd.DataFrame:
    """The rank of every model (1 is the lowest CE) for each corruption, and by mCE under the name "all".

    Equal models share the mean of their ranks. The interval holds the ranks that a model takes when the images are
    resampled, the same for all models. The arguments are those of `mce`; a table of corruption, model, value (the CE in
    percent), rank, low, high, n.

    >>> from scuff.metrics import example_rows
    >>> table = ranks(pd.concat([example_rows("a", harder=0.1), example_rows("b"), example_rows("c")]), baseline=None)
    >>> table[table.corruption == "all"][["model", "rank"]].values.tolist()
    [['a', 3.0], ['b', 1.5], ['c', 1.5]]
    """
    estimates: dict[str, Estimate] = {}
    entries: list[str] = []
    for model, rows_of in by_model(rows).items():
        groups, vector, names, _ = ce_statistic(rows_of, baseline, relative, suite, partial)
        entries = entries or names
        if names != entries:
            raise ValueError(f"models are ranked on the same corruptions; {model} has {names}, others {entries}")
        estimates[model] = Estimate(groups, vector)
    first = next(iter(estimates.values())).groups[0]
    for model, estimate in estimates.items():
        if not estimate.groups[0].has_images_of(first):
            raise ValueError(f"models are ranked on the same images; those of {model} are not those of the first model")
    resampled = resample_values(estimates, resampling).values()
    value, values = (without_noise(_with_mean(np.stack(part))) for part in zip(*resampled, strict=True))
    rank, ranks_of_resamples = _rank(value), _rank(values)
    tail = (1 - resampling.level) / 2
    low, high = np.quantile(ranks_of_resamples, [tail, 1 - tail], axis=1)
    lines = [
        (entry, model, value[m, c], rank[m, c], low[m, c], high[m, c], len(first.images))
        for c, entry in enumerate([*entries, OVERALL])
        for m, model in enumerate(estimates)
    ]
    return pd.DataFrame(lines, columns=["corruption", "model", "value", "rank", "low", "high", "n"])


def summary(
    rows: ManyRows,
    *,
    baseline: Baseline = "alexnet",
    suite: Suite | str | None = None,
    bins: int = 15,
    resampling: Resampling = DEFAULT,
) -> pd.DataFrame:
    """One line per model with all scores of still images, each as NAME, NAME_low and NAME_high, of n images.

    clean_error, mean_error, robustness_score, residual_robustness, ece_clean and ece_corrupted are fractions; mce (as
    the suite's authors define it) and relative_mce are in percent. A score that is not defined is NaN: those that need
    clean rows or corrupted ones where there are none, and those that need a reference where the suite has none. What is
    missing of the suite is left out of the means; `cells` of `cells_of_suite` say how complete the rows are.

    >>> from scuff.metrics import example_rows
    >>> table = summary(pd.concat([example_rows("a", harder=0.1), example_rows("b")]))
    >>> table[["model", "clean_error", "mean_error", "mce", "n"]].round(3).values.tolist()
    [['a', 0.3, 0.475, nan, 200], ['b', 0.2, 0.375, nan, 200]]
    """
    lines: dict[str, Any] = {}
    estimates: dict[Any, Any] = {}
    scores_of: dict[Any, Any] = {}
    for model, rows_of in by_model(rows).items():
        cells = read_cells(rows_of)
        lines[model] = {"model": model, "n": len(cells.images), **_count_cells(cells, suite)}
        estimates |= {(model, n): e for n, e in _all_estimates(cells, baseline, suite, bins).items()}
        if (CLEAN, 0) in cells.keys:
            scores_of[model, "clean_error"] = error(cells.take([cells.clean()]), resampling=resampling)
    scores_of |= score_together(estimates, resampling)  # of all models, with one pass of draws
    for model, line in lines.items():
        for name in SUMMARY:
            score = scores_of.get((model, name), Score(np.nan, np.nan, np.nan, 0, ""))
            line |= {name: score.value, f"{name}_low": score.low, f"{name}_high": score.high}
    return pd.DataFrame(list(lines.values()))


def _all_estimates(cells: Cells, baseline: Baseline, suite: Suite | str | None, bins: int) -> dict[str, Estimate]:
    """The scores of `summary` that these cells allow, but for the clean error, which needs no draws."""
    clean = [cells.clean()] if (CLEAN, 0) in cells.keys else []
    counted = _counted(cells, suite)
    options: dict[str, Any] = {"suite": suite, "partial": True}
    estimates = {}
    if counted:
        estimates["mean_error"] = mean_error.estimate(cells, **options)
    if counted and clean:
        estimates["robustness_score"] = robustness_score.estimate(cells, **options)
        estimates["residual_robustness"] = residual_robustness.estimate(cells, **options)
    if counted and has_reference(cells, baseline, suite):
        for name, relative in (("mce", is_relative(cells.suite)), ("relative_mce", True)):
            if clean or not relative:
                estimates[name] = mce.estimate(cells, baseline=baseline, relative=relative, **options)
    for name, used in (("ece_clean", clean), ("ece_corrupted", counted)):
        if used and cells.confidence is not None:
            estimates[name] = ece.estimate(cells.take(used), bins)
    return estimates


def _counted(cells: Cells, suite: Suite | str | None) -> list[int]:
    """The places of the corrupted cells that count; none if there are clean images only."""
    if all(corruption == CLEAN for corruption, _ in cells.keys):
        return []
    return [place for places in scored_cells(cells, suite, partial=True)[0].values() for place in places]


def _count_cells(cells: Cells, suite: Suite | str | None) -> dict[str, int]:
    """How many cells count, and how many would if nothing were missing."""
    known, counted = find_suite(cells.suite, suite), len(_counted(cells, suite))
    wanted = counted if known is None else sum(len(known.levels(entry)) for entry in known.benchmark())
    return {"cells": counted, "cells_of_suite": wanted}


def _with_mean(values: np.ndarray) -> np.ndarray:
    """A further last column: the mean of all the others."""
    return np.concatenate([values, values.mean(axis=-1, keepdims=True)], axis=-1)


def _rank(values: np.ndarray) -> np.ndarray:
    """Ranks along the first axis, 1 for the lowest; equal values share their mean rank, undefined ones spoil all."""
    below, equal = (f(values[:, None], values).sum(axis=1) for f in (np.greater, np.equal))
    return np.where(np.isnan(values).any(axis=0), np.nan, below + (equal + 1) / 2)


def _find_estimate(score: str) -> Callable[..., Estimate]:
    if score not in ESTIMATES:
        raise ValueError(f"no score is called {score!r}; there are {', '.join(ESTIMATES)}")
    return ESTIMATES[score]
