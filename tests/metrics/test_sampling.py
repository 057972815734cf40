"""A sample of all passes: its order, and that intervals cover what the full run gives as often as they say."""

import math

import numpy as np
import pytest

from scuff.metrics import mce, mean_error, read_cells
from scuff.metrics.evaluation.examples import example_rows
from scuff.metrics.sampling.estimate import Control, Sample, estimate_sampled
from scuff.metrics.sampling.plan import SamplingPlan
from scuff.metrics.sampling.scores import sampled_scores


@pytest.mark.parametrize("cells", [75, 50, 95, 10, 5, 1])
def test_every_beginning_is_balanced_and_the_end_is_everything(cells):
    plan = SamplingPlan(images=101, cells=cells, seed=3)
    images, places = plan.steps(0, len(plan))
    assert len(set(zip(images.tolist(), places.tolist(), strict=True))) == 101 * cells == len(plan)
    assert math.gcd(plan.stride, cells) == 1
    for steps in (cells, 101, 150, 7 * 101):
        images, places = plan.steps(0, min(steps, len(plan)))
        visits = -(-len(images) // 101)
        assert np.ptp(np.bincount(places, minlength=cells)) <= visits
        assert np.ptp(np.bincount(images, minlength=101)) <= 1


def test_parts_of_a_plan_are_parts_of_the_whole():
    plan = SamplingPlan(images=20, cells=6)
    whole, parts = plan.steps(0, 120), [plan.steps(start, start + 37) for start in range(0, 120, 37)]
    for place in (0, 1):
        np.testing.assert_array_equal(whole[place], np.concatenate([part[place] for part in parts]))


def table(images=600, cells=20, seed=0):
    """Right and wrong of images that differ much, as those of real models do, and their clean results."""
    rng = np.random.default_rng(seed)
    ability = rng.normal(size=(images, 1))
    latent = (
        0.7 * ability
        + 0.5 * rng.normal(size=(images, cells // 5)).repeat(5, 1)
        + 0.5 * rng.normal(size=(images, cells))
    )
    clean = (0.8 * ability[:, 0] + 0.6 * rng.normal(size=images)) > 1
    return latent > rng.normal(0.2, 0.5, cells), np.column_stack([clean, rng.random(images)])


def coverage(wrong, steps, of="these", control=None, runs=400, truth=None):
    weights = np.full(wrong.shape[1], 1 / wrong.shape[1])
    truth = wrong.mean() if truth is None else truth
    hits = widths = 0.0
    for seed in range(runs):
        images, cells = SamplingPlan(*wrong.shape, seed).steps(0, steps)
        score = estimate_sampled(
            Sample(wrong[images, cells], images, cells, len(wrong)), weights, of=of, control=control
        )
        hits, widths = hits + (score.low <= truth <= score.high), widths + score.high - score.low
    return hits / runs, widths / runs


@pytest.mark.parametrize("steps", [300, 1500, 6000])
def test_intervals_for_these_images_cover_the_full_run(steps):
    # 0.95 and three standard errors of 400 runs below; above, one that never misses would be too wide.
    share, _ = coverage(table()[0], steps)
    assert 0.95 - 3 * np.sqrt(0.95 * 0.05 / 400) <= share <= 0.99


def test_clusters_must_not_be_ignored():
    wrong = table()[0]
    weights = np.full(20, 1 / 20)
    missed = 0
    for seed in range(200):
        images = np.random.default_rng(seed).permutation(600)[:75].repeat(20)  # some images in all cells
        cells = np.tile(np.arange(20), 75)
        y = wrong[images, cells]
        apart = Sample(y, np.arange(len(y)), cells, 10**9)  # every pass taken for another image
        score = estimate_sampled(apart, weights, of="like")
        missed += not score.low <= wrong.mean() <= score.high
    assert missed / 200 > 0.2


def test_a_control_makes_intervals_narrower_and_keeps_them_honest():
    wrong, clean = table()
    features = np.column_stack([clean, clean.prod(axis=1)])[:, None, :]
    other = (wrong ^ (np.random.default_rng(1).random(wrong.shape) < 0.1)).astype(float)[:, :, None]
    groups = np.arange(20) // 5
    plain = coverage(wrong, 600)
    for control in (Control(features, groups), Control(other, groups)):
        share, width = coverage(wrong, 600, control=control)
        assert width < plain[1]
        assert share >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 400)


def test_everything_tried_gives_the_scores_of_the_full_run():
    rows = example_rows()
    scores = sampled_scores(rows, 200, baseline={"fog": [0.5, 0.6], "snow": 0.7})
    assert scores["mean_error"].value == pytest.approx(mean_error(rows).value, abs=1e-12)
    assert scores["mce"].value == pytest.approx(mce(rows, baseline={"fog": [0.5, 0.6], "snow": 0.7}).value, abs=1e-12)
    assert scores["mce"].high - scores["mce"].low == 0
    cells = read_cells(rows)
    assert scores["clean_error"].value == pytest.approx(cells.wrong[0].mean())


def test_a_sample_without_two_images_of_a_cell_is_refused():
    with pytest.raises(ValueError, match="at least two images"):
        Sample(np.array([True, False, True]), np.arange(3), np.array([0, 0, 1]), 10)
    with pytest.raises(ValueError, match="more than the 5"):
        sampled_scores(example_rows(), 5)
