"""Streams: known answers, laws, independence, and that a draw depends on nothing but its key.

Bounds are stated in standard errors of the quantity tested. The draws are fixed by their keys, so a test that passes
once passes always; five standard errors keep it from having been lucky by design.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy import stats

from scuff import kernels, random
from scuff.kernels.reference import random as reference

KEYS = random.image_keys("test/streams", 3, torch.arange(40), seed=7)
COUNT = 25_000


def _correlation(a: torch.Tensor, b: torch.Tensor) -> float:
    """In standard errors: for independent samples this is standard normal."""
    a, b = a.double().flatten(), b.double().flatten()
    r = torch.corrcoef(torch.stack((a, b)))[0, 1]
    return float(r) * math.sqrt(a.numel())


def test_philox_known_answers() -> None:
    """The published test vectors of Philox 4x32-10 (Random123)."""

    def philox(counter: list[int], key: list[int]) -> list[int]:
        return [int(w) for w in reference._philox(*(torch.tensor([v]) for v in (*counter, *key)))]

    ones, zeros = 0xFFFFFFFF, 0
    assert philox([zeros] * 4, [zeros] * 2) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    assert philox([ones] * 4, [ones] * 2) == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]
    pi = [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344]
    assert philox(pi, [0xA4093822, 0x299F31D0]) == [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 1001])
def test_back_ends_give_equal_words(count: int) -> None:
    keys = torch.tensor([0, 1, -1, 2**62 + 12345, -(2**63)])
    for stream in (0, 1, 0x80000000, 0xFFFFFFFF):
        with kernels.use_backend("reference"):
            words = kernels.words(keys, stream, count)
            uniform = kernels.uniform(keys, stream, count)
            integers = kernels.integers(keys, stream, count, -5, 1000)
        assert words.shape == (5, count)
        assert torch.equal(kernels.words(keys, stream, count), words)
        assert torch.equal(kernels.uniform(keys, stream, count), uniform)
        assert torch.equal(kernels.integers(keys, stream, count, -5, 1000), integers)


def test_back_ends_derive_equal_keys() -> None:
    ids = torch.tensor([0, 1, -5, 2**62 + 12345, -(2**63), 77])
    for cell in (0, 1, 2**63 + 7, 2**64 - 1):
        with kernels.use_backend("reference"):
            expected = kernels.derive_keys(ids, cell)
        assert torch.equal(kernels.derive_keys(ids, cell), expected)


def test_back_ends_give_close_normals() -> None:
    with kernels.use_backend("reference"):
        expected = kernels.normal(KEYS, 5, 100_001)
    assert (
        kernels.normal(KEYS, 5, 100_001) - expected
    ).abs().max() < 3e-6  # values reach 5: a few units in the last place


def test_back_ends_give_equal_poisson_quantiles() -> None:
    rate = torch.cat((torch.linspace(0, 3, 2000), torch.linspace(3, 700, 3000))).expand(4, -1)
    u = kernels.uniform(KEYS[:4], 1, rate.shape[1])
    with kernels.use_backend("reference"):
        expected = kernels.poisson_quantile(u, rate)
    assert (kernels.poisson_quantile(u, rate) != expected).sum() <= 1  # a tie of u with the distribution function


def test_prefix_property() -> None:
    """Element e does not depend on how many are drawn."""
    for draw in (random.uniform, random.normal):
        assert torch.equal(draw(KEYS, "a", (64,)), draw(KEYS, "a", (1000,))[:, :64])


def test_uniformity() -> None:
    u = random.uniform(KEYS, "u", (COUNT,)).double().numpy()
    assert u.min() > 0
    assert u.max() <= 1
    assert stats.kstest(u.ravel(), "uniform").pvalue > 1e-3
    pvalues = [stats.kstest(row, "uniform").pvalue for row in u]
    assert stats.kstest(pvalues, "uniform").pvalue > 1e-3  # no image is worse, or better, than chance
    bits = random.kernels.words(KEYS, 3, COUNT)
    for bit in range(32):
        share = float((bits >> bit & 1).double().mean())
        assert abs(share - 0.5) < 5 * 0.5 / math.sqrt(bits.numel()), f"bit {bit}"


def test_independence_of_elements_images_streams_severities_and_seeds() -> None:
    u = random.uniform(KEYS, "u", (COUNT,))
    for lag in (1, 2, 3, 4, 8, 224):
        assert abs(_correlation(u[:, lag:], u[:, :-lag])) < 5, f"lag {lag}"
    assert abs(_correlation(u[1:], u[:-1])) < 5
    assert abs(_correlation(u, random.uniform(KEYS, "v", (COUNT,)))) < 5
    ids = torch.arange(40)
    for other in (
        random.image_keys("test/streams", 4, ids, seed=7),
        random.image_keys("test/streams", 3, ids, seed=8),
        random.image_keys("test/other", 3, ids, seed=7),
        random.image_keys("test/streams", 3, ids + 1000, seed=7),
    ):
        assert abs(_correlation(u, random.uniform(other, "u", (COUNT,)))) < 5


def test_keys_never_collide_in_a_cell() -> None:
    keys = random.image_keys("imagenet-c/fog", 1, torch.arange(200_000))
    assert len(torch.unique(keys)) == 200_000


def test_normal_moments_and_tails() -> None:
    z = random.normal(KEYS, "z", (COUNT,)).double().numpy().ravel()
    n = z.size
    assert abs(z.mean()) < 5 / math.sqrt(n)
    assert abs(z.var() - 1) < 5 * math.sqrt(2 / n)
    assert abs(stats.skew(z)) < 5 * math.sqrt(6 / n)
    assert abs(stats.kurtosis(z)) < 5 * math.sqrt(24 / n)
    assert stats.kstest(z, "norm").pvalue > 1e-3
    for limit in (2.0, 3.0, 4.0):
        expected = n * 2 * stats.norm.sf(limit)
        assert abs((np.abs(z) > limit).sum() - expected) < 5 * math.sqrt(expected), f"beyond {limit}"


@pytest.mark.parametrize("rate", [0.05, 0.9, 3.0, 12.5, 60.0, 500.0])
def test_poisson_law_moments_and_tails(rate: float) -> None:
    k = random.poisson(KEYS, "p", torch.full((40, COUNT), rate)).double().numpy().ravel()
    n = k.size
    assert abs(k.mean() - rate) < 5 * math.sqrt(rate / n)
    assert abs(k.var() - rate) < 5 * math.sqrt((rate + 2 * rate**2) / n)
    low, high = (int(stats.poisson.ppf(q, rate)) for q in (0.001, 0.999))
    counts = np.array([(k <= low).sum(), *((k == v).sum() for v in range(low + 1, high)), (k >= high).sum()])
    law = np.array([stats.poisson.cdf(low, rate), *stats.poisson.pmf(range(low + 1, high), rate)])
    law = np.append(law, 1 - law.sum())
    assert stats.chisquare(counts, n * law).pvalue > 1e-3
    tail = int(stats.poisson.isf(1e-5, rate))
    expected = n * stats.poisson.sf(tail, rate)
    assert abs((k > tail).sum() - expected) < 5 * math.sqrt(expected) + 1


def test_poisson_of_zero_is_zero() -> None:
    assert not random.poisson(KEYS, "p", torch.zeros(40, 100)).any()


def test_integers_include_both_ends_and_are_uniform() -> None:
    k = random.integers(KEYS, "i", (COUNT,), low=-4, high=3)
    values, counts = torch.unique(k, return_counts=True)
    assert values.tolist() == list(range(-4, 4))
    assert stats.chisquare(counts.numpy()).pvalue > 1e-3
    assert random.integers(KEYS, "i", (9,), low=5, high=5).unique().tolist() == [5]
    with pytest.raises(ValueError, match="low <= high"):
        random.integers(KEYS, "i", low=3, high=2)


@pytest.mark.parametrize("p", [0.0, 0.03, 0.5, 1.0])
def test_bernoulli(p: float) -> None:
    share = float(random.bernoulli(KEYS, "b", (COUNT,), probability=p).double().mean())
    assert abs(share - p) <= 5 * math.sqrt(p * (1 - p) / (40 * COUNT))


def test_permutation_is_one_and_uniform() -> None:
    keys = random.image_keys("perm", None, torch.arange(24_000))
    order = random.permutation(keys, "order", 4)
    assert torch.equal(order.sort(1).values, torch.arange(4).expand(24_000, 4))
    _, counts = torch.unique(order, dim=0, return_counts=True)
    assert len(counts) == 24
    assert stats.chisquare(counts.numpy()).pvalue > 1e-3


def test_choice_follows_its_weights() -> None:
    weights = (0.2, 0.4, 0.0, 0.4)
    _, counts = torch.unique(random.choice(KEYS, "c", (COUNT,), weights=weights), return_counts=True)
    assert len(counts) == 3  # the third is never chosen
    assert stats.chisquare(counts.numpy(), 40 * COUNT * np.array((0.2, 0.4, 0.4))).pvalue > 1e-3


def test_content_ids_know_position_and_value() -> None:
    x = torch.randint(0, 256, (3, 3, 39, 41), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    ids = random.content_ids(x)
    assert torch.equal(ids[1:2], random.content_ids(x[1:2]))
    assert len(ids.unique()) == 3
    swapped = x.clone()
    swapped[0, 0, 0, 0], swapped[0, 2, 38, 40] = x[0, 2, 38, 40], x[0, 0, 0, 0]
    assert x[0, 0, 0, 0] != x[0, 2, 38, 40]
    assert random.content_ids(swapped)[0] != ids[0]
    assert not torch.equal(random.content_ids(x.flip(3)), ids)


def test_image_id_is_stable() -> None:
    assert random.image_id("n01440764/a.JPEG") == 4103718025413953035
    assert random.image_id("a") != random.image_id("b")
    assert 0 <= random.image_id("") < 2**63
