"""Tables of accuracies for tests: those that published tables determine, and random ones."""

from __future__ import annotations

import numpy as np
from published_tables import ALEXNET, ENTRIES, NORMALISERS, read

from scuff.metrics import Accuracies


def published(suite: str, table: str) -> Accuracies:
    """The accuracies behind a table of relative CE: E = E_clean + CE / 100 · (E* - E*_clean).

    The first model is the standard one. The others bear the names of the corruptions, where there are as many.
    """
    lines = read(table)
    names = tuple(f"{suite}/{entry}" for entry in ENTRIES[suite])
    clean = np.array([[clean] for clean, _, _ in lines.values()])
    errors = clean + np.stack([cells for _, cells, _ in lines.values()]) / 100 * (
        NORMALISERS[suite] - ALEXNET[suite].clean
    )
    others = names if len(lines) == 1 + len(names) else tuple(lines)[1:]
    return Accuracies(("standard", *others), ("clean", *names), 1 - np.hstack([clean, errors])[None])


def random_accuracies(n: int = 4, seeds: int = 1, images: int | None = None, seed: int = 0) -> Accuracies:
    """Models of n corruptions that each gain most against their own; with the hits of images, where asked for."""
    draw = np.random.default_rng(seed)
    names = tuple(f"mine/c{k}" for k in range(n))
    shape = (seeds, n + 1, n + 1)
    rates = draw.uniform(0.3, 0.6, shape)
    rates[:, :, 0] = draw.uniform(0.85, 0.95, shape[:2])
    rates[:, 1:, 1:] += 0.3 * np.eye(n)
    hits = None if images is None else draw.random((*shape, images)) < rates[..., None]
    values = rates if hits is None else hits.mean(axis=-1)
    return Accuracies(("standard", *names), ("clean", *names), values, tuple(range(seeds)), hits, images)
