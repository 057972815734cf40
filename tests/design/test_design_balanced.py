"""(n, k) benchmarks, their substitutions and the pick that overlaps least, against enumeration."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from overlap_matrices import random_overlaps, to_overlaps

from scuff.design import balanced, count_benchmarks, generate, least_overlapping, spread_of, std_groups, substitute
from scuff.metrics import read_overlaps

PATTERNS = {
    0.0: {(2, 2, 2, 2, 2, 2)},
    0.6: {(3, 2, 2, 2, 2, 1)},
    0.8: {(3, 3, 2, 2, 1, 1)},
    1.0: {(4, 2, 2, 2, 1, 1), (3, 3, 3, 1, 1, 1)},
    1.2: {(4, 3, 2, 1, 1, 1)},
    1.4: {(5, 2, 2, 1, 1, 1), (4, 4, 1, 1, 1, 1)},
    1.5: {(5, 3, 1, 1, 1, 1)},
    1.8: {(6, 2, 1, 1, 1, 1)},
    2.2: {(7, 1, 1, 1, 1, 1)},
}  # of (6, 2) benchmarks after substitutions: the columns of the paper's table 3


def make_categories(*sizes: int) -> dict[str, list[str]]:
    """Categories A, B, ... with corruptions a0, a1, ..., b0, ..."""
    return {chr(65 + c): [f"{chr(97 + c)}{m}" for m in range(size)] for c, size in enumerate(sizes)}


def all_benchmarks(categories: dict[str, list[str]], n: int, k: int) -> set[tuple[str, ...]]:
    found = set()
    for chosen in itertools.combinations(categories.values(), n):
        for parts in itertools.product(*(itertools.combinations(members, k) for members in chosen)):
            found.add(tuple(sorted(itertools.chain(*parts))))  # names sort as their categories do
    return found


def representatives(benchmark, categories) -> dict[str, int]:
    counts = {category: sum(name in members for name in benchmark) for category, members in categories.items()}
    return {category: count for category, count in counts.items() if count}


def variance(benchmark, categories) -> Fraction:
    counts = representatives(benchmark, categories).values()
    mean = Fraction(sum(counts), len(counts))
    return sum((count - mean) ** 2 for count in counts) / len(counts)


def pattern(benchmark, categories) -> tuple[int, ...]:
    return tuple(sorted(representatives(benchmark, categories).values(), reverse=True))


# --- generation -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "k"), [(2, 3), (3, 2), (6, 1), (4, 3), (6, 2), (6, 3), (5, 3)])
def test_generate(n, k):
    """The papers' pairs: a thousand different benchmarks, each of n categories with k corruptions."""
    categories = make_categories(3, 5, 8, 7, 9, 8)
    found = generate(categories, n, k, seed=5)
    assert len(set(found)) == len(found) == 1000
    assert {pattern(benchmark, categories) for benchmark in found} == {(k,) * n}
    assert all(list(benchmark) == sorted(benchmark) for benchmark in found)
    assert found[:50] == generate(categories, n, k, 50, seed=5)
    assert found[:50] != generate(categories, n, k, 50, seed=6)


@pytest.mark.parametrize(("n", "k"), [(1, 1), (2, 1), (2, 2), (3, 1), (1, 3), (2, 3), (3, 2)])
def test_generate_can_give_all_there_are(n, k):
    categories = make_categories(2, 3, 4, 3)
    everything = all_benchmarks(categories, n, k)
    assert count_benchmarks(categories, n, k) == len(everything)
    assert set(generate(categories, n, k, len(everything))) == everything
    with pytest.raises(ValueError, match=rf"there are {len(everything)} different \({n}, {k}\) benchmarks"):
        generate(categories, n, k, len(everything) + 1)


def test_categories_are_drawn_alike():
    """A large category comes no more often than a small one."""
    categories = make_categories(2, 3, 20)
    first = [generate(categories, 1, 1, 1, seed)[0][0][0] for seed in range(3000)]
    counts = np.array([first.count(letter) for letter in "abc"])
    assert abs(counts - 1000).max() < 4.5 * np.sqrt(3000 * 2 / 9)  # standard deviations of a count


def test_impossible_benchmarks():
    categories = make_categories(2, 3, 4)
    with pytest.raises(ValueError, match=r"3 categories of at least 3 corruptions; there are 2 \(members.*A: 2, B: 3"):
        generate(categories, 3, 3)
    with pytest.raises(ValueError, match=r"got \(0, 2\)"):
        generate(categories, 0, 2)
    with pytest.raises(ValueError, match=r"there are 24 different.*got count 0"):
        generate(categories, 3, 1, count=0)
    with pytest.raises(ValueError, match="one category, and fog has two: A and B"):
        generate({"A": ["fog", "rain"], "B": ["fog"]}, 1, 1)


# --- substitution ---------------------------------------------------------------------------------------------------


def admissible(benchmark, categories) -> set[tuple[str, ...]]:
    """What substitutions may give, from the definition: the three conditions, one by one, with exact variances."""
    candidates = [name for members in categories.values() for name in members]
    found = set()
    for old, new in itertools.product(benchmark, candidates):
        if new in benchmark:
            continue  # (3) the new one is not there yet
        made = tuple(sorted({*benchmark, new} - {old}))
        if representatives(made, categories).keys() != representatives(benchmark, categories).keys():
            continue  # (1) the same categories
        if variance(made, categories) > variance(benchmark, categories):
            found.add(made)  # (2) the std grows
    return found


@pytest.mark.parametrize("seed", range(40))
def test_substitution(seed):
    draw = np.random.default_rng(seed)
    categories = make_categories(*draw.integers(1, 6, size=draw.integers(1, 6)))
    candidates = [name for members in categories.values() for name in members]
    size = draw.integers(1, len(candidates) + 1)
    benchmark = tuple(sorted(draw.choice(candidates, size, replace=False).tolist()))
    expected = admissible(benchmark, categories)
    if not expected:
        assert substitute(benchmark, categories, draw) == benchmark
        return
    # All of up to 100 results have come up after 1500 fair draws, but for a chance below 1e-4.
    found = {substitute(benchmark, categories, draw) for _ in range(1500)}
    assert found <= expected
    if len(expected) <= 100:
        assert found == expected


def test_substitution_knows_its_candidates():
    with pytest.raises(ValueError, match="in no category: x"):
        substitute(("a0", "x"), make_categories(2, 2), np.random.default_rng(0))


def test_spread():
    categories = make_categories(9, 9, 9)
    assert spread_of(("a0", "a1", "b0"), categories) == pytest.approx(0.5, abs=1e-15)  # C is not represented
    assert spread_of(("a0", "b0", "c0"), categories) == 0
    with pytest.raises(ValueError, match="in no category: x"):
        spread_of(("a0", "x"), categories)


# --- groups of the same std -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def six_two() -> tuple[dict[str, list[str]], dict[float, list[tuple[str, ...]]]]:
    """Groups of (6, 2) benchmarks; categories of seven and more, so that every pattern can be reached."""
    categories = make_categories(7, 7, 8, 7, 7, 9)
    return categories, std_groups(generate(categories, 6, 2, 200), categories, seed=1)


def test_std_groups_are_those_of_the_paper(six_two):
    categories, groups = six_two
    found = {std: {pattern(benchmark, categories) for benchmark in group} for std, group in groups.items()}
    assert {std: found[std] for std in found if std} == {std: PATTERNS[std] for std in PATTERNS if std}
    assert list(groups) == sorted(groups)
    assert sum(map(len, groups.values())) == len({benchmark for group in groups.values() for benchmark in group})


def test_std_groups_leave_out_small_ones(six_two):
    categories, groups = six_two
    assert 0.0 not in groups  # the 200 given ones; more than 200 are wanted
    few = generate(categories, 6, 2, 20)
    everything = std_groups(few, categories, copies=1, least=1)
    assert {pattern(benchmark, categories) for group in everything.values() for benchmark in group} <= set().union(
        *PATTERNS.values()
    )
    assert sorted(everything[0.0]) == sorted(few)


def test_every_pattern_takes_at_most_five_substitutions(six_two):
    """A longer way may lead there as well; which patterns follow a pattern, 300 draws tell."""
    categories, _ = six_two
    draw = np.random.default_rng(0)
    (start,) = generate(categories, 6, 2, 1)
    steps, reached = {pattern(start, categories): 0}, [start]
    for benchmark in reached:  # which grows
        for _ in range(300):
            new = substitute(benchmark, categories, draw)
            if pattern(new, categories) not in steps:
                steps[pattern(new, categories)] = steps[pattern(benchmark, categories)] + 1
                reached.append(new)
    assert set(steps) == set().union(*PATTERNS.values())
    assert len(steps) == 11
    assert max(steps.values()) == steps[7, 1, 1, 1, 1, 1] == 5


def test_seven_of_a_category_need_seven_members():
    categories = make_categories(6, 6, 6, 6, 6, 6)
    assert max(std_groups(generate(categories, 6, 2, 100), categories, least=1)) == 1.8


# --- the pick that overlaps least -----------------------------------------------------------------------------------


def mean_within(overlaps, benchmark, categories) -> float:
    """The mean overlap of pairs of the same category."""
    pairs = [
        overlaps.score(a, b).value
        for members in categories.values()
        for a, b in itertools.combinations([name for name in benchmark if name in members], 2)
    ]
    return np.mean(pairs)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("n", "k"), [(1, 2), (2, 2), (3, 2), (2, 3), (3, 3)])
def test_least_overlapping(n, k, seed):
    categories = make_categories(3, 2, 5, 4)
    names = [name for members in categories.values() for name in members]
    overlaps = to_overlaps(random_overlaps(len(names), seed).values, names)
    found = least_overlapping(overlaps, categories, n, k)
    best = min(all_benchmarks(categories, n, k), key=lambda benchmark: mean_within(overlaps, benchmark, categories))
    assert found == best


def test_least_overlapping_needs_pairs_and_overlaps():
    categories = make_categories(3, 3)
    names = [name for members in categories.values() for name in members]
    overlaps = random_overlaps(6, 0)
    with pytest.raises(ValueError, match="k = 1 no two corruptions are of the same category"):
        least_overlapping(to_overlaps(overlaps.values, names), categories, 2, 1)
    with pytest.raises(ValueError, match="3 categories of at least 2 corruptions; there are 2"):
        least_overlapping(to_overlaps(overlaps.values, names), categories, 3, 2)
    values = to_overlaps(overlaps.values, names).to_frame()
    values.loc["a1"] = values["a1"] = np.nan
    with pytest.raises(ValueError, match="category A holds corruptions that have no overlaps: a1"):
        least_overlapping(read_overlaps(values), categories, 2, 2)


def test_suite_with_its_categories():
    entries = ["fog", "frost", "snow", "zoom_blur", "glass_blur", "shot_noise", "impulse_noise"]
    names = [f"imagenet-c/{entry}" for entry in entries]
    values = np.full((7, 7), 0.2)
    values[0, 2] = 0.1  # fog and snow
    values[5, 6] = 0.9  # the noises
    groups = {"noise": names[5:], "weather": names[:3], "blur": names[3:5]}
    suite = balanced(to_overlaps(values, names), groups, 2, 2, name="mine")
    assert suite.categories == {"weather": ["fog", "snow"], "blur": ["zoom_blur", "glass_blur"]}
    assert list(suite.entries) == ["fog", "snow", "zoom_blur", "glass_blur"]
    assert suite.parameters("fog", 3) == {"strength": 2.5, "decay": 1.7}
