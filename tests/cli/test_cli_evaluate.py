"""`scuff evaluate`, `scuff report` and `scuff demo`, as they are typed."""

import dataclasses
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import scuff
from scuff.cli import app, demo
from scuff.models import read_origin
from scuff.training import find_recipe

WEIGHTS = Path(scuff.__file__).parent / "assets" / "demo"

NETS = """
import time
import torch

torch.manual_seed(0)
weights = torch.randn(28 * 28, 10)

def plain(batch):
    return (batch - 0.3).flatten(1) @ weights.to(batch.device)

def slow(batch):
    time.sleep(0.2)
    return plain(batch)

def broken(batch):
    return plain(batch)[:, 0]

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.linear = torch.nn.Linear(784, 10)

    def forward(self, x):
        return self.linear(x.flatten(1))
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a command in a folder that holds only a module of models."""
    (tmp_path / "cli_test_nets.py").write_text(NETS)
    monkeypatch.chdir(tmp_path)
    yield lambda *arguments: CliRunner().invoke(app, [str(a) for a in arguments])
    sys.modules.pop("cli_test_nets", None)


def evaluate(run, *arguments, models=("cli_test_nets:plain",), out="out"):
    return run(
        "evaluate", *models, "--suite", "cifar10-c", "--data", "fashion", "--out", out, "--limit", "30", *arguments
    )


def test_repair_makes_damaged_cells_again(run):
    few = ("--only", "contrast", "--severity", "2")
    assert evaluate(run, *few).exit_code == 0
    file = next(Path("out").glob("rows/*/contrast-2-*.parquet"))
    whole = file.read_bytes()
    middle = len(whole) // 3
    file.write_bytes(whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :])
    for failed in (evaluate(run, *few), run("report", "out")):
        assert failed.exit_code == 2
        assert f"{file.name} is damaged" in failed.output
        assert "--repair" in failed.output
    looked = evaluate(run, *few, "--repair", "--dry-run")
    assert "to be made again" in looked.output
    assert file.exists()
    mended = evaluate(run, *few, "--repair")
    assert mended.exit_code == 0
    assert f"Damaged, removed and made again: out/rows/plain/{file.name}" in mended.output
    assert file.read_bytes() == whole


@pytest.mark.parametrize(
    ("out", "words"), [("s3:x", "s3://x"), ("a::b", "::"), ("http://localhost:1/x", "nothing can be written to http")]
)
def test_odd_places_for_results_are_refused(run, out, words):
    for failed in (
        evaluate(run, out=out),
        run("overlap", "cifar10-c", "--data", "fashion", "--recipe", "fashion", "--out", out),
        run("train", "--data", "fashion", "--recipe", "fashion", "--out", f"{out}.safetensors"),
    ):
        assert failed.exit_code == 2
        assert words in failed.output
    assert {p.name for p in Path().iterdir()} <= {"cli_test_nets.py", "__pycache__"}


def found(result, score):
    """What the table says about a score, model after model."""
    line = next(line for line in result.output.splitlines() if line.strip().startswith(score))
    return " ".join(line.split()).removeprefix(score).strip()


SCUFF = [str(Path(sys.executable).with_name("scuff"))]
FEW = ("--only", "fog,contrast", "--severity", "1,4")


def test_an_evaluation_prints_scores_with_intervals(run, tmp_path):
    result = evaluate(run, *FEW, models=("cli_test_nets:plain", "other=cli_test_nets:Net"))
    assert result.exit_code == 0, result.output
    assert "Cells: 10, of which 0 exist already; in out" in result.output
    assert "300 predictions in" in result.output
    rows = scuff.read_evaluation(tmp_path / "out").rows
    summary = scuff.metrics.summary(rows, baseline=None)
    assert found(result, "corrupted cells") == "4 of 75 4 of 75"
    values = [[100 * line[f"mean_error{end}"] for end in ("", "_low", "_high")] for _, line in summary.iterrows()]
    assert found(result, "mean error %") == " ".join(f"{v:.1f} [{low:.1f}, {high:.1f}]" for v, low, high in values)
    again = evaluate(run, *FEW, models=("cli_test_nets:plain", "other=cli_test_nets:Net"))
    assert again.exit_code == 0
    assert "Cells: 10, of which 10 exist already" in again.output


def test_a_dry_run_lists_cells_and_cost_and_writes_nothing(run, tmp_path):
    result = evaluate(run, *FEW, "--dry-run")
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    cells = ["  clean: plain", *(f"  {c} {s}: plain" for c in ("fog", "contrast") for s in (1, 4))]
    assert lines[4:10] == [*cells, "Predictions: 150"]
    assert re.search(r"To compute: \S+ CPU hours; \d+ kB of files\.\n", result.output)
    assert not (tmp_path / "out").exists()


def test_a_model_can_be_the_baseline(run):
    result = evaluate(run, *FEW, "--baseline", "plain", models=("cli_test_nets:plain", "cli_test_nets:Net"))
    assert result.exit_code == 0, result.output
    assert found(result, "mCE %").endswith(" 100.0 [100.0, 100.0]")  # the second in order, against itself


def test_sequences_are_scored_by_their_flips(run):
    result = run(
        "evaluate", "cli_test_nets:plain", "--suite", "cifar10-p", "--data", "fashion", "--out", "out", "--limit", "10",
        "--only", "translate,brightness",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "flip probability % (1)" in result.output
    assert "top-5 distance (1)" in result.output
    assert "2 of 10" in result.output


def test_noise_has_difficulties_of_its_own(run):
    result = run(
        "evaluate", "cli_test_nets:plain", "--suite", "cifar10-p", "--data", "fashion", "--out", "out", "--limit", "5",
        "--only", "shot_noise", "--severity", "2,3",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "flip probability % (2)" in result.output
    assert "flip probability % (3)" in result.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--precision", "float8"), "precision must be one of float32, bfloat16, float16"),
        (("--severity", "one"), "--severity takes whole numbers"),
        (("--mean", "grey"), "--mean takes numbers"),
        (("--only", "fogg"), "did you mean fog"),
        (("--crop", "20"), "resize and crop are for pictures"),
        (("--baseline", "nobody"), "nobody"),
    ],
)
def test_mistakes_are_one_line(run, arguments, words):
    result = evaluate(run, "--only", "fog", "--severity", "1", *arguments)
    assert result.exit_code == 2, result.output
    errors = [line for line in result.output.splitlines() if line.startswith("Error")]
    assert len(errors) == 1
    assert words in errors[0]


def test_unknown_models_and_outputs_of_a_wrong_shape_are_explained(run):
    result = evaluate(run, *FEW, models=("cli_test_nets:missing",))
    assert result.exit_code == 2
    assert "missing" in result.output
    result = evaluate(run, *FEW, models=("cli_test_nets:broken",))
    assert result.exit_code == 2
    assert "(30,)" in result.output


def test_a_full_disk_has_an_exit_code_of_its_own(run, monkeypatch):
    def fail(*_):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr("os.replace", fail)
    result = evaluate(run, *FEW)
    assert result.exit_code == 1
    assert "Error: the disk of out is full; finished cells are valid" in result.output


def test_ctrl_c_keeps_finished_cells_and_the_same_command_goes_on(run, tmp_path):
    command = [
        *SCUFF, "evaluate", "cli_test_nets:slow", "--suite", "cifar10-c", "--data", "fashion",
        "--out", "out", "--limit", "20",
    ]  # fmt: skip
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 240
    while len(list((tmp_path / "out").rglob("*.parquet"))) < 3:
        assert time.monotonic() < end, process.stderr.read()
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130, errors
    assert errors.strip() == "Interrupted. Run the same command again to go on from here."
    finished = len(list((tmp_path / "out").rglob("*.parquet")))
    result = run(*command[1:])
    assert f"Cells: 76, of which {finished} exist already" in result.output
    assert result.exit_code == 0


def test_reports_are_made_of_finished_evaluations(run, tmp_path):
    evaluate(run, *FEW)
    result = run("report", "out", "--title", "Mine")
    assert result.exit_code == 0, result.output
    assert result.output.splitlines()[-1] == "Report: out/report.html"
    assert "<title>Mine" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    result = run("report", "elsewhere")
    assert result.exit_code == 2
    assert "there is no evaluation.json in it" in result.output


def test_published_files_are_evaluated_as_they_are(run, tmp_path):
    """What `scuff corrupt` writes, `scuff evaluate` reads, and gets the rows of corrupting on the way."""
    images = scuff.open_source("fashion").read(range(24)).permute(0, 2, 3, 1).numpy()
    labels = scuff.open_source("fashion").labels[:24]
    np.savez(tmp_path / "few.npz", images=images, labels=labels)
    assert run("corrupt", "few.npz", "published", "--suite", "cifar10-c", "--only", "fog,snow").exit_code == 0
    model, common = "cli_test_nets:plain", ("--only", "fog,snow")
    first = run("evaluate", model, "--data", "cifar10-c:published", "--clean", "npz:few.npz", "--out", "a", *common)
    second = run("evaluate", model, "--data", "npz:few.npz", "--suite", "cifar10-c", "--out", "b", *common)
    assert (first.exit_code, second.exit_code) == (0, 0), first.output + second.output
    columns = ["corruption", "severity", "image_id", "label", "prediction", "confidence"]
    a, b = (scuff.read_evaluation(tmp_path / out).rows[columns].astype({"corruption": str}) for out in "ab")
    assert len(a) == 24 * 11
    assert a.sort_values(columns[:3]).values.tolist() == b.sort_values(columns[:3]).values.tolist()


def test_the_demo_ends_with_the_name_of_its_report(run, tmp_path, monkeypatch):
    """With two of its eight corruptions, fewer images and one epoch, to save time; all else is as it is."""
    monkeypatch.setattr(demo, "RECIPE", dataclasses.replace(find_recipe(demo.RECIPE), epochs=1))
    monkeypatch.setattr(demo, "EVALUATED", demo.EVALUATED[2:4])
    monkeypatch.setattr(demo, "TEST_IMAGES", 300)
    result = run("demo", "--out", "out/demo")
    assert result.exit_code == 0, result.output
    further, last = result.output.splitlines()[-2:]
    assert last == "Report: out/demo/report.html"
    assert further.endswith(" scuff demo --out out/demo --overlap")
    page = Path(tmp_path, "out", "demo", "report.html").read_text(encoding="utf-8")
    assert 'id="overlap"' not in page
    assert "scuff demo --out out/demo --overlap" in page
    evaluation = scuff.read_evaluation(tmp_path / "out" / "demo" / "evaluation")
    errors = scuff.metrics.cell_errors(evaluation.rows)
    assert len(errors) == 11
    clean = scuff.metrics.error(evaluation.rows[evaluation.rows["corruption"] == "clean"])
    assert clean.value < 0.25  # it has learned: 10 classes, and guessing has 0.9
    assert f"{100 * clean.value:.1f}" in page
    kept = results_in(tmp_path)
    assert run("demo", "--out", "out/demo").exit_code == 0
    assert results_in(tmp_path) == kept  # only the report is made again


def test_the_demo_trains_nothing_because_its_weights_come_with_the_package(run, tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "EVALUATED", demo.EVALUATED[2:3])
    monkeypatch.setattr(demo, "TEST_IMAGES", 100)
    monkeypatch.setattr(scuff.training.run, "fit", None)
    result = run("demo", "--out", "demo")
    assert result.exit_code == 0, result.output
    assert "comes with the package; it was trained on clean images by scuff train --data fashion-32" in result.output
    assert (tmp_path / "demo" / "small-cnn.safetensors").read_bytes() == (WEIGHTS / "standard.safetensors").read_bytes()
    rows = scuff.read_evaluation(tmp_path / "demo" / "evaluation").rows
    assert scuff.metrics.error(rows[rows["corruption"] == "clean"]).value < 0.25


def test_weights_of_all_networks_of_the_demo_come_with_the_package(tmp_path):
    """They are few bytes, and were made by what a training would be told now: data, recipe, corruption and seed."""
    study = scuff.studies.OverlapStudy(demo.SUITE, demo.DATA, tmp_path, recipe=demo.RECIPE, only=demo.COMPARED)
    cells = study.plan().work.cells
    assert {Path(cell.out).name for cell in cells} == {file.name for file in WEIGHTS.iterdir()}
    for cell in cells:
        assert read_origin(WEIGHTS / Path(cell.out).name) == cell.origin()
    assert sum(file.stat().st_size for file in WEIGHTS.iterdir()) < 400_000


@pytest.mark.slow
def test_the_documented_command_trains_the_network_of_the_demo(run, tmp_path):
    result = run("train", "--data", demo.DATA, "--recipe", demo.RECIPE, "--out", "net.safetensors", "--device", "cpu")
    assert result.exit_code == 0, result.output
    trained, shipped = tmp_path / "net.safetensors", WEIGHTS / "standard.safetensors"
    assert read_origin(trained) == read_origin(shipped)
    rows = scuff.evaluate({"trained": trained, "shipped": shipped}, None, demo.DATA)
    right = (rows["label"] == rows["prediction"]).groupby(rows["model"], observed=True).mean()
    assert abs(right["trained"] - right["shipped"]) < 0.02


@pytest.mark.parametrize("words", [("demo", "--out", "here"), ("report", "here")])
def test_a_report_that_could_not_be_written_in_the_end_is_refused_at_the_start(words, run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly", None)  # as if it were not installed
    result = run(*words)
    assert (result.exit_code, list(tmp_path.glob("here"))) == (2, [])
    assert 'needs the package plotly, which is not installed; run pip install "scuff[report]"' in result.output


@pytest.mark.slow
def test_the_whole_demo_has_errors_that_rise_with_the_severity_and_goes_on_with_overlaps(run, tmp_path, monkeypatch):
    """Its evaluation as it is; of its overlap study two of six corruptions."""
    monkeypatch.setattr(demo, "COMPARED", demo.COMPARED[-2:])
    assert run("demo", "--out", "out/demo").exit_code == 0
    evaluation = scuff.read_evaluation(tmp_path / "out" / "demo" / "evaluation")
    assert len(scuff.metrics.cell_errors(evaluation.rows)) == 41
    rows = evaluation.rows[evaluation.rows["corruption"] != "clean"]
    wrong = (rows["label"] != rows["prediction"]).groupby([rows["corruption"].astype(str), rows["severity"]])
    errors = wrong.mean().unstack()
    assert errors.shape == (len(demo.EVALUATED), 5)
    rises = np.diff(errors.to_numpy(), axis=1)
    assert rises.min() > -0.01  # where nearly everything is wrong already, a step may be lost in the noise
    assert (errors[5] > errors[1] + 0.1).all()
    kept = results_in(tmp_path)
    result = run("demo", "--out", "out/demo", "--overlap")
    assert result.exit_code == 0, result.output
    assert result.output.splitlines()[-1] == "Report: out/demo/report.html"
    assert results_in(tmp_path).items() >= kept.items()  # the evaluation is not made again
    overlaps = scuff.metrics.read_overlaps(tmp_path / "out" / "demo" / "overlap" / "overlap.csv")
    assert overlaps.values[0, 1] > 0.3  # fog and contrast do overlap
    page = Path(tmp_path, "out", "demo", "report.html").read_text(encoding="utf-8")
    assert f"{overlaps.values[0, 1]:.2f}" in page[page.index('id="overlap"') :]


def results_in(folder):
    """The weights and rows below a folder, each with the time at which it was written."""
    suffixes = (".safetensors", ".parquet")
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*.*") if path.suffix in suffixes}


def test_errors_by_corruption_are_printed_and_written_for_scripts(run, tmp_path):
    result = evaluate(run, *FEW, "--json", "all.json", "--csv", "cells.csv")
    assert result.exit_code == 0, result.output
    rows = scuff.read_evaluation(tmp_path / "out").rows
    errors = scuff.metrics.cell_errors(rows).set_index(["corruption", "severity"])["value"]
    ends = [100 * errors["fog", 1], 100 * errors["fog", 4]]
    assert found(result, "fog") == f"{ends[0]:.1f} {ends[1]:.1f} {sum(ends) / 2:.1f}"
    cells = pd.read_csv("cells.csv").set_index(["corruption", "severity"])["error"]
    assert cells.to_dict() == pytest.approx(errors.to_dict())
    numbers = json.loads(Path("all.json").read_text())
    assert numbers["evaluation"]["suite"] == "cifar10-c"
    assert numbers["scores"][0]["mean_error"] == pytest.approx(errors.drop("clean").mean())
    assert numbers["scores"][0]["mce"] is None
    assert len(numbers["errors"]) == 5


def test_files_for_scripts_are_checked_first(run, tmp_path):
    result = evaluate(run, *FEW, "--json", "no/all.json")
    assert (result.exit_code, "no/all.json cannot be written: no such folder" in result.output) == (2, True)
    assert not (tmp_path / "out").exists()


def test_several_models_have_a_column_each(run):
    result = evaluate(run, *FEW, models=("cli_test_nets:plain", "other=cli_test_nets:Net"))
    assert "Errors in per cent by corruption, over all severities" in result.output
    assert len(found(result, "contrast").split()) == 2
