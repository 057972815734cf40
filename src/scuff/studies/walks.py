"""How hard every pair of corruptions is for a model, at all severities of both: what a walk of CCC finds its paths by.

A cell is a first corruption at one severity, followed by every other one at all severities; its file is there or not.
"""

import io
import json
import os
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from scuff.options import NUMBER, TEXT, WHOLE, Option
from scuff.studies.base import Plan, as_function, check_folder, complete_settings, open_engine_of, study
from scuff.studies.one_model import OneModelStudy
from scuff.studies.survival import IMAGES, MODEL
from scuff.vocabulary import Data, Only, Out

if TYPE_CHECKING:
    import pandas as pd
    import torch

    from scuff.engine import Advance, Run
    from scuff.engine.cost import StudyCost
    from scuff.store import Store
    from scuff.studies.calibration.bench import ClosedBench
    from scuff.suites import Suite

SUITE = "Suite of 20 levels, quarter severities. Default: cifar10-ccc, or imagenet-ccc above 64 pixels."
SOME = "Number of images, evenly spread."
STEP = "Step between severities: 0.25, 0.5 or 1. What is left out lies on straight lines between its neighbours."
STEPS = {0.25: 1, 0.5: 2, 1.0: 4}  # in levels
LEVELS = 20
MATRIX = "matrix.csv"
Pair = tuple[str, int]  # a first corruption and its level; ("", 0) is none


@study
class WalkStudy(OneModelStudy["pd.DataFrame"]):
    """Measure accuracies under every ordered pair of corruptions, at severities from 0 to 5 of both.

    Returns a table in percent, which is also `matrix.csv` in the folder: a row for each first corruption at a severity
    and each second one, a column for each severity of the second. It is what `walk: {matrix: FILE}` of a stream takes.
    """

    name = question = "walk"
    command = "stream calibrate"
    planner, reader = "scuff.studies.walks:plan_walks", "scuff.studies.walks:read_walks"

    model: Annotated[Any, Option(MODEL, TEXT, "MODEL", is_argument=True)]
    data: Annotated[Data, Option(IMAGES, TEXT, "SOURCE")]
    out: Out
    _: KW_ONLY
    suite: Annotated["Suite | str | None", Option(SUITE, TEXT, "SUITE")] = None
    limit: Annotated[int | None, Option(SOME, WHOLE, "N", flag="--images")] = 1000
    step: Annotated[float, Option(STEP, NUMBER, "SEVERITY")] = 0.5
    only: Only = None


calibrate_walk = as_function(WalkStudy, "calibrate_walk")


def plan_walks(study: WalkStudy) -> "Plan[pd.DataFrame]":
    """Open the model and the images, and find out which cells are left."""
    from scuff.store import Store
    from scuff.streams.pixels import WALKS, suite_for
    from scuff.suites import Suite, load_suite

    if study.step not in STEPS:
        raise ValueError(f"step must be {', '.join(map(str, STEPS))}, got {study.step}")
    engine, device = open_engine_of(study)
    bench = study.plan_bench(device)
    named = study.suite or suite_for(min(bench.source.read([0], bench.cut).shape[-2:]), WALKS)
    suite = named if isinstance(named, Suite) else load_suite(named)
    if suite.severities != LEVELS:
        raise ValueError(
            f"a walk needs a suite of {LEVELS} levels, quarter severities, as imagenet-ccc; got {suite.name}"
        )
    entries = list(suite.choose(study.only))
    if len(entries) < 2:
        raise ValueError(f"pairs need at least two corruptions, got {', '.join(entries)}")
    asked = {"suite": suite.to_dict(), "entries": entries, "step": study.step, "limit": study.limit, "seed": study.seed}
    about = {"model_name": bench.classifier.name, "data": bench.source.name, "bench": bench.settings()}
    settings = complete_settings(study, {**asked, **about}, device)
    store = Store(study.out)
    check_folder(study, store, settings)
    return Plan(study, settings, WalkWork(study, store, bench, suite, entries), store, engine)


@dataclass(frozen=True, eq=False)
class WalkWork:
    """The cells that are left."""

    study: WalkStudy
    store: "Store"
    bench: "ClosedBench"
    suite: "Suite"
    entries: list[str]

    @property
    def levels(self) -> list[int]:
        step = STEPS[self.study.step]
        return list(range(step, LEVELS + 1, step))

    def cells(self) -> list[Pair]:
        return [("", 0), *((entry, level) for entry in self.entries for level in self.levels)]

    def missing(self) -> list[Pair]:
        there = set(self.store.names("cells", ".json"))
        return [cell for cell in self.cells() if _file_of(cell) not in there]

    def run(self, run: "Run") -> None:
        """Measure the cells that are left; each is saved when it is finished."""
        import torch

        from scuff.engine import needs_of

        self.bench.decoding = partial(run.progress, "decoding")
        missing, needs = self.missing(), needs_of(torch.device(self.bench.device), cpus=None)
        run.expect("measure", len(self.cells()), len(self.cells()) - len(missing))
        measure = partial(_measure, self.bench, self.suite, self.entries, self.levels, self.study.seed)
        for cell, accuracies in run.cells("measure", measure, missing, needs=needs):
            self.store.write(_file_of(cell), json.dumps(accuracies).encode())

    def collect(self) -> "pd.DataFrame":
        """The matrix, which is written as a table."""
        import pandas as pd

        from scuff.readers import read_json

        files = [_file_of(cell) for cell in self.cells()]
        found = {
            cell: read_json(content, file, dict[str, list[float]])
            for cell, file, content in zip(self.cells(), files, self.store.read_each(files), strict=True)
        }
        clean = found["", 0]
        columns = [f"{level / 4:g}" for level in (0, *self.levels)]
        rows = []
        for first in self.entries:
            for second in self.entries:
                for level in (0, *self.levels) if second != first else ():
                    accuracies = clean[second] if level == 0 else found[first, level][second]
                    named = {"first": first, "second": second, "severity": level / 4}
                    rows.append(named | dict(zip(columns, accuracies, strict=True)))
        table = pd.DataFrame(rows)
        self.store.write(MATRIX, table.to_csv(index=False, float_format="%.2f").encode())
        return table

    def cost(self) -> "StudyCost":
        """A pass over the images for every second corruption at every severity."""
        import torch

        from scuff.engine.cost import IN_MEMORY, Estimate
        from scuff.evaluation import plan_evaluation
        from scuff.evaluation.cost import Tests

        estimate, missing, bench = Estimate(torch.device(self.bench.device)), self.missing(), self.bench
        if not missing:
            return estimate.total()
        cut: dict[str, Any] = {"resize": bench.cut.resize, "crop": bench.cut.crop} if bench.cut else {}
        model, only = bench.classifier.name, self.entries
        plan = plan_evaluation({model: bench.classifier}, self.suite, bench.source, IN_MEMORY, only=only, **cut)
        tests = Tests(plan, estimate)
        # Every severity of an entry takes about as long: each cell passes all others once at every severity.
        seconds_of = {cell.entry: partial(tests.seconds, cell, [model]) for cell in plan.cells if cell.severity == 1}
        for first, level in missing:
            others = [entry for entry in self.entries if entry != first]
            seconds = partial(lambda others: len(self.levels) * sum(seconds_of[entry]() for entry in others), others)
            estimate.add("measure", seconds, 100 * len(self.entries), f"{first}/{level}")
        return estimate.total()

    def describe(self) -> Iterator[str]:
        """Pairs, data and model."""
        cells, levels, pairs = self.cells(), len(self.levels), len(self.entries) * (len(self.entries) - 1)
        points = 1 + levels * len(self.entries) + levels**2 * pairs
        yield f"Pairs: {pairs} of {self.suite.name} at {levels} severities each: {points} accuracies"
        yield f"Cells: {len(cells)}, {len(cells) - len(self.missing())} measured already"
        yield f"Data: {len(self.bench.source)} images of {self.bench.source.name}"
        yield f"Model: {self.bench.classifier.name}, on {self.bench.device}"


def read_walks(directory: str | os.PathLike[str]) -> "pd.DataFrame":
    """The matrix that the folder of a finished study holds."""
    import pandas as pd

    from scuff.store import open_results

    store = open_results(directory, WalkStudy.file, "scuff stream calibrate")
    return pd.read_csv(io.BytesIO(store.read(MATRIX)))


def _file_of(cell: Pair) -> str:
    entry, level = cell
    return f"cells/{entry}-{level}.json" if entry else "cells/clean.json"


# --- what workers do --------------------------------------------------------------------------------------------------


def _measure(
    closed: "ClosedBench",
    suite: "Suite",
    entries: list[str],
    levels: list[int],
    seed: int,
    cell: Pair,
    advance: "Advance",
) -> dict[str, list[float]]:
    """Accuracies in percent by the second corruption: without it, and at each of its levels."""
    from scuff.door import corrupt

    bench, (first, level) = closed.open(), cell
    options: dict[str, Any] = {"suite": suite, "seed": seed, "check": False}
    seconds = [entry for entry in entries if entry != first]

    def distort(images: "torch.Tensor", ids: "torch.Tensor") -> "Iterator[torch.Tensor]":
        if first:
            images = corrupt(images, first, level, ids=ids, **options)
        yield images
        for place, entry in enumerate(seconds):
            advance(place, len(seconds))
            for at in levels:
                yield corrupt(images, entry, at, ids=ids, **options)

    means = [round(100 * float(mean), 4) for mean in bench.hits(distort).mean(0)]
    alone, count = means[0], len(levels)
    return {entry: [alone, *means[1 + k * count : 1 + (k + 1) * count]] for k, entry in enumerate(seconds)}
