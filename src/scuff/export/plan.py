"""Find out everything that an export will do, and refuse what makes no sense, before anything is written."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import scuff
from scuff.arrays import open_arrays
from scuff.door import resolve_still
from scuff.export.arrays import ArrayJob, plan_arrays, unpacked
from scuff.export.folder import FolderJob, check_names, plan_folder
from scuff.export.work import Work
from scuff.pictures import find_pictures
from scuff.store import Settings, Store, check_settings
from scuff.suites import Levels, Suite, load_suite

SAVES = ("png", "jpeg")
SETTINGS = "scuff.json"  # beside the files of an export: what they depend on


@dataclass(frozen=True)
class Plan:
    """An export that is ready to run: what it will make, of what, and what is left to do."""

    destination: Path
    settings: Settings
    is_new: bool
    images: int
    levels: dict[str, Levels]
    work: Work

    @property
    def missing(self) -> int:
        """Outputs that are still to be made."""
        return sum(task.outputs for task in self.work.tasks)


def plan_export(
    source: str | os.PathLike[str],
    destination: str | os.PathLike[str],
    suite: Suite | str | os.PathLike[str],
    *,
    only: Sequence[str] | None = None,
    severities: Sequence[int] | None = None,
    validation: bool = False,
    seed: int = 0,
    resize: int | None = None,
    crop: int | None = None,
    save: str = "png",
    layout: str | None = None,
) -> Plan:
    """Plan an export without writing anything; the arguments are those of `export`."""
    source, destination = Path(source), Path(destination)
    suite = suite if isinstance(suite, Suite) else load_suite(suite)
    levels = suite.choose(only, severities, validation)
    for entry, its_levels in levels.items():
        for severity in its_levels:
            resolve_still(entry, severity, suite=suite)  # names and parameters fail here, not in a worker
    if save not in SAVES:
        raise ValueError(f"save must be {' or '.join(SAVES)}, got {save!r}")
    _check_places(source, destination)
    layout = _choose_layout(source, layout)
    if layout == "folder":
        _check_sizes(resize, crop)
        names = find_pictures(source)
        check_names(names, save)
        images, origin = len(names), source.resolve().name
        work = plan_folder(FolderJob(source, destination, suite, levels, seed, resize, crop, save), names)
    else:
        if resize is not None or crop is not None:
            raise ValueError("resize and crop are for folders of pictures; bring the array itself to size")
        arrays = open_arrays(source)
        images, origin = len(arrays.images), arrays.fingerprint()
        mapped = source if isinstance(arrays.images, np.memmap) else unpacked(destination)
        keys = (arrays.labels, arrays.images_key, arrays.labels_key)
        job = ArrayJob(mapped, destination, layout, suite, levels, seed, save == "jpeg", *keys)
        work = plan_arrays(job, arrays)
    settings = {
        "suite": suite.name,
        "suite_version": suite.version,
        "suite_content": suite.fingerprint(),
        "source": origin,
        "seed": seed,
        "resize": resize,
        "crop": crop,
        "save": save,
        "layout": layout,
        "severities": _shared_levels(levels) if layout == "npy" else None,
        "scuff": scuff.__version__,
    }
    is_new = not check_settings(Store(destination), SETTINGS, settings)
    plan = Plan(destination, settings, is_new, images, levels, work)
    if plan.is_new and plan.missing < work.outputs:
        raise ValueError(
            f"{destination} holds files of the names that would be written, but no {SETTINGS} that says how they were "
            "made; choose another destination"
        )
    return plan


def _shared_levels(levels: dict[str, Levels]) -> list[int | None]:
    """The levels of all entries, which in this layout must be the same: one file of labels fits them all."""
    if len(set(levels.values())) > 1:
        raise ValueError("these entries differ in their severities, and cannot share labels.npy; use the layout npz")
    return list(next(iter(levels.values())))


def _choose_layout(source: Path, layout: str | None) -> str:
    if source.is_dir():
        possible = ("folder",)
    elif source.suffix in (".npz", ".npy"):
        possible = ("npy", "npz")
    else:
        raise ValueError(f"expected a folder of pictures, a .npz or a .npy file, got {source}")
    if layout is not None and layout not in possible:
        raise ValueError(f"{source} can be written in the layout {' or '.join(possible)}, not {layout!r}")
    return layout or possible[0]


def _check_places(source: Path, destination: Path) -> None:
    if not source.exists():
        raise ValueError(f"there is no file or folder {source}")
    if destination.exists() and not destination.is_dir():
        raise ValueError(f"the destination {destination} is a file; give a folder")
    here, there = source.resolve(), destination.resolve()
    if here == there or here in there.parents or there in here.parents:
        raise ValueError(
            f"source {source} and destination {destination} must not lie inside each other, or the results would "
            "become sources; choose a destination elsewhere"
        )


def _check_sizes(resize: int | None, crop: int | None) -> None:
    for name, size in (("resize", resize), ("crop", crop)):
        if size is not None and size < 1:
            raise ValueError(f"{name} must be at least 1 pixel, got {size}")
    if resize is not None and crop is not None and crop > resize:
        raise ValueError(f"a crop of {crop} does not fit into a shorter side of {resize}; crop at most {resize}")
