"""Runs of MLflow, in a folder of this machine."""

import pytest
from made_evaluations import make_evaluation, save_evaluation

from scuff import metrics
from scuff.publish import export_results

pytestmark = pytest.mark.filterwarnings("default")  # those of MLflow are not ours


def test_a_run_per_model_with_scores_and_errors_by_severity(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    from mlflow import MlflowClient

    made = make_evaluation(tmp_path / "run", "cifar10-c-bar", models=("mlp", "resnet20"), images=40)
    folder = save_evaluation(made, tmp_path / "run")
    first = export_results(folder, "mlflow", tmp_path / "mlruns")
    assert export_results(folder, "mlflow", tmp_path / "mlruns") == first  # nothing twice
    client = MlflowClient((tmp_path / "mlruns").as_uri())
    experiment = client.get_experiment_by_name("scuff cifar10-c-bar").experiment_id
    runs = {run.info.run_name: run for run in client.search_runs([experiment])}
    assert set(runs) == {"mlp", "resnet20"}
    rows = made.rows[made.rows["model"] == "mlp"]
    assert runs["mlp"].data.metrics["mean_error"] == pytest.approx(metrics.mean_error(rows).value)
    assert runs["mlp"].data.params["suite"] == "cifar10-c-bar"
    history = client.get_metric_history(runs["mlp"].info.run_id, "error_of/brownish_noise")
    noise = rows[rows["corruption"] == "brownish_noise"]
    errors = (noise["prediction"] != noise["label"]).groupby(noise["severity"]).mean()
    assert len(errors) == 5
    assert {each.step: each.value for each in history} == pytest.approx(errors.to_dict())


def test_what_mlflow_refuses_is_one_line(tmp_path):
    folder = save_evaluation(make_evaluation(tmp_path, "cifar10-c-bar", models=("mlp",), images=16), tmp_path)
    with pytest.raises(ValueError, match="MLflow refuses"):
        export_results(folder, "mlflow", "nonsense://place")
