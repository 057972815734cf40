"""Intervals: against known values, against a loop, and by how often they hold the truth."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from scipy import stats

from scuff.metrics import Resampling, bootstrap, bootstrap_difference, wilson
from scuff.metrics.intervals import resample_means


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
@pytest.mark.parametrize(("count", "n"), [(0, 1), (1, 1), (0, 100), (100, 100), (7, 30), (11950, 50000)])
def test_wilson_is_that_of_scipy(count, n, level):
    expected = stats.binomtest(count, n).proportion_ci(level, method="wilson")
    low, high = wilson(count, n, level)
    assert (float(low), float(high)) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert low <= count / n <= high


def test_resampled_means_against_a_loop(monkeypatch):
    columns = np.random.default_rng(1).random((37, 3))
    resampling = Resampling(count=25, seed=6)
    draw = np.random.default_rng([6, 2])
    expected = [columns[draw.integers(0, 37, 37)].mean(axis=0) for _ in range(25)]
    np.testing.assert_allclose(resample_means(columns, resampling, stream=2), expected, atol=1e-14)
    monkeypatch.setattr("scuff.metrics.intervals.WEIGHTS", 100)  # blocks of two
    np.testing.assert_allclose(resample_means(columns, resampling, stream=2), expected, atol=1e-14)


def test_bootstrap_of_a_statistic():
    columns = np.random.default_rng(1).random((37, 3))
    resampling = Resampling(count=25, level=0.9)
    score = bootstrap(columns, lambda m: m[..., 0] / m[..., 2], resampling)
    means = resample_means(columns, resampling)
    ratio = means[:, 0] / means[:, 2]
    assert score.value == pytest.approx(columns[:, 0].mean() / columns[:, 2].mean(), abs=1e-14)
    assert (score.low, score.high) == pytest.approx(tuple(np.quantile(ratio, [0.05, 0.95])), abs=1e-14)
    assert (score.n, score.interval) == (37, "bootstrap over images 90 %, 25 resamples, seed 0")


def test_the_seed_decides():
    columns = np.random.default_rng(1).random((50, 1))
    assert bootstrap(columns) == bootstrap(columns)
    assert bootstrap(columns, resampling=Resampling(seed=1)) != bootstrap(columns)


def test_resamples_without_a_value_are_left_out_and_counted():
    columns = np.column_stack([np.ones(5), [1, 0, 0, 0, 0]])  # a resample misses the first image in 1 of 3 cases
    score = bootstrap(columns, lambda m: m[..., 0] / m[..., 1])
    assert score.value == 5
    assert np.isfinite([score.low, score.high]).all()
    missed = int(score.note.split()[0])
    assert missed == pytest.approx(1000 * 0.8**5, abs=4 * math.sqrt(1000 * 0.8**5 * (1 - 0.8**5)))


@pytest.mark.parametrize("options", [{"count": 0}, {"level": 1.0}, {"level": 0.0}])
def test_impossible_resampling_is_refused(options):
    with pytest.raises(ValueError, match="at least 1 resample and a level between 0 and 1"):
        Resampling(**options)


def test_arrays_of_other_images_cannot_be_paired():
    with pytest.raises(ValueError, match="the same images, got 3 and 4"):
        bootstrap_difference(np.zeros((3, 1)), np.zeros((4, 1)))


def correlated_cells(draw, n, rates):
    """Wrong or right in some cells: an image that is hard is so in all of them, but not to the same degree."""
    strain = draw.normal(size=(n, 1)) + draw.normal(size=(n, len(rates)))
    return strain > math.sqrt(2) * stats.norm.ppf(1 - np.array(rates))


def test_intervals_hold_the_truth_as_often_as_they_say():
    """400 data sets of 200 images in 5 cells: 95 % of the intervals of the mean error hold the true one.

    The count of hits is binomial: its deviation is 1.1 %, and 3 of them are allowed. The percentiles of a bootstrap
    with 200 images cover some tenths of a percent less than they should; that is far inside.
    """
    rates = [0.1, 0.2, 0.3, 0.4, 0.5]
    draw = np.random.default_rng(0)
    hits = 0
    for k in range(400):
        score = bootstrap(correlated_cells(draw, 200, rates), lambda m: m.mean(axis=-1), Resampling(200, seed=k))
        hits += score.low <= 0.3 <= score.high
    assert hits / 400 == pytest.approx(0.95, abs=3 * math.sqrt(0.95 * 0.05 / 400))


def test_cells_of_one_image_are_not_taken_for_independent():
    """Images are resampled with all their cells: the interval is wider than that of as many independent rows."""
    wrong = correlated_cells(np.random.default_rng(0), 400, [0.3] * 20)
    score = bootstrap(wrong, lambda m: m.mean(axis=-1))
    low, high = wilson(wrong.sum(), wrong.size)
    assert score.high - score.low > 2 * (high - low)


def test_paired_intervals_hold_the_truth_as_often_as_they_say():
    """As above, for the difference of two models; 400 data sets, 3 deviations."""
    draw = np.random.default_rng(1)
    hits, narrower = 0, 0
    for k in range(400):
        wrong = correlated_cells(draw, 200, [0.3, 0.4])
        d = bootstrap_difference(wrong[:, 1:], wrong[:, :1], resampling=Resampling(200, seed=k))
        hits += d.low <= 0.1 <= d.high
        narrower += d.high - d.low < 2 * 1.96 * math.sqrt((0.3 * 0.7 + 0.4 * 0.6) / 200)
    assert hits / 400 == pytest.approx(0.95, abs=3 * math.sqrt(0.95 * 0.05 / 400))
    assert narrower > 380  # than the interval of two independent models


def test_memory_is_bounded():
    """The weights of all 1000 resamples at once would take 153 MiB; blocks of them take 32."""
    columns = np.random.default_rng(0).random((20_000, 20))
    tracemalloc.start()
    bootstrap(columns, lambda m: m.mean(axis=-1))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60 * 2**20
