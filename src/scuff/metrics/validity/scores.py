"""Validity: does robustness to a synthetic benchmark predict robustness to natural shifts?

Over many models, what they lose to the synthetic benchmark is correlated with what they lose to a natural one. A
benchmark is a set of corruptions, or of other scores, and its residual robustness the mean of theirs.

    pearson, spearman   of residual robustness on both
    partial             Pearson's of residual robustness, given a line in clean accuracy
    curved              the same, given a curve, a polynomial of degree three: weak models have little to lose, and the
                        best lose less again, so what shifts cost is not linear in clean accuracy
    effective           Pearson's of effective robustness on both, see `metrics.effective`
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from scuff.metrics.estimate import without_noise
from scuff.metrics.intervals import DEFAULT, Resampling
from scuff.metrics.validity.correlation import p_values, p_values_of, why_undefined
from scuff.metrics.validity.effective import effective_robustness
from scuff.metrics.validity.resampled import (
    Kind,
    centre,
    in_blocks,
    resample_models,
    resampled,
    score_draws,
    varies,
    weigh,
)
from scuff.metrics.validity.shifts import MEAN, Shifts
from scuff.words import join_notes, near_names

KINDS = ("pearson", "spearman", "partial", "curved", "effective")
DEGREES = {"partial": 1, "curved": 3}  # of the polynomial in clean accuracy
LEAST_CURVED = 10  # models: a curve through fewer leaves hardly anything to correlate
CLEAN = "clean accuracy"


def validity(
    shifts: Shifts, benchmarks: Mapping[str, Sequence[str]], *, resampling: Resampling = DEFAULT
) -> pd.DataFrame:
    """How strongly benchmarks, each a name and synthetic columns of `shifts`, predict every natural benchmark.

    Returns
    -------
    pd.DataFrame
        A row per benchmark, kind of correlation and natural benchmark, and one for the mean over these: benchmark,
        size, natural, kind, value, low, high, p_value, models, note. Intervals are percentiles of a bootstrap over
        models, or over their families; all rows share its resamples. The p-value of a mean is the mean of p-values.

        A benchmark with scores that are not accuracies has no effective robustness, and no rows of that kind.

    Examples
    --------
    >>> from scuff.metrics import read_shifts
    >>> table = {"model": list("abcdef"), "clean": [0.6, 0.7, 0.7, 0.8, 0.9, 0.9]}
    >>> table |= {"corrupted:x/fog": [0.2, 0.5, 0.4, 0.6, 0.8, 0.7]}
    >>> shifts = read_shifts(pd.DataFrame(table | {"natural:y": [0.3, 0.5, 0.5, 0.6, 0.8, 0.8]}))
    >>> found = validity(shifts, {"all": ["x/fog"]})
    >>> found[found["natural"] == "y"].set_index("kind")["value"].round(3).to_dict()
    {'pearson': 0.857, 'spearman': 0.82, 'partial': 0.289, 'curved': nan, 'effective': 0.617}
    """
    if not benchmarks:
        raise ValueError("validity needs at least one benchmark, got none")
    residuals = {name: residuals_of(shifts, members, name) for name, members in benchmarks.items()}
    times = _all_and_resamples(shifts, resampling)
    correlations = {kind: _correlate_residuals(kind, shifts, residuals, times) for kind in KINDS[:-1]}
    correlations["effective"] = _correlate_effective(shifts, benchmarks, times)
    rows = []
    for name, members in benchmarks.items():
        for kind in KINDS:
            if name in correlations[kind]:
                head = {"benchmark": name, "size": len(members)}
                for line in correlations[kind][name].summarise(shifts, resampling):
                    rows.append(head | {"natural": line["natural"], "kind": kind} | line)
    return pd.DataFrame(rows)


def contributions(shifts: Shifts, benchmark: Sequence[str], *, resampling: Resampling = DEFAULT) -> pd.DataFrame:
    """Which corruptions of a benchmark carry the signal: Pearson's correlation of each alone, and without it.

    Returns
    -------
    pd.DataFrame
        A row per corruption and natural benchmark, and one for the mean over these: corruption, natural, alone,
        alone_low, alone_high, alone_gain, alone_gain_low, alone_gain_high, without, gain, gain_low, gain_high, note.
        `alone_gain` is the correlation of the corruption alone minus that of the whole benchmark: above 0, it predicts
        better alone. `without` is the correlation of the benchmark without the corruption, and `gain` that of the whole
        benchmark minus this one: below 0, it predicts better without. Intervals as in `validity`; both sides of a
        difference see the same resamples.

    Examples
    --------
    >>> from scuff.metrics import read_shifts
    >>> table = {"model": list("abcde"), "clean": 0.9, "corrupted:x/fog": [0.3, 0.4, 0.5, 0.6, 0.8]}
    >>> table |= {"corrupted:x/snow": [0.5, 0.4, 0.5, 0.4, 0.5], "natural:y": [0.4, 0.4, 0.5, 0.6, 0.7]}
    >>> found = contributions(read_shifts(pd.DataFrame(table)), ["x/fog", "x/snow"])
    >>> found = found[found["natural"] == "y"].set_index("corruption")
    >>> found[["alone", "alone_gain", "without", "gain"]].round(3).values.tolist()
    [[0.977, 0.023, 0.14, 0.814], [0.14, -0.814, 0.977, -0.023]]
    """
    whole = "the benchmark"
    rest = {name: f"the rest without {name}" for name in benchmark}
    sets = {whole: benchmark} | {name: [name] for name in benchmark}
    if len(benchmark) > 1:
        sets |= {label: [other for other in benchmark if other != name] for name, label in rest.items()}
    residuals = {name: residuals_of(shifts, members, name) for name, members in sets.items()}
    correlations = _correlate_residuals("pearson", shifts, residuals, _all_and_resamples(shifts, resampling))
    rows = []
    for name in benchmark:
        without = correlations.get(rest[name], correlations[whole].undefined("the benchmark has no other member"))
        parts = {"alone": correlations[name], "alone_gain": correlations[name].minus(correlations[whole])}
        parts |= {"without": without, "gain": correlations[whole].minus(without)}
        summaries = [part.summarise(shifts, resampling) for part in parts.values()]
        for each in zip(*summaries, strict=True):
            row = {"corruption": name, "natural": each[0]["natural"]}
            for part, summary in zip(parts, each, strict=True):
                row |= {part: summary["value"], f"{part}_low": summary["low"], f"{part}_high": summary["high"]}
            note = join_notes(summary["note"] for part, summary in zip(parts, each, strict=True) if part != "without")
            rows.append(row | {"note": note})
    return pd.DataFrame(rows).drop(columns=["without_low", "without_high"])


def residuals_of(shifts: Shifts, benchmark: Sequence[str], name: str = "the benchmark") -> np.ndarray:
    """The residual robustness of every model to a benchmark: the mean of what it loses to the members."""
    table = shifts.synthetic_residuals()
    members = list(benchmark)
    if not members or isinstance(benchmark, str):
        raise ValueError(f"{name} must be a list of synthetic columns, got {benchmark!r}")
    for member in members:
        if member not in table:
            raise ValueError(f"{name} holds {member!r}, which the table lacks; {near_names(member, table)}")
        if members.count(member) > 1:
            raise ValueError(f"{name} holds {member} twice")
    return table[members].mean(axis=1).to_numpy()


@dataclass(frozen=True, eq=False)
class _Correlations:
    """Correlations of one benchmark with every natural one: of all models, then of every resample, (1 + count, N).

    A note says why there is none, or what else must be known.
    """

    draws: np.ndarray
    p_values: np.ndarray
    notes: list[str]

    def minus(self, other: _Correlations) -> _Correlations:
        notes = [join_notes(pair) for pair in zip(self.notes, other.notes, strict=True)]
        return _Correlations(self.draws - other.draws, self.p_values * np.nan, notes)

    def undefined(self, why: str) -> _Correlations:
        return _Correlations(self.draws * np.nan, self.p_values * np.nan, [why for _ in self.notes])

    def summarise(self, shifts: Shifts, resampling: Resampling) -> list[dict]:
        """A row per natural benchmark, and one for the mean."""
        draws = np.column_stack([self.draws, self.draws.mean(axis=1)])
        reasons = [note for value, note in zip(self.draws[0], self.notes, strict=True) if np.isnan(value)]
        notes = [*self.notes, join_notes(reasons)]
        p_values = [*self.p_values, self.p_values.mean()]
        rows = []
        for place, natural in enumerate([*shifts.natural, MEAN]):
            n, level = len(shifts.models), resampling.level
            score = score_draws(float(draws[0, place]), draws[1:, place], n, level, "", [notes[place]])
            row = {"natural": natural, "value": score.value, "low": score.low, "high": score.high}
            rows.append(row | {"p_value": float(p_values[place]), "models": n, "note": score.note})
        return rows


def _all_and_resamples(shifts: Shifts, resampling: Resampling) -> np.ndarray:
    """How often each model occurs: once, and then as resamples have it, (1 + count, n)."""
    n = len(shifts.models)
    return np.vstack([np.ones(n, int), resample_models(n, resampling, shifts.families)])


def _correlate_residuals(
    kind: str, shifts: Shifts, residuals: Mapping[str, np.ndarray], times: np.ndarray
) -> dict[str, _Correlations]:
    natural = shifts.natural_residuals()
    x, y = np.array(list(residuals.values())), natural.to_numpy(float).T
    if kind == "spearman":
        x, y = without_noise(x), without_noise(y)  # 0.6 - 0.3 and 0.7 - 0.4 are one rank, and two floating numbers
    degree = DEGREES.get(kind, 0)
    if kind == "curved" and len(times[0]) < LEAST_CURVED:
        why = f"a curve in {CLEAN} needs at least {LEAST_CURVED} models, there are {len(times[0])}"
        nothing = _Correlations(np.full((len(times), len(y)), np.nan), np.full(len(y), np.nan), [why] * len(y))
        return dict.fromkeys(residuals, nothing)
    given = shifts.clean.to_numpy(float) if degree else None
    idle = given is not None and not varies(given)
    about = f"{CLEAN} is the same for all models, and explains nothing" if idle else ""
    how: Kind = "partial" if degree else kind  # type: ignore[assignment]
    draws = resampled(how, x, y, times, given, degree)
    p_values = p_values_of(how, x, y, draws[0], degree)
    correlations = {}
    for place, name in enumerate(residuals):
        notes = [about] * len(y)
        for column in np.flatnonzero(np.isnan(draws[0, place])):
            names = [f"the residual robustness to {what}" for what in (name, natural.columns[column])]
            notes[column] = why_undefined(x[place], y[column], given, (*names, CLEAN), degree)
        correlations[name] = _Correlations(draws[:, place], p_values[place], notes)
    return correlations


def _correlate_effective(
    shifts: Shifts, benchmarks: Mapping[str, Sequence[str]], times: np.ndarray
) -> dict[str, _Correlations]:
    """Of those benchmarks that are made of accuracies; lines are fitted anew to every resample."""
    clean = shifts.clean.to_numpy(float)
    synthetic = {
        name: (clean, shifts.corrupted[list(members)].mean(axis=1).to_numpy(float))
        for name, members in benchmarks.items()
        if all(member in shifts.corrupted for member in members)
    }
    if not synthetic:
        return {}
    natural = {
        name: tuple(table[name].to_numpy(float) for table in (shifts.references, shifts.natural))
        for name in shifts.natural
    }
    standard = None if shifts.standard is None else np.isin(shifts.models, shifts.standard)

    def correlations(times: np.ndarray) -> np.ndarray:
        sides = ([_deviations(a, b, standard, times)[0] for a, b in side.values()] for side in (synthetic, natural))
        first, second = (np.stack(side, axis=1) for side in sides)
        return weigh(first, second, times)

    draws = in_blocks(correlations, times, len(synthetic) + len(natural))
    p = p_values(draws[0], len(clean), given=1)  # as lines have taken away what clean accuracy explains
    once = np.ones((1, len(clean)))
    of_synthetic, of_natural = (
        [
            f"on {name}, {note}" if (note := _deviations(a, b, standard, once)[1]) else ""
            for name, (a, b) in side.items()
        ]
        for side in (synthetic, natural)
    )
    return {
        name: _Correlations(draws[:, place], p[place], [join_notes([of_synthetic[place], note]) for note in of_natural])
        for place, name in enumerate(synthetic)
    }


def _deviations(
    clean: np.ndarray, shifted: np.ndarray, standard: np.ndarray | None, times: np.ndarray
) -> tuple[np.ndarray, str]:
    """Effective robustness minus its mean in every resample, (count, n), and a note on the line."""
    if not ((clean > 0) & (clean < 1)).all():
        return np.full(times.shape, np.nan), "the clean accuracy of some model is 0 or 1, and has no logit"
    effective = effective_robustness(clean, shifted, standard, times)
    centred = centre(effective.values[:, None], times, shifted[None])[:, 0]
    on_the_line = np.isfinite(effective.values).all() and np.isnan(centred).all()
    return centred, "all models are as robust as the line says" if on_the_line else effective.note
