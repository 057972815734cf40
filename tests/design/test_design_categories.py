"""Categories by K-means, on matrices whose categories are known."""

from __future__ import annotations

import itertools
import math
from functools import partial

import numpy as np
import pandas as pd
import pytest
from overlap_matrices import random_overlaps, to_overlaps

from scuff.design import correlations, linkage
from scuff.design import find_categories as find_slowly
from scuff.metrics import read_overlaps

find_categories = partial(find_slowly, restarts=10)


def block_overlaps(*kinds: str, inside: float = 1.0, outside: float = 0.0):
    """Corruptions of the same kind overlap fully, others not at all; a letter for each corruption."""
    kind = np.array(list("".join(kinds)))
    return to_overlaps(np.where(kind[:, None] == kind, inside, outside))


def plain_correlations(vectors: np.ndarray, labels) -> tuple[float, float]:
    """Means over ordered pairs of distinct corruptions, as the authors' code has them."""
    same, different = [], []
    for a, b in itertools.permutations(range(len(vectors)), 2):
        (same if labels[a] == labels[b] else different).append(np.corrcoef(vectors[a], vectors[b])[0, 1])
    return np.mean(same), np.mean(different)


def test_the_stopping_rule():
    """Four groups of five, all alike: a hand can say what every K gives.

    A vector holds five ones and fifteen zeros, so vectors of one group correlate by 1, others by -(1/4)/(3/4) = -1/3.
    Three categories merge two groups: 40 pairs of one group and 25 of two. Two categories merge two and two groups (50
    pairs of two) or three (75), which are equally compact.
    """
    overlaps = block_overlaps("abcd" * 5)
    found = find_categories(overlaps)
    same = found.steps.set_index("k")["same"]
    assert same[3] == pytest.approx((40 - 25 / 3) / 65, abs=1e-12)  # 0.487: not enough
    two_and_two, three_and_one = (40 - 50 / 3) / 90, (40 - 75 / 3) / 115
    assert min(abs(same[2] - two_and_two), abs(same[2] - three_and_one)) < 1e-12
    assert found.k == 4
    assert (found.same, found.different) == (pytest.approx(1, abs=1e-12), pytest.approx(-1 / 3, abs=1e-12))
    assert found.labels == (1, 2, 3, 4) * 5
    assert found.groups()["2"] == ["a/1", "a/5", "a/9", "a/13", "a/17"]
    assert find_categories(overlaps, least_correlation=0.4).k == 3
    assert find_categories(overlaps, least_correlation=float(same[3])).k == 4  # above, not at


def test_the_comparison_with_hierarchical_clustering():
    found = find_categories(block_overlaps("aabbbccccdd"))
    steps = found.steps.set_index("k")
    four = steps.loc[4]
    for column in ("same", "silhouette", "hierarchical_same", "hierarchical_silhouette", "rand"):
        assert four[column] == pytest.approx(1, abs=1e-12)
    assert four["inertia"] == pytest.approx(0, abs=1e-12)
    assert steps.index.tolist() == list(range(2, 11))  # the table goes on after the choice


def test_means_are_over_all_pairs():
    """Large categories weigh more, and a category of one has no pairs."""
    overlaps = random_overlaps(12, 3)
    found = find_categories(overlaps)
    same, different = plain_correlations(overlaps.values, found.labels)
    assert (found.same, found.different) == (pytest.approx(same, abs=1e-12), pytest.approx(different, abs=1e-12))
    assert found.same > 0.5
    earlier = found.steps[found.steps["k"] < found.k]
    assert (earlier["same"] <= 0.5).all()


def test_corruptions_that_nothing_joins():
    """Overlaps of zero: vectors correlate by -1/5, so that each corruption is a category of its own."""
    found = find_categories(to_overlaps(np.zeros((6, 6))))
    assert found.k == 6
    assert found.labels == (1, 2, 3, 4, 5, 6)
    assert math.isnan(found.same)
    assert found.different == pytest.approx(-1 / 5, abs=1e-12)


def test_corruptions_that_are_all_the_same():
    """Vectors of equal numbers have no correlation: no warning, no category."""
    found = find_categories(to_overlaps(np.ones((4, 4))))
    assert found.k == 4
    assert math.isnan(found.same)


def test_two_corruptions():
    found = find_categories(to_overlaps(np.full((2, 2), 0.9)))
    assert (found.k, len(found.steps)) == (2, 0)
    with pytest.raises(ValueError, match="at least two corruptions with overlaps; got 1"):
        find_categories(to_overlaps(np.ones((1, 1))))


def test_undefined_corruptions_have_no_category():
    values = block_overlaps("aabb").to_frame()
    values.loc["a/x"] = np.nan
    values["a/x"] = np.nan
    found = find_categories(read_overlaps(values))
    assert found.names == ("a/0", "a/1", "a/2", "a/3")
    assert list(found.undefined) == ["a/x"]
    assert found.groups() == {"1": ["a/0", "a/1"], "2": ["a/2", "a/3"]}


def test_the_same_seed_gives_the_same_categories():
    overlaps = random_overlaps(15, 1)
    first, second = find_categories(overlaps, seed=4), find_categories(overlaps, seed=4)
    assert first == second
    pd.testing.assert_frame_equal(first.steps, second.steps)


def test_linkage():
    """Every join is at the mean distance of the two groups, and an overlap above 1 is no negative distance."""
    np.testing.assert_allclose(
        linkage(to_overlaps(np.array([[0, 1.2, 0.5], [0, 0, 0.3], [0, 0, 0]]))),
        [[0, 1, 0, 2], [2, 3, 0.6, 3]],
        atol=1e-12,
    )
    overlaps = random_overlaps(9, 2)
    groups = [[leaf] for leaf in range(9)]
    for a, b, height, size in linkage(overlaps):
        pairs = np.ix_(groups[int(a)], groups[int(b)])
        assert height == pytest.approx((1 - overlaps.values[pairs]).mean(), abs=1e-12)
        groups.append(groups[int(a)] + groups[int(b)])
        assert size == len(groups[-1])


def test_correlations_of_other_vectors():
    """Residual robustness of 21 models, say: categories are checked with what they were not made from."""
    names, draw = ["a", "b", "c", "d", "e"], np.random.default_rng(0)
    vectors = pd.DataFrame(draw.normal(size=(21, 5)), columns=names)
    groups = {"one": ["a", "d"], "two": ["b", "c", "e"]}
    expected = plain_correlations(vectors.to_numpy().T, [1, 2, 2, 1, 2])
    assert correlations(vectors, groups) == pytest.approx(expected, abs=1e-12)
    assert math.isnan(correlations(vectors[["a", "b"]], groups)[0])
    with pytest.raises(ValueError, match="in no category: e"):
        correlations(vectors, {"one": ["a", "b", "c", "d"]})
