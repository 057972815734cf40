"""Correlations of many benchmarks against loops, and groups of them."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from scuff.design import Group, benchmark_correlations, generate, group_validity, nk_groups, spread_groups
from scuff.design.validity import moments
from scuff.metrics import Resampling, Shifts, complete_shifts
from scuff.metrics.validity.resampled import resample_models

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
        ({"a": ["x/c0"]}, "a tuple of names, got 'x/c0'"),
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


# --- groups ---------------------------------------------------------------------------------------------------------


CATEGORIES = {"A": ["a0", "a1", "a2"], "B": ["b0", "b1", "b2", "b3"], "C": ["c0", "c1"]}


def test_groups_of_pairs():
    found = nk_groups(CATEGORIES)
    # (2, 1): 12 + 6 + 8; (2, 2): 18 + 3 + 6; (3, 1): 24; (1, 1): 9, (1, 2): 10, (2, 3): 4 and (3, 2): 18 are too few
    assert {label: len(group) for label, group in found.items()} == {"2,1": 26, "2,2": 27, "3,1": 24}
    assert set(found["2,2"].benchmarks) == set(generate(CATEGORIES, 2, 2, 27))
    assert Counter(found["2,2"].cells) == {0: 18, 1: 3, 2: 6}
    drawn = nk_groups(CATEGORIES, [(2, 2), (2, 3)], count=12, seed=3)
    # four of each set of two categories, but of A and C there are three
    assert Counter(drawn["2,2"].cells) == {0: 4, 1: 3, 2: 4}
    assert len(set(drawn["2,2"].benchmarks)) == 11
    assert len(drawn["2,3"]) == 4
    assert drawn == nk_groups(CATEGORIES, [(2, 2), (2, 3)], count=12, seed=3)
    assert drawn["2,2"] != nk_groups(CATEGORIES, [(2, 2)], count=12, seed=4)["2,2"]
    with pytest.raises(ValueError, match="needs 3 categories of at least 3"):
        nk_groups(CATEGORIES, [(3, 3)])


def test_cells_of_a_group_weigh_the_same():
    benchmarks, cells = [("x/c0",), ("x/c1",), ("x/c2",), ("x/c3",)], ["a", "b", "b", "b"]
    shifts = random_shifts()
    found = group_validity(shifts, {"cells": Group(benchmarks, cells), "plain": benchmarks}, resampling=FEW)
    r = loop(shifts, benchmarks)
    weights = np.array([1 / 2, 1 / 6, 1 / 6, 1 / 6])
    np.testing.assert_allclose(found.values[0, :-1], weights @ r, atol=1e-12)
    np.testing.assert_allclose(found.spreads[0, :-1], np.sqrt(weights @ (r - weights @ r) ** 2), atol=1e-12)
    np.testing.assert_allclose(found.values[1, :-1], r.mean(axis=0), atol=1e-12)
    times = resample_models(30, FEW)
    again = loop(shifts, benchmarks, np.repeat(np.arange(30), times[7]))
    np.testing.assert_allclose(found.draws[7, 0, :-1], weights @ again, atol=1e-12)


def test_cells_weigh_the_same_without_benchmarks_that_do_not_vary():
    natural = np.random.default_rng(0).uniform(0.1, 0.5, (20, 1))
    lost = np.hstack([natural, np.full((20, 1), 0.3), 0.6 - natural, 0.7 - natural])
    group = Group([("x/c0",), ("x/c1",), ("x/c2",), ("x/c3",)], ["one", "one", "other", "other"])
    found = group_validity(make_shifts(lost, natural), {"cells": group}, resampling=FEW)
    assert found.score("cells").value == pytest.approx(0, abs=1e-12)  # 1 of the one cell, and -1 of the other
    np.testing.assert_allclose(found.draws, 0, atol=1e-12)
    assert found.spreads[0] == pytest.approx([1, 1], abs=1e-12)
    assert found.score("cells").note == "1 of 4 benchmarks are the same for all models and left out"


def test_groups_of_spreads():
    found = spread_groups(CATEGORIES, 3, 2, least=1)
    assert list(found) == ["std 0.0", "std 0.8", "std 1.4"]  # 2, 2, 2; then 3, 2, 1; then 4, 1, 1
    assert len(found["std 0.0"]) == 18
    assert set(found["std 1.4"].cells) == {(("A", 1), ("B", 4), ("C", 1))}  # only B has four
    assert len(set(found["std 0.8"].cells)) == 4  # A or B has three, and one of the others one
    larger = {letter: [f"{letter}{k}" for k in range(5)] for letter in "abcd"}
    by_default = spread_groups(larger, 3, 2, count=200)
    assert min(map(len, by_default.values())) >= 40  # a fifth of 200
    assert by_default == spread_groups(larger, 3, 2, count=200)
