"""`scuff compare`, and the files that scripts read, as they are typed."""

import json

import numpy as np
import pandas as pd
import pytest
from made_evaluations import make_evaluation, save_evaluation
from typer.testing import CliRunner

from scuff import metrics
from scuff.cli import app
from scuff.evaluation import read_evaluation


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Evaluations of a good and of a bad model: in a folder each, and together."""
    folder = tmp_path_factory.mktemp("runs")
    for name, models in (("good", ("wide-resnet",)), ("bad", ("mlp",)), ("both", ("mlp", "wide-resnet"))):
        save_evaluation(make_evaluation(folder / "data", models=models, images=120), folder / name)
    save_evaluation(make_evaluation(folder / "few", models=("mlp",), images=60), folder / "less")
    return folder


@pytest.fixture
def run(runs, monkeypatch):
    monkeypatch.chdir(runs)
    return lambda *arguments: CliRunner().invoke(app, [str(a) for a in arguments])


def test_the_verdict_is_in_words_and_names_its_correction(run):
    result = run("compare", "bad", "good")
    assert result.exit_code == 0, result.output
    assert (
        "Corrupted images: wide-resnet makes fewer errors than mlp; mlp 50.6 %, wide-resnet 17.7 %, difference -32.9"
        in result.output
    )
    assert "p < 0.001." in result.output
    assert "(p < 0.05 after Holm's correction for 15 comparisons)" in result.output
    assert "of 8 classes" in result.output
    assert "Holm's correction for 75 cells" in result.output
    for words in ("gaussian noise", "Errors by class over all corruptions", "stripes"):
        assert words in result.output


def test_the_numbers_are_those_of_the_metrics(run, runs, tmp_path):
    as_json, as_csv = tmp_path / "x.json", tmp_path / "x.csv"
    result = run("compare", "both:mlp", "both:wide-resnet", "--json", as_json, "--csv", as_csv)
    assert result.exit_code == 0, result.output
    own = metrics.by_model(read_evaluation(runs / "both").rows)
    expected = metrics.difference(own["wide-resnet"], own["mlp"])
    numbers = json.loads(as_json.read_text())
    assert (numbers["a"], numbers["b"]) == ("mlp", "wide-resnet")
    for key in ("value", "low", "high", "p_value"):
        assert numbers["overall"]["b_minus_a"][key] == pytest.approx(getattr(expected, key), abs=1e-9)
    cells = pd.read_csv(as_csv)
    errors = {model: metrics.cell_errors(rows).set_index(["corruption", "severity"]) for model, rows in own.items()}
    for line in cells.itertuples():
        key = (line.corruption, line.severity)
        assert line.a == pytest.approx(errors["mlp"].loc[key, "value"])
        assert line.b_minus_a == pytest.approx(errors["wide-resnet"].loc[key, "value"] - line.a)
    assert len(cells) == 75
    np.testing.assert_allclose(cells["p_holm"], metrics.holm(cells["p_value"]))
    labels = own["mlp"][own["mlp"].corruption != "clean"]
    of_class = labels[labels.label == 3]
    assert numbers["classes"][3]["a"] == pytest.approx((of_class.label != of_class.prediction).mean())


def test_a_folder_with_two_models_is_enough_and_equal_models_do_not_differ(run):
    assert "wide-resnet makes fewer errors than mlp" in run("compare", "both").output
    result = run("compare", "good", "both:wide-resnet")
    assert result.exit_code == 0, result.output
    assert "Corrupted images: no clear difference" in result.output
    assert "good is better on 0, both:wide-resnet on 0, and 15 are not clear" in result.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("bad", "both"), "both holds mlp and wide-resnet; which one? Write both:mlp"),
        (("bad", "both:vgg"), "which one?"),
        (("bad", "less"), "they differ in source_fingerprint"),
        (("good",), "good holds wide-resnet; name two of them"),
        (("bad", "nothing"), "nothing is not the folder of an evaluation"),
        (("bad", "good", "--csv", "no/x.csv"), "no/x.csv cannot be written: no such folder"),
    ],
)
def test_mistakes_are_one_sentence(run, arguments, words):
    result = run("compare", *arguments)
    assert result.exit_code == 2
    assert words in result.output
    assert len(result.output.splitlines()) == 1


def test_clean_images_alone_are_compared(run, runs, tmp_path):
    for name, model in (("a", "mlp"), ("b", "wide-resnet")):
        evaluation = make_evaluation(tmp_path / "data", models=(model,), images=40)
        clean = evaluation.rows[evaluation.rows["corruption"] == "clean"]
        save_evaluation(
            type(evaluation)(clean, evaluation.settings, evaluation.models, evaluation.suite), tmp_path / name
        )
    result = run("compare", tmp_path / "a", tmp_path / "b")
    assert result.exit_code == 0, result.output
    assert "Corrupted images" not in result.output
    assert "Errors by class of clean images" in result.output
