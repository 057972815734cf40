"""MSCR: the arithmetic, its intervals, and the published tables 2 and 3, recomputed from their accuracies."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from scuff.metrics import compare_training_noise, holm
from scuff.metrics.separation.mscr import accuracy_table, copies_effect, mscr, mscr_scores, running_mscr
from scuff.metrics.separation.robust_accuracies import RobustAccuracies, read_robust_accuracies

EPSILON_2D, EPSILON_CIFAR = 0.004012795, 27 / 255

# Training noise, accuracies in per cent without test noise and at eps_min, and the printed MSCR.
TABLE_2 = {
    "noise": (0.0, 0.001, 0.002, EPSILON_2D, 0.007, 0.01, 0.015, 0.02, 0.03),
    "clean": (99.531, 99.652, 99.699, 99.748, 99.784, 99.769, 99.504, 98.990, 97.347),
    "robust": (99.405, 99.525, 99.583, 99.669, 99.729, 99.716, 99.486, 99.005, 97.435),
    "mscr": (-0.126, -0.127, -0.116, -0.080, -0.055, -0.053, -0.018, 0.015, 0.090),
}
TABLE_3 = {  # of the second model the robust accuracy in the result files, as the printed one repeats that of the third
    "noise": (0.0, 0.01, 0.02, 0.03, 0.05, 0.07, EPSILON_CIFAR, 0.15),
    "clean": (91.681, 91.932, 91.917, 91.311, 90.428, 88.645, 86.051, 81.989),
    "robust": (59.261, 60.696, 67.534, 74.137, 83.784, 88.260, 88.194, 84.181),
    "mscr": (-35.362, -33.977, -26.527, -18.808, -7.347, -0.434, 2.490, 2.674),
}
# Deviations of the MSCR over the 20 runs of each model, as fractions, and the half-widths that follow, in points.
CIFAR_DEVIATIONS = (0.0464, 0.0460, 0.0404, 0.0317, 0.0197, 0.0127, 0.0129, 0.0064)
CIFAR_HALF_WIDTHS = (2.03, 2.02, 1.77, 1.39, 0.86, 0.56, 0.57, 0.28)


def with_deviation(mean: float, deviation: float, runs: int) -> np.ndarray:
    """Numbers with a given mean and a given population deviation; half of them below, half above."""
    return mean + deviation * np.where(np.arange(runs) % 2, 1.0, -1.0)


def one_model(clean, robust, **more) -> RobustAccuracies:
    """A table of one model without training noise, from accuracies per run."""
    values = np.array([[[[clean, robust]]]], float)
    return RobustAccuracies(("forest",), (0.0,), (0.0, 0.1), values, 0.1, runs=tuple(range(len(clean))), **more)


# --- the published tables --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", [TABLE_2, TABLE_3], ids=["table 2", "table 3"])
def test_the_published_mscr_follows_from_the_published_accuracies(table):
    """Rounding to three digits moves either accuracy by 0.0005, their ratio by up to 0.0013, and the MSCR itself."""
    noise = table["noise"]
    values = np.array([[np.stack([table["clean"], table["robust"]], axis=1)]])[..., None] / 100
    accuracies = RobustAccuracies(("model",), noise, (0.0, 0.1), values, 0.1)
    found = mscr_scores(accuracies, average="means")
    assert found["train_noise"].tolist() == list(noise)
    np.testing.assert_allclose(100 * found["mscr"], table["mscr"], rtol=0, atol=0.0018)
    np.testing.assert_allclose(100 * found["clean"], table["clean"], rtol=1e-12)


def test_the_printing_slip_of_table_3_is_one():
    """With the printed robust accuracy of the second model, 67.534, its MSCR would not be the printed one."""
    assert 100 * mscr([0.91932], [0.67534]).value == pytest.approx(-26.539, abs=0.001)
    assert 100 * mscr([0.91932], [0.60696]).value == pytest.approx(-33.977, abs=0.001)


@pytest.mark.parametrize(("deviation", "runs", "half"), [(0.6927, 20, 0.304), (0.2513, 1200, 0.014)])
def test_the_half_widths_of_published_accuracies(deviation, runs, half):
    """In per cent, as printed: 1.96 population deviations divided by the root of the number of runs."""
    clean = with_deviation(0.9, deviation / 100, runs)
    line = mscr_scores(one_model(clean, clean), interval="paper").iloc[0]
    assert 100 * (line["clean_high"] - line["clean"]) == pytest.approx(half, abs=0.0005)
    assert 100 * (line["clean"] - line["clean_low"]) == pytest.approx(half, abs=0.0005)


@pytest.mark.parametrize(("deviation", "half"), list(zip(CIFAR_DEVIATIONS, CIFAR_HALF_WIDTHS, strict=True)))
def test_the_half_widths_of_published_mscr(deviation, half):
    """The deviations have three digits that count; the half-widths are given to 0.01 points."""
    clean, robust = np.full(20, 0.9), 0.9 * (1 + with_deviation(-0.2, deviation, 20))
    for average, interval in (("ratios", "paper"), ("means", "paper-images")):
        found = mscr(clean, robust, average=average, interval=interval)
        assert 100 * (found.high - found.value) == pytest.approx(half, abs=0.006)
    of_differences = mscr(clean, robust, average="means", interval="paper")  # of its two-dimensional data: narrower
    assert of_differences.high - of_differences.value == pytest.approx(0.9 * (found.high - found.value), rel=1e-9)


# --- the arithmetic --------------------------------------------------------------------------------------------------

CLEAN, ROBUST = np.array([0.90, 0.92, 0.91, 0.95]), np.array([0.80, 0.85, 0.81, 0.90])


def test_the_mean_of_ratios_has_students_interval():
    each = (ROBUST - CLEAN) / CLEAN
    found = mscr(CLEAN, ROBUST)
    assert found.value == pytest.approx(each.mean(), rel=1e-12)
    expected = stats.t.interval(0.95, 3, each.mean(), stats.sem(each))
    np.testing.assert_allclose([found.low, found.high], expected, rtol=1e-10)
    assert found.n == 4
    wider = mscr(CLEAN, ROBUST, level=0.99)
    np.testing.assert_allclose([wider.low, wider.high], stats.t.interval(0.99, 3, each.mean(), stats.sem(each)))


def test_the_ratio_of_means_and_its_two_intervals():
    ratio = ROBUST.mean() / CLEAN.mean() - 1
    students, papers = (mscr(CLEAN, ROBUST, average="means", interval=kind) for kind in ("student", "paper"))
    assert students.value == papers.value == pytest.approx(ratio, rel=1e-12)
    assert students.value != mscr(CLEAN, ROBUST).value
    half = 1.96 * (ROBUST / CLEAN).std() / 2
    of_images = mscr(CLEAN, ROBUST, average="means", interval="paper-images")
    np.testing.assert_allclose([of_images.low, of_images.high], [ratio - half, ratio + half], rtol=1e-12)
    half = 1.96 * (ROBUST - CLEAN).std() / 2  # the root of four runs; not divided by the clean accuracy
    np.testing.assert_allclose([papers.low, papers.high], [ratio - half, ratio + half], rtol=1e-12)
    residuals = (ROBUST - (1 + ratio) * CLEAN) / CLEAN.mean()
    np.testing.assert_allclose(students.high - ratio, stats.t.ppf(0.975, 3) * stats.sem(residuals), rtol=1e-10)


def test_students_interval_of_a_ratio_of_means_holds_the_truth_as_often_as_it_says():
    """500 studies of eight runs: the share that covers is 0.95 with a standard deviation of 0.01."""
    random, held = np.random.default_rng(0), 0
    for _ in range(500):
        ease = random.normal(0, 0.02, 8)
        clean, robust = 0.9 + ease, 0.8 + 1.5 * ease + random.normal(0, 0.01, 8)
        found = mscr(clean, robust, average="means")
        held += found.low <= 0.8 / 0.9 - 1 <= found.high
    assert held / 500 == pytest.approx(0.95, abs=0.03)


@pytest.mark.parametrize(
    ("clean", "average", "words"),
    [
        ([0.0, 0.5, 0.5], "ratios", "1 of 3 runs has no right answer"),
        ([0.0, 0.0, 0.0], "means", "3 of 3 runs have no right answer"),
    ],
)
def test_without_a_right_answer_on_clean_points_it_is_undefined(clean, average, words):
    found = mscr(clean, [0.5, 0.5, 0.5], average=average)
    assert math.isnan(found.value)
    assert math.isnan(found.low)
    assert words in found.note
    line = mscr_scores(one_model(clean, [0.5, 0.5, 0.5]), average=average).iloc[0]
    assert math.isnan(line["mscr"])
    assert line["robust"] == 0.5


def test_the_ratio_of_means_bears_a_run_without_a_right_answer():
    assert mscr([0.0, 0.5], [0.5, 0.5], average="means").value == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"average": "mean"}, "average must be 'ratios' or 'means', got 'mean'"),
        ({"interval": "normal"}, "interval must be 'student' or 'paper' or 'paper-images', got 'normal'"),
        ({"level": 1.5}, "level between 0 and 1, got 1.5"),
        ({"interval": "paper", "level": 0.9}, "that of 95 %"),
    ],
)
def test_unknown_choices_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        mscr(CLEAN, ROBUST, **options)


@pytest.mark.parametrize(
    ("clean", "robust", "words"),
    [
        ([90, 80], [90, 85], "clean accuracies must be shares from 0 to 1, got 90.0; divide per cent by 100"),
        ([0.9, 0.8], [0.9, 1.2], "robust accuracies must be shares from 0 to 1, got 1.2"),
        ([0.9, 0.8], [-0.1, 0.8], "robust accuracies must be shares from 0 to 1, got -0.1"),
        ([0.9, math.nan], [0.9, 0.8], "clean accuracies must be shares from 0 to 1, got nan"),
    ],
)
def test_what_is_no_share_is_refused(clean, robust, words):
    with pytest.raises(ValueError, match=words):
        mscr(clean, robust)


@pytest.mark.parametrize("interval", ["student", "paper"])
def test_intervals_of_accuracies_end_at_0_and_1_and_those_of_mscr_do_not(interval):
    """Accuracies of 0.9 and 1 vary by more than the mean is away from 1; those of 0 and 0.1 from 0."""
    clean, robust = [0.9, 1.0, 1.0, 1.0], [0.1, 0.0, 0.0, 0.0]
    accuracies = one_model(clean, robust)
    line = mscr_scores(accuracies, interval=interval).iloc[0]
    assert (line["clean_high"], line["robust_low"]) == (1, 0)
    assert 0 < line["clean_low"] < line["clean"]
    assert line["robust"] < line["robust_high"] < 1
    assert line["mscr_low"] < -1
    cells = accuracy_table(accuracies, "forest", interval=interval)
    assert cells["high"].tolist() == [line["clean_high"], line["robust_high"]]
    assert cells["low"].tolist() == [line["clean_low"], line["robust_low"]]


def test_accuracies_of_unequal_numbers_of_runs_are_refused():
    with pytest.raises(ValueError, match=r"\(4,\) and \(3,\)"):
        mscr(CLEAN, ROBUST[:3])


# --- one run ---------------------------------------------------------------------------------------------------------


def made_points(points: int = 400, first: int = 0) -> RobustAccuracies:
    """One run of two models at two training noises; a noisy copy is right less often if its point is wrong."""
    random = np.random.default_rng(first)
    clean = random.uniform(size=(2, 2, points)) < 0.9
    noisy = random.binomial(10, np.where(clean, 0.9, 0.2)) / 10
    right = np.stack([clean, noisy], axis=2)[None]
    return RobustAccuracies(
        ("a", "b"), (0.0, 0.1), (0.0, 0.1), right.mean(axis=-1)[..., None], 0.1, right=right.astype(np.float32)
    )


def test_one_run_has_the_paired_bootstrap_over_points():
    table = made_points()
    found = mscr_scores(table).query("model == 'b' and train_noise == 0.1").iloc[0]
    clean, noisy = table.right[0, 1, 1].astype(float)
    assert found["mscr"] == pytest.approx(noisy.mean() / clean.mean() - 1, abs=1e-7)  # shares in single precision
    # The paired standard error of a ratio of means; the percentiles of 1000 resamples agree with it to some 10 %.
    residuals = (noisy - (1 + found["mscr"]) * clean) / clean.mean()
    half = 1.96 * residuals.std() / math.sqrt(400)
    assert (found["mscr_high"] - found["mscr_low"]) / 2 == pytest.approx(half, rel=0.1)
    apart = 1.96 * math.hypot(noisy.std(), clean.std()) / clean.mean() / math.sqrt(400)
    assert half < 0.7 * apart  # as if points were not paired
    assert found["interval"] == "bootstrap over test points 95 %, one run: without the randomness of training"


def test_shares_in_half_precision_move_the_ends_and_not_the_value():
    table = made_points()
    rough = RobustAccuracies(
        table.models, table.train_noise, table.test_noise, table.values, 0.1, right=table.right.astype(np.float16)
    )
    fine, found = mscr_scores(table), mscr_scores(rough)
    assert found["mscr"].tolist() == fine["mscr"].tolist()
    np.testing.assert_allclose(found["mscr_low"], fine["mscr_low"], rtol=0, atol=5e-4)  # half a step of 2^-11 each


def test_scores_of_one_run_do_not_depend_on_what_else_is_in_the_table():
    table = made_points()
    alone = RobustAccuracies(("b",), (0.1,), (0.0, 0.1), table.values[:, 1:, 1:], 0.1, right=table.right[:, 1:, 1:])
    both = mscr_scores(table).query("model == 'b' and train_noise == 0.1").reset_index(drop=True)
    pd.testing.assert_frame_equal(mscr_scores(alone), both, rtol=1e-12)


def test_one_run_without_a_record_of_points_has_no_interval_and_says_why():
    line = mscr_scores(one_model([0.9], [0.8])).iloc[0]
    assert line["mscr"] == pytest.approx(-1 / 9)
    assert line[["clean_low", "robust_high", "mscr_low", "mscr_high"]].isna().all()
    assert line["interval"] == "no interval: one run, without a record of which points were right"


# --- tables ----------------------------------------------------------------------------------------------------------


def made_grid(runs: int = 3, copies: tuple[int, ...] = (1, 10)) -> RobustAccuracies:
    """Two models, three training noises, four test noises; any numbers."""
    radii, shape = (0.0, 0.02, 0.05), (len(copies), 2, 3, 4, runs)
    values = np.random.default_rng(1).integers(500, 1000, shape) / 1000
    return RobustAccuracies(("a", "b"), radii, (*radii, 0.1), values, 0.05, copies, tuple(range(runs)), norm=2.0)


def test_the_table_of_a_model_has_every_cell_and_the_best_of_every_line():
    accuracies = made_grid()
    table = accuracy_table(accuracies, "b", 1)
    assert len(table) == 12
    wide = table.pivot(index="test_noise", columns="train_noise", values="value")
    np.testing.assert_allclose(wide, accuracies.values[0, 1].mean(axis=-1).T, rtol=1e-12)
    best = table[table["best"]].set_index("test_noise")["value"]
    pd.testing.assert_series_equal(best, wide.max(axis=1), check_names=False)
    cell = table.query("test_noise == 0.1 and train_noise == 0.02").iloc[0]
    runs = accuracies.accuracies("b", 0.02, 0.1, 1)
    expected = np.clip(stats.t.interval(0.95, 2, runs.mean(), stats.sem(runs)), 0, 1)
    np.testing.assert_allclose([cell["low"], cell["high"]], expected)


def test_a_tie_has_two_that_are_best():
    values = np.full((1, 1, 2, 2, 3), 0.8)
    table = accuracy_table(RobustAccuracies(("a",), (0.0, 0.1), (0.0, 0.1), values, 0.1, runs=(0, 1, 2)), "a")
    assert table["best"].all()


def test_the_table_of_one_run_has_bootstrap_intervals():
    table = accuracy_table(made_points(), "a")
    cell = table.query("test_noise == 0 and train_noise == 0").iloc[0]
    half = 1.96 * math.sqrt(cell["value"] * (1 - cell["value"]) / 400)
    assert (cell["high"] - cell["low"]) / 2 == pytest.approx(half, rel=0.1)


def test_scores_have_a_line_for_every_model_number_of_copies_and_training_noise():
    accuracies = made_grid()
    found = mscr_scores(accuracies)
    assert list(found.columns) == [
        *("model", "copies", "train_noise", "clean", "clean_low", "clean_high", "robust", "robust_low", "robust_high"),
        *("mscr", "mscr_low", "mscr_high", "runs", "interval"),
    ]
    assert len(found) == 12
    line = found.query("model == 'a' and copies == 10 and train_noise == 0.05").iloc[0]
    clean, robust = accuracies.values[1, 0, 2, 0], accuracies.values[1, 0, 2, 2]
    assert line["mscr"] == pytest.approx(mscr(clean, robust).value, rel=1e-12)
    assert line["mscr_high"] == pytest.approx(mscr(clean, robust).high, rel=1e-12)
    assert line["robust"] == pytest.approx(robust.mean(), rel=1e-12)
    assert set(found["interval"]) == {"Student t over runs 95 %, 3 runs"}


def test_the_effect_of_copies_is_mean_and_sample_deviation():
    accuracies = made_grid(copies=(10, 1))
    frame = copies_effect(accuracies, "b")
    assert frame["copies"].tolist() == [1, 10] * 3
    line = frame.query("copies == 10 and train_noise == 0.02").iloc[0]
    values = accuracies.values[0, 1, 1, 2]
    assert (line["mean"], line["std"]) == (values.mean(), values.std(ddof=1))
    assert copies_effect(made_grid(runs=1))["std"].isna().all()
    assert set(copies_effect(accuracies)["model"]) == {"a", "b"}


def test_the_running_mean_ends_at_the_score():
    accuracies = made_grid(runs=7)
    frame, scores = running_mscr(accuracies, 1), mscr_scores(accuracies).query("copies == 1")
    assert len(frame) == 2 * 3 * 7
    np.testing.assert_allclose(frame.query("runs == 7")["mscr"], scores["mscr"], rtol=1e-12)
    first = frame.query("runs == 1 and model == 'a' and train_noise == 0").iloc[0]
    values = accuracies.values[0, 0, 0, :, 0]
    assert first["mscr"] == pytest.approx(values[2] / values[0] - 1, rel=1e-12)


def test_the_running_mean_is_undefined_from_the_first_run_without_a_right_answer():
    frame = running_mscr(one_model([0.8, 0.0, 0.8], [0.8, 0.1, 0.8]))
    assert frame["mscr"].isna().tolist() == [False, True, True]


# --- the table of accuracies -----------------------------------------------------------------------------------------


def test_a_table_goes_through_a_file_unchanged(tmp_path):
    accuracies = made_grid()
    accuracies.to_frame().sample(frac=1, random_state=0).sort_values("copies", kind="stable").to_csv(
        tmp_path / "a.csv", index=False
    )
    again = read_robust_accuracies(tmp_path / "a.csv", epsilon_min=0.05, norm=2.0)
    assert again.train_noise == pytest.approx((0.0, 0.02, 0.05), rel=1e-15)
    assert again.test_noise == pytest.approx((0.0, 0.02, 0.05, 0.1), rel=1e-15)
    assert again.copies == (1, 10)
    assert (again.runs, again.epsilon_min, again.norm) == ((0, 1, 2), 0.05, 2.0)
    for model in accuracies.models:
        for at in accuracies.test_noise:
            # Some versions of pandas read a number with its last bit wrong.
            before, after = (table.accuracies(model, 0.02, at) for table in (accuracies, again))
            np.testing.assert_allclose(after, before, rtol=1e-15)


def test_the_largest_number_of_copies_is_taken_unless_said_otherwise():
    accuracies = made_grid(copies=(1, 50, 10))
    np.testing.assert_array_equal(accuracies.accuracies("a", 0, 0.1), accuracies.values[1, 0, 0, 3])
    np.testing.assert_array_equal(accuracies.accuracies("a", 0, 0.1, 10), accuracies.values[2, 0, 0, 3])


def test_radii_may_differ_in_their_last_bits():
    accuracies = made_grid()
    np.testing.assert_array_equal(accuracies.accuracies("a", 0.02, 0.1), accuracies.accuracies("a", 0.02, 0.3 / 3))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("c", 0, 0), "there is no model 'c'; there are a, b"),
        (("a", 0.03, 0), "there is no training noise of 0.03; there is 0, 0.02, 0.05"),
        (("a", 0, 0.03), "there is no test noise of 0.03"),
        (("a", 0, 0, 7), "there is nothing with 7 copies; there are 1, 10"),
    ],
)
def test_what_is_not_there_is_named(arguments, words):
    with pytest.raises(ValueError, match=words):
        made_grid().accuracies(*arguments)


VALUES = np.full((1, 1, 1, 2, 1), 0.5)
GOOD = {"models": ("a",), "train_noise": (0.0,), "test_noise": (0.0, 0.1), "values": VALUES, "epsilon_min": 0.1}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"values": VALUES[0]}, r"= \(1, 1, 1, 2, 1\), got \(1, 1, 2, 1\)"),
        ({"values": 100 * VALUES}, "shares from 0 to 1, got 50.0 for copies 10, model a, train_noise 0.0"),
        ({"values": VALUES * np.nan}, "shares from 0 to 1, got nan"),
        ({"models": ("a", "a")}, "models must be given, each once; got a, a"),
        ({"models": ()}, "models must be given, each once; got none"),
        ({"test_noise": (0.1, 0.0)}, "test_noise must be radii from 0 upwards, ascending; got 0.1, 0.0"),
        ({"train_noise": (-0.1,)}, "train_noise must be radii from 0 upwards"),
        ({"test_noise": (0.05, 0.1)}, "0, for the clean accuracy, must be among test_noise; got 0.05, 0.1"),
        ({"epsilon_min": 0.2}, "epsilon_min = 0.2 must be among test_noise; got 0, 0.1"),
        ({"epsilon_min": 0.0}, "epsilon_min must be above 0"),
        ({"epsilon_min": math.nan}, "epsilon_min must be above 0"),
        ({"right": np.full((1, 1, 1, 2), 0.5)}, r"has the shape .* got \(1, 1, 1, 2\)"),
        ({"right": np.full((1, 1, 1, 2, 9), 0.4)}, "`right` and `values` disagree"),
        ({"runs": (0, 1), "values": np.full((1, 1, 1, 2, 2), 0.5), "right": VALUES}, "2 runs"),
    ],
)
def test_a_table_that_cannot_be_right_is_refused(change, words):
    with pytest.raises(ValueError, match=words):
        RobustAccuracies(**(GOOD | change))


FRAME = RobustAccuracies(**GOOD).to_frame()


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (FRAME.drop(columns="copies"), "needs the columns copies, model, .* missing: copies"),
        (FRAME.iloc[:0], "is empty"),
        (pd.concat([FRAME, FRAME]), "occurs twice: copies 10, model a, train_noise 0.0"),
        (FRAME.assign(accuracy=["a", "b"]), "the column accuracy must hold numbers, got 'a'"),
        (FRAME.assign(run=[0.5, 0.5]), "the column run must hold whole numbers"),
        (FRAME.assign(run=[0, 1]), "2 of 4 accuracies are missing, the first for copies 10, model a"),
    ],
)
def test_a_file_that_cannot_be_right_is_refused(frame, words):
    with pytest.raises(ValueError, match=words):
        read_robust_accuracies(frame, epsilon_min=0.1)


def test_a_file_that_is_no_table_is_named(tmp_path):
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(ValueError, match=r"cannot read .*empty\.csv as a CSV table"):
        read_robust_accuracies(tmp_path / "empty.csv", epsilon_min=0.1)


# --- training noises against each other ------------------------------------------------------------------------------


def made_runs(random, runs: int, noises: int, effects=None) -> RobustAccuracies:
    """Accuracies of training noises that share what makes a run easy; `effects` raise those of each noise."""
    ease, effects = random.normal(0, 0.02, runs), np.zeros(noises) if effects is None else np.asarray(effects)
    clean = 0.85 + effects[:, None] + ease + random.normal(0, 0.005, (noises, runs))
    robust = 0.75 + 2 * effects[:, None] + ease + random.normal(0, 0.005, (noises, runs))
    values = np.stack([clean, robust], axis=1)[None, None]
    return RobustAccuracies(("m",), tuple(np.arange(noises) / 10), (0.0, 0.1), values, 0.1, runs=tuple(range(runs)))


@pytest.mark.parametrize("score", ["mscr", "clean", "robust", 0.1])
def test_training_noises_are_compared_by_paired_t_tests(score):
    accuracies = made_runs(np.random.default_rng(3), 7, 4, [0, 0.01, 0.02, 0.01])
    found = compare_training_noise(accuracies, score)
    clean, robust = accuracies.values[0, 0].swapaxes(0, 1)
    each = {"mscr": robust / clean - 1, "clean": clean}.get(score, robust)
    pairs = list(itertools.combinations(range(4), 2))
    assert found[["train_noise", "other"]].values.tolist() == [[a / 10, b / 10] for a, b in pairs]
    for (a, b), line in zip(pairs, found.itertuples(), strict=True):
        expected = stats.ttest_rel(each[b], each[a])
        assert line.value == pytest.approx((each[b] - each[a]).mean(), abs=1e-12)
        assert line.p_value == pytest.approx(expected.pvalue, rel=1e-9)
        np.testing.assert_allclose([line.low, line.high], expected.confidence_interval(0.95), rtol=1e-9)
    np.testing.assert_allclose(found["p_holm"], holm(found["p_value"]))
    assert set(found["interval"]) == {"paired t-test over runs 95 %, 7 runs"}


def test_paired_intervals_hold_the_truth_as_often_as_they_say_and_are_narrower_than_unpaired_ones():
    """300 studies of five runs: the share that covers is 0.95 with a standard deviation of 0.0126; 4 of them."""
    random, held, widths = np.random.default_rng(1), 0, []
    for _ in range(300):
        accuracies = made_runs(random, 5, 2, [0, 0.01])
        line = compare_training_noise(accuracies, "clean").iloc[0]
        held += line["low"] <= 0.01 <= line["high"]
        unpaired = stats.ttest_ind(*accuracies.values[0, 0, :, 0]).confidence_interval(0.95)
        widths.append((line["high"] - line["low"]) / (unpaired.high - unpaired.low))
    assert held / 300 == pytest.approx(0.95, abs=4 * math.sqrt(0.95 * 0.05 / 300))
    assert np.median(widths) < 0.6


def test_holms_correction_keeps_the_chance_of_any_false_difference():
    """300 studies in which no noise matters: at most 5 % find a difference, but for 4 deviations of that share."""
    random = np.random.default_rng(2)
    found = [compare_training_noise(made_runs(random, 6, 5), "mscr") for _ in range(300)]
    any_of = {key: np.mean([(table[key] < 0.05).any() for table in found]) for key in ("p_value", "p_holm")}
    assert any_of["p_holm"] < 0.05 + 4 * math.sqrt(0.05 * 0.95 / 300)
    assert any_of["p_value"] > 0.15  # ten tests without a correction


def test_comparisons_that_cannot_be_tested_are_nan():
    one = compare_training_noise(made_runs(np.random.default_rng(0), 1, 3))
    assert len(one) == 3
    assert one[["low", "high", "p_value", "p_holm"]].isna().all(axis=None)
    assert set(one["interval"]) == {"no interval: one run"}
    same = np.full((1, 1, 2, 2, 3), 0.9)
    constant = RobustAccuracies(("m",), (0.0, 0.1), (0.0, 0.1), same, 0.1, runs=(0, 1, 2))
    assert compare_training_noise(constant)["p_value"].isna().all()
    assert compare_training_noise(one_model([0.9, 0.8], [0.8, 0.7])).empty
    wrong = RobustAccuracies(("m",), (0.0, 0.1), (0.0, 0.1), same * 0, 0.1, runs=(0, 1, 2))
    assert compare_training_noise(wrong, "mscr")["value"].isna().all()
    with pytest.raises(ValueError, match="score must be 'mscr', 'clean', 'robust' or a radius of test noise, got 'ro'"):
        compare_training_noise(constant, "ro")
    with pytest.raises(ValueError, match=r"no test noise of 0\.3"):
        compare_training_noise(constant, 0.3)
