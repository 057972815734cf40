"""Labelled images that are Python objects: a torch Dataset or DataLoader, a pair (x, y), or what makes one of them.

All images are read once, in order, into one array of bytes: so each has its position as id, and its pixels are part of
the fingerprint.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, RandomSampler, SubsetRandomSampler, WeightedRandomSampler

from scuff.data.source import CorruptedSource, Source, array_source
from scuff.images import open_images
from scuff.memory import available_memory
from scuff.plugins import current_folder_importable

SHUFFLING = (RandomSampler, SubsetRandomSampler, WeightedRandomSampler)


def open_object(thing: Any, name: str | None = None, split: str = "test") -> Source | CorruptedSource:
    """A source from an object, or from a class or function that makes one; `name` is that of the address, if any."""
    if is_maker(thing):
        thing, name = _make(thing, name or thing.__name__, split), name or thing.__name__
    elif split != "test":
        raise ValueError(f"{name or _call(thing)} has no splits, got {split!r}; give the images that you want")
    if isinstance(thing, (Source, CorruptedSource)):
        return thing
    name = name or _call(thing)
    if isinstance(thing, tuple):
        return _from_pair(name, thing)
    if isinstance(thing, (str, bytes)) or not (hasattr(thing, "__getitem__") or hasattr(thing, "__iter__")):
        raise ValueError(
            f"data must be an address, as in 'cifar10:DIR', or a Source, got {type(thing).__name__}; a torch "
            "Dataset or DataLoader of (image, label), or a pair (images, labels), will do as well"
        )
    return _from_items(name, thing)


def is_maker(thing: Any) -> bool:
    """Whether it is a class or a function, to be called for its images."""
    return isinstance(thing, type) or (callable(thing) and not hasattr(thing, "__getitem__"))


def takes_split(thing: Any) -> bool:
    """Whether what makes images can make those of a split."""
    return is_maker(thing) and "split" in inspect.signature(thing).parameters


def _make(thing: Any, name: str, split: str) -> Any:
    required = [
        p.name
        for p in inspect.signature(thing).parameters.values()
        if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) and p.name != "split"
    ]
    if required:
        raise ValueError(f"{name} needs arguments ({', '.join(required)}); write a function without any that calls it")
    if split != "test" and not takes_split(thing):
        raise ValueError(f"{name} has no parameter split, got {split!r}; add it, or give the images that you want")
    try:
        with current_folder_importable():  # it may import more
            return thing(**({"split": split} if takes_split(thing) else {}))
    except Exception as error:  # whatever a user's code may raise
        raise ValueError(f"{name} fails: {type(error).__name__}: {error}") from error


def _call(thing: Any) -> str:
    inner = thing.dataset if isinstance(thing, DataLoader) else thing
    return "arrays" if isinstance(inner, tuple) else type(inner).__name__


def _from_pair(name: str, pair: tuple) -> Source:
    if len(pair) != 2:
        raise ValueError(f"expected a pair (images, labels), got {len(pair)} things; a list holds (image, label) items")
    images, labels = (value if isinstance(value, torch.Tensor) else np.asarray(value) for value in pair)
    if images.ndim == 3:  # grey
        images = images[:, None] if isinstance(images, torch.Tensor) else images[..., None]
    if images.ndim != 4 or labels.ndim == 0 or len(labels) != len(images):
        shapes = f"{tuple(images.shape)} and {tuple(labels.shape)}"
        raise ValueError(f"{name}: expected images (N, ...) and a label each, got the shapes {shapes}")
    return array_source(name, _as_bytes(images), np.asarray(labels))


def _from_items(name: str, items: Any) -> Source:
    dataset: Any = items.dataset if isinstance(items, DataLoader) else items
    sampler: Any = items.sampler if isinstance(items, DataLoader) and _is_map(dataset) else dataset
    try:
        count = len(sampler)
    except TypeError as error:
        raise ValueError(
            f"{name} has no length, so that nobody knows where it ends; give its class a __len__, or collect its "
            "images in a list of (image, label)"
        ) from error
    if not count:
        raise ValueError(f"{name} has no images")
    if isinstance(items, DataLoader):
        _check_loader(name, items)
    if _is_map(dataset) and _is_random(dataset):
        raise ValueError(
            f"{name} gives another image 0 every time; take random augmentation out of its transforms: every model and "
            "every corruption must see the same images"
        )
    pixels, labels = _read(name, _iterate(name, items, count), count)
    classes = getattr(dataset, "classes", None)
    named = isinstance(classes, (list, tuple)) and all(isinstance(one, str) for one in classes)
    return array_source(name, pixels, labels, classes if named else None)


def _is_map(dataset: Any) -> bool:
    return not isinstance(dataset, torch.utils.data.IterableDataset) and hasattr(dataset, "__getitem__")


def _is_random(dataset: Any) -> bool:
    try:
        once, again = (_as_bytes(dataset[0][0]) for _ in range(2))
    except Exception:  # what is wrong is told when all are read
        return False
    return not np.array_equal(once, again)


def _check_loader(name: str, loader: DataLoader) -> None:
    if isinstance(loader.sampler, SHUFFLING):
        raise ValueError(
            f"the DataLoader of {name} shuffles, but an image is known by its position; use shuffle=False, or give the "
            "Dataset"
        )
    if loader.drop_last:
        raise ValueError(f"the DataLoader of {name} drops its last batch; use drop_last=False, or give the Dataset")


def _iterate(name: str, items: Any, count: int) -> Iterator[tuple[Any, Any]]:
    """Pairs of an image and its label, in order."""
    is_loader = isinstance(items, DataLoader)
    several = iter(items) if is_loader or not _is_map(items) else (items[k] for k in range(count))
    position = 0
    while True:
        try:
            item = next(several)
        except StopIteration:
            return
        except Exception as error:  # whatever a user's code may raise
            where = f"the batch from image {position} on" if is_loader else f"image {position}"
            raise ValueError(f"{name}: {where} cannot be read: {type(error).__name__}: {error}") from error
        pair = _pair_of(name, position, item)
        batch = [pair] if not is_loader or items.batch_size is None else list(zip(*pair, strict=True))
        yield from batch
        position += len(batch)


def _pair_of(name: str, position: int, item: Any) -> tuple[Any, Any]:
    if not isinstance(item, (tuple, list)) or len(item) != 2:
        what = f"{len(item)} things" if isinstance(item, (tuple, list)) else type(item).__name__
        raise ValueError(f"{name}: expected (image, label) at {position}, got {what}")
    return item[0], item[1]


def _read(name: str, pairs: Iterator[tuple[Any, Any]], count: int) -> tuple[np.ndarray, np.ndarray]:
    pixels, labels = np.empty(0, np.uint8), []
    for position, (image, label) in enumerate(pairs):
        try:
            each = _as_bytes(image)
        except ValueError as error:
            raise ValueError(f"{name}: image {position}: {error}") from error
        if not position:
            _check_memory(name, count * each.nbytes)
            pixels = np.empty((count, *each.shape), np.uint8)
        if each.shape != pixels.shape[1:]:
            raise ValueError(
                f"{name}: images must have one size, but image 0 is {pixels.shape[1:]} and image {position} "
                f"{each.shape}; resize and crop them in the dataset, or give folder:DIR, which does so itself"
            )
        if position == count:
            raise ValueError(f"{name} says that it has {count} images, but gives more")
        pixels[position] = each
        labels.append(np.asarray(label))
    if len(labels) != count:
        raise ValueError(f"{name} says that it has {count} images, but gives {len(labels)}")
    try:
        return pixels, np.stack(labels)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{name}: expected a whole number as label of every image: {error}") from error


def _check_memory(name: str, needed: int) -> None:
    free = available_memory()
    if needed > free // 2:
        raise ValueError(
            f"{name}: all images together take {needed / 2**30:.1f} GiB, and {free / 2**30:.1f} GiB are free; "
            "make them smaller or fewer, or give folder:DIR, which is read piece by piece"
        )


def _as_bytes(images: Any) -> np.ndarray:
    """One image as uint8 (H, W, C), or a batch of four dimensions as (N, H, W, C); floats become the nearest byte."""
    batch = open_images(images).batch.cpu()
    if batch.dtype != torch.uint8:
        batch = (batch * 255).round().to(torch.uint8)
    array = batch.permute(0, 2, 3, 1).contiguous().numpy()
    return array if getattr(images, "ndim", 3) == 4 else array[0]
