"""Evaluations for tests of what is built on rows: small drawn images, and predictions from a simple law.

A prediction is right where the skill of the model exceeds what the corruption takes away and how hard the image is, so
errors rise with severity, models differ, and their errors on the same image go together, as those of real models do.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

import scuff
from scuff.corruptions import get
from scuff.data import open_source
from scuff.evaluation import Evaluation
from scuff.store import Store, save_settings, write_rows

CLASS_NAMES = ("disc", "square", "triangle", "ring", "cross", "stripes", "checks", "diamond")
SKILL = {"resnet20": 2.6, "wide-resnet": 3.3, "mlp": 1.5}
ENVIRONMENT = {
    "python": "3.11.2",
    "torch": "2.13.0",
    "scuff": scuff.__version__,
    "device": "cpu",
    "platform": "Linux",
}


def draw_images(labels: np.ndarray, side: int = 32) -> np.ndarray:
    """A bright shape on a dark ground per label, uint8 (n, side, side, 3); colours, places and sizes differ."""
    random = np.random.default_rng(0)
    y, x = np.mgrid[0:side, 0:side]
    images = np.empty((len(labels), side, side, 3), np.uint8)
    for place, label in enumerate(labels):
        radius = side * random.uniform(0.24, 0.36)
        dx, dy = x - side / 2 - random.uniform(-3, 3), y - side / 2 - random.uniform(-3, 3)
        far = np.hypot(dx, dy)
        box = np.maximum(abs(dx), abs(dy)) < radius
        shape = {
            "disc": far < radius,
            "square": box,
            "triangle": (dy < radius) & (dy > 2 * abs(dx) - radius),
            "ring": (far < radius) & (far > 0.55 * radius),
            "cross": box & (np.minimum(abs(dx), abs(dy)) < 0.35 * radius),
            "stripes": box & (np.floor(dy / 3) % 2 == 0),
            "checks": box & ((np.floor(dx / 4) + np.floor(dy / 4)) % 2 == 0),
            "diamond": abs(dx) + abs(dy) < 1.2 * radius,
        }[CLASS_NAMES[label % len(CLASS_NAMES)]]
        front, back = random.integers(130, 256, 3), random.integers(0, 90, 3)
        images[place] = np.where(shape[..., None], front, back)
    return images


def make_evaluation(
    folder: Path,
    suite: str = "cifar10-c",
    models: tuple[str, ...] = tuple(SKILL),
    images: int = 240,
    clean: bool = True,
    class_names: tuple[str, ...] = CLASS_NAMES,
) -> Evaluation:
    """An evaluation of some models on the scored entries of a suite, with its images as `folder`/images.npz."""
    suite = scuff.load_suite(suite)
    labels = np.arange(images) % len(class_names)
    folder.mkdir(parents=True, exist_ok=True)
    np.savez(folder / "images.npz", images=draw_images(labels), labels=labels)
    frames = 6 if get(suite.corruption(next(iter(suite.entries)))).sequence else None
    cells = [(entry, level or 0) for entry in suite.benchmark() for level in _levels(suite, entry, frames)]
    if clean and frames is None:
        cells.insert(0, ("clean", 0))
    hardness = np.random.default_rng(1).normal(0.0, 1.5, images)
    frame = _table(
        [_cell(model, suite, cell, labels, hardness, frames, len(class_names)) for model in models for cell in cells]
    )
    for column in ("model", "source", "suite", "corruption"):
        frame[column] = frame[column].astype("category")
    address = f"npz:{folder / 'images.npz'}"
    settings = {
        "source": address,
        "source_fingerprint": open_source(address).fingerprint(),
        "clean": None,
        "clean_fingerprint": open_source(address).fingerprint(),
        "clean_cut": None,
        "published": False,
        "classes": None,
        "images": images,
        "class_names": list(class_names),
        "suite": suite.to_dict(),
        "families": {entry: get(suite.corruption(entry)).family for entry in suite.entries},
        "seed": 0,
        "cut": None,
        "as_published": False,
        "limit": None,
        "precision": "float32",
        "scuff": scuff.__version__,
    }
    about = {name: _about(name) for name in models}
    return Evaluation(frame, settings, about, suite)


def save_evaluation(evaluation: Evaluation, folder: Path) -> Path:
    """Write the files that `scuff evaluate` would leave in a folder."""
    store = Store(folder)
    save_settings(store, "evaluation.json", evaluation.settings)
    for number, about in enumerate(evaluation.models.values()):
        save_settings(store, f"models/{number}.json", about)
    cells = evaluation.rows.groupby(["model", "corruption", "severity"], observed=True, sort=False)
    for number, ((model, corruption, _), rows) in enumerate(cells):
        constant = {"model": model, "source": "npz", "suite": evaluation.suite.name, "corruption": corruption}
        columns = {name: rows[name].to_numpy() for name in rows if name not in constant}
        write_rows(store, f"rows/{number:04}.parquet", constant, columns)
    return folder


def _levels(suite: scuff.Suite, entry: str, frames: int | None) -> tuple[int | None, ...]:
    return suite.levels(entry) if frames is None else suite.levels(entry)[:1]


def _table(cells: list[dict]) -> pd.DataFrame:
    """The columns of all cells below each other: one frame, since to make hundreds takes long."""
    lengths = [len(cell["label"]) for cell in cells]

    def column(parts: list) -> np.ndarray:
        if isinstance(parts[0], np.ndarray):
            return np.concatenate(parts)
        return np.repeat(np.array(parts, object if isinstance(parts[0], str) else None), lengths)

    return pd.DataFrame({name: column([cell[name] for cell in cells]) for name in cells[0]})


def _cell(model, suite, cell, labels, hardness, frames, classes) -> dict:
    """The columns of one cell, a value or one for each row; `frames` rows per image for sequences."""
    corruption, severity = cell
    number = list(suite.entries).index(corruption) if corruption in suite.entries else -1
    random = np.random.default_rng([number + 1, severity, len(model)])
    damage = 0.0 if corruption == "clean" else (0.25 + 0.13 * (number * 7 % 6)) * (severity or 3)
    count = frames or 1
    margin = SKILL.get(model, 2.0) - damage - np.repeat(hardness, count) + random.normal(0, 1, count * len(labels))
    label = np.repeat(labels, count)
    wrong = (label + random.integers(1, classes, len(label))) % classes
    prediction = np.where(margin > 0, label, wrong)
    confidence = (1 / (1 + np.exp(-1.2 * abs(margin) - 0.2))).astype(np.float32)
    columns = {
        "model": model,
        "source": "npz",
        "suite": suite.name,
        "corruption": corruption,
        "severity": np.int16(severity),
        "image_id": np.repeat(np.arange(len(labels)), count),
        "label": label.astype(np.int32),
        "prediction": prediction.astype(np.int32),
        "confidence": confidence,
    }
    if frames is not None:
        columns["frame"] = np.tile(np.arange(frames, dtype=np.int16), len(labels))
        for rank in (2, 3, 4, 5):
            columns[f"rank{rank}"] = ((prediction + rank - 1) % classes).astype(np.int32)
    return columns


def _about(model: str) -> dict:
    return {
        "name": model,
        "address": f"timm:{model}",
        "fingerprint": model.encode().hex()[:8].ljust(8, "0"),
        "parameters": 272_474,
        "input_size": 32,
        "mean": [0.5, 0.5, 0.5],
        "std": [0.25, 0.25, 0.25],
        "environment": ENVIRONMENT,
    }
