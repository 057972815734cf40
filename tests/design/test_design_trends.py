"""What makes a benchmark predict: comparisons of like with like, and planted answers."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from test_design_validity import loop, make_shifts

from scuff.design import trends
from scuff.design.validity.groups import draw_benchmarks, even_cells, uneven_cells
from scuff.design.validity.trends import EVERY_CELL, draw_side, find_comparisons
from scuff.metrics import Resampling

FEW = Resampling(count=60)


def make_categories(*sizes: int) -> dict[str, list[str]]:
    """Categories a, b, c, ... of so many corruptions x/c0, x/c1, ..."""
    names = iter(f"x/c{number}" for number in itertools.count())
    return {"abcdefgh"[place]: [next(names) for _ in range(size)] for place, size in enumerate(sizes)}


def mean_slopes(table: pd.DataFrame) -> pd.DataFrame:
    return table[(table["smaller"] == "all") & (table["natural"] == "mean")].set_index("question")


def test_comparisons_rest_on_categories_that_both_sides_can_have():
    categories = make_categories(10, 5, 4, 1)
    found = {(one.question, one.smaller, one.larger): one for one in find_comparisons(categories)}
    of_n = found["n", "2,3", "3,2"]
    assert (of_n.step, of_n.categories) == (1, 3)  # the fourth has one corruption
    assert [[category for category, _ in cell] for cell in of_n.sides[0]] == [["a", "b"], ["a", "c"], ["b", "c"]]
    assert of_n.sides[1] == ((("a", 2), ("b", 2), ("c", 2)),)
    of_size = found["size", "2,4", "2,5"]
    assert (of_size.step, of_size.sides) == (2, (((("a", 4), ("b", 4)),), ((("a", 5), ("b", 5)),)))
    assert ("size", "1,5", "1,6") not in found  # one category alone is no comparison of benchmarks
    assert ("n", "2,2", "4,1") not in found  # of the fourth, there are no two
    of_std = [one for one in found.values() if one.question == "std"]
    assert [(one.smaller, one.larger) for one in of_std] == [("std 0.0", "std 0.8"), ("std 0.8", "std 1.4")]
    assert set(of_std[1].sides[1]) == {(("a", x), ("b", y), ("c", z)) for x, y, z in ((4, 1, 1), (1, 4, 1), (1, 1, 4))}


def test_only_pairs_that_are_asked_for():
    found = find_comparisons(make_categories(3, 3, 2), [(1, 2), (2, 1), (2, 2)])
    pairs = [(one.question, one.smaller, one.larger) for one in found if one.question != "std"]
    assert pairs == [("n", "1,2", "2,1"), ("size", "2,1", "2,2")]


@pytest.mark.parametrize("count", [2, 1000])
def test_every_category_is_on_both_sides_as_often(count):
    categories = make_categories(7, 5, 4, 3, 2)
    category_of = {name: category for category, members in categories.items() for name in members}
    for one in find_comparisons(categories):
        shares = []
        for side in one.sides:
            group = draw_side(categories, side, count)
            numbers = Counter(group.cells)
            counts = dict.fromkeys(categories, 0.0)
            for benchmark, cell in zip(group.benchmarks, group.cells, strict=True):
                for name in benchmark:
                    counts[category_of[name]] += 1 / len(benchmark) / numbers[cell] / len(numbers)
            shares.append(counts)
        assert shares[0] == pytest.approx(shares[1], abs=1e-12), one


def test_few_benchmarks_compare_the_same_as_many_if_those_of_a_cell_are_alike():
    draw = np.random.default_rng(0)
    lost = np.repeat(draw.uniform(0, 0.5, (30, 4)), [5, 4, 3, 3], axis=1)  # one and the same within a category
    shifts = make_shifts(lost, draw.uniform(0, 0.5, (30, 2)))
    few, many = (
        trends(shifts, make_categories(5, 4, 3, 3), count=count, resampling=FEW)[["difference", "low", "high"]]
        for count in (2, 1000)
    )
    np.testing.assert_allclose(few, many, rtol=0, atol=1e-12)


def test_of_very_many_cells_some_are_drawn():
    categories = {f"k{number}": [f"k{number}/{letter}" for letter in "abc"] for number in range(9)}
    (cells,) = (its for spread, its in uneven_cells(list(categories), 6, 2, 3).items() if spread == 0.816)
    assert len(cells) == 84 * 90  # sets of six of nine categories, arrangements of 3, 3, 2, 2, 1, 1
    group = draw_side(categories, cells, 2)
    assert len(group) == len(set(group.cells)) == EVERY_CELL
    assert len(draw_side(categories, cells[:500], 2)) == 500


def test_differences_and_slopes_are_those_of_a_loop():
    draw = np.random.default_rng(0)
    categories = make_categories(3, 3, 2)
    shifts = make_shifts(draw.uniform(0, 0.5, (40, 8)), draw.uniform(0, 0.5, (40, 2)))
    table = trends(shifts, categories, resampling=FEW)
    expected, steps = {}, []
    for one in find_comparisons(categories):
        means = []
        for side in one.sides:  # all benchmarks, as there are fewer than a thousand
            cells = [draw_benchmarks(categories, [cell], 1000).benchmarks for cell in side]
            means.append(np.mean([loop(shifts, benchmarks).mean() for benchmarks in cells]))
        expected[one.question, one.smaller, one.larger] = means[1] - means[0]
        steps.append((one.question, one.step, means[1] - means[0]))
    lines = table[table["natural"] == "mean"].set_index(["question", "smaller", "larger"])["difference"]
    for key, value in expected.items():
        assert lines[key] == pytest.approx(value, abs=1e-12)
    for question in ("n", "size", "std"):
        x, y = np.array([step[1:] for step in steps if step[0] == question]).T
        assert lines[question, "all", "all"] == pytest.approx((x @ y) / (x @ x), abs=1e-12)
    assert len(lines) == len(expected) + 3
    assert (table["low"] <= table["difference"]).all()
    assert (table["difference"] <= table["high"]).all()


def test_a_bad_category_that_drops_out_is_no_trend():
    """A large category that predicts nothing must not make more corruptions look harmful."""
    draw = np.random.default_rng(0)
    categories = make_categories(12, 4, 4)
    trait = draw.normal(0, 1, (150, 1))
    noise = draw.normal(0, 1, (150, 20))
    share = np.repeat([0.0, 1.0, 1.0], [12, 4, 4])  # the large one measures something else
    lost = 0.4 + 0.02 * (trait * share + noise)
    shifts = make_shifts(lost, 0.4 + 0.02 * (trait + draw.normal(0, 0.3, (150, 1))))
    table = trends(shifts, categories, resampling=Resampling(count=200))
    sizes = table[(table["question"] == "size") & (table["natural"] == "mean")]
    assert (sizes["difference"] > 0).all()
    assert mean_slopes(table).loc["size", "low"] > 0


def test_planted_categories_show_all_trends():
    """Where each category measures a trait of its own and nature asks for all of them, the paper's claims must hold."""
    draw = np.random.default_rng(0)
    categories = make_categories(6, 6, 6, 6)
    traits = draw.normal(0, 1, (200, 4))
    lost = 0.4 + 0.03 * (np.repeat(traits, 6, axis=1) + draw.normal(0, 1, (200, 24)))
    shifts = make_shifts(lost, 0.4 + 0.03 * (traits.sum(axis=1, keepdims=True) + draw.normal(0, 1, (200, 2))))
    slopes = mean_slopes(trends(shifts, categories, count=200, resampling=Resampling(count=200)))
    assert (slopes.loc[["n", "size"], "low"] > 0).all()
    assert slopes.loc["std", "high"] < 0
    assert (slopes["other_sign_share"] == 0).all()


def test_categories_too_small_to_compare():
    draw = np.random.default_rng(0)
    shifts = make_shifts(draw.uniform(0, 0.5, (20, 3)), draw.uniform(0, 0.5, (20, 1)))
    assert trends(shifts, make_categories(1, 1, 1)).empty


def test_a_natural_benchmark_that_does_not_vary_is_noted():
    draw = np.random.default_rng(0)
    natural = draw.uniform(0, 0.5, (20, 2))
    natural[:, 1] = 0.2
    table = trends(make_shifts(draw.uniform(0, 0.5, (20, 6)), natural), make_categories(3, 3), resampling=FEW)
    unknown = table[table["natural"].isin(["n1", "mean"])]
    assert unknown["difference"].isna().all()
    assert (unknown["note"] == "no correlation with n1, the same for all models").all()
    assert table.loc[table["natural"] == "n0", "low"].notna().all()


def test_many_cells_are_drawn_from_evenly():
    pool = [f"k{number}" for number in range(30)]
    categories = {name: [f"{name}/{letter}" for letter in "abc"] for name in pool}
    cells = even_cells(pool, 6, 2, seed=1)
    assert len(cells) == len(set(cells)) == 1000
    assert cells == even_cells(pool, 6, 2, seed=1) != even_cells(pool, 6, 2, seed=2)
    group = draw_benchmarks(categories, cells, 100, seed=1)
    assert len(group) == len(set(group.cells)) == len(set(group.benchmarks)) == 100
    assert all(len(benchmark) == 12 for benchmark in group.benchmarks)
    numbers = {spread: len(its) for spread, its in uneven_cells(pool[:6], 6, 2, 7).items()}
    assert sum(numbers.values()) == 462  # ordered sums of twelve
    # the columns of the paper's Table 3
    assert [f"{spread:.1f}" for spread in numbers] == ["0.0", "0.6", "0.8", "1.0", "1.2", "1.4", "1.5", "1.8", "2.2"]
