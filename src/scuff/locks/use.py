"""Corrupt and evaluate as a lock says, and nothing else."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar

import torch
from torch import Tensor

from scuff.data import Source
from scuff.locks.lock import Lock, read_lock
from scuff.locks.recipe import Cell, known_ids
from scuff.locks.sums import contents, total
from scuff.locks.verdict import NotEqual, cell_name
from scuff.suites import Suite, load_suite

Options = TypeVar("Options")
Distort = Callable[[Tensor, Tensor], Iterable[Tensor]]  # images and their ids -> one batch, or one per frame


def open_lock(place: str | os.PathLike[str] | None) -> Lock | None:
    """The lock of a file, if there is one."""
    return None if place is None else read_lock(place)


def follow(asked: Options, lock: Lock, implied: Mapping[str, Any]) -> Options:
    """The options of a lock in place of those that were left out; others that were given are refused."""
    defaults = {field.name: field.default for field in fields(asked)}  # type: ignore[arg-type]
    given = {name: getattr(asked, name) for name in ("only", "severities", "validation")}
    if any(given.values()) and lock.suite.choose(**given) != lock.levels:
        raise ValueError(f"{lock.place} says which cells there are; leave out --only, --severity and --validation")
    for name, value in implied.items():
        asked_for = getattr(asked, name)
        if name == "suite" and asked_for not in (None, defaults[name]):
            asked_for = asked_for if isinstance(asked_for, Suite) else load_suite(asked_for)
        if asked_for not in (None, defaults[name], value):
            locked, other = (getattr(each, "name", each) for each in (value, asked_for))
            raise ValueError(f"{lock.place} says {name} {locked}, not {other}; leave it out")
    severities = lock.recipe.severities
    levels = {"only": list(lock.levels), "severities": None if severities is None else list(severities)}
    return replace(asked, **levels, **implied)  # type: ignore[type-var]


class Witness:
    """Sees the images of a cell on their way to a model, and says in the end whether they were those of a lock."""

    def __init__(self, lock: Lock, cell: Cell | None, source: Source) -> None:
        self.lock, self.cell = lock, cell  # None: the clean images
        self.known = dict(zip(source.ids.tolist(), known_ids(source).tolist(), strict=True))
        self.contents: dict[int, bytes] = {}

    def watching(self, distort: Distort) -> Distort:
        """The same, watched. A batch that did not fit into memory and comes again counts once."""

        def watched(images: Tensor, ids: Tensor) -> Iterator[Tensor]:
            frames = []
            for frame in distort(images, ids):
                frames.append(frame)
                yield frame
            is_film = self.lock.recipe.has_films and self.cell is not None
            made = contents(torch.stack(frames, 1) if is_film else frames[0])
            self.contents.update(zip((self.known[key] for key in ids.tolist()), made, strict=True))

        return watched

    def confirm(self) -> None:
        """Refuse images that were not those of the lock."""
        locked = self.lock.source.pixels if self.cell is None else self.lock.cells[self.cell]
        if total(self.contents.items()) != locked.digest:
            what = cell_name(self.cell or ("", None))
            raise NotEqual(f"{what}: the images are not those of {self.lock.place}; scuff verify finds out why")
