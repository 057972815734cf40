"""Samples of an evaluation: the rows of the full run, some of them, and more whenever one goes on."""

import json
import shutil
from importlib import resources

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn
from typer.testing import CliRunner

import scuff
from scuff.cli import app
from scuff.data import array_source
from scuff.evaluation import plan_evaluation
from scuff.evaluation.sampled import Sampling, read_samples, run_sampled
from scuff.metrics.sampling.scores import sampled_scores
from scuff.models import Classifier

FEW = {"only": ["contrast", "gaussian_noise"], "severities": [1, 5]}
KEY = ["corruption", "severity", "image_id"]


def linear(seed=0, name="net"):
    torch.manual_seed(seed)
    net = nn.Sequential(nn.Flatten(), nn.Linear(12 * 10 * 3, 4))
    return Classifier(net, name=name, mean=(0.5,) * 3, std=(0.1,) * 3)


@pytest.fixture(scope="module")
def source():
    rng = np.random.default_rng(0)
    return array_source("noise", rng.integers(0, 256, (60, 12, 10, 3), dtype=np.uint8), rng.integers(0, 4, 60))


def in_order(rows):
    rows = rows.assign(**{name: rows[name].astype(str) for name in ("model", "source", "suite", "corruption")})
    return rows.sort_values(KEY).reset_index(drop=True)


def test_a_sample_of_everything_is_the_full_run(source, tmp_path):
    full = in_order(scuff.evaluate(linear(), "cifar10-c", source, **FEW))
    sampled = in_order(scuff.evaluate(linear(), "cifar10-c", source, tmp_path, passes=10_000, **FEW))
    columns = [name for name in full if name != "confidence"]
    assert full[columns].equals(sampled[columns])
    # float32 products in batches of other sizes
    np.testing.assert_allclose(full["confidence"], sampled["confidence"], rtol=1e-4)
    assert scuff.metrics.mean_error(sampled, partial=True).value == scuff.metrics.mean_error(full, partial=True).value


def test_a_longer_run_goes_on_and_batches_change_nothing(source, tmp_path):
    first = scuff.evaluate(linear(), "cifar10-c", source, tmp_path / "a", passes=40, **FEW)
    longer = scuff.evaluate(linear(), "cifar10-c", source, tmp_path / "a", passes=130, **FEW)
    at_once = scuff.evaluate(linear(), "cifar10-c", source, tmp_path / "b", passes=130, batch_size=7, **FEW)
    assert len(first) == 40
    columns = [*KEY, "label", "prediction"]
    assert longer[columns].iloc[:40].astype(str).equals(first[columns].astype(str))
    assert longer[columns].astype(str).equals(at_once[columns].astype(str))
    files = sorted(path.name for path in (tmp_path / "a" / "sampled").rglob("*.parquet"))
    assert files == ["000000000-000000040.parquet", "000000040-000000130.parquet"]


def test_a_width_is_reached_and_no_more(source, tmp_path):
    plan = plan_evaluation({"a": linear(0), "b": linear(1)}, "cifar10-c", source, tmp_path, **FEW)
    run_sampled(plan, half_width=6.0)
    for model in ("a", "b"):
        done, score = Sampling(plan).done(model), Sampling(plan).scores(model)["mce"]
        assert (score.high - score.low) / 2 <= 6.0
        assert 100 <= done < 300
    samples, settings, suite = read_samples(tmp_path)
    assert set(samples) == {"a", "b"}
    assert (settings["images"], suite.name) == (60, "cifar10-c")


def test_files_that_an_interruption_has_left_count_once(source, tmp_path):
    rows = scuff.evaluate(linear(), "cifar10-c", source, tmp_path, passes=40, **FEW)
    (file,) = (tmp_path / "sampled").rglob("*.parquet")
    for steps in ("000000000-000000030", "000000050-000000090"):  # inside of what is there, and beyond a gap
        shutil.copy(file, file.with_name(f"{steps}.parquet"))
    samples, _, _ = read_samples(tmp_path)
    assert [len(sample) for sample in samples.values()] == [len(rows)]


def test_clean_rows_serve_as_a_control(source, tmp_path):
    rows = scuff.evaluate(linear(), "cifar10-c", source, tmp_path, passes=200, **FEW)
    clean = scuff.evaluate(linear(), "cifar10-c", source, **FEW)[lambda r: r.corruption == "clean"]
    plain, helped = (sampled_scores(rows, 60, baseline=None, control=c)["mean_error"] for c in (None, clean))
    assert plain.low < plain.value < plain.high
    assert helped.value != plain.value
    with pytest.raises(ValueError, match="all 60 images"):
        sampled_scores(rows, 60, baseline=None, control=clean.iloc[:30])


def test_rows_of_another_model_serve_as_a_control(source, tmp_path):
    rows = scuff.evaluate(linear(), "cifar10-c", source, tmp_path, passes=200, **FEW)
    other = scuff.evaluate(linear(1, "other"), "cifar10-c", source, **FEW)
    assert sampled_scores(rows, 60, baseline=None, control=other)["mean_error"].n == 200
    with pytest.raises(ValueError, match="in all cells"):
        sampled_scores(rows, 60, baseline=None, control=other[other["corruption"] != "clean"])


def test_a_controlled_run_tries_all_clean_images_and_stops_earlier(tmp_path):
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (200, 12, 10, 3), dtype=np.uint8)
    labels = scuff.evaluate(linear(), None, array_source("x", pixels, np.zeros(200, int)))["prediction"].to_numpy()
    labels = np.where(np.arange(200) % 2, labels, (labels + 1) % 4)  # every other image is wrong, corrupted or not
    mild = {"only": ["brightness", "contrast"], "severities": [1]}
    source, done = array_source("x", pixels, labels), {}
    for control in (None, "clean"):
        plan = plan_evaluation(linear(), "cifar10-c", source, tmp_path / str(control), **mild)
        run_sampled(plan, half_width=2.0, control=control)
        sampling = Sampling(plan, control)
        done[control], scores = sampling.done("net"), sampling.scores("net")
        assert (scores["mce"].high - scores["mce"].low) / 2 <= 2.0
    assert done["clean"] < done[None]
    assert (scores["clean_error"].value, scores["clean_error"].n) == (0.5, 200)  # known exactly
    assert scores["clean_error"].low == scores["clean_error"].high
    assert [path.name[:6] for path in (tmp_path / "clean" / "rows").rglob("*.parquet")] == ["clean-"]
    assert read_samples(tmp_path / "clean")[1]["control"] == "clean"


def test_a_control_must_be_about_the_same_images(source, tmp_path):
    rng = np.random.default_rng(1)
    others = array_source("others", rng.integers(0, 256, (60, 12, 10, 3), dtype=np.uint8), rng.integers(0, 4, 60))
    scuff.evaluate(linear(1, "other"), "cifar10-c", others, tmp_path / "other", **FEW)
    plan = plan_evaluation(linear(), "cifar10-c", source, tmp_path / "mine", **FEW)
    for control, said in [(f"{tmp_path}/other", "rows of other images: others"), (f"{tmp_path}/none", "none")]:
        with pytest.raises(ValueError, match=said):
            run_sampled(plan, 200, control=control)
    assert not list((tmp_path / "mine").rglob("*.parquet"))


def test_rows_of_several_models_are_one_table(source):
    rows = scuff.evaluate({"a": linear(0), "b": linear(1)}, "cifar10-c", source, passes=40, **FEW)
    assert rows.index.is_unique
    assert rows["model"].astype(str).value_counts().to_dict() == {"a": 40, "b": 40}
    assert rows["corruption"].dtype == "category"


def test_another_model_of_the_same_name_does_not_go_on(source, tmp_path):
    scuff.evaluate(linear(0), "cifar10-c", source, tmp_path, passes=40, **FEW)
    with pytest.raises(ValueError, match="fingerprint was"):
        scuff.evaluate(linear(1), "cifar10-c", source, tmp_path, passes=40, **FEW)


def test_wrong_wishes_are_refused(source, tmp_path):
    for options, said in [
        ({"passes": 3}, "two images of each of the 5 cells"),
        ({"passes": 0}, "at least 1"),
        ({"half_width": -1.0}, "above 0"),
        ({"passes": 50, "half_width": 1.0}, "not both"),
        ({"control": "clean"}, "give passes or half_width too"),
    ]:
        with pytest.raises(ValueError, match=said):
            scuff.evaluate(linear(), "cifar10-c", source, tmp_path, **options, **FEW)


def test_the_command_and_its_page(tmp_path):
    weights = str(resources.files("scuff") / "assets" / "demo" / "standard.safetensors")
    command = ["evaluate", weights, "--suite", "cifar10-c", "--data", "fashion", "--limit", "40"]
    command += ["--only", "contrast", "--out", str(tmp_path), "--passes", "60"]
    told = CliRunner().invoke(app, [*command, "--dry-run"])
    assert told.exit_code == 0, told.output
    assert "60 passes of each model; of all 240, 0 are there" in told.output
    for more, said in [(["--passes", "0"], "at least 1"), (["--baseline", "none"], "leave out --baseline")]:
        refused = CliRunner().invoke(app, [*command, *more])
        assert refused.exit_code == 2, refused.output
        assert said in refused.output
    files = tmp_path / "scores.json", tmp_path / "scores.csv"
    done = CliRunner().invoke(app, [*command, "--json", str(files[0]), "--csv", str(files[1])])
    assert done.exit_code == 0, done.output
    assert "mean error %" in done.output
    numbers, table = json.loads(files[0].read_text()), pd.read_csv(files[1])
    assert numbers["evaluation"]["all_passes"] == 240
    assert [line["score"] for line in numbers["scores"]] == ["clean_error", "mean_error", "mce", "contrast"]
    mean = table.set_index("score").loc["mean_error"]
    assert mean["low"] < mean["value"] < mean["high"]
    assert f"{100 * mean['value']:.1f} [{100 * mean['low']:.1f}, {100 * mean['high']:.1f}]" in done.output
    page = scuff.write_report(tmp_path)
    with open(page, encoding="utf-8") as file:
        text = file.read()
    assert "Estimates from 60 of 240 passes" in text
    assert "What other images like these would give" in text
    assert "cifar10-c, version" in text
    assert "Families" not in text
    with pytest.raises(ValueError, match="holds a sample, whose page has no baseline"):
        scuff.write_report(tmp_path, baseline="standard")


def test_controls_of_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    weights = resources.files("scuff") / "assets" / "demo"
    command = ["evaluate", str(weights / "standard.safetensors"), "--suite", "cifar10-c", "--data", "fashion"]
    command += ["--limit", "40", "--only", "contrast"]
    scuff.evaluate(str(weights / "fog.safetensors"), "cifar10-c", "fashion", "other", limit=40, only=["contrast"])
    for control, words in [("clean", "each model on all clean images"), ("other", "all cells (/")]:
        told = CliRunner().invoke(app, [*command, "--out", f"by-{control}", "--passes", "60", "--control", control])
        assert told.exit_code == 0, told.output
        assert words in told.output
        with open(scuff.write_report(f"by-{control}"), encoding="utf-8") as file:
            text = file.read()
        assert "Estimates from 60 of 240 passes" in text
        assert "They are narrower by a control: the results of" in text
        assert words in text
    refused = CliRunner().invoke(app, [*command, "--out", "full", "--control", "clean"])
    assert refused.exit_code == 2
    assert "a control is for samples" in refused.output
