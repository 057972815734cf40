"""What a calibration has to do: `scuff.design.calibrate` for every entry, bound to a model and images.

At every severity the model sees the same images, and every image keeps its other draws (where its rain falls, which way
it is turned), so that robustness changes with the severity and with nothing else.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from scuff.corruptions import get
from scuff.design.calibration.calibrate import Calibration, calibrate
from scuff.door import corrupt
from scuff.engine import Advance, Run, needs_of
from scuff.engine.cost import IN_MEMORY, Estimate, StudyCost
from scuff.evaluation import plan_evaluation
from scuff.evaluation.cost import Tests
from scuff.ranges import Range
from scuff.store import Settings, Store, save_settings
from scuff.studies.calibration.bench import ClosedBench
from scuff.studies.calibration.entries import Row, resized, with_ranges
from scuff.studies.calibration.limits import severity_limits
from scuff.suites import Suite

USUAL_PASSES, MOST_PASSES = 7, 10  # over the images, for the search of an entry; it seldom needs more
BYTES_PER_ENTRY = 1000  # of the file that keeps finished entries


@dataclass(eq=False)
class Kept:
    """Finished entries; they are written to a file beside the suite's, if it has one, after every entry."""

    settings: Settings
    store: Store | None = None
    name: str = ""
    rows: dict[str, Row] = field(default_factory=dict)

    def add(self, entry: str, row: Row) -> None:
        """Keep the result for one entry."""
        self.rows[entry] = row
        if self.store is not None:
            save_settings(self.store, self.name, {**self.settings, "entries": self.rows})


@dataclass(eq=False)
class CalibrationWork:
    """The searches of the entries that are left, and the suite that they make."""

    bench: ClosedBench
    suite: Suite
    entries: list[str]
    name: str  # of the new suite
    seed: int
    wanted: dict[str, float]  # upper, lower, tolerance
    kept: Kept
    file: Path | None
    calibrated: Suite | None = None  # with the old ranges, scaled; known once the images have been seen
    about: str = ""

    def missing(self) -> list[str]:
        """The entries that are left."""
        return [entry for entry in self.entries if entry not in self.kept.rows]

    def run(self, run: Run) -> None:
        """Measure the clean accuracy, and search the severities of what is left."""
        bench, needs = self.bench, needs_of(torch.device(self.bench.device), cpus=None)
        bench.decoding = partial(run.progress, "decoding")
        with contextlib.closing(run.cells("clean", partial(_look, bench), [bench.source.name], needs=needs)) as looked:
            _, (side, accuracy, description) = next(looked)
        upper, lower = self.wanted["upper"], self.wanted["lower"]
        _check_clean(bench, accuracy, lower)
        self.calibrated = resized(self.suite, self.entries, self.name, side)
        self.about = f"{self.suite.name}, calibrated for {description}: every range goes from R = {upper:g} to R = "
        self.about += f"{lower:g}"
        search = partial(_calibrate_entry, bench, self.calibrated, self.seed, self.wanted)
        with contextlib.closing(run.cells("calibrate", search, self.missing(), needs=needs)) as searches:
            for entry, row in searches:
                self.kept.add(entry, row)

    def collect(self) -> tuple[Suite, pd.DataFrame]:
        """The suite, which is written to its file, and the table."""
        rows = {entry: self.kept.rows[entry] for entry in self.entries}
        suite = with_ranges(self.calibrated, rows, self.about)
        if self.file is not None:
            suite.save(self.file)
        return suite, pd.DataFrame(rows.values()).drop(columns="measured")

    def cost(self) -> StudyCost:
        """The searches that are left, each of about as many passes over the images as usual."""
        bench, estimate, missing = self.bench, Estimate(torch.device(self.bench.device)), self.missing()
        if not missing:
            return estimate.total()
        cut = {"resize": bench.cut.resize, "crop": bench.cut.crop} if bench.cut else {}
        model = bench.classifier.name
        evaluation = plan_evaluation(
            {model: bench.classifier},
            self.suite,
            bench.source,
            IN_MEMORY,
            only=missing,
            **cut,  # type: ignore[arg-type]
        )
        tests, cells = Tests(evaluation, estimate), {cell.entry: cell for cell in evaluation.cells}
        for entry in missing:
            seconds = partial(lambda cell: USUAL_PASSES * tests.seconds(cell, [model]), cells[entry])
            estimate.add("calibrate", seconds, BYTES_PER_ENTRY, entry)
        return estimate.total()

    def describe(self) -> Iterator[str]:
        """Entries, data and model."""
        done = len(self.entries) - len(self.missing())
        yield f"Entries: {len(self.entries)} of {self.suite.name}, {done} calibrated already"
        yield f"Data: {len(self.bench.source)} images of {self.bench.source.name}"
        yield f"Model: {self.bench.classifier.name}, on {self.bench.device}"


def _look(bench: ClosedBench, cell: str, advance: Advance) -> tuple[int, float, str]:
    """The shorter side of the images, the accuracy on them as they are, and both in words."""
    opened = bench.open()
    return opened.side, float(opened.clean.mean()), str(opened)


def _check_clean(bench: ClosedBench, accuracy: float, lower: float) -> None:
    """Refuse a model for which `lower` would mean guessing."""
    classes = len(bench.source.class_names)
    if lower * accuracy <= 1 / classes:
        raise ValueError(
            f"{bench.classifier.name} is right about {accuracy:.0%} of the clean images, and {lower:g} of that is no "
            f"better than guessing among {classes} classes, so it cannot tell severities. Is the model made for these "
            "data? Does it need a mean and std?"
        )


def _calibrate_entry(
    closed: ClosedBench, suite: Suite, seed: int, wanted: dict[str, float], entry: str, advance: Advance
) -> Row:
    """Search the severities of one entry: a row of the table."""
    bench = closed.open()
    corruption = get(suite.corruption(entry))
    parameter, start = next((p, v) for p, v in suite.entries[entry].items() if isinstance(v, Range))
    right: dict[float, np.ndarray] = {}

    def robustness(severity: float) -> float:
        advance(len(right), max(MOST_PASSES, len(right) + 1))
        # The name of the suite is part of the key of what images draw: with this severity, they will draw the same.
        fixed = replace(suite, entries={**suite.entries, entry: {**suite.entries[entry], parameter: severity}})
        right[severity] = bench.right(
            lambda images, ids: [corrupt(images, entry, suite=fixed, seed=seed, ids=ids, check=False)]
        )
        return right[severity].mean() / bench.clean.mean()

    result = calibrate(robustness, start, severity_limits(corruption, parameter, start, bench.side), **wanted)
    between = result.range
    row: dict[str, Any] = {"entry": entry, "parameter": parameter, "before": str(start)}
    row |= {"low": None, "high": None} if between is None else {"low": between.low, "high": between.high}
    for end, severity in (("mildest", result.mildest), ("severest", result.severest)):
        score = bench.robustness(right[severity]) if severity in right else None
        row[end] = severity
        for key, part in (("", "value"), ("_low", "low"), ("_high", "high")):
            row[f"robustness_{end}{key}"] = math.nan if score is None else getattr(score, part)
    row["reached"] = all(result.reached)
    row["evaluations"] = len(result.measured)
    row["note"] = _explain(result, bench.is_grey and corruption.colour)
    row["measured"] = [list(point) for point in result.measured.items()]
    return row


def _explain(result: Calibration, is_colour_of_grey: bool) -> str:
    """The note of a calibration, and what it means for the suite."""
    notes = ["left out"] if result.range is None else []
    notes += [result.note] if result.note else []
    if is_colour_of_grey:
        notes.append("the images are grey: of a change of colours they show the brightness only")
    return "; ".join(notes)
