"""Distances of schemes to corruptions: centres and schemes as cells, and the table of all of them.

Every corruption at every severity is a point, the mean of its features (`scuff.studies.transform_space.features`).
Every scheme is a cloud, of which only the distances to those points are kept while it passes by: a hundred thousand
augmentations never lie in memory at once. An entry's centres, and a scheme's distances, are files of their own.
"""

from __future__ import annotations

import io
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import torch

from scuff.augment import AugMix, NoAugmentation, Scheme, expand_schemes, open_scheme
from scuff.data import Source
from scuff.engine import Run
from scuff.engine.cost import StudyCost
from scuff.evaluation.choices import are_sequences
from scuff.metrics.transform_space.nearness import Distances, read_distances
from scuff.models.classifier import PRECISIONS
from scuff.store import Settings, Store, open_results, read_arrays, save_settings
from scuff.studies.base import Plan, check_folder, complete_settings, open_engine_of
from scuff.studies.cost import estimate_trainings
from scuff.studies.sources import left_out_of, tried
from scuff.studies.trainings import TrainingCell, find_trained, run_trainings
from scuff.studies.transform_space import cells
from scuff.studies.transform_space.cells import Encoders, EncodingCell, images_per_centre, missing_cells
from scuff.studies.transform_space.cost import estimate_encodings
from scuff.studies.transform_space.features import SAMPLINGS, open_extractor
from scuff.studies.transform_space.files import centre_file, save_table, short_name
from scuff.studies.transform_space.study import DissimilarStudy, DistancesStudy, DistanceStudy, FeatureStudy
from scuff.suites import Levels, Suite, load_suite
from scuff.training.images import open_training_source
from scuff.training.recipes import Recipe, find_recipe
from scuff.training.run import adapt, check_origin
from scuff.words import count

SETTINGS, DISTANCES = DistancesStudy.file, "distances.csv"
EXTRACTOR = "extractor"
EXTRACTOR_SEED = 1_000_000  # of a network that is trained for its features: no classifier of a study has it
MOST_NAMED = 6  # schemes that are named before a run; of more, the first ones


@dataclass(eq=False)
class DistanceWork:
    """Distances that are to be measured: a study of its own, or a part of one."""

    study: DistancesStudy
    store: Store
    settings: Settings = field(repr=False)
    suite: Suite
    levels: dict[str, Levels]  # by entry
    schemes: dict[str, Scheme]
    extractor: Any  # a model, or the file of the one that `training` will train
    training: TrainingCell | None
    source: Source  # of training images
    device: torch.device
    encoded: int = 0  # images that went through the network in this run

    kind: ClassVar[str] = "scheme"  # of the cells that follow the centres

    @property
    def resamplings(self) -> range:
        """The numbers of all resamplings."""
        return range(self.settings["resamplings"])

    def untrained(self) -> list[TrainingCell]:
        """The training of the extractor, if it is still to do."""
        if self.training is None or self.training.out in find_trained(self.store):
            return []
        return [self.training]

    def encoders(self) -> Encoders:
        """The network and the images of every resampling, which workers open."""
        return Encoders.plan([self.extractor] * len(self.resamplings), self.source, self.settings, self.device)

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

    def values(self, name: str) -> int:
        """Numbers in the file of a scheme: MSD and MMD to every cell."""
        return 2 * sum(map(len, self.levels.values()))

    def encodings(self) -> int:
        """Number of images that will go through the network."""
        centres = sum(len(cell.levels) for cell in self.missing_centres())
        draws = sum(self.draws(cell.name) for cell in self.missing_schemes())
        return images_per_centre(self.settings) * centres + self.settings["images"] * draws

    def run(self, run: Run) -> None:
        """Train the extractor if need be, and measure what is missing."""
        self.expect(run)
        run_trainings(run, self.untrained(), self.device)
        self.measure(run)

    def expect(self, run: Run, networks: int = 0, trained: int = 0) -> None:
        """Write the settings, and tell a run what is to come.

        That may be more than distances: `networks` to train besides the extractor, of which some are `trained`.
        """
        save_settings(self.store, SETTINGS, self.settings)
        extractors = 0 if self.training is None else 1
        run.expect("train", networks + extractors, trained + extractors - len(self.untrained()))
        cells_of = {"centres": (len(self.levels), self.missing_centres())}
        for kind, (each, missing) in (cells_of | {self.kind: (len(self.schemes), self.missing_schemes())}).items():
            run.expect(kind, len(self.resamplings) * each, len(self.resamplings) * each - len(missing))

    def measure(self, run: Run) -> None:
        """Measure missing centres, then schemes; a resampling that lacks a centre has no distances."""
        if self.untrained():
            return
        began, encoders, suites = time.perf_counter(), self.encoders(), {self.suite.name: self.suite}
        encoded = cells.measure_centres(run, self.store, encoders, suites, self.missing_centres(), self.settings)
        lacking = {cell.resampling for cell in self.missing_centres()}
        missing = [cell for cell in self.missing_schemes() if cell.resampling not in lacking]
        draws, images = {name: self.draws(name) for name in self.schemes}, self.settings["images"]
        centre_files = [self.centre_files(resampling) for resampling in self.resamplings]
        orders = self.kind == "order"
        work = cells.SchemeDistances(self.store, encoders, centre_files, self.schemes, draws, orders)
        encoded += cells.encode_cells(run, self.kind, work, missing, lambda cell: draws[cell.name] * images)
        self.encoded = encoded
        if encoded:
            self.settings["images_per_second"] = round(encoded / (time.perf_counter() - began))
            save_settings(self.store, SETTINGS, self.settings)

    def collect(self) -> Distances:
        """The table of all schemes of the folder that are finished."""
        settings, exists = DistancesStudy.read_settings(self.store.root), self.store.exists
        suite, resamplings = settings["suite"]["suite"], range(settings["resamplings"])
        columns = [(f"{suite}/{entry}", level) for entry, levels in settings["levels"].items() for level in levels]
        names = [name for name in settings["schemes"] if all(exists(scheme_file(r, name)) for r in resamplings)]
        files = [[scheme_file(r, name) for name in names] for r in resamplings]
        both = np.array(
            [[[*read_arrays(self.store, file, ["msd", "mmd"]).values()] for file in line] for line in files]
        )
        table = Distances(tuple(names), tuple(columns), both[:, :, 0], both[:, :, 1])
        save_table(self.store, DISTANCES, table.to_frame())
        return table

    def cost(self) -> StudyCost:
        """The training of the extractor, centres and schemes."""
        return estimate_trainings(self.untrained(), self.store) + estimate_encodings(self)

    def describe(self) -> Iterator[str]:
        """Corruptions, schemes, the network and its images."""
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
        yield f"To encode: {self.encodings():,} images; in {self.store.root}"


def is_constant(scheme: Scheme) -> bool:
    """Whether all draws of a scheme are the same."""
    return isinstance(scheme, NoAugmentation) or (isinstance(scheme, AugMix) and not scheme.operations)


def scheme_file(resampling: int, name: str) -> str:
    """The distances of a scheme."""
    return f"schemes/{resampling}/{short_name(name)}.npz"


def read_distance_study(directory: str | os.PathLike[str]) -> Distances:
    """The distances of a study, as far as it is finished."""
    store = open_results(directory, SETTINGS, "a study of distances", DISTANCES)
    return read_distances(io.BytesIO(store.read(DISTANCES)))


# --- planning ---------------------------------------------------------------------------------------------------------


def plan_distances(study: DistancesStudy, work: type[DistanceWork] = DistanceWork) -> Plan[Distances]:
    """Open everything, check it, and find out which centres and schemes are missing.

    Schemes of the folder stay, and must be the same where names are the same.
    """
    engine, device = open_engine_of(study)
    store, schemes, suite = Store(study.out), open_schemes(study.schemes), open_suite(study.suite)
    levels = suite.choose(study.only, study.severities)
    if are_sequences(suite, levels):
        raise ValueError(f"{suite.name} holds sequences of frames; distances are to single corruptions")
    counts = {"augmentations": study.augmentations, "resamplings": study.resamplings}
    source = open_images(study, **counts)
    extractor, training, origin = _choose_extractor(study, source, store, device)
    settings = {
        "data": study.data if isinstance(study.data, str) else source.name,
        "data_fingerprint": source.fingerprint(),
        "suite": suite.to_dict(),
        "levels": {entry: list(chosen) for entry, chosen in levels.items()},
        "schemes": {name: scheme.settings() for name, scheme in schemes.items()},
        "extractor": origin,
        "extractor_address": None if training is not None else extractor.address,
        "images": study.images,
        **counts,
        "samples": study.samples if study.sampling == "independent" else 1,
        "sampling": study.sampling,
        "seed": study.seed,
        "precision": choose_precision(study, device),
        **left_out_of(source),
    }
    settings = json.loads(json.dumps(complete_settings(study, settings, device)))
    before = check_folder(study, store, settings) or {"schemes": {}}
    for name, scheme in before["schemes"].items():
        if settings["schemes"].get(name, scheme) != scheme:
            raise ValueError(f"{store.root} holds another scheme called {name}; use another folder, or another name")
    settings["schemes"] = {**before["schemes"], **settings["schemes"]}
    settings |= {key: before[key] for key in ("images_per_second",) if key in before}
    planned = work(study, store, settings, suite, levels, schemes, extractor, training, source, device)
    return Plan(study, settings, planned, store, engine)


def open_suite(suite: str | Suite) -> Suite:
    """A suite by its name or file, or as it is."""
    return suite if isinstance(suite, Suite) else load_suite(suite)


def open_images(study: DistancesStudy | DissimilarStudy, **counts: int) -> Source:
    """The training images of a study; options of its features, and further counts, are checked first."""
    for key, value in {"images": study.images, "samples": study.samples, **counts}.items():
        if type(value) is not int or value < 1:
            raise ValueError(f"{key} must be a whole number of at least 1, got {value!r}")
    for key, choices in (("precision", (None, *PRECISIONS)), ("sampling", SAMPLINGS)):
        if getattr(study, key) not in choices:
            raise ValueError(f"{key} must be one of {', '.join(filter(None, choices))}, got {getattr(study, key)!r}")
    source = tried(study, open_training_source(study.data))
    if study.images > len(source):
        raise ValueError(f"{source.name} has {len(source)} images, fewer than the {study.images} to measure by")
    return source


def choose_precision(study: FeatureStudy[Any], device: torch.device) -> str:
    """The precision of features."""
    return study.precision or ("bfloat16" if device.type == "cuda" else "float32")


def recipe_of(study: DistanceStudy[Any]) -> Recipe:
    """The recipe, with the architecture and the epochs of the study."""
    if study.recipe is None:
        raise ValueError("give a model for the features, or a recipe to train one by")
    return adapt(find_recipe(study.recipe), study.architecture, study.epochs, False)


def _choose_extractor(
    study: DistancesStudy, source: Source, store: Store, device: torch.device
) -> tuple[Any, TrainingCell | None, dict[str, Any]]:
    """The network whose features are used: one that is given, or one that is trained without augmentation."""
    if study.extractor is not None:
        classifier = open_extractor(study.extractor, source)
        return classifier, None, {"name": classifier.name, "fingerprint": classifier.fingerprint()}
    recipe, file = recipe_of(study), f"models/{EXTRACTOR}.safetensors"
    path = store.address(file)
    cell = TrainingCell("none", EXTRACTOR, None, EXTRACTOR_SEED, recipe, None, path, source, str(device))
    if store.exists(file):
        check_origin(path, cell.origin())
    return path, cell, {"name": EXTRACTOR, "recipe": {"name": recipe.name, **recipe.settings()}}


def open_schemes(schemes: str | Sequence[str] | Mapping[str, Scheme | str]) -> dict[str, Scheme]:
    """Schemes by name: names as in "augmix" or "powerset-64", or a mapping from names to schemes of your own."""
    if not isinstance(schemes, Mapping):
        names = [schemes] if isinstance(schemes, str) else list(schemes)
        if not all(isinstance(name, str) for name in names):
            raise ValueError("schemes of your own need names: give them in a mapping, as in {'mine': scheme}")
        schemes = {name: name for name in expand_schemes(names)}
    opened = {str(name): open_scheme(scheme) if isinstance(scheme, str) else scheme for name, scheme in schemes.items()}
    for name, scheme in opened.items():
        if not isinstance(scheme, Scheme):
            raise ValueError(f"expected a scuff.augment.Scheme for {name}, got {type(scheme).__name__}")
    if not opened:
        raise ValueError("no augmentation scheme is given, as in augmix, autoaugment or powerset-64")
    return opened
