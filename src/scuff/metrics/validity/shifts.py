"""Accuracies of many models on clean, on corrupted, and on naturally shifted images.

Whether a synthetic benchmark predicts robustness to natural shifts is a question about this table. A study makes one
from evaluations or from any wide table; for the columns of a CSV file see `metrics.validity.shift_tables`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from scuff.words import name_some

LEAST_MODELS = 5  # fewer correlate by chance: four models in one order out of 24 is no evidence
CORRUPTED, NATURAL, REFERENCE, SCORE = "corrupted:", "natural:", "reference:", "score:"
TABLES = {CORRUPTED: "corrupted", NATURAL: "natural", REFERENCE: "references", SCORE: "scores"}  # by column prefix
MEAN = "mean"  # over all natural benchmarks, of the correlations with each
BETWEEN = ";"  # separates the members of a benchmark in one cell of a table


@dataclass(frozen=True, eq=False, repr=False)
class Shifts:
    """Fractions of correct predictions, one row per model in every table.

    Parameters
    ----------
    clean
        On clean images of all classes.
    corrupted
        One column per corruption, `suite/entry`, each the mean over its severities.
    natural, references
        One column per natural benchmark: its images, and the clean images of the same classes, scored alike.
    scores
        Synthetic benchmarks that are not accuracies, such as mean flip rates. Larger means less robust.
    families
        Which models are alike. Resampling and cross-validation keep a family together.
    standard
        Models without any intervention for robustness, relative to which effective robustness is measured. None: not
        named, so all serve. If those that were named are all left out, it is empty, and there is no effective
        robustness.
    left_out
        Why other models of the source are not here.

    Examples
    --------
    >>> from scuff.metrics import read_shifts
    >>> table = {"model": list("abcde"), "clean": 0.8, "corrupted:x/fog": [0.1, 0.2, 0.3, 0.4, 0.5], "natural:y": 0.6}
    >>> shifts = read_shifts(pd.DataFrame(table))
    >>> shifts
    Shifts(models: 5, corruptions: 1, scores: 0, natural: y)
    >>> shifts.synthetic_residuals()["x/fog"].round(1).tolist(), shifts.natural_residuals()["y"].round(1).tolist()
    ([0.7, 0.6, 0.5, 0.4, 0.3], [0.2, 0.2, 0.2, 0.2, 0.2])
    """

    clean: pd.Series
    corrupted: pd.DataFrame
    natural: pd.DataFrame
    references: pd.DataFrame
    scores: pd.DataFrame
    families: pd.Series | None = None
    standard: tuple[str, ...] | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_names(self)
        _check_values(self)

    def __repr__(self) -> str:
        counts = f"models: {len(self.clean)}, corruptions: {self.corrupted.shape[1]}, scores: {self.scores.shape[1]}"
        return f"Shifts({counts}, natural: {', '.join(self.natural)})"

    @property
    def models(self) -> tuple[str, ...]:
        """The names of the models."""
        return tuple(self.clean.index)

    def synthetic_residuals(self) -> pd.DataFrame:
        """What models lose to each corruption, A_clean - A_corrupted, and beside it the other scores as they are.

        A benchmark's residual robustness is the mean of those of its corruptions.
        """
        return pd.concat([self.corrupted.rsub(self.clean, axis=0), self.scores], axis=1)

    def natural_residuals(self) -> pd.DataFrame:
        """What models lose to each natural shift, on the same classes."""
        return self.references - self.natural

    def take(self, models: Sequence[str]) -> Shifts:
        """Some of the models, in this order."""
        unknown = [name for name in models if name not in self.clean.index]
        if unknown:
            raise ValueError(f"there is no model {name_some(unknown)}; there are {name_some(self.models)}")
        tables = {name: getattr(self, name).loc[list(models)] for name in ("clean", *TABLES.values())}
        families = None if self.families is None else self.families.loc[list(models)]
        standard = None if self.standard is None else tuple(name for name in self.standard if name in models)
        return replace(self, **tables, families=families, standard=standard)

    def to_frame(self) -> pd.DataFrame:
        """The table of the CSV file; `metrics.read_shifts` reads it."""
        tables = [getattr(self, name).add_prefix(prefix) for prefix, name in TABLES.items()]
        frame = pd.concat([self.clean.rename("clean"), *tables], axis=1).rename_axis("model").reset_index()
        if self.families is not None:
            frame.insert(1, "family", self.families.to_numpy())
        if self.standard is not None:
            frame.insert(1, "standard", frame["model"].isin(self.standard).astype(int))
        return frame


def _check_names(shifts: Shifts) -> None:
    models, synthetic = list(shifts.models), [*shifts.corrupted, *shifts.scores]
    if any(list(getattr(shifts, name).index) != models for name in TABLES.values()):
        raise ValueError("all tables of shifts must have the same models in the same order")
    if list(shifts.references) != list(shifts.natural):
        raise ValueError("every natural benchmark needs one reference, in the same order")
    if shifts.natural.columns.empty:
        raise ValueError("there is no natural benchmark in the table")
    if not synthetic:
        raise ValueError("there is no synthetic benchmark in the table: neither corruptions nor other scores")
    if MEAN in shifts.natural:
        raise ValueError(f"a natural benchmark must not be called {MEAN!r}, which is the mean over all of them")
    parted = [name for name in synthetic if BETWEEN in str(name)]
    if parted:
        raise ValueError(f"a synthetic name must not have {BETWEEN!r} in it, which separates names: {parted[0]}")
    for names, what in ((models, "models"), (synthetic, "synthetic names"), (list(shifts.natural), "natural names")):
        repeated = list(dict.fromkeys(name for name in names if names.count(name) > 1))
        if repeated:
            raise ValueError(f"these {what} occur twice: {name_some(repeated)}")
    if len(models) < LEAST_MODELS:
        raise ValueError(f"a correlation over models needs at least {LEAST_MODELS} of them, got {len(models)}")
    families = shifts.families
    if families is not None and (list(families.index) != models or families.isna().any()):
        raise ValueError("families must name one for every model, in the same order")


def _check_values(shifts: Shifts) -> None:
    tables = {"clean images": shifts.clean.to_frame(), "corrupted images": shifts.corrupted}
    tables |= {"natural shifts": shifts.natural, "clean images of the same classes": shifts.references}
    for what, table in tables.items():
        values = table.to_numpy(float)
        bad = ~((values >= 0) & (values <= 1))
        if bad.any():
            row, column = np.argwhere(bad)[0]
            hint = "; are they in percent?" if 1 < values[row, column] < np.inf else ""
            raise ValueError(
                f"accuracies are fractions from 0 to 1, got {values[row, column]:g} for {table.index[row]} on "
                f"{table.columns[column]} ({what}){hint}"
            )
    if not np.isfinite(shifts.scores.to_numpy(float)).all():
        raise ValueError("other scores must be finite numbers")
