"""Results for tests of reports of MSCR: models that are as accurate as a simple law says, and points on a line.

A model loses accuracy where test noise exceeds what it was trained for, and training noise costs a little of its clean
accuracy. So MSCR rises with training noise and crosses 0, as in real studies.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

import scuff
from scuff.metrics.separation.classes import Neighbours, class_separation, class_separations, nearest_other_class
from scuff.metrics.separation.mscr import RobustAccuracies
from scuff.store import Store, save_settings
from scuff.studies.separation.distances import NEAREST, PAIRS, SEPARATION
from scuff.studies.separation.results import ACCURACIES, SETTINGS

# of the page of a study
SECTIONS = [*("mscr", "accuracies", "comparisons", "trade-off", "surface", "copies", "runs", "separation", "settings")]

EPSILON = 27 / 255
FINGERPRINT = "0123456789abcdef"  # of the data
TRAIN_NOISE = (0.0, 0.01, 0.02, 0.03, 0.05, 0.07, EPSILON, 0.15)
TEST_NOISE = (0.0, 0.01, 0.02, 0.03, 0.05, 0.07, EPSILON, 0.15)


def make_robust_accuracies(
    models: Sequence[str] = ("random-forest", "1-nn"),
    train_noise: Sequence[float] = TRAIN_NOISE,
    test_noise: Sequence[float] = TEST_NOISE,
    runs: int = 6,
    copies: Sequence[int] = (10,),
    points: int = 0,
    spread: float = 0.01,
    first: int = 0,
) -> RobustAccuracies:
    """Accuracies of some models; with `points`, of one run in which it is known which points were right."""
    random = np.random.default_rng(first)
    train, test = np.array(train_noise)[:, None], np.array(test_noise)
    law = np.stack([_accuracy(train, test, 0.02 * number) for number in range(len(models))])
    shares = np.broadcast_to(law, (len(copies), *law.shape))
    axes = (tuple(models), tuple(train_noise), tuple(test_noise))
    if points:
        noisy = random.binomial(10, shares[..., None], (*shares.shape, points)) / 10
        clean = random.uniform(size=noisy.shape) < shares[..., None]
        right = np.where(test[:, None] == 0, clean, noisy)
        return RobustAccuracies(*axes, right.mean(axis=-1)[..., None], EPSILON, tuple(copies), right=right)
    deviation = spread / np.sqrt(np.array(copies))[:, None, None, None, None]
    of_a_run = random.normal(0, spread, (1, len(models), 1, 1, runs))
    values = shares[..., None] + of_a_run + deviation * random.normal(size=(*shares.shape, runs))
    return RobustAccuracies(*axes, np.clip(values, 0, 1), EPSILON, tuple(copies), tuple(range(runs)))


def _accuracy(train: np.ndarray, test: np.ndarray, worse: float) -> np.ndarray:
    """High while test noise is below a limit, which training noise moves up; highest if both are alike."""
    kept = 1 / (1 + np.exp((test - 0.1 - 1.1 * train) / 0.03))
    alike = np.exp(-(((0.02 + 0.6 * test - train) / 0.05) ** 2))
    return 0.1 + (0.8 - worse - 0.5 * train) * kept / kept[:, :1] + 0.04 * alike


def made_settings(accuracies: RobustAccuracies) -> dict:
    """What a study would have written down."""
    return {
        "data": "cifar10:data",
        "data_fingerprint": FINGERPRINT,
        "models": {name: f"sklearn.ensemble.{name} {{'max_depth': 'None'}}" for name in accuracies.models},
        "norm": "L-infinity" if math.isinf(accuracies.norm) else f"L{accuracies.norm:g}",
        "addresses": {name: f"sklearn.ensemble:{name}" for name in accuracies.models},
        "are_given": False,
        "epsilon_min": accuracies.epsilon_min,
        "epsilon_given": False,
        "quantile": 0.0,
        "train_noise": list(accuracies.train_noise),
        "test_noise": list(accuracies.test_noise),
        "copies": list(accuracies.copies),
        "runs": list(accuracies.runs),
        "bounds": "truncate",
        "offsets": "independent",
        "keep_originals": False,
        "test_share": 0.2,
        "label": None,
        "scale": None,
        "resize": None,
        "crop": None,
        "drop_duplicates": False,
        "device": "cpu",
        "environment": {"python": "3.11.2", "torch": "2.13.0"},
        "options": {"models": [f"sklearn.ensemble:{name}" for name in accuracies.models], "data": "cifar10:data"},
        "scuff": scuff.__version__,
    }


def make_points(classes: int = 4, points: int = 400, first: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Pixels and their labels. Classes stand on a grid of 54 steps, so that they are 54/255 apart at least."""
    random = np.random.default_rng(first)
    labels = np.arange(points) % classes
    place = np.stack([54 * (labels % 4), 54 * (labels // 4)], axis=1)
    rest = random.integers(0, 256, (points, 8))
    rest[1] = rest[0]  # two points of different classes that are no further apart than that
    return np.hstack([place, rest]).astype(np.uint8), labels


def make_separation(classes: int = 4) -> tuple[dict, Neighbours, np.ndarray, pd.DataFrame]:
    """What `scuff separation` would say of such points: the smallest distance, all distances, splits, pairs."""
    x, labels = make_points(classes)
    found = class_separation(x, labels)
    settings = {
        "distance": found.distance,
        "epsilon_min": found.epsilon_min,
        "rows": list(found.rows),
        "labels": list(found.labels),
        "points": found.points,
        "dropped": [],
        "class_names": [f"class {name}" for name in "abcdefghijklmnopqrstuvwxyz"[:classes]],
        "is_image": True,
        "data": "points.npz",
        "data_fingerprint": FINGERPRINT,
        "norm": "inf",
        "drop_duplicates": False,
        "seconds": 0.1,
        "options": {"data": "points.npz"},
        "scuff": scuff.__version__,
    }
    return settings, nearest_other_class(x, labels), np.arange(len(labels)) >= 300, class_separations(x, labels)


def save_study(folder: Path, accuracies: RobustAccuracies | None, separation: tuple | None) -> Path:
    """Write what `scuff mscr` and `scuff separation` would leave in a folder, as far as it is read again."""
    store = Store(folder)
    if accuracies is not None:
        save_settings(store, SETTINGS, made_settings(accuracies))
        store.write(ACCURACIES, accuracies.to_frame().to_csv(index=False).encode())
    if separation is not None:
        settings, neighbours, is_test, pairs = separation
        save_settings(store, SEPARATION, settings)
        store.write(PAIRS, pairs.to_csv(index=False).encode())
        file = io.BytesIO()
        arrays = {name: getattr(neighbours, name) for name in ("distances", "rows", "points")}
        np.savez(file, **arrays, is_test=is_test)
        store.write(NEAREST, file.getvalue())
    return folder
