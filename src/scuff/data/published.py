"""Published benchmarks of corrupted images, for any suite of the package, in the two layouts that are in use.

CIFAR-10-C is one NAME.npy per corruption, all images at severity 1, then all at severity 2, and so on, and labels.npy.
ImageNet-C is a tree NAME/SEVERITY/CLASS/FILE, with NAME in a folder of its group (noise, blur, ...) or not. `scuff
corrupt` writes both, and shards (see `shards.py`).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TypedDict

import numpy as np

from scuff.arrays import check_images, read_array
from scuff.corruptions import get
from scuff.data import cifar
from scuff.data.folders import check_folder, class_folders, number_among, number_classes
from scuff.data.shards import open_corrupted_shards
from scuff.data.source import CorruptedSource, Source, array_source, known_by_stems, picture_source
from scuff.data.stored import StoredPictures
from scuff.pictures import Cut, find_pictures
from scuff.readers import read_json
from scuff.suites import Levels, Suite, load_suite

LABELS = "labels.npy"
SETTINGS = "scuff.json"


class Written(TypedDict, total=False):
    """What `scuff corrupt` says of its files, as far as it matters to a reader."""

    suite: str
    severities: list[int | None] | None  # all that the suite has


def open_published(name: str, path: Path) -> CorruptedSource:
    """`SUITE:DIR`: what is there of a suite's entries, each with its levels."""
    suite = load_suite(name)
    if any(get(suite.corruption(entry)).sequence for entry in suite.entries):
        raise ValueError(f"{name} is a suite of sequences, which are not read from files; evaluate it on clean images")
    check_folder(path)
    sharded = open_corrupted_shards(str(path), name)
    if sharded is not None:
        return sharded
    written = _read_settings(path).get("suite", name)  # of files of our own
    if written != name:
        raise ValueError(f"{path} was made by the suite {written}, not by {name}; open it as {written}:{path}")
    return _open_arrays(suite, path) if (path / LABELS).exists() else _open_tree(suite, path)


def _read_settings(path: Path) -> Written:
    """What `scuff corrupt` has written about its files; nothing if the files are somebody else's."""
    if not (path / SETTINGS).exists():
        return {}
    return read_json((path / SETTINGS).read_bytes(), f"{path / SETTINGS}", Written)


def _names(suite: Suite, entry: str) -> list[str]:
    return [entry, *(alias for alias, meant in suite.aliases.items() if meant == entry)]


def _nothing_found(suite: Suite, path: Path, form: str) -> ValueError:
    names = ", ".join(sorted(p.name for p in path.iterdir())[:8]) or "nothing"
    first = next(iter(suite.entries))
    return ValueError(f"{path} holds no corruption of {suite.name}; expected {form.format(first)}, ...; found {names}")


def _open_arrays(suite: Suite, path: Path) -> CorruptedSource:
    files = {e: path / f"{n}.npy" for e in suite.entries for n in _names(suite, e) if (path / f"{n}.npy").exists()}
    if not files:
        raise _nothing_found(suite, path, "{}.npy")
    written = written_levels(path)
    levels = {entry: written or suite.levels(entry) for entry in files}
    labels = read_array(path / LABELS)
    arrays = {entry: _open_blocks(file, len(levels[entry]), labels) for entry, file in files.items()}

    def open_cell(entry: str, severity: int | None) -> Source:
        images = arrays[entry]
        count = len(images) // len(levels[entry])
        start = levels[entry].index(severity) * count
        class_names = cifar.CLASS_NAMES if suite.name.startswith("cifar10") else None
        return array_source(suite.name, images[start : start + count], labels[:count], class_names)

    return CorruptedSource(suite.name, suite.name, levels, open_cell)


def written_levels(path: Path) -> Levels | None:
    """The severities in files of our own, which need not be all."""
    settings = _read_settings(path)
    if not settings:
        return None
    severities = settings.get("severities")
    if severities is None:
        raise ValueError(f"{path / SETTINGS} does not say which severities there are")
    return tuple(severities)


def _open_blocks(file: Path, levels: int, labels: np.ndarray) -> np.ndarray:
    """Map an array of `levels` equal blocks, and hold it against the labels, which are those of one block or of all."""
    images = read_array(file, mapped=True)
    check_images(file, images)
    count, rest = divmod(len(images), levels)
    if rest:
        raise ValueError(f"{file}: {len(images)} images are not {levels} severities of as many; is the file complete?")
    if labels.shape[:1] not in ((count,), (len(images),)):
        raise ValueError(f"{file}: {len(images)} images need as many labels, got {labels.shape} in {LABELS}")
    blocks = labels.reshape(-1, count)
    if (blocks != blocks[0]).any():
        raise ValueError(f"{file}: {LABELS} does not repeat for each of {levels} severities; are there as many?")
    return images


def _open_tree(suite: Suite, path: Path) -> CorruptedSource:
    cells: dict[str, dict[int | None, Path]] = {}
    for entry in suite.entries:
        places = [place for name in _names(suite, entry) for place in (path / name, *path.glob(f"*/{name}"))]
        folders = [place for place in places if place.is_dir()]
        if len(folders) > 1:
            raise ValueError(f"{entry} lies in {folders[0]} and in {folders[1]}; take one of them out")
        levels = _find_levels(suite, entry, folders[0]) if folders else {}
        if levels:
            cells[entry] = levels
    if not cells:
        raise _nothing_found(suite, path, "{0}/1/CLASS/FILE or GROUP/{0}/1/CLASS/FILE")
    return CorruptedSource(suite.name, suite.name, {e: tuple(f) for e, f in cells.items()}, _TreeCells(suite, cells))


def _find_levels(suite: Suite, entry: str, folder: Path) -> dict[int | None, Path]:
    """The folders of the levels. The authors' own program for C-bar names them by the amount, with two digits."""
    if suite.levels(entry) == (None,):
        return {None: folder}
    folders = {}
    for level in suite.levels(entry):
        amount = suite.parameters(entry, level).get("amount")
        names = [str(level), *([f"{amount:.2f}"] if isinstance(amount, float) else [])]
        present = [folder / name for name in names if (folder / name).is_dir()]
        if present:
            folders[level] = present[0]
    return folders


class _TreeCells:
    """Opens the cells of a tree, each once. They share names, labels and ids: ImageNet-C has 75 cells of 50 000."""

    def __init__(self, suite: Suite, folders: dict[str, dict[int | None, Path]]):
        self.suite, self.folders = suite, folders
        self.cells: dict[tuple[str, int | None], Source] = {}

    def __call__(self, entry: str, severity: int | None) -> Source:
        if (entry, severity) not in self.cells:
            self.cells[entry, severity] = self._open(self.folders[entry][severity])
        return self.cells[entry, severity]

    def _open(self, folder: Path) -> Source:
        names = find_pictures(folder)
        if self.cells:
            first = next(iter(self.cells.values()))
            different = sorted(set(first.images.names) ^ set(names))
            if different:
                raise ValueError(
                    f"{folder} and {first.images.root} differ in {len(different)} pictures ({different[0]}, ...); all "
                    "corruptions must be of the same images: complete or remove one of the two"
                )
            return replace(first, images=replace(first.images, root=folder))
        classes = class_folders(folder, names)
        tiny = self.suite.name.startswith("tiny-imagenet")  # whose 200 classes have numbers of their own
        labels, class_names = number_among(classes, sorted(set(classes))) if tiny else number_classes(classes)
        cut = Cut(None, 224) if self.suite.size == 224 else None  # the files have their size: nothing to resize
        source = picture_source(self.suite.name, StoredPictures(folder, names), labels, class_names, cut=cut)
        return known_by_stems(source)
