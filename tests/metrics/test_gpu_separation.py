"""Class separation on a CUDA device. Collected only where there is one."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from scuff.metrics import class_separation, class_separations, nearest_other_class

pytestmark = pytest.mark.cuda


def made_images(n: int, dtype: type) -> tuple[np.ndarray, np.ndarray]:
    """Images of blocks of 8 x 8 pixels with a little noise, of seven classes."""
    draw = np.random.default_rng(0)
    x = np.kron(draw.integers(40, 216, (n, 4, 4, 3)), np.ones((1, 8, 8, 1), int)) + draw.integers(
        -30, 31, (n, 32, 32, 3)
    )
    return (x.astype(np.uint8) if dtype == np.uint8 else x.astype(dtype) / 255), draw.integers(0, 7, n)


@pytest.mark.parametrize("norm", [1, 2, 2.5, math.inf])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
def test_the_same_to_the_last_bit(norm, dtype):
    x, labels = made_images(700, dtype)
    assert class_separation(x, labels, norm, device="cuda") == class_separation(x, labels, norm)
    ours, theirs = (nearest_other_class(x, labels, norm, device=device) for device in ("cuda", "cpu"))
    np.testing.assert_array_equal(ours.distances, theirs.distances)
    np.testing.assert_array_equal(ours.rows, theirs.rows)
    ours, theirs = (class_separations(x, labels, norm, device=device) for device in ("cuda", "cpu"))
    assert ours.equals(theirs)


def test_ties_and_few_features():
    x = np.random.default_rng(0).integers(0, 5, (3000, 9), dtype=np.uint8)
    labels = x[:, 0].astype(int) // 2 + 3 * (x[:, 1] > 2)
    for norm in (1, 2, math.inf):
        assert class_separation(x, labels, norm, device="cuda") == class_separation(x, labels, norm)
        ours, theirs = (nearest_other_class(x, labels, norm, device=device) for device in ("cuda", "cpu"))
        np.testing.assert_array_equal(ours.rows, theirs.rows)


def test_memory_is_bounded():
    """Twenty thousand points; what a GPU holds beside them stays below 8 GiB."""
    x, labels = made_images(20_000, np.uint8)
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    class_separation(x, labels, 2, device="cuda")
    assert torch.cuda.max_memory_allocated() < 8 * 2**30
