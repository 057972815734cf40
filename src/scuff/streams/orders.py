"""Orders of images inside a segment: shuffles, and labels that are correlated in time. Pure: numpy on the CPU.

All draws are keyed, so that a segment has its order without those before it.
"""

from __future__ import annotations

import numpy as np
import torch

from scuff import random
from scuff.random import image_keys

SHARED = ("shared", "class", "chunks")  # orders that all segments have in common
MOST_SLOTS = 100
LEAST_CHUNK = 10  # images
MOST_REPETITIONS = 5000
PER_CLASS = 100  # images, by default, while it is a class's turn


def keys(kind: str, group: int, seed: int) -> torch.Tensor:
    """The key of one draw about a stream."""
    return image_keys(f"stream/{kind}", None, torch.tensor([group]), seed)


def shuffled(count: int, kind: str, group: int, seed: int, first: int | None = None) -> np.ndarray:
    """A random order of 0 .. count - 1, or the first few of it, which are sooner found."""
    words = random.integers(keys(kind, group, seed), "order", (2 * count,), low=0, high=2**31 - 1)[0].numpy()
    high, low = words[::2], words[1::2]
    chosen = np.arange(count)
    if first is not None and first < count:
        likely = np.flatnonzero(high <= (first + 8 * first**0.5 + 8) / count * 2**31)  # whose ranks are the lowest
        chosen = likely if len(likely) >= first else chosen
    numbers = high[chosen].astype(np.int64) << 31 | low[chosen]
    return chosen[np.argsort(numbers, kind="stable")][:first]


def make_order(
    order: str,
    labels: np.ndarray,
    classes: int,
    group: int,
    seed: int,
    length: int | None = None,
    concentration: float = 0.1,
    ratio: float = 500_000.0,
) -> np.ndarray:
    """Places 0 .. len(labels) - 1 in the order of a segment; `length` of them, if it is given.

    A shorter segment takes images at random, and orders those.
    """
    group = 0 if order in SHARED and length is None else group
    if order == "imbalance":
        return imbalanced(labels, classes, group, seed, length or PER_CLASS * classes, ratio)
    if length is not None and length < len(labels):
        if order == "shared":
            return shuffled(len(labels), "order", 0, seed, length)
        chosen = shuffled(len(labels), "order", group, seed, length)
        if order == "fresh":
            return chosen
        chosen.sort()
        return chosen[make_order(order, labels[chosen], classes, group, seed, None, concentration)]
    if order == "file":
        return np.arange(len(labels))
    if order in ("shared", "fresh"):
        return shuffled(len(labels), "order", group, seed)
    if order == "class":
        mixed = shuffled(len(labels), "order", group, seed)
        return mixed[np.argsort(labels[mixed], kind="stable")]
    return (chunked if order == "chunks" else slotted)(labels, classes, group, seed, concentration)


# --- Dirichlet ------------------------------------------------------------------------------------------------------


def log_dirichlet(kind: str, group: int, seed: int, rows: int, columns: int, concentration: float) -> np.ndarray:
    """Unnormalised logarithms of `rows` Dirichlet draws: float64. Small concentrations would underflow as numbers.

    Gamma(a) = Gamma(a + 1) U^(1 / a), and Gamma(a + 1) by the method of Marsaglia and Tsang with attempts that have
    streams of their own.
    """
    key, shape = keys(kind, group, seed), (rows, columns)
    d = concentration + 1 - 1 / 3
    gamma, left = np.empty(shape), np.ones(shape, bool)
    attempt = 0
    while left.any():
        x = random.normal(key, f"normal {attempt}", shape)[0].numpy().astype(np.float64)
        u = random.uniform(key, f"uniform {attempt}", shape)[0].numpy().astype(np.float64)
        v = (1 + x / np.sqrt(9 * d)) ** 3
        with np.errstate(invalid="ignore", divide="ignore"):
            accepted = (v > 0) & (np.log(u) < x * x / 2 + d - d * v + d * np.log(np.where(v > 0, v, 1.0)))
        accepted &= left
        gamma[accepted] = np.log(d * v[accepted])
        left &= ~accepted
        attempt += 1
    u = random.uniform(key, "power", shape)[0].numpy().astype(np.float64)
    return gamma + np.log(np.maximum(u, 2.0**-25)) / concentration


def _shares(logs: np.ndarray) -> np.ndarray:
    weights = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def _ends(shares: np.ndarray, count: int) -> np.ndarray:
    """Where consecutive parts of these shares end; the last one has what is left."""
    ends = (np.cumsum(shares) * count).astype(np.int64)
    ends[-1] = count
    return ends


def _joined(parts: list[list[np.ndarray]], kind: str, group: int, seed: int) -> np.ndarray:
    """Part after part, in each the classes in an order of its own."""
    orders = random.permutation(image_keys(f"stream/{kind}", None, torch.arange(len(parts)) + (group << 20), seed),
                                "classes", max(map(len, parts)))  # fmt: skip
    pieces = [part[k] for part, order in zip(parts, orders.tolist(), strict=True) for k in order if k < len(part)]
    return np.concatenate(pieces) if pieces else np.empty(0, np.int64)


def chunked(labels: np.ndarray, classes: int, group: int, seed: int, concentration: float) -> np.ndarray:
    """Chunks as many as classes, of about one size, each of few classes (NOTE, after federated learning).

    The images of a class, shuffled, are spread over the chunks by Dirichlet shares; a chunk that is full takes no more.
    Everything is repeated until no chunk has less than ten images.
    """
    total = len(labels)
    if total < LEAST_CHUNK * classes:
        raise ValueError(
            f"{total} images of {classes} classes are too few for chunks, which have at least {LEAST_CHUNK} images "
            f"each and are as many as classes; take more images, or the order slots"
        )
    members = [np.flatnonzero(labels == k) for k in range(classes)]
    for repetition in range(MOST_REPETITIONS):
        at = group * MOST_REPETITIONS + repetition
        ends = _balanced_cuts([len(of_class) for of_class in members], at, seed, concentration)
        if np.diff(ends, axis=1, prepend=0).sum(0).min() < LEAST_CHUNK:
            continue
        mixed = [m[shuffled(len(m), f"chunks/{k}", at, seed)] for k, m in enumerate(members)]
        parts = [np.split(of_class, cuts[:-1]) for of_class, cuts in zip(mixed, ends, strict=True)]
        return _joined([[part[c] for part in parts] for c in range(classes)], "chunks/order", at, seed)
    raise ValueError(
        f"no chunks of at least {LEAST_CHUNK} images came out in {MOST_REPETITIONS} attempts with a concentration of "
        f"{concentration:g}; raise it, take more images, or the order slots"
    )


def _balanced_cuts(counts: list[int], at: int, seed: int, concentration: float) -> np.ndarray:
    """Where each class is cut, (classes, chunks): class after class, and only chunks with room take part."""
    classes, total = len(counts), sum(counts)
    logs = log_dirichlet("chunks", at, seed, classes, classes, concentration)
    sizes, ends = np.zeros(classes), np.zeros((classes, classes), np.int64)
    for k, count in enumerate(counts):
        is_full = (sizes >= total / classes) & (count > 0)  # which never holds for all while there are images left
        ends[k] = _ends(_shares(np.where(is_full, -np.inf, logs[k])), count)
        sizes += np.diff(ends[k], prepend=0)
    return ends


def slotted(labels: np.ndarray, classes: int, group: int, seed: int, concentration: float) -> np.ndarray:
    """At most 100 slots over which each class, in the order of files, is spread by Dirichlet shares (RoTTA)."""
    slots = min(classes, MOST_SLOTS)
    shares = _shares(log_dirichlet("slots", group, seed, classes, slots, concentration))
    members = [np.flatnonzero(labels == k) for k in range(classes)]
    parts = [np.split(m, _ends(shares[k], len(m))[:-1]) for k, m in enumerate(members)]
    return _joined([[part[s] for part in parts] for s in range(slots)], "slots/order", group, seed)


def imbalanced(labels: np.ndarray, classes: int, group: int, seed: int, length: int, ratio: float) -> np.ndarray:
    """One class after the other is `ratio` times as likely as any other; images are drawn with replacement (SAR)."""
    members = {k: np.flatnonzero(labels == k) for k in range(classes)}
    if empty := [k for k, of_class in members.items() if not len(of_class)]:
        raise ValueError(f"the order imbalance draws images of every class, and class {empty[0]} has none")
    turns = shuffled(classes, "imbalance", group, seed)
    now = turns[np.arange(length) * classes // length]
    key = keys("imbalance", group, seed)
    is_now = random.uniform(key, "now", (length,))[0].numpy() * (ratio + classes - 1) < ratio
    other = random.integers(key, "other", (length,), low=0, high=max(classes - 2, 0))[0].numpy()
    drawn = np.where(is_now | (classes == 1), now, other + (other >= now))
    which = random.uniform(key, "image", (length,))[0].numpy().astype(np.float64)
    counts = np.array([len(members[k]) for k in range(classes)])
    firsts = np.concatenate([[0], np.cumsum(counts)])[:-1]
    by_class = np.argsort(labels, kind="stable")
    return by_class[firsts[drawn] + np.minimum((which * counts[drawn]).astype(np.int64), counts[drawn] - 1)]
