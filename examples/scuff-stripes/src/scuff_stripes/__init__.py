"""One part of every kind: a corruption, a suite, a source, models, a metric and a study."""

from pathlib import Path

import numpy as np
import torch

import scuff
import scuff.data
import scuff.metrics
import scuff.models
import scuff.suites
from scuff_stripes import classes  # noqa: F401  (which registers the study)


@scuff.register(family="light", lengths=("width",))
def stripes(x: torch.Tensor, *, width: int, strength: float) -> torch.Tensor:
    """Dark stripes, as of a blind in front of the lens."""
    is_dark = torch.arange(x.shape[-1], device=x.device) // width % 2 == 1
    return torch.where(is_dark, x * (1 - strength), x)


scuff.suites.register(Path(__file__).with_name("striped-32.yaml"))


@scuff.data.register()
def bars(split: str) -> tuple[np.ndarray, np.ndarray]:
    """Bright bars on noise: 40 pictures of 4 classes, by where the bar is."""
    draw = np.random.default_rng(split == "train")
    labels = np.arange(40) % 4
    images = draw.integers(0, 100, (40, 32, 32, 3), np.uint8)
    for image, label in zip(images, labels, strict=True):
        image[:, 8 * label : 8 * label + 8] += 100
    return images, labels


class Brightest(torch.nn.Module):
    """Four classes, by which quarter of a picture is brightest, from left to right."""

    def __init__(self, sharpness: float) -> None:
        super().__init__()
        self.register_buffer("sharpness", torch.tensor(sharpness))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        quarters = images.mean((1, 2)).unflatten(-1, (4, -1)).mean(-1)
        return self.sharpness * quarters


@scuff.models.register()
def brightest(sharpness: str) -> torch.nn.Module:
    """`brightest:20` is surer of itself than `brightest:5`."""
    return Brightest(float(sharpness))


@scuff.metrics.register(higher_is_better=True)
def worst_class(rows):
    """The accuracy of the worst class."""
    right = rows["prediction"] == rows["label"]
    return right.groupby(rows["label"]).mean().min()
