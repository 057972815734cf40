"""Scores of the user's own, shown wherever the summary of an evaluation is."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pandas as pd

from scuff.metrics.evaluation.comparison import SUMMARY
from scuff.metrics.evaluation.tables import by_model
from scuff.metrics.score import Score
from scuff.plugins import load_installed, note_part

Metric = Callable[[pd.DataFrame], "Score | float"]
AnyMetric = TypeVar("AnyMetric", bound=Metric)


@dataclass(frozen=True)
class OwnMetric:
    """A registered score: what it is called, how it is computed from the rows of one model, and which way is better."""

    name: str
    function: Metric
    higher_is_better: bool

    @property
    def text(self) -> str:
        """The first paragraph of its docstring."""
        return " ".join((inspect.getdoc(self.function) or "").partition("\n\n")[0].split())


_registry: dict[str, OwnMetric] = {}


def register(*, higher_is_better: bool = False) -> Callable[[AnyMetric], AnyMetric]:
    """Register the decorated function of one model's rows as a score, under its own name.

    It returns a `Score` (as `scuff.metrics.bootstrap` makes it, with an interval) or a plain number. `scuff evaluate`
    and the page of `scuff report` show it beside the scores of the package.

    >>> @register()
    ... def doctest_sureness(rows):
    ...     "The mean confidence."
    ...     return rows["confidence"].mean()
    >>> from scuff.metrics import example_rows
    >>> with_own_scores(pd.DataFrame({"model": ["a"]}), example_rows("a")).columns.tolist()[:2]
    ['model', 'doctest_sureness']
    >>> _ = _registry.pop("doctest_sureness")
    """

    def add(function: AnyMetric) -> AnyMetric:
        name = function.__name__
        if name in _registry or name in SUMMARY:
            raise ValueError(f"a score is called {name!r} already; give yours another name")
        _registry[name] = OwnMetric(name, function, higher_is_better)
        note_part("metric", name, function.__module__)
        return function

    return add


def own_metrics() -> Mapping[str, OwnMetric]:
    """All registered scores by name."""
    load_installed()
    return _registry


def with_own_scores(summary: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """A summary with the registered scores of its models: NAME, NAME_low and NAME_high."""
    if not own_metrics():
        return summary
    summary, of_model = summary.copy(), by_model(rows)
    for name, metric in _registry.items():
        scores = [_score(metric, of_model[model]) for model in summary["model"]]
        summary[name] = [score.value for score in scores]
        summary[f"{name}_low"], summary[f"{name}_high"] = ([getattr(s, end) for s in scores] for end in ("low", "high"))
    return summary


def _score(metric: OwnMetric, rows: pd.DataFrame) -> Score:
    try:
        score = metric.function(rows)
        return score if isinstance(score, Score) else Score(float(score), np.nan, np.nan, 0, "")
    except Exception as error:  # whatever a user's code may raise
        raise ValueError(f"the metric {metric.name} fails: {type(error).__name__}: {error}") from error
