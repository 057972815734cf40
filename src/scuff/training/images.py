"""Labelled images on the way to training: opened, brought to the device as one tensor, measured."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from scuff.ahead import MOST_WORKERS
from scuff.data import CorruptedSource, Source, load_pixels, open_source
from scuff.data.open import has_splits
from scuff.data.pixels import Pixels
from scuff.models import Classifier
from scuff.pictures import Cut
from scuff.training.distributed import ALONE, Part, Team, check_alike
from scuff.training.recipes import Recipe
from scuff.training.stream import Stream

MEASURED = 256  # pictures that are measured at a time, if they are kept nowhere


@dataclass(frozen=True, eq=False)
class TrainingImages:
    """Labelled images ready for training: uint8 (N, C, H, W), int64 (N,), and how a network sees their bytes.

    Where they are cropped at random, or do not fit into memory, a stream stands for the pixels.

    Where several processes train one network, images and labels are the `part` of this one; all else is of the whole.
    """

    pixels: Tensor | Stream
    labels: Tensor
    mean: tuple[float, ...]
    std: tuple[float, ...]
    class_names: tuple[str, ...]
    fingerprint: str
    cut: Cut
    part: Part | None = None

    def classifier(self, network: nn.Module, recipe: Recipe) -> Classifier:
        """A network of these classes that sees pictures as it did in training."""
        look: dict[str, Any] = {"mean": self.mean, "std": self.std} if recipe.normalises else {}
        return Classifier(network, class_names=self.class_names, cut=self.cut, **look)


def open_training_source(data: Any, classes: str | None = None) -> Source:
    """The training images of an address or an object; where there are no splits, all there are."""
    data = open_source(data, "train" if has_splits(data) else "test", classes)
    if isinstance(data, CorruptedSource):
        raise ValueError(f"{data.name} holds corrupted test images; train on clean ones")
    if data.classes is not None:
        raise ValueError(f"{data.name} stands for some outputs of a model of ImageNet; train on a source of its own")
    return data


def cut_of(source: Source, recipe: Recipe) -> Cut | None:
    """How the pictures of a source are brought to one size; None for arrays, which have one.

    Random crops are for training only: then it is how they are tested, with the usual margin of an eighth.
    """
    side = recipe.sides[-1]
    usual = Cut(side * 8 // 7, side) if recipe.crop_area else Cut()
    return (recipe.cut or source.cut or usual) if source.has_pictures else None


def fingerprint_of(source: Source, recipe: Recipe) -> str:
    """A hash of the images that a network is trained on."""
    return " ".join(filter(None, (source.fingerprint(), str(cut_of(source, recipe) or ""))))


def load_training_images(
    source: Source, recipe: Recipe, device: torch.device, team: Team = ALONE, workers: int | None = None
) -> TrainingImages:
    """Bring the images to the device, or into memory where they do not fit, and measure their mean and deviation.

    What fits nowhere, and what is cropped at random, is decoded anew in every epoch, by `workers` processes. Of several
    processes that train, each loads its share of the images only; the mean is that of all.
    """
    cut, part = cut_of(source, recipe), Part(team, len(source), torch.from_numpy(source.ids))
    check_alike(team, "images", source.labels.tobytes(), source.ids.tobytes(), source.class_names, cut)
    with team.agreeing():
        shared = source if team.size == 1 else source.take(part.places().numpy())
        decoders = _decoders(team) if workers is None else workers
        loaded = load_pixels(shared, cut, device, decoders, keep=not recipe.crop_area)
        pixels: Tensor | Stream | None = loaded.images
        if pixels is None or recipe.crop_area:
            pixels = Stream(shared, cut, recipe.crop_area, loaded.shape, decoders)
        if recipe.mean and len(recipe.mean) != loaded.shape[1]:
            raise ValueError(f"the recipe has a mean of {len(recipe.mean)} channels, but images have {loaded.shape[1]}")
    check_alike(team, "size of images", loaded.shape[1:])
    mean, std = recipe.mean, recipe.std
    if not mean and (recipe.normalises or loaded.images is not None):
        mean, std = measure_pixels(loaded if loaded.images is None else loaded.images, team)
    labels, fingerprint = torch.from_numpy(shared.labels), team.decide(lambda: fingerprint_of(source, recipe))
    if cut is None:  # pictures that such a network is shown later are brought to the size of the array
        cut = Cut(min(loaded.shape[2:]), min(loaded.shape[2:]))
    return TrainingImages(pixels, labels, mean, std, source.class_names, fingerprint, cut, part)


def _decoders(team: Team) -> int | None:
    """How many processes decode pictures for this one: those of one machine share its processors."""
    there = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return None if team.size == 1 else min(max(1, there // team.neighbours), MOST_WORKERS)


def measure_pixels(images: Tensor | Pixels, team: Team = ALONE) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and standard deviation of each channel, of pixels in 0..1, over the images of all processes of a team.

    By counting bytes: exact on every device, and however images are shared out.
    """
    means, deviations = [], []
    values = torch.arange(256, dtype=torch.float64)
    passes = [images] if isinstance(images, Tensor) else (batch for _, batch in images.batches(MEASURED))
    counted = sum(map(_count_bytes, passes), torch.zeros((), dtype=torch.int64))
    for counts in torch.stack(team.everyones(counted)).sum(0):
        share = counts.double() / counts.sum().item()
        mean = (share * values).sum()
        means.append(mean.item() / 255)
        deviations.append(max((share * (values - mean) ** 2).sum().sqrt().item() / 255, 1 / 255))
    return tuple(means), tuple(deviations)


def _count_bytes(images: Tensor) -> Tensor:
    """How often each byte occurs in each channel: int64 (C, 256), on the CPU."""
    counts = []
    for channel in images.unbind(1):  # in pieces, because counting makes long integers of bytes
        pieces = [torch.bincount(piece.flatten(), minlength=256) for piece in channel.split(1 << 16)]
        counts.append(torch.stack(pieces).sum(0).cpu())
    return torch.stack(counts)


def normalisation_of(images: TrainingImages, recipe: Recipe, device: torch.device) -> tuple[Tensor, Tensor]:
    """The factor and the summand, (1, C, 1, 1), by which the network sees bytes."""
    channels = images.pixels.shape[1]
    mean, std = (images.mean, images.std) if recipe.normalises else ((0.0,) * channels, (1.0,) * channels)
    means, stds = (torch.tensor(v, dtype=torch.float64).reshape(1, -1, 1, 1) for v in (mean, std))
    return (1 / (255 * stds)).float().to(device), (-means / stds).float().to(device)
