"""Make every cell of a suite, and keep digests of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import PIL
import torch
from PIL import features

import scuff
from scuff.data import CorruptedSource, Source, open_source
from scuff.data.stored import StoredPictures
from scuff.digests import digest_files
from scuff.door import resolve
from scuff.environment import find_device
from scuff.locks.lock import Lock, Locked, LockedSource, sample_size
from scuff.locks.options import LockOptions
from scuff.locks.recipe import Cell, Recipe, known_ids, knows_names, read_images
from scuff.locks.sums import CHECK, Digest, check_of, contents, label_digest, size_words, tag_of, total
from scuff.options import takes_options
from scuff.pictures import Cut
from scuff.suites import Suite, is_bundled, load_suite

Progress = Callable[[str, int, int], None]
CLEAN: Cell = ("", None)  # stands for the images before any corruption
LONGEST = 120  # letters of the data's address that a lock keeps


@dataclass
class Tally:
    """What is known of the images of a cell so far: the digest of all, and the contents of those that are kept."""

    digest: Digest = field(default_factory=Digest)
    kept: dict[int, bytes] = field(default_factory=dict)
    sizes: set[str] = field(default_factory=set)

    def locked(self, sample: Sequence[int]) -> Locked:
        """What a lock keeps of them."""
        return Locked(self.digest, tuple(check_of(self.kept[key]) for key in sample))


@takes_options(LockOptions)
def make_lock(asked: LockOptions) -> Lock:
    """Make every cell of a suite on some data, and return what others need to make the same and to prove it."""
    suite = asked.suite if isinstance(asked.suite, Suite) else load_suite(asked.suite)
    has_name = is_bundled(suite.name) and load_suite(suite.name) == suite
    if not has_name and isinstance(asked.suite, Suite):
        raise ValueError(f"a lock names its suite; save {suite.name} to a file, and give its name")
    file = None if has_name else os.path.relpath(asked.suite, asked.beside)  # type: ignore[arg-type]
    source = open_clean(asked.data)
    cut = Cut(asked.resize, asked.crop) if (asked.resize, asked.crop) != (None, None) else source.cut
    source.check_cut(cut)
    levels = suite.choose(asked.only, asked.severities, asked.validation)
    severities = None if asked.severities is None else tuple(sorted(set(asked.severities)))
    recipe = Recipe(suite, asked.seed, asked.as_published, cut if source.has_pictures else None, severities, file)
    if recipe.has_films and asked.as_published:
        raise ValueError("as_published is for single corruptions: ImageNet-P was published as films, not as JPEGs")
    cells = [(entry, level) for entry, its in levels.items() for level in its]
    for entry, level in cells:
        resolve(entry, level, suite=suite)  # names and parameters fail here
    ids = known_ids(source)
    size = sample_size(len(source), list(levels), len(cells))
    sample = sorted(ids.tolist(), key=tag_of)[:size]
    blank = Locked(Digest(), (check_of(bytes(CHECK)),) * len(sample))
    lock = Lock(
        recipe,
        "names" if knows_names(source) else "places",
        len(source),
        None,
        tuple(map(tag_of, sample)),
        LockedSource(
            total((key, b"") for key in ids.tolist()), label_digest(ids, source.labels), blank, files_digest(source)
        ),
        dict.fromkeys(cells, blank),
        (asked.data if isinstance(asked.data, str) else source.name)[:LONGEST],
        decoder_words() if source.has_pictures else None,
        scuff.__version__,
    )
    lock.to_yaml()  # one that is too large fails here
    found = tally(recipe, source, [CLEAN, *cells], sample, find_device(asked.device), asked.progress)
    sizes = found[CLEAN].sizes
    return replace(
        lock,
        size=next(iter(sizes)) if len(sizes) == 1 else None,
        source=replace(lock.source, pixels=found[CLEAN].locked(sample)),
        cells={cell: found[cell].locked(sample) for cell in cells},
    )


def open_clean(data: Any) -> Source:
    """Open data that a lock can be of."""
    source = data if isinstance(data, Source) else open_source(data)
    if isinstance(source, CorruptedSource):
        raise ValueError(f"{source.name} is corrupted already; give the clean images")
    if not len(source):
        raise ValueError(f"{source.name} has no images")
    ids = known_ids(source)
    if len(np.unique(ids)) < len(ids):
        raise ValueError(
            f"{source.name}: a lock knows pictures by their paths without suffix, and two have the same; rename one"
        )
    return source


def tally(
    recipe: Recipe,
    source: Source,
    cells: Sequence[Cell],
    kept: Collection[int],
    device: torch.device,
    progress: Progress | None = None,
) -> dict[Cell, Tally]:
    """Make some cells of all images of a source. Images are decoded once, and pass through all cells together."""
    found = {cell: Tally() for cell in cells}
    ids, kept, done = known_ids(source), set(kept), 0
    what = "checking images" if list(cells) == [CLEAN] else "making cells"
    for positions, images in read_images(source, recipe.pixels_cut, device):
        for cell in cells:
            made = images if cell == CLEAN else recipe.make(images, cell, source.ids[positions])
            pairs = list(zip(ids[positions].tolist(), contents(made), strict=True))
            found[cell].digest += total(pairs)
            found[cell].kept.update(pair for pair in pairs if pair[0] in kept)
            found[cell].sizes.add(size_words(made.movedim(-3, -1).shape[1:]))
            done += len(positions)
            if progress is not None:
                progress(what, done, len(source) * len(cells))
    return found


def files_digest(source: Source) -> Digest | None:
    """The digest of the files as they are stored; None of what is no file of its own."""
    if not isinstance(source.images, StoredPictures):
        return None
    files = digest_files(source.images.root, source.images.names)
    return total((int(key), int(of).to_bytes(8, "little")) for key, of in zip(known_ids(source), files, strict=True))


def decoder_words() -> str:
    """What decodes pictures here."""
    codec = features.version("libjpeg_turbo")
    return f"Pillow {PIL.__version__}" + (f", libjpeg-turbo {codec}" if codec else "")
