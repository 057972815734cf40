"""What a study of MSCR leaves behind: accuracies by model, training noise, test noise and run."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from scuff.metrics.norms import parse_norm
from scuff.metrics.separation.robust_accuracies import RobustAccuracies, read_robust_accuracies
from scuff.store import Store, open_results, read_arrays, write_arrays
from scuff.studies.separation.cells import MscrCell
from scuff.studies.separation.study import MscrStudy

SETTINGS = MscrStudy.file
ACCURACIES = "accuracies.csv"
RIGHT = "right.npz"  # of one run: shares of right copies, float16 (copies, models, train noise, test noise, points)


def collect(store: Store, settings: Mapping[str, Any]) -> RobustAccuracies:
    """Gather the files of all cells into a table of accuracies, and write it.

    It holds the models of which a run is finished, and the runs that are finished for all of these.
    """
    existing = set(store.names("cells", ".npz"))
    copies, train_noise, test_noise = (tuple(settings[key]) for key in ("copies", "train_noise", "test_noise"))

    def is_finished(model: str, run: int) -> bool:
        cells = (MscrCell(model, k, radius, run) for k in copies for radius in train_noise)
        return all(cell.file in existing for cell in cells)

    finished = {model: [run for run in settings["runs"] if is_finished(model, run)] for model in settings["models"]}
    models = tuple(model for model, done in finished.items() if done)
    runs = tuple(run for run in settings["runs"] if models and all(run in finished[model] for model in models))
    if not runs:
        raise ValueError(f"no run of the study in {store.root} is finished for all models; run the same command again")
    shape = tuple(map(len, (copies, models, train_noise, test_noise)))
    values = np.empty((*shape, len(runs)))
    for place, run in enumerate(runs):
        cells = [MscrCell(model, k, radius, run) for k in copies for model in models for radius in train_noise]
        right = np.stack([_read_right(store, cell) for cell in cells])
        right = right.reshape(*shape, -1)  # how many copies of every point
        drawn = np.array([[k if radius else 1 for radius in test_noise] for k in copies])[:, None, None, :]
        values[..., place] = right.sum(axis=-1) / (right.shape[-1] * drawn)
    shares = right / drawn[..., None] if len(runs) == 1 else None
    radius, norm = settings["epsilon_min"], parse_norm(settings["norm"])
    accuracies = RobustAccuracies(models, train_noise, test_noise, values, radius, copies, runs, shares, norm)
    if shares is not None:
        write_arrays(store, RIGHT, {"right": shares.astype(np.float16)}, is_compressed=True)
    store.write(ACCURACIES, accuracies.to_frame().to_csv(index=False).encode())
    return accuracies


def _read_right(store: Store, cell: MscrCell) -> np.ndarray:
    """How many copies of each test point were recognised: (test noise, points)."""
    return read_arrays(store, cell.file, ["right"])["right"].astype(np.int64)


def read_mscr(directory: str | os.PathLike[str]) -> RobustAccuracies:
    """The accuracies of a study, as far as it is finished."""
    store = open_results(directory, SETTINGS, "a study of MSCR", ACCURACIES)
    settings = MscrStudy.read_settings(directory)
    try:
        table = pd.read_csv(io.BytesIO(store.read(ACCURACIES)))
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise ValueError(f"{store.root}/{ACCURACIES} is damaged ({error}); run the same command again") from error
    accuracies = read_robust_accuracies(table, epsilon_min=settings["epsilon_min"], norm=parse_norm(settings["norm"]))
    if len(accuracies.runs) > 1 or not store.exists(RIGHT):
        return accuracies
    return replace(accuracies, right=read_arrays(store, RIGHT, ["right"])["right"].astype(float))
