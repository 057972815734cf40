"""Severity ranges of a suite for a model and images of your own: `scuff.design.calibrate`, bound to an evaluation.

At every severity the model sees the same images, and every image keeps its other draws (where its rain falls, which way
it is turned), so that robustness changes with the severity and with nothing else.
"""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

import scuff
from scuff.corruptions import get
from scuff.data import Source
from scuff.design.calibration.calibrate import LOWER, TOLERANCE, UPPER, Calibration, calibrate, check_wanted
from scuff.door import corrupt
from scuff.engine import Advance, Engine, LocalEngine, Progress, Run, needs_of
from scuff.ranges import Range
from scuff.store import Settings, Store, read_settings, save_settings
from scuff.studies.calibration.bench import ClosedBench, plan_bench
from scuff.studies.calibration.limits import NO_SEVERITY, severity_limits
from scuff.suites import Suite, load_suite

Row = dict[str, Any]  # of the table: what was found for one entry

PASSES = 10  # over the images, that the search of an entry seldom needs more of


def calibrate_suite(
    model: Any,
    suite: Suite | str | os.PathLike[str],
    data: str | Source,
    *,
    name: str | None = None,
    only: Sequence[str] | None = None,
    limit: int | None = None,
    upper: float = UPPER,
    lower: float = LOWER,
    seed: int = 0,
    resize: int | None = None,
    crop: int | None = None,
    mean: Sequence[float] | None = None,
    std: Sequence[float] | None = None,
    device: str | torch.device | None = None,
    engine: Engine | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> tuple[Suite, pd.DataFrame]:
    """Give the entries of a suite ranges at whose ends the model keeps `upper` and `lower` of its clean accuracy.

    Parameters
    ----------
    model, data, limit, seed, resize, crop, mean, std, device
        As in `scuff.evaluate`; one model, usually trained on clean images.
    suite, only
        Whose ranges to begin with. Entries must have exactly one; `only` names those that you want.
    name
        Of the new suite; by default that of the file, or made of the names of suite and data.
    out
        A YAML file to save the suite to. Entries that are done are kept beside it, in NAME.calibration.json: if the
        work is stopped, it goes on with the entry that it was at.
    engine
        Where entries are searched: by default on this machine, see `scuff.engine`.
    progress
        Called with (what is being done, done, to do).

    Returns
    -------
    The suite, for images of this size, without entries that have no effect on them. And a table, a line per entry: the
    range `before`, brought to this size; the severities found, `low` to `high`, and which of the two is the `mildest`
    and which the `severest`; the robustness at these, with intervals over images; whether both are what was wanted
    (`reached`); how many `evaluations` it took, each a pass over all images; and a `note`. If even the physical limit
    of a parameter does not bring robustness down to `lower`, the range ends there.
    """
    check_wanted(upper, lower)
    suite = suite if isinstance(suite, Suite) else load_suite(suite)
    entries = _choose_entries(suite, only)
    file = None if out is None else _check_out(Path(out))
    engine = engine or LocalEngine()
    device = engine.find_device(device)
    options = {"limit": limit, "resize": resize, "crop": crop, "mean": mean, "std": std}
    told = None if progress is None else partial(progress, "decoding")
    bench = plan_bench(model, data, **options, device=device, decoding=told)
    name = name or (file.stem if file else f"{suite.name}-{bench.source.name}".replace("/", "-"))
    wanted = {"upper": upper, "lower": lower, "tolerance": TOLERANCE}
    kept = _Kept(file, {"suite": suite.fingerprint(), "name": name, "seed": seed, **wanted, **bench.settings()})
    needs = needs_of(device, cpus=None)
    with Run(engine, None, progress, "calibrate") as run:
        with contextlib.closing(run.cells("clean", partial(_look, bench), [bench.source.name], needs=needs)) as looked:
            _, (side, accuracy, said) = next(looked)
        _check_clean(bench, accuracy, lower)
        resized = _resized(suite, entries, name, side)
        missing = [entry for entry in entries if entry not in kept.rows]
        work = partial(_calibrate_entry, bench, resized, seed, wanted)
        searches = run.cells("calibrate", work, missing, needs=needs)
        with contextlib.closing(searches):
            for entry, row in searches:
                kept.add(entry, row)
    rows = {entry: kept.rows[entry] for entry in entries}
    about = f"{suite.name}, calibrated for {said}: every range goes from R = {upper:g} to R = {lower:g}"
    result = _with_ranges(resized, rows, about)
    if file is not None:
        result.save(file)
    return result, pd.DataFrame(rows.values()).drop(columns="measured")


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
    """Search the severities of one entry, and say what was found."""
    bench = closed.open()
    corruption = get(suite.corruption(entry))
    parameter, start = next((p, v) for p, v in suite.entries[entry].items() if isinstance(v, Range))
    right: dict[float, np.ndarray] = {}

    def robustness(severity: float) -> float:
        advance(len(right), max(PASSES, len(right) + 1))
        # The name of the suite is part of the key of what images draw: with this severity, they will draw the same.
        fixed = replace(suite, entries={**suite.entries, entry: {**suite.entries[entry], parameter: severity}})
        right[severity] = bench.right(
            lambda images, ids: [corrupt(images, entry, suite=fixed, seed=seed, ids=ids, check=False)]
        )
        return right[severity].mean() / bench.clean.mean()

    found = calibrate(robustness, start, severity_limits(corruption, parameter, start, bench.side), **wanted)
    row = {"entry": entry, "parameter": parameter, "before": str(start)}
    row |= {"low": None, "high": None} if found.range is None else {"low": found.range.low, "high": found.range.high}
    for end, severity in (("mildest", found.mildest), ("severest", found.severest)):
        score = bench.robustness(right[severity]) if severity in right else None
        row[end] = severity
        for key, part in (("", "value"), ("_low", "low"), ("_high", "high")):
            row[f"robustness_{end}{key}"] = math.nan if score is None else getattr(score, part)
    row["reached"] = all(found.reached)
    row["evaluations"] = len(found.measured)
    row["note"] = _explain(found, bench.is_grey and corruption.colour)
    row["measured"] = [list(point) for point in found.measured.items()]
    return row


def _explain(found: Calibration, is_colour_of_grey: bool) -> str:
    """The note of a calibration, and what it means for the suite."""
    notes = ["left out"] if found.range is None else []
    notes += [found.note] if found.note else []
    if is_colour_of_grey:
        notes.append("the images are grey: of a change of colours they show the brightness only")
    return "; ".join(notes)


# --- the suite ------------------------------------------------------------------------------------------------------


def _choose_entries(suite: Suite, only: Sequence[str] | None) -> list[str]:
    """The entries to calibrate. Those that have no single range of severities are refused."""
    chosen = list(suite.choose(only))
    bad = [entry for entry in chosen if not _has_severity(suite, entry)]
    if bad:
        good = [entry for entry in suite.entries if _has_severity(suite, entry)]
        hint = f"choose from {', '.join(good)}" if good else "no entry of this suite has one"
        raise ValueError(
            "an entry that is to be calibrated needs exactly one range, of values that are worse at one end than at "
            f"the other, as in count: {{from: 12, to: 120}}; {suite.name} has none for {', '.join(bad)}; {hint}"
        )
    return chosen


def _has_severity(suite: Suite, entry: str) -> bool:
    """Whether an entry has one range of severities; one that holds both signs is mildest in its middle."""
    between = suite.severity_range(entry)
    return between is not None and between.low >= 0 and suite.corruption(entry) not in NO_SEVERITY


def _resized(suite: Suite, entries: Sequence[str], name: str, side: int) -> Suite:
    """These entries of a suite, with lengths for images of another size, as a suite of another name."""

    def resize(entry: str) -> dict[str, Any]:
        corruption = get(suite.corruption(entry))
        return {**suite.entries[entry], **corruption.scaled(suite.parameters(entry), side / suite.size)}

    return _with_entries(
        replace(suite, name=name, version=1, size=side, severities=None), {entry: resize(entry) for entry in entries}
    )


def _with_ranges(suite: Suite, rows: dict[str, Row], about: str) -> Suite:
    """The suite with the ranges that were found, without the entries for which there is none."""
    found = {
        entry: {**suite.entries[entry], row["parameter"]: Range(row["low"], row["high"])}
        for entry, row in rows.items()
        if row["low"] is not None
    }
    if not found:
        notes = ". ".join(f"{entry}: {row['note']}" for entry, row in rows.items())
        raise ValueError(f"no entry could be calibrated, so there is no suite to make. {notes}")
    return replace(_with_entries(suite, found), about=about)


def _with_entries(suite: Suite, entries: dict[str, Any]) -> Suite:
    """A suite with other entries, and without whatever else it says of those that are gone."""
    groups = {category: [e for e in group if e in entries] for category, group in suite.categories.items()}
    return replace(
        suite,
        entries=entries,
        validation=tuple(e for e in suite.validation if e in entries),
        aliases={alias: e for alias, e in suite.aliases.items() if e in entries},
        categories={category: group for category, group in groups.items() if group},
    )


# --- what is kept ---------------------------------------------------------------------------------------------------


def _check_out(path: Path) -> Path:
    if path.suffix not in (".yaml", ".yml"):
        raise ValueError(f"a suite is a YAML file, as in my-suite.yaml; got {path}")
    return path


class _Kept:
    """Entries that are done, in a file beside the suite's, if it has one; written by rename after every entry."""

    def __init__(self, suite_file: Path | None, settings: Settings) -> None:
        self.settings, self.rows, self.store = settings, {}, None
        if suite_file is None:
            return
        self.store, self.name = Store(suite_file.parent), f"{suite_file.stem}.calibration.json"
        if self.store.exists(self.name):
            before = read_settings(self.store, self.name)
            changed = [key for key, value in settings.items() if before.get(key) != value]
            if changed:
                raise ValueError(
                    f"{suite_file.with_name(self.name)} belongs to a calibration with other settings "
                    f"({', '.join(changed)}); give the new suite another file, or delete this one"
                )
            self.rows = before["entries"]

    def add(self, entry: str, row: Row) -> None:
        self.rows[entry] = row
        if self.store is not None:
            content = {**self.settings, "scuff": scuff.__version__, "entries": self.rows}
            save_settings(self.store, self.name, content)
