"""Hold data, or files that somebody wrote, against a lock."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from scuff.data import Source
from scuff.environment import find_device
from scuff.locks.faults import Fault, explain, explain_labels
from scuff.locks.files import SeenCell, find_cells
from scuff.locks.lock import Lock, Locked, read_lock
from scuff.locks.make import CLEAN, Progress, Tally, decoder_words, files_digest, open_clean, tally
from scuff.locks.recipe import Cell, known_ids, knows_names
from scuff.locks.sums import check_of, label_digest, tag_of, total
from scuff.words import name_some

EXPLAINED = 8  # cells whose fault is looked for


class NotEqual(ValueError):
    """What is there is not what a lock says; the message says why, as far as it can be found out."""

    failures = ()  # the message has lines of its own


@dataclass(frozen=True)
class Verdict:
    """Which cells of a lock were checked, on how many images, which differ, and why."""

    lock: Lock
    images: int
    checked: tuple[Cell, ...]
    different: tuple[Cell, ...] = ()
    faults: tuple[Fault, ...] = ()

    @property
    def is_equal(self) -> bool:
        """Whether everything is as the lock says."""
        return not self.different and not self.faults

    def raise_if_different(self) -> None:
        """Refuse what is not equal."""
        if not self.is_equal:
            raise NotEqual(str(self))

    def __str__(self) -> str:
        cells, images = len(self.checked), f"{self.images} image{'' if self.images == 1 else 's'}"
        if self.is_equal:
            what = f"all {cells} cells of {images}" if cells else images
            part = "" if self.images == self.lock.images else f" of the {self.lock.images} in the lock"
            return f"Equal to {self.lock.place}: {what}{part}, byte for byte."
        lines = [f"Not equal to {self.lock.place}."]
        if self.different:
            named = name_some([cell_name(cell) for cell in self.different], 8)
            lines.append(f"{len(self.different)} of {cells} cells differ: {named}.")
        by_words: dict[str, list[Cell]] = {}
        for fault in self.faults:
            by_words.setdefault(fault.words, []).extend([] if fault.cell is None else [fault.cell])
        for words, of in by_words.items():
            where = f" ({name_some([cell_name(cell) for cell in of], 4)})" if of else ""
            lines.append(f"  {words[0].upper()}{words[1:]}{where}.")
        return "\n".join(lines)


def cell_name(cell: Cell) -> str:
    """What messages call a cell.

    >>> cell_name(("fog", 3)), cell_name(CLEAN)
    ('fog 3', 'the clean images')
    """
    entry, level = cell
    return "the clean images" if cell == CLEAN else entry if level is None else f"{entry} {level}"


def verify(
    lock: Lock | str | os.PathLike[str],
    folder: str | os.PathLike[str] | None = None,
    *,
    data: Any = None,
    sample: int | None = None,
    device: str | torch.device | None = None,
    progress: Progress | None = None,
) -> Verdict:
    """Check that data and scuff, or the files of a folder, give what a lock says.

    Parameters
    ----------
    lock
        A lock, or its file.
    folder
        Corrupted images that somebody wrote: .npy or .npz files, pictures, or tar files. Without it, the cells are made
        again from `data`.
    data
        The clean images. Beside a folder they help to find out why it differs.
    sample
        Check so many images of every cell, each against 18 bits of its own, instead of all of them.
    device, progress
        Where cells are made, and what is called with (what is being done, done, to do).
    """
    lock = lock if isinstance(lock, Lock) else read_lock(lock)
    if sample is not None and not 1 <= sample <= len(lock.sample):
        most = f"at most {len(lock.sample)} of each cell" if lock.sample else "no single ones"
        raise ValueError(
            f"{lock.place} has checks of {most}, got a sample of {sample}; leave it out to check all images"
        )
    if folder is None and data is None:
        raise ValueError("verify needs the clean images (data), or a folder of corrupted ones")
    source = None if data is None else open_clean(data)
    if folder is not None:
        return _verify_files(lock, Path(folder), source, sample, progress)
    assert source is not None
    return _verify_data(lock, source, sample, find_device(device), progress)


# --- data ------------------------------------------------------------------------------------------------------------


def _verify_data(
    lock: Lock, source: Source, sample: int | None, device: torch.device, progress: Progress | None
) -> Verdict:
    clean = verify_clean(lock, source, sample, progress=progress)
    if clean.faults:
        return clean
    chosen, tags = _sampled(lock, source, sample)
    kept = known_ids(chosen).tolist() if sample else []
    made = tally(lock.recipe, chosen, list(lock.cells), kept, device, progress)
    different = tuple(cell for cell, locked in lock.cells.items() if not _fits(locked, made[cell], tags, sample))
    machine = Fault(
        f"the clean images are equal, so it is the corruptions: they were made by scuff {lock.scuff}, and this one, or "
        "this machine, makes others"
    )
    return Verdict(lock, len(chosen), tuple(lock.cells), different, (machine,) if different else ())


def verify_clean(
    lock: Lock,
    source: Source,
    sample: int | None = None,
    has_labels: bool = True,
    progress: Progress | None = None,
) -> Verdict:
    """Whether clean images are those of a lock, once they are decoded and cut."""
    faults = check_source(lock, source, has_labels)
    chosen, tags = _sampled(lock, source, sample)
    if not len(chosen):
        return Verdict(lock, 0, (), (), tuple(faults))
    kept = known_ids(chosen).tolist() if sample else []
    found = tally(lock.recipe, chosen, [CLEAN], kept, torch.device("cpu"), progress)[CLEAN]
    if not faults and not _fits(lock.source.pixels, found, tags, sample):
        faults.append(_pixel_fault(lock, source))
    return Verdict(lock, len(chosen), (), (), tuple(faults))


def _sampled(lock: Lock, source: Source, sample: int | None) -> tuple[Source, tuple[str, ...]]:
    """The images that are looked at, and the tags of the sample."""
    if sample is None:
        return source, ()
    tags = lock.sample[:sample]
    return source.take([tag_of(key) in tags for key in known_ids(source).tolist()]), tags


def _fits(locked: Locked, found: Tally, tags: Sequence[str], sample: int | None) -> bool:
    if sample is None:
        return found.digest == locked.digest
    checks = {tag_of(key): check_of(content) for key, content in found.kept.items()}
    return all(checks.get(tag) == check for tag, check in zip(tags, locked.checks, strict=False))


def check_source(lock: Lock, source: Source, has_labels: bool = True) -> list[Fault]:
    """What can be said against clean images without decoding them: their number, names and labels."""
    if knows_names(source) != (lock.known_by == "names"):
        kinds = ("pictures, known by their names", "images of an array, known by their places")
        ours, theirs = kinds if knows_names(source) else kinds[::-1]
        raise ValueError(f"{lock.place} is of {theirs}, and {source.name} holds {ours}; give data of the same kind")
    ids = known_ids(source)
    faults = []
    if len(source) != lock.images:
        few = len(source) < lock.images
        count = f"{abs(len(source) - lock.images)} images {'are missing' if few else 'are too many'}"
        faults.append(Fault(f"{count}: the lock is of {lock.images}, and {source.name} has {len(source)}"))
    elif total((key, b"") for key in ids.tolist()) != lock.source.ids:
        faults.append(Fault(f"pictures have other names in {source.name} than in the lock"))
    elif has_labels and label_digest(ids, source.labels) != lock.source.labels:
        faults.append(Fault(explain_labels(lock, ids, source.labels)))
    return faults


def _pixel_fault(lock: Lock, source: Source) -> Fault:
    """Why the decoded pixels of clean images differ."""
    if lock.source.files is not None and files_digest(source) == lock.source.files:
        here = f"{lock.decoder}, and here {decoder_words()} is in use"
        return Fault(f"the files are equal, so it is the decoder: the lock was made with {here}", CLEAN)

    def read(k: int) -> np.ndarray:
        return source.read([k], lock.recipe.pixels_cut)[0].permute(1, 2, 0).numpy()

    seen = SeenCell(Path(source.name), known_ids(source).tolist(), read)
    return explain(lock, CLEAN, seen, list(seen.contents()), None)


# --- files -----------------------------------------------------------------------------------------------------------


def _verify_files(
    lock: Lock, folder: Path, source: Source | None, sample: int | None, progress: Progress | None
) -> Verdict:
    if lock.recipe.has_films:
        raise ValueError(f"{lock.place} is of sequences, which are not written to files; verify it with --data")
    faults = [] if source is None else check_source(lock, source)
    ids = None if source is None else known_ids(source).tolist()
    seen = find_cells(lock, folder, ids)
    different: list[Cell] = []
    checked = 0
    for number, (cell, locked) in enumerate(lock.cells.items()):
        if progress is not None:
            progress("checking cells", number, len(lock.cells))
        if cell not in seen:
            different.append(cell)
            faults.append(Fault("not in the folder", cell))
            continue
        fits, pairs = _check_cell(lock, locked, seen[cell], sample)
        fault = _label_fault(lock, seen[cell], cell)
        if fault is not None:
            faults.append(fault)
        if not fits:
            different.append(cell)
            if sum(other in seen for other in different) <= EXPLAINED:
                pairs = pairs if sample is None else list(seen[cell].contents())
                faults.append(explain(lock, cell, seen[cell], pairs, source))
        checked = max(checked, len(pairs))
    return Verdict(lock, checked, tuple(lock.cells), tuple(different), tuple(faults))


def _check_cell(lock: Lock, locked: Locked, seen: SeenCell, sample: int | None) -> tuple[bool, list[tuple[int, bytes]]]:
    """Whether a cell is as it must be, and the contents of the images that were looked at."""
    if sample is None:
        pairs = list(seen.contents())
        return total(pairs) == locked.digest, pairs
    tags = lock.sample[:sample]
    wanted = [k for k, key in enumerate(seen.ids) if tag_of(key) in set(tags)]
    pairs = list(seen.contents(wanted))
    is_whole = len(seen.ids) == lock.images
    return is_whole and _fits(locked, Tally(kept=dict(pairs)), tags, sample), pairs


def _label_fault(lock: Lock, seen: SeenCell, cell: Cell) -> Fault | None:
    if seen.labels is None or len(seen.ids) != lock.images:
        return None
    ids, labels = np.array(seen.ids), np.array(seen.labels)
    if labels.size != lock.images or labels.dtype.kind not in "iu":
        return Fault(f"labels are {labels.dtype} of shape {labels.shape}, not {lock.images} whole numbers", cell)
    labels = labels.reshape(-1)  # of a column
    if label_digest(ids, labels) == lock.source.labels:
        return None
    return Fault(explain_labels(lock, ids, labels), cell)
