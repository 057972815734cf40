"""Trials: networks trained by one recipe on differently treated images, and their errors on a suite."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

import scuff
from scuff.data import Source
from scuff.evaluation import plan_evaluation, run_plan
from scuff.evaluation.plan import Plan
from scuff.evaluation.runner import Progress
from scuff.metrics.accuracies import CLEAN
from scuff.store import Store, read_columns
from scuff.studies.cells import TrainingCell, run_trainings
from scuff.studies.sources import check_classes, open_test_source
from scuff.studies.transform_space_plan import short_name
from scuff.suites import Suite
from scuff.training.images import open_training_source
from scuff.training.recipes import Recipe
from scuff.training.run import check_origin
from scuff.training.treatment import Treatment

TESTED = 32  # networks that are tested together, on the same corrupted images: more would fill the memory


@dataclass(frozen=True)
class Trials:
    """Trainings and tests that are ready to run."""

    out: Path
    cells: list[TrainingCell]
    suite: Suite
    only: Sequence[str] | None
    severities: Sequence[int] | None
    test: Source
    test_address: str | None  # where it is not the other split of the training images
    limit: int | None
    device: torch.device
    recipe: Recipe

    def missing(self) -> list[TrainingCell]:
        """The networks that are not trained yet."""
        return [cell for cell in self.cells if not cell.out.exists()]

    def settings(self) -> dict[str, Any]:
        """What errors depend on besides the treatments."""
        return {
            "recipe": {"name": self.recipe.name, **self.recipe.settings()},
            "test": self.test_address,
            "test_fingerprint": self.test.fingerprint(),
            "limit": self.limit,
            "seeds": sorted({cell.seed for cell in self.cells}),
            "scuff": scuff.__version__,
        }

    def evaluation(self, cells: Sequence[TrainingCell]) -> Plan:
        """The plan of the tests of some networks, which must be there."""
        return plan_evaluation(
            {cell.name: cell.out for cell in cells},
            self.suite,
            self.test,
            self.out / "evaluation",
            only=self.only,
            severities=self.severities,
            limit=self.limit,
            precision=self.recipe.precision if self.device.type == "cuda" else "float32",
        )


def plan_trials(
    treatments: Mapping[str, Treatment | None],
    suite: Suite,
    data: str | Source,
    out: str | os.PathLike[str],
    *,
    recipe: Recipe,
    seeds: Sequence[int],
    only: Sequence[str] | None = None,
    severities: Sequence[int] | None = None,
    test: str | Source | None = None,
    limit: int | None = None,
    device: torch.device,
) -> Trials:
    """Plan one training per treatment and seed, and tests of all of them on clean images and all cells of a suite."""
    source = open_training_source(data)
    tested = open_test_source(data, test, None)
    check_classes(source, tested)
    cells = [
        TrainingCell(
            trained_on=name,
            name=f"{short_name(name)}-seed{seed}",
            treatment=treatment,
            seed=seed,
            recipe=recipe,
            start=None,
            out=Path(out) / "models" / f"seed-{seed}" / f"{short_name(name)}.safetensors",
            source=source,
            device=str(device),
        )
        for seed in seeds
        for name, treatment in treatments.items()
    ]
    for cell in cells:
        if cell.out.exists():
            check_origin(cell.out, cell.origin())
    address = test if test is None or isinstance(test, str) else tested.name
    return Trials(Path(out), cells, suite, only, severities, tested, address, limit, device, recipe)


def run_trials(trials: Trials, *, processes: int | None = None, progress: Progress) -> pd.DataFrame:
    """Train and test what is missing, and return scheme, seed, corruption, severity and error, one line per cell.

    Clean images are a corruption called clean, at severity 0.
    """
    missing = trials.missing()
    run_trainings(missing, trials.device, processes, progress, 0, sum(cell.images for cell in missing))
    lines = []
    for start in range(0, len(trials.cells), TESTED):
        cells = trials.cells[start : start + TESTED]
        plan = trials.evaluation(cells)
        run_plan(plan, device=trials.device, compile=trials.recipe.compile, progress=progress)
        for cell in cells:
            for tested in plan.cells:
                name = plan.rows_name(cell.name, tested)
                label, prediction = read_columns(plan.store, name, ["label", "prediction"])
                corruption = CLEAN if tested.entry == CLEAN else f"{trials.suite.name}/{tested.entry}"
                wrong = float(np.mean(label != prediction))
                lines.append((cell.trained_on, cell.seed, corruption, tested.severity or 0, wrong))
    return pd.DataFrame(lines, columns=["scheme", "seed", "corruption", "severity", "error"])


def join_tables(store: Store, name: str, found: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """What a table of the folder said before, with what was found now in place of lines with the same keys."""
    if not store.exists(name):
        return found
    try:
        before = pd.read_csv(io.BytesIO(store.read(name)), dtype={"scheme": str}, keep_default_na=False)
        known = pd.MultiIndex.from_frame(before[list(keys)])
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError, KeyError) as error:
        raise ValueError(f"{store.root}/{name} is damaged ({error}); delete it and run the same again") from error
    is_old = ~known.isin(pd.MultiIndex.from_frame(found[list(keys)]))
    return pd.concat([before[is_old], found], ignore_index=True)
