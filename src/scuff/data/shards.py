"""Shards: pictures and their classes in tar files, as WebDataset has them and `scuff corrupt` writes them.

Nothing is unpacked: the headers of a tar tell where each picture begins, and its bytes are read from there.
"""

from __future__ import annotations

import re
import tarfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, TypedDict
from urllib.parse import unquote

import fsspec
import numpy as np

from scuff.data.folders import class_folders, number_classes
from scuff.data.source import CorruptedSource, Source, numbered, picture_source, whole_labels
from scuff.data.stored import StoredMembers
from scuff.digests import READERS
from scuff.pictures import SUFFIXES, Cut
from scuff.random import image_id
from scuff.readers import read_json
from scuff.store.places import explaining, is_local, open_place
from scuff.suites import Suite, load_suite

INDEX, SETTINGS = "shards.json", "scuff.json"  # what `scuff corrupt` writes beside its shards
BRACES = re.compile(r"\{([^{}]*)\}")
LABELS = (".cls", ".json")


class CellShards(TypedDict):
    """The shards of one corruption at one severity."""

    corruption: str
    severity: int | None
    names: list[str]


class Index(TypedDict):
    """What there is in a folder of shards, and what class indices mean; for arrays, nobody knows."""

    classes: list[str] | None
    shards: list[CellShards]


class Written(TypedDict):
    """What `scuff corrupt` says of its files, as far as it matters to a reader."""

    suite: str


def open_shards(place: str) -> Source | CorruptedSource:
    """`wds:PLACE`: tars by a pattern as in `val-{000..146}.tar` or `val-*.tar`, or all those in a folder.

    A folder into which `scuff corrupt` has written shards holds corrupted images.
    """
    corrupted = open_corrupted_shards(place)
    return read_shards(_name(place), find_tars(place)) if corrupted is None else corrupted


def open_corrupted_shards(place: str, suite: str | None = None) -> CorruptedSource | None:
    """The shards of a suite in a folder; None if there is no index of such."""
    files, path = open_place(str(Path(place).expanduser()) if "://" not in place else place)
    with explaining(place):
        if BRACES.search(place) or not files.exists(f"{path}/{INDEX}"):
            return None
        index = read_json(files.cat_file(f"{path}/{INDEX}"), f"{place}/{INDEX}", Index)
        written = read_json(files.cat_file(f"{path}/{SETTINGS}"), f"{place}/{SETTINGS}", Written)["suite"]
    if suite not in (None, written):
        raise ValueError(f"{place} was made by the suite {written}, not by {suite}; open it as {written}:{place}")
    root = path if is_local(files) else files.unstrip_protocol(path)
    tars: dict[str, dict[int | None, list[str]]] = {}
    for cell in index["shards"]:
        tars.setdefault(cell["corruption"], {})[cell["severity"]] = [f"{root}/{name}" for name in cell["names"]]
    if not tars:
        raise ValueError(f"{place} holds no finished shards; run scuff corrupt again, which goes on where it stopped")
    cells = _Cells(load_suite(written), tars, index["classes"])
    return CorruptedSource(written, written, {entry: tuple(of) for entry, of in tars.items()}, cells)


class _Cells:
    """Opens the cells, each once, and holds their pictures against those of the first."""

    def __init__(
        self, suite: Suite, tars: dict[str, dict[int | None, list[str]]], class_names: Sequence[str] | None
    ) -> None:
        self.suite, self.tars, self.class_names = suite, tars, class_names
        self.cells: dict[tuple[str, int | None], Source] = {}

    def __call__(self, entry: str, severity: int | None) -> Source:
        if (entry, severity) not in self.cells:
            self.cells[entry, severity] = self._open(entry, severity)
        return self.cells[entry, severity]

    def _open(self, entry: str, severity: int | None) -> Source:
        source = read_shards(self.suite.name, self.tars[entry][severity], self.class_names)
        keys = [unquote(_split(name)[0]) for name in source.images.names]
        ids, cut = map(image_id, keys), Cut(None, 224) if self.suite.size == 224 else None
        if self.class_names is None:  # of an array, whose images are known by positions, and have their size
            ids, cut = map(int, keys), Cut()
        source = replace(source, ids=np.fromiter(ids, np.int64, len(keys)), cut=cut)
        first = next(iter(self.cells.values()), source)
        if not np.array_equal(first.ids, source.ids):
            raise ValueError(
                f"{self.suite.name}: the shards of {entry} hold other pictures than those of {next(iter(self.tars))}; "
                "all corruptions must be of the same images: run scuff corrupt again"
            )
        return source


# --- tars -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Tar:
    """What is in a tar."""

    pictures: list[tuple[str, int, int]]  # name, first byte, bytes
    labels: dict[str, dict[str, bytes]]  # what may be one, by key and extension


def read_shards(name: str, tars: Sequence[str], class_names: Sequence[str] | None = None) -> Source:
    """A source of the pictures in tars. Each has the path in its tar as id, as if the tars had been unpacked."""
    with ThreadPoolExecutor(READERS) as pool:
        contents = list(pool.map(_read_tar, tars))
    pictures = [(number, *picture) for number, tar in enumerate(contents) for picture in tar.pictures]
    if not pictures:
        raise ValueError(f"{name}: there are no pictures in {len(tars)} tars ({tars[0]}, ...)")
    names = [member for _, member, _, _ in pictures]
    if len(set(names)) < len(names):  # shards that count anew
        names = [f"{Path(tars[number]).stem}/{member}" for number, member, _, _ in pictures]
    places = np.array([(number, first, size) for number, _, first, size in pictures], np.int64)
    found = [_label(contents[number], tars[number], member) for number, member, _, _ in pictures]
    unlabelled = [k for k, label in enumerate(found) if label is None]
    if not unlabelled:
        labels = whole_labels(name, np.array(found, np.int64))
        class_names = class_names or numbered(name, labels)
    elif len(unlabelled) == len(found) and all("/" in member for member in names):
        labels, class_names = number_classes(class_folders(Path(name), names))
    else:
        raise ValueError(
            f"{name}: {len(unlabelled)} of {len(found)} pictures have no class ({names[unlabelled[0]]}, ...); expected "
            "a .cls beside each, a .json with a label, or a folder per class"
        )
    return picture_source(name, StoredMembers(tuple(tars), names, places), labels, class_names)


def _read_tar(address: str) -> _Tar:
    files, path = open_place(address)
    try:
        with explaining(address), files.open(path, "rb") as file:
            return _list_members(file)
    except FileNotFoundError as error:
        raise ValueError(f"there is no {address}") from error
    except tarfile.TarError as error:
        raise ValueError(
            f"cannot read {address} as a tar: {error}; is it complete, and not compressed? Parts of a compressed tar "
            "cannot be read on their own"
        ) from error


def _list_members(file: BinaryIO) -> _Tar:
    found = _Tar([], {})
    with tarfile.open(fileobj=file, mode="r:") as tar:
        for member in tar:
            key, extension = _split(member.name)
            if not member.isfile() or key.rpartition("/")[2].startswith("."):
                continue
            if f".{extension}".endswith(SUFFIXES):
                found.pictures.append((member.name.removeprefix("./"), member.offset_data, member.size))
            elif f".{extension}" in LABELS:
                content = tar.extractfile(member)
                found.labels.setdefault(key, {})[f".{extension}"] = b"" if content is None else content.read()
    end = max((first + size for _, first, size in found.pictures), default=0)
    if file.seek(0, 2) < end:
        raise tarfile.ReadError("it ends in the middle of a picture")
    return found


def _split(name: str) -> tuple[str, str]:
    """The key and the extension of a member, which is all that follows the first dot of its file's name.

    >>> _split("./train/00012.seg.PNG")
    ('train/00012', 'seg.png')
    """
    folder, slash, file = name.removeprefix("./").rpartition("/")
    key, _, extension = file.partition(".")
    return folder + slash + key, extension.lower()


def _label(tar: _Tar, address: str, member: str) -> int | None:
    """The index of a picture's class, if the tar has it."""
    beside = tar.labels.get(_split(member)[0], {})
    if ".cls" in beside:
        text = beside[".cls"].decode(errors="replace").strip()
    elif ".json" in beside:
        about: dict[str, Any] = read_json(beside[".json"], f"{address}: the JSON of {member}", dict)
        text = str(next((about[key] for key in ("label", "cls") if key in about), ""))
    else:
        return None
    if not text.isdecimal():
        raise ValueError(f"{address}: the class of {member} must be a whole number, counted from 0, got {text[:40]!r}")
    return int(text[:18])


# --- addresses ------------------------------------------------------------------------------------------------------


def find_tars(place: str) -> list[str]:
    """The tars of a pattern or a folder, in order."""
    return [tar for one in expand_braces(place) for tar in _matching(one)]


def expand_braces(pattern: str) -> list[str]:
    """All that a pattern with braces stands for, as shells have it.

    >>> expand_braces("s3://b/val-{008..010}.tar"), expand_braces("{a,b}.tar")
    (['s3://b/val-008.tar', 's3://b/val-009.tar', 's3://b/val-010.tar'], ['a.tar', 'b.tar'])
    """
    braces = BRACES.search(pattern)
    if braces is None:
        return [pattern]
    inner = braces[1]
    numbers = re.fullmatch(r"(\d+)\.\.(\d+)", inner)
    if numbers is None:
        words = inner.split(",")
    else:
        first, last = numbers.groups()
        words = [f"{number:0{len(first)}d}" for number in range(int(first), int(last) + 1)]
    before, after = pattern[: braces.start()], pattern[braces.end() :]
    return [one for word in words for one in expand_braces(before + word + after)]


def _matching(pattern: str) -> list[str]:
    files, path = open_place(pattern if "://" in pattern else str(Path(pattern).expanduser()))
    with explaining(pattern):
        if not fsspec.core.has_magic(path):
            if not files.exists(path):
                raise ValueError(f"there is no file or folder {pattern}, wanted by wds")
            path = f"{path}/*.tar" if files.isdir(path) else path
        found = sorted(files.glob(path)) if fsspec.core.has_magic(path) else [path]
    if not found:
        raise ValueError(f"there are no tars {pattern}")
    return found if is_local(files) else [files.unstrip_protocol(one) for one in found]


def _name(place: str) -> str:
    """What to call the source: the folder of its tars, or what their names begin with."""
    last = place.rstrip("/").rpartition("/")[2].removesuffix(".tar")
    return re.split(r"[{*?\[]", last)[0].rstrip("-_.") or place.rstrip("/").split("/")[-2]
