"""The corruption error CE: a model's errors under corruption in percent of a reference model's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import pandas as pd

from scuff.metrics.estimate import Estimate, Group, Statistic, join_groups, score_together, scored
from scuff.metrics.evaluation.errors import error_group
from scuff.metrics.evaluation.references import Errors, Reference, is_relative, load_reference
from scuff.metrics.evaluation.tables import CLEAN, Cells, Rows, read_cells, scored_cells
from scuff.metrics.intervals import DEFAULT, Resampling
from scuff.metrics.score import Score
from scuff.suites import Suite

Baseline: TypeAlias = str | Errors | Reference | Rows | None


def ce(
    rows: Rows,
    *,
    baseline: Baseline = "alexnet",
    relative: bool | None = None,
    suite: Suite | str | None = None,
    partial: bool = False,
    resampling: Resampling = DEFAULT,
) -> dict[str, Score]:
    """The corruption error of every corruption that counts, in percent: 100 is as bad as the reference.

        absolute   CE_c = 100 · Σ_s E_s,c / Σ_s E*_s,c
        relative   CE_c = 100 · Σ_s (E_s,c - E_clean) / Σ_s (E*_s,c - E*_clean)

    with E the model's errors and E* the reference's. The arguments are those of `mce`.

    >>> from scuff.metrics import example_rows
    >>> print(ce(example_rows(), baseline={"fog": [0.5, 0.6], "snow": 0.7})["fog"])
    68 [58, 78] (n = 200; bootstrap over images 95 %)
    """
    groups, vector, entries, note = ce_statistic(rows, baseline, relative, suite, partial)
    estimates = {e: Estimate(groups, lambda *m, k=k: vector(*m)[..., k], note) for k, e in enumerate(entries)}
    return score_together(estimates, resampling)


@scored
def mce(
    rows: Rows,
    *,
    baseline: Baseline = "alexnet",
    relative: bool | None = None,
    suite: Suite | str | None = None,
    partial: bool = False,
    resampling: Resampling = DEFAULT,
) -> Estimate:
    """The mean corruption error, in percent: the mean of `ce` over the corruptions that count; AlexNet is 100.

    Parameters
    ----------
    rows
        Rows of one model, or its `Cells`.
    baseline
        "alexnet", the published errors for the suite that the rows name (ImageNet-C, ImageNet-NOC and its candidates);
        the rows of another model, whose images are resampled too, together with the model's where they are the same;
        {"clean": error, corruption: error or one per severity}, or a `Reference`; or None. With None, and where a suite
        has no published reference, the result is the plain mean error in percent, and its note says so. AlexNet was
        measured on the 1000 classes of ImageNet at 224 pixels; rows do not tell theirs, so that this is up to you
        (`scuff evaluate` and reports look at the data). Of other data, take None.
    relative
        Which definition; by default the one of the suite's authors. ImageNet-C: absolute. ImageNet-NOC: relative, as
        every number that its paper calls CE or mCE is relative, though it cites the absolute definition.
    suite
        Which entries count, and their levels: all but those for validation. By default the bundled suite that the rows
        name; for a suite of your own that is not given, everything counts that is in the rows.
    partial
        Score the cells that exist if others of the suite are missing, instead of failing; the note says how many.

    Examples
    --------
    >>> from scuff.metrics import example_rows
    >>> print(mce(example_rows(), baseline={"fog": [0.5, 0.6], "snow": 0.7}))
    61 [53, 68] (n = 200; bootstrap over images 95 %)
    >>> print(mce(example_rows(), baseline=None))
    38 [33, 42] (n = 200; bootstrap over images 95 %; mean error in percent, not normalised)
    """
    groups, vector, _, note = ce_statistic(rows, baseline, relative, suite, partial)
    if isinstance(baseline, (pd.DataFrame, Cells)):
        return Estimate(groups, lambda *means: vector(*means).mean(axis=-1), note)
    # Against fixed numbers mCE is linear, so that it is the mean of one number per image: what the image alone scores.
    each = vector(groups[0].columns).mean(axis=-1, keepdims=True)
    return Estimate((replace(groups[0], columns=each),), lambda means: means[..., 0], note)


def has_reference(cells: Cells, baseline: Baseline, suite: Suite | str | None) -> bool:
    """Whether a baseline gives these cells a corruption error, rather than a plain mean error."""
    return not isinstance(_find_baseline(cells, scored_cells(cells, suite, partial=True)[0], baseline), str)


def ce_statistic(
    rows: Rows, baseline: Baseline, relative: bool | None, suite: Suite | str | None, partial: bool
) -> tuple[tuple[Group, ...], Statistic, list[str], str]:
    """The groups of images, the function from their column means to the CE of every entry, the entries, and a note."""
    cells = read_cells(rows)
    entries, note = scored_cells(cells, suite, partial)
    reference = _find_baseline(cells, entries, baseline)
    if isinstance(reference, str):
        relative = bool(relative)
        kind = "rise of the error above the clean one" if relative else "error"
        notes = [note, f"mean {kind} in percent, not normalised", reference]
    else:
        relative = is_relative(cells.suite) if relative is None else relative
        notes = [note]
    group = error_group(cells, entries, clean=relative)

    def rise(means: np.ndarray) -> np.ndarray:
        return means[..., 1:] - means[..., :1] if relative else means

    if isinstance(reference, Cells):
        theirs = error_group(reference, _same_places(cells, entries, reference), clean=relative)
        groups, vector = join_groups(group, theirs, lambda own, other: 100 * rise(own) / rise(other))
    else:
        scale = 1.0 if isinstance(reference, str) else _reference_rises(cells, entries, reference, relative)
        groups, vector = (group,), lambda means: 100 * rise(means) / scale
    return groups, vector, list(entries), "; ".join(filter(None, notes))


def _find_baseline(cells: Cells, entries: Mapping[str, list[int]], baseline: Baseline) -> Reference | Cells | str:
    """A reference, the cells of another model, or a text that says why there is neither."""
    if baseline is None:
        return ""
    if isinstance(baseline, str):
        reference = load_reference(baseline, cells.suite)
        if reference is None or not reference.errors:
            return f"there is no {baseline} reference for {cells.suite or 'these rows'}"
        lacking = [entry for entry in entries if entry not in reference.errors]
        return f"there is no {baseline} reference for {', '.join(lacking)}" if lacking else reference
    if isinstance(baseline, (pd.DataFrame, Cells)):
        return read_cells(baseline)
    reference = baseline if isinstance(baseline, Reference) else Reference(baseline, baseline.get(CLEAN))  # type: ignore[arg-type]
    lacking = [entry for entry in entries if entry not in reference.errors]
    if lacking:
        named = ", ".join(reference.errors)
        raise ValueError(f"the baseline lacks the corruptions {', '.join(lacking)}; it names {named}")
    return reference


def _reference_rises(
    cells: Cells, entries: Mapping[str, list[int]], reference: Reference, relative: bool
) -> np.ndarray:
    if relative and reference.clean is None:
        raise ValueError("the relative corruption error needs the baseline's clean error: add 'clean' to the mapping")
    errors = [reference.error(entry, [cells.keys[k][1] for k in places]) for entry, places in entries.items()]
    rises = np.array(errors) - (reference.clean if relative else 0.0)
    return np.where(rises == 0, np.nan, rises)  # makes the score undefined, which its note will say


def _same_places(cells: Cells, entries: Mapping[str, list[int]], other: Cells) -> dict[str, list[int]]:
    """Where the other model has the cells that count for this one."""
    place_of = {key: place for place, key in enumerate(other.keys)}
    lacking = [cells.keys[k] for places in entries.values() for k in places if cells.keys[k] not in place_of]
    if lacking:
        names = ", ".join(f"{corruption} {severity}" for corruption, severity in lacking[:8])
        raise ValueError(f"the baseline {other.model} lacks {len(lacking)} cells of {cells.model}: {names}")
    return {entry: [place_of[cells.keys[k]] for k in places] for entry, places in entries.items()}
