"""Scores of still images, each against a computation of its own on small random rows."""

from __future__ import annotations

import math
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from scuff import metrics
from scuff.metrics import Resampling, Score
from scuff.suites import Suite, load_suite

QUICK = Resampling(count=50)
IMAGENET_C = load_suite("imagenet-c")
CELLS_C = [("clean", 0), *((e, s) for e in IMAGENET_C.entries for s in range(1, 6))]
CELLS_NOC = [("clean", 0), *((e, 0) for e in load_suite("imagenet-noc").entries)]
MINE = [("clean", 0), ("fog", 1), ("fog", 2), ("snow", 1), ("snow", 2), ("snow", 3)]


def random_rows(cells, suite="mine", model="m", n=40, seed=0, source="val", ids=None) -> pd.DataFrame:
    """Rows in random order, of three classes, with an error of about 40 %."""
    draw = np.random.default_rng(seed)
    ids = np.arange(n) * 7 if ids is None else np.asarray(ids)
    label = np.random.default_rng(99).integers(0, 3, len(ids))
    parts = []
    for corruption, severity in cells:
        wrong = draw.random(len(ids)) < draw.uniform(0.2, 0.6)
        part = {"corruption": corruption, "severity": severity, "image_id": ids, "label": label}
        confidence = draw.random(len(ids)).astype(np.float32)
        parts.append(pd.DataFrame({**part, "prediction": (label + wrong) % 3, "confidence": confidence}))
    rows = pd.concat(parts).assign(model=model, source=source, suite=suite)
    rows = rows.astype(dict.fromkeys(("model", "source", "suite", "corruption"), "category"))
    return rows.sample(frac=1, random_state=seed).reset_index(drop=True)


def plain_error(rows: pd.DataFrame, corruption: str, severity: int | None = None) -> float:
    """A plain loop over rows: what every score here is computed from."""
    wrong = [
        row.prediction != row.label
        for row in rows.itertuples()
        if row.corruption == corruption and severity in (None, row.severity)
    ]
    return sum(wrong) / len(wrong)


def test_metrics_are_pure():
    code = "import sys, scuff.metrics\nprint('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "False"), done.stderr


# --- errors ---------------------------------------------------------------------------------------------------------


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


# --- corruption errors ----------------------------------------------------------------------------------------------


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


# --- calibration ----------------------------------------------------------------------------------------------------


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


def test_holm_is_a_step_down():
    """By its definition: how many of m hypotheses are rejected at any level."""
    p = np.random.default_rng(0).random(20) ** 3
    adjusted = metrics.holm(p)
    for level in (0.01, 0.05, 0.2, 0.5):
        ordered = np.sort(p)
        steps = ordered <= level / np.arange(20, 0, -1)
        rejected = 20 if steps.all() else int(np.argmin(steps))
        assert (adjusted <= level + 1e-12).sum() == rejected
    assert metrics.holm([]).tolist() == []


def test_p_values_of_equal_models_are_uniform():
    """Two models with independent errors of the same rate: p is below 0.1 in a tenth of cases."""
    draw = np.random.default_rng(0)
    wrong = draw.random((2, 300, 400)) < 0.3
    quick = Resampling(count=100)
    found = [
        metrics.bootstrap_difference(a[:, None], b[:, None], resampling=quick).p_value
        for a, b in zip(*wrong, strict=True)
    ]
    assert np.mean(np.array(found) < 0.1) == pytest.approx(0.1, abs=0.06)  # 3.5 standard deviations


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


# --- rows that are special, or wrong --------------------------------------------------------------------------------


def with_errors(wrong: bool, n: int = 30) -> pd.DataFrame:
    return random_rows(MINE, n=n).assign(label=0, prediction=int(wrong))


def test_no_errors_at_all():
    rows = with_errors(wrong=False)
    clean = metrics.error(rows[rows.corruption == "clean"])
    assert (clean.value, clean.low) == (0, 0)
    assert clean.high == pytest.approx(1.959964**2 / (30 + 1.959964**2), abs=1e-6)
    mean = metrics.mean_error(rows)
    assert (mean.value, mean.low, mean.high) == (0, 0, 0)
    assert "the bootstrap makes no interval" in mean.note
    assert float(metrics.robustness_score(rows)) == 1
    assert float(metrics.residual_robustness(rows)) == 0


def test_nothing_but_errors():
    rows = with_errors(wrong=True)
    assert metrics.error(rows[rows.corruption == "clean"]).high == 1
    assert float(metrics.mean_error(rows)) == 1
    score = metrics.robustness_score(rows)
    assert math.isnan(score.value)
    assert "undefined" in score.note
    line = metrics.summary(rows).iloc[0]
    assert (line.mean_error, line.residual_robustness) == (1, 0)
    assert math.isnan(line.robustness_score)


def test_one_image():
    rows = with_errors(wrong=True, n=1)
    score = metrics.mean_error(rows)
    assert score.value == 1
    assert (math.isnan(score.low), math.isnan(score.high)) == (True, True)
    assert str(score) == "1 [nan, nan] (n = 1; no interval from one image)"
    assert metrics.summary(rows).n[0] == 1


def test_scores_that_need_clean_rows_say_so():
    rows = random_rows(MINE[1:])
    for score in (metrics.robustness_score, metrics.residual_robustness):
        with pytest.raises(ValueError, match="no clean images"):
            score(rows)
    with pytest.raises(ValueError, match="no clean images"):
        metrics.mce(random_rows(CELLS_NOC[1:], "imagenet-noc"))
    line = metrics.summary(rows).iloc[0]
    assert math.isnan(line.clean_error)
    assert line.mean_error > 0


def test_clean_rows_alone():
    rows = random_rows([("clean", 0)], "")
    line = metrics.summary(rows).iloc[0]
    assert line.clean_error == pytest.approx(plain_error(rows, "clean"))
    assert math.isnan(line.mean_error)
    with pytest.raises(ValueError, match="none of corrupted images"):
        metrics.mean_error(rows)


def test_cells_must_hold_the_same_images():
    rows = random_rows(MINE)
    gone = rows.index[(rows.corruption == "snow") & (rows.severity == 3)][:2]
    with pytest.raises(ValueError, match="of 40 images, 2 are missing in snow 3, and 1 of 6 cells are short: snow 3"):
        metrics.mean_error(rows.drop(index=gone))
    with pytest.raises(ValueError, match=r"occurs 2 times in .* of m"):
        metrics.mean_error(pd.concat([rows, rows.iloc[:1]]))


def test_rows_of_several_models_sources_or_suites_are_refused():
    rows = random_rows(MINE)
    for change, words in (
        ({"model": "other"}, r"rows of one model, got 2: m, other; .*by_model"),
        ({"source": "other"}, r"rows of one source, got 2: val, other; choose one"),
        ({"suite": "other"}, r"rows of one suite, got 2: mine, other; choose one"),
    ):
        with pytest.raises(ValueError, match=words):
            metrics.mean_error(pd.concat([rows, rows.assign(**change)]))
    clean = rows.corruption == "clean"
    mixed = pd.concat([rows[clean].assign(suite=""), rows[~clean]])
    assert metrics.mean_error(mixed) == metrics.mean_error(rows)  # clean images belong to every suite


def test_broken_tables_are_refused():
    rows = random_rows(MINE)
    with pytest.raises(ValueError, match="lack the columns severity, prediction"):
        metrics.mean_error(rows.drop(columns=["severity", "prediction"]))
    with pytest.raises(ValueError, match="no rows"):
        metrics.mean_error(rows[:0])
    with pytest.raises(ValueError, match="rows of sequences"):
        metrics.mean_error(rows.assign(frame=0))
    with pytest.raises(ValueError, match="corruption has 1 rows without a value"):
        metrics.mean_error(rows.assign(corruption=rows.corruption.astype(object).where(rows.index > 0)))


def test_text_columns_and_the_order_of_rows_do_not_matter():
    rows = random_rows(MINE)
    expected = metrics.mean_error(rows)
    as_text = rows.astype(dict.fromkeys(("model", "source", "suite", "corruption"), object))
    assert metrics.mean_error(as_text) == expected
    assert metrics.mean_error(rows.sample(frac=1, random_state=1)) == expected
    assert metrics.mean_error(metrics.read_cells(rows)) == expected


# --- several models -------------------------------------------------------------------------------------------------


def three_models() -> pd.DataFrame:
    return pd.concat([random_rows(MINE, model=name, seed=k) for k, name in enumerate(("z", "a", "k"))])


@pytest.mark.parametrize(
    ("score", "options"),
    [
        ("error", {}),
        ("mean_error", {}),
        ("mce", {"baseline": {"fog": 0.5, "snow": 0.6}}),
        ("robustness_score", {}),
        ("residual_robustness", {}),
        ("ece", {"bins": 5}),
    ],
)
def test_a_difference_is_the_difference_of_the_scores(score, options):
    a, b = random_rows(MINE, model="a"), random_rows(MINE, model="b", seed=1)
    found = metrics.difference(a, b, score, resampling=QUICK, **options)
    of = getattr(metrics, score)
    assert found.value == pytest.approx(float(of(a, **options)) - float(of(b, **options)), abs=1e-9)
    assert found.low < found.high
    assert found.interval.startswith("paired bootstrap over images 95 %")
    back = metrics.difference(b, a, score, resampling=QUICK, **options)
    assert (back.value, back.low, back.high) == pytest.approx((-found.value, -found.high, -found.low), abs=1e-9)
    assert back.other_sign_share == pytest.approx(found.other_sign_share, abs=1e-9)


def test_a_difference_by_hand():
    """The resamples drawn again with the seed, one at a time."""
    a, b = random_rows(MINE, model="a"), random_rows(MINE, model="b", seed=1)
    found = metrics.difference(a, b, resampling=Resampling(count=300, seed=4))
    wrong = [metrics.read_cells(rows).wrong for rows in (a, b)]
    each = [(w[1:3].mean(axis=0) + w[3:].mean(axis=0)) / 2 for w in wrong]
    draw = np.random.default_rng([4, 0])
    values = np.array([(each[0] - each[1])[draw.integers(0, 40, 40)].mean() for _ in range(300)])
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(values, [0.025, 0.975])), abs=1e-12)
    other = np.mean(np.sign(np.round(values, 9)) != np.sign(found.value))
    assert found.other_sign_share == pytest.approx(other, abs=1e-12)
    assert found.p_value == pytest.approx(2 * norm.sf(abs(found.value) / values.std()), abs=1e-9)


def test_pairing_narrows_the_interval_of_models_that_fail_on_the_same_images():
    draw = np.random.default_rng(0)
    hard = draw.random(500) < 0.4

    def rows(model, source, change):
        wrong = hard ^ (draw.random(500) < change)
        frame = {"corruption": "fog", "severity": 1, "image_id": np.arange(500), "label": 0, "prediction": wrong * 1}
        return pd.DataFrame(frame).assign(model=model, source=source, suite="mine")

    a, b = rows("a", "val", 0.02), rows("b", "val", 0.05)
    paired, unpaired = metrics.difference(a, b), metrics.difference(a, b.assign(source="copy"))
    assert paired.value == pytest.approx(unpaired.value)
    assert unpaired.interval.startswith("unpaired bootstrap")
    # The models disagree on about 7 % of the images: the variance is that of 0.07 against 2 · 0.24.
    assert (paired.high - paired.low) / (unpaired.high - unpaired.low) == pytest.approx(
        math.sqrt(0.07 / 0.48), rel=0.25
    )


def test_equal_models_do_not_differ():
    rows = random_rows(MINE)
    found = metrics.difference(rows, rows.assign(model="twin"))
    assert (found.value, found.low, found.high, found.p_value) == (0, 0, 0, 1)
    with pytest.raises(ValueError, match="no score is called 'mec'; there are error, mean_error, mce"):
        metrics.difference(rows, rows, "mec")


def test_many_at_once_are_as_one_by_one():
    """Of different images too; a product of matrices adds up in another order, so the last bits may differ."""
    own = metrics.by_model(three_models()) | {"less": random_rows(MINE, model="less", n=30)}
    found = metrics.scores(own, "robustness_score", resampling=QUICK)
    for model, rows in own.items():
        assert_same(found[model], metrics.robustness_score(rows, resampling=QUICK))
    pairs = {(a, b): (own[a], own[b]) for a in own for b in own}
    for (a, b), score in metrics.differences(pairs, "ece", resampling=QUICK).items():
        alone = metrics.difference(own[a], own[b], "ece", resampling=QUICK)
        assert_same(score, alone)
        assert score.other_sign_share == alone.other_sign_share
    assert metrics.scores({}) == metrics.differences({}) == {}


def assert_same(found: Score, expected: Score) -> None:
    assert (found.value, found.low, found.high) == pytest.approx(
        (expected.value, expected.low, expected.high), abs=1e-12
    )
    assert (found.n, found.interval, found.note) == (expected.n, expected.interval, expected.note)


def test_rows_of_many_models_may_be_split_already():
    rows = three_models()
    cells = {model: metrics.read_cells(own) for model, own in metrics.by_model(rows).items()}
    for of in (metrics.compare, metrics.ranks, metrics.summary):
        pd.testing.assert_frame_equal(of(cells, resampling=QUICK), of(rows, resampling=QUICK))


def test_compare_holds_every_pair():
    rows = three_models()
    table = metrics.compare(rows, resampling=QUICK)
    assert list(zip(table.a, table.b, strict=True)) == [("z", "a"), ("z", "k"), ("a", "k")]
    own = metrics.by_model(rows)
    found = metrics.difference(own["z"], own["k"], resampling=QUICK)
    # The same draws; but a product with more columns may add up in another order, which shows in the last digit.
    assert table.loc[1, ["value", "low", "high"]].tolist() == pytest.approx([found.value, found.low, found.high], 1e-12)


def test_ranks():
    rows = pd.concat([three_models(), random_rows(MINE, model="twin", seed=1)])  # the same rows as those of a
    table = metrics.ranks(rows, resampling=QUICK)
    own = metrics.by_model(rows)
    for corruption in ("fog", "snow"):
        part = table[table.corruption == corruption].set_index("model")
        values = {m: plain_error(r, corruption) for m, r in own.items()}
        for model, value in values.items():
            below, equal = (sum(f(v, value) for v in values.values()) for f in (np.less, np.equal))
            assert part.loc[model, "rank"] == below + (equal + 1) / 2
            assert part.loc[model, "value"] == pytest.approx(100 * value, abs=1e-9)
    overall = table[table.corruption == "all"].set_index("model")
    assert overall.value["z"] == pytest.approx(100 * float(metrics.mean_error(own["z"])), abs=1e-9)
    assert overall.loc["a", ["rank", "low", "high"]].equals(overall.loc["twin", ["rank", "low", "high"]])
    assert ((table.low <= table["rank"]) & (table["rank"] <= table.high)).mean() > 0.9
    assert table["rank"].groupby(table.corruption).sum().tolist() == [10, 10, 10]


def test_ranks_need_the_same_images_and_corruptions():
    rows = random_rows(MINE)
    with pytest.raises(ValueError, match="same images; those of b"):
        metrics.ranks(pd.concat([rows, random_rows(MINE, model="b", n=30)]))
    with pytest.raises(ValueError, match="same corruptions; b has"):
        metrics.ranks(pd.concat([rows, random_rows(MINE[:3], model="b")]))


def test_summary_repeats_the_scores():
    rows = pd.concat([random_rows(CELLS_C, "imagenet-c", name, seed=k) for k, name in enumerate("ab")])
    table = metrics.summary(rows, resampling=QUICK).set_index("model")
    for model, own in metrics.by_model(rows).items():
        counted = own[~own.corruption.isin(["clean", *IMAGENET_C.validation])]
        expected = {
            "clean_error": metrics.error(own[own.corruption == "clean"]),
            "mean_error": metrics.mean_error(own, resampling=QUICK),
            "mce": metrics.mce(own, resampling=QUICK),
            "relative_mce": metrics.mce(own, relative=True, resampling=QUICK),
            "robustness_score": metrics.robustness_score(own, resampling=QUICK),
            "residual_robustness": metrics.residual_robustness(own, resampling=QUICK),
            "ece_clean": metrics.ece(own[own.corruption == "clean"], resampling=QUICK),
            "ece_corrupted": metrics.ece(counted, resampling=QUICK),
        }
        for name, score in expected.items():
            found = table.loc[model, [name, f"{name}_low", f"{name}_high"]].tolist()
            assert found == pytest.approx([score.value, score.low, score.high], abs=1e-9), name
    assert table[["n", "cells", "cells_of_suite"]].to_numpy().tolist() == [[40, 75, 75]] * 2


def test_summary_of_noc_has_the_relative_mce_twice_and_of_others_none():
    line = metrics.summary(random_rows(CELLS_NOC[:-1], "imagenet-noc")).iloc[0]
    assert line.mce == line.relative_mce
    assert (line.cells, line.cells_of_suite) == (7, 8)
    line = metrics.summary(random_rows(MINE)).iloc[0]
    assert (math.isnan(line.mce), math.isnan(line.relative_mce)) == (True, True)


# --- how scores read ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("score", "text"),
    [
        (Score(23.9, 23.54, 24.26, 50000, "x, y"), "23.9 [23.5, 24.3] (n = 50000; x)"),
        (Score(0.2391, 0.2354, 0.2428, 50000, "x"), "0.239 [0.235, 0.243] (n = 50000; x)"),
        (Score(104.0, 80.0, 130.0, 9, "x"), "104 [80, 130] (n = 9; x)"),
        (Score(100.0, 100.0, 100.0, 9, "x", "note"), "100 [100, 100] (n = 9; x; note)"),
    ],
)
def test_scores_print_as_many_digits_as_they_know(score, text):
    assert str(score) == text


def test_to_frame():
    rows = random_rows(MINE)
    scores = metrics.ce(rows, baseline=None)
    table = metrics.to_frame(scores)
    assert table.corruption.tolist() == ["fog", "snow"]
    assert table.value.tolist() == [float(s) for s in scores.values()]
