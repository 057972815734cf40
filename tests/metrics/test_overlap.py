"""Overlapping scores: against the papers' tables, against their formula by hand, and how sure they are."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from made_accuracies import published, random_accuracies
from published_tables import NOC, TABLE_7, TABLE_8
from scipy import stats

from scuff.metrics import Accuracies, Resampling, overlap, overlaps, read_accuracies, read_overlaps, robustness_scores
from scuff.metrics.overlap import accuracies as accuracy_tables
from scuff.suites import load_suite

FEW = Resampling(count=20)


def by_hand(a: np.ndarray, i: int, j: int) -> float:
    """The paper's formula, before it is cut at 0, of the corruptions in the rows and columns i and j; 0 is standard."""

    def r(model: int, test: int) -> float:
        return a[model, test] / a[model, 0]

    first = (r(i, j) - r(0, j)) / (r(j, j) - r(0, j))
    second = (r(j, i) - r(0, i)) / (r(i, i) - r(0, i))
    return (first + second) / 2


# --- the papers' tables ---------------------------------------------------------------------------------------------


def test_corruptions_of_noc_hardly_overlap():
    """Table 8 determines all accuracies. Two decimals: whole CE move a score by some thousandths."""
    found = overlaps(published("imagenet-noc", TABLE_8))
    expected = {
        ("quantization", "blur"): 0.04,
        ("quantization", "vertical_artifacts"): 0.06,
        ("quantization", "brightness"): 0.06,
        ("quantization", "hue"): 0.07,
        ("blur", "vertical_artifacts"): 0.06,
        ("vertical_artifacts", "rain"): 0.07,
        ("vertical_artifacts", "shear"): 0.06,
    }
    scores = {
        (a, b): round(float(found.score(f"imagenet-noc/{a}", f"imagenet-noc/{b}")), 2)
        for a, b in itertools.combinations(NOC, 2)
    }
    assert {pair: score for pair, score in scores.items() if score} == expected
    assert round(found.mean_overlap(), 3) == 0.015
    assert found.values[~np.eye(8, dtype=bool)].max() < 0.1  # the threshold of ImageNet-NOC
    assert found.undefined == {}


def test_corruptions_of_imagenet_c_overlap():
    found = overlaps(published("imagenet-c", TABLE_7))
    expected = {
        ("gaussian_noise", "shot_noise"): 0.97,
        ("gaussian_noise", "impulse_noise"): 0.96,
        ("shot_noise", "impulse_noise"): 0.96,
        ("defocus_blur", "glass_blur"): 0.85,
        ("defocus_blur", "motion_blur"): 0.68,
        ("defocus_blur", "zoom_blur"): 0.66,
        ("glass_blur", "motion_blur"): 0.73,
        ("glass_blur", "zoom_blur"): 0.69,
        ("motion_blur", "zoom_blur"): 0.79,
        ("snow", "frost"): 0.47,
        ("fog", "contrast"): 0.49,
        ("gaussian_noise", "jpeg_compression"): 0.60,
        ("gaussian_noise", "pixelate"): 0.50,
        ("gaussian_noise", "brightness"): 0,
        ("gaussian_noise", "elastic_transform"): 0.11,
        ("brightness", "elastic_transform"): 0,
    }
    scores = {(a, b): round(float(found.score(f"imagenet-c/{a}", f"imagenet-c/{b}")), 2) for a, b in expected}
    assert scores == expected
    assert round(found.mean_overlap(), 2) == 0.24


def test_robustness_scores_of_the_standard_model():
    scores = robustness_scores(published("imagenet-noc", TABLE_8)).loc["standard"]
    assert scores["clean"] == 1
    expected = dict(zip(NOC, (0.82, 0.78, 0.67, 0.70, 0.79, 0.77, 0.78, 0.71), strict=True))
    assert {entry: round(scores[f"imagenet-noc/{entry}"], 2) for entry in NOC} == expected


def test_accuracies_in_place_of_robustness_scores():
    """The variant of Syn2Nat's code is the same formula with clean accuracies of 1; it moves Table 8 by up to 0.06."""
    table = published("imagenet-noc", TABLE_8)
    found = overlaps(table, use="accuracy")
    a = table.values[0].copy()
    a[:, 0] = 1
    for i, j in itertools.combinations(range(8), 2):
        assert found.values[i, j] == pytest.approx(max(0, by_hand(a, i + 1, j + 1)), abs=1e-12)
    assert round(np.abs(found.values - overlaps(table).values).max(), 2) == 0.06
    with pytest.raises(ValueError, match="use must be 'robustness' or 'accuracy', got 'errors'"):
        overlaps(table, use="errors")


# --- the formula ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_scores_by_hand_and_their_properties(seed):
    table = random_accuracies(6, seed=seed)
    found = overlaps(table)
    assert found.names == table.corruptions
    np.testing.assert_array_equal(found.values, found.values.T)
    np.testing.assert_array_equal(np.diagonal(found.values), 1)
    expected = {(i, j): by_hand(table.values[0], i + 1, j + 1) for i, j in itertools.combinations(range(6), 2)}
    for (i, j), score in expected.items():
        assert found.values[i, j] == pytest.approx(max(0, score), abs=1e-12)
    assert min(expected.values()) < 0  # or nothing is said about the cut
    assert found.mean_overlap() == pytest.approx(np.mean([max(0, s) for s in expected.values()]), abs=1e-12)


def test_scores_do_not_depend_on_order_or_company():
    table = random_accuracies(5, seeds=2)
    everything, chosen = overlaps(table), ("mine/c3", "mine/c0", "mine/c4")
    some = overlaps(table, chosen)
    assert some.names == chosen
    for ours, theirs in zip((some.values, some.low, some.high), _matrices(everything.take(chosen)), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)
    assert overlap(table, "mine/c3", "mine/c4") == some.score("mine/c3", "mine/c4")
    assert overlap(table, "mine/c3", "mine/c3").value == 1


def test_rows_of_whole_benchmarks_are_no_corruptions():
    table = random_accuracies(2)
    more = Accuracies((*table.trained_on, "all:mine"), table.tested_on, np.concatenate([table.values] * 2, 1)[:, :4])
    assert overlaps(more).names == table.corruptions
    assert list(robustness_scores(more).index) == [*table.trained_on, "all:mine"]


def test_terms_are_averaged_before_the_cut():
    """One helps the other by half, the other harms it by half: they do not overlap."""
    a = np.array([[1, 0.5, 0.5], [1, 0.9, 0.7], [1, 0.3, 0.9]])
    table = Accuracies(("standard", "x/a", "x/b"), ("clean", "x/a", "x/b"), a[None])
    assert float(overlap(table, "x/a", "x/b")) == pytest.approx(0, abs=1e-12)


def test_scores_may_exceed_one():
    a = np.array([[1, 0.5, 0.5], [1, 0.7, 0.9], [1, 0.7, 0.7]])
    table = Accuracies(("standard", "x/a", "x/b"), ("clean", "x/a", "x/b"), a[None])
    assert float(overlap(table, "x/a", "x/b")) == pytest.approx(1.5, abs=1e-12)


# --- the guard ------------------------------------------------------------------------------------------------------


def test_a_corruption_without_a_gain_of_its_own_is_undefined():
    table = random_accuracies(4, seeds=2)
    values = table.values.copy()
    values[:, 2, 2] = values[:, 2, 0] * (values[:, 0, 2] / values[:, 0, 0] + [0.004, 0.006])
    found = overlaps(replace(table, values=values))
    assert list(found.undefined) == ["mine/c1"]
    assert (
        "training with mine/c1 raises the robustness score on it by 0.0050, less than 0.01"
        in found.score("mine/c0", "mine/c1").note
    )
    for matrix in _matrices(found):
        empty = np.isnan(matrix)
        assert empty[1].all()
        assert empty[:, 1].all()
        assert empty.sum() == 7
    rest = [name for name in table.corruptions if name != "mine/c1"]
    assert found.defined().names == tuple(rest)
    assert found.defined().undefined == {}
    np.testing.assert_array_equal(found.defined().values, overlaps(table, rest).values)
    assert np.isnan(found.mean_overlap())
    assert overlaps(replace(table, values=values), least_gain=0.001).undefined == {}


def test_a_seed_without_a_gain_leaves_nothing_to_divide_by():
    table = random_accuracies(3, seeds=2)
    values = table.values.copy()
    values[1, 1, 1] = values[1, 1, 0] * values[1, 0, 1] / values[1, 0, 0] - 0.001
    assert "with one of the seeds" in overlaps(replace(table, values=values)).undefined["mine/c0"]


def test_all_may_be_undefined():
    found = overlaps(random_accuracies(3, images=20), least_gain=0.99, resampling=FEW)
    assert list(found.undefined) == list(found.names)
    assert np.isnan(found.values).all()
    assert found.defined().names == ()


# --- intervals ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_student_over_seeds(level):
    table = random_accuracies(3, seeds=4, seed=1)
    found = overlaps(table, resampling=Resampling(level=level))
    for i, j in itertools.combinations(range(3), 2):
        each = [by_hand(a, i + 1, j + 1) for a in table.values]
        low, high = stats.t.interval(level, 3, np.mean(each), stats.sem(each))
        score = found.score(f"mine/c{i}", f"mine/c{j}")
        assert (score.value, score.low, score.high) == pytest.approx(
            (max(0, np.mean(each)), max(0, low), max(0, high)), abs=1e-12
        )
        assert (score.n, score.interval) == (4, f"Student t over seeds {100 * level:g} %, 4 seeds")


def test_bootstrap_over_images_against_a_loop(monkeypatch):
    table, resampling = random_accuracies(3, images=60, seed=2), Resampling(count=50, level=0.9, seed=3)
    draw = np.random.default_rng([3, 0])
    resampled = [table.hits[0][..., draw.integers(0, 60, 60)].mean(axis=-1) for _ in range(50)]
    found = overlaps(table, resampling=resampling)
    for i, j in itertools.combinations(range(3), 2):
        each = [by_hand(a, i + 1, j + 1) for a in resampled]
        low, high = np.maximum(np.quantile(each, [0.05, 0.95]), 0)
        assert (found.low[i, j], found.high[i, j]) == pytest.approx((low, high), abs=1e-12)
    assert found.n == 60
    assert found.interval == "bootstrap over images 90 %, 50 resamples, seed 3, without the randomness of training"
    monkeypatch.setattr(accuracy_tables, "VALUES", 150)  # blocks of two columns, and of nine resamples
    for ours, theirs in zip(_matrices(overlaps(table, resampling=resampling)), _matrices(found), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


def test_bootstrap_intervals_hold_the_truth_as_often_as_they_say():
    """300 test sets of 400 images, on which models of known accuracies were tried: 95 % hold the true score.

    The count is binomial: 3 of its deviations are allowed, 3.8 %.
    """
    rates = np.array([[0.9, 0.5, 0.6], [0.9, 0.8, 0.7], [0.85, 0.6, 0.8]])
    truth, held = by_hand(rates, 1, 2), 0
    draw = np.random.default_rng(0)
    for k in range(300):
        hits = draw.random((1, 3, 3, 400)) < rates[..., None]
        table = Accuracies(("standard", "x/a", "x/b"), ("clean", "x/a", "x/b"), hits.mean(-1), hits=hits)
        score = overlap(table, "x/a", "x/b", resampling=Resampling(200, seed=k))
        held += score.low <= truth <= score.high
    assert held / 300 == pytest.approx(0.95, abs=3 * math.sqrt(0.95 * 0.05 / 300))


def test_resamples_that_divide_by_nothing_are_left_out():
    """Own gains of one image in 4: many resamples have none."""
    right = np.array([[[1, 1, 1, 1], [0, 0, 0, 1], [0, 0, 1, 0]]] * 3, bool)
    right[1, 1, 0] = right[2, 2, 0] = True
    table = Accuracies(("standard", "x/a", "x/b"), ("clean", "x/a", "x/b"), right.mean(-1)[None], hits=right[None])
    score = overlap(table, "x/a", "x/b")
    assert np.isfinite([score.value, score.low, score.high]).all()


@pytest.mark.parametrize(("images", "why"), [(None, "without a record of which images were right"), (1, "one image")])
def test_no_interval_without_something_to_resample(images, why):
    table = random_accuracies(2)
    hits = None if images is None else np.ones((1, 3, 3, 1), bool)
    found = overlaps(replace(table, hits=hits))
    score = found.score("mine/c0", "mine/c1")
    assert np.isnan([score.low, score.high]).all()
    assert np.isfinite(score.value)
    assert score.interval == f"no interval: one seed, {why}"
    np.testing.assert_array_equal(np.diagonal(found.low), 1)


# --- files and mistakes ---------------------------------------------------------------------------------------------


def test_a_matrix_goes_to_a_file_and_back(tmp_path):
    table = replace(random_accuracies(4, seeds=3), suites=(load_suite("imagenet-noc"),))
    values = table.values.copy()
    values[:, 3, 3] = values[:, 0, 3] * values[:, 3, 0]  # no gain
    found = overlaps(replace(table, values=values))
    assert found.suites == table.suites
    again = read_overlaps(found.save(tmp_path / "new" / "overlap.csv"), table.suites)
    assert again.names == found.names
    assert again.suites == table.suites
    np.testing.assert_allclose(again.values, found.values, atol=1e-15)
    assert again.undefined == {"mine/c2": "the matrix has no scores of mine/c2"}
    score = again.score("mine/c0", "mine/c1")
    assert np.isnan(score.low)
    assert score.interval == "no intervals in a matrix that was read"
    assert list(found.to_frame().index) == list(found.to_frame().columns) == list(found.names)


def test_small_errors_of_rounding_are_forgiven():
    found = read_overlaps(square([[0.9999999, 0.2], [0.2000002, 1]]))
    assert found.values.tolist() == [[1, pytest.approx(0.2000001)], [found.values[0, 1], 1]]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[1, 0.2], [0.3, 1]], "the overlap of a and b, 0.2, is not the same the other way round"),
        ([[1, 0.2], [0.2, 0.9]], "the overlap of b and b, 0.9, is on the diagonal and must be 1"),
        ([[1, -0.2], [-0.2, 1]], "the overlap of a and b, -0.2, is below 0"),
        ([[1, math.inf], [math.inf, 1]], "a and b, inf, is not a number"),
        ([[1, math.nan, 0], [math.nan, 1, 0], [0, 0, 1]], "a and b, nan, is not a number; a corruption without"),
        ([[1, 0.2], [math.nan, math.nan]], "a and b, 0.2, is a number, but one of the two has an empty row"),
        ([[1, "much"], ["much", 1]], "overlaps are numbers: .*'much'"),
    ],
)
def test_bad_matrices_are_refused(values, message):
    with pytest.raises(ValueError, match=message):
        read_overlaps(square(values))


def test_bad_tables_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"square, with the same names .* rows a, b and columns b, a"):
        read_overlaps(pd.DataFrame(np.eye(2), ["a", "b"], ["b", "a"]))
    with pytest.raises(ValueError, match="each once; got rows a, a"):
        read_overlaps(pd.DataFrame(np.ones((2, 2)), ["a", "a"], ["a", "a"]))
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(ValueError, match=r"cannot read .*empty.csv as a CSV table"):
        read_overlaps(tmp_path / "empty.csv")
    with pytest.raises(ValueError, match="there is no overlap with 'c'; there are a, b"):
        read_overlaps(square(np.eye(2))).score("a", "c")


def test_bad_accuracies_are_refused():
    table = random_accuracies(2)
    with pytest.raises(ValueError, match="no model trained with 'mine/c7'; there are standard, mine/c0, mine/c1"):
        overlaps(table, ["mine/c0", "mine/c7"])
    with pytest.raises(ValueError, match="occur twice: mine/c0"):
        overlaps(table, ["mine/c0", "mine/c0"])
    with pytest.raises(ValueError, match="both trained with and tested on; the table has none"):
        overlaps(table.take(["standard"], ["clean"]))
    with pytest.raises(ValueError, match="no model trained with 'standard'"):
        overlaps(table.take(table.corruptions, table.tested_on))
    values = table.values.copy()
    values[0, 2, 0] = 0
    for score in (overlaps, robustness_scores):
        with pytest.raises(ValueError, match="the model of mine/c1 has no right answer on clean images"):
            score(replace(table, values=values))
    with pytest.raises(ValueError, match=r"shares from 0 to 1, got 55\.0 for the model of standard on clean"):
        replace(table, values=np.full((1, 3, 3), 55.0))
    with pytest.raises(ValueError, match=r"expected accuracies \(seeds, models, tests\) = \(1, 3, 3\)"):
        replace(table, values=np.ones((3, 3)))
    with pytest.raises(ValueError, match="expected hits"):
        replace(table, hits=np.ones((1, 2, 3, 10), bool))


def test_accuracies_come_from_a_table_of_ones_own(tmp_path):
    table = random_accuracies(3, seeds=2)
    frame = table.to_frame().sample(frac=1, random_state=0)
    frame.to_csv(tmp_path / "accuracies.csv", index=False)
    again = read_accuracies(tmp_path / "accuracies.csv")
    ours, theirs = overlaps(again, table.corruptions), overlaps(table)
    np.testing.assert_allclose(ours.values, theirs.values, atol=1e-12)
    np.testing.assert_allclose(ours.high, theirs.high, atol=1e-12)
    with pytest.raises(ValueError, match="missing: accuracy"):
        read_accuracies(frame.drop(columns="accuracy"))
    with pytest.raises(ValueError, match="1 of 32 accuracies are missing"):
        read_accuracies(frame[1:])
    with pytest.raises(ValueError, match=r"occurs twice: seed ., trained_on"):
        read_accuracies(pd.concat([frame, frame[:1]]))
    with pytest.raises(ValueError, match="is empty"):
        read_accuracies(frame[:0])


def square(values) -> pd.DataFrame:
    names = list("abc")[: len(values)]
    return pd.DataFrame(values, names, names)


def _matrices(found) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return found.values, found.low, found.high


def test_pairs_are_the_matrix_with_intervals():
    table = random_accuracies(4, seeds=3)
    found = overlaps(table)
    pairs = found.pairs()
    assert pairs[["a", "b"]].values.tolist() == [list(pair) for pair in itertools.combinations(found.names, 2)]
    for line in pairs.itertuples():
        score = found.score(line.a, line.b)
        assert (line.overlap, line.low, line.high) == (score.value, score.low, score.high)
    assert set(pairs["interval"]) == {"Student t over seeds 95 %, 3 seeds"}


def test_intervals_of_overlaps_hold_the_truth_as_often_as_they_say():
    """300 studies of four seeds: the share that covers is 0.95 with a standard deviation of 0.0126.

    The truth is the mean over seeds, from many of them. Scores are ratios, and so not quite normal: 5 deviations.
    """
    random, names = np.random.default_rng(9), ("a/fog", "a/snow")
    shares = np.array([[0.9, 0.5, 0.5], [0.9, 0.8, 0.65], [0.9, 0.62, 0.8]])

    def study(seeds: int) -> Accuracies:
        values = np.clip(shares + random.normal(0, 0.01, (seeds, 3, 3)), 0, 1)
        return Accuracies(("standard", *names), ("clean", *names), values, tuple(range(seeds)))

    truth = overlaps(study(20000)).score(*names).value
    found = [overlaps(study(4)).score(*names) for _ in range(300)]
    held = np.mean([score.low <= truth <= score.high for score in found])
    assert held == pytest.approx(0.95, abs=5 * np.sqrt(0.95 * 0.05 / 300))


def test_overlaps_by_accuracy_are_read_from_accuracies_only(tmp_path):
    table = random_accuracies(3)
    table.to_frame().to_csv(tmp_path / "accuracies.csv", index=False)
    found = read_overlaps(tmp_path / "accuracies.csv", use="accuracy")
    np.testing.assert_allclose(found.values, overlaps(table, use="accuracy").values)
    assert not np.allclose(found.values, overlaps(table).values)
    np.testing.assert_array_equal(read_overlaps(table, use="accuracy").values, overlaps(table, use="accuracy").values)
    with pytest.raises(ValueError, match="overlaps by accuracy follow from accuracies; this is a matrix"):
        read_overlaps(overlaps(table).save(tmp_path / "matrix.csv"), use="accuracy")
