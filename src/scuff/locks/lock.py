"""A lock file: the recipe of a corrupted dataset, and digests of everything that follows from it.

Of every cell (an entry of the suite at a severity) it keeps the digest of all images, and 18 bits of the content of
each image of a sample: the images with the smallest tags, which are hashes of ids, so that anybody finds the same
ones. A whole cell is checked by its digest; `--sample N` makes N images only and holds each against its 18 bits. The
sample is as large as 10 kB allow, up to 64 images. It also tells what is wrong with files: where the images went, and
which cell they belong to.

The seal is a hash of all that follows from the recipe. It names the dataset: whoever makes the same has the same seal.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, TypedDict

import yaml

from scuff.files import write_by_rename
from scuff.locks.recipe import Cell, Recipe
from scuff.locks.sums import CHECK, LETTERS, TAG, Digest
from scuff.pictures import Cut
from scuff.readers import read_yaml
from scuff.suites import Levels, Suite, is_bundled, load_suite

FORMAT = 1
MOST_BYTES = 10_000
MOST_SAMPLED = 64
HEAD = 1_300  # bytes of a lock beside its cells and its sample, at most
NOTED = ("seal", "data", "scuff", "decoder", "files")  # what the seal leaves out: it does not change a pixel
KNOWN_BY = ("names", "places")
_DIGEST = re.compile(rf"[\w-]{{{LETTERS}}}")
_WORDS = re.compile(rf"([\w-]{{{LETTERS}}})(?: ((?:[\w-]{{{CHECK}}})+))?")


@dataclass(frozen=True)
class Locked:
    """What must come out: the digest of all images, and checks of those in the sample."""

    digest: Digest
    checks: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.digest} {''.join(self.checks)}".strip()


@dataclass(frozen=True)
class LockedSource:
    """The clean images: their ids, labels, files as they are stored (None of arrays) and decoded pixels."""

    ids: Digest
    labels: Digest
    pixels: Locked
    files: Digest | None = None


@dataclass(frozen=True)
class Lock:
    """What a lock file says. `known_by` is "names" where images are pictures with paths, else "places"."""

    recipe: Recipe
    known_by: str
    images: int
    size: str | None  # height x width x channels of the clean images, where all have the same
    sample: tuple[str, ...]
    source: LockedSource
    cells: Mapping[Cell, Locked]
    data: str = ""
    decoder: str | None = None
    scuff: str = ""
    place: str = "the lock"  # what messages call it

    @property
    def suite(self) -> Suite:
        """The suite, whose fingerprint has been compared."""
        return self.recipe.suite

    @property
    def levels(self) -> dict[str, Levels]:
        """The levels of each entry that is locked."""
        found: dict[str, Levels] = {}
        for entry, level in self.cells:
            found[entry] = (*found.get(entry, ()), level)
        return found

    @property
    def seal(self) -> str:
        """The name of the dataset: a hash of all that determines its pixels, and of these."""
        content = {key: value for key, value in self.to_dict().items() if key not in NOTED}
        return hashlib.blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=8).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """The content of the file, without the seal."""
        recipe, suite = self.recipe, self.suite
        cells: dict[str, list[str]] = {}
        for (entry, _), locked in self.cells.items():
            cells.setdefault(entry, []).append(str(locked))
        return {
            "lock": FORMAT,
            "scuff": self.scuff,
            "suite": recipe.suite_file or suite.name,
            "version": suite.version,
            "fingerprint": suite.fingerprint(),
            "severities": None if recipe.severities is None else list(recipe.severities),
            "seed": recipe.seed,
            "as_published": recipe.as_published,
            "cut": recipe.cut and asdict(recipe.cut),
            "decoder": self.decoder,
            "data": self.data,
            "images": self.images,
            "size": self.size,
            "known_by": self.known_by,
            "files": self.source.files and str(self.source.files),
            "ids": str(self.source.ids),
            "labels": str(self.source.labels),
            "pixels": str(self.source.pixels),
            "sample": "".join(self.sample),
            "cells": cells,
        }

    def to_yaml(self) -> bytes:
        """The file; one of too many cells is refused."""
        content = {"seal": self.seal, **self.to_dict()}
        text = yaml.safe_dump(content, sort_keys=False, default_flow_style=None, width=4096).encode()
        if len(text) > MOST_BYTES:
            raise ValueError(
                f"a lock of {len(self.cells)} cells would take {len(text)} bytes, and {MOST_BYTES} is the most; make "
                "one of fewer entries (--only) or severities (--severity)"
            )
        return text

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the file."""
        text = self.to_yaml()
        with write_by_rename(path) as file:
            file.write(text)
        return Path(path)


def sample_size(images: int, entries: Sequence[str], cells: int) -> int:
    """How many images the sample of a lock can have."""
    names = sum(len(entry) + 8 for entry in entries)
    room = MOST_BYTES - HEAD - names - cells * (LETTERS + 3)
    return max(0, min(MOST_SAMPLED, images, room // (CHECK * (cells + 1) + TAG)))


# --- reading ---------------------------------------------------------------------------------------------------------


class Form(TypedDict):
    """What the file of a lock must hold."""

    seal: str
    lock: int
    scuff: str
    suite: str
    version: int
    fingerprint: str
    severities: list[int] | None
    seed: int
    as_published: bool
    cut: dict[str, Any] | None
    decoder: str | None
    data: str
    images: int
    size: str | None
    known_by: str
    files: str | None
    ids: str
    labels: str
    pixels: str
    sample: str
    cells: dict[str, list[str]]


def read_lock(path: str | os.PathLike[str]) -> Lock:
    """Read a lock file. One that was changed, cut off, or is of another suite than there is here, is refused."""
    path = Path(path)
    try:
        text = path.read_bytes()
    except OSError as error:
        raise ValueError(f"cannot read the lock {path}: {error.strerror}") from error
    start = read_yaml(text[: 10 * MOST_BYTES], f"the lock {path}", Any)
    if not isinstance(start, dict) or "lock" not in start:
        raise ValueError(f"{path} is no lock: expected a YAML file that scuff lock has written")
    if start["lock"] != FORMAT:
        raise ValueError(
            f"{path} is a lock of format {start['lock']!r}, and this scuff reads {FORMAT}; use another one"
        )
    form = read_yaml(text[: 10 * MOST_BYTES], f"the lock {path}", Form)
    unknown = sorted(map(str, form.keys() - Form.__annotations__.keys()))
    if unknown:
        raise ValueError(f"the lock {path} holds {', '.join(unknown)}, which no lock has")
    suite = _suite_of(form, path)
    try:
        lock = _lock_of(form, suite, path)
    except (ValueError, TypeError) as error:
        raise ValueError(f"the lock {path} is damaged: {error}") from error
    if lock.seal != form["seal"]:
        raise ValueError(f"the lock {path} is not what was written: it has been changed or cut off; get it again")
    return lock


def _suite_of(form: Form, path: Path) -> Suite:
    name = form["suite"]
    suite = load_suite(name if is_bundled(name) else path.parent / name)
    if (suite.version, suite.fingerprint()) != (form["version"], form["fingerprint"]):
        versions = f"version {form['version']}, and here is version {suite.version}"
        same = "another suite of the same name and version" if suite.version == form["version"] else versions
        raise ValueError(f"the lock {path} is of {suite.name}, {same}: its corruptions have other parameters")
    return suite


def _lock_of(form: Form, suite: Suite, path: Path) -> Lock:
    severities = None if form["severities"] is None else tuple(form["severities"])
    cut = None if form["cut"] is None else Cut(**_only_fields(form["cut"]))
    file = None if is_bundled(form["suite"]) else form["suite"]
    recipe = Recipe(suite, form["seed"], form["as_published"], cut, severities, file)
    sample = tuple(_split(form["sample"], TAG))
    if form["known_by"] not in KNOWN_BY or form["images"] < 1:
        raise ValueError(f"expected images known by {' or '.join(KNOWN_BY)}, and at least one")
    cells: dict[Cell, Locked] = {}
    for entry, texts in form["cells"].items():
        name = suite.find(entry)
        levels = suite.choose([name], severities if suite.listed_levels(name) else None)[name]
        if len(levels) != len(texts):
            raise ValueError(f"{entry} has {len(texts)} digests, expected {len(levels)}")
        cells |= {(entry, level): _locked(text, len(sample)) for level, text in zip(levels, texts, strict=True)}
    files = None if form["files"] is None else _digest(form["files"])
    pixels = _locked(form["pixels"], len(sample))
    source = LockedSource(_digest(form["ids"]), _digest(form["labels"]), pixels, files)
    known: dict[str, Any] = {key: form[key] for key in ("known_by", "images", "size", "data", "decoder", "scuff")}  # type: ignore[literal-required]
    return Lock(recipe, sample=sample, source=source, cells=cells, place=str(path), **known)


def _only_fields(values: dict[str, Any]) -> dict[str, Any]:
    wrong = values.keys() ^ {field.name for field in fields(Cut)}
    if wrong:
        raise ValueError(f"a cut has {', '.join(field.name for field in fields(Cut))}, got {', '.join(values)}")
    return values


def _digest(text: str) -> Digest:
    if not _DIGEST.fullmatch(text):
        raise ValueError(f"{text!r} is no digest of {LETTERS} letters")
    return Digest.of(text)


def _locked(text: str, count: int) -> Locked:
    found = _WORDS.fullmatch(text)
    if found is None or len(found[2] or "") != CHECK * count:
        raise ValueError(f"expected a digest and {count} checks, got {text[:40]!r}")
    return Locked(Digest.of(found[1]), tuple(_split(found[2] or "", CHECK)))


def _split(text: str, letters: int) -> Iterator[str]:
    if len(text) % letters:
        raise ValueError(f"expected words of {letters} letters, got {len(text)} letters in all")
    return (text[start : start + letters] for start in range(0, len(text), letters))
