"""Groups of benchmarks as in the tables 2 and 3 of ImageNet-Syn2Nat: by n and k, and by how uneven they are.

A group is called "2,3" if its benchmarks have three corruptions from each of two categories, and "std 0.6" if the
numbers of representatives of its categories have that standard deviation. Cells of a group weigh the same: sets of
categories of the first kind, arrangements of numbers over categories of the second. `trends` compares like with like.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from scuff.design.overlap.balanced import LEAST_OF_GROUP, Groups, count_benchmarks, std_groups
from scuff.design.validity.cells import Group, draw_benchmarks, even_cells, large_categories

LEAST_BENCHMARKS = 20  # of a group: the mean of fewer says more of single corruptions than of n and k


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


def _possible_pairs(categories: Groups) -> list[tuple[int, int]]:
    sizes = [*sorted(map(len, categories.values()), reverse=True), 0]
    # of one category alone, there is nothing to be learnt about categories
    pairs = [(n, k) for n in range(1, len(sizes)) for k in range(1, sizes[max(n, 2) - 1] + 1)]
    return [pair for pair in pairs if count_benchmarks(categories, *pair) >= LEAST_BENCHMARKS]
