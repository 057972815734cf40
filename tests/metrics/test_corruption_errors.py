"""Corruption errors: absolute, relative, and against a model."""

from __future__ import annotations

import math

import numpy as np
import pytest
from made_rows import CELLS_C, CELLS_NOC, IMAGENET_C, MINE, QUICK, plain_error, random_rows

from scuff import metrics
from scuff.suites import Suite, load_suite


def test_mce_of_imagenet_c_is_absolute():
    rows = random_rows(CELLS_C, "imagenet-c")
    reference = metrics.load_reference("alexnet", "imagenet-c")
    expected = {e: 100 * plain_error(rows, e) / np.mean(reference.errors[e]) for e in IMAGENET_C.benchmark()}
    scores = metrics.ce(rows, resampling=QUICK)
    assert {e: round(float(s), 9) for e, s in scores.items()} == {e: round(v, 9) for e, v in expected.items()}
    score = metrics.mce(rows, resampling=QUICK)
    assert score.value == pytest.approx(np.mean(list(expected.values())), abs=1e-9)
    assert (score.n, score.note) == (40, "")


def test_relative_mce():
    rows = random_rows(CELLS_C, "imagenet-c")
    reference = metrics.load_reference("alexnet", "imagenet-c")
    clean = plain_error(rows, "clean")
    expected = [
        100 * (plain_error(rows, e) - clean) / (np.mean(reference.errors[e]) - 0.4348) for e in IMAGENET_C.benchmark()
    ]
    assert float(metrics.mce(rows, relative=True, resampling=QUICK)) == pytest.approx(np.mean(expected), abs=1e-9)


def test_mce_of_noc_is_relative_unless_asked():
    rows = random_rows(CELLS_NOC, "imagenet-noc")
    errors = metrics.load_reference("alexnet", "imagenet-noc").errors
    clean, own = plain_error(rows, "clean"), {e: plain_error(rows, e) for e, _ in CELLS_NOC[1:]}
    relative = np.mean([100 * (own[e] - clean) / (errors[e] - 0.435) for e in own])
    absolute = np.mean([100 * own[e] / errors[e] for e in own])
    assert float(metrics.mce(rows, resampling=QUICK)) == pytest.approx(relative, abs=1e-9)
    assert float(metrics.mce(rows, relative=False, resampling=QUICK)) == pytest.approx(absolute, abs=1e-9)
    assert float(metrics.mce(rows, relative=True, resampling=QUICK)) == pytest.approx(relative, abs=1e-9)


def test_a_subset_of_severities_is_compared_with_the_same_severities():
    cells = [("clean", 0), *((e, s) for e in IMAGENET_C.benchmark() for s in (2, 5))]
    rows = random_rows(cells, "imagenet-c")
    with pytest.raises(ValueError, match=r"lack 45 of the 75 cells that count in imagenet-c: gaussian_noise 1, "):
        metrics.mce(rows)
    reference = metrics.load_reference("alexnet", "imagenet-c").errors
    expected = [100 * plain_error(rows, e) / np.mean([reference[e][1], reference[e][4]]) for e in reference]
    score = metrics.mce(rows, partial=True, resampling=QUICK)
    assert score.value == pytest.approx(np.mean(expected), abs=1e-9)
    assert score.note == "partial: 30 of 75 cells"


@pytest.mark.parametrize("relative", [False, True])
@pytest.mark.parametrize("same_images", [True, False])
def test_a_model_as_baseline(relative, same_images):
    rows = random_rows(MINE)
    base = random_rows(MINE, model="b", seed=3, ids=None if same_images else np.arange(25))
    scores = metrics.ce(rows, baseline=base, relative=relative, resampling=QUICK)
    off = [plain_error(r, "clean") if relative else 0.0 for r in (rows, base)]
    for corruption in ("fog", "snow"):
        expected = 100 * (plain_error(rows, corruption) - off[0]) / (plain_error(base, corruption) - off[1])
        assert float(scores[corruption]) == pytest.approx(expected, abs=1e-9)
    mean = np.mean([float(s) for s in scores.values()])
    score = metrics.mce(rows, baseline=base, relative=relative, resampling=QUICK)
    assert score.value == pytest.approx(mean, abs=1e-9)
    assert score.n == (40 if same_images else 25)


def test_a_model_against_itself_is_100_in_every_resample():
    rows = random_rows(MINE)
    score = metrics.mce(rows, baseline=rows)
    assert (score.value, score.low, score.high) == pytest.approx((100, 100, 100), abs=1e-9)


def test_ids_of_another_source_are_not_paired():
    rows, base = random_rows(MINE), random_rows(MINE, source="elsewhere")
    score = metrics.mce(rows, baseline=base)
    assert score.value == pytest.approx(100, abs=1e-9)
    assert score.high - score.low > 5


def test_a_mapping_as_baseline():
    rows = random_rows(MINE)
    baseline = {"clean": 0.1, "fog": [0.5, 0.7], "snow": 0.8}
    fog, snow, clean = (plain_error(rows, c) for c in ("fog", "snow", "clean"))
    expected = (100 * fog / 0.6 + 100 * snow / 0.8) / 2
    assert float(metrics.mce(rows, baseline=baseline)) == pytest.approx(expected, abs=1e-9)
    relative = (100 * (fog - clean) / 0.5 + 100 * (snow - clean) / 0.7) / 2
    assert float(metrics.mce(rows, baseline=baseline, relative=True)) == pytest.approx(relative, abs=1e-9)
    reference = metrics.Reference(baseline, clean=0.1)
    assert metrics.mce(rows, baseline=reference) == metrics.mce(rows, baseline=baseline)


@pytest.mark.parametrize(
    ("baseline", "relative", "words"),
    [
        ("alexnt", None, "no reference is called 'alexnt'; there are alexnet, resnet50"),
        ({"fog": 0.5}, None, "lacks the corruptions snow"),
        ({"fog": 0.5, "snow": 0.5}, True, "add 'clean' to the mapping"),
        ({"fog": [0.5], "snow": 0.5}, None, "severities 1 to 1, the rows have 1, 2"),
    ],
)
def test_impossible_baselines_are_refused(baseline, relative, words):
    with pytest.raises(ValueError, match=words):
        metrics.mce(random_rows(MINE), baseline=baseline, relative=relative)


def test_a_baseline_that_lacks_cells_is_refused():
    with pytest.raises(ValueError, match="the baseline b lacks 1 cells of m: snow 3"):
        metrics.mce(random_rows(MINE), baseline=random_rows(MINE[:-1], model="b"))


@pytest.mark.parametrize(
    ("suite", "baseline", "note"),
    [
        ("mine", None, "mean error in percent, not normalised"),
        ("mine", "alexnet", "mean error in percent, not normalised; there is no alexnet reference for mine"),
        ("cifar10-c", "alexnet", "not normalised; there is no alexnet reference for cifar10-c"),
        ("noc-candidates-early", "alexnet", "not normalised; there is no alexnet reference for noc-candidates-early"),
    ],
)
def test_without_a_reference_the_mean_error_is_returned_and_says_so(suite, baseline, note):
    cells = {"mine": MINE, "cifar10-c": CELLS_C}.get(suite) or [(e, 0) for e in load_suite(suite).entries]
    rows = random_rows([cell for cell in cells if cell[0] != "clean"], suite)
    score = metrics.mce(rows, baseline=baseline, resampling=QUICK)
    assert score.value == pytest.approx(100 * float(metrics.mean_error(rows, resampling=QUICK)), abs=1e-9)
    assert score.note.endswith(note)
    assert note in str(score)


def test_a_rise_that_is_not_normalised_says_so():
    rows = random_rows(MINE)
    score = metrics.mce(rows, baseline=None, relative=True)
    assert score.value == pytest.approx(100 * float(metrics.residual_robustness(rows)), abs=1e-9)
    assert score.note == "mean rise of the error above the clean one in percent, not normalised"


def test_entries_without_a_published_reference_are_not_mixed_with_others():
    suite = Suite("all-19", 1, 224, IMAGENET_C.entries, 5)
    rows = random_rows(CELLS_C, "imagenet-c")
    score = metrics.mce(rows, suite=suite, resampling=QUICK)
    assert "no alexnet reference for speckle_noise, gaussian_blur, spatter, saturate" in score.note
    assert math.isnan(metrics.summary(rows, suite=suite, resampling=QUICK).mce[0])


def test_a_baseline_without_errors_leaves_the_score_undefined():
    score = metrics.mce(random_rows(MINE), baseline={"fog": 0.0, "snow": 0.5})
    assert math.isnan(score.value)
    assert "undefined" in str(score)
