"""Balls on a CUDA device agree with those on the CPU. Collected only where there is a device."""

from __future__ import annotations

import pytest
import torch

from scuff.balls import ball_offsets, sample_ball
from scuff.random import image_keys

pytestmark = pytest.mark.cuda

NORMS = (1, 1.5, 2, 3, "inf")


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("shape", [(), (2,), (3, 32, 32)])
@pytest.mark.parametrize("surface", [False, True])
def test_agrees_with_cpu(norm, shape, surface):
    """Normal draws differ by a few units in the last place, and so do offsets.

    Of a million gamma variates, one may be accepted by one device and not by the other. That changes the length of its
    pattern, and so the whole point.
    """
    keys = image_keys("ball", 0, torch.arange(200))
    cpu = ball_offsets(keys, shape, norm, surface=surface)
    gpu = ball_offsets(keys.cuda(), shape, norm, surface=surface)
    assert gpu.device.type == "cuda"
    agree = ((gpu.cpu() - cpu).abs() <= 2e-6).reshape(len(keys), -1).all(1)
    assert int(agree.sum()) >= (190 if norm in (1.5, 3) else 200)


@pytest.mark.parametrize("norm", NORMS)
def test_does_not_depend_on_the_batch(norm):
    x = torch.rand(37, 3, 9, 11, device="cuda")
    ids = torch.arange(37, device="cuda")
    y = sample_ball(x, ids, 0.1, norm)
    for k in (0, 17, 36):
        assert torch.equal(sample_ball(x[k : k + 1], ids[k : k + 1], 0.1, norm)[0], y[k])
    assert torch.equal(sample_ball(x, ids.cpu(), 0.1, norm), y)


def test_truncation_is_the_same_on_both():
    """Uniform numbers are equal bit for bit; a fused multiply-add may round once less."""
    x = torch.rand(50, 3, 32, 32)
    cpu = sample_ball(x, torch.arange(50), 0.1, bounds="truncate")
    gpu = sample_ball(x.cuda(), torch.arange(50), 0.1, bounds="truncate")
    assert float((gpu.cpu() - cpu).abs().max()) <= 1.2e-7
