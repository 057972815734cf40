"""Expected calibration errors."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from made_rows import MINE, QUICK, random_rows

from scuff import metrics


@pytest.mark.parametrize("bins", [1, 10, 15])
def test_ece(bins):
    rows = random_rows(MINE)
    total = 0.0
    for k in range(bins):
        low, high = k / bins, (k + 1) / bins
        inside = [r for r in rows.itertuples() if low < r.confidence <= high or (k == 0 and r.confidence == 0)]
        if inside:
            sure = np.mean([float(r.confidence) for r in inside])
            right = np.mean([r.prediction == r.label for r in inside])
            total += len(inside) / len(rows) * abs(sure - right)
    # Confidences are float32, of which means are good to about 1e-7.
    assert float(metrics.ece(rows, bins, resampling=QUICK)) == pytest.approx(total, abs=1e-6)


def test_every_way_to_an_ece_has_the_same_interval():
    """The mirrored interval of a model that is calibrated begins below 0, where no ECE is."""
    options = {"bins": 1, "resampling": QUICK}
    rows = random_rows(MINE[:3], n=40)
    right = rows.label == rows.prediction
    sure = right.groupby(rows.corruption, observed=True).transform("mean") + 0.01
    rows = rows.assign(confidence=sure.astype(np.float32))
    clean = rows[rows.corruption == "clean"]
    score = metrics.ece(clean, **options)
    assert score.value == pytest.approx(0.01, abs=1e-6)
    assert score.low == 0 < score.high
    line = metrics.summary(rows, **options).iloc[0]
    assert (line.ece_clean, line.ece_clean_low, line.ece_clean_high) == (score.value, score.low, score.high)
    assert metrics.scores({"clean": clean}, "ece", **options) == {"clean": score}
    worse = clean.assign(confidence=np.float32(1))
    assert metrics.difference(clean, worse, "ece", **options).high < 0  # a difference may lie below


def test_the_interval_of_an_ece_stays_between_0_and_1():
    """Few images, all wrong and mostly very sure: mirrored, the interval would end above 1."""
    few = {"model": "m", "source": "s", "suite": "x", "corruption": "clean", "severity": 0, "label": 0, "prediction": 1}
    rows = pd.DataFrame({**few, "image_id": range(5), "confidence": np.float32([0.65, 1, 1, 1, 1])})
    score = metrics.ece(rows)
    assert score.value == pytest.approx(0.93, abs=1e-6)  # 0.35 short of 1 in one of five, in float32
    assert 0.8 < score.low < score.value
    assert score.high == 1.0


def test_an_ece_lies_in_its_interval():
    """A calibrated model with few images: the ECE is noise, and resamples lie far above it."""
    draw = np.random.default_rng(0)
    for n in (10, 30, 100, 300):
        sure = draw.uniform(0.5, 1, n).astype(np.float32)
        rows = pd.DataFrame({"image_id": np.arange(n), "label": 0, "prediction": (draw.random(n) > sure) * 1})
        rows = rows.assign(model="m", source="s", suite="x", corruption="clean", severity=0, confidence=sure)
        score = metrics.ece(rows)
        assert 0 <= score.low <= score.value <= score.high <= 1
        value, low, high = (float(text) for text in re.findall(r"[\d.]+", str(score))[:3])
        assert low <= value <= high


def test_ece_of_the_edges_of_bins():
    rows = random_rows([("clean", 0)], n=4).sort_values("image_id")
    rows = rows.assign(confidence=np.array([0.0, 0.5, 0.5, 1.0], np.float32), label=0, prediction=[0, 0, 1, 0])
    assert metrics.reliability(rows, 2)["count"].tolist() == [3, 1]
    assert float(metrics.ece(rows, 2)) == pytest.approx(0.75 * abs(1 / 3 - 2 / 3), abs=1e-9)


def test_reliability_is_the_table_behind_ece():
    rows = random_rows(MINE)
    table = metrics.reliability(rows, 12)
    assert table["count"].sum() == len(rows)
    gap = (table["count"] * (table.confidence - table.accuracy).abs()).sum() / len(rows)
    assert float(metrics.ece(rows, 12, resampling=QUICK)) == pytest.approx(gap, abs=1e-9)
    assert ((table.low < table.accuracy) & (table.accuracy < table.high)).all()
    sure = metrics.reliability(rows.assign(confidence=np.float32(1)), 3)
    assert sure["count"].tolist() == [0, 0, len(rows)]
    assert sure[["confidence", "accuracy", "low", "high"]].isna().all(axis=1).tolist() == [True, True, False]


@pytest.mark.parametrize("bad", [np.nan, -0.1, 50.0])
def test_confidences_that_are_no_probabilities_are_refused(bad):
    rows = random_rows(MINE)
    rows.loc[3, "confidence"] = np.float32(bad)
    with pytest.raises(ValueError, match="probability between 0 and 1"):
        metrics.ece(rows)
    with pytest.raises(ValueError, match="lack the column confidence"):
        metrics.ece(rows.drop(columns="confidence"))
