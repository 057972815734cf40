"""What several tests hold corruptions to: draws in numpy, the laws that levels and draws must obey, motion blur.

Draws are keyed, so a test of chance has one outcome for ever. ALARM is the chance that a correct law had failed it.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from scipy import stats

from scuff import batches, door
from scuff.random import image_keys

ALARM = 1e-4

Draws = Mapping[str, np.ndarray]


def draw(
    address: str, count: int, size: tuple[int, int] = (224, 224), severity: float | None = None, seed: int = 0
) -> dict[str, np.ndarray]:
    """What the images 0..count-1 of this size draw: one row for each."""
    plan = door.resolve(address, severity)
    keys = image_keys(plan.entry, plan.level, torch.arange(count), seed)
    drawn = plan.corruption.drawn(keys, (3, *size), door.scaled_parameters(plan, min(size)))
    return {name: value.numpy() for name, value in drawn.items()}


def apply(address: str, pictures: np.ndarray, draws: Draws, severity: float | None = None) -> np.ndarray:
    """Corrupt uint8 (N, H, W, 3) with given draws, and round as the door does."""
    plan = door.resolve(address, severity)
    corruption, parameters = plan.corruption, door.scaled_parameters(plan, min(pictures.shape[1:3]))
    keywords = [p.name for p in inspect.signature(corruption.apply).parameters.values() if p.kind is p.KEYWORD_ONLY]
    given = {name: torch.from_numpy(np.array(value)) for name, value in draws.items()}
    batch = torch.from_numpy(pictures).permute(0, 3, 1, 2)
    y = corruption.apply(batches.from_pixels(corruption, batch), **given, **{p: parameters[p] for p in keywords})
    return batches.to_pixels(corruption, batch, y).permute(0, 2, 3, 1).numpy()


def rows_of(draws: Draws) -> list[dict[str, np.ndarray]]:
    """The draws of each image for itself."""
    count = len(next(iter(draws.values()), ()))
    return [{name: value[k] for name, value in draws.items()} for k in range(count)]


# --- pictures -------------------------------------------------------------------------------------------------------


def noise(count: int = 2, size: tuple[int, int] = (224, 224)) -> np.ndarray:
    """Random bytes (count, H, W, 3): every colour, and the hardest thing to filter."""
    return np.random.default_rng(7).integers(0, 256, (count, *size, 3), dtype=np.uint8)


def waves(size: tuple[int, int] = (224, 224)) -> np.ndarray:
    """One smooth picture in many colours, (1, H, W, 3)."""
    i, j = np.mgrid[: size[0], : size[1]] / max(size)
    parts = (np.sin(9 * i + 4 * j), np.cos(7 * j - 3 * i), np.sin(6 * i * j + 2))
    return np.round(127.5 + 120 * np.stack(parts, axis=-1)).astype(np.uint8)[None]


def own_places(size: tuple[int, int] = (224, 224)) -> np.ndarray:
    """A picture whose pixels say where they are from, (1, H, W, 3): row + 1, column + 1, and 255. Black is nowhere."""
    i, j = np.mgrid[: size[0], : size[1]] + 1
    return np.stack((i, j, np.full_like(i, 255)), axis=-1).astype(np.uint8)[None]


# --- levels ---------------------------------------------------------------------------------------------------------


def assert_nearest(found: np.ndarray, exact: np.ndarray, slack: float = 1e-3) -> None:
    """Bytes must be the nearest to the exact levels; halves may go either way.

    The slack is for float32, whose error after a few operations on 0..255 is below a thousandth of a level.
    """
    worst = np.abs(found - np.clip(exact, 0, 255)).max()
    assert worst <= 0.5 + slack, f"a value is {worst:.4f} levels from the exact one"


def assert_truncated(found: np.ndarray, exact: np.ndarray, slack: float = 1e-3) -> None:
    """Bytes must be the exact levels without their fraction; see assert_nearest for the slack."""
    fraction = np.clip(exact, 0, 255) - found
    low, high = fraction.min(), fraction.max()
    assert low >= -slack, f"a value is {-low:.4f} levels above the exact one"
    assert high < 1 + slack, f"a value is {high:.4f} levels below the exact one"


def assert_mostly(found: np.ndarray, expected: np.ndarray, within: float, share: float, worst: float = 255) -> None:
    """At least this share of the values within a distance, and none farther away than the worst."""
    distance = np.abs(found.astype(np.float64) - expected)
    assert (distance <= within).mean() >= share, f"only {(distance <= within).mean():.5f} lie within {within}"
    assert distance.max() <= worst, f"a value is {distance.max():.2f} levels away"


# --- chance ---------------------------------------------------------------------------------------------------------


def assert_uniform(values: np.ndarray, low: float, high: float) -> None:
    """Whole numbers: chi-square over low..high, both ends reached. Real ones: Kolmogorov-Smirnov, and none outside."""
    values = np.ravel(values)
    assert values.min() >= low
    assert values.max() <= high
    if np.issubdtype(values.dtype, np.integer):
        assert_shares(values - low, np.full(high - low + 1, 1 / (high - low + 1)))
        assert (values.min(), values.max()) == (low, high)
    else:
        assert stats.kstest(values, stats.uniform(low, high - low).cdf).pvalue > ALARM


def assert_shares(values: np.ndarray, shares: Sequence[float]) -> None:
    """The numbers 0, 1, ... must come with these probabilities: chi-square."""
    counts = np.bincount(np.ravel(values), minlength=len(shares))
    assert len(counts) == len(shares), f"{counts.nonzero()[0].max()} must not occur"
    shares = np.asarray(shares)
    possible = shares > 0
    assert counts[~possible].sum() == 0, "something impossible occurs"
    assert stats.chisquare(counts[possible], shares[possible] * counts.sum()).pvalue > ALARM


def assert_fair(flags: np.ndarray) -> None:
    """Two outcomes with equal chances: exact binomial test."""
    flags = np.ravel(flags) > 0
    assert stats.binomtest(int(flags.sum()), flags.size).pvalue > ALARM


def assert_normal(values: np.ndarray) -> None:
    """Standard normal: Kolmogorov-Smirnov."""
    assert stats.kstest(np.ravel(values), stats.norm.cdf).pvalue > ALARM


def assert_unrelated(*columns: np.ndarray) -> None:
    """No rank correlation between any two columns, nor between one image and the next."""
    for k, a in enumerate(columns):
        for b in (a, *columns[k + 1 :]):
            first, second = (a[:-1], a[1:]) if b is a else (a, b)
            assert stats.spearmanr(first, second).pvalue > ALARM


def half_gaussian_motion(levels: np.ndarray, angle: float, radius: int, sigma: float) -> np.ndarray:
    """One picture, levels 0..255: the original's half Gaussian with ImageMagick's rounding."""
    k = np.arange(2 * radius + 1)
    weights = np.exp(-(k**2) / (2 * sigma**2))
    weights /= weights.sum()
    dx = np.ceil(k * math.cos(math.radians(angle)) - 0.5).astype(int)
    dy = np.ceil(k * math.sin(math.radians(angle)) - 0.5).astype(int)
    height, width = levels.shape[:2]
    rows, columns = np.arange(height)[:, None], np.arange(width)
    total = np.zeros(levels.shape)
    for w, y, x in zip(weights, dy, dx, strict=True):
        total += w * levels[np.clip(rows + y, 0, height - 1), np.clip(columns + x, 0, width - 1)]
    return np.floor(np.floor(257 * total + 0.5) / 257)
