"""A benchmark that is as hard as another one, of corruptions that look different to a network.

The first step of `scuff.design.find_dissimilar`, and all the work: classifiers are tested on the reference and on all
candidates at all severities, and extractors find the centre of each of these in feature space. Every cell of a test,
and the centres of every entry, are files of their own; what is chosen from them takes seconds, and may be chosen again
in the same folder with another size or tolerance.
"""

from __future__ import annotations

import io
import os
from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch

from scuff.data import Source
from scuff.design.transform_space.dissimilar import CANDIDATES, SIZE, TOLERANCE, find_dissimilar
from scuff.design.transform_space.groups import ROLES, Scan
from scuff.design.transform_space.result import Dissimilar
from scuff.engine import Engine, Progress, Run
from scuff.evaluation.choices import Models
from scuff.evaluation.plan import Cell
from scuff.evaluation.run import run_tests
from scuff.evaluation.tasks import split_tasks
from scuff.store import Store, read_columns, read_settings, save_settings
from scuff.studies.transform_space.array_files import load_arrays, save_arrays
from scuff.studies.transform_space.dissimilar_plan import (
    IMAGES,
    SAMPLES,
    SETTINGS,
    DissimilarPlan,
    centre_file,
    plan_dissimilar,
)
from scuff.studies.transform_space.encoders import Centres, load_centres, measure_centres
from scuff.suites import Suite

SHIFTS = "shifts.csv"
MEMBERS = "members.csv"  # severities, errors and distances of the chosen corruptions
DRAWN = "candidates.npz"  # errors and distances of all benchmarks that were drawn
SUITE = "suite.yaml"
NUMBERS = ("target", "error", "distance", "repetition", "spreads", "matched_sets", "sets", "all_sets")


def dissimilar(
    reference: str | Suite,
    candidates: str | Suite,
    data: str | Source,
    out: str | os.PathLike[str],
    *,
    models: Models,
    extractors: Models,
    only: Sequence[str] | None = None,
    test: str | Source | None = None,
    limit: int | None = None,
    images: int = IMAGES,
    samples: int = SAMPLES,
    sampling: str = "independent",
    size: int = SIZE,
    tolerance: float = TOLERANCE,
    benchmarks: int = CANDIDATES,
    spread: float | None = None,
    name: str = "dissimilar",
    seed: int = 0,
    precision: str | None = None,
    device: str | torch.device | None = None,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> Dissimilar:
    """Measure a reference and candidates, and choose those that make a benchmark dissimilar to the reference.

    Parameters
    ----------
    reference, candidates, only
        Suites; `only` names entries of the candidates. A reference has at least three severities, as far as it counts
        for its benchmark, unless `spread` is given; a candidate at least five, of which five are chosen.
    data, test, limit
        The images: transforms are shown by training images, errors are those on test images, `limit` of them evenly
        spread. `test` says where they are if not in the other split of the same address.
    out
        A folder, on this machine or anywhere that fsspec reaches. What is there is not computed again.
    models, extractors
        One classifier and one extractor per repetition, as in `scuff.evaluate`: networks that were trained without
        augmentation, no one the other. One of either will do for all repetitions.
    images, samples, sampling
        As in `scuff.studies.distances`. Every repetition has fresh images and draws.
    size, tolerance, benchmarks, spread
        As in `scuff.design.find_dissimilar`, where `benchmarks` are called candidates.
    name
        Of the new suite, in `suite.yaml`.
    precision
        By default "bfloat16" on a GPU and "float32" on a CPU.
    device, engine
        By default the GPU if there is one, and this machine: see `scuff.engine`.
    progress
        Called with (what is being done, images done, images to do).
    """
    plan = plan_dissimilar(
        reference,
        candidates,
        data,
        out,
        models=models,
        extractors=extractors,
        only=only,
        test=test,
        limit=limit,
        images=images,
        samples=samples,
        sampling=sampling,
        size=size,
        tolerance=tolerance,
        benchmarks=benchmarks,
        spread=spread,
        name=name,
        seed=seed,
        precision=precision,
        device=device,
        engine=engine,
    )
    return run_dissimilar(plan, progress=progress)


def run_dissimilar(plan: DissimilarPlan, *, progress: Progress | None = None) -> Dissimilar:
    """Carry out what `plan_dissimilar` has planned: measure what is missing, choose, and write the benchmark."""
    store, settings = plan.store, plan.settings
    if not store.exists(SETTINGS):  # an earlier choice stays until there is a new one
        save_settings(store, SETTINGS, settings)
    with Run(plan.engine, store, progress, "dissimilar") as run:
        _measure(run, plan)
    scans = [_scan(plan, number) for number in range(len(plan.repetitions))]
    found = find_dissimilar(
        scans,
        size=settings["size"],
        tolerance=settings["tolerance"],
        candidates=settings["benchmarks"],
        spread=settings["spread"],
        seed=settings["seed"],
        progress=progress,
    )
    suite = found.to_suite(settings["name"], [plan.suite("candidate")])
    save_settings(store, SETTINGS, settings)  # without a result, until all files are those of the new choice
    for number, scan in enumerate(scans):
        store.write(f"scans/{number}.csv", _with_distances(scan).to_csv(index=False).encode())
    store.write(SHIFTS, found.shifts.to_csv(index=False).encode())
    store.write(MEMBERS, found.picks.to_csv(index=False).encode())
    save_arrays(store, DRAWN, error=found.candidate_errors, distance=found.candidate_distances)
    store.write(SUITE, suite.to_yaml().encode())
    result = {key: getattr(found, key) for key in NUMBERS}
    save_settings(store, SETTINGS, {**settings, "result": result})
    return found


def read_dissimilar(directory: str | os.PathLike[str]) -> Dissimilar:
    """What `dissimilar` has found, from its folder."""
    store = Store(directory)
    if not store.exists(SETTINGS):
        raise ValueError(f"{store.root} is not the folder of a dissimilar benchmark: there is no {SETTINGS} in it")
    result = read_settings(store, SETTINGS).get("result")
    if result is None:
        raise ValueError(f"the search in {store.root} is not finished; run the same command again to go on")
    shifts, picks = (pd.read_csv(io.BytesIO(store.read(name))) for name in (SHIFTS, MEMBERS))
    drawn = load_arrays(store, DRAWN, ["error", "distance"])
    result = {key: tuple(value) if isinstance(value, list) else value for key, value in result.items()}
    members = tuple(dict.fromkeys(picks["corruption"]))
    arrays = {"candidate_errors": drawn["error"], "candidate_distances": drawn["distance"]}
    return Dissimilar(members, shifts, picks, **arrays, **result)


# --- the scan -------------------------------------------------------------------------------------------------------


def _measure(run: Run, plan: DissimilarPlan) -> None:
    """The tests and the centres that are missing."""
    settings, evaluations, missing = plan.settings, plan.evaluations.values(), plan.missing_centres()
    run.expect("test", sum(len(split_tasks(own, own.missing())) for own in evaluations))
    centres = len(plan.centre_cells())
    run.expect("centres", centres, centres - len(missing))
    for evaluation in evaluations:
        run_tests(run, evaluation, plan.device)
    suites = {role: plan.suite(role) for role in ROLES}
    work = Centres(plan.store, plan.encoders(), suites, settings["samples"], settings["sampling"])
    measure_centres(run, work, missing, plan.images_per_centre)


def _scan(plan: DissimilarPlan, repetition: int) -> Scan:
    """The errors of the classifier and the centres of the extractor of one repetition."""
    model, store = plan.repetitions[repetition][0], plan.store
    lines, files = [], []
    for role in ROLES:
        evaluation = plan.evaluations[role]
        for entry, levels in plan.levels(role).items():
            files.append(centre_file(repetition, role, entry))
            for level in levels:
                name = evaluation.rows_name(model, Cell(entry, level))
                label, prediction = read_columns(evaluation.store, name, ["label", "prediction"])
                error = float(np.mean(label != prediction))
                lines.append((role, f"{evaluation.suite.name}/{entry}", level or 0, error))
    table = pd.DataFrame(lines, columns=["role", "corruption", "severity", "error"])
    return Scan(table, load_centres(store, files).astype(float))


def _with_distances(scan: Scan) -> pd.DataFrame:
    """The table of a scan, and how far every candidate is from the nearest of the reference; nothing for the latter."""
    table = scan.table.assign(distance=np.nan)
    for corruption, distances in scan.distances().items():
        own = table.index[(table["role"] == "candidate") & (table["corruption"] == corruption)]
        table.loc[table.loc[own].sort_values("severity").index, "distance"] = distances
    return table


__all__ = ["dissimilar", "plan_dissimilar", "read_dissimilar", "run_dissimilar"]
