"""Class separation: the numbers, which pair is named, duplicates, and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.spatial import cKDTree

from scuff.metrics import Separation, class_separation, class_separations, nearest_other_class
from scuff.metrics.norms import norm_name, parse_norm

LABELS = np.array([0, 0, 1, 1, 2])
X = np.array([[0.0, 0.0], [0.5, 0.5], [0.5, 1.0], [3.0, 4.0], [3.0, 4.5]])


@pytest.mark.parametrize(
    ("norm", "p", "name"),
    [
        ("inf", math.inf, "L-infinity"),
        ("Linf", math.inf, "L-infinity"),
        ("L-infinity", math.inf, "L-infinity"),
        ("L2", 2, "L2"),
        (" l2.5 ", 2.5, "L2.5"),
        (1, 1, "L1"),
        (np.float32(2), 2, "L2"),
        ("100", 100, "L100"),
    ],
)
def test_norms_have_names(norm, p, name):
    assert parse_norm(norm) == p
    assert norm_name(parse_norm(norm)) == name


@pytest.mark.parametrize("norm", ["0.5", 0, -2, "-inf", -math.inf, "nan", "two", None, [1], "", 101])
def test_what_is_no_norm_is_refused(norm):
    with pytest.raises(ValueError, match="norm must be 'inf' or a number p from 1 to 100"):
        class_separation(X, LABELS, norm)


# --- the numbers ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", ["inf", 1, 2])
def test_the_nearest_pair_by_hand(norm):
    found = class_separation(X, LABELS, norm)
    assert found == Separation(0.5, (1, 2), (0, 1), parse_norm(norm), 5)
    assert found.epsilon_min == 0.25
    assert isinstance(found.distance, float)
    assert [type(row) for row in found.rows] == [int, int]


@pytest.mark.parametrize(("norm", "distance"), [("inf", 4.0), (2, 5.0), (1, 7.0), (3, (27 + 64) ** (1 / 3))])
def test_norms_by_hand(norm, distance):
    found = class_separation(np.array([[1, 2], [4, 6]]), [7, -3], norm)
    assert found.distance == pytest.approx(distance, rel=1e-15)
    assert found.labels == (7, -3)


def test_pixels_are_in_units_of_the_whole_range():
    """In L-infinity the distance is exactly k / 255, in the others it is computed from whole numbers."""
    x = np.array([[[0, 100]], [[54, 110]], [[255, 255]]], np.uint8)
    assert class_separation(x, [0, 1, 1]).distance == 54 / 255
    assert class_separation(x, [0, 1, 1], 1).distance == 64 / 255
    assert class_separation(x, [0, 1, 1], 2).distance == math.sqrt(54**2 + 10**2) / 255
    assert class_separation(x / 255, [0, 1, 1]).distance == pytest.approx(54 / 255, rel=1e-15)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint16, np.int64, np.float16, np.float32, ">f4", ">f8"])
def test_other_numbers_are_taken_as_they_are(dtype):
    x = np.array([[0, 1, 1], [1, 1, 0], [1, 0, 0]], dtype)
    assert class_separation(x, [0, 1, 1], 1).distance == 2
    assert class_separation(x, [0, 1, 1], 1).rows == (0, 1)


def test_differences_of_single_precision_are_not_rounded():
    """1 + 2^-23 less 2^-30 has no neighbour in float32; scipy computes in float64 as well."""
    x = np.array([[1 + 2.0**-23], [2.0**-30]], np.float32)
    assert class_separation(x, [0, 1]).distance == 1 + 2.0**-23 - 2.0**-30


@pytest.mark.parametrize("factor", [2.0**-1000, 2.0**-100, 2.0**100, 2.0**1000])
def test_any_scale_will_do(factor):
    """The squares of the smallest and of the largest numbers are 0 and infinite in double precision."""
    assert class_separation(X * factor, LABELS, 2) == replace(class_separation(X, LABELS, 2), distance=0.5 * factor)


def test_distances_that_vanish_beside_others_are_refused():
    """1e-200 squared is 0 beside 1."""
    with pytest.raises(ValueError, match="too small for double precision beside the largest value; use the norm 'inf'"):
        class_separation(np.array([[1.0], [1e-200], [2e-200]]), [0, 0, 1], 2)
    assert class_separation(np.array([[1.0], [1e-200], [2e-200]]), [0, 0, 1]).distance == 1e-200


@pytest.mark.parametrize("norm", ["inf", 2, 1])
def test_many_points_against_scipy(norm):
    """Ten thousand points in four dimensions, all modes against a KD-tree of each class."""
    draw = np.random.default_rng(0)
    x, labels, p = draw.random((10_000, 4)), draw.integers(0, 5, 10_000) * 3, parse_norm(norm)
    trees = {label: cKDTree(x[labels == label]) for label in range(0, 15, 3)}
    each = np.array([tree.query(x, p=p)[0] for tree in trees.values()])  # (classes, points)
    each[labels // 3, np.arange(10_000)] = math.inf
    neighbours = nearest_other_class(x, labels, norm)
    np.testing.assert_allclose(neighbours.distances, each.min(axis=0), rtol=1e-14)
    reached = np.linalg.norm(x - x[neighbours.rows], p, axis=1)
    np.testing.assert_allclose(reached, neighbours.distances, rtol=1e-14)
    assert (labels[neighbours.rows] != labels).all()
    np.testing.assert_array_equal(neighbours.points, np.arange(10_000))
    found = class_separation(x, labels, norm)
    assert found == neighbours.separation(labels)
    assert found.distance == neighbours.quantile(0) == pytest.approx(each.min(), rel=1e-14)
    pairs = class_separations(x, labels, norm)
    assert len(pairs) == 10
    assert pairs["distance"].min() == found.distance
    for pair in pairs.itertuples():
        assert labels[pair.row_a] == pair.label_a < pair.label_b == labels[pair.row_b]
        assert pair.distance == pytest.approx(each[pair.label_b // 3, labels == pair.label_a].min(), rel=1e-14)
        assert pair.distance == pytest.approx(np.linalg.norm(x[pair.row_a] - x[pair.row_b], p), rel=1e-14)


def test_quantiles_are_distances_of_points():
    found = nearest_other_class(np.array([[0.0], [1.0], [3.0], [3.5]]), [0, 0, 1, 2])
    assert found.distances.tolist() == [3, 2, 0.5, 0.5]
    assert [found.quantile(q) for q in (0, 0.5, 0.51, 0.75, 0.76, 1)] == [0.5, 0.5, 2, 2, 3, 3]
    with pytest.raises(ValueError, match=r"a share from 0 to 1, got 1\.5"):
        found.quantile(1.5)


def test_equally_near_pairs_are_named_by_their_rows():
    """A ring of points, each as far from the next: the first two rows, and of each point its earlier neighbour."""
    x = np.arange(8.0)[[5, 2, 7, 0, 4, 1, 6, 3]][:, None]
    labels = np.array([0, 1] * 4)[[5, 2, 7, 0, 4, 1, 6, 3]]
    assert class_separation(x, labels).rows == (0, 4)
    assert nearest_other_class(x, labels).rows.tolist() == [4, 5, 6, 5, 0, 1, 0, 1]
    assert class_separations(x, labels)[["row_a", "row_b"]].values.tolist() == [[4, 0]]


def test_progress_counts_pairs():
    draw = np.random.default_rng(0)
    calls = []
    x, labels = draw.random((600, 3)), np.arange(600) % 3
    class_separation(x, labels, progress=lambda *call: calls.append(call))
    done, totals = zip(*calls, strict=True)
    assert set(totals) == {3 * 200 * 200}
    assert list(done) == sorted(done)
    assert done[-1] == 120_000
    nearest_other_class(x, labels, progress=lambda *call: calls.append(call))
    assert calls[-1] == (240_000, 240_000)


def test_points_are_not_changed():
    x = np.random.default_rng(0).random((50, 30))
    before, labels = x.copy(), np.arange(50) % 2
    x.setflags(write=False)
    assert class_separation(x, labels).distance == class_separation(np.asfortranarray(x), labels).distance
    np.testing.assert_array_equal(x, before)


# --- duplicates -----------------------------------------------------------------------------------------------------


def test_duplicates_with_different_labels_are_named():
    x = np.tile(np.arange(10.0)[:, None], (2, 3))
    x[3] = -1
    with pytest.raises(ValueError, match="18 points are identical to others with a different label") as error:
        class_separation(x, np.repeat([4, 6], 10))
    named = "rows 0 and 10 (labels 4 and 6), 1 and 11 (labels 4 and 6), 2 and 12 (labels 4 and 6)"
    assert named in str(error.value)
    assert "and 4 more groups; correct the data, or pass drop_duplicates=True" in str(error.value)


def test_duplicates_can_be_dropped():
    """All points of a group, since nobody knows which label is right; points twice in one class may stay."""
    x = np.array([[0.0], [0.0], [0.0], [1.0], [5.0], [5.0], [2.0]])
    labels = np.array([0, 1, 0, 0, 1, 1, 1])
    found = class_separation(x, labels, drop_duplicates=True)
    assert found == Separation(1, (3, 6), (0, 1), math.inf, 4, (0, 1, 2))
    neighbours = nearest_other_class(x, labels, drop_duplicates=True)
    assert neighbours.points.tolist() == [3, 4, 5, 6]
    assert neighbours.distances.tolist() == [1, 4, 4, 1]
    assert neighbours.separation(labels) == found
    assert class_separations(x, labels, drop_duplicates=True)["distance"].tolist() == [1]


def test_zeros_of_both_signs_are_the_same():
    with pytest.raises(ValueError, match="rows 0 and 1"):
        class_separation(np.array([[0.0, 1.0], [-0.0, 1.0], [2.0, 2.0]], np.float32), [0, 1, 1])
    x = np.array([[0], [128], [0]], np.uint8)  # whose highest bit is no sign
    with pytest.raises(ValueError, match="rows 0 and 2"):
        class_separation(x, [0, 0, 1])
    assert class_separation(x, [0, 1, 0]).distance == 128 / 255


def test_nothing_is_left_without_duplicates():
    x = np.array([[0.0], [0.0], [1.0]])
    with pytest.raises(ValueError, match=r"2 of 3 points were dropped .* the 1 that are left do not have two classes"):
        class_separation(x, [0, 1, 1], drop_duplicates=True)


# --- mistakes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("x", "labels", "message"),
    [
        (X, [0] * 5, "all 5 points have label 0; class separation needs at least two classes"),
        (X, [0, 1], r"one label for each of 5 points, got labels of shape \(2,\)"),
        (X, LABELS[:, None], r"got labels of shape \(5, 1\)"),
        (X, LABELS / 2, "labels must be whole numbers, got float64"),
        (X, list("abcde"), "labels must be whole numbers"),
        (np.ones((4, 3)), [0, 1, 0, 1], "all 4 points are identical: every feature is constant"),
        (np.where(X == 4, np.nan, X), LABELS, "points must be finite, got nan in row 3, feature 1"),
        (np.where(X == 4, np.inf, X).reshape(5, 2, 1), LABELS, r"got inf in row 3, feature \(1, 0\)"),
        (X[:, :0], LABELS, r"points must be an array \(n, features\).*got \(5, 0\)"),
        (X[:0], LABELS[:0], r"got \(0, 2\)"),
        (X[:, 0], LABELS, r"got \(5,\)"),
        (X.astype(complex), LABELS, "points must be numbers, got an array of complex128"),
        (X.astype(object), LABELS, "points must be numbers, got an array of object"),
        (pd.DataFrame({"a": ["x"] * 5, "b": [1] * 5}), LABELS, "points must be numbers"),
    ],
)
@pytest.mark.parametrize("function", [class_separation, class_separations, nearest_other_class])
def test_mistakes_are_explained(function, x, labels, message):
    with pytest.raises(ValueError, match=message):
        function(x, labels)


def test_the_first_of_wrong_values_is_named(monkeypatch):
    """However many rows are looked through at once."""
    x = np.zeros((50, 4))
    x[37, 2] = x[40, 1] = np.nan
    for values in (4, 28, 1000):
        monkeypatch.setattr("scuff.metrics.separation.neighbours.given.VALUES", values)
        with pytest.raises(ValueError, match="row 37, feature 2"):
            class_separation(x, np.arange(50) % 2)


def test_devices_that_do_not_exist_are_refused():
    with pytest.raises(ValueError, match="no device is called 'gpu'"):
        class_separation(X, LABELS, device="gpu")
    with pytest.raises(ValueError, match="device 'cuda:99' was asked for, but torch finds"):
        class_separation(X, LABELS, device="cuda:99")
    assert class_separation(X, LABELS, device="cpu") == class_separation(X, LABELS)
