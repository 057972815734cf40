"""Class separation of the data of the paper. Collected only where SCUFF_DATA names a folder that holds them."""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
import pytest

from scuff.metrics import class_separation, class_separations, nearest_other_class

DATA = Path(os.environ["SCUFF_DATA"])


@pytest.fixture(scope="module")
def cifar() -> tuple[np.ndarray, np.ndarray]:
    """Training and test images together."""
    with np.load(DATA / "cifar10" / "cifar10.npz") as file:
        images, labels = (np.concatenate([file[f"{key}_train"], file[f"{key}_test"]]) for key in "xy")
    return images, labels.ravel().astype(int)


def test_the_points_of_the_paper():
    """Table 1: 0.008026, by a pair that the specification names."""
    with np.load(DATA / "B_sep.npz") as file:
        x, labels = file["x"], file["y"]
    found = class_separation(x, labels)
    assert found.distance == pytest.approx(0.008025590518030978, rel=1e-13)
    pair = x[list(found.rows)][np.argsort(found.labels)]
    np.testing.assert_allclose(pair, [[0.59289965, 0.69091871], [0.60092524, 0.6936274]], atol=5e-9)
    neighbours = nearest_other_class(x, labels)
    assert neighbours.distances.mean() == pytest.approx(0.067214, abs=5e-7)
    assert neighbours.separation(labels) == found


def test_cifar10_in_l_infinity(cifar):
    """54/255 exactly, by one pair of training images."""
    images, labels = cifar
    found = class_separation(images, labels)
    assert found.distance == 54 / 255
    assert found.rows == (33862, 38299)
    assert np.abs(np.diff(images[list(found.rows)].astype(int), axis=0)).max() == 54
    assert labels[33862] != labels[38299]


@pytest.mark.parametrize(("norm", "rows"), [(2, (23157, 31426)), (1, (5867, 9881))])
def test_cifar10_in_other_norms(cifar, norm, rows):
    """No pair of one of a hundred images and any other is nearer than the pair that was found."""
    images, labels = cifar
    found = class_separation(images, labels, norm)
    assert found.rows == rows
    flat = images.reshape(len(images), -1).astype(np.float32)
    gaps = np.abs(flat[rows[0]] - flat[rows[1]])
    assert found.distance == pytest.approx(np.linalg.norm(gaps.astype(float) / 255, norm), rel=1e-14)
    nearest = brute_force(flat, labels, np.arange(0, 60_000, 600), norm)
    assert nearest.min() / 255 >= found.distance * (1 - 1e-5)  # single precision


def brute_force(flat: np.ndarray, labels: np.ndarray, rows: np.ndarray, norm: float) -> np.ndarray:
    import torch

    x, y = torch.from_numpy(flat), torch.from_numpy(labels)
    exactly = "donot_use_mm_for_euclid_dist"
    nearest = []
    for part in rows.reshape(-1, 20):
        distances = torch.cdist(x[part], x, p=norm, compute_mode=exactly)
        nearest.append(distances.masked_fill(y[part, None] == y, math.inf).amin(dim=1))
    return torch.cat(nearest).numpy()


def test_cifar10_for_each_point(cifar):
    """Every third image: distances to the nearest image of another class, some of them against brute force."""
    images, labels = cifar[0][::3], cifar[1][::3]
    found = nearest_other_class(images, labels)
    rows = np.arange(0, 20_000, 200)
    flat = images.reshape(len(images), -1).astype(np.float32)
    np.testing.assert_array_equal(found.distances[rows] * 255, brute_force(flat, labels, rows, math.inf))
    pairs = class_separations(images, labels)
    assert pairs["distance"].min() == found.quantile(0)
    assert class_separation(images, labels) == found.separation(labels)
