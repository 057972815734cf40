"""Groups of benchmarks that are composed alike: a number of corruptions from each of some categories.

Algorithm 1 of ImageNet-Syn2Nat draws categories first, all with the same probability, and then corruptions. So a
category with many corruptions must not count more than one with few. Here, what a benchmark takes from each category
is its cell; all cells of a group have about as many benchmarks, and exactly the same weight in the mean.

As in the tables 2 and 3 of the paper, a group is called "2,3" if its benchmarks have three corruptions from each of two
categories, and "std 0.6" if the numbers of representatives of its categories have that standard deviation.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from scuff.design.overlap.balanced import LEAST_OF_GROUP, Benchmark, Groups, count_benchmarks, std_groups

MOST_CELLS = 1000  # of a group; beyond that, as many at random
LEAST_BENCHMARKS = 20  # of a group: the mean of fewer says more of single corruptions than of n and k

Cell = tuple[tuple[str, int], ...]  # categories, and how many corruptions of each


@dataclass(frozen=True)
class Group:
    """Benchmarks, and the cell of each, by any name; all cells weigh the same."""

    benchmarks: Sequence[Benchmark]
    cells: Sequence[Hashable]

    def __len__(self) -> int:
        return len(self.benchmarks)


def nk_groups(
    categories: Groups, pairs: Iterable[tuple[int, int]] | None = None, count: int = 1000, seed: int = 0
) -> dict[str, Group]:
    """About `count` different (n, k) benchmarks for each pair of n and k, or all that there are.

    By default all pairs of which there are at least 20 different benchmarks, out of two categories or more. Categories
    with fewer than k corruptions are not represented.

    >>> categories = {"noise": ["shot", "impulse", "iso"], "blur": ["motion", "zoom", "glass"], "light": ["fog", "sun"]}
    >>> {label: len(found) for label, found in nk_groups(categories).items()}
    {'2,1': 21}
    >>> {label: len(found) for label, found in nk_groups(categories, [(2, 2), (3, 1)], count=16).items()}
    {'2,2': 12, '3,1': 16}
    """
    pairs = _possible_pairs(categories) if pairs is None else list(pairs)
    groups = {}
    for n, k in pairs:
        count_benchmarks(categories, n, k)  # which refuses what cannot be
        cells = even_cells(large_categories(categories, k), n, k, seed)
        groups[f"{n},{k}"] = draw_benchmarks(categories, cells, count, seed)
    return groups


def spread_groups(
    categories: Groups, n: int, k: int, count: int = 1000, seed: int = 0, least: int | None = None
) -> dict[str, Group]:
    """About `count` (n, k) benchmarks, and what substitutions make of them, by the spread of representatives.

    Groups of fewer than `least` benchmarks are left out. By default the paper's 201 for 1000 benchmarks to begin with,
    and in proportion for fewer, down to 20.

    >>> categories = {"noise": ["shot", "impulse", "iso"], "blur": ["motion", "zoom", "glass"], "light": ["fog", "sun"]}
    >>> {label: len(found) for label, found in spread_groups(categories, 2, 2, least=1).items()}
    {'std 0.0': 15, 'std 1.0': 10}
    """
    (start,) = nk_groups(categories, [(n, k)], count, seed).values()
    if least is None:
        least = min(LEAST_OF_GROUP, max(LEAST_BENCHMARKS, len(start) // 5))
    category_of = {name: category for category, members in categories.items() for name in members}
    groups = {}
    for spread, benchmarks in std_groups(start.benchmarks, categories, seed, least=least).items():
        arrangements = [
            tuple(sorted(Counter(category_of[name] for name in benchmark).items())) for benchmark in benchmarks
        ]
        groups[f"std {spread:.1f}"] = Group(benchmarks, arrangements)
    return groups


# --- cells -----------------------------------------------------------------------------------------------------------


def large_categories(categories: Groups, least: int) -> list[str]:
    """The categories with at least this many corruptions."""
    return [category for category, members in categories.items() if len(members) >= least]


def even_cells(pool: Sequence[str], n: int, k: int, seed: int = 0) -> list[Cell]:
    """k corruptions from each of n categories, for all sets of n categories out of the pool.

    >>> even_cells(["blur", "noise", "light"], 2, 3)[:2]
    [(('blur', 3), ('noise', 3)), (('blur', 3), ('light', 3))]
    """
    return [tuple((category, k) for category in chosen) for chosen in _choose(pool, n, seed)]


def uneven_cells(pool: Sequence[str], n: int, k: int, most: int, seed: int = 0) -> dict[float, list[Cell]]:
    """n · k corruptions from n categories, from 1 to `most` of each, by the standard deviation of these numbers.

    Each arrangement of the numbers over categories is a cell, so that no category is the large one more often.

    >>> {spread: len(cells) for spread, cells in uneven_cells(["blur", "noise", "light"], 3, 2, 4).items()}
    {0.0: 1, 0.816: 6, 1.414: 3}
    """
    by_spread: dict[float, list[Cell]] = {}
    numbers = [counts for counts in _compositions(n * k, n) if max(counts) <= most]
    for chosen in _choose(pool, n, seed):
        for counts in numbers:
            cell = tuple(zip(chosen, counts, strict=True))
            by_spread.setdefault(round(float(np.std(counts)), 3), []).append(cell)
    return dict(sorted(by_spread.items()))


def draw_benchmarks(categories: Groups, cells: Sequence[Cell], count: int, seed: int = 0) -> Group:
    """About `count` different benchmarks, evenly from all cells; all that there are of cells that have fewer.

    >>> drawn = draw_benchmarks({"noise": ["shot", "iso"], "blur": ["zoom"]}, [(("noise", 1), ("blur", 1))], 10)
    >>> drawn.benchmarks, drawn.cells
    ([('shot', 'zoom'), ('iso', 'zoom')], [0, 0])
    """
    draw = np.random.default_rng(seed)
    chosen = list(range(len(cells)))
    if len(cells) > count:
        chosen = sorted(draw.choice(len(cells), count, replace=False).tolist())
    each = math.ceil(count / len(chosen))
    benchmarks, numbers = [], []
    for number in chosen:
        drawn = _draw_cell(categories, cells[number], each, draw)
        benchmarks += drawn
        numbers += [number] * len(drawn)
    return Group(benchmarks, numbers)


def _draw_cell(categories: Groups, cell: Cell, count: int, draw: np.random.Generator) -> list[Benchmark]:
    parts = [(list(categories[category]), number) for category, number in cell]
    possible = math.prod(math.comb(len(members), number) for members, number in parts)
    if possible <= 2 * count:  # to list them is quicker than to wait until new ones are drawn
        every = [
            tuple(itertools.chain(*choice))
            for choice in itertools.product(*(itertools.combinations(members, number) for members, number in parts))
        ]
        kept = range(possible) if possible <= count else np.sort(draw.choice(possible, count, replace=False))
        return [every[place] for place in kept]
    drawn: dict[Benchmark, None] = {}
    while len(drawn) < count:
        places = [np.sort(draw.choice(len(members), number, replace=False)) for members, number in parts]
        names = [members[place] for (members, _), chosen in zip(parts, places, strict=True) for place in chosen]
        drawn[tuple(names)] = None
    return list(drawn)


def _choose(pool: Sequence[str], n: int, seed: int) -> list[tuple[str, ...]]:
    """All sets of n categories, or many at random if they are too many."""
    if math.comb(len(pool), n) <= MOST_CELLS:
        return list(itertools.combinations(pool, n))
    draw = np.random.default_rng(seed)
    chosen: dict[tuple[str, ...], None] = {}
    while len(chosen) < MOST_CELLS:
        chosen[tuple(pool[place] for place in np.sort(draw.choice(len(pool), n, replace=False)))] = None
    return list(chosen)


def _compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """All ways to write a number as an ordered sum of a given number of positive ones."""
    for bars in itertools.combinations(range(1, total), parts - 1):
        yield tuple(np.diff([0, *bars, total]).tolist())


def _possible_pairs(categories: Groups) -> list[tuple[int, int]]:
    sizes = [*sorted(map(len, categories.values()), reverse=True), 0]
    # of one category alone, there is nothing to be learnt about categories
    pairs = [(n, k) for n in range(1, len(sizes)) for k in range(1, sizes[max(n, 2) - 1] + 1)]
    return [pair for pair in pairs if count_benchmarks(categories, *pair) >= LEAST_BENCHMARKS]
