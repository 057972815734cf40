"""The search for nearest neighbours in another class, against all distances of small sets of points."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from scuff.metrics.separation.neighbours import ALL, CLASSES, POINTS, Given, open_searcher, search
from scuff.metrics.separation.neighbours.blocks import choose_blocks, patches, single_features
from scuff.metrics.separation.neighbours.device import Device
from scuff.metrics.separation.neighbours.exact import pair_powers
from scuff.metrics.separation.neighbours.given import find_conflicts
from scuff.metrics.separation.neighbours.search import Competition, make_bars

NORMS = (1.0, 2.0, 2.5, math.inf)
KINDS = 8


@pytest.fixture
def small_blocks(monkeypatch):
    """Leaves of three points, a first level of two blocks, and further levels from four features on."""
    monkeypatch.setattr("scuff.metrics.separation.neighbours.prepare.LEAF", 3)
    monkeypatch.setattr("scuff.metrics.separation.neighbours.scan.TASKS", 4)
    monkeypatch.setattr("scuff.metrics.separation.neighbours.blocks.COARSE", 2)
    monkeypatch.setattr("scuff.metrics.separation.neighbours.blocks.FINER", 2)
    monkeypatch.setattr("scuff.metrics.separation.neighbours.blocks.SPARSE", 2)


def made_points(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A small set of points of one of several kinds, most of them awkward: ties, duplicates, constants, offsets."""
    draw = np.random.default_rng(seed)
    n, shape = int(draw.integers(2, 40)), [(1,), (2,), (5,), (17,), (40,), (4, 5), (3, 4, 3)][seed // KINDS % 7]
    size = (n, *shape)
    x = [
        lambda: draw.integers(0, 256, size, dtype=np.uint8),
        lambda: draw.integers(0, 4, size, dtype=np.uint8) * np.uint8(80),
        lambda: draw.normal(size=size).astype(np.float32),
        lambda: draw.integers(0, 3, size).astype(np.float64),
        lambda: 1e6 + draw.normal(size=size),
        lambda: draw.normal(size=size) * 10.0 ** draw.integers(-9, 9, shape),
        lambda: np.where(draw.random(shape) < 0.7, 0.25, draw.random(size)).astype(np.float32),
        lambda: draw.normal(size=size)[draw.integers(0, n, n)],
    ][seed % KINDS]()
    x.reshape(n, -1)[0, 0] = 201  # so that not all points are the same
    classes = int(draw.integers(2, min(n, 5) + 1))
    others = draw.integers(0, classes, n - classes) if seed % 3 else np.zeros(n - classes, int)  # one large class
    labels = draw.permutation(np.append(np.arange(classes), others))
    for group in find_conflicts(x.reshape(n, -1), labels):
        labels[group] = labels[group[0]]
    if (labels == labels[0]).all():
        labels[(x != x[0]).reshape(n, -1).any(axis=1)] += 1
    return x, labels


def expected(given: Given) -> np.ndarray:
    """The powers of all distances between points of different classes; infinity for others."""
    points, n = given.prepared.points, len(given.labels)
    first, second = map(np.ravel, np.indices((n, n)))
    powers = pair_powers(points, first, second).reshape(n, n)
    flat = points.x.astype(np.float64) / (255 if points.x.dtype == np.uint8 else 1)
    different = given.labels[:, None] != given.labels
    # sums in another order: 40 roundings of 2^-53 at most, and as many in scipy
    np.testing.assert_allclose(
        given.distances(powers[different]), all_distances(flat, given.norm)[different], rtol=1e-13
    )
    return np.where(different, powers, math.inf)


def all_distances(x: np.ndarray, p: float) -> np.ndarray:
    """All distances, by scipy."""
    return cdist(x, x, "chebyshev") if math.isinf(p) else cdist(x, x, "minkowski", p=p)


def first_of(powers: np.ndarray, mask: np.ndarray) -> tuple[float, int, int]:
    """The smallest power among some pairs, and the first pair of rows that has it, the smaller row first."""
    least = powers[mask].min()
    return least, *min((min(a, b), max(a, b)) for a, b in np.argwhere(mask & (powers == least)).tolist())


def check(given: Given, found, competition: Competition, powers: np.ndarray) -> None:
    """Compare what was found with the first of the smallest of all powers."""
    found = list(zip(*(part.tolist() for part in found), strict=True))
    n, classes = len(powers), len(given.classes)
    if competition == ALL:
        assert found == [first_of(powers, np.ones((n, n), bool))]
    elif competition == POINTS:
        for row, pair in zip(given.prepared.points.rows, found, strict=True):
            assert pair == first_of(powers, (np.arange(n) == row)[:, None] & np.ones(n, bool))
    else:
        for a, b in itertools.combinations(range(classes), 2):
            one, other = given.labels == given.classes[a], given.labels == given.classes[b]
            assert found[a * classes + b] == first_of(powers, one[:, None] & other)


def test_the_search_is_never_wrong(small_blocks):
    """1000 small cases in which all bounds are at work: the nearest pair and its distance, as from all distances."""
    for seed in range(1000):
        x, labels = made_points(seed)
        given = Given(x, labels, NORMS[seed // 3 % 4])
        searcher, powers = open_searcher(given.prepared), expected(given)
        for competition in (ALL, [POINTS, CLASSES][seed % 2]):
            check(given, search(searcher, competition), competition, powers)


@pytest.mark.parametrize("seed", range(0, 1000, 23))
def test_torch_finds_the_same(small_blocks, monkeypatch, seed):
    """The logic of the GPU, on the CPU: in tiles of a few pairs, with few pairs measured at once."""
    monkeypatch.setattr("scuff.metrics.separation.neighbours.device.ROWS", 5)
    monkeypatch.setattr("scuff.metrics.separation.neighbours.device.TILE", 40)
    monkeypatch.setattr("scuff.metrics.separation.neighbours.device.VALUES", 100)
    x, labels = made_points(seed)
    given = Given(x, labels, NORMS[seed % 4])
    powers = expected(given)
    for competition in (ALL, POINTS, CLASSES):
        check(given, search(Device(given.prepared, "cpu"), competition), competition, powers)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
@pytest.mark.parametrize("norm", [1, 2, 3, 7, math.inf])
@pytest.mark.parametrize("shape", [(1,), (7,), (100,), (20, 20, 3), (4000,)])
def test_all_dimensions_and_norms(dtype, norm, shape):
    x, labels = smooth_points(60, shape, dtype)
    given = Given(x, labels, norm)
    flat = x.reshape(len(x), -1) / (255 if dtype == np.uint8 else 1.0)
    distances = all_distances(flat, norm)
    distances[labels[:, None] == labels] = math.inf
    for searcher in (open_searcher(given.prepared), Device(given.prepared, "cpu")):
        found = search(searcher, POINTS)
        order = np.argsort(given.prepared.points.rows)
        np.testing.assert_allclose(given.distances(found.powers)[order], distances.min(axis=1), rtol=1e-12)
        best = search(searcher, ALL)
        assert given.distances(best.powers) == pytest.approx(distances.min(), rel=1e-12)
        assert distances[best.first[0], best.second[0]] == pytest.approx(distances.min(), rel=1e-12)


def smooth_points(n: int, shape: tuple[int, ...], dtype: type) -> tuple[np.ndarray, np.ndarray]:
    """Points whose neighbouring features are alike, as those of images are, of three classes."""
    draw = np.random.default_rng(0)
    x = draw.normal(size=(n, *shape))
    for axis in range(1, len(shape) + 1):
        x = np.cumsum(x, axis=axis) / math.sqrt(x.shape[axis])
    x = 0.5 + x / (6 * x.std())
    labels = draw.integers(0, 3, n)
    x = np.clip(255 * x, 0, 255).astype(np.uint8) if dtype == np.uint8 else x.astype(dtype)
    for group in find_conflicts(x.reshape(n, -1), labels):
        labels[group] = labels[group[0]]
    return x, labels


@pytest.mark.parametrize("competition", [ALL, POINTS, CLASSES], ids=["all", "points", "classes"])
def test_order_threads_and_sizes_do_not_matter(monkeypatch, competition):
    """Few values, so that there are many ties, and the pair could be any of them."""
    x = np.random.default_rng(0).integers(0, 6, (500, 30), dtype=np.uint8)
    labels = np.arange(500) % 4
    given = Given(x, labels, 1)
    first = search(open_searcher(given.prepared), competition)
    for leaf, tasks, threads in ((128, 1, 1), (2, 1000, 3), (7, 5, 2)):
        monkeypatch.setattr("scuff.metrics.separation.neighbours.prepare.LEAF", leaf)
        monkeypatch.setattr("scuff.metrics.separation.neighbours.scan.TASKS", tasks)
        monkeypatch.setattr("scuff.metrics.separation.neighbours.compiling.config.NUMBA_NUM_THREADS", threads)
        prepared = Given(x, labels, 1).prepared
        again = search(open_searcher(prepared), competition)
        if competition == POINTS:
            order = np.argsort(prepared.points.rows)[np.argsort(np.argsort(given.prepared.points.rows))]
            again = [part[order] for part in again]
        for ours, theirs in zip(first, again, strict=True):
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("norm", [1, 1.5, 2, 2.5, 9, math.inf])
@pytest.mark.parametrize("seed", range(KINDS))
def test_bounds_are_never_too_high(small_blocks, norm, seed):
    """With the distance of a pair itself as the limit, no level may rule it out."""
    x, labels = made_points(seed + 4 * KINDS)  # 40 features: three levels
    given = Given(x, labels, norm)
    points, bounds = given.prepared.points, given.prepared.bounds
    i, j = np.triu_indices(len(points.rows), 1)
    bars = make_bars(pair_powers(points, points.rows[i], points.rows[j]), points.p, bounds)
    assert bars.shape[1] > 1
    for level, (start, width) in enumerate(zip(bounds.starts, bounds.widths, strict=True)):
        sums = bounds.fine[start : start + len(points.rows) * width].reshape(-1, width) if level else bounds.coarse
        gaps = np.abs(sums[i] - sums[j])
        apart = gaps.max(axis=1) if math.isinf(bounds.q) else (gaps**bounds.q).sum(axis=1)
        assert apart.dtype == np.float32
        assert (apart <= bars[:, level]).all()


@pytest.mark.parametrize("norm", [1, 2, math.inf])
def test_bounds_are_sharp_enough_to_be_of_use(norm):
    """Of smooth images, the first level keeps a quarter of a typical distance, and the last one half."""
    x, labels = smooth_points(100, (32, 32, 3), np.float64)
    prepared = Given(x, labels, norm).prepared
    points, bounds = prepared.points, prepared.bounds
    distances = all_distances(points.x[points.rows], norm)[0, 1:]
    sums = bounds.coarse, bounds.fine[bounds.starts[-1] :].reshape(100, -1)
    apart = (np.linalg.norm(own[0] - own[1:], norm, axis=1) / points.scale for own in sums)
    coarse, fine = (np.median(own / distances) for own in apart)
    assert 0.25 < coarse < fine <= 1
    assert fine > 0.5


def test_images_are_cut_into_patches_and_tables_into_columns():
    """Ten columns that are much larger than the others decide, and the mean of a patch would blur them."""
    draw = np.random.default_rng(0)
    table = draw.normal(size=(200, 100)) * np.where(np.arange(100) % 10 == 3, 1000, 1)
    for p in (2, math.inf):
        first = choose_blocks(table, (100,), p)[0]
        assert set(range(3, 100, 10)) <= set(np.flatnonzero(first >= 0))
        assert np.bincount(first[first >= 0]).max() == 1
    images, _ = smooth_points(200, (16, 16, 3), np.float64)
    assert [level.max() + 1 for level in choose_blocks(images.reshape(200, -1), (16, 16, 3), 2)] == [16, 64]


@pytest.mark.parametrize("shape", [(17,), (33, 1), (5, 5), (28, 28), (2, 2, 2, 2, 2), (3, 32, 32), (224, 224, 3)])
def test_patches_cover_every_feature_once(shape):
    for level in patches(shape):
        assert level.shape == (math.prod(shape),)
        np.testing.assert_array_equal(np.unique(level), np.arange(level.max() + 1))
    assert 8 < patches(shape)[0].max() + 1 <= 16


def test_single_features_are_those_that_raise_the_bound():
    """Features 0 to 19 say the same; in L-infinity one of them is enough."""
    draw = np.random.default_rng(0)
    gaps = np.abs(np.column_stack([np.repeat(draw.normal(size=(50, 1)), 20, axis=1), 0.5 * draw.normal(size=(50, 40))]))
    largest = np.flatnonzero(single_features(gaps, math.inf)[0] >= 0)
    assert (largest < 20).sum() == 1
    assert (np.flatnonzero(single_features(gaps, 2)[0] >= 0) < 20).all()


def test_conflicts_are_found_among_equal_codes(monkeypatch):
    """Different rows may have the same code: here all have."""
    x = np.array([[0.0], [1.0], [-0.0], [1.0], [2.0]])
    labels = np.array([0, 0, 1, 0, 1])
    monkeypatch.setattr("scuff.metrics.separation.neighbours.given._hash", lambda bits, start, out: out.fill(7))
    assert [group.tolist() for group in find_conflicts(x, labels)] == [[0, 2]]
