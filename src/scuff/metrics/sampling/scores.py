"""The scores of an evaluation from a sample of its passes.

Clean error, mean error and corruption errors are weighted sums of the errors of cells, so a sample estimates them
without bias. Ratios of them, ranks and calibration are not, and need all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from scuff.metrics.estimate import Estimate
from scuff.metrics.evaluation.corruption_error import Baseline, ce_statistic, mce
from scuff.metrics.evaluation.errors import mean_error
from scuff.metrics.evaluation.tables import CLEAN, Cells, check_columns, only, suite_name
from scuff.metrics.sampling.estimate import Control, Population, Sample, estimate_sampled
from scuff.metrics.score import Score
from scuff.suites import Suite

Keys = Sequence[tuple[str, int]]


def sampled_scores(
    rows: pd.DataFrame,
    images: int,
    *,
    baseline: Baseline = "alexnet",
    suite: Suite | str | None = None,
    of: Population = "these",
    level: float = 0.95,
    control: pd.DataFrame | None = None,
) -> dict[str, Score]:
    """Scores of one model from a sample: clean_error, mean_error, mce, and ce of every corruption by its name.

    Parameters
    ----------
    rows
        Rows of one model that `scuff.evaluate(..., passes=N)` returned.
    images
        The number of images of the whole evaluation.
    baseline, suite
        As in `mce`.
    of
        What the intervals are for: what a full run over "these" images would print, or images "like" these.
    control
        Rows of ALL images that tell something of the results without more passes: those of the model's clean cell, or
        of another model in all cells. They make intervals narrower.
    """
    check_columns(rows, ("model", "suite", "corruption", "severity", "image_id", "label", "prediction"))
    keys, sample = read_sample(rows, images)
    about = Cells(only(rows, "model"), only(rows, "source"), suite_name(rows), *each_cell_alone(keys))
    controlled = None if control is None else control_of(control, rows, keys, images)

    def score(estimate: Estimate) -> Score:
        weights = linear_weights(estimate)
        return replace(estimate_sampled(sample, weights, of=of, level=level, control=controlled), note=estimate.note)

    scores = {}
    if (CLEAN, 0) in keys:
        alone = np.eye(len(keys))[keys.index((CLEAN, 0))]
        scores["clean_error"] = estimate_sampled(sample, alone, of=of, level=level)
        if control is not None and _is_clean(control) and only(control, "model") == about.model:  # nothing is unknown
            scores["clean_error"] = estimate_sampled(read_sample(control, images)[1], np.ones(1), of=of, level=level)
    if len(keys) > ((CLEAN, 0) in keys):
        scores["mean_error"] = score(mean_error.estimate(about, suite=suite, partial=True))
        scores["mce"] = score(mce.estimate(about, baseline=baseline, suite=suite, partial=True))
        groups, vector, entries, note = ce_statistic(about, baseline, None, suite, partial=True)
        for place, entry in enumerate(entries):
            scores[entry] = score(Estimate(groups, lambda *m, k=place: vector(*m)[..., k], note))
    return scores


def linear_weights(estimate: Estimate) -> np.ndarray:
    """The weight of every cell in a score that is a weighted sum of cell errors.

    The estimate is that of made-up images, of which image k is wrong in cell k alone: what it scores is the weight.
    """
    (group,) = estimate.groups
    return np.asarray(estimate.statistic(group.columns), float)


def read_sample(rows: pd.DataFrame, images: int) -> tuple[list[tuple[str, int]], Sample]:
    """The cells of sampled rows, the clean one first, and the sample itself."""
    corruption, severity = rows["corruption"].astype(str).to_numpy(), rows["severity"].to_numpy()
    pairs = list(zip(corruption.tolist(), severity.tolist(), strict=True))
    keys = sorted(dict.fromkeys(pairs), key=lambda key: key[0] != CLEAN)
    place_of = {key: place for place, key in enumerate(keys)}
    image, _ = pd.factorize(rows["image_id"].to_numpy())
    if image.max(initial=-1) >= images:
        raise ValueError(f"the rows hold {image.max() + 1} images, more than the {images} that there are in all")
    wrong = (rows["label"] != rows["prediction"]).to_numpy()
    return keys, Sample(wrong, image, np.array([place_of[pair] for pair in pairs]), images)


def each_cell_alone(keys: Keys) -> tuple[Any, ...]:
    """What `Cells` take besides names, of as many images as there are cells: image k is wrong in cell k alone."""
    return tuple(keys), np.arange(len(keys)), np.eye(len(keys), dtype=bool), None


def _is_clean(control: pd.DataFrame) -> bool:
    return bool((control["corruption"] == CLEAN).all())


def control_of(control: pd.DataFrame, rows: pd.DataFrame, keys: Keys, images: int) -> Control:
    """Features of all images, in the order in which the sample has numbered its own; then those it has not met."""
    _, met = pd.factorize(rows["image_id"].to_numpy())
    known = control["image_id"].unique()
    if len(known) != images or np.setdiff1d(met, known).size:
        raise ValueError(f"a control needs rows of all {images} images and no others, got {len(known)}")
    ids = np.concatenate([met, np.setdiff1d(known, met)])
    entries = list(dict.fromkeys(entry for entry, _ in keys))
    groups = np.array([entries.index(entry) for entry, _ in keys])
    control = control.assign(wrong=(control["label"] != control["prediction"]).astype(float))
    if _is_clean(control):
        clean = control.set_index("image_id").loc[ids, ["wrong", "confidence"]].to_numpy(float)
        return Control(np.column_stack([clean, clean.prod(axis=1)])[:, None, :], groups)
    features, at = np.full((images, len(keys)), np.nan), pd.Index(ids).get_indexer(control["image_id"])
    wrong, cells = control["wrong"].to_numpy(), control.groupby(["corruption", "severity"], observed=True).indices
    for place, (entry, severity) in enumerate(keys):
        chosen = cells.get((entry, severity), [])
        features[at[chosen], place] = wrong[chosen]
    if np.isnan(features).any():
        raise ValueError("a control of another model needs its rows of all images in all cells, the clean one too")
    return Control(features[:, :, None], groups)
