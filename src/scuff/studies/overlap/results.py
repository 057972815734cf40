"""What an overlap study leaves behind: accuracies, and which image was right in which cell."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import numpy as np

from scuff.evaluation.plan import Cell, Plan
from scuff.metrics.overlap.accuracies import CLEAN, Accuracies
from scuff.metrics.overlap.scores import overlaps
from scuff.store import Store, open_results, read_arrays, read_columns_of_each, write_arrays
from scuff.studies.overlap.study import OverlapStudy
from scuff.studies.trainings import TrainingCell
from scuff.suites.suite import suite_from_dict

SETTINGS = OverlapStudy.file
HITS = "hits.npz"  # packed bits: (seeds, models, tests, images / 8)
ACCURACIES = "accuracies.csv"
MATRIX = "overlap.csv"
PAIRS = "overlap-pairs.csv"  # with intervals


def name_in_tests(cell: TrainingCell) -> str:
    """What the model of a cell is called in the evaluation."""
    return f"{cell.name}-seed{cell.seed}"


def collect(store: Store, evaluation: Plan, cells: Sequence[TrainingCell], tested_on: Mapping[str, str]) -> None:
    """Gather the rows of all tests into one file of hits, a table of accuracies and the matrix of overlaps."""
    seeds = list(dict.fromkeys(cell.seed for cell in cells))
    rows = list(dict.fromkeys(cell.trained_on for cell in cells))
    tests = [Cell(CLEAN), *(Cell(entry) for entry in tested_on)]
    columns = [CLEAN, *tested_on.values()]
    hits = np.zeros((len(seeds), len(rows), len(columns), evaluation.settings["images"]), bool)
    for cell in cells:
        place = seeds.index(cell.seed), rows.index(cell.trained_on)
        files = [evaluation.rows_name(name_in_tests(cell), test) for test in tests]
        for column, (label, prediction) in enumerate(
            read_columns_of_each(evaluation.store, files, ["label", "prediction"])
        ):
            hits[(*place, column)] = label == prediction
    packed, about = np.packbits(hits, axis=3), {"seeds": seeds, "trained_on": rows, "tested_on": columns}
    write_arrays(store, HITS, {"hits": packed, "images": hits.shape[3], **about})
    accuracies = read_overlap(store.root)
    store.write(ACCURACIES, accuracies.to_frame().to_csv(index=False).encode())
    matrix = overlaps(accuracies)
    store.write(MATRIX, matrix.to_frame().to_csv().encode())
    store.write(PAIRS, matrix.pairs().to_csv(index=False).encode())


def read_overlap(directory: str | os.PathLike[str]) -> Accuracies:
    """The accuracies of a finished study, image by image."""
    store = open_results(directory, SETTINGS, "an overlap study")
    settings = OverlapStudy.read_settings(directory)
    unfinished = f"the overlap study in {store.root} is not finished; run the same command again to go on"
    if not store.exists(HITS):
        raise ValueError(unfinished)
    try:
        file = read_arrays(store, HITS)
        images = int(file["images"])
        hits = np.unpackbits(file["hits"], axis=3, count=images).astype(bool)
        trained_on, tested_on = (tuple(map(str, file[key])) for key in ("trained_on", "tested_on"))
        seeds = tuple(map(int, file["seeds"]))
        suites = tuple(suite_from_dict(content, SETTINGS) for content in settings["suites"])
        wanted = tuple(settings["seeds"])
    except (ValueError, KeyError) as error:
        raise ValueError(
            f"{store.root}/{HITS} or {SETTINGS} is damaged ({error}); delete {HITS} and run the study again"
        ) from error
    if seeds != wanted:
        raise ValueError(unfinished)
    return Accuracies(trained_on, tested_on, hits.mean(axis=3), seeds, hits, images, suites)
