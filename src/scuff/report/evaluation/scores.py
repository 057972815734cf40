"""All numbers of a report, computed once by `scuff.metrics`, as small frames; the rows are not needed after this."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from scuff import metrics
from scuff.evaluation import CLEAN, Evaluation
from scuff.evaluation.results import is_evaluation, read_model
from scuff.metrics import Cells, Difference, Score
from scuff.metrics.evaluation.corruption_error import Baseline, has_reference
from scuff.metrics.evaluation.own import with_own_scores
from scuff.suites import Suite
from scuff.tables import Column, Table
from scuff.words import entry_name, plain, reference_name

ALL = "all corruptions"
MOST_PAIRED = 6  # models; of more, each is compared with the best only, as nobody reads all pairs


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
    ces: pd.DataFrame = field(repr=False)  # corruption; empty without a reference
    comparison: Comparison | None = None
    note: str = ""  # why nothing is relative to a published reference

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
    cells: pd.DataFrame = field(repr=False)  # the same by corruption and severity, with p_holm
    ranks: pd.DataFrame = field(repr=False)
    ranked_by: str  # the score of the summary that decides the ranks
    common_only: bool = False


def measure(evaluation: Evaluation, baseline: str | None) -> Scores:
    """Score the rows of still images."""
    suite = counted_suite(evaluation)
    cells = {model: metrics.read_cells(rows) for model, rows in metrics.by_model(evaluation.rows).items()}
    reference = find_baseline(evaluation, baseline, cells)
    summary = with_own_scores(metrics.summary(cells, baseline=reference, suite=suite), evaluation.rows)
    errors = _by_model({model: metrics.cell_errors(of_model) for model, of_model in cells.items()})
    order = list(suite.entries)  # which is not that of the files
    errors = errors[errors["corruption"] != CLEAN].sort_values(
        "corruption", key=lambda column: column.map(order.index), kind="stable", ignore_index=True
    )
    means, curves = _means(cells, suite, evaluation.settings["families"])
    return Scores(
        list(cells),
        suite,
        summary,
        errors,
        means,
        curves,
        _by_model({model: _reliability(of_model, suite) for model, of_model in cells.items()}),
        corruption_errors(cells, reference, suite),
        _compare(cells, suite, reference, summary) if len(cells) > 1 and len(errors) else None,
        baseline_misfit(evaluation, baseline),
    )


def corruption_errors(cells: Mapping[str, Cells], reference: Baseline, suite: Suite) -> pd.DataFrame:
    """The CE of every corruption and model, as the authors of the suite define it; empty without a reference."""
    scores = {
        (model, entry): score
        for model, of_model in cells.items()
        if any(entry in suite.benchmark() for entry, _ in of_model.keys) and has_reference(of_model, reference, suite)
        for entry, score in metrics.ce(of_model, baseline=reference, suite=suite, partial=True).items()
    }
    return _frame(scores, "model", "corruption")


def ce_table(ces: pd.DataFrame, models: Sequence[str], baseline: str) -> Table:
    """Corruption errors by corruption and model."""
    caption = f"Corruption errors in per cent of those of {reference_name(baseline)}, with 95 % intervals"
    column = Column("corruption", "value", plain, interval=True)
    return Table.pivot(caption, ces, "corruption", "model", column, heads=models, name=entry_name)


def counted_suite(evaluation: Evaluation) -> Suite:
    """The suite by which rows are scored; if nothing but entries for validation was evaluated, those count."""
    suite = evaluation.suite
    evaluated = set(evaluation.rows["corruption"].unique())
    return suite if evaluated.intersection(suite.benchmark()) else replace(suite, validation=())


def find_baseline(evaluation: Evaluation, name: str | None, rows: Mapping[str, Cells | pd.DataFrame]) -> Baseline:
    """What corruption errors are relative to: a model of this evaluation or another, published errors, or nothing."""
    if name is not None and name in rows:
        return rows[name]
    if name is None or name == "none":
        return None
    if is_evaluation(name):
        other, of_model = read_model(name)
        if other.suite.name != evaluation.suite.name:
            raise ValueError(f"{name} was evaluated on {other.suite.name}, these models on {evaluation.suite.name}")
        return of_model
    try:
        return None if baseline_misfit(evaluation, name) else name
    except ValueError as error:
        raise ValueError(f"{error}. Models of this evaluation: {', '.join(rows)}") from error


def baseline_misfit(evaluation: Evaluation, name: str | None) -> str:
    """Why a published reference says nothing about the data of an evaluation, in a sentence; nothing if it does."""
    if name is None or name in ("none", *evaluation.models) or is_evaluation(name):
        return ""
    settings, reference = evaluation.settings, metrics.load_reference(name, evaluation.suite.name)
    if reference is None:
        return ""
    why = reference.misfit(len(settings["class_names"]), settings.get("size"))
    if not why and settings["classes"] is None:
        return ""
    why = why or f"measured on all classes, and these are those of {settings['classes']}"
    return (
        f"Nothing is relative to {reference_name(name)}, whose errors were {why}. A model can be the baseline instead."
    )


def cells_of(cells: Cells, entries: Collection[str], severity: int | None = None) -> Cells | None:
    """The cells of some entries, at one severity or at all; None if there are none."""
    keys = enumerate(cells.keys)
    places = [place for place, (entry, level) in keys if entry in entries and severity in (None, level)]
    return cells.take(places) if places else None


def _means(cells: Mapping[str, Cells], suite: Suite, families: Mapping[str, str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Mean errors of every corruption, also of those that do not count; and of every family at every severity."""
    by_entry, by_family = {}, {}  # type: ignore[var-annotated]
    for model, of_model in cells.items():
        of_model = replace(of_model, confidence=None)  # which would be copied for nothing
        by_entry |= {(model, entry): cells_of(of_model, {entry}) for entry in suite.entries}
        for severity in sorted({level for _, level in of_model.keys if level}):
            for family, entries in _groups(of_model, suite, families).items():
                by_family[model, family, severity] = cells_of(of_model, entries, severity)
    evaluated = {key: some for key, some in (by_entry | by_family).items() if some is not None}
    scores = metrics.scores(evaluated, suite=replace(suite, validation=()), partial=True)
    means, curves = ({key: scores[key] for key in keys if key in scores} for keys in (by_entry, by_family))
    return _frame(means, "model", "corruption"), _frame(curves, "model", "family", "severity")


def _groups(cells: Cells, suite: Suite, families: Mapping[str, str]) -> dict[str, list[str]]:
    """The corruptions with levels by family, all of them first; one family alone needs no figure of its own."""
    entries = [entry for entry in suite.benchmark() if any(key[0] == entry and key[1] for key in cells.keys)]
    groups: dict[str, list[str]] = {}
    for entry in entries:
        groups.setdefault(families.get(entry, "other"), []).append(entry)
    return {ALL: entries} | (groups if len(groups) > 1 else {})


def _reliability(cells: Cells, suite: Suite) -> pd.DataFrame:
    kinds = {CLEAN: cells.take([cells.clean()]) if (CLEAN, 0) in cells.keys else None}
    kinds["corrupted"] = cells_of(cells, suite.benchmark())
    frames = [metrics.reliability(some).assign(kind=kind) for kind, some in kinds.items() if some is not None]
    return pd.concat(frames, ignore_index=True).rename(columns={"accuracy": "value", "count": "n"})


def _compare(cells: Mapping[str, Cells], suite: Suite, baseline: Baseline, summary: pd.DataFrame) -> Comparison | None:
    """Compare all models on the cells that all of them have; None if there is no such cell."""
    common = set.intersection(*(set(of_model.keys) for of_model in cells.values()))
    shared = {m: every.take([k for k, key in enumerate(every.keys) if key in common]) for m, every in cells.items()}
    if not {entry for entry, _ in common}.intersection(suite.benchmark()):
        return None
    options: dict[str, Any] = {"suite": suite, "partial": True}
    means = metrics.scores(shared, **options)
    reference = min(cells, key=lambda model: means[model].value)
    pairs = list(itertools.combinations(cells, 2))
    if len(cells) > MOST_PAIRED:
        pairs = [(model, reference) for model in cells if model != reference]
    is_common = all(set(of_model.keys) == common for of_model in cells.values())
    ranked_by = "mce" if summary["mce"].notna().all() and is_common else "mean_error"
    return Comparison(
        reference,
        metrics.differences({(a, b): (shared[a], shared[b]) for a, b in pairs}, **options),
        _differences(shared, suite, reference),
        _cell_differences(shared, suite, reference),
        metrics.ranks(shared, baseline=baseline if ranked_by == "mce" else None, **options),
        ranked_by,
        not is_common,
    )


def _differences(cells: Mapping[str, Cells], suite: Suite, reference: str) -> pd.DataFrame:
    """Every other model minus the reference, by corruption, paired by image."""
    pairs = {
        (model, entry): (cells_of(cells[model], {entry}), cells_of(cells[reference], {entry}))
        for model in cells
        for entry in suite.benchmark()
        if model != reference
    }
    evaluated = {key: pair for key, pair in pairs.items() if pair[0] is not None}
    return _frame(metrics.differences(evaluated, "error"), "model", "corruption")


def _cell_differences(cells: Mapping[str, Cells], suite: Suite, reference: str) -> pd.DataFrame:
    """The same by corruption and severity; p-values are corrected for all cells of a model."""
    pairs = {
        (model, *key): tuple(cells_of(cells[name], {key[0]}, key[1]) for name in (model, reference))
        for model in cells
        for key in sorted(cells[model].keys, key=lambda key: ([*suite.entries, CLEAN].index(key[0]), key[1]))
        if model != reference and key[0] in suite.benchmark()
    }
    found = metrics.differences(pairs, "error")  # type: ignore[arg-type]
    table = _frame(found, "model", "corruption", "severity").assign(p_value=[d.p_value for d in found.values()])
    return table.assign(p_holm=table.groupby("model")["p_value"].transform(metrics.holm))


def _frame(scores: Mapping[Any, Score], *names: str) -> pd.DataFrame:
    """Scores by several names each as a table, with a column for every name."""
    keys = pd.DataFrame(list(scores), columns=list(names))
    return pd.concat([keys, metrics.to_frame(scores, "key").drop(columns="key")], axis=1)


def _by_model(frames: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The frames of all models as one, with a column that says whose a line is."""
    return pd.concat([frame.assign(model=model) for model, frame in frames.items()], ignore_index=True)


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
    reference = find_baseline(evaluation, baseline, rows)
    rows_of_reference = reference if isinstance(reference, pd.DataFrame) else None
    levels = sorted({int(level) for level in evaluation.rows["severity"].unique() if level}) or [1]
    models, suite, measured = list(rows), counted_suite(evaluation), []
    for difficulty in levels:
        options: dict[str, Any] = {"suite": suite, "difficulty": difficulty, "partial": True}
        rates = {model: metrics.mfr(rows[model], baseline=reference, **options) for model in models}
        distances = {model: metrics.mt5d(rows[model], baseline=rows_of_reference, **options) for model in models}
        flips, moves = (
            _by_model({model: metrics.to_frame(score(rows[model], **options)) for model in models})
            for score in (metrics.flip_probability, metrics.top5_distance)
        )
        measured.append(SequenceScores(models, difficulty, rates, distances, flips, moves))
    return measured
