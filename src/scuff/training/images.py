"""Labelled images on the way to training: opened, brought to the device as one tensor, measured."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from scuff.data import CorruptedSource, Source, load_pixels, open_source
from scuff.data.open import forms
from scuff.pictures import Cut
from scuff.training.recipes import Recipe


@dataclass(frozen=True, eq=False)
class TrainingImages:
    """Labelled images ready for training: uint8 (N, C, H, W), int64 (N,), and how a network sees their bytes."""

    pixels: Tensor
    labels: Tensor
    mean: tuple[float, ...]
    std: tuple[float, ...]
    class_names: tuple[str, ...]
    fingerprint: str
    cut: Cut


def open_training_source(data: str | Source, classes: str | None = None) -> Source:
    """The training images of an address; of one that has no splits, all there are."""
    if isinstance(data, str):
        form = forms().get(data.partition(":")[0])
        data = open_source(data, "train" if form is not None and form.has_splits else "test", classes)
    elif classes is not None:
        raise ValueError("classes are chosen of an address; restrict the Source itself")
    if isinstance(data, CorruptedSource):
        raise ValueError(f"{data.name} holds corrupted test images; train on clean ones")
    if not isinstance(data, Source):
        raise ValueError(f"data must be an address, as in 'cifar10:DIR', or a Source, got {type(data).__name__}")
    if data.classes is not None:
        raise ValueError(f"{data.name} stands for some outputs of a model of ImageNet; train on a source of its own")
    return data


def cut_of(source: Source, recipe: Recipe) -> Cut | None:
    """How the pictures of a source are brought to one size for training; None for arrays, which have one."""
    return (recipe.cut or source.cut or Cut()) if source.has_pictures else None


def fingerprint_of(source: Source, recipe: Recipe) -> str:
    """A hash of the images that a network is trained on."""
    return " ".join(filter(None, (source.fingerprint(), str(cut_of(source, recipe) or ""))))


def load_training_images(source: Source, recipe: Recipe, device: torch.device) -> TrainingImages:
    """Bring the images to the device, or into memory where they do not fit, and measure their mean and deviation."""
    cut = cut_of(source, recipe)
    loaded = load_pixels(source, cut, device)
    if loaded.images is None:
        raise ValueError(f"the training images must be kept in memory, but are kept {loaded.kept}; take fewer of them")
    mean, std = measure_pixels(loaded.images)
    labels, fingerprint = torch.from_numpy(source.labels), fingerprint_of(source, recipe)
    if cut is None:  # pictures that such a network is shown later are brought to the size of the array
        cut = Cut(min(loaded.shape[2:]), min(loaded.shape[2:]))
    return TrainingImages(loaded.images, labels, mean, std, source.class_names, fingerprint, cut)


def measure_pixels(images: Tensor) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and standard deviation of each channel, of pixels in 0..1. By counting bytes: exact on every device."""
    means, deviations = [], []
    values = torch.arange(256, dtype=torch.float64)
    for channel in range(images.shape[1]):
        counts = sum(torch.bincount(piece.flatten(), minlength=256) for piece in images[:, channel].split(1 << 16))
        share = counts.cpu().double() / counts.sum().item()
        mean = (share * values).sum()
        means.append(mean.item() / 255)
        deviations.append(max((share * (values - mean) ** 2).sum().sqrt().item() / 255, 1 / 255))
    return tuple(means), tuple(deviations)


def normalisation_of(images: TrainingImages, recipe: Recipe, device: torch.device) -> tuple[Tensor, Tensor]:
    """The factor and the summand, (1, C, 1, 1), by which the network sees bytes."""
    channels = images.pixels.shape[1]
    mean, std = (images.mean, images.std) if recipe.normalises else ((0.0,) * channels, (1.0,) * channels)
    mean, std = (torch.tensor(v, dtype=torch.float64).reshape(1, -1, 1, 1) for v in (mean, std))
    return (1 / (255 * std)).float().to(device), (-mean / std).float().to(device)
