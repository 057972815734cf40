"""Detectors and segmenters: callables from pixels to boxes, or to a class for every pixel.

A detector is called with a list of float images (3, H, W) in [0, 1] and answers as torchvision's do: for each a mapping
with `boxes` (n, 4) as x0, y0, x1, y1, `scores` and `labels`. A segmenter is called with a batch (N, 3, H, W), and the
answer is logits (N, K, H, W), perhaps as `out` of a mapping, or the classes themselves, whole numbers (N, H, W).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from scuff.failures import explaining_errors
from scuff.models.classifier import PRECISIONS, Classifier
from scuff.models.onnx_file import OnnxModel, import_package, open_onnx
from scuff.models.open import NAME, default_name, open_model, split_name
from scuff.models.zoos import find_weights, make_network

BACKGROUND = ("__background__", "background")
MISSING = -1  # the class of an output that the data do not have


class Found(NamedTuple):
    """What a detector sees in one picture: boxes (n, 4), scores (n,) and labels (n,), on the device."""

    boxes: Tensor
    scores: Tensor
    labels: Tensor


def _answer(model: Classifier, images: Tensor, as_list: bool) -> Any:
    """What a model makes of images that it gets as a list, or as a batch."""
    with torch.inference_mode():
        x = model._as_input(images)
        dtype = PRECISIONS[model.precision]
        mixed = torch.autocast(model.device.type, dtype, enabled=dtype is not None)
        with mixed, explaining_errors(model._called(), x):
            return model.model(list(x) if as_list else x)


@dataclass(frozen=True, eq=False)
class Detector(Classifier):
    """Called with images (N, C, H, W), uint8 or float in [0, 1]: what it finds in each of them."""

    def __call__(self, images: Tensor) -> list[Found]:  # type: ignore[override]
        output = _answer(self, images, as_list=True)
        if not isinstance(output, (list, tuple)) or len(output) != len(images):
            raise ValueError(f"{self._called()} must return a list with a mapping for each of {len(images)} images")
        return [self._found(one) for one in output]

    def _found(self, output: Any) -> Found:
        if not isinstance(output, Mapping) or not {"boxes", "scores", "labels"} <= output.keys():
            given = ", ".join(map(str, output)) if isinstance(output, Mapping) else type(output).__name__
            raise ValueError(f"{self._called()} must return boxes, scores and labels of every image, got {given}")
        boxes, scores, labels = (torch.as_tensor(output[key]).to(self.device) for key in Found._fields)
        if boxes.shape != (len(scores), 4) or labels.shape != scores.shape:
            shapes = ", ".join(str(tuple(value.shape)) for value in (boxes, scores, labels))
            raise ValueError(f"{self._called()} must return boxes (n, 4), scores (n,) and labels (n,), got {shapes}")
        return Found(boxes.float(), scores.float(), labels.long())


@dataclass(frozen=True, eq=False)
class Segmenter(Classifier):
    """Called with images (N, C, H, W), uint8 or float in [0, 1]: the class of every pixel, int64 (N, H, W)."""

    def __call__(self, images: Tensor) -> Tensor:
        output = _answer(self, images, as_list=False)
        output = output["out"] if isinstance(output, Mapping) and "out" in output else output
        output = torch.as_tensor(getattr(output, "logits", output)).to(self.device)
        size = tuple(images.shape[-2:])
        if output.ndim == 4 and len(output) == len(images):
            if output.shape[-2:] != size:
                output = F.interpolate(output.float(), size, mode="bilinear", align_corners=False)
            return output.argmax(1)
        if output.shape != (len(images), *size) or output.is_floating_point():
            given = f"{tuple(output.shape)} {output.dtype}"
            raise ValueError(f"{self._called()} must return logits (N, K, H, W) or classes (N, H, W), got {given}")
        return output.long()


KINDS: dict[str, type[Classifier]] = {"detection": Detector, "segmentation": Segmenter}


class OnnxTask(OnnxModel):
    """A graph for detection or segmentation: a list of images is run one by one, and its outputs are told by names."""

    def __call__(self, images: Any) -> Any:
        if isinstance(images, Tensor):
            return super().__call__(images)
        return [self._detect(image) for image in images]

    def _detect(self, image: Tensor) -> dict[str, np.ndarray]:
        given = self.session.get_inputs()[0]
        array = image.cpu().numpy()[None] if len(given.shape) == 4 else image.cpu().numpy()
        outputs = self.session.run(None, {given.name: array.astype(np.float32)})
        found: dict[str, np.ndarray] = {}
        for output, value in zip(self.session.get_outputs(), outputs, strict=True):
            words = {"boxes": ("box",), "scores": ("score", "conf"), "labels": ("label", "class")}
            key = next(
                (key for key, parts in words.items() if any(part in output.name.lower() for part in parts)), None
            )
            if key is not None:
                found[key] = value[0] if value.ndim == (3 if key == "boxes" else 2) else value
        return found


def open_task_model(
    model: Any,
    task: str,
    name: str | None = None,
    mean: Sequence[float] | None = None,
    std: Sequence[float] | None = None,
) -> Classifier:
    """Open a detector or a segmenter: torchvision:NAME, onnx:FILE, package.module:object, a torch module, a callable.

    An attribute `class_names` of the object says what its labels mean. Without it, they are the classes of the data,
    counted from 0.
    """
    kind = KINDS[task]
    if isinstance(model, kind):
        return replace(model, name=name or model.name or default_name(model.address))
    address = ""
    if isinstance(model, (str, os.PathLike)):
        given, address = split_name(os.fspath(model))
        name = name or given or default_name(address.partition("@")[0])
        scheme, _, rest = address.partition(":")
        if scheme == "torchvision":
            opened = _open_torchvision(kind, rest, task)
        elif scheme == "onnx" or address.endswith(".onnx"):
            graph = open_onnx(Path(rest if scheme == "onnx" else address), kind=OnnxTask)
            opened = kind(graph, channels=graph.channels)
        else:
            opened = _of_task(kind, open_model(address))
    else:
        opened = _of_task(kind, open_model(model, name or "model"))
        address = opened.address
        name = name or default_name(address)
    if not NAME.fullmatch(name):
        raise ValueError(f"a model's name may hold up to 100 letters, digits and . _ - only, got {name!r}")
    changed: dict[str, Any] = {key: value for key, value in (("mean", mean), ("std", std)) if value is not None}
    return replace(opened, name=name, address=address, **changed)


def _of_task(kind: type[Classifier], opened: Classifier) -> Classifier:
    names = getattr(opened.model, "class_names", None)
    return kind(opened.model, channels=3, class_names=names, address=opened.address)


def _open_torchvision(kind: type[Classifier], name: str, task: str) -> Classifier:
    """`NAME` with the best weights that torchvision has, `NAME@TAG` with others, or `NAME@random`."""
    models = import_package("torchvision.models", f"torchvision:{name}")
    name, _, tag = name.partition("@")
    weights = find_weights(models, getattr(models, task), name, tag, f"{kind.__name__.lower()}")
    bare: dict[str, Any] = {"weights": None, "weights_backbone": None}
    address = f"torchvision:{name}"
    network = make_network(
        address, tag, lambda trained: models.get_model(name, **({"weights": weights} if trained else bare))
    )
    steps = weights.transforms()
    normal: dict[str, Any] = {key: getattr(steps, key, None) for key in ("mean", "std")}  # detectors have their own
    return kind(network, channels=3, class_names=weights.meta["categories"], **normal)


def class_table(model: Classifier, class_names: Sequence[str]) -> np.ndarray | None:
    """Which class of the data every label of a model means, -1 for none; None if labels are those of the data."""
    if model.class_names is None:
        return None
    places = {_plain(name): number for number, name in enumerate(class_names)}
    table = np.array([places.get(_plain(name), MISSING) for name in model.class_names], np.int64)
    if (table < 0).all():
        theirs, ours = ", ".join(model.class_names[:4]), ", ".join(class_names[:4])
        raise ValueError(
            f"{model.name} knows none of the classes of the data: it has {theirs}, ...; they have {ours}, ..."
        )
    return table


def by_class(found: Found, table: np.ndarray | None) -> Found:
    """What was found, with the classes of the data as labels; what they do not have is left out."""
    if table is None:
        return found
    classes = torch.from_numpy(table).to(found.labels.device)
    known = (found.labels >= 0) & (found.labels < len(classes))
    labels = torch.where(known, classes[torch.where(known, found.labels, 0)], MISSING)
    return Found(*(value[labels != MISSING] for value in (found.boxes, found.scores, labels)))


def _plain(name: str) -> str:
    return BACKGROUND[1] if name in BACKGROUND else name.lower().replace(" ", "").replace("_", "")
