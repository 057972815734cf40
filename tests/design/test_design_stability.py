"""Designs of single seeds beside each other: against brute force, and on tables where the answer is known."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from made_accuracies import random_accuracies

from scuff import design, metrics
from scuff.design.overlap.stability import count_members

NOISY = random_accuracies(6, seeds=3, seed=6)


@pytest.fixture(scope="module")
def found():
    return design.stability(NOISY)


def one_seed(table, place):
    return replace(table, values=table.values[[place]], seeds=(table.seeds[place],), hits=None)


def rand_by_counting(a, b):
    """The adjusted Rand index from the definition: over all pairs of corruptions, in one category or in two."""
    pairs = list(combinations(range(len(a)), 2))
    in_a, in_b = (np.array([labels[i] == labels[j] for i, j in pairs]) for labels in (a, b))
    both, expected = (in_a & in_b).sum(), in_a.sum() * in_b.sum() / len(pairs)
    return (both - expected) / ((in_a.sum() + in_b.sum()) / 2 - expected)


def test_every_seed_is_designed_from_alone(found):
    assert found.seeds == (0, 1, 2)
    for place in range(3):
        matrix = metrics.overlaps(one_seed(NOISY, place))
        assert np.array_equal(found.overlaps[place].values, matrix.values)
        assert found.selections[place].members == design.find_nonoverlapping(matrix).members
        assert found.categories[place].labels == design.find_categories(matrix, compared=0).labels


def test_comparisons_are_those_of_counting_by_hand(found):
    table = found.compare()
    assert list(zip(table["seed"], table["other"], strict=True)) == [(0, 1), (0, 2), (1, 2)]
    for line in table.itertuples():
        a, b = found.overlaps[line.seed], found.overlaps[line.other]
        pairs = np.triu_indices(len(a.names), 1)
        x, y = a.values[pairs], b.values[pairs]
        assert line.pearson == pytest.approx(np.corrcoef(x, y)[0, 1])
        assert line.mean_difference == pytest.approx(np.abs(x - y).mean())
        assert line.same_side == pytest.approx(np.mean((x < 0.1) == (y < 0.1)))
        labels = found.categories[line.seed].labels, found.categories[line.other].labels
        assert line.rand == pytest.approx(rand_by_counting(*labels))
        ours, theirs = (set(found.selections[seed].members) for seed in (line.seed, line.other))
        assert (line.shared, line.chosen) == (len(ours & theirs), len(ours | theirs))
    assert table["rand"].max() < 1  # or there was nothing to test


def test_pairs_that_change_side_are_those_below_the_threshold_with_some_seeds_only(found):
    changing = found.changing()
    expected = {}
    for i, j in combinations(range(len(found.overlaps[0].names)), 2):
        scores = [matrix.values[i, j] for matrix in found.overlaps]
        if len({score < 0.1 for score in scores}) == 2:
            expected[found.overlaps[0].names[i], found.overlaps[0].names[j]] = min(scores), max(scores)
    assert {(line.a, line.b): (line.lowest, line.highest) for line in changing.itertuples()} == expected
    assert len(expected) > 3
    assert (changing["highest"] - changing["lowest"]).is_monotonic_decreasing


def test_equal_seeds_agree_on_everything():
    twice = design.stability(replace(NOISY, values=NOISY.values[[1, 1]], seeds=(4, 7), hits=None))
    assert twice.compare()[["pearson", "same_side", "rand"]].to_numpy().tolist() == [[pytest.approx(1), 1, 1]]
    assert twice.changing().empty
    assert set(twice.counts().values()) == {2}


def test_counts_add_up(found):
    counts = found.counts()
    assert sum(counts.values()) == sum(len(chosen.members) for chosen in found.selections)
    assert list(counts.values()) == sorted(counts.values(), reverse=True)
    assert count_members([]) == {}


def test_what_one_seed_leaves_undefined_is_left_out_with_all():
    values = NOISY.values.copy()
    place = NOISY.row("mine/c3")
    values[1, place, place] = values[1, 0, place] / 2  # training with it harms against it, with this seed
    found = design.stability(replace(NOISY, values=values, hits=None))
    assert found.left_out == ("mine/c3",)
    assert all("mine/c3" not in matrix.names for matrix in found.overlaps)


def test_one_seed_or_too_few_corruptions_are_refused():
    with pytest.raises(ValueError, match="at least two seeds; the table has one"):
        design.stability(one_seed(NOISY, 0))
    names = NOISY.corruptions[:2]
    few = NOISY.take(("standard", *names), ("clean", *names))
    values = few.values.copy()
    values[0, 1, 1] = values[0, 0, 1] / 2
    with pytest.raises(ValueError, match="at least two corruptions with overlaps for every seed; there are 1"):
        design.stability(replace(few, values=values, hits=None))
