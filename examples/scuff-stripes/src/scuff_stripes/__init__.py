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


@scuff.models.register()
def guess(seed: str) -> torch.nn.Module:
    """A network that has learnt nothing, by the seed of its weights: `guess:7`."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(seed))
        return torch.nn.Sequential(torch.nn.AvgPool2d(8), torch.nn.Flatten(), torch.nn.Linear(48, 4))


@scuff.metrics.register(higher_is_better=True)
def worst_class(rows):
    """The accuracy of the worst class."""
    right = rows["prediction"] == rows["label"]
    return right.groupby(rows["label"]).mean().min()
