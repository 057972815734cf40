"""Adapters for MAITE, the protocols of test-and-evaluation tools: corruptions, data, models and metrics.

They have the shape of `maite.protocols.image_classification` and `maite.protocols.object_detection`, and need no
package of that name; only `sweep` calls `maite.tasks.evaluate`. Images are (C, H, W). `Perturber` has the shape of
nrtk's perturbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from scuff.data import AnnotatedSource, Objects, Source, open_source
from scuff.door import corrupt, motions, resolve_still
from scuff.metrics import accuracy, performance
from scuff.models import open_model
from scuff.models.detectors import Detector, by_class, class_table, open_task_model
from scuff.moved import moved_objects
from scuff.packages import need
from scuff.random import image_id
from scuff.suites import Suite, load_suite
from scuff.targets import Rules

Images = Sequence[Any]
Batch = tuple[Images, Sequence[Any], Sequence[Any]]


@dataclass(frozen=True, eq=False)
class Target:
    """Boxes (N, 4) as x0, y0, x1, y1, labels (N,) and scores (N,) of one image."""

    boxes: Any
    labels: Any
    scores: Any


def datum_id(metadata: Mapping[str, Any]) -> int:
    """What keys the randomness of an image: its id, or a hash of it if it is a text."""
    given = metadata["id"]
    return image_id(given) if isinstance(given, str) else int(given)


@dataclass(eq=False)
class Augmentation:
    """An entry of a suite at a severity: images corrupted by the ids of their metadata, boxes moved along.

    `levels` is the largest value of float images, 1 or 255; bytes stay bytes.
    """

    name: str
    severity: float | None = None
    seed: int = 0
    suite: Suite | str | None = None
    levels: int = 1
    metadata: Any = field(init=False)

    def __post_init__(self) -> None:
        found = resolve_still(self.name, self.severity, suite=self.suite)
        level = "" if self.severity is None else f"/{self.severity:g}"
        self.metadata = {"id": f"scuff/{found.entry}{level}"}

    def __call__(self, datum_batch: Batch) -> Batch:
        images, targets, metadatas = datum_batch
        ids = [datum_id(metadata) for metadata in metadatas]
        options: dict[str, Any] = {"seed": self.seed, "suite": self.suite}
        opened = [self._opened(image) for image in images]
        made = corrupt(opened, self.name, self.severity, ids=ids, **options)
        about = {"entry": self.name, "severity": self.severity, "seed": self.seed}
        return (
            [self._like(image, one) for image, one in zip(images, made, strict=True)],
            [self._moved(t, x, i, options) for t, x, i in zip(targets, opened, ids, strict=True)],
            [{**metadata, "scuff": about} for metadata in metadatas],
        )

    def _opened(self, image: Any) -> Tensor:
        pixels = torch.as_tensor(np.array(image))
        if not pixels.is_floating_point():
            return pixels.to(torch.uint8)
        if float(pixels.max()) > self.levels:
            raise ValueError(f"expected floats from 0 to {self.levels}, got {float(pixels.max()):g}; say levels=255?")
        return pixels.float() / self.levels

    def _like(self, image: Any, made: Tensor) -> Any:
        values = made * self.levels if made.is_floating_point() else made
        return values if isinstance(image, Tensor) else values.numpy().astype(np.asarray(image).dtype)

    def _moved(self, target: Any, image: Tensor, number: int, options: dict[str, Any]) -> Any:
        if not hasattr(target, "boxes"):
            return target
        boxes, labels, scores = (np.asarray(getattr(target, key)) for key in ("boxes", "labels", "scores"))
        size = (image.shape[-2], image.shape[-1])
        (motion,) = motions(self.name, self.severity, size=size, ids=[number], **options)
        places = tuple({"place": k} for k in range(len(labels)))
        objects = Objects(boxes.reshape(-1, 4).astype(np.float64), labels, np.zeros(len(labels), bool), places)
        (moved,) = moved_objects([objects], motion)
        kept = [one["place"] for one in moved.more]
        return Target(moved.boxes.astype(np.float32).reshape(-1, 4), labels[kept], scores[kept])


@dataclass(eq=False)
class Perturber:
    """An entry of a suite as nrtk's perturbers are called, with an image (H, W, C) and perhaps boxes.

    `id` keys the randomness, as nrtk's wrapper for MAITE passes it on; without one, the pixels do.
    """

    name: str
    severity: float | None = None
    seed: int = 0

    def __call__(self, *, image: np.ndarray, boxes: Any = None, **kwargs: Any) -> tuple[np.ndarray, Any]:
        return self.perturb(image=image, boxes=boxes, **kwargs)

    def perturb(self, *, image: np.ndarray, boxes: Any = None, **kwargs: Any) -> tuple[np.ndarray, Any]:
        """The corrupted image, and those boxes, pairs of one and its scores, that can still be seen, where they are."""
        ids = [datum_id(kwargs)] if "id" in kwargs else None
        given = [] if boxes is None else list(boxes)
        corners = np.array([[*box.min_vertex, *box.max_vertex] for box, _ in given], np.float64).reshape(-1, 4)
        sample, rules = {"image": image, "boxes": corners}, Rules(bad="drop")
        made = corrupt(sample, self.name, self.severity, seed=self.seed, ids=ids, targets=rules)
        if boxes is None:
            return made["image"], None
        places = zip(made["boxes"].tolist(), [given[k] for k in made["kept"]], strict=True)
        moved = [(type(old)(min_vertex=at[:2], max_vertex=at[2:]), dict(scores)) for at, (old, scores) in places]
        return made["image"], moved

    def get_config(self) -> dict[str, Any]:
        """What makes such a one again."""
        return asdict(self)

    @classmethod
    def get_type_string(cls) -> str:
        """The name by which configurations know it."""
        return f"{cls.__module__}.{cls.__name__}"


class Dataset:
    """A source: one-hot classes for classifiers, boxes for detectors."""

    metadata: Any

    def __init__(self, data: Any, split: str = "test") -> None:
        source = open_source(data, split)
        if not isinstance(source, Source):
            raise ValueError(f"{source.name} is corrupted already; give the clean images")
        if isinstance(source, AnnotatedSource) and source.objects is None:
            raise ValueError(f"{source.name} is for segmentation, which MAITE has no public protocol of")
        self.source = source
        self.metadata = {"id": source.name, "index2label": dict(enumerate(source.class_names))}

    def __len__(self) -> int:
        return len(self.source)

    def __getitem__(self, index: int) -> tuple[Any, Any, Any]:
        if not -len(self) <= index < len(self):
            raise IndexError(f"there are {len(self)} images, got {index}")
        position = index % len(self)
        about = {"id": int(self.source.ids[position])}
        image = self.source.read([position])[0].numpy()
        if isinstance(self.source, AnnotatedSource) and self.source.objects is not None:
            objects = self.source.objects[position]
            ones = np.ones(len(objects), np.float32)
            return image, Target(objects.boxes.astype(np.float32), objects.labels, ones), about
        one_hot = np.zeros(len(self.source.class_names), np.float32)
        one_hot[self.source.labels[position]] = 1
        return image, one_hot, about


class Model:
    """A model of ours: logits of every image from a classifier, boxes from a detector (`task="detection"`).

    `class_names` are those of the data, by which a detector's labels are numbered.
    """

    metadata: Any

    def __init__(
        self, model: Any, task: str = "classification", device: str = "cpu", class_names: Sequence[str] | None = None
    ) -> None:
        opened = open_model(model) if task == "classification" else open_task_model(model, task)
        self.model, names = opened.on(device), class_names or opened.class_names or ()
        self.table = class_table(opened, names) if isinstance(opened, Detector) and names else None
        self.metadata = {"id": opened.name, "index2label": dict(enumerate(names))}

    def __call__(self, input_batch: Images) -> Sequence[Any]:
        images = [torch.as_tensor(np.array(image)) for image in input_batch]
        alike = len({image.shape for image in images}) == 1
        batches = [torch.stack(images)] if alike else [image[None] for image in images]
        answers = [self.model(batch) for batch in batches]
        if not isinstance(self.model, Detector):
            return [logits for batch in answers for logits in batch.cpu().numpy()]
        return [self._target(found) for batch in answers for found in batch]  # type: ignore[attr-defined]

    def _target(self, found: Any) -> Target:
        boxes, scores, labels = (value.cpu().numpy() for value in by_class(found, self.table))
        return Target(boxes, labels, scores)


class Metric:
    """What classifiers or detectors answered, as rows: `compute` gives the accuracy, or AP, with its interval."""

    metadata: Any

    def __init__(self, task: str = "classification") -> None:
        self.task = task
        self.metadata = {"id": "scuff/accuracy" if task == "classification" else "scuff/AP"}
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self._lines: list[dict[str, Any]] = []

    def update(self, pred_batch: Sequence[Any], target_batch: Sequence[Any], metadata_batch: Sequence[Any]) -> None:
        """Add the answers of a batch."""
        line = _class_line if self.task == "classification" else _box_line
        for answer, target, metadata in zip(pred_batch, target_batch, metadata_batch, strict=True):
            self._lines.append({"image_id": datum_id(metadata), **line(answer, target)})

    def rows(self, corruption: str = "clean", severity: int = 0, **names: str) -> pd.DataFrame:
        """One row per image, as the metrics of scuff take them; `names` are those of model, source and suite."""
        names = {"model": "model", "source": "source", "suite": "suite"} | names
        return pd.DataFrame(self._lines).assign(corruption=corruption, severity=severity, **names)

    def compute(self) -> dict[str, Any]:
        """The score, and the ends of its interval."""
        if self.task == "classification":
            score = accuracy(self.rows())
            return {"accuracy": score.value, "low": score.low, "high": score.high}
        found = performance(self.rows())
        score = found.score(lambda values: values[..., 0])
        return {"AP": score.value, "low": score.low, "high": score.high}


def _class_line(answer: Any, target: Any) -> dict[str, Any]:
    """A row of a classifier, whose answers are logits or probabilities."""
    logits = torch.as_tensor(np.array(answer)).double()
    is_share = bool((logits >= 0).all()) and abs(float(logits.sum()) - 1) < 1e-3
    shares = logits if is_share else logits.softmax(0)
    best = int(logits.argmax())
    return {"label": int(np.asarray(target).argmax()), "prediction": best, "confidence": float(shares[best])}


def _box_line(answer: Any, target: Any) -> dict[str, Any]:
    scores, labels = np.asarray(answer.scores, np.float32), np.asarray(answer.labels, np.int32)
    if scores.ndim == 2:  # of every class
        scores = scores.max(1)
    true = np.asarray(target.labels, np.int32)
    return {
        "boxes": np.asarray(answer.boxes, np.float32).ravel(),
        "scores": scores,
        "labels": labels,
        "ghosts": np.zeros(len(labels), bool),
        "true_boxes": np.asarray(target.boxes, np.float32).ravel(),
        "true_labels": true,
        "true_crowd": np.zeros(len(true), bool),
    }


def sweep(
    model: Any, dataset: Any, suite: Suite | str, task: str = "classification", batch_size: int = 8, **chosen: Any
) -> pd.DataFrame:
    """Run `maite.tasks.evaluate` on clean images and on every cell of a suite, and return rows for all scores of scuff.

    `chosen` are `only`, `severities` and `validation` of a suite, and `seed`.
    """
    need("scuff.maite.sweep", "maite")
    from maite.tasks import evaluate

    seed = chosen.pop("seed", 0)
    suite = suite if isinstance(suite, Suite) else load_suite(suite)
    cells: list[tuple[str, int | None]] = [("clean", None)]
    cells += [(entry, level) for entry, levels in suite.choose(**chosen).items() for level in levels]
    found = []
    for entry, severity in cells:
        change = None if entry == "clean" else Augmentation(entry, severity, seed, suite)
        metric = Metric(task)
        evaluate(model=model, metric=metric, dataset=dataset, batch_size=batch_size, augmentation=change)
        names = {"model": model.metadata["id"], "source": dataset.metadata["id"], "suite": suite.name}
        found.append(metric.rows(entry, severity or 0, **names))
    return pd.concat(found, ignore_index=True)
