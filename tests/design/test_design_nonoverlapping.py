"""Algorithm 1, against brute force over all subsets."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pandas as pd
import pytest
from made_accuracies import random_accuracies
from overlap_matrices import random_overlaps, to_overlaps

from scuff import design, metrics
from scuff.design import find_nonoverlapping, nonoverlapping, sweep
from scuff.design.overlap.lightest import MOST_TIES, find_lightest
from scuff.metrics import Overlaps, overlaps, read_overlaps

# A module and its function have the same name, and the package shows the function.
MODULE = sys.modules["scuff.design.overlap.nonoverlapping"]
EXACT_LEVELS = 64  # multiples of 1/64 add up without rounding
PUBLISHED = ("rain", "quantization", "shear", "brightness", "hue", "vertical_artifacts", "blur", "border")


def brute_force(overlaps: Overlaps, threshold: float) -> tuple[list[tuple[str, ...]], int]:
    """The largest subsets under the threshold that have the lowest sum of overlaps, and how many are as large.

    All subsets are looked at. Subset s, a whole number, has corruption v if bit v is set. Those with v as the highest
    are the ones without it, which come before, with v added.
    """
    values, count = overlaps.values, len(overlaps.names)
    good, total, size = np.ones(1, bool), np.zeros(1), np.zeros(1, int)
    for v in range(count):
        conflict, added = np.zeros(1, bool), np.zeros(1)
        for u in range(v):
            conflict = np.concatenate([conflict, conflict | (values[v, u] >= threshold)])
            added = np.concatenate([added, added + values[v, u]])
        good = np.concatenate([good, good & ~conflict])
        total, size = np.concatenate([total, total + added]), np.concatenate([size, size + 1])
    largest = np.flatnonzero(good & (size == size[good].max()))
    best = largest[total[largest] == total[largest].min()]
    return [tuple(overlaps.names[v] for v in range(count) if s >> v & 1) for s in best], len(largest)


def check_against_brute_force(overlaps: Overlaps, threshold: float) -> None:
    best, number = brute_force(overlaps, threshold)
    found = find_nonoverlapping(overlaps, threshold)
    assert {found.members, *found.ties} <= set(best)
    assert len(found.ties) == min(len(best) - 1, MOST_TIES)
    assert found.proven
    assert (found.largest_subsets, found.all_counted) == (
        min(number, MODULE.MOST_COUNTED),
        number <= MODULE.MOST_COUNTED,
    )
    pairs = [overlaps.score(a, b).value for a, b in itertools.combinations(found.members, 2)]
    assert all(value < threshold for value in pairs)
    expected = np.mean(pairs) if pairs else math.nan
    assert found.mean_overlap == pytest.approx(expected, abs=1e-15, nan_ok=True)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 11, 14, 16, 18])
@pytest.mark.parametrize("levels", [4, EXACT_LEVELS])
def test_brute_force(count, levels):
    """With four levels, ties abound; sums of multiples of 1/64 are exact, so that ties are what they seem."""
    for seed in range(100 if count < 12 else 20):
        threshold = np.random.default_rng(seed).choice([0.05, 0.25, 0.5, 0.75, 0.9, 0.98])
        check_against_brute_force(random_overlaps(count, seed + 1000 * count, levels), threshold)


@pytest.mark.parametrize("count", [6, 12, 18])
def test_brute_force_where_there_are_too_many_to_list(count, monkeypatch):
    """The other search, by bounds, which takes over when there are more subsets than are counted."""
    monkeypatch.setattr(MODULE, "MOST_COUNTED", 2)
    for seed in range(50 if count < 14 else 25):
        threshold = np.random.default_rng(seed).choice([0.25, 0.5, 0.75, 0.95])
        check_against_brute_force(random_overlaps(count, seed, EXACT_LEVELS), threshold)


def test_the_threshold_itself_is_too_much():
    overlaps = to_overlaps(np.full((3, 3), 0.25))
    assert find_nonoverlapping(overlaps, 0.25).members == ("a/0",)
    assert find_nonoverlapping(overlaps, 0.2500001).members == ("a/0", "a/1", "a/2")


def test_ties_take_the_first():
    """A square of corruptions, neighbours overlap: the two diagonals are equal."""
    square = np.array([[0, 0.5, 0.1, 0.5], [0, 0, 0.5, 0.1], [0, 0, 0, 0.5], [0, 0, 0, 0]])
    found = find_nonoverlapping(to_overlaps(square), 0.2)
    assert found.members == ("a/0", "a/2")
    assert found.ties == (("a/1", "a/3"),)
    assert (found.largest_subsets, found.all_counted) == (2, True)


def test_means_within_rounding_are_ties():
    values = np.array([[0, 0.5, 0.1, 0.5], [0, 0, 0.5, 0.1 + 5e-13], [0, 0, 0, 0.5], [0, 0, 0, 0]])
    assert len(find_nonoverlapping(to_overlaps(values), 0.2).ties) == 1
    values[1, 3] += 2e-12
    assert find_nonoverlapping(to_overlaps(values), 0.2).ties == ()


def test_undefined_corruptions_are_no_candidates():
    names = ["a/fog", "a/rain", "a/snow"]
    values = np.array([[1, np.nan, 0.05], [np.nan] * 3, [0.05, np.nan, 1]])
    found = find_nonoverlapping(read_overlaps(pd.DataFrame(values, names, names)), 0.1)
    assert found.members == ("a/fog", "a/snow")
    assert list(found.undefined) == ["a/rain"]
    nothing = read_overlaps(pd.DataFrame(np.full((3, 3), np.nan), names, names))
    with pytest.raises(ValueError, match="no corruption has overlaps to choose by; the matrix has no scores of a/fog"):
        find_nonoverlapping(nothing)


@pytest.mark.parametrize("threshold", [0, -0.1, math.nan, math.inf])
def test_thresholds_that_make_no_sense(threshold):
    with pytest.raises(ValueError, match="the threshold must be a number above 0"):
        find_nonoverlapping(random_overlaps(4, 0), threshold)


# --- 130 corruptions ------------------------------------------------------------------------------------------------


def largest_in_parts(overlaps: Overlaps, threshold: float) -> tuple[int, int]:
    """The size and number of the largest subsets, from the groups that hang together by pairs over the threshold.

    A largest subset takes a largest one of each group. In a group, those with its first corruption v, and those
    without, are counted apart. It is quick if few pairs are over the threshold.
    """
    over = (overlaps.values >= threshold) & ~np.eye(len(overlaps.names), dtype=bool)
    near = [frozenset(np.flatnonzero(row).tolist()) for row in over]

    @cache
    def count(left: frozenset[int]) -> tuple[int, int]:
        if not left:
            return 0, 1
        group, border = {min(left)}, {min(left)}
        while border:
            border = {u for v in border for u in near[v] & left} - group
            group |= border
        if len(group) < len(left):
            (a, ways_a), (b, ways_b) = count(frozenset(group)), count(left - group)
            return a + b, ways_a * ways_b
        v = max(left, key=lambda u: len(near[u] & left))
        with_v, ways_with = count(left - {v} - near[v])
        if not near[v] & left:
            return with_v + 1, ways_with
        without, ways_without = count(left - {v})
        if with_v + 1 == without:
            return without, ways_with + ways_without
        return max((with_v + 1, ways_with), (without, ways_without))

    return count(frozenset(range(len(overlaps.names))))


@pytest.mark.parametrize("threshold", [0.1, 0.5, 0.7, 0.9, 0.97])
def test_130_corruptions(threshold):
    """Nothing better is near: no corruption can be added, and none exchanged. How long it takes, the docs say."""
    overlaps = random_overlaps(130, 0)
    found = find_nonoverlapping(overlaps, threshold)
    assert found.proven
    places = [overlaps.index(name) for name in found.members]
    inside = np.isin(np.arange(130), places)
    over = (overlaps.values >= threshold) & ~np.eye(130, dtype=bool)
    assert not over[np.ix_(inside, inside)].any()
    hindrances = over[:, inside].sum(axis=1)
    assert (hindrances[~inside] > 0).all()
    sums = np.where(over, 0, overlaps.values)[:, inside].sum(axis=1)
    for new in np.flatnonzero(~inside & (hindrances == 1)):
        (old,) = np.flatnonzero(over[new] & inside)
        assert sums[new] > sums[old] - 1  # the diagonal is in the sum of the old one


@pytest.mark.parametrize(("threshold", "seed"), [(0.985, 1), (0.99, 0), (0.995, 0)])
def test_130_corruptions_of_which_few_overlap(threshold, seed):
    """Thousands of subsets are as large; how large and how many, the groups of overlapping corruptions say."""
    overlaps = random_overlaps(130, seed)
    size, number = largest_in_parts(overlaps, threshold)
    found = find_nonoverlapping(overlaps, threshold)
    assert (len(found.members), found.proven) == (size, True)
    assert found.largest_subsets == min(number, MODULE.MOST_COUNTED)
    assert found.all_counted == (number <= MODULE.MOST_COUNTED)


def test_bounds_find_what_weighing_all_finds(monkeypatch):
    overlaps = random_overlaps(130, 1)
    by_bounds = find_nonoverlapping(overlaps, 0.985)
    assert not by_bounds.all_counted
    monkeypatch.setattr(MODULE, "MOST_COUNTED", 100_000)
    by_weighing = find_nonoverlapping(overlaps, 0.985)
    assert by_weighing.all_counted
    assert by_weighing.members == by_bounds.members


def test_a_hidden_benchmark_is_found():
    """Twenty corruptions that overlap with none of themselves, among 130 of which every second pair overlaps."""
    draw = np.random.default_rng(3)
    values, hidden = draw.uniform(0.01, 0.2, (130, 130)), np.sort(draw.choice(130, 20, replace=False))
    values[np.ix_(hidden, hidden)] = 0
    found = find_nonoverlapping(to_overlaps(values), 0.1)
    assert found.members == tuple(f"a/{place}" for place in hidden)
    assert found.mean_overlap == 0


def test_too_many_subsets_are_not_proven(monkeypatch):
    """Thirty-five pairs of twins: 2^35 largest subsets, and no pattern in their overlaps."""
    monkeypatch.setattr(MODULE, "find_lightest", partial(find_lightest, effort=50))
    values = np.random.default_rng(0).uniform(0, 0.09, (70, 70))
    values[np.arange(0, 70, 2), np.arange(1, 70, 2)] = 0.9
    found = find_nonoverlapping(to_overlaps(values), 0.1)
    assert len(found.members) == 35
    assert (found.largest_subsets, found.all_counted, found.proven) == (10_000, False, False)


# --- suites and sweeps ----------------------------------------------------------------------------------------------


def test_suite():
    """The published benchmark, from overlaps that only its members lack."""
    names = [f"noc-candidates/{entry}" for entry in (*PUBLISHED, "gaussian", "elastic", "contrast")]
    values = np.full((11, 11), 0.3)
    values[:8, :8] = 0.05
    suite = nonoverlapping(to_overlaps(values, names), name="mine")
    assert (suite.name, suite.about) == ("mine", "8 corruptions that overlap less than 0.1")
    assert tuple(suite.entries) == PUBLISHED
    assert suite.parameters("hue").keys() == {"turn"}


def test_sweep():
    """Appendix B: one line per threshold, which are the same benchmarks as one at a time."""
    overlaps = random_overlaps(12, 5, EXACT_LEVELS)
    table = sweep(overlaps)
    assert table["threshold"].tolist() == [0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5]
    assert table["size"].is_monotonic_increasing
    for row in table.itertuples():
        found = find_nonoverlapping(overlaps, row.threshold)
        assert (row.members, row.ties, row.largest_subsets) == (found.members, found.ties, found.largest_subsets)
        assert row.size == len(found.members)
        assert row.mean_overlap == pytest.approx(found.mean_overlap, nan_ok=True)
        matrix = overlaps.take(row.members).to_frame().to_numpy()
        assert row.largest_overlap == matrix[~np.eye(row.size, dtype=bool)].max()
        assert row.largest_overlap < row.threshold


def test_design_is_pure():
    code = "import sys, scuff.design\nprint([m for m in ('torch', 'sklearn', 'scipy.cluster') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr
    assert callable(design.nonoverlapping)
    assert callable(design.balanced)


# --- tables of one's own --------------------------------------------------------------------------------------------

GROUPS = {"first": ["imagenet-c/fog", "imagenet-c/snow"], "second": ["imagenet-c/frost", "imagenet-c/contrast"]}


@pytest.fixture
def tables(tmp_path):
    """The overlaps of four corruptions, and the same as plain tables of pandas and as files."""
    names = [name for group in GROUPS.values() for name in group]
    accuracies = replace(random_accuracies(4), trained_on=("standard", *names), tested_on=("clean", *names))
    matrix = overlaps(accuracies)
    matrix.save(tmp_path / "matrix.csv")
    accuracies.to_frame().to_csv(tmp_path / "accuracies.csv", index=False)
    plain = {
        "matrix": matrix.to_frame(),
        "matrix with a column of names": matrix.to_frame().reset_index(),
        "accuracies as a frame": accuracies.to_frame(),
        "accuracies": accuracies,
        "file of a matrix": tmp_path / "matrix.csv",
        "file of accuracies": str(tmp_path / "accuracies.csv"),
    }
    return accuracies, matrix, plain


def test_designs_take_plain_tables(tables):
    _, matrix, plain = tables
    for what, table in plain.items():
        assert find_nonoverlapping(table, 0.5).members == find_nonoverlapping(matrix, 0.5).members, what
        assert nonoverlapping(table, 0.5) == nonoverlapping(matrix, 0.5), what
        pd.testing.assert_frame_equal(sweep(table), sweep(matrix))
        assert design.find_categories(table, restarts=2).groups() == design.find_categories(matrix, restarts=2).groups()
        np.testing.assert_allclose(design.linkage(table), design.linkage(matrix), rtol=1e-12)
        assert design.least_overlapping(table, GROUPS, 1, 2) == design.least_overlapping(matrix, GROUPS, 1, 2), what
        assert design.balanced(table, GROUPS, 2, 2) == design.balanced(matrix, GROUPS, 2, 2), what


def test_metrics_take_plain_tables(tables, tmp_path):
    accuracies, matrix, plain = tables
    benchmark, others = matrix.names[:2], matrix.names[2:]
    for what, table in plain.items():
        assert metrics.agreement(table, matrix).pearson == pytest.approx(1), what
        nearest = [metrics.coverage(o, benchmark, others)["nearest"].tolist() for o in (table, matrix)]
        assert nearest[0] == nearest[1], what
    for table in (accuracies.to_frame(), tmp_path / "accuracies.csv"):
        assert metrics.balance(table, benchmark).mces == metrics.balance(accuracies, benchmark).mces
        assert metrics.overlap(table, *benchmark).value == matrix.score(*benchmark).value
        direct = [metrics.direct_coverage(t, benchmark[0])["difference"].tolist() for t in (table, accuracies)]
        assert direct[0] == direct[1]
        pd.testing.assert_frame_equal(metrics.robustness_scores(table), metrics.robustness_scores(accuracies))


def test_plain_tables_that_are_neither_are_refused():
    with pytest.raises(ValueError, match="a matrix of overlaps is square, with the same names in the same order"):
        find_nonoverlapping(pd.DataFrame({"fog": [1.0, 0.2], "snow": [0.2, 1.0]}))
    with pytest.raises(ValueError, match="missing: tested_on"):
        find_nonoverlapping(pd.DataFrame({"trained_on": ["standard"], "accuracy": [0.5]}))
