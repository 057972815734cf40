"""A model and labelled images on a device, ready to be measured again and again under changing distortions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from scuff.data import Pixels, Source, load_pixels
from scuff.data.readable import Progress
from scuff.evaluation.choices import choose_cuts, open_images, open_models
from scuff.evaluation.clock import Clock
from scuff.evaluation.predict import BatchLimit, Distort, predict
from scuff.evaluation.runner import suitable_batch
from scuff.metrics import Score, bootstrap
from scuff.models import Classifier, close_model
from scuff.pictures import Cut
from scuff.store import Settings
from scuff.studies.sources import left_out_of


@dataclass
class Bench:
    """What every measurement shares. `classifier` is on the device; so are the pixels, where they fit."""

    classifier: Classifier
    source: Source
    cut: Cut | None
    pixels: Pixels
    ids: Tensor
    limit: BatchLimit
    clock: Clock

    @property
    def side(self) -> int:
        """The shorter side of the images."""
        return min(self.pixels.shape[-2:])

    @property
    def is_grey(self) -> bool:
        return self.pixels.shape[1] == 1

    def hits(self, distort: Distort) -> np.ndarray:
        """For every image whether the model is right about each of what `distort` makes of it: bool (N, versions)."""
        batches, models = self.pixels.batches(self.limit.size), {self.classifier.name: self.classifier}
        columns = predict(batches, self.ids, distort, models, self.source, self.limit, self.clock)[self.classifier.name]
        bad = int(np.isnan(columns["confidence"]).sum())
        if bad:
            raise ValueError(f"{self.classifier.name} gave NaN for {bad} predictions")
        return columns["prediction"].reshape(len(self.source), -1) == self.source.labels[:, None]

    @cached_property
    def clean(self) -> np.ndarray:
        """For every image whether the model is right about it as it is: bool (N,)."""
        return self.hits(lambda images, ids: [images])[:, 0]

    def robustness(self, right: np.ndarray) -> Score:
        """R = accuracy / clean accuracy, with its interval over images."""
        columns = np.column_stack((self.clean, right)).astype(float)
        return bootstrap(columns, lambda means: means[..., 1] / means[..., 0])

    def __str__(self) -> str:
        images = f"{len(self.source)} images of {self.source.name}"
        return f"{self.classifier.name} on {images} (clean accuracy {self.clean.mean():.3f})"


def plan_bench(
    model: Any,
    data: str | Source,
    *,
    limit: int | None = None,
    skip_unreadable: bool = False,
    progress: Progress | None = None,
    resize: int | None = None,
    crop: int | None = None,
    mean: Sequence[float] | None = None,
    std: Sequence[float] | None = None,
    device: torch.device,
) -> ClosedBench:
    """One model and clean images; the arguments are those of `scuff.evaluate`."""
    images = open_images(data, None, None, limit)
    if images.are_corrupted:
        raise ValueError(f"{images.address} holds images that are corrupted already; expected clean ones")
    opened = open_models(model, mean, std)
    if len(opened) > 1:
        raise ValueError(f"expected one model, got {', '.join(opened)}")
    classifier = next(iter(opened.values()))
    cut, _ = choose_cuts(resize, crop, images, [classifier])
    images = images.readable(skip_unreadable, progress)
    return ClosedBench(classifier, images.source, cut, str(device))  # type: ignore[arg-type]


@dataclass
class ClosedBench:
    """A bench that every worker opens for itself. A model with an address is sent to it as that."""

    classifier: Classifier
    source: Source
    cut: Cut | None
    device: str
    decoding: Callable[[int, int], None] | None = None  # told of the decoding of pictures; in this process only
    _opened: Bench | None = field(default=None, repr=False)

    def open(self) -> Bench:
        """The model and the pixels on the device, where they stay."""
        if self._opened is None:
            device = torch.device(self.device)
            pixels = load_pixels(self.source, self.cut, device, progress=self.decoding)
            self._opened = Bench(
                self.classifier.on(device),
                self.source,
                self.cut,
                pixels,
                torch.from_numpy(self.source.ids).to(device),
                BatchLimit(suitable_batch(pixels.shape[1:], device)),
                Clock(device),
            )
        return self._opened

    def settings(self) -> Settings:
        """What measurements depend on, as hashes."""
        return {
            "model": self.classifier.fingerprint(),
            "images": self.source.fingerprint(),
            "cut": self.cut and asdict(self.cut),
            **left_out_of(self.source),
        }

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "classifier": close_model(self.classifier), "decoding": None, "_opened": None}
