"""Streams on a GPU are those of the CPU, byte for byte."""

import numpy as np
import pytest
import torch

import scuff


@pytest.mark.parametrize(
    "recipe",
    ["mixed_domains:limit=60", "gradual:limit=20,together=2", "recurring:limit=50,visits=1", "label_shift:samples=40"],
)
def test_a_gpu_makes_the_same(recipe):
    rng = np.random.default_rng(0)
    source = scuff.data.array_source("noise", rng.integers(0, 256, (60, 32, 32, 3), np.uint8), np.arange(60) % 10)
    here, there = (scuff.stream(source, recipe, seed=3, device=device) for device in ("cpu", "cuda"))
    assert here.segments == there.segments
    assert here.fingerprint == there.fingerprint
    for mine, theirs in zip(here.batches(64), there.batches(64), strict=True):
        assert theirs.images.is_cuda
        for a, b in zip(mine, theirs, strict=True):
            assert torch.equal(a, b.cpu())
    assert torch.equal(here[17].image, there[17].image.cpu())
