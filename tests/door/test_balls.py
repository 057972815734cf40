"""Balls: the laws that uniform points obey, and that a point's noise depends on nothing but its key.

The draws are fixed by their keys, so a test that passes once passes always. Bounds are five standard errors, and
p-values above 1e-3, so that no draw had to be chosen for its luck.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy import stats

from scuff import balls, kernels
from scuff.balls import ball_offsets, sample_ball
from scuff.random import image_keys

NORMS = (1, 1.5, 2, 3, 20, "inf")
KEYS = image_keys("test/balls", 0, torch.arange(2500))
LEAST_P = 1e-3


def lengths(offsets: torch.Tensor, norm: float | str) -> np.ndarray:
    return torch.linalg.vector_norm(offsets.flatten(1).double(), float(norm), dim=1).numpy()


def follows(values: np.ndarray | torch.Tensor, law: str, *parameters: float) -> bool:
    return stats.kstest(np.asarray(values, np.float64), law, parameters).pvalue > LEAST_P


# --- laws -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("d", [1, 2, 11, 3072])
def test_the_share_of_the_ball_inside_of_a_point_is_uniform(norm, d):
    """(norm / radius)^d is that share. Float32 rounds each coordinate by 6e-8 at most, and the length by no more."""
    length = lengths(ball_offsets(KEYS[: 2500 if d < 100 else 300], (d,), norm), norm)
    assert length.max() <= 1 + 1e-7
    share = length**d
    assert abs(share.mean() - 0.5) < 5 * math.sqrt(1 / 12 / len(share))
    assert follows(share, "uniform")


@pytest.mark.parametrize("norm", NORMS[:-1])
@pytest.mark.parametrize("d", [2, 50])
def test_a_coordinate_follows_its_law(norm, d):
    """|v_1|^p of a uniform point in the Lp ball is Beta(1/p, 1 + (d - 1)/p), and signs are fair."""
    offsets = ball_offsets(KEYS, (d,), norm)
    for k in (0, d - 1):
        assert follows(offsets[:, k].double().abs() ** norm, "beta", 1 / norm, 1 + (d - 1) / norm)
        assert abs(float(offsets[:, k].sign().mean())) < 5 / math.sqrt(len(offsets))


def test_coordinates_of_a_cube_are_uniform_and_independent():
    offsets = ball_offsets(KEYS, (4,))
    for k in range(4):
        assert follows(offsets[:, k], "uniform", -1, 2)
    correlations = torch.corrcoef(offsets.T) - torch.eye(4)
    assert float(correlations.abs().max()) < 5 / math.sqrt(len(offsets))


@pytest.mark.parametrize("norm", NORMS[:-1])
def test_agrees_with_rejection_from_the_cube(norm):
    """In two dimensions, points of the square that are in the ball: compared by angle and by the sum of coordinates."""
    square = np.random.default_rng(0).uniform(-1, 1, (20_000, 2))
    accepted = square[(np.abs(square) ** norm).sum(1) <= 1]
    ours = ball_offsets(KEYS, (2,), norm).double().numpy()
    for statistic in (lambda v: np.arctan2(v[:, 1], v[:, 0]), lambda v: v[:, 0] + v[:, 1]):
        assert stats.ks_2samp(statistic(ours), statistic(accepted)).pvalue > LEAST_P


@pytest.mark.parametrize("p", [1.0, 1.01, 1.5, 3.0, 50.0])
def test_patterns_have_the_density_of_their_norm(p):
    """exp(-|v|^p): |v|^p is Gamma(1/p). A hundred thousand draws tell distributions apart by half a per cent."""
    pattern = balls._draw_pattern(KEYS[:200], 500, p).flatten().double()
    assert follows(pattern.abs() ** p, "gamma", 1 / p)
    assert abs(float(pattern.sign().mean())) < 5 / math.sqrt(len(pattern))


def test_gamma_variates_find_an_accepted_proposal():
    """The stand-in for none of six would be seen by its value; of two, it would stand here a hundred times."""
    assert not bool((balls.gamma_variates(KEYS[:50], 1000, 1.5) == 1.5 - 1 / 3).any())


@pytest.mark.parametrize("shape", [1.0, 7.5])
def test_gamma_variates_of_any_shape_from_1(shape):
    assert follows(balls.gamma_variates(KEYS[:200], 500, shape).flatten().double(), "gamma", shape)
    with pytest.raises(ValueError, match=r"a shape of at least 1, got 0\.5"):
        balls.gamma_variates(KEYS[:1], 1, 0.5)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("d", [1, 2, 50])
def test_a_surface_is_at_distance_1(norm, d):
    np.testing.assert_allclose(lengths(ball_offsets(KEYS[:2000], (d,), norm, surface=True), norm), 1, atol=1e-7)


def test_surfaces_are_uniform():
    circle = ball_offsets(KEYS, (2,), 2, surface=True)
    assert follows(torch.atan2(circle[:, 1], circle[:, 0]), "uniform", -math.pi, 2 * math.pi)
    rhombus = ball_offsets(KEYS, (2,), 1, surface=True)
    assert follows(rhombus[:, 0], "uniform", -1, 2)
    cube = ball_offsets(KEYS, (3,), surface=True)
    faces = cube.abs() == 1
    assert bool((faces.sum(1) == 1).all())
    for k in range(3):
        on_face = cube[faces[:, k]]
        assert abs(len(on_face) - len(cube) / 3) < 5 * math.sqrt(len(cube) * 2 / 9)
        assert abs(float(on_face[:, k].mean())) < 5 / math.sqrt(len(on_face))
        assert follows(on_face[:, (k + 1) % 3], "uniform", -1, 2)


@pytest.mark.parametrize("norm", [1, 2, 3, "inf"])
def test_a_pattern_of_zeros_is_no_nan(monkeypatch, norm):
    """So rare that no key is known which leads there."""
    monkeypatch.setattr(balls, "_draw_pattern", lambda keys, d, p: torch.zeros(len(keys), d))
    assert ball_offsets(KEYS[:3], (2,), norm, surface=True).tolist() == [[1.0, 0.0]] * 3


# --- what noise depends on ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 9, 11)])
def test_noise_does_not_depend_on_the_batch(norm, shape):
    ids = torch.arange(100, 137)
    x = torch.rand(37, *shape, generator=torch.Generator().manual_seed(0))
    for options in ({}, {"surface": True}):
        y = sample_ball(x, ids, 0.1, norm, **options)
        assert torch.equal(sample_ball(x.flip(0), ids.flip(0), 0.1, norm, **options).flip(0), y)
        for k in (0, 17, 36):
            assert torch.equal(sample_ball(x[k : k + 1], ids[k : k + 1], 0.1, norm, **options)[0], y[k])
    assert sample_ball(x[:0], ids[:0], 0.1, norm).shape == (0, *shape)


@pytest.mark.parametrize("norm", NORMS)
def test_back_ends_agree(norm):
    """To a few units in the last place. Of a million gamma variates, one may be accepted here and not there."""
    ours = ball_offsets(KEYS[:20], (500,), norm)
    with kernels.use_backend("reference"):
        plain = ball_offsets(KEYS[:20], (500,), norm)
    agree = ((ours - plain).abs() < 1e-6).all(1)
    assert int(agree.sum()) >= (18 if norm in (1.5, 3, 20) else 20)


def test_copies_seeds_and_ids_are_independent():
    x, ids = torch.zeros(200, 100), torch.arange(200)
    first = sample_ball(x, ids, 1.0).flatten()
    for other in (sample_ball(x, ids, 1.0, copy=1), sample_ball(x, ids, 1.0, seed=1), sample_ball(x, ids + 200, 1.0)):
        r = torch.corrcoef(torch.stack((first, other.flatten())))[0, 1]
        assert abs(float(r)) < 5 / math.sqrt(len(first))
    shared = sample_ball(x, torch.zeros_like(ids), 1.0)
    assert torch.equal(shared, shared[:1].expand_as(shared))


@pytest.mark.parametrize("norm", NORMS)
def test_a_point_moves_in_the_same_direction_at_all_radii(norm):
    x, ids = torch.zeros(50, 6, dtype=torch.float64), torch.arange(50)
    near, far = (sample_ball(x, ids, radius, norm) for radius in (0.5, 4.0))
    assert torch.equal(8 * near, far)


# --- bounds and types -------------------------------------------------------------------------------------------------


def test_truncation_is_uniform_on_what_is_left_of_the_box():
    values = torch.tensor([0.0, 0.03, 0.5, 0.97, 1.0], dtype=torch.float64)
    y = sample_ball(values.expand(5000, 5), torch.arange(5000), 0.1, bounds="truncate")
    assert float(y.min()) >= 0
    assert float(y.max()) <= 1
    for k, value in enumerate(values.tolist()):
        low, high = max(value - 0.1, 0), min(value + 0.1, 1)
        assert abs(float(y[:, k].mean()) - (low + high) / 2) < 5 * (high - low) / math.sqrt(12 * len(y))
        assert follows(y[:, k], "uniform", low, high - low)  # no mass on 0 and 1 either


def test_truncation_of_a_value_outside_ends_at_the_bound():
    y = sample_ball(torch.tensor([[-0.5, 1.5]]), torch.arange(1), 0.1, bounds="truncate")
    assert y.tolist() == [[0.0, 1.0]]


@pytest.mark.parametrize("norm", NORMS)
def test_clipping_comes_after_the_noise(norm):
    x = torch.rand(200, 5, generator=torch.Generator().manual_seed(0))
    ids = torch.arange(200)
    free = sample_ball(x, ids, 0.4, norm)
    assert not torch.equal(free, free.clamp(0, 1))
    assert torch.equal(sample_ball(x, ids, 0.4, norm, bounds="clip"), free.clamp(0, 1))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("bounds", balls.BOUNDS)
def test_the_type_stays_and_the_input_too(dtype, bounds):
    x = torch.rand(9, 4, generator=torch.Generator().manual_seed(0)).to(dtype)
    before, ids = x.clone(), torch.arange(9)
    y = sample_ball(x, ids, 0.2, bounds=bounds)
    assert y.dtype == dtype
    assert not torch.equal(y, x)
    same = sample_ball(x, ids, 0.0, bounds=bounds)
    assert torch.equal(same, x)
    same.zero_()
    y.zero_()
    assert torch.equal(x, before)
    wide = sample_ball(x.double(), ids, 0.2, bounds=bounds)  # the same noise, up to rounding to the type of x
    rounding = torch.finfo(dtype).eps if dtype != torch.float64 else 1e-15
    assert float((sample_ball(x, ids, 0.2, bounds=bounds).double() - wide).abs().max()) <= rounding


# --- mistakes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"x": torch.zeros(4, 2, dtype=torch.uint8)}, r"got torch.uint8 of shape \(4, 2\); divide bytes by 255"),
        ({"x": np.zeros((4, 2))}, "float tensor .* got ndarray"),
        ({"x": torch.tensor(1.0)}, r"got torch.float32 of shape \(\)"),
        ({"x": torch.zeros(4, 0)}, r"at least one coordinate, got the shape \(0,\)"),
        ({"ids": torch.arange(3)}, r"4 points need as many ids .* got torch.int64 of shape \(3,\)"),
        ({"ids": torch.zeros(4)}, "ids as an int64 tensor"),
        ({"ids": [0, 1, 2, 3]}, "got list"),
        ({"radius": -0.1}, "finite number of at least 0, got -0.1"),
        ({"radius": math.nan}, "finite number of at least 0, got nan"),
        ({"radius": math.inf}, "finite number of at least 0, got inf"),
        ({"norm": 0.5}, "p from 1 to 100"),
        ({"bounds": "cut"}, "bounds must be one of none, clip, truncate, got 'cut'"),
        ({"bounds": "truncate", "norm": 2}, "got an L2 ball; use 'clip' or 'none'"),
        ({"bounds": "truncate", "surface": True}, "got the surface of a ball"),
    ],
)
def test_impossible_balls_are_refused(changes, words):
    arguments = {"x": torch.zeros(4, 2), "ids": torch.arange(4), "radius": 0.1, **changes}
    with pytest.raises(ValueError, match=words):
        sample_ball(**arguments)
