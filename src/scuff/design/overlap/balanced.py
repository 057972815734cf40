"""Benchmarks with the same number of corruptions from each of several categories.

Laugros, Caplier and Ospici (ImageNet-Syn2Nat) found that a benchmark predicts robustness to natural shifts the better,
the more categories it represents and the more evenly. An (n, k) benchmark has k corruptions from each of n categories.
Substitutions make a benchmark less even, step by step, without changing its size or its categories.

Categories are mappings {category: its corruptions}, as `Categories.groups` gives them. Benchmarks are tuples of names,
in the order of the categories.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from scuff.design.overlap.cliques import make_graph
from scuff.design.overlap.lightest import find_lightest
from scuff.metrics.overlap.scores import OverlapTable, read_overlaps
from scuff.suites import Suite, combine_suites

Groups = Mapping[str, Sequence[str]]
Benchmark = tuple[str, ...]
SUBSET_EFFORT = 100_000  # steps, each a quick one: about ten seconds
LEAST_OF_GROUP = 201  # the paper keeps groups of more than 200 benchmarks


def generate(categories: Groups, n: int, k: int, count: int = 1000, seed: int = 0) -> list[Benchmark]:
    """Draw `count` different (n, k) benchmarks: n categories at random, and k corruptions at random from each.

    >>> sorted(generate({"noise": ["shot", "impulse"], "blur": ["motion"], "other": ["fog"]}, 2, 1, count=5))
    [('impulse', 'fog'), ('impulse', 'motion'), ('motion', 'fog'), ('shot', 'fog'), ('shot', 'motion')]
    """
    order = {name: place for place, name in enumerate(_category_of(categories))}
    pools = [list(members) for members in _pools(categories, n, k).values()]
    possible = count_benchmarks(categories, n, k)
    if not 1 <= count <= possible:
        raise ValueError(f"there are {possible} different ({n}, {k}) benchmarks of these categories; got count {count}")
    draw = np.random.default_rng(seed)
    benchmarks: dict[Benchmark, None] = {}
    while len(benchmarks) < count:
        chosen = draw.choice(len(pools), n, replace=False)
        names = [pools[c][place] for c in chosen for place in draw.choice(len(pools[c]), k, replace=False)]
        benchmarks[tuple(sorted(names, key=order.__getitem__))] = None
    return list(benchmarks)


def count_benchmarks(categories: Groups, n: int, k: int) -> int:
    """How many different (n, k) benchmarks there are.

    >>> count_benchmarks({"noise": ["shot", "impulse"], "blur": ["motion", "zoom"], "other": ["fog"]}, 2, 1)
    8
    """
    ways = [1] + [0] * n  # of taking 0, 1, ... categories from those so far
    for members in _pools(categories, n, k).values():
        choices = math.comb(len(members), k)
        for taken in range(n, 0, -1):
            ways[taken] += ways[taken - 1] * choices
    return ways[n]


def spread_of(benchmark: Sequence[str], categories: Groups) -> float:
    """The standard deviation of the numbers of corruptions that represent a category, over those represented at all.

    >>> spread_of(["shot", "impulse", "zoom"], {"noise": ["shot", "impulse"], "blur": ["zoom"], "other": ["fog"]})
    0.5
    """
    return _spread(benchmark, _category_of(categories, benchmark))


def substitute(benchmark: Benchmark, categories: Groups, draw: np.random.Generator) -> Benchmark:
    """Exchange one corruption for another so that the benchmark gets less even; the same one if that is impossible.

    Of all exchanges that satisfy three conditions, one at random: the categories represented stay the same, the spread
    grows, and the new corruption was not there before. With the numbers of representatives a and b of the two
    categories, that is: these differ, and 2 <= a <= b, because the sum of squares changes by 2 (b - a + 1).
    """
    order = {name: place for place, name in enumerate(_category_of(categories, benchmark))}
    used = [[name for name in members if name in benchmark] for members in categories.values()]
    unused = [[name for name in members if name not in benchmark] for members in categories.values()]
    exchanges = [
        (old, new)
        for a, olds in enumerate(used)
        for b, news in enumerate(unused)
        if a != b and 2 <= len(olds) <= len(used[b])
        for old in olds
        for new in news
    ]
    if not exchanges:
        return benchmark
    old, new = exchanges[draw.integers(len(exchanges))]
    return tuple(sorted({*benchmark, new} - {old}, key=order.__getitem__))


def std_groups(
    benchmarks: Iterable[Benchmark], categories: Groups, seed: int = 0, copies: int = 10, least: int = LEAST_OF_GROUP
) -> dict[float, list[Benchmark]]:
    """Benchmarks grouped by their spread, to one decimal: these ones, and what substitutions make of them.

    Several copies of each are substituted again and again until nothing changes. Each result counts once. Groups of
    fewer than `least` are left out.
    """
    draw = np.random.default_rng(seed)
    current = list(benchmarks) * copies
    distinct = dict.fromkeys(current)
    while current:
        changed = [(old, substitute(old, categories, draw)) for old in current]
        current = [new for old, new in changed if new != old]
        distinct |= dict.fromkeys(current)
    groups: dict[float, list[Benchmark]] = {}
    category_of = _category_of(categories)
    for benchmark in distinct:
        groups.setdefault(round(_spread(benchmark, category_of), 1), []).append(benchmark)
    return {spread: groups[spread] for spread in sorted(groups) if len(groups[spread]) >= least}


def least_overlapping(overlaps: OverlapTable, categories: Groups, n: int, k: int) -> Benchmark:
    """The (n, k) benchmark whose corruptions of the same category overlap least on average: ImageNet-Syn2Nat's rule.

    Exact: the k of each category that overlap least with each other, and the n categories where that is least.

    >>> import pandas as pd
    >>> names = ["a/shot", "a/iso", "a/speckle", "a/zoom", "a/defocus"]
    >>> values = np.eye(5)
    >>> values[[0, 1, 0, 2, 1, 2, 3, 4], [1, 0, 2, 0, 2, 1, 4, 3]] = [0.9, 0.9, 0.4, 0.4, 0.8, 0.8, 0.7, 0.7]
    >>> groups = {"noise": names[:3], "blur": names[3:]}
    >>> least_overlapping(pd.DataFrame(values, names, names), groups, 1, 2)
    ('a/shot', 'a/speckle')
    """
    if k < 2:
        raise ValueError(
            f"with k = {k} no two corruptions are of the same category, and none overlaps less; take k >= 2"
        )
    overlaps = read_overlaps(overlaps)
    best: dict[str, tuple[float, Benchmark]] = {}
    for category, members in _pools(categories, n, k).items():
        values = overlaps.take(members).values
        if np.isnan(values).any():
            without = [name for name in members if name in overlaps.undefined]
            raise ValueError(f"category {category} holds corruptions that have no overlaps: {', '.join(without)}")
        lightest = find_lightest(make_graph(np.ones_like(values, bool)), values, k, effort=SUBSET_EFFORT)
        if not lightest.proven:
            raise ValueError(f"category {category} has too many sets of {k} of {len(members)} corruptions to search")
        chosen = tuple(members[place] for place in lightest.cliques[0])
        best[category] = overlaps.mean_overlap(chosen), chosen
    taken = sorted(best, key=lambda category: best[category][0])[:n]
    return tuple(name for category in categories if category in taken for name in best[category][1])


def balanced(overlaps: OverlapTable, categories: Groups, n: int, k: int, name: str = "balanced") -> Suite:
    """The (n, k) benchmark of `least_overlapping` as a suite, with its categories.

    >>> import pandas as pd
    >>> names = [f"imagenet-c/{entry}" for entry in ("fog", "frost", "zoom_blur", "glass_blur")]
    >>> groups = {"weather": names[:2], "blur": names[2:]}
    >>> suite = balanced(pd.DataFrame(np.eye(4), names, names), groups, 2, 2)
    >>> suite.categories
    {'weather': ['fog', 'frost'], 'blur': ['zoom_blur', 'glass_blur']}
    """
    overlaps = read_overlaps(overlaps)
    members = least_overlapping(overlaps, categories, n, k)
    groups = {category: [c for c in members if c in group] for category, group in categories.items()}
    groups = {category: group for category, group in groups.items() if group}
    about = f"{k} corruptions from each of {n} categories, those that overlap least within their category"
    return combine_suites(name, members, overlaps.suites, about=about, categories=groups)


def _spread(benchmark: Sequence[str], category_of: Mapping[str, str]) -> float:
    counts = Counter(category_of[name] for name in benchmark).values()
    mean = len(benchmark) / len(counts)
    return math.sqrt(sum((count - mean) ** 2 for count in counts) / len(counts))


def _pools(categories: Groups, n: int, k: int) -> dict[str, Sequence[str]]:
    """The categories that can be drawn, checked: enough of them, with enough members."""
    _category_of(categories)
    if n < 1 or k < 1:
        raise ValueError(f"an (n, k) benchmark has n >= 1 categories and k >= 1 corruptions of each; got ({n}, {k})")
    large = {category: members for category, members in categories.items() if len(members) >= k}
    if len(large) < n:
        sizes = ", ".join(f"{category}: {len(members)}" for category, members in categories.items())
        raise ValueError(
            f"a benchmark of kind ({n}, {k}) needs {n} categories of at least {k} corruptions; there are {len(large)} "
            f"(members by category: {sizes}). Take a smaller n or k"
        )
    return large


def _category_of(categories: Groups, benchmark: Sequence[str] = ()) -> dict[str, str]:
    """The category of each corruption, of which it must have one only; those of a benchmark must have one."""
    category_of: dict[str, str] = {}
    for category, members in categories.items():
        for name in members:
            if name in category_of:
                first = category_of[name]
                raise ValueError(f"a corruption has one category, and {name} has two: {first} and {category}")
            category_of[name] = category
    missing = [name for name in benchmark if name not in category_of]
    if missing:
        raise ValueError(f"these corruptions are in no category: {', '.join(missing)}")
    return category_of
