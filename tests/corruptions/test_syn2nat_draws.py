"""The 40 candidates of ImageNet-Syn2Nat: how their draws are distributed.

What the pixels become of the draws is tested in test_syn2nat.py.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from laws import (
    ALARM,
    assert_normal,
    assert_shares,
    assert_uniform,
    assert_unrelated,
    draw,
)
from scipy import stats

import scuff
from scuff import door

SUITE = scuff.load_suite("syn2nat-candidates")
ENTRIES = list(SUITE.entries)
ORDERS = list(itertools.permutations(range(4)))


def _address(entry: str) -> str:
    return f"syn2nat-candidates/{entry}"


def _used(d: dict) -> np.ndarray:
    return d["kinds"] >= 0


def _whole(values: np.ndarray) -> np.ndarray:
    """Numbers that must be whole, as such."""
    whole = np.round(values).astype(int)
    assert np.allclose(whole, values, atol=1e-4)
    return whole


def _alpha(d: dict) -> np.ndarray:
    return -d["weights"][:, 0]


def _lightness(d: dict) -> np.ndarray:
    """The kernel's sum is 1 - alpha + alpha lightness."""
    return 1 + (d["weights"].sum(1) - 1) / _alpha(d)


UNIFORM = [
    ("affines", "factor", lambda d: d["factor"], 0.6, 0.8),
    ("rotate", "degrees", lambda d: np.degrees(d["angle"]), -180.0, 180.0),
    ("transpose", "down", lambda d: d["offset"][:, 0] / 224, -0.7, 0.7),
    ("transpose", "across", lambda d: d["offset"][:, 1] / 224, -0.7, 0.7),
    ("flip", "way", lambda d: d["way"], 0, 2),
    ("elastic_transform", "pull", lambda d: d["pull"], -1.0, 1.0),
    ("grid_distortion", "down", lambda d: d["down"], 0.0, 2.0),
    ("grid_distortion", "across", lambda d: d["across"], 0.0, 2.0),
    ("optical_distortion", "bend", lambda d: d["bend"], -4.0, 4.0),
    ("cutout", "row", lambda d: d["centre"][:, 0], 0, 224),
    ("cutout", "column", lambda d: d["centre"][:, 1], 0, 224),
    ("coarse_dropout", "count", lambda d: _used(d).sum(1), 16, 48),
    ("coarse_dropout", "place", lambda d: d["places"][_used(d)], 0, 216),
    ("blur", "size", lambda d: (d["side"] - 5) // 2, 0, 2),
    ("median_blur", "radius", lambda d: d["radius"], 2, 5),
    ("sharpen", "alpha", _alpha, 0.3, 0.6),
    ("sharpen", "lightness", _lightness, 0.6, 1.0),
    ("emboss", "strength", lambda d: d["weights"][:, 5], 0.2, 0.7),
    ("image_compression", "quality", lambda d: d["quality"], 5, 15),
    ("jpeg_compression", "quality", lambda d: d["quality"], 5, 15),
    ("iso_noise", "intensity", lambda d: d["intensity"], 0.5, 1.0),
    ("random_brightness", "shift", lambda d: d["shift"] / 255, -0.9, 0.9),
    ("random_contrast", "gain", lambda d: d["gain"], -0.5, 2.5),
    ("random_gamma", "gamma", lambda d: _whole(100 * d["gamma"]), 300, 1000),
    ("random_fog", "strength", lambda d: d["strength"], 0.8, 1.0),
    ("random_rain", "row", lambda d: d["places"][..., 0], 0, 204),
    ("random_shadow", "count", lambda d: d["count"], 2, 4),
    ("random_shadow", "corner", lambda d: d["corners"], 0, 224),
    ("random_snow", "threshold", lambda d: d["threshold"], 97.75, 123.25),
    ("random_sun_flare", "row", lambda d: _whole(d["sun"][:, 0]), 0, 111),
    ("random_sun_flare", "column", lambda d: _whole(d["sun"][:, 1]), 0, 223),
    ("random_sun_flare", "circles", lambda d: (d["share"] > 0).sum(1), 6, 10),
    ("random_sun_flare", "alpha", lambda d: d["share"][d["share"] > 0], 0.05, 0.2),
    ("random_sun_flare", "along", lambda d: _whole(d["places"][..., 1] / 10), 0, 22),
    ("random_sun_flare", "radius", lambda d: (_whole(d["reach"]) - 1) // 7, 0, 1),
    ("random_sun_flare", "colour", lambda d: _whole(255 * d["colour"]), 205, 255),
    ("channel_dropout", "channel", lambda d: d["dropped"].argmax(1), 0, 2),
    ("color_jitter", "factors", lambda d: d["factors"], 0.3, 1.7),
    ("color_jitter", "hue", lambda d: d["hue"] / 180, -0.7, 0.7),
    ("hue_saturation_value", "hue", lambda d: d["hue"], -100.0, 100.0),
    ("hue_saturation_value", "saturation", lambda d: d["saturation"], -150.0, 150.0),
    ("hue_saturation_value", "value", lambda d: d["value"], -100.0, 100.0),
    ("rgb_shift", "shift", lambda d: d["shift"], -200.0, 200.0),
]


@pytest.mark.parametrize(("entry", "what", "values", "low", "high"), UNIFORM)
def test_draws_are_uniform(entry: str, what: str, values: Callable, low: float, high: float) -> None:
    count = 8000 if what == "gamma" else 2000  # enough to meet both ends
    drawn = values(draw(_address(entry), count, (8, 8) if entry == "iso_noise" else (224, 224), seed=1))
    slack = 1e-5 * (high - low) if isinstance(low, float) else 0  # ends, and what was divided, in float32
    assert_uniform(drawn, low - slack, high + slack)


SHARES = [
    ("gaussian_blur", lambda d: ((d["weights"] > 0).sum(1) - 9) // 2, (1 / 5, 2 / 5, 2 / 5)),
    ("optical_distortion", lambda d: _whole(d["offset"]) + 4, (1 / 16, *[1 / 8] * 7, 1 / 16)),
    ("color_jitter", lambda d: np.array([ORDERS.index(order) for order in map(tuple, d["order"])]), [1 / 24] * 24),
    # discs: three times floor(floor(74 f) / 10), with f uniform between 0.8 and 1
    ("random_fog", lambda d: d["used"].sum(1) // 3 - 5, ((60 / 74 - 0.8) / 0.2, (10 / 74) / 0.2, (1 - 70 / 74) / 0.2)),
]


@pytest.mark.parametrize(("entry", "values", "shares"), SHARES)
def test_draws_with_other_chances(entry: str, values: Callable, shares: tuple[float, ...]) -> None:
    assert_shares(values(draw(_address(entry), 3000, seed=1)), shares)


INDEPENDENT = [
    ("transpose", lambda d: d["offset"].T),
    ("grid_distortion", lambda d: np.concatenate((d["down"], d["across"]), axis=1).T),
    ("cutout", lambda d: d["centre"].T),
    ("sharpen", lambda d: (_alpha(d), _lightness(d))),
    ("color_jitter", lambda d: (*d["factors"].T, d["hue"], d["order"][:, 0])),
    ("hue_saturation_value", lambda d: (d["hue"], d["saturation"], d["value"])),
    ("rgb_shift", lambda d: d["shift"].T),
    ("random_sun_flare", lambda d: (*d["sun"].T, d["reach"][:, 0], d["share"][:, 0], d["colour"][:, 0, 0])),
]


@pytest.mark.parametrize(("entry", "columns"), INDEPENDENT)
def test_draws_are_independent(entry: str, columns: Callable) -> None:
    assert_unrelated(*columns(draw(_address(entry), 2000, seed=2)))


def test_sharpen_and_emboss_kernels() -> None:
    plan = door.resolve("sharpen", parameters={"alpha": 0.5, "lightness": 0.8})
    kernel = plan.corruption.drawn(torch.zeros(1, dtype=torch.int64), (3, 8, 8), plan.parameters)["weights"][0]
    ring = [-0.5] * 4
    assert kernel.tolist() == pytest.approx([*ring, (1 - 0.5) + 0.5 * (8 + 0.8), *ring])
    s = 0.3
    kernel = draw(_address("emboss"), 1, severity=s)["weights"][0]
    assert kernel.tolist() == pytest.approx([-1 - s, -s, 0, -s, 1, s, 0, s, 1 + s])


def test_perspective_corners_are_folded_normal() -> None:
    """With a scale of 0.2, where the remainder after 1 has no effect; and inside the unit interval always."""
    inset = draw(_address("perspective"), 500, severity=0.2)["inset"]
    assert stats.kstest(inset.ravel() / 0.2, stats.halfnorm.cdf).pvalue > ALARM
    drawn = draw(_address("perspective"), 3000)["inset"]
    assert drawn.min() >= 0
    assert drawn.max() < 1
    # E a^2 = E s^2 = (0.1^2 + 0.1 * 0.3 + 0.3^2) / 3; five standard errors, and 0.0006 that fold back at 1
    assert (drawn**2).mean() == pytest.approx(0.13 / 3, abs=5 * 0.08 / math.sqrt(drawn.size / 8) + 6e-4)


def test_noises() -> None:
    shape = (24, 24)
    assert_normal(255 * draw(_address("gauss_noise"), 20, shape, severity=750.0)["noise"] / math.sqrt(750))
    variances = (255 * draw(_address("gauss_noise"), 1000, (32, 32))["noise"]).var((1, 2, 3))
    assert stats.kstest(variances, stats.uniform(500, 500).cdf).pvalue > ALARM
    factor = draw(_address("multiplicative_noise"), 20, shape)["factor"]
    assert factor.shape == (20, 1, *shape)  # one for the three channels
    assert_uniform(factor, 0.7 - 1e-6, 1.3 + 1e-6)


def test_iso_noise_draws() -> None:
    draws = draw(_address("iso_noise"), 1000, (32, 32))
    assert_uniform(draws["u"][:50], 0.0, 1.0)
    share = draws["turn"] / draws["intensity"][:, None, None]
    shifts = share.std((1, 2))  # of 1024 values, so to 2 %, which such a test does not see
    assert stats.kstest(shifts, stats.uniform(0.2, 0.3).cdf).pvalue > ALARM
    assert_normal((share / shifts[:, None, None])[:50])
    assert_unrelated(draws["intensity"], shifts)


def _column_shares() -> np.ndarray:
    """Where streaks of rain begin, -9..224: a hidden slant t in -9..9 leaves 0..224 - t, or t..224 if negative."""
    shares = np.zeros(234)
    for t in range(-9, 10):
        places = np.arange(0, 224 - t + 1) if t >= 0 else np.arange(t, 224 + 1)
        shares[places + 9] += (0.1 if t == 0 else 0.05) / len(places)
    return shares


def test_rain_draws() -> None:
    places = draw(_address("random_rain"), 20000)["places"]
    assert places.shape == (20000, 83, 2)
    first = places[:, 0, 1] + 9  # one streak per image: those of one share a slant
    assert_shares(first, _column_shares())
    ends = np.array([9, 214, 224])  # more powerful: before column 0, up to 204, up to 214, up to 224
    assert_shares(np.searchsorted(ends, first, side="right"), np.add.reduceat(_column_shares(), [0, *ends]))
    assert_uniform(places[:, 0, 0], 0, 204)


@pytest.mark.parametrize("size", [59, 74])
def test_fog_discs_lie_in_two_rings(size: int) -> None:
    """By the law of the margins: 112 - 2h and 112 - h at first, both floor(1.5 h) less in the second ring."""
    draws = draw(_address("random_fog"), 600, severity=0.8 if size == 59 else 1.0)
    assert (draws["size"] == size).all()
    each, left, top = size // 10, 112 - 2 * size, 112 - size
    rings = np.split(draws["places"][:, draws["used"][0]] - size // 2, [each], axis=1)
    assert [ring.shape[1] for ring in rings] == [each, 2 * each]
    for ring in rings:
        assert_uniform(ring[..., 1], left, 224 - left - size)
        assert_uniform(ring[..., 0], top, 224 - top - size)
        left, top = left - 3 * size // 2, top - 3 * size // 2


def test_flares_lie_on_a_line_through_the_sun() -> None:
    draws = draw(_address("random_sun_flare"), 1500)
    sun, y, x = draws["sun"].astype(float), draws["places"][..., 0], draws["places"][..., 1] - draws["sun"][:, 1:]
    far = np.abs(x).argmax(1)[:, None]
    slope = (sun[:, :1] - np.take_along_axis(y, far, 1)) / np.take_along_axis(x, far, 1)
    # whole rows, of which the farthest gives the slope: two roundings
    assert (np.abs(y - (sun[:, :1] - slope * x)) <= 2 + 1e-5 * np.abs(y)).all()
    # the angle is uniform; rows are whole, so it is known to 1/30 of a radian at worst, which such a test does not see
    assert stats.kstest(np.arctan(slope[:, 0]), stats.uniform(-np.pi / 2, np.pi).cdf).pvalue > ALARM


def test_one_channel_is_dropped() -> None:
    assert (draw(_address("channel_dropout"), 200)["dropped"].sum(1) == 1).all()
