"""Calibrate the entries of a suite: `scuff.design.calibrate` for each of them, bound to a model and images.

At every severity the model sees the same images, and every image keeps its other draws (where its rain falls, which way
it is turned), so that robustness changes with the severity and with nothing else.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from scuff.corruptions import Corruption, get
from scuff.design.calibration.calibrate import TOLERANCE, calibrate, check_wanted
from scuff.door import corrupt
from scuff.engine import Advance, Run, needs_of
from scuff.engine.cost import IN_MEMORY, Estimate, StudyCost
from scuff.evaluation import plan_evaluation
from scuff.evaluation.cost import Tests
from scuff.ranges import Range
from scuff.store import Settings, Store, read_settings, save_settings
from scuff.studies.base import ALWAYS_NOTED, Plan, complete_settings, open_engine_of
from scuff.studies.calibration.bench import ClosedBench
from scuff.studies.calibration.study import CalibrationStudy
from scuff.suites import Suite, load_suite

Row = dict[str, Any]  # of the table: the result for one entry
SIDE = math.inf  # stands for the shorter side of the image, in pixels

# Of the one parameter that a corruption may draw from a range: the smallest and the largest value, by corruption.
LIMITS = {
    # shares, probabilities, and shifts of values between 0 and 1
    **dict.fromkeys(("mixed_box_blur", "fade_to_mean", "gray_scale", "salt_pepper", "random_fog"), (0, 1)),
    **dict.fromkeys(("random_snow", "level_shift", "backlight", "color_distortion"), (0, 1)),
    "hue": (0, 0.5),  # of a turn
    "perspective": (0, 0.5),
    "affines": (0.05, 1),  # shrunk to a twentieth .. not at all
    # noise: a deviation of twice the range of values leaves next to nothing
    **dict.fromkeys(("half_normal_noise", "uniform_noise"), (0, 2)),
    "gauss_noise": (0, 255**2),
    # how many: enough to cover a picture several times over
    **dict.fromkeys(("artifacts", "vertical_artifacts", "rhombus", "arlequin", "circle", "rain"), (1, 2000)),
    "coarse_dropout": (1, 2000),
    **dict.fromkeys(("random_shadow", "random_sun_flare"), (1, 100)),
    # how fine, how coarse, how dark
    "quantization": (1, 255),
    "swapped_jpeg": (1, 100),
    "thumbnail_resize": (1, SIDE),
    "block_mean": (2, SIDE),
    "random_gamma": (100, 2500),  # hundredths; 100 changes nothing
    # degrees
    "shear": (1, 89),
    "rotation": (1, 180),
}
PARTS_OF_SIDE = {"grey_border": 0.5}  # a length is shorter than the side; this one than half of it
FARTHEST = 16  # times the range that is there: how far to look if nothing is known

# Their range is no severity, but the law by which every pixel draws its own value.
NO_SEVERITY = ("multiplicative_noise",)


def choose_entries(suite: Suite, only: Sequence[str] | None) -> list[str]:
    """The entries to calibrate. Those without a single range of severities are refused."""
    chosen = list(suite.choose(only))
    good = [entry for entry in suite.entries if _has_severity(suite, entry)]
    bad = [entry for entry in chosen if entry not in good]
    if bad:
        hint = f"choose from {', '.join(good)}" if good else "no entry of this suite has one"
        raise ValueError(
            "an entry that is to be calibrated needs exactly one range, of values that are worse at one end than at "
            f"the other, as in count: {{from: 12, to: 120}}; {suite.name} has none for {', '.join(bad)}; {hint}"
        )
    return chosen


def _has_severity(suite: Suite, entry: str) -> bool:
    """Whether an entry has one range of severities; a range of both signs is mildest in its middle."""
    between = suite.severity_range(entry)
    return between is not None and between.low >= 0 and suite.corruption(entry) not in NO_SEVERITY


def resized(suite: Suite, entries: Sequence[str], name: str, side: int) -> Suite:
    """These entries of a suite, with lengths for images of another size, as a suite of another name."""

    scaled = {}
    for entry in entries:
        corruption = get(suite.corruption(entry))
        scaled[entry] = {**suite.entries[entry], **corruption.scaled(suite.parameters(entry), side / suite.size)}
    return _with_entries(replace(suite, name=name, version=1, size=side, severities=None), scaled)


def with_ranges(suite: Suite, rows: Mapping[str, Row]) -> Suite:
    """The suite with the ranges that were found, without the entries for which there is none."""
    entries = {
        entry: {**suite.entries[entry], row["parameter"]: Range(row["low"], row["high"])}
        for entry, row in rows.items()
        if row["low"] is not None
    }
    if not entries:
        notes = ". ".join(f"{entry}: {row['note']}" for entry, row in rows.items())
        raise ValueError(f"no entry could be calibrated, so there is no suite to make. {notes}")
    return _with_entries(suite, entries)


def _with_entries(suite: Suite, entries: dict[str, Any]) -> Suite:
    """A suite with other entries, and without whatever else it says of those that are gone."""
    groups = {category: [e for e in group if e in entries] for category, group in suite.categories.items()}
    return replace(
        suite,
        entries=entries,
        validation=tuple(e for e in suite.validation if e in entries),
        aliases={alias: e for alias, e in suite.aliases.items() if e in entries},
        monotone={},
        categories={category: group for category, group in groups.items() if group},
    )


def severity_limits(corruption: Corruption, parameter: str, start: Range, side: int) -> tuple[float, float]:
    """The smallest and the largest sensible value of a parameter, for images whose shorter side is `side` pixels.

    >>> from scuff.corruptions import get
    >>> severity_limits(get("grey_border"), "thickness", Range(1, 6), side=28)
    (1, 13)
    >>> severity_limits(get("hue"), "turn", Range(0.05, 0.5), side=28)
    (0.0, 0.5)
    """
    low, high = LIMITS.get(corruption.name, (int(start.is_whole), FARTHEST * start.high))
    if parameter in corruption.lengths:
        high = math.ceil(PARTS_OF_SIDE.get(corruption.name, 1.0) * side) - 1
    high = max(side if high == SIDE else high, low + 1 if start.is_whole else start.high)
    return (int(low), int(high)) if start.is_whole else (float(low), float(high))


USUAL_PASSES, MOST_PASSES = 7, 10  # over the images, for the search of an entry; it seldom needs more
BYTES_PER_ENTRY = 1000  # of the file that keeps finished entries


def plan_calibration(study: CalibrationStudy) -> Plan[tuple[Suite, pd.DataFrame]]:
    """Open the model and the images, and find out which entries are left."""
    check_wanted(study.upper, study.lower)
    suite = study.suite if isinstance(study.suite, Suite) else load_suite(study.suite)
    entries = choose_entries(suite, study.only)
    file = None if study.out is None else Path(study.out)
    if file is not None and file.suffix not in (".yaml", ".yml"):
        raise ValueError(f"a suite is a YAML file, as in my-suite.yaml; got {file}")
    engine, device = open_engine_of(study)
    bench = study.plan_bench(device)
    name = study.suite_name or (file.stem if file else f"{suite.name}-{bench.source.name}".replace("/", "-"))
    wanted = {"upper": study.upper, "lower": study.lower, "tolerance": TOLERANCE}
    depends_on = {"suite": suite.fingerprint(), "name": name, "seed": study.seed, **wanted, **bench.settings()}
    settings = complete_settings(study, depends_on)
    rows = {} if file is None else _read_finished(file, settings)
    return Plan(
        study, settings, CalibrationWork(study, bench, suite, entries, wanted, settings, file, rows), None, engine
    )


@dataclass(eq=False)
class CalibrationWork:
    """The searches of the entries that are left, and the suite that they make."""

    study: CalibrationStudy
    bench: ClosedBench
    suite: Suite
    entries: list[str]
    wanted: dict[str, float]  # upper, lower, tolerance
    settings: Settings
    file: Path | None  # of the new suite
    rows: dict[str, Row]  # finished entries
    calibrated: Suite | None = None  # with the old ranges, scaled; known once the images have been seen

    def missing(self) -> list[str]:
        """The entries that are left."""
        return [entry for entry in self.entries if entry not in self.rows]

    def run(self, run: Run) -> None:
        """Measure the clean accuracy, and search the severities of what is left."""
        bench, needs = self.bench, needs_of(torch.device(self.bench.device), cpus=None)
        bench.decoding = partial(run.progress, "decoding")
        with contextlib.closing(run.cells("clean", partial(_look, bench), [bench.source.name], needs=needs)) as looked:
            _, (side, accuracy, description) = next(looked)
        upper, lower = self.wanted["upper"], self.wanted["lower"]
        classes = len(bench.source.class_names)
        if lower * accuracy <= 1 / classes:
            raise ValueError(
                f"{bench.classifier.name} is right about {accuracy:.0%} of the clean images, and {lower:g} of that is "
                f"no better than guessing among {classes} classes, so it cannot tell severities. Is the model made for "
                "these data? Does it need a mean and std?"
            )
        about = f"{self.suite.name}, calibrated for {description}: every range goes from R = {upper:g} to R = {lower:g}"
        suite = resized(self.suite, self.entries, self.settings["name"], side)
        self.calibrated = replace(suite, about=about)
        search = partial(_calibrate_entry, bench, suite, self.study.seed, self.wanted)
        with contextlib.closing(run.cells("calibrate", search, self.missing(), needs=needs)) as searches:
            for entry, row in searches:
                self.rows[entry] = row
                if self.file is not None:
                    save_settings(*_finished_in(self.file), {**self.settings, "entries": self.rows})

    def collect(self) -> tuple[Suite, pd.DataFrame]:
        """The suite, which is written to its file, and the table."""
        rows = {entry: self.rows[entry] for entry in self.entries}
        assert self.calibrated is not None
        suite = with_ranges(self.calibrated, rows)
        if self.file is not None:
            suite.save(self.file)
        return suite, pd.DataFrame(rows.values()).drop(columns="measured")

    def cost(self) -> StudyCost:
        """The searches that are left, each of about as many passes over the images as usual."""
        bench, estimate, missing = self.bench, Estimate(torch.device(self.bench.device)), self.missing()
        if not missing:
            return estimate.total()
        resize, crop = (bench.cut.resize, bench.cut.crop) if bench.cut else (None, None)
        options: dict[str, Any] = {"only": missing, "resize": resize, "crop": crop}
        model = bench.classifier.name
        evaluation = plan_evaluation({model: bench.classifier}, self.suite, bench.source, IN_MEMORY, **options)
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


def _finished_in(suite_file: Path) -> tuple[Store, str]:
    """The file beside that of the suite, which keeps finished entries."""
    return Store(suite_file.parent), f"{suite_file.stem}.calibration.json"


def _read_finished(suite_file: Path, settings: Settings) -> dict[str, Row]:
    store, name = _finished_in(suite_file)
    if not store.exists(name):
        return {}
    before = read_settings(store, name, CalibrationStudy.form)
    changed = [key for key, value in settings.items() if before.get(key) != value and key not in ALWAYS_NOTED]
    if changed:
        raise ValueError(
            f"{suite_file.with_name(name)} belongs to a calibration with other settings ({', '.join(changed)}); give "
            "the new suite another file, or delete this one"
        )
    return before["entries"]


# --- what workers do --------------------------------------------------------------------------------------------------


def _look(bench: ClosedBench, cell: str, advance: Advance) -> tuple[int, float, str]:
    """The shorter side of the images, the accuracy on them as they are, and both in words."""
    opened = bench.open()
    return opened.side, float(opened.clean.mean()), str(opened)


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
        right[severity] = bench.hits(
            lambda images, ids: [corrupt(images, entry, suite=fixed, seed=seed, ids=ids, check=False)]
        )[:, 0]
        return right[severity].mean() / bench.clean.mean()

    result = calibrate(robustness, start, severity_limits(corruption, parameter, start, bench.side), **wanted)
    low, high = (None, None) if result.range is None else (result.range.low, result.range.high)
    row: Row = {"entry": entry, "parameter": parameter, "before": str(start), "low": low, "high": high}
    for end, severity in (("mildest", result.mildest), ("severest", result.severest)):
        score = bench.robustness(right[severity]) if severity in right else None
        row[end] = severity
        for key, part in (("", "value"), ("_low", "low"), ("_high", "high")):
            row[f"robustness_{end}{key}"] = math.nan if score is None else getattr(score, part)
    notes = ["left out" if result.range is None else "", result.note]
    if bench.is_grey and corruption.colour:
        notes.append("the images are grey: of a change of colours they show the brightness only")
    row |= {"reached": all(result.reached), "evaluations": len(result.measured), "note": "; ".join(filter(None, notes))}
    return row | {"measured": [list(point) for point in result.measured.items()]}
