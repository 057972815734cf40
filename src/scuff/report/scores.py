"""All numbers of a report, asked of `scuff.metrics` once, as small frames; the rows are not needed after this."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pandas as pd

from scuff import metrics
from scuff.evaluation import CLEAN, Evaluation
from scuff.metrics import Cells, Difference
from scuff.metrics.corruption_error import Baseline
from scuff.suites import Suite

ALL = "all corruptions"
MOST_PAIRED = 6  # models; of more, each is compared with the best only: all pairs would take long and nobody reads them


@dataclass(frozen=True)
class Scores:
    """What a report shows of still images. Frames have the columns model, value, low, high, n and what is said here."""

    models: list[str]
    suite: Suite  # whose scored entries count
    summary: pd.DataFrame = field(repr=False)
    errors: pd.DataFrame = field(repr=False)  # corruption, severity; corrupted cells only
    means: pd.DataFrame = field(repr=False)  # corruption; over its severities
    curves: pd.DataFrame = field(repr=False)  # family, severity
    reliability: pd.DataFrame = field(repr=False)  # kind (clean or corrupted), from, to, count, confidence, accuracy
    comparison: Comparison | None = None

    def defined(self, name: str) -> bool:
        """Whether a score of the summary is defined for any model."""
        return bool(self.summary[name].notna().any())

    @property
    def main(self) -> str:
        """The score that counts most: the corruption error where there is a reference, else the plain mean error."""
        return next((name for name in ("mce", "mean_error") if self.defined(name)), "clean_error")


@dataclass(frozen=True)
class Comparison:
    """Models against each other on the cells that all of them have."""

    reference: str
    pairs: dict[tuple[str, str], Difference]  # of the mean error
    differences: pd.DataFrame = field(repr=False)  # model minus reference by corruption
    ranks: pd.DataFrame = field(repr=False)
    common_only: bool = False


def measure(evaluation: Evaluation, baseline: str | None) -> Scores:
    """Score the rows of still images."""
    rows, suite = evaluation.rows, counted_suite(evaluation)
    cells = {model: metrics.read_cells(own) for model, own in metrics.by_model(rows).items()}
    reference = find_baseline(evaluation, baseline, cells)
    summary = metrics.summary(rows, baseline=reference, suite=suite)
    errors = _by_model({model: metrics.cell_errors(own) for model, own in cells.items()})
    errors = _in_order(errors[errors["corruption"] != CLEAN], suite)
    return Scores(
        list(cells),
        suite,
        summary,
        errors,
        _by_model({model: _corruption_means(own, suite) for model, own in cells.items()}),
        _by_model({model: _curves(own, suite, evaluation.settings["families"]) for model, own in cells.items()}),
        _by_model({model: _reliability(own, suite) for model, own in cells.items()}),
        _compare(rows, cells, suite, reference, summary) if len(cells) > 1 and len(errors) else None,
    )


def counted_suite(evaluation: Evaluation) -> Suite:
    """The suite by which rows are scored; if nothing but entries for validation was evaluated, those count."""
    suite = evaluation.suite
    there = set(evaluation.rows["corruption"].unique())
    return suite if there.intersection(suite.benchmark()) else replace(suite, validation=())


def find_baseline(evaluation: Evaluation, name: str | None, rows: Mapping[str, Cells | pd.DataFrame]) -> Baseline:
    """What corruption errors are relative to: a model of the evaluation, a published reference, or nothing."""
    if name in rows:
        return rows[name]
    if name is None or name == "none":
        return None
    try:
        metrics.load_reference(name, evaluation.suite.name)
    except ValueError as error:
        raise ValueError(f"{error}. Models of this evaluation: {', '.join(rows)}") from error
    return name


def cells_where(cells: Cells, suite: Suite, severity: int | None = None, entry: str | None = None) -> Cells | None:
    """The corrupted cells that count, of one severity or one entry; None if there are none."""
    counted = set(suite.benchmark())
    places = [
        place
        for place, (its_entry, its_severity) in enumerate(cells.keys)
        if its_entry in counted and severity in (None, its_severity) and entry in (None, its_entry)
    ]
    return cells.take(places) if places else None


def _corruption_means(cells: Cells, suite: Suite) -> pd.DataFrame:
    """The mean error of every corruption over its severities, also of those that do not count."""
    everything = replace(suite, validation=())
    entries = {entry for entry, _ in cells.keys} & set(suite.entries)
    if not entries:
        return metrics.to_frame({})
    each = {entry: entry for entry in suite.entries if entry in entries}
    return metrics.to_frame(metrics.family_means(cells, each, suite=everything, partial=True))


def _curves(cells: Cells, suite: Suite, families: Mapping[str, str]) -> pd.DataFrame:
    """The mean error of every family, and of all corruptions, at every severity."""
    groups = _groups(cells, suite, families)
    frames = []
    for severity in sorted({level for _, level in cells.keys if level}):
        own = cells_where(cells, suite, severity)
        if own is not None:
            scores = metrics.family_means(own, groups, suite=suite, partial=True)
            frames.append(metrics.to_frame(scores, "family").assign(severity=severity))
    return pd.concat(frames, ignore_index=True) if frames else metrics.to_frame({}, "family").assign(severity=0)


def _groups(cells: Cells, suite: Suite, families: Mapping[str, str]) -> dict[str, list[str]]:
    """The corruptions with levels by family, all of them first; one family alone needs no figure of its own."""
    entries = [entry for entry in suite.benchmark() if any(key[0] == entry and key[1] for key in cells.keys)]
    groups: dict[str, list[str]] = {}
    for entry in entries:
        groups.setdefault(families.get(entry, "other"), []).append(entry)
    return {ALL: entries} | (groups if len(groups) > 1 else {})


def _reliability(cells: Cells, suite: Suite) -> pd.DataFrame:
    kinds = {CLEAN: cells.take([cells.clean()]) if (CLEAN, 0) in cells.keys else None}
    kinds["corrupted"] = cells_where(cells, suite)
    frames = [metrics.reliability(own).assign(kind=kind) for kind, own in kinds.items() if own is not None]
    return pd.concat(frames, ignore_index=True).rename(columns={"accuracy": "value", "count": "n"})


def _compare(
    rows: pd.DataFrame, cells: Mapping[str, Cells], suite: Suite, baseline: Baseline, summary: pd.DataFrame
) -> Comparison | None:
    """Compare all models on the cells that all of them have; None if there is no such cell."""
    common = set.intersection(*(set(own.keys) for own in cells.values()))
    shared = {m: own.take([k for k, key in enumerate(own.keys) if key in common]) for m, own in cells.items()}
    if any(cells_where(own, suite) is None for own in shared.values()):
        return None
    options = {"suite": suite, "partial": True}
    reference = min(cells, key=lambda model: float(metrics.mean_error(shared[model], **options)))
    pairs = list(itertools.combinations(cells, 2))
    if len(cells) > MOST_PAIRED:
        pairs = [(model, reference) for model in cells if model != reference]
    is_common = all(set(own.keys) == common for own in cells.values())
    ranked = rows if is_common else _only_cells(rows, common)
    has_ce = summary["mce"].notna().all() and is_common
    return Comparison(
        reference,
        {(a, b): metrics.difference(shared[a], shared[b], **options) for a, b in pairs},
        _differences(shared, suite, reference),
        metrics.ranks(ranked, baseline=baseline if has_ce else None, **options),
        not is_common,
    )


def _differences(cells: Mapping[str, Cells], suite: Suite, reference: str) -> pd.DataFrame:
    """Every other model minus the reference, by corruption, paired by image."""
    frames = {}
    for model in cells:
        if model != reference:
            pairs = {e: [cells_where(cells[m], suite, entry=e) for m in (model, reference)] for e in suite.benchmark()}
            scores = {e: metrics.difference(*pair, "error") for e, pair in pairs.items() if pair[0] is not None}
            frames[model] = metrics.to_frame(scores)
    return _by_model(frames)


def _only_cells(rows: pd.DataFrame, cells: set[tuple[str, int]]) -> pd.DataFrame:
    wanted = pd.MultiIndex.from_tuples(sorted(cells))
    return rows[pd.MultiIndex.from_arrays([rows["corruption"].astype(str), rows["severity"]]).isin(wanted)]


def _by_model(frames: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The frames of all models as one, with a column that says whose a line is."""
    return pd.concat([frame.assign(model=model) for model, frame in frames.items()], ignore_index=True)


def _in_order(errors: pd.DataFrame, suite: Suite) -> pd.DataFrame:
    """Corruptions in the order of the suite, which is not that of the files."""
    order = {entry: place for place, entry in enumerate(suite.entries)}
    return errors.sort_values("corruption", key=lambda column: column.map(order), kind="stable").reset_index(drop=True)


# --- sequences ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SequenceScores:
    """What a report shows of sequences at one difficulty. Frames have model, corruption, value, low, high, n."""

    models: list[str]
    difficulty: int
    flip_rates: dict[str, metrics.Score]
    distances: dict[str, metrics.Score]
    flips: pd.DataFrame = field(repr=False)
    moves: pd.DataFrame = field(repr=False)


def measure_sequences(evaluation: Evaluation, baseline: str | None) -> list[SequenceScores]:
    """Score the rows of sequences, at every difficulty that was evaluated."""
    rows = metrics.by_model(evaluation.rows)
    suite = counted_suite(evaluation)
    found = find_baseline(evaluation, baseline, rows)
    difficulties = sorted({int(level) for level in evaluation.rows["severity"].unique() if level}) or [1]
    return [_measure_difficulty(rows, suite, found, difficulty) for difficulty in difficulties]


def _measure_difficulty(
    rows: Mapping[str, pd.DataFrame], suite: Suite, baseline: Baseline, difficulty: int
) -> SequenceScores:
    options = {"suite": suite, "difficulty": difficulty, "partial": True}
    their_rows = baseline if isinstance(baseline, pd.DataFrame) else None
    return SequenceScores(
        list(rows),
        difficulty,
        {model: metrics.mfr(own, baseline=baseline, **options) for model, own in rows.items()},
        {model: metrics.mt5d(own, baseline=their_rows, **options) for model, own in rows.items()},
        _by_model({m: metrics.to_frame(metrics.flip_probability(own, **options)) for m, own in rows.items()}),
        _by_model({m: metrics.to_frame(metrics.top5_distance(own, **options)) for m, own in rows.items()}),
    )
