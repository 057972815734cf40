"""Groups of benchmarks that differ in one thing: categories, corruptions of each, size, or evenness.

Laugros, Caplier and Ospici (ImageNet-Syn2Nat) ask what makes a benchmark predict natural shifts: more categories at the
same size, more corruptions, and even numbers of them. Groups are (n, k) benchmarks, called "2,3", and benchmarks with
the same spread of representatives, called "std 0.6". `trends` answers with differences and slopes, each with its
interval.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence

import pandas as pd

from scuff.design.balanced import LEAST_OF_GROUP, Benchmark, Groups, count_benchmarks, generate, std_groups
from scuff.design.validity_result import GroupValidity
from scuff.metrics.score import Difference

LEAST_BENCHMARKS = 20  # of a group: the mean of fewer says more of single corruptions than of n and k
STD = "std "
ALL = "all"
COLUMNS = ("question", "natural", "smaller", "larger", "difference", "low", "high", "other_sign_share", "note")


def nk_groups(
    categories: Groups, pairs: Iterable[tuple[int, int]] | None = None, count: int = 1000, seed: int = 0
) -> dict[str, list[Benchmark]]:
    """Up to `count` different (n, k) benchmarks for each pair of n and k, by labels such as "2,3".

    By default all pairs with n >= 2 of which there are at least 20 different benchmarks.

    >>> categories = {"noise": ["shot", "impulse", "iso"], "blur": ["motion", "zoom", "glass"], "light": ["fog", "sun"]}
    >>> {label: len(found) for label, found in nk_groups(categories).items()}
    {'2,1': 21}
    >>> {label: len(found) for label, found in nk_groups(categories, [(2, 2), (3, 1)], count=16).items()}
    {'2,2': 15, '3,1': 16}
    """
    pairs = _possible_pairs(categories) if pairs is None else list(pairs)
    return {f"{n},{k}": _draw_or_list(categories, n, k, count, seed) for n, k in pairs}


def spread_groups(
    categories: Groups, n: int, k: int, count: int = 1000, seed: int = 0, least: int | None = None
) -> dict[str, list[Benchmark]]:
    """Up to `count` (n, k) benchmarks, and what substitutions make of them, by their spread: "std 0.0", "std 0.6".

    Groups of fewer than `least` benchmarks are left out. By default the paper's 201 for 1000 benchmarks to begin with,
    and in proportion for fewer, down to 20.

    >>> categories = {"noise": ["shot", "impulse", "iso"], "blur": ["motion", "zoom", "glass"], "light": ["fog", "sun"]}
    >>> {label: len(found) for label, found in spread_groups(categories, 2, 2, least=1).items()}
    {'std 0.0': 15, 'std 1.0': 10}
    """
    start = _draw_or_list(categories, n, k, count, seed)
    if least is None:
        least = min(LEAST_OF_GROUP, max(LEAST_BENCHMARKS, len(start) // 5))
    return {f"{STD}{spread:.1f}": found for spread, found in std_groups(start, categories, seed, least=least).items()}


def trends(found: GroupValidity) -> pd.DataFrame:
    """Does the correlation rise with the number of categories, with their representatives, with size, with the spread?

    One line per natural benchmark and two neighbouring groups: the mean correlation of the larger minus that of the
    smaller. Another one, whose groups are both "all", is the slope through all such groups: what one more (of n, k,
    size, or the spread) adds to the correlation.

        n       more categories at the same size
        k       more corruptions of each of the same number of categories
        size    more corruptions, whatever the categories: a slope only
        std     a larger spread of the numbers of representatives

    `other_sign_share` is the share of resamples of models in which the sign is another one.
    """
    lines = []
    for question, (levels, kinds) in _questions(found.groups).items():
        steps = [] if question == "size" else _neighbours(levels, kinds)
        for natural in found.natural:
            for smaller, larger in steps:
                lines.append(_line(question, natural, smaller, larger, found.difference(larger, smaller, natural)))
            if _comparable(levels, kinds):
                lines.append(_line(question, natural, ALL, ALL, found.slope(levels, natural, kinds)))
    return pd.DataFrame(lines, columns=COLUMNS)


def _possible_pairs(categories: Groups) -> list[tuple[int, int]]:
    sizes = sorted(map(len, categories.values()), reverse=True)
    pairs = [(n, k) for n in range(2, len(sizes) + 1) for k in range(1, sizes[n - 1] + 1)]
    return [pair for pair in pairs if count_benchmarks(categories, *pair) >= LEAST_BENCHMARKS]


def _draw_or_list(categories: Groups, n: int, k: int, count: int, seed: int) -> list[Benchmark]:
    """So many (n, k) benchmarks, or all if there are no more: to wait until the last one is drawn takes long."""
    if count < count_benchmarks(categories, n, k):
        return generate(categories, n, k, count, seed)
    large = [members for members in categories.values() if len(members) >= k]
    parts = [
        itertools.product(*(itertools.combinations(m, k) for m in some)) for some in itertools.combinations(large, n)
    ]
    return [tuple(itertools.chain(*choice)) for choice in itertools.chain(*parts)]


def _questions(groups: Sequence[str]) -> dict[str, tuple[dict[str, float], dict[str, Hashable]]]:
    """For each question the level of every group, and its kind, within which levels are compared."""
    pairs = {group: tuple(map(int, group.split(","))) for group in groups if re.fullmatch(r"\d+,\d+", group)}
    spreads = {group: float(group.removeprefix(STD)) for group in groups if group.startswith(STD)}
    sizes = {group: n * k for group, (n, k) in pairs.items()}
    categories = {group: n for group, (n, _) in pairs.items()}
    return {
        "n": (categories, sizes),
        "k": ({group: k for group, (_, k) in pairs.items()}, categories),
        "size": (sizes, dict.fromkeys(sizes, 0)),
        "std": (spreads, dict.fromkeys(spreads, 0)),
    }


def _neighbours(levels: Mapping[str, float], kinds: Mapping[str, Hashable]) -> list[tuple[str, str]]:
    """Groups of the same kind, one level apart, the smaller level first."""
    members: dict[Hashable, list[str]] = {}
    for group in sorted(levels, key=levels.get):
        members.setdefault(kinds[group], []).append(group)
    return [pair for kind in members for pair in itertools.pairwise(members[kind])]


def _comparable(levels: Mapping[str, float], kinds: Mapping[str, Hashable]) -> bool:
    return len({(kinds[group], level) for group, level in levels.items()}) > len(set(kinds.values()))


def _line(question: str, natural: str, smaller: str, larger: str, found: Difference) -> dict[str, object]:
    values = found.value, found.low, found.high, found.other_sign_share, found.note
    return dict(zip(COLUMNS, (question, natural, smaller, larger, *values), strict=True))


__all__ = ["nk_groups", "spread_groups", "trends"]
