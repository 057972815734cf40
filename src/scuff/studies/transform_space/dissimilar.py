"""A benchmark that is as hard as another one, of corruptions that look different to a network.

The first step of `scuff.design.find_dissimilar`, and most of the work: classifiers are tested on the reference and on
all candidates at all severities, and extractors measure the centre of each of these in feature space. Every cell of a
test, and the centres of every entry, are files of their own.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
import torch

from scuff.data import Source
from scuff.design.transform_space.dissimilar import Dissimilar, check_count, check_wanted, find_dissimilar
from scuff.design.transform_space.groups import LEAST_REFERENCE_LEVELS, LEVELS, ROLES, Scan
from scuff.engine import Progress, Run
from scuff.engine.cost import StudyCost
from scuff.evaluation import plan_evaluation
from scuff.evaluation.choices import open_models
from scuff.evaluation.cost import estimate
from scuff.evaluation.plan import Cell
from scuff.evaluation.plan import Plan as EvaluationPlan
from scuff.evaluation.run import run_tests
from scuff.evaluation.tasks import split_tasks
from scuff.models import Classifier
from scuff.store import (
    Settings,
    Store,
    open_results,
    read_arrays,
    read_columns,
    save_settings,
    write_arrays,
)
from scuff.studies.base import Plan, check_folder, complete_settings, open_engine_of
from scuff.studies.sources import left_out_of, open_test_source, tried
from scuff.studies.transform_space import cells
from scuff.studies.transform_space.cells import EncodingCell, images_per_centre, missing_cells
from scuff.studies.transform_space.cost import EncodingCost, few_images
from scuff.studies.transform_space.distances import choose_precision, open_images, open_suite
from scuff.studies.transform_space.features import open_extractor
from scuff.studies.transform_space.files import centre_file, save_table
from scuff.studies.transform_space.study import DissimilarStudy
from scuff.suites import Levels, Suite

SETTINGS = DissimilarStudy.file
SHIFTS = "shifts.csv"
MEMBERS = "members.csv"  # severities, errors and distances of the chosen corruptions
DRAWN = "candidates.npz"  # errors and distances of all benchmarks that were drawn
SUITE = "suite.yaml"
NUMBERS = ("target", "error", "distance", "repetition", "spreads", "matched_sets", "sets", "all_sets")


def plan_dissimilar(study: DissimilarStudy) -> Plan[Dissimilar]:
    """Open suites, networks and images, and find out which tests and centres are missing."""
    check_wanted(study.size, study.tolerance, study.benchmarks, study.spread, study.seed)
    engine, device = open_engine_of(study)
    store, precision = Store(study.out), choose_precision(study, device)
    suites = dict(zip(ROLES, map(open_suite, (study.reference, study.candidates)), strict=True))
    chosen = {"reference": suites["reference"].choose(), "candidate": suites["candidate"].choose(study.only)}
    _check_levels(suites, chosen, study.spread)
    replace(suites["candidate"], name=study.suite_name)  # refuses what no suite may be called
    check_count(len(chosen["candidate"]), study.size)
    train = open_images(study)
    test = tried(study, open_test_source(study.data, study.test, None))
    classifiers, extractors = open_models(study.models), open_models(study.extractors)
    for extractor in extractors.values():
        open_extractor(extractor, train)
    evaluations = {
        role: plan_evaluation(
            classifiers,
            suites[role],
            test,
            store.child(f"evaluation-{role}").root,
            only=list(chosen[role]),
            seed=study.seed,
            limit=study.limit,
            precision=precision,
        )
        for role in ROLES
    }
    for role, plan in evaluations.items():
        if plan.is_sequence:
            raise ValueError(f"the {role} {suites[role].name} holds sequences of frames; expected single corruptions")
    networks = {"models": classifiers, "extractors": extractors}
    settings = {
        "reference": suites["reference"].to_dict(),
        "candidates": suites["candidate"].to_dict(),
        "levels": {role: {entry: list(levels) for entry, levels in chosen[role].items()} for role in ROLES},
        "data": study.data if isinstance(study.data, str) else train.name,
        "data_fingerprint": train.fingerprint(),
        "test": study.test if study.test is None or isinstance(study.test, str) else test.name,
        "test_fingerprint": evaluations["reference"].settings["source_fingerprint"],
        "test_images": evaluations["reference"].settings["images"],
        **{
            key: [{"name": n, "fingerprint": m.fingerprint()} for n, m in each.items()]
            for key, each in networks.items()
        },
        "addresses": {key: [model.address for model in each.values()] for key, each in networks.items()},
        **{key: getattr(study, key) for key in ("images", "samples", "sampling", "size", "tolerance", "benchmarks")},
        "spread": study.spread,
        "name": study.suite_name,
        "seed": study.seed,
        "precision": precision,
        **left_out_of(train, test),
    }
    settings = json.loads(json.dumps(complete_settings(study, settings, device)))
    check_folder(study, store, settings)
    work = DissimilarWork(store, settings, suites, chosen, evaluations, _pair(classifiers, extractors), train, device)
    return Plan(study, settings, work, store, engine)


def _check_levels(suites: dict[str, Suite], chosen: dict[str, dict[str, Levels]], spread: float | None) -> None:
    """Refuse corruptions with too few severities."""
    needs = {"reference": LEAST_REFERENCE_LEVELS if spread is None else 0, "candidate": LEVELS}
    remedies = {
        "reference": "Say with spread (or --spread) by how much errors should differ",
        "candidate": "Leave them out",
    }
    for role, least in needs.items():
        few = [entry for entry, levels in chosen[role].items() if sum(level is not None for level in levels) < least]
        if few:
            raise ValueError(
                f"every {role} needs at least {least} severities; in {suites[role].name} these have fewer or none: "
                f"{', '.join(few)}. {remedies[role]}, or give them lists of values in a suite of your own"
            )


def _pair(classifiers: dict[str, Classifier], extractors: dict[str, Classifier]) -> list[tuple[str, Classifier]]:
    """The repetitions: classifiers and extractors two by two, or all of one kind with the only one of the other."""
    names, networks = list(classifiers), list(extractors.values())
    if len(names) != len(networks) and 1 not in (len(names), len(networks)):
        raise ValueError(
            f"every repetition has a model and an extractor: give as many of both, or one for all; got {len(names)} "
            f"models and {len(networks)} extractors"
        )
    count = max(len(names), len(networks))
    return [(names[number % len(names)], networks[number % len(networks)]) for number in range(count)]


@dataclass(eq=False)
class DissimilarWork:
    """Tests and centres, and the choice. A repetition has a classifier and an extractor of its own."""

    store: Store
    settings: Settings = field(repr=False)
    suites: dict[str, Suite]  # these three by role
    levels: dict[str, dict[str, Levels]]  # entries, and their severities
    evaluations: dict[str, EvaluationPlan]
    repetitions: list[tuple[str, Classifier]]  # the name of the classifier, and the extractor
    source: Source  # of training images
    device: torch.device
    progress: Progress | None = None  # of the run, for the choice that follows it

    def centre_cells(self) -> list[EncodingCell]:
        """All centres, of an entry at all severities at once; a suite is known by its role."""
        return [
            EncodingCell(entry, repetition, centre_file(repetition, role, entry), role, levels)
            for repetition in range(len(self.repetitions))
            for role in ROLES
            for entry, levels in self.levels[role].items()
        ]

    def missing_centres(self) -> list[EncodingCell]:
        """The centres that are not measured yet."""
        return missing_cells(self.store, "centres", self.centre_cells())

    def run(self, run: Run) -> None:
        """The tests and the centres that are missing."""
        if not self.store.exists(SETTINGS):  # an earlier choice stays until there is a new one
            save_settings(self.store, SETTINGS, self.settings)
        self.progress, settings, missing = run.progress, self.settings, self.missing_centres()
        run.expect("test", sum(len(split_tasks(plan, plan.missing())) for plan in self.evaluations.values()))
        centres = len(self.centre_cells())
        run.expect("centres", centres, centres - len(missing))
        for evaluation in self.evaluations.values():
            run_tests(run, evaluation, self.device)
        encoders = cells.Encoders.plan([network for _, network in self.repetitions], self.source, settings, self.device)
        cells.measure_centres(run, self.store, encoders, self.suites, missing, settings)

    def collect(self) -> Dissimilar:
        """Choose, and write the benchmark."""
        store, settings = self.store, self.settings
        scans = [self._scan(number) for number in range(len(self.repetitions))]
        chosen = find_dissimilar(
            scans,
            candidates=settings["benchmarks"],
            progress=self.progress,
            **{key: settings[key] for key in ("size", "tolerance", "spread", "seed")},
        )
        suite = chosen.to_suite(settings["name"], [self.suites["candidate"]])
        save_settings(store, SETTINGS, settings)  # without a result, until all files are those of the new choice
        for number, scan in enumerate(scans):
            save_table(store, f"scans/{number}.csv", _with_distances(scan))
        save_table(store, SHIFTS, chosen.shifts)
        save_table(store, MEMBERS, chosen.picks)
        write_arrays(store, DRAWN, {"error": chosen.candidate_errors, "distance": chosen.candidate_distances})
        store.write(SUITE, suite.to_yaml().encode())
        save_settings(store, SETTINGS, {**settings, "result": {key: getattr(chosen, key) for key in NUMBERS}})
        return chosen

    def _scan(self, repetition: int) -> Scan:
        """The errors of the classifier and the centres of the extractor of one repetition."""
        model, lines, files = self.repetitions[repetition][0], [], []
        for role in ROLES:
            evaluation = self.evaluations[role]
            for entry, levels in self.levels[role].items():
                files.append(centre_file(repetition, role, entry))
                for level in levels:
                    name = evaluation.rows_name(model, Cell(entry, level))
                    label, prediction = read_columns(evaluation.store, name, ["label", "prediction"])
                    error = float(np.mean(label != prediction))
                    lines.append((role, f"{evaluation.suite.name}/{entry}", level or 0, error))
        table = pd.DataFrame(lines, columns=["role", "corruption", "severity", "error"])
        return Scan(table, cells.load_centres(self.store, files).astype(float))

    def cost(self) -> StudyCost:
        """Tests, and centres, which are all measured with the first extractor."""
        extractor = self.repetitions[0][1]
        centres = EncodingCost(
            self.device,
            self.store,
            open_encoder=lambda: few_images(extractor, self.source, self.settings, self.device),
        )
        centres.add_centres(self.missing_centres(), self.suites, self.settings)
        tests = [estimate(plan, self.device, journals=self.store) for plan in self.evaluations.values()]
        return tests[0] + tests[1] + centres.total()

    def describe(self) -> Iterator[str]:
        """Both suites, tests and centres, and what to keep in mind."""
        for role, title in zip(ROLES, ("Reference", "Candidates"), strict=True):
            levels = self.levels[role]
            number = sum(level is not None for each in levels.values() for level in each)
            severities = f"{number} severities in all" if number else "without severities"
            yield f"{title}: {self.suites[role].name}, {len(levels)} corruptions, {severities}"
        yield f"Repetitions: {len(self.repetitions)}, on {self.device}; in {self.store.root}"
        missing = sum(len(models) for plan in self.evaluations.values() for models in plan.missing().values())
        tests = sum(len(plan.cells) * len(plan.classifiers) for plan in self.evaluations.values())
        yield f"Tests: {tests} of {self.settings['test_images']} images, {tests - missing} already done"
        centres, left = (sum(len(c.levels) for c in each) for each in (self.centre_cells(), self.missing_centres()))
        yield f"Centres: {centres} of {images_per_centre(self.settings)} images, {centres - left} already done"
        yield from (f"Note: {remark}" for remark in self.remarks())

    def remarks(self) -> list[str]:
        """What to know before trusting the result."""
        remarks, fingerprints = [], self.evaluations[ROLES[0]].fingerprints
        if any(fingerprints[name] == extractor.fingerprint() for name, extractor in self.repetitions):
            remarks.append("a network is both classifier and extractor; the authors take two that were trained apart")
        if len(self.repetitions) == 1:
            remarks.append("one repetition: the spread of shifts is unknown; the authors have ten")
        return remarks


def _with_distances(scan: Scan) -> pd.DataFrame:
    """The table of a scan with the distance of every candidate to the nearest of the reference."""
    table = scan.table.assign(distance=np.nan)
    for corruption, distances in scan.distances().items():
        lines = table.index[(table["role"] == "candidate") & (table["corruption"] == corruption)]
        table.loc[table.loc[lines].sort_values("severity").index, "distance"] = distances
    return table


def read_dissimilar(directory: str | os.PathLike[str]) -> Dissimilar:
    """The benchmark in a folder."""
    store = open_results(directory, SETTINGS, "a dissimilar benchmark")
    result = DissimilarStudy.read_settings(directory).get("result")
    if result is None:
        raise ValueError(f"the search in {store.root} is not finished; run the same command again to go on")
    shifts, picks = (pd.read_csv(io.BytesIO(store.read(name))) for name in (SHIFTS, MEMBERS))
    errors, distances = read_arrays(store, DRAWN, ["error", "distance"]).values()
    result = {key: tuple(result[key]) if isinstance(result[key], list) else result[key] for key in NUMBERS}
    members = tuple(dict.fromkeys(picks["corruption"]))
    return Dissimilar(members, shifts, picks, candidate_errors=errors, candidate_distances=distances, **result)
