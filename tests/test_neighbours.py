"""The search for nearest neighbours in another class, against all distances of small sets of points."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from scuff.metrics.neighbours import ALL, CLASSES, POINTS, Given, open_searcher, search
from scuff.metrics.neighbours.best import Best, make_bars
from scuff.metrics.neighbours.blocks import choose_blocks, patches, single_features
from scuff.metrics.neighbours.device import Device
from scuff.metrics.neighbours.duplicates import find_conflicts
from scuff.metrics.neighbours.exact import pair_powers

NORMS = (1.0, 2.0, 2.5, math.inf)
MODES = (ALL, POINTS, CLASSES)


@pytest.fixture
def small_blocks(monkeypatch):
    """Leaves of three points, a first level of two blocks, and further levels for as few as four features."""
    monkeypatch.setattr("scuff.metrics.neighbours.tree.LEAF", 3)
    monkeypatch.setattr("scuff.metrics.neighbours.blocks.COARSE", 2)
    monkeypatch.setattr("scuff.metrics.neighbours.blocks.FINER", 2)
    monkeypatch.setattr("scuff.metrics.neighbours.blocks.SPARSE", 1)
    monkeypatch.setattr("scuff.metrics.neighbours.cores.TASKS", 4)


def made_points(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A small set of points of one of many kinds, most of them awkward: ties, duplicates, constants, offsets."""
    draw = np.random.default_rng(seed)
    n, shape = int(draw.integers(2, 40)), [(1,), (2,), (5,), (17,), (40,), (4, 5), (3, 4, 3)][seed % 7]
    kinds = (
        lambda: draw.integers(0, 256, (n, *shape), dtype=np.uint8),
        lambda: draw.integers(0, 4, (n, *shape), dtype=np.uint8) * 80,
        lambda: draw.normal(size=(n, *shape)).astype(np.float32),
        lambda: draw.integers(0, 3, (n, *shape)).astype(np.float64),
        lambda: 1e6 + draw.normal(size=(n, *shape)),
        lambda: draw.normal(size=(n, *shape)) * 10.0 ** draw.integers(-9, 9, shape),
        lambda: np.where(draw.random(shape) < 0.7, 0.25, draw.random((n, *shape))).astype(np.float32),
        lambda: draw.normal(size=(n, *shape))[draw.integers(0, n, n)],
    )
    x = kinds[seed % len(kinds)]()
    classes = int(draw.integers(2, min(n, 5) + 1))
    labels = np.append(np.arange(classes), draw.integers(0, classes, n - classes) if seed % 3 else [0] * (n - classes))
    labels = draw.permutation(labels)
    for group in find_conflicts(x.reshape(n, -1), labels):
        labels[group] = labels[group[0]]
    return x, labels


def all_powers(x: np.ndarray, p: float) -> np.ndarray:
    """All distances before the root is taken, in the arithmetic of the search."""
    first, second = map(np.ravel, np.indices((len(x), len(x))))
    given = Given(x, np.arange(len(x)) > 0, p, drop_duplicates=True) if False else None
    assert given is None
    raise NotImplementedError
