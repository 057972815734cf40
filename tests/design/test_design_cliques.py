"""The search for the largest and the lightest cliques, against plain enumeration."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from scuff.design.overlap.cliques import cliques, largest_cliques, make_graph, search_order, split, vertices
from scuff.design.overlap.lightest import MOST_TIES, find_lightest, lightest_of


def random_graph(count: int, density: float, seed: int) -> np.ndarray:
    joined = np.triu(np.random.default_rng(seed).random((count, count)) < density, 1)
    return joined | joined.T


def plain_cliques(joined: np.ndarray, size: int) -> list[tuple[int, ...]]:
    """All sets of vertices of a size that are joined, one after the other."""
    sets = combinations(range(len(joined)), size)
    return [members for members in sets if all(joined[a, b] for a, b in combinations(members, 2))]


def weigh(weights: np.ndarray, members: tuple[int, ...]) -> float:
    return sum(weights[a, b] for a, b in combinations(members, 2))


@pytest.mark.parametrize("density", [0.0, 0.3, 0.6, 0.9, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_cliques_of_every_size(density, seed):
    joined = random_graph(11, density, seed)
    graph = make_graph(joined)
    for size in range(1, 12):
        found = [tuple(sorted(clique)) for clique in cliques(graph, size)]
        assert sorted(found) == plain_cliques(joined, size)


def test_largest_cliques_are_limited():
    graph = make_graph(random_graph(10, 0.0, 0))
    assert len(largest_cliques(graph, 4)) == 4
    assert sorted(largest_cliques(graph, 99)) == [(vertex,) for vertex in range(10)]


def test_five_cycles_have_no_class_for_every_vertex():
    """Two of a five-cycle are apart, but it takes three classes: the bound is not exact, the search has to be."""
    cycle = np.zeros((15, 15), bool)
    for start in (0, 5, 10):
        for step in range(5):
            cycle[start + step, start + (step + 1) % 5] = True
    joined = ~(cycle | cycle.T)
    np.fill_diagonal(joined, False)
    found = largest_cliques(make_graph(joined), 1000)
    assert {len(clique) for clique in found} == {6}
    assert len({frozenset(clique) for clique in found}) == 5**3


@pytest.mark.parametrize("count", [0, 1, 2, 5, 99])
def test_classes_are_not_joined(count):
    joined = random_graph(20, 0.5, 7)
    classes, rest = split(make_graph(joined), (1 << 20) - 1, count)
    assert len(classes) <= count
    assert sorted(v for members in [*classes, rest] for v in vertices(members)) == list(range(20))
    assert not any(joined[a, b] for members in classes for a, b in combinations(vertices(members), 2))


def test_search_order_ends_with_the_sparse_part():
    joined = random_graph(12, 0.9, 1)
    joined[5] = joined[:, 5] = False
    order = search_order(joined)
    assert order[-1] == 5
    assert sorted(order) == list(range(12))


@pytest.mark.parametrize("seed", range(8))
def test_lightest_cliques(seed):
    """Of every size, with ties, from no start and from a known clique; whole weights make ties exact."""
    draw = np.random.default_rng(seed)
    joined = random_graph(10, draw.choice([0.5, 0.8, 1.0]), seed)
    weights = np.triu(draw.integers(0, 4, (10, 10)), 1)
    weights = weights + weights.T
    graph = make_graph(joined)
    for size in range(1, 11):
        known = plain_cliques(joined, size)
        if not known:
            break
        totals = [weigh(weights, members) for members in known]
        expected = [members for members, total in zip(known, totals, strict=True) if total == min(totals)]
        assert lightest_of(known, weights) == expected
        for start in ([], known):
            found = find_lightest(graph, weights, size, start)
            assert found.proven
            if len(expected) <= MOST_TIES + 1:
                assert found.cliques == expected
            else:
                assert len(found.cliques) == MOST_TIES + 1
                assert set(found.cliques) < set(expected)


@pytest.mark.parametrize("seed", range(3))
def test_one_of_each_class(seed):
    """Classes of like vertices have so many largest cliques that bounds must do the work: 4^7, here all weighed."""
    draw = np.random.default_rng(seed)
    weights = np.triu(draw.random((28, 28)), 1)
    weights += weights.T
    kind = np.arange(28) // 4
    graph = make_graph(kind[:, None] != kind)
    everything = [tuple(4 * np.arange(7) + np.unravel_index(index, (4,) * 7)) for index in range(4**7)]
    assert find_lightest(graph, weights, 7, everything[:1]).cliques == lightest_of(everything, weights)


def test_a_search_that_is_cut_short_says_so():
    weights = np.triu(np.random.default_rng(0).random((40, 40)), 1)
    weights += weights.T
    kind = np.arange(40) // 2
    found = find_lightest(make_graph(kind[:, None] != kind), weights, 20, effort=30)
    assert not found.proven
    assert len(found.cliques[0]) == 20
    assert len(set(kind[list(found.cliques[0])])) == 20
