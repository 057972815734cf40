"""Find out everything that an export will do, and refuse what makes no sense, before anything is written."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import scuff
from scuff.arrays import LABELS_KEYS, ArrayFile, open_arrays
from scuff.data import AnnotatedSource, Source, array_source, open_source
from scuff.data.folders import class_folders, number_classes
from scuff.data.open import forms
from scuff.data.readable import Progress, find_unreadable
from scuff.data.source import picture_source
from scuff.data.stored import StoredPictures
from scuff.door import resolve_still
from scuff.engine.journal import FOLDER
from scuff.export.annotations import AnnotatedJob, annotated_job
from scuff.export.arrays import UNPACKED, ArrayJob, plan_arrays, tidy, unpack
from scuff.export.folder import plan_folder
from scuff.export.images import ArrayImages, FolderImages, Name, PictureJob, check_names
from scuff.export.options import ExportOptions
from scuff.export.places import SETTINGS, check_places
from scuff.export.seals import Seals
from scuff.export.shards import SIZE, Contents, plan_shards
from scuff.export.work import Work
from scuff.locks import Lock
from scuff.locks.use import follow, open_lock
from scuff.locks.verdict import verify_clean
from scuff.options import takes_options
from scuff.pictures import SUFFIXES, Cut, find_pictures
from scuff.store import Settings, check_settings
from scuff.store.settings import NOTED_ONLY
from scuff.suites import Levels, Suite, load_suite

SAVES = ("png", "jpeg")
RESERVED = {FOLDER, "labels"}  # what the destination holds beside corruptions
LAYOUTS = {"folder": ("folder", "webdataset"), "array": ("npy", "npz", "webdataset")}  # the first is the default


@dataclass(frozen=True)
class Plan:
    """An export that is ready to run: what it will make, of what, and what is left to do."""

    settings: Settings
    is_new: bool
    names: Sequence[Name]
    job: PictureJob
    work: Work
    seals: Seals
    lock: Lock | None = None

    @property
    def destination(self) -> str:
        """Where it writes."""
        return self.job.store.root

    @property
    def images(self) -> int:
        """How many images the source has."""
        return len(self.names)

    @property
    def unreadable(self) -> Mapping[str, str]:
        """Pictures that are left out because they cannot be read, with the reasons."""
        return self.settings.get("unreadable", {})

    @property
    def levels(self) -> dict[str, Levels]:
        """Corruptions and severities."""
        return self.job.levels

    @property
    def missing(self) -> int:
        """Outputs that are still to be made."""
        return sum(left.outputs for left in self.work.left.values())

    @property
    def tasks(self) -> int:
        """Tasks that make them."""
        return sum(left.tasks for left in self.work.left.values())


def plan_of(asked: ExportOptions, progress: Progress | None = None) -> Plan:
    """Plan an export without writing anything. `progress` is told of images that are tried."""
    lock = open_lock(asked.lock)
    if lock is not None:
        asked = _follow(asked, lock)
    plan = _plan(asked, lock, {}, progress)
    images, work = plan.job.images, plan.work
    if not isinstance(images, FolderImages) or not (plan.tasks or work.left_out):
        return plan
    stored = StoredPictures(images.source, plan.names)
    unreadable = find_unreadable(stored, os.fspath(asked.source), asked.skip_unreadable, progress)
    return _plan(asked, lock, unreadable, progress) if unreadable else plan


def _plan(asked: ExportOptions, lock: Lock | None, unreadable: Mapping[str, str], progress: Progress | None) -> Plan:
    suite = asked.suite if isinstance(asked.suite, Suite) else load_suite(asked.suite)
    levels = suite.choose(asked.only, asked.severities, asked.validation)
    for entry, severities in levels.items():
        for severity in severities:
            resolve_still(entry, severity, suite=suite)  # names and parameters fail here, not in a worker
    for entry in RESERVED.intersection(levels):
        raise ValueError(f"{entry} in the destination is for other files; give the entry of that name another one")
    if asked.save not in SAVES:
        raise ValueError(f"save must be {' or '.join(SAVES)}, got {asked.save!r}")
    arrays = _open_data(asked.source)
    annotated = arrays if isinstance(arrays, AnnotatedSource) else None
    arrays = None if isinstance(arrays, AnnotatedSource) else arrays
    place = asked.source if annotated is None else annotated.images.root
    source, store = check_places(None if arrays else place, asked.destination)
    if arrays is None and _is_array(source):
        arrays = open_arrays(source)
    layout = _choose_layout(source, arrays is not None, asked.layout)
    shard = _choose_shard(layout, asked.shard)
    chosen = {"suite": suite, "levels": levels, "seed": asked.seed or 0, "save": asked.save, "store": store}
    cut, seals = (lock and lock.recipe.cut) or Cut(asked.resize, asked.crop), Seals(store)
    if lock is not None:
        has_labels = arrays is not None and arrays.labels is not None
        clean = _clean_source(source, arrays)
        verify_clean(lock, clean, has_labels=has_labels, progress=progress).raise_if_different()
    if arrays is None:
        origin, names, job, work = _plan_pictures(
            source, unreadable, layout, shard, cut, chosen, seals, annotated, in_colour=lock is not None
        )
    else:
        origin, names, job, work = _plan_array(arrays, layout, shard, cut, chosen, seals)
    settings = {
        "suite": suite.name,
        "suite_version": suite.version,
        "suite_content": suite.fingerprint(),
        "source": origin,
        "seed": asked.seed or 0,
        "resize": asked.resize,
        "crop": asked.crop,
        "save": asked.save,
        "layout": layout,
        "severities": _shared_levels(levels) if layout == "npy" else None,
        "shard": shard,
        "pictures": _names_fingerprint(names) if shard and arrays is None else None,
        **({} if lock is None else {"lock": lock.seal}),
        "scuff": scuff.__version__,
        **({"unreadable": dict(unreadable)} if unreadable else {}),
    }
    is_new = not check_settings(store, SETTINGS, settings, (*NOTED_ONLY, "unreadable"))
    plan = Plan(settings, is_new, names, job, work, seals, lock)
    if plan.is_new and (plan.missing < work.outputs or work.stale):
        raise ValueError(
            f"{asked.destination} holds files of the names that would be written, but no {SETTINGS} that says how they "
            "were made; choose another destination"
        )
    return plan


plan_export = takes_options(ExportOptions)(plan_of)

Planned = tuple[str, Sequence[Name], PictureJob, Work]  # what the source is known by, its images, what to do


def _follow(asked: ExportOptions, lock: Lock) -> ExportOptions:
    """The options as a lock has them."""
    if "://" in os.fspath(asked.destination):
        raise ValueError("with a lock, results are read back to be checked: give a destination on this machine")
    cut, save = lock.recipe.cut or Cut(), "jpeg" if lock.recipe.as_published else "png"
    implied = {"suite": lock.suite, "seed": lock.recipe.seed, "save": save, "resize": cut.resize, "crop": cut.crop}
    return follow(asked, lock, implied)


def _clean_source(source: Path, arrays: ArrayFile | None) -> Source:
    """What is corrupted, as a lock sees it; labels that are not known are 0."""
    if arrays is not None:
        none = np.zeros(len(arrays.images), np.int64)
        return array_source(str(arrays.path), arrays.images, none if arrays.labels is None else arrays.labels)
    folder, names = _pictures(source)
    return picture_source(str(source), StoredPictures(folder, names), np.zeros(len(names), np.int64), ("0",))


def _pictures(source: Path) -> tuple[Path, list[str]]:
    return (source, find_pictures(source)) if source.is_dir() else (source.parent, [source.name])


def _plan_pictures(
    source: Path,
    unreadable: Mapping[str, str],
    layout: str,
    shard: int | None,
    cut: Cut,
    chosen: dict,
    seals: Seals,
    annotated: AnnotatedSource | None,
    in_colour: bool,
) -> Planned:
    folder, names = _pictures(source) if annotated is None else (source, list(annotated.images.names))
    images = FolderImages(folder.absolute(), cut, in_colour or annotated is not None)
    if annotated is not None and (layout != "folder" or cut != Cut() or in_colour):
        raise ValueError(
            "annotated pictures keep their sizes, and become folders: leave out resize, crop, layout, lock"
        )
    job = PictureJob(images, **chosen) if annotated is None else annotated_job(annotated, images, chosen)
    if layout == "folder":
        names = [name for name in names if name not in unreadable]
        work = plan_folder(job, names, seals)
        if isinstance(job, AnnotatedJob):
            work = replace(work, finish=partial(job.finish, names))
    else:
        check_names(names, images.key, "")
        work = plan_shards(job, Contents(names, *_classes(folder, names), shard or SIZE), seals)
    return source.resolve().name, names, job, work


def _open_data(source: Any) -> ArrayFile | AnnotatedSource | None:
    """The images of labelled data, as `scuff evaluate` takes it: an object of Python, or an address that is no path."""
    if isinstance(source, (str, os.PathLike)):
        address = os.fspath(source)
        if Path(address).exists() or "://" in address or not (":" in address or address in forms()):
            return None
    opened = open_source(source)
    if not isinstance(opened, Source):
        raise ValueError(f"{opened.name} is corrupted already; give the clean images")
    if isinstance(opened, AnnotatedSource):
        return opened
    if opened.has_pictures:
        raise ValueError(f"{opened.name} holds pictures; give their folder itself as the source")
    array = opened.images.array
    return ArrayFile(Path(opened.name), array, opened.labels, labels_key=LABELS_KEYS[0], is_file=False)


def _plan_array(arrays: ArrayFile, layout: str, shard: int | None, cut: Cut, chosen: dict, seals: Seals) -> Planned:
    if cut != Cut():
        raise ValueError("resize and crop are for folders of pictures; bring the array itself to size")
    names, store = range(len(arrays.images)), chosen["store"]
    if not arrays.is_file and not store.is_local:
        raise ValueError(f"images of {arrays.path} reach the workers through the destination: give a folder of yours")
    packed = store.is_local and not (arrays.is_file and isinstance(arrays.images, np.memmap))
    unpacked = Path(store.address(UNPACKED)) if packed else None
    if unpacked and not arrays.is_file:
        images = ArrayImages(unpacked, unpacked, arrays.images)
    else:
        images = ArrayImages(arrays.path.absolute(), unpacked)
    if layout == "webdataset":
        job = PictureJob(images, **chosen)
        work = plan_shards(job, Contents(names, _class_indices(arrays), None, shard or SIZE), seals)
    else:
        keys: dict[str, Any] = {key: getattr(arrays, key) for key in ("labels", "images_key", "labels_key")}
        job = ArrayJob(images, **chosen, layout=layout, shape=arrays.images.shape, **keys)
        work = plan_arrays(job, seals)
    if packed and any(left.tasks for left in work.left.values()):
        assert images.unpacked is not None
        work = replace(work, prepare=partial(unpack, arrays, images.unpacked))
    return arrays.fingerprint(), names, job, replace(work, finish=partial(_finish_array, work, job))


def _finish_array(work: Work, job: PictureJob) -> list[int]:
    seals = work.finish()
    tidy(job.store, job.levels)
    return seals


def _classes(source: Path, names: list[str]) -> tuple[np.ndarray | None, tuple[str, ...] | None]:
    """Class indices and names, if every picture is in a class folder."""
    if not all("/" in name for name in names):
        return None, None
    return number_classes(class_folders(source, names))


def _class_indices(arrays: ArrayFile) -> np.ndarray | None:
    labels = arrays.labels
    if labels is not None and (labels.ndim != 1 or labels.dtype.kind not in "iu"):
        raise ValueError(
            f"{arrays.path}: the layout webdataset has a whole number per image, the index of its class; got labels of "
            f"{labels.dtype} and shape {labels.shape}; use the layout npz"
        )
    return labels


def _names_fingerprint(names: Sequence[str]) -> str:
    """A hash of all names: with another picture before it, a shard would hold others."""
    return hashlib.blake2b("\n".join(names).encode(errors="surrogateescape"), digest_size=8).hexdigest()


def _shared_levels(levels: dict[str, Levels]) -> list[int | None]:
    """The levels of all entries, which in this layout must be the same: one file of labels fits them all."""
    if len(set(levels.values())) > 1:
        raise ValueError("these entries differ in their severities, and cannot share labels.npy; use the layout npz")
    return list(next(iter(levels.values())))


def _is_array(source: Path) -> bool:
    return not source.is_dir() and source.suffix in (".npz", ".npy")


def _choose_layout(source: Path, is_array: bool, layout: str | None) -> str:
    if is_array:
        possible = LAYOUTS["array"]
    elif source.is_dir() or source.name.lower().endswith(SUFFIXES):
        possible = LAYOUTS["folder"]
    else:
        raise ValueError(
            f"expected a folder of pictures, a picture ({' '.join(SUFFIXES)}), a .npz or a .npy file, got {source}"
        )
    if layout is not None and layout not in possible:
        raise ValueError(f"{source} can be written in the layout {' or '.join(possible)}, not {layout!r}")
    return layout or possible[0]


def _choose_shard(layout: str, shard: int | None) -> int | None:
    if layout != "webdataset":
        if shard is not None:
            raise ValueError(f"only the layout webdataset has shards, got shard {shard} with the layout {layout}")
        return None
    if shard is not None and shard < 1:
        raise ValueError(f"shard must be at least 1 picture, got {shard}")
    return shard or SIZE
