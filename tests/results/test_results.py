"""The numbers in docs/results follow from the tables beside them."""

import re
from pathlib import Path

import pytest

from scuff.design import find_categories, find_nonoverlapping, sweep
from scuff.metrics import agreement, balance, overlaps, read_accuracies, read_overlaps
from scuff.suites import load_suite

RESULTS = Path(__file__).parents[2] / "docs" / "results"
FOLDER = RESULTS / "overlap-cifar10"
PAGE = re.sub(r"\s+", " ", (RESULTS / "overlap-cifar10.md").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def table():
    return read_accuracies(FOLDER / "accuracies.csv")


@pytest.fixture(scope="module")
def matrix(table):
    return overlaps(table)


@pytest.fixture(scope="module")
def candidates(matrix):
    return matrix.take([name for name in matrix.names if name.startswith("noc-candidates/")])


def plain(names):
    return ", ".join(name.rpartition("/")[2] for name in names)


def test_the_study_is_whole_and_the_recipe_reaches_its_accuracy(table):
    assert table.values.shape == (1, 41, 39)
    assert table.of("standard", "clean")[0] == pytest.approx(0.932)
    assert "93.2 % clean accuracy" in PAGE


def test_the_matrix_is_the_one_that_the_accuracies_give(matrix):
    saved = read_overlaps(FOLDER / "overlap.csv")
    assert saved.names == matrix.names
    # Accuracies of 10 000 images are exact in the file, and so is everything that is made of them.
    assert abs(saved.values - matrix.values).max() < 1e-9


def test_the_chosen_benchmarks_and_the_sweep(matrix, candidates):
    chosen = find_nonoverlapping(candidates, 0.1)
    assert f"**{plain(chosen.members)}**, mean overlap {chosen.mean_overlap:.3f}" in PAGE
    assert f"the lowest of {chosen.largest_subsets} sets as large" in PAGE
    for row in sweep(candidates).itertuples():
        numbers = f"| {row.threshold:.2f} | {row.size} | {row.mean_overlap:.3f} | {row.largest_subsets} |"
        assert f"{numbers} {plain(row.members)} |" in PAGE
    of_all = find_nonoverlapping(matrix, 0.1)
    assert list(load_suite(FOLDER / "non-overlapping.yaml").entries) == plain(of_all.members).split(", ")
    assert f"mean overlap {of_all.mean_overlap:.3f}, of {of_all.largest_subsets} sets" in PAGE


def test_the_categories(matrix):
    found = find_categories(matrix)
    assert f"**K = {found.k}**" in PAGE
    assert f"correlate by {found.same:.2f} on average, those of different ones by {found.different:.2f}" in PAGE
    for number, members in found.groups().items():
        words = [("" if name.startswith("noc") else "C: ") + plain([name]) for name in members]
        assert f"| {number} | {', '.join(words)} |" in PAGE


def test_the_balance(table, matrix, candidates):
    noc = [f"noc-candidates/{name}" for name in load_suite("imagenet-noc").benchmark()]
    c = [name for name in table.corruptions if name.startswith("cifar10-c/")]
    ours, theirs = balance(table, noc), balance(table, c)
    text = f"range {ours.range.value:.0f} against {theirs.range.value:.0f}, deviation {ours.std.value:.1f} against"
    assert f"{text} {theirs.std.value:.1f}" in PAGE
    of_all, of_candidates = (balance(table, find_nonoverlapping(among, 0.1).members) for among in (matrix, candidates))
    assert f"our six of all 38 (range {of_all.range.value:.0f}, deviation {of_all.std.value:.1f})" in PAGE
    text = f"range {of_candidates.range.value:.0f} against {theirs.range.value:.0f}, deviation"
    assert f"not better balanced than ImageNet-C ({text} {of_candidates.std.value:.1f} against" in PAGE


def test_fine_tuning_changes_the_scores_as_the_page_says(matrix, candidates):
    tuned = read_overlaps(FOLDER / "fine-tuned-overlap.csv")
    found = agreement(tuned, matrix)
    assert f"correlate by {found.pearson:.2f} (Spearman {found.spearman:.2f})" in PAGE
    assert f"differ by {found.mean_difference:.2f} on average and by {found.largest_difference:.2f} at most" in PAGE
    assert f"{100 * found.same_side:.0f} % of the pairs stay on their side of 0.1" in PAGE
    again = find_nonoverlapping(tuned.take(candidates.names), 0.1).members
    shared = [name for name in find_nonoverlapping(candidates, 0.1).members if name in again]
    assert len(again) == 6
    assert f"four of them are the same ({plain(shared)})" in PAGE
    assert f"K becomes {find_categories(tuned).k}" in PAGE
