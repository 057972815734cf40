"""What makes a benchmark predict natural shifts: more categories, more corruptions, or balance?

Laugros, Caplier and Ospici (ImageNet-Syn2Nat) compare groups of benchmarks that differ in one thing only. So do these
comparisons, which takes some care where categories are of different sizes:

    n       more categories at the same size, out of the categories that are large enough for both sides
    size    more corruptions from each of the same categories
    std     as many corruptions from the same categories, in more uneven numbers, in every arrangement of these

Both sides of a comparison have every category equally often, so that a difference is not one between categories: each
cell of a side, which is what a benchmark takes from each category, is present and weighs the same. Thousands of cells
are drawn at random, so that both sides have every category about equally often.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from scuff.design.overlap.balanced import Groups
from scuff.design.validity.groups import Cell, Group, draw_benchmarks, even_cells, large_categories, uneven_cells
from scuff.design.validity.scores import GroupValidity, group_validity
from scuff.metrics.intervals import DEFAULT, Resampling
from scuff.metrics.score import Difference
from scuff.metrics.validity.shifts import Shifts

ALL = "all"
FEWEST = 2  # categories that a comparison must rest on
MOST_UNEVEN = 6  # categories of benchmarks that are made less even: the paper's number, and 462 arrangements
BASE_K = 2  # corruptions of each category before numbers become uneven, as in the paper
EVERY_CELL = 4000  # cells of a side that are all there, however few benchmarks are asked for
COLUMNS: tuple[str, ...] = ("question", "natural", "smaller", "larger", "categories")
COLUMNS += ("difference", "low", "high", "other_sign_share", "note")


@dataclass(frozen=True)
class Comparison:
    """Two groups of benchmarks that differ in one thing, by so much; how many categories they are out of."""

    question: str
    smaller: str
    larger: str
    step: float
    categories: int
    sides: tuple[tuple[Cell, ...], tuple[Cell, ...]]


def trends(
    shifts: Shifts,
    categories: Groups,
    *,
    pairs: Iterable[tuple[int, int]] | None = None,
    count: int = 1000,
    resampling: Resampling = DEFAULT,
) -> pd.DataFrame:
    """Does the correlation with natural shifts rise with the number of categories, with size, with the spread?

    Parameters
    ----------
    categories
        {category: corruptions}, which must be among the synthetic names of `shifts`.
    pairs
        (n, k) to compare. By default all that can be compared.
    count
        Approximate number of benchmarks on each side of a comparison; more if it takes more to have one of every cell.

    Returns
    -------
    pd.DataFrame
        One row per natural benchmark and comparison: the mean correlation of the larger group minus that of the
        smaller. Another one per question, whose groups are both "all", is the slope: what one more (of n, of size, of
        the spread) adds to the correlation, averaged over the steps that the categories allow. `categories` is the
        number of categories drawn from; for "all", the largest among the steps. `other_sign_share` is the fraction of
        resamples of models with the other sign.
    """
    comparisons = find_comparisons(categories, pairs, resampling.seed)
    if not comparisons:
        return pd.DataFrame(columns=COLUMNS)
    cells = dict.fromkeys(side for comparison in comparisons for side in comparison.sides)
    names = {side: str(number) for number, side in enumerate(cells)}
    groups = {names[side]: draw_side(categories, side, count, resampling.seed) for side in cells}
    scores = group_validity(shifts, groups, resampling=resampling)
    rows = []
    for question, group in itertools.groupby(comparisons, key=lambda comparison: comparison.question):
        steps = list(group)
        for natural in scores.natural:
            for step in steps:
                smaller, larger = (names[side] for side in step.sides)
                head = question, natural, step.smaller, step.larger, step.categories
                rows.append(_row(head, scores.difference(larger, smaller, natural)))
            head = question, natural, ALL, ALL, max(step.categories for step in steps)
            rows.append(_row(head, _slope(scores, steps, names, natural)))
    return pd.DataFrame(rows, columns=COLUMNS)


def find_comparisons(
    categories: Groups, pairs: Iterable[tuple[int, int]] | None = None, seed: int = 0
) -> list[Comparison]:
    """All comparisons of like with like that categories allow, by question.

    >>> categories = {"noise": list("abcd"), "blur": list("efg"), "light": list("hi")}
    >>> [(found.question, found.smaller, found.larger, found.categories) for found in find_comparisons(categories)]
    ... # doctest: +NORMALIZE_WHITESPACE
    [('n', '1,2', '2,1', 3), ('size', '1,1', '1,2', 3), ('size', '1,2', '1,3', 2), ('size', '2,1', '2,2', 3),
     ('size', '2,2', '2,3', 2), ('size', '3,1', '3,2', 3), ('std', 'std 0.0', 'std 1.0', 2)]
    """
    known = None if pairs is None else set(pairs)
    sizes = sorted(map(len, categories.values()), reverse=True)
    possible = [(n, k) for n in range(1, len(sizes) + 1) for k in range(1, sizes[n - 1] + 1)]
    possible = [pair for pair in possible if known is None or pair in known]
    return [*_compare_even(categories, possible, seed), *_compare_spreads(categories, seed)]


def draw_side(categories: Groups, side: Sequence[Cell], count: int, seed: int = 0) -> Group:
    """About `count` benchmarks of one side of a comparison, but at least one of every cell, up to 4000 cells.

    >>> sorted(draw_side({"noise": ["shot", "iso"], "blur": ["zoom"]}, [(("noise", 1),), (("blur", 1),)], 1).cells)
    [0, 1]
    """
    return draw_benchmarks(categories, side, max(count, min(len(side), EVERY_CELL)), seed)


def _compare_even(categories: Groups, pairs: list[tuple[int, int]], seed: int) -> Iterator[Comparison]:
    """Neighbours among the pairs (n, k) of the same size; then, for each n, k and the next larger one."""
    for question, alike in (("n", lambda pair: pair[0] * pair[1]), ("size", lambda pair: pair[0])):
        for _, group in itertools.groupby(sorted(pairs, key=lambda pair: (alike(pair), pair)), key=alike):
            for (n, k), (other_n, other_k) in itertools.pairwise(group):
                pool = large_categories(categories, max(k, other_k))
                if len(pool) >= max(other_n, FEWEST):
                    step = other_n - n if question == "n" else n * (other_k - k)
                    sides = tuple(even_cells(pool, n, k, seed)), tuple(even_cells(pool, other_n, other_k, seed))
                    yield Comparison(question, f"{n},{k}", f"{other_n},{other_k}", step, len(pool), sides)


def _compare_spreads(categories: Groups, seed: int) -> Iterator[Comparison]:
    """Neighbouring spreads of as many corruptions from the same categories, of which each can be the large one."""
    pool = large_categories(categories, BASE_K + 1)
    if len(pool) < FEWEST:
        return
    most = min(len(categories[category]) for category in pool)
    cells = uneven_cells(pool, min(len(pool), MOST_UNEVEN), BASE_K, most, seed)
    for (low, first), (high, second) in itertools.pairwise(cells.items()):
        sides = tuple(first), tuple(second)
        yield Comparison("std", f"std {low:.1f}", f"std {high:.1f}", high - low, len(pool), sides)


def _slope(scores: GroupValidity, comparisons: list[Comparison], names: dict, natural: str) -> Difference:
    """The least squares line through 0 and the differences: sum of step · difference over sum of step².

    So larger steps weigh more, and it is an average over the steps that the categories allow.
    """
    squares = sum(comparison.step**2 for comparison in comparisons)
    weights: dict[str, float] = {}
    for comparison in comparisons:
        for side, sign in zip(comparison.sides, (-1, 1), strict=True):
            weights[names[side]] = weights.get(names[side], 0.0) + sign * comparison.step / squares
    return scores.contrast(weights, natural)


def _row(head: tuple, score: Difference) -> tuple:
    return (*head, score.value, score.low, score.high, score.other_sign_share, score.note)
