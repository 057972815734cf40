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

from scuff.evaluation import Evaluation
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
    from mlflow.exceptions import MlflowException

    evaluation, scores = measure_classifiers(directory, baseline, "mlflow")
    name = f"scuff {evaluation.suite.name}"
    try:
        client = MlflowClient(tracking_uri=out if out is None or "://" in out else Path(out).absolute().as_uri())
        experiment = client.get_experiment_by_name(name)
        number = client.create_experiment(name) if experiment is None else experiment.experiment_id
        runs = {model: _log(client, number, model, evaluation, scores) for model in scores.models}
    except MlflowException as error:
        raise ValueError(f"MLflow refuses: {error}") from error
    return [f"{model} as run {run} of the experiment {name!r}" for model, run in runs.items()]


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
    run = client.create_run(
        experiment, run_name=model, tags={TAG: digest, "scuff.version": str(evaluation.settings.get("scuff"))}
    )
    params = [Param(key, str(value)) for key, value in told.items() if value is not None]
    client.log_batch(run.info.run_id, params=params)
    for start in range(0, len(metrics), MOST_AT_ONCE):
        client.log_batch(run.info.run_id, metrics=metrics[start : start + MOST_AT_ONCE])
    client.set_terminated(run.info.run_id)
    return run.info.run_id


def _metrics(model: str, scores: Scores) -> Iterator[tuple[str, float, int]]:
    """Names, values and steps: scores with their intervals, and errors by corruption with the severity as step."""
    line = scores.summary[scores.summary["model"] == model].iloc[0]
    yield from ((key, float(value), 0) for key, value in line.items() if pd.api.types.is_number(value))
    for cell in scores.errors[scores.errors["model"] == model].to_dict("records"):
        yield f"error_of/{cell['corruption']}", float(cell["value"]), int(cell["severity"])
    for line in scores.means[scores.means["model"] == model].to_dict("records"):
        for column, end in (("value", ""), ("low", "_low"), ("high", "_high")):
            yield f"mean_error_of/{line['corruption']}{end}", float(line[column]), 0
