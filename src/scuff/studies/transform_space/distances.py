"""Distances of schemes to corruptions: centres and schemes as cells, and the table of all of them.

Every corruption at every severity is a point, the mean of its features (`scuff.studies.transform_space.features`).
Every scheme is a cloud, of which only the distances to those points are kept while it passes by: a hundred thousand
augmentations never lie in memory at once. An entry's centres, and a scheme's distances, are files of their own.
"""

from __future__ import annotations

import io
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict

import numpy as np
import torch

from scuff.augment import AugMix, NoAugmentation, Scheme
from scuff.data import Source
from scuff.engine import Run
from scuff.engine.cost import StudyCost
from scuff.metrics.transform_space.nearness import Distances, read_distances
from scuff.store import Settings, Store, read_arrays, read_settings, save_settings
from scuff.studies.cells import TrainingCell, find_trained
from scuff.studies.trainings import run_trainings
from scuff.studies.transform_space import cells
from scuff.studies.transform_space.cells import Encoders, EncodingCell, images_per_centre, missing_cells
from scuff.studies.transform_space.cost import estimate_distances
from scuff.studies.transform_space.files import centre_file, save_table, scheme_file
from scuff.studies.transform_space.study import DistancesStudy
from scuff.suites import Levels, Suite
from scuff.words import count

SETTINGS, DISTANCES = DistancesStudy.file, "distances.csv"
MOST_NAMED = 6  # schemes that are named before a run; of more, the first ones


def is_constant(scheme: Scheme) -> bool:
    """Whether all draws of a scheme are the same."""
    return isinstance(scheme, NoAugmentation) or (isinstance(scheme, AugMix) and not scheme.operations)


@dataclass(eq=False)
class DistanceWork:
    """Distances that are to be measured: a study of its own, or a part of one."""

    store: Store
    settings: Settings = field(repr=False)
    suite: Suite
    levels: dict[str, Levels]  # by entry
    only: Sequence[str] | None
    severities: Sequence[int] | None
    schemes: dict[str, Scheme]
    extractor: Any  # a model, or the file of the one that `training` will train
    training: TrainingCell | None
    source: Source  # of training images
    device: torch.device
    encoded: int = 0  # images that went through the network in this run

    @property
    def resamplings(self) -> range:
        """The numbers of all resamplings."""
        return range(self.settings["resamplings"])

    def untrained(self) -> list[TrainingCell]:
        """The training of the extractor, if it is still to do."""
        is_done = self.training is None or self.training.out in find_trained(self.store)
        return [] if is_done else [self.training]

    def encoders(self) -> Encoders:
        """The network and the images of every resampling, which workers open."""
        return cells.plan_encoders([self.extractor] * len(self.resamplings), self.source, self.settings, self.device)

    def centre_files(self, resampling: int) -> list[str]:
        """The files of the centres of all entries."""
        return [centre_file(resampling, entry) for entry in self.levels]

    def missing_centres(self) -> list[EncodingCell]:
        """The entries whose centres are not measured yet."""
        each = [(r, *entry) for r in self.resamplings for entry in self.levels.items()]
        centres = [EncodingCell(entry, r, centre_file(r, entry), self.suite.name, levels) for r, entry, levels in each]
        return missing_cells(self.store, "centres", centres)

    def missing_schemes(self) -> list[EncodingCell]:
        """The schemes whose distances are not measured yet."""
        schemes = [EncodingCell(name, r, scheme_file(r, name)) for r in self.resamplings for name in self.schemes]
        return missing_cells(self.store, "schemes", schemes)

    def draws(self, name: str) -> int:
        """Number of augmentations of a scheme to encode: one is enough where all are the same."""
        return 1 if is_constant(self.schemes[name]) else self.settings["augmentations"]

    def encodings(self) -> int:
        """Number of images that will go through the network."""
        centres = sum(len(cell.levels) for cell in self.missing_centres())
        draws = sum(self.draws(cell.name) for cell in self.missing_schemes())
        return images_per_centre(self.settings) * centres + self.settings["images"] * draws

    def run(self, run: Run) -> None:
        """Train the extractor if need be, and measure what is missing."""
        self.expect(run)
        self.train_extractor(run)
        self.measure(run)

    def expect(self, run: Run, networks: int = 0, trained: int = 0) -> None:
        """Write the settings, and tell a run what is to come.

        That may be more than distances: `networks` to train besides the extractor, of which some are `trained`.
        """
        save_settings(self.store, SETTINGS, self.settings)
        extractors = 0 if self.training is None else 1
        run.expect("train", networks + extractors, trained + extractors - len(self.untrained()))
        parts = {"centres": (self.levels, self.missing_centres()), "scheme": (self.schemes, self.missing_schemes())}
        for kind, (each, missing) in parts.items():
            total = len(self.resamplings) * len(each)  # type: ignore[arg-type]
            run.expect(kind, total, total - len(missing))

    def train_extractor(self, run: Run) -> None:
        """Train the network whose features are used, if it is ours to train and not there yet."""
        if self.untrained():
            run_trainings(run, self.untrained(), self.device)

    def measure(self, run: Run) -> None:
        """Measure missing centres, then schemes; a resampling that lacks a centre has no distances."""
        began, encoders = time.perf_counter(), self.encoders()
        self.encoded = self.measure_centres(run, encoders)
        lacking = {cell.resampling for cell in self.missing_centres()}
        draws, images = {name: self.draws(name) for name in self.schemes}, self.settings["images"]
        centre_files = [self.centre_files(resampling) for resampling in self.resamplings]
        work = cells.SchemeDistances(self.store, encoders, centre_files, self.schemes, draws)
        missing = [cell for cell in self.missing_schemes() if cell.resampling not in lacking]
        self.encoded += cells.encode_cells(run, "scheme", work, missing, lambda cell: draws[cell.name] * images)
        if self.encoded:
            self.settings["images_per_second"] = round(self.encoded / (time.perf_counter() - began))
            save_settings(self.store, SETTINGS, self.settings)

    def measure_centres(self, run: Run, encoders: Encoders) -> int:
        """Measure the missing centres; returns the number of images encoded."""
        suites = {self.suite.name: self.suite}
        return cells.measure_centres(run, self.store, encoders, suites, self.missing_centres(), self.settings)

    def collect(self) -> Distances:
        """The table of all schemes of the folder that are finished."""
        return collect_distances(self.store)

    def cost(self) -> StudyCost:
        """The training of the extractor, centres and schemes."""
        return estimate_distances(self)

    def describe(self, encodings: int | None = None) -> Iterator[str]:
        """Corruptions, schemes, the network and its images; `encodings` where a study needs fewer than distances do."""
        settings, names = self.settings, list(self.schemes)
        number = sum(map(len, self.levels.values()))
        yield f"Corruptions: {len(self.levels)} of {self.suite.name}, {count(number, 'cell')}"
        named = names if len(names) <= MOST_NAMED else [*names[: MOST_NAMED - 1], "..."]
        yield f"Schemes: {len(names)} ({', '.join(named)})"
        trained = ", trained first" if self.untrained() else ""
        yield f"Features: {settings['extractor']['name']}{trained}, on {self.device} in {settings['precision']}"
        samples = "one per image" if settings["sampling"] == "joint" else settings["samples"]
        yield (
            f"Images: {settings['images']} of {settings['data']}; draws: {samples} of a corruption, "
            f"{settings['augmentations']} of a scheme; {count(settings['resamplings'], 'resampling')}"
        )
        yield f"To encode: {self.encodings() if encodings is None else encodings:,} images; in {self.store.root}"


# --- results ----------------------------------------------------------------------------------------------------------


class Kept(TypedDict):
    """Settings from which results are gathered."""

    suite: dict[str, Any]
    resamplings: int
    levels: dict[str, list[int | None]]
    schemes: dict[str, Any]


def collect_distances(store: Store) -> Distances:
    """Gather the files of all schemes that are finished into one table, and write it."""
    settings = read_settings(store, SETTINGS, Kept)
    suite, resamplings = settings["suite"]["suite"], range(settings["resamplings"])
    columns = [(f"{suite}/{entry}", level) for entry, levels in settings["levels"].items() for level in levels]
    names = [name for name in settings["schemes"] if all(store.exists(scheme_file(r, name)) for r in resamplings)]
    kinds = ("msd", "mmd")
    arrays = [[read_arrays(store, scheme_file(r, name), kinds) for name in names] for r in resamplings]
    msd, mmd = (np.array([[scheme[kind] for scheme in line] for line in arrays]) for kind in kinds)
    table = Distances(tuple(names), tuple(columns), msd, mmd)
    save_table(store, DISTANCES, table.to_frame())
    return table


def read_distance_study(directory: str | os.PathLike[str]) -> Distances:
    """The distances of a study, as far as it is finished."""
    store = Store(directory)
    if not store.exists(SETTINGS):
        raise ValueError(f"{store.root} is not the folder of a study of distances: there is no {SETTINGS} in it")
    if not store.exists(DISTANCES):
        raise ValueError(f"the study in {store.root} is not finished; run the same command again to go on")
    return read_distances(io.BytesIO(store.read(DISTANCES)))
