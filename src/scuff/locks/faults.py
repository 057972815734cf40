"""Why images are not those of a lock: the usual faults are tried, until one of them gives what is there.

Some show by the lock alone: images in another order, twice or missing, another severity, channels from back to front,
labels that are shifted. The others need the clean images: the cell is made again with the fault, and compared.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from PIL import Image

from scuff.data import Source
from scuff.data.stored import as_tensor
from scuff.locks.files import SeenCell
from scuff.locks.lock import Lock
from scuff.locks.recipe import Cell, Recipe, known_ids
from scuff.locks.sums import CHECK, check_of, content_of, label_digest, size_words, tag_of
from scuff.pictures import Cut, crop_centre, resize_shorter_side
from scuff.words import name_some

TRIED = 4  # images on which a fault must show
RARE = 0.05  # chance of a wrong word about the order of images
SEEDS = (0, 1, 2, 3, 42, 1234)
FILTERS = ("bilinear", "bicubic", "lanczos", "nearest", "box", "hamming")
USUAL_QUALITIES = (85, 75, 90, 95, 80, 100, 92, 70, 60, 50)
QUALITIES = tuple(dict.fromkeys((*USUAL_QUALITIES, *range(99, 9, -1))))
SUBSAMPLINGS = (-1, 0)  # Pillow's own, and none
OPEN = "none of the usual faults explains it"

Pairs = Sequence[tuple[int, bytes]]
Images = list[np.ndarray]


@dataclass(frozen=True)
class Fault:
    """What is wrong, in words, and in which cell."""

    words: str
    cell: Cell | None = None


def explain(lock: Lock, cell: Cell, seen: SeenCell, pairs: Pairs, source: Source | None) -> Fault:
    """Why a cell is not what it must be: the first of the usual faults that gives what is there."""
    for words in _reasons(lock, cell, seen, pairs, source):
        return Fault(words, cell)
    hint = "" if source is not None or cell == ("", None) else "; add --data, the clean images, to try more of them"
    return Fault(OPEN + hint, cell)


def _reasons(lock: Lock, cell: Cell, seen: SeenCell, pairs: Pairs, source: Source | None) -> Iterator[str]:
    yield from _of_the_set(lock, seen, pairs, source)
    size = size_words(seen.read(0).shape)
    if lock.size not in (None, size):
        yield f"images have another size: {size} instead of {lock.size}"
    locked = lock.cells.get(cell, lock.source.pixels)
    places = {tag_of(key): place for place, key in enumerate(seen.ids)}
    expected = {tag: check for tag, check in zip(lock.sample, locked.checks, strict=True) if tag in places}
    found = {tag: check_of(pairs[places[tag]][1]) for tag in expected}
    wrong = [tag for tag in expected if found[tag] != expected[tag]]
    checks = {check_of(content) for _, content in pairs}
    chance = (len(checks) / 64**CHECK) ** len(wrong)  # that checks of other images are among them
    if wrong and {*expected.values()} <= checks and chance < RARE:
        yield "images are in another order"
    images = {tag: seen.read(places[tag]) for tag in wrong[:TRIED]}
    if images and all(check_of(content_of(image[..., ::-1])) == expected[tag] for tag, image in images.items()):
        yield "channels are in the order BGR instead of RGB"
    if wrong:
        yield from _another_cell(lock, cell, found)
    yield from _twice(seen, pairs, {places[tag] for tag in wrong})
    if source is not None and cell in lock.cells:
        known = {key: position for position, key in enumerate(known_ids(source).tolist())}
        at = [places[tag] for tag in wrong[:TRIED]] or list(range(min(TRIED, len(seen.ids))))
        at = [place for place in at if seen.ids[place] in known]
        if at:
            yield from _by_making(lock, cell, source, [known[seen.ids[p]] for p in at], [seen.read(p) for p in at])
    if seen.has_jpegs and not lock.recipe.as_published:
        yield "files are JPEGs, which lose something, and the lock is of images without that"


# --- by the lock alone ------------------------------------------------------------------------------------------------


def _of_the_set(lock: Lock, seen: SeenCell, pairs: Pairs, source: Source | None) -> Iterator[str]:
    """Images that are missing, or too many."""
    count = len(seen.ids)
    if source is not None:
        absent = sorted({*known_ids(source).tolist()} - {*seen.ids})
        if absent and lock.known_by == "names":
            places = {key: position for position, key in enumerate(known_ids(source).tolist())}
            names = name_some([source.images.names[places[key]] for key in absent], 3)
            strangers = f", and {count + len(absent) - lock.images} have other names" * (
                count + len(absent) > lock.images
            )
            yield f"{len(absent)} of {lock.images} images are missing{strangers}: {names}"
    if count < lock.images:
        yield f"{lock.images - count} of {lock.images} images are missing"
    if count > lock.images:
        copies = count - len({content for _, content in pairs})
        twice = f", and {copies} of them are duplicates of others" if copies else ""
        yield f"there are {count - lock.images} images more than the {lock.images} of the lock{twice}"


def _twice(seen: SeenCell, pairs: Pairs, wrong: set[int]) -> Iterator[str]:
    """Images that are there twice, in the place of another."""
    first: dict[bytes, int] = {}
    for place, (_, content) in enumerate(pairs):
        other = first.setdefault(content, place)
        if other != place and (place in wrong or other in wrong or not wrong):
            names = [seen.names[k] if seen.names else f"image {k}" for k in (other, place)]
            yield f"{names[0]} and {names[1]} are duplicates: one of them is in the place of another image"


def _another_cell(lock: Lock, cell: Cell, found: Mapping[str, str]) -> Iterator[str]:
    for (entry, level), locked in lock.cells.items():
        checks = dict(zip(lock.sample, locked.checks, strict=True))
        if (entry, level) != cell and all(checks[tag] == check for tag, check in found.items()):
            yield _severity_words(cell, entry, level)


def _severity_words(cell: Cell, entry: str, level: int | None) -> str:
    if entry == cell[0]:
        return f"it is another severity: {level} instead of {cell[1]}"
    return f"it is another corruption: {entry}{'' if level is None else f' {level}'}"


def explain_labels(lock: Lock, ids: np.ndarray, labels: np.ndarray) -> str:
    """What is wrong with labels that are not those of a lock."""
    for by in (1, -1, 2, -2):
        if label_digest(ids, labels - by) == lock.source.labels:
            kind = "counted from 1 instead of 0" if by == 1 else f"too {'large' if by > 0 else 'small'} by {abs(by)}"
            return f"labels are {kind}"
        if label_digest(ids, np.roll(labels, by)) == lock.source.labels:
            side = "after" if by > 0 else "before"
            return f"labels are shifted by {abs(by)}: each image has that of the one {abs(by)} {side} it"
    return "labels differ from those of the lock"


# --- by making the cell again, with a fault ---------------------------------------------------------------------------


def _by_making(lock: Lock, cell: Cell, source: Source, positions: list[int], seen: Images) -> Iterator[str]:
    """Faults that can be told only by making the same images with them."""
    recipe, ids = lock.recipe, source.ids[positions]

    def clean(cut: Callable[[Image.Image], Image.Image] | None) -> Images:
        if not source.has_pictures:
            return [np.atleast_3d(np.asarray(source.images.array[p])) for p in positions]
        return [source.images.decode(p, cut) for p in positions]

    def made(images: Images, cell: Cell = cell, recipe: Recipe = recipe) -> Images:
        return [
            recipe.make(as_tensor(np.ascontiguousarray(image)[None]), cell, [key])[0].permute(1, 2, 0).numpy()
            for image, key in zip(images, ids, strict=False)
        ]

    originals = clean(recipe.cut)
    right = made(originals)
    if _same(right, seen):
        return  # then it is this machine that makes others than the lock
    for level in lock.suite.listed_levels(cell[0]):
        if level != cell[1] and _same(made(originals, (cell[0], level)), seen):
            yield _severity_words(cell, cell[0], level)
    backwards = made([image[..., ::-1] for image in originals])
    if _same(backwards, seen) or _same([image[..., ::-1] for image in backwards], seen):
        yield "images were corrupted with channels in the order BGR instead of RGB"
    for seed in SEEDS:
        if seed != recipe.seed and _same(made(originals, recipe=replace(recipe, seed=seed)), seen):
            yield f"they were made with the seed {seed} instead of {recipe.seed}"
    if source.has_pictures and recipe.cut is not None and recipe.cut.resize is not None:
        yield from _by_cuts(recipe.cut, lambda cut: _same(made(clean(cut)), seen))
    quality = _jpeg_quality(right, seen, lambda images: images, QUALITIES)
    if quality is not None:
        yield f"images went through an additional JPEG, of quality {quality}, after they were corrupted"
    quality = _jpeg_quality(originals, seen, made, USUAL_QUALITIES)
    if quality is not None:
        yield f"clean images went through an additional JPEG, of quality {quality}, before they were corrupted"
    yield from _rounding(right, seen)


def _same(ours: Images, theirs: Images) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))


def _by_cuts(cut: Cut, fits: Callable[[Callable[[Image.Image], Image.Image]], bool]) -> Iterator[str]:
    for name in FILTERS:
        if name != cut.filter and fits(replace(cut, filter=name)):
            yield f"pictures were resized with another filter: {name} instead of {cut.filter}"
    for name in (cut.filter, *(other for other in FILTERS if other != cut.filter)):
        for order in _crops_first(cut, name):
            if _tries(order, fits):
                how = "" if name == cut.filter else f", and with the filter {name}"
                yield f"pictures were cropped before they were resized{how}"
    if cut.keeps_ratio and _tries(replace(cut, keeps_ratio=False), fits):
        yield "pictures were squeezed to a square instead of keeping their ratio"


def _crops_first(cut: Cut, name: str) -> Iterator[Callable[[Image.Image], Image.Image]]:
    """The largest square, or one of either size, brought to the size that images must have."""
    size = cut.crop or cut.resize
    assert size is not None
    for side in (None, cut.resize, size):
        yield lambda picture, side=side: resize_shorter_side(  # type: ignore[misc]
            crop_centre(picture, side or min(picture.size)), size, name
        )
    yield lambda picture: crop_centre(
        resize_shorter_side(crop_centre(picture, min(picture.size)), cut.resize or size, name), size
    )


def _tries(order: Callable[[Image.Image], Image.Image], fits: Callable[..., bool]) -> bool:
    try:
        return fits(order)
    except ValueError:  # a picture is too small to be cropped first
        return False


def _jpeg_quality(
    before: Images, seen: Images, then: Callable[[Images], Images], qualities: Sequence[int]
) -> int | None:
    """The quality of a JPEG that makes of images what is seen; the first image tells which are worth trying on all."""
    for quality in qualities:
        for subsampling in SUBSAMPLINGS:
            for images in (before[:1], before):
                made = then([_through_jpeg(image, quality, subsampling) for image in images])
                if not _same(made, seen[: len(images)]):
                    break
            else:
                return quality
    return None


def _through_jpeg(image: np.ndarray, quality: int, subsampling: int) -> np.ndarray:
    file = io.BytesIO()
    picture = Image.fromarray(image[..., 0] if image.shape[-1] == 1 else np.ascontiguousarray(image))
    picture.save(file, "JPEG", quality=quality, subsampling=subsampling)
    return np.atleast_3d(np.asarray(Image.open(file)))


def _rounding(ours: Images, theirs: Images) -> Iterator[str]:
    if all(a.shape == b.shape for a, b in zip(ours, theirs, strict=True)):
        apart = np.concatenate([np.abs(a.astype(int) - b).ravel() for a, b in zip(ours, theirs, strict=True)])
        if apart.max() == 1:
            share = f"{(apart > 0).mean():.1%}".replace("%", " %")
            yield f"it is the rounding of floats: {share} of all bytes are off, each by one grey level"
