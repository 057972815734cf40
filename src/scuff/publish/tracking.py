"""An evaluation as runs of MLflow: one per model, in the experiment of its suite."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from scuff.evaluation import CLEAN, Evaluation
from scuff.packages import need
from scuff.publish.evaluations import measure_classifiers
from scuff.report.evaluation.scores import Scores

MOST_AT_ONCE = 1000  # metrics that MLflow takes in one call
TAG = "scuff.results"
KEPT = ("source", "images", "seed", "precision", "limit", "classes")


def log_runs(directory: str, out: str | None, baseline: str | None) -> list[str]:
    """Log every model; one that is there with the same results is left alone. `out` is MLflow's tracking URI."""
    need("an export to MLflow", "mlflow")
    from mlflow import MlflowClient

    evaluation, scores = measure_classifiers(directory, baseline, "mlflow")
    client = MlflowClient(tracking_uri=out if out is None or "://" in out else Path(out).absolute().as_uri())
    name = f"scuff {evaluation.suite.name}"
    experiment = client.get_experiment_by_name(name)
    number = client.create_experiment(name) if experiment is None else experiment.experiment_id
    return [f"run {_log(client, number, model, evaluation, scores)} ({model}) in {name!r}" for model in scores.models]


def _log(client: Any, experiment: str, model: str, evaluation: Evaluation, scores: Scores) -> str:
    """The run that holds the results of a model, made if there is none."""
    from mlflow.entities import Metric, Param

    about = evaluation.models.get(model, {})
    now = int(1000 * time.time())
    metrics = [Metric(key, value, now, step) for key, value, step in _metrics(model, scores) if not math.isnan(value)]
    told = {"suite": evaluation.suite.name, "suite_version": evaluation.suite.version}
    told |= {key: evaluation.settings.get(key) for key in KEPT}
    told |= {key: about.get(key) for key in ("address", "fingerprint", "parameters")}
    results = json.dumps([model, told, [(each.key, each.value, each.step) for each in metrics]], sort_keys=True)
    digest = hashlib.blake2b(results.encode(), digest_size=8).hexdigest()
    known = client.search_runs([experiment], f"tags.`{TAG}` = '{digest}' and attributes.status = 'FINISHED'")
    if known:
        return known[0].info.run_id
    run = client.create_run(experiment, run_name=model, tags={TAG: digest, "scuff.version": _version(evaluation)})
    params = [Param(key, str(value)) for key, value in told.items() if value is not None]
    client.log_batch(run.info.run_id, params=params)
    for start in range(0, len(metrics), MOST_AT_ONCE):
        client.log_batch(run.info.run_id, metrics=metrics[start : start + MOST_AT_ONCE])
    client.set_terminated(run.info.run_id)
    return run.info.run_id


def _metrics(model: str, scores: Scores) -> Iterator[tuple[str, float, int]]:
    """Names, values and steps: scores with their intervals, and errors by corruption with the severity as step."""
    line = scores.summary[scores.summary["model"] == model].iloc[0]
    yield from ((key, float(line[key]), 0) for key in line.index if key != "model" and _is_number(line[key]))
    of_model = scores.errors[(scores.errors["model"] == model) & (scores.errors["corruption"] != CLEAN)]
    for row in of_model.itertuples():
        yield f"error/{row.corruption}", float(row.value), int(row.severity)
    for row in scores.means[scores.means["model"] == model].itertuples():
        yield from (
            (f"mean_error/{row.corruption}{end}", float(getattr(row, end.lstrip("_") or "value")), 0)
            for end in ("", "_low", "_high")
        )


def _is_number(value: Any) -> bool:
    return pd.api.types.is_number(value)


def _version(evaluation: Evaluation) -> str:
    return str(evaluation.settings.get("scuff", ""))
