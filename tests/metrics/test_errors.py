"""Errors, family means and robustness scores, each against a computation of its own on small random rows."""

from __future__ import annotations

import math

import numpy as np
import pytest
from made_rows import CELLS_C, IMAGENET_C, MINE, QUICK, plain_error, random_rows

from scuff import metrics
from scuff.suites import Suite, load_suite


def test_error_and_accuracy():
    rows = random_rows(MINE)
    pooled = (rows.prediction != rows.label).mean()
    assert float(metrics.error(rows)) == pytest.approx(pooled, abs=1e-12)
    assert float(metrics.accuracy(rows)) == pytest.approx(1 - pooled, abs=1e-12)
    one = metrics.accuracy(rows[(rows.corruption == "fog") & (rows.severity == 2)])
    assert one.value == pytest.approx(1 - plain_error(rows, "fog", 2), abs=1e-12)
    assert one.low < one.value < one.high
    assert one.interval == "Wilson 95 %"


def test_cell_errors():
    rows = random_rows(MINE)
    table = metrics.cell_errors(rows)
    assert list(zip(table.corruption, table.severity, strict=True)) == MINE
    expected = [plain_error(rows, *cell) for cell in MINE]
    np.testing.assert_allclose(table.value, expected, atol=1e-12)
    low, high = metrics.wilson(np.array(expected) * 40, 40)
    np.testing.assert_allclose(table[["low", "high"]].to_numpy().T, [low, high], atol=1e-12)
    assert set(table.n) == {40}


def test_mean_error_weighs_corruptions_alike():
    rows = random_rows(MINE)
    fog = np.mean([plain_error(rows, "fog", s) for s in (1, 2)])
    snow = np.mean([plain_error(rows, "snow", s) for s in (1, 2, 3)])
    assert float(metrics.mean_error(rows)) == pytest.approx((fog + snow) / 2, abs=1e-12)


def test_validation_entries_do_not_count():
    rows = random_rows(CELLS_C, "imagenet-c")
    expected = np.mean([plain_error(rows, entry) for entry in IMAGENET_C.benchmark()])
    assert float(metrics.mean_error(rows)) == pytest.approx(expected, abs=1e-12)
    everything = np.mean([plain_error(rows, entry) for entry in IMAGENET_C.entries])
    assert abs(expected - everything) > 1e-4
    all_count = Suite("mine", 1, 224, IMAGENET_C.entries, 5)
    assert float(metrics.mean_error(rows, suite=all_count)) == pytest.approx(everything, abs=1e-12)


@pytest.mark.parametrize("families", [{"fog": "far", "snow": "near"}, {"far": ["fog"], "near": ["snow"]}])
def test_family_means(families):
    rows = random_rows(MINE)
    scores = metrics.family_means(rows, families)
    assert {f: round(float(s), 12) for f, s in scores.items()} == {
        "far": round(plain_error(rows, "fog"), 12),
        "near": round(plain_error(rows, "snow"), 12),
    }


def test_family_means_know_the_categories_of_a_suite():
    suite = load_suite("imagenet-syn2nat")
    rows = random_rows([(e, 0) for e in suite.entries], suite.name)
    scores = metrics.family_means(rows, resampling=QUICK)
    assert list(scores) == list(suite.categories)
    expected = np.mean([plain_error(rows, entry) for entry in suite.categories["blurs"]])
    assert float(scores["blurs"]) == pytest.approx(expected, abs=1e-12)
    with pytest.raises(ValueError, match="no family names a corruption"):
        metrics.family_means(rows, {"fog": "weather"})


def test_family_means_of_a_suite_without_categories_are_those_of_the_gallery():
    suite = load_suite("cifar10-c")
    rows = random_rows([(e, level) for e in suite.benchmark() for level in suite.levels(e)], suite.name)
    scores = metrics.family_means(rows, resampling=QUICK)
    noises = ("gaussian_noise", "shot_noise", "impulse_noise")
    assert float(scores["noise"]) == pytest.approx(np.mean([plain_error(rows, e) for e in noises]), abs=1e-12)
    assert sorted(metrics.family_means(random_rows(MINE), resampling=QUICK)) == ["weather"]  # no suite at all


def test_robustness_score():
    rows = random_rows(MINE)
    clean, fog, snow = (1 - plain_error(rows, c) for c in ("clean", "fog", "snow"))
    assert float(metrics.robustness_score(rows, "fog")) == pytest.approx(fog / clean, abs=1e-12)
    assert float(metrics.robustness_score(rows)) == pytest.approx((fog + snow) / 2 / clean, abs=1e-12)
    with pytest.raises(ValueError, match="hold no 'rain'; there are fog, snow"):
        metrics.robustness_score(rows, "rain")


def test_residual_robustness():
    rows = random_rows(MINE)
    clean, fog, snow = (1 - plain_error(rows, c) for c in ("clean", "fog", "snow"))
    assert float(metrics.residual_robustness(rows)) == pytest.approx(clean - (fog + snow) / 2, abs=1e-12)


def test_residual_robustness_to_another_source_resamples_both():
    rows = random_rows(MINE, n=400)
    other = random_rows([("clean", 0)], "", n=100, seed=5, source="natural")
    score = metrics.residual_robustness(rows, other)
    a, b = plain_error(rows, "clean"), plain_error(other, "clean")
    assert score.value == pytest.approx(b - a, abs=1e-12)
    # Two independent means: variances add. A bootstrap of 1000 knows its width to 3 %; a normal law, 4 widths of it.
    expected = 2 * 1.96 * math.sqrt(a * (1 - a) / 400 + b * (1 - b) / 100)
    assert score.high - score.low == pytest.approx(expected, rel=0.15)
