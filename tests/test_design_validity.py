"""Correlations of many benchmarks against loops, their groups and the trends between these."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from threadpoolctl import threadpool_limits

from scuff.design import benchmark_correlations, generate, group_validity, moments, nk_groups, spread_groups, trends
from scuff.design.validity_result import GroupValidity
from scuff.metrics import Resampling
from scuff.metrics.resampled import resample_models
from scuff.metrics.shifts import Shifts, complete_shifts

NAMES = tuple(f"x/c{k}" for k in range(8))
FEW = Resampling(count=40)


def make_shifts(lost: np.ndarray, natural: np.ndarray, families=None, scores=None) -> Shifts:
    """Models that lose so much to corruptions x/c0, x/c1, ... and to natural shifts n0, n1, ..."""
    index = [f"m{k}" for k in range(len(lost))]
    clean = pd.Series(0.9, index)
    corrupted = pd.DataFrame(0.9 - lost, index, [f"x/c{k}" for k in range(lost.shape[1])])
    shifted = pd.DataFrame(0.9 - natural, index, [f"n{k}" for k in range(natural.shape[1])])
    families = None if families is None else pd.Series(families, index)
    scores = None if scores is None else pd.DataFrame(scores, index, [f"s{k}" for k in range(scores.shape[1])])
    return complete_shifts(clean, corrupted, shifted, scores=scores, families=families)


def random_shifts(models: int = 30, seed: int = 0, **options) -> Shifts:
    draw = np.random.default_rng(seed)
    common = draw.uniform(0, 0.3, (models, 1))
    return make_shifts(
        common + draw.uniform(0, 0.5, (models, 8)), common + draw.uniform(0, 0.5, (models, 3)), **options
    )


def all_benchmarks(sizes=(1, 2, 3, 8)) -> list[tuple[str, ...]]:
    return [members for size in sizes for members in itertools.combinations(NAMES, size)]


def loop(shifts: Shifts, benchmarks, models=slice(None)) -> np.ndarray:
    """Algorithm 2 as it is written: (benchmarks, natural)."""
    x, y = (table.iloc[models] for table in (shifts.synthetic_residuals(), shifts.natural_residuals()))
    means = [x[list(members)].mean(axis=1) for members in benchmarks]
    return np.array([[np.corrcoef(mean, y[name])[0, 1] for name in y] for mean in means])


def test_correlations_are_those_of_a_loop():
    scores = np.random.default_rng(1).uniform(10, 90, (30, 1))  # other units: they outweigh the rest, as in a loop
    shifts = random_shifts(scores=scores)
    benchmarks = [*all_benchmarks(), ("s0",), ("x/c3", "s0")]
    np.testing.assert_allclose(benchmark_correlations(shifts, benchmarks), loop(shifts, benchmarks), rtol=0, atol=1e-12)


@pytest.mark.parametrize("families", [None, [k // 3 for k in range(30)]])
def test_groups_are_means_of_loops_in_every_resample(families):
    shifts = random_shifts(families=None if families is None else [f"f{k}" for k in families])
    groups = {"one": all_benchmarks([1]), "two": all_benchmarks([2])}
    found = group_validity(shifts, groups, resampling=FEW)
    times = resample_models(30, FEW, families)
    for place, benchmarks in enumerate(groups.values()):
        expected = loop(shifts, benchmarks)
        chances = [[stats.pearsonr(*pair).pvalue for pair in pairs] for pairs in _pairs(shifts, benchmarks)]
        np.testing.assert_allclose(found.values[place, :-1], expected.mean(axis=0), atol=1e-12)
        np.testing.assert_allclose(found.spreads[place, :-1], expected.std(axis=0), atol=1e-12)
        np.testing.assert_allclose(found.p_values[place, :-1], np.mean(chances, axis=0), rtol=1e-9)
        # the mean of correlations, not the correlation of means
        np.testing.assert_allclose(found.values[place, -1], expected.mean(), atol=1e-12)
        np.testing.assert_allclose(found.spreads[place, -1], expected.mean(axis=1).std(), atol=1e-12)
        for draw, time_of in list(zip(found.draws, times, strict=True))[:4]:
            again = loop(shifts, benchmarks, np.repeat(np.arange(30), time_of)).mean(axis=0)
            np.testing.assert_allclose(draw[place], [*again, again.mean()], atol=1e-12)
    assert f"over {'models' if families is None else 'families'} 95 %, 40 resamples" in found.interval


def _pairs(shifts: Shifts, benchmarks):
    x, y = shifts.synthetic_residuals(), shifts.natural_residuals()
    return [[(x[list(members)].mean(axis=1), y[name]) for name in y] for members in benchmarks]


def test_blocks_do_not_change_results(monkeypatch):
    groups = {"two": all_benchmarks([2])}
    whole = group_validity(random_shifts(), groups, resampling=FEW)
    monkeypatch.setattr(moments, "BLOCK", 5 * (36 + 40))  # five benchmarks at a time
    parts = group_validity(random_shifts(), groups, resampling=FEW)
    np.testing.assert_allclose(parts.draws, whole.draws, atol=1e-14)
    np.testing.assert_allclose(parts.values, whole.values, atol=1e-14)


def test_scores_and_tables_say_what_the_arrays_hold():
    found = group_validity(random_shifts(), {"two": all_benchmarks([2]), "all": [NAMES]}, resampling=FEW)
    score = found.score("two", "n1")
    assert (score.value, score.p_value, score.n, score.note) == (found.values[0, 1], found.p_values[0, 1], 30, "")
    assert (score.low, score.high) == tuple(np.quantile(found.draws[:, 0, 1], [0.025, 0.975]))
    frame = found.to_frame()
    assert list(frame["natural"]) == ["n0", "n1", "n2", "mean"] * 2
    assert set(frame["benchmarks"]) == {28, 1}
    assert frame.loc[frame["group"] == "two", "spread"].min() > 0 == frame.loc[frame["group"] == "all", "spread"].max()
    difference = found.difference("all", "two")
    assert difference.value == pytest.approx(found.values[1, -1] - found.values[0, -1], abs=1e-15)
    draws = found.draws[:, 1, -1] - found.draws[:, 0, -1]
    assert difference.other_sign_share == np.mean(draws <= 0)
    assert (difference.low, difference.high) == pytest.approx(np.quantile(draws, [0.025, 0.975]), abs=1e-15)
    assert difference.interval.startswith("paired bootstrap over models 95 %")


# --- what does not vary ---------------------------------------------------------------------------------------------


def test_benchmarks_that_do_not_vary_are_left_out_and_counted():
    draw = np.random.default_rng(0)
    lost = draw.uniform(0.1, 0.5, (20, 4))
    lost[:, 1] = 0.6 - lost[:, 0]  # together they are the same for all models, but for rounding
    lost[:, 2] = 0.3
    shifts = make_shifts(lost, draw.uniform(0.1, 0.5, (20, 2)))
    benchmarks = [("x/c0",), ("x/c2",), ("x/c0", "x/c1"), ("x/c3",)]
    assert np.isnan(benchmark_correlations(shifts, benchmarks)).all(axis=1).tolist() == [False, True, True, False]
    found = group_validity(shifts, {"some": benchmarks, "none": benchmarks[1:3]}, resampling=FEW)
    kept = group_validity(shifts, {"some": [("x/c0",), ("x/c3",)]}, resampling=FEW)
    np.testing.assert_array_equal(found.values[0], kept.values[0])
    np.testing.assert_array_equal(found.draws[:, 0], kept.draws[:, 0])
    assert found.score("some").note == "2 of 4 benchmarks are the same for all models and left out"
    nothing = found.score("none")
    assert np.isnan([nothing.value, nothing.low, nothing.high, nothing.p_value]).all()
    assert nothing.note == "2 of 2 benchmarks are the same for all models and left out"
    difference = found.difference("some", "none")
    assert np.isnan([difference.value, difference.other_sign_share]).all()
    assert "2 of 2" in difference.note


def test_a_natural_benchmark_that_does_not_vary_is_flagged():
    draw = np.random.default_rng(0)
    natural = draw.uniform(0.1, 0.5, (20, 3))
    natural[:, 1] = 0.3
    shifts = make_shifts(draw.uniform(0.1, 0.5, (20, 8)), natural)
    found = group_validity(shifts, {"two": all_benchmarks([2])}, resampling=FEW)
    assert np.isnan(found.score("two", "n1").value)
    assert found.score("two", "n1").note == "no correlation with n1, the same for all models"
    assert np.isfinite([found.score("two", "n0").value, found.score("two", "n2").low]).all()
    assert np.isnan(found.score("two").value)  # a mean of some would pass for a mean of all
    assert "n1" in found.score("two").note
    alone = group_validity(make_shifts(draw.uniform(0, 0.5, (20, 8)), natural[:, 1:2]), {"two": all_benchmarks([2])})
    assert np.isnan(alone.score("two").value)
    assert "n0" in alone.score("two").note


def test_resamples_without_variation_are_left_out_and_counted():
    shifts = make_shifts(np.array([[0.1], [0.2], [0.3], [0.1], [0.1]]), np.array([[0.3], [0.1], [0.4], [0.1], [0.5]]))
    found = group_validity(shifts, {"one": [("x/c0",)]}, resampling=Resampling(count=400))
    # Models 0, 3 and 4 lose the same to the corruption; resamples of these alone have no correlation: (3 / 5) ** 5.
    left = int(np.isnan(found.draws[:, 0, 0]).sum())
    assert left == pytest.approx(400 * 0.6**5, abs=4 * np.sqrt(400 * 0.6**5))
    assert found.score("one").note.startswith(f"{left} of 400 resamples")
    assert np.isfinite([found.score("one").low, found.score("one").high]).all()


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ({}, "with a benchmark in each"),
        ({"a": [NAMES], "b": []}, "empty: b"),
        ({"a": [("x/c0", "x/fog")]}, "x/fog"),
        ({"a": [("x/c0", "x/c0")]}, "each of them once"),
        ({"a": [("x/c0",), ()]}, "at least one corruption"),
    ],
)
def test_wrong_groups_are_refused(groups, message):
    with pytest.raises(ValueError, match=message):
        group_validity(random_shifts(), groups, resampling=FEW)


def test_wrong_names_are_refused():
    found = group_validity(random_shifts(), {"two": all_benchmarks([2])}, resampling=FEW)
    with pytest.raises(ValueError, match="no group 'three'; there are two"):
        found.score("three")
    with pytest.raises(ValueError, match="no natural benchmark 'n7'; there are n0, n1, n2, mean"):
        found.score("two", "n7")
    with pytest.raises(ValueError, match="'two' twice"):
        found.difference("two", "two")
    with pytest.raises(ValueError, match="different levels"):
        found.slope({"two": 1.0})


def test_ten_thousand_benchmarks_take_less_than_two_seconds_on_one_core():
    draw = np.random.default_rng(0)
    shifts = make_shifts(draw.uniform(0, 0.5, (200, 19)), draw.uniform(0, 0.5, (200, 5)))
    names = np.array(list(shifts.corrupted))
    benchmarks = [tuple(names[draw.choice(19, size, replace=False)]) for size in draw.integers(3, 13, 10_000)]
    with threadpool_limits(1):
        start = time.process_time()
        found = group_validity(shifts, {"all": benchmarks}, resampling=Resampling(count=200))
    assert time.process_time() - start < 2  # it takes 0.2 s
    assert found.counts == (10_000,)


# --- groups and trends ----------------------------------------------------------------------------------------------


CATEGORIES = {"A": ["a0", "a1", "a2"], "B": ["b0", "b1", "b2", "b3"], "C": ["c0", "c1"]}


def test_groups_of_pairs():
    found = nk_groups(CATEGORIES)
    # (2, 1): 12 + 6 + 8; (2, 2): 18 + 3 + 6; (3, 1): 24; (2, 3): 4 and (3, 2): 18 are too few
    assert {label: len(members) for label, members in found.items()} == {"2,1": 26, "2,2": 27, "3,1": 24}
    assert set(found["2,2"]) == set(generate(CATEGORIES, 2, 2, 27))
    drawn = nk_groups(CATEGORIES, [(2, 2), (2, 3)], count=10, seed=3)
    assert {label: len(set(members)) for label, members in drawn.items()} == {"2,2": 10, "2,3": 4}
    assert drawn == nk_groups(CATEGORIES, [(2, 2), (2, 3)], count=10, seed=3)
    assert drawn["2,2"] != nk_groups(CATEGORIES, [(2, 2)], count=10, seed=4)["2,2"]
    with pytest.raises(ValueError, match="needs 3 categories of at least 3"):
        nk_groups(CATEGORIES, [(3, 3)])


def test_groups_of_spreads():
    found = spread_groups(CATEGORIES, 3, 2, least=1)
    assert list(found) == ["std 0.0", "std 0.8", "std 1.4"]  # 2, 2, 2; then 3, 2, 1; then 4, 1, 1
    assert len(found["std 0.0"]) == 18
    larger = {letter: [f"{letter}{k}" for k in range(5)] for letter in "abcd"}
    by_default = spread_groups(larger, 3, 2, count=200)
    assert min(map(len, by_default.values())) >= 40  # a fifth of 200
    assert by_default == spread_groups(larger, 3, 2, count=200)


def made_groups(values: dict[str, float], noise: float = 0.001, resamples: int = 500) -> GroupValidity:
    """Groups with these mean correlations with one natural benchmark, and draws around them."""
    means = np.array(list(values.values()))[:, None].repeat(2, axis=1)
    draws = means + np.random.default_rng(0).normal(0, noise, (resamples, *means.shape))
    counts = (100,) * len(means)
    return GroupValidity(
        tuple(values),
        ("n0", "mean"),
        counts,
        means,
        0 * means,
        0 * means,
        draws,
        50,
        0.95,
        "made up",
        ("",) * len(means),
    )


def test_trends_compare_neighbours_and_fit_slopes():
    level = {"2,3": 0.60, "3,2": 0.63, "6,1": 0.66, "3,1": 0.61, "2,2": 0.58, "std 0.0": 0.7, "std 0.6": 0.64}
    table = trends(made_groups({**level, "imagenet-c": 0.5}))
    assert set(table["natural"]) == {"n0", "mean"}
    lines = table[table["natural"] == "mean"].set_index(["question", "smaller", "larger"])["difference"]
    expected = {
        ("n", "2,3", "3,2"): 0.03,
        ("n", "3,2", "6,1"): 0.03,
        ("k", "2,2", "2,3"): 0.02,
        ("k", "3,1", "3,2"): 0.02,
        ("k", "all", "all"): 0.02,
        ("std", "std 0.0", "std 0.6"): -0.06,
        ("std", "all", "all"): -0.1,
        # of n at size 6 only; sizes 3 and 4 have one group each
        ("n", "all", "all"): np.polyfit([2, 3, 6], [0.60, 0.63, 0.66], 1)[0],
        ("size", "all", "all"): np.polyfit([6, 6, 6, 3, 4], [0.60, 0.63, 0.66, 0.61, 0.58], 1)[0],
    }
    assert set(lines.index) == set(expected)
    assert {key: pytest.approx(value, abs=1e-12) for key, value in expected.items()} == lines.to_dict()
    assert (table["low"] < table["difference"]).all()
    assert (table["difference"] < table["high"]).all()
    assert (table["other_sign_share"] == 0).all()


def test_slopes_within_kinds_have_an_intercept_for_each():
    values = {"2,2": 0.50, "4,1": 0.53, "2,3": 0.60, "3,2": 0.62, "6,1": 0.63}
    n, size = np.array([2, 4, 2, 3, 6]), np.array([4, 4, 6, 6, 6])
    design = np.column_stack([n, size == 4, size == 6]).astype(float)
    expected = np.linalg.lstsq(design, np.array(list(values.values())), rcond=None)[0][0]
    found = made_groups(values)
    slope = found.slope(dict(zip(values, n, strict=True)), within=dict(zip(values, size, strict=True)))
    assert slope.value == pytest.approx(expected, abs=1e-12)
    draws = [np.linalg.lstsq(design, draw[:, 1], rcond=None)[0][0] for draw in found.draws]
    assert (slope.low, slope.high) == pytest.approx(np.quantile(draws, [0.025, 0.975]), abs=1e-12)


def test_a_group_that_a_slope_does_not_rest_on_may_lack_a_value():
    found = made_groups({"2,3": 0.60, "3,2": 0.63, "2,2": np.nan})
    slopes = trends(found).query("smaller == 'all' and natural == 'mean'").set_index("question")["difference"]
    assert slopes["n"] == pytest.approx(0.03, abs=1e-12)  # at size 6; (2, 2) is alone with its size
    assert np.isnan(slopes["k"])


def test_groups_without_a_question_have_no_trend():
    assert trends(made_groups({"imagenet-c": 0.5, "2,3": 0.6, "std 0.0": 0.4})).empty


def test_planted_categories_show_all_trends():
    """Where each category measures a trait of its own and nature asks for all of them, the paper's claims must hold."""
    draw = np.random.default_rng(0)
    categories = {letter: [f"x/c{6 * place + k}" for k in range(6)] for place, letter in enumerate("abcd")}
    traits = draw.normal(0, 1, (200, 4))
    lost = 0.4 + 0.03 * (np.repeat(traits, 6, axis=1) + draw.normal(0, 1, (200, 24)))
    shifts = make_shifts(lost, 0.4 + 0.03 * (traits.sum(axis=1, keepdims=True) + draw.normal(0, 1, (200, 2))))
    groups = nk_groups(categories, [(1, 4), (2, 2), (4, 1), (2, 3), (3, 2), (4, 3)], count=200)
    table = trends(group_validity(shifts, groups | spread_groups(categories, 4, 3, count=200)))
    slopes = table[(table["smaller"] == "all") & (table["natural"] == "mean")].set_index("question")
    assert (slopes.loc[["n", "k", "size"], "low"] > 0).all()
    assert slopes.loc["std", "high"] < 0
