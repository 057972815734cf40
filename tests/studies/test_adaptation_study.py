"""`scuff adapt`, from its options to its rows and its page: on a small network and a short stream."""

import contextlib
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import scuff
from scuff import assets
from scuff.adaptation import Network, run
from scuff.cli import app
from scuff.engine import CellsFailed
from scuff.models.architectures import build
from scuff.report import write_report
from scuff.studies import AdaptationStudy, adapt, read_adaptation

STREAM = {"stream": "short", "corruptions": ["contrast", "brightness"], "images": {"limit": 24}, "run": {"batch": 10}}


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    network = build("small_cnn", classes=10, channels=1)
    with torch.no_grad():
        for norm in (m for m in network.modules() if isinstance(m, torch.nn.BatchNorm2d)):
            norm.weight.uniform_(0.5, 1.5)
    return scuff.Classifier(network.eval(), name="net")


class Counting:
    """A method that adapts nothing, and remembers what it was asked."""

    asked: list

    def __init__(self, network):
        self.network = network
        type(self).asked = []

    def adapt(self, images):
        self.asked.append(len(images))
        with torch.no_grad():
            return self.network(images)

    def reset(self):
        self.asked.append("reset")


def test_rows_are_those_of_the_model_on_the_stream(model, tmp_path):
    rows = adapt(model, STREAM, "fashion", tmp_path, methods=["bn"], device="cpu")
    stream = scuff.stream("fashion", STREAM, device="cpu")
    assert [*rows.groupby("method", sort=False).size().items()] == [("source", 48), ("bn", 48)]
    source = rows[rows["method"] == "source"]
    images = torch.stack([stream[i].image for i in range(48)])
    logits = model(images)
    assert np.array_equal(source["prediction"], logits.argmax(1))
    assert np.allclose(source["confidence"], logits.softmax(1).amax(1), atol=1e-5)
    truth = stream.table()
    for column in ("position", "segment", "image_id", "label"):
        assert np.array_equal(source[column], truth[column])
    assert source["corruption"].tolist() == ["contrast"] * 24 + ["brightness"] * 24
    assert set(source["severity"]) == {5}
    adapted = rows[rows["method"] == "bn"]
    network = model.on("cpu").model.train()  # batch statistics
    expected = [network(images[a:b]).argmax(1) for a, b in ((0, 10), (10, 20), (20, 24), (24, 34), (34, 44), (44, 48))]
    assert np.array_equal(adapted["prediction"], torch.cat(expected))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ["reset", 10, 10, 4, 10, 10, 4]),
        ({"reset": "corruption"}, ["reset", 10, 10, 4, "reset", 10, 10, 4]),
        ({"reset": "segment", "across": True, "batch": 16}, ["reset", 16, "reset", 16, 16]),
        ({"reset": "never"}, [10, 10, 4, 10, 10, 4]),
        ({"eta": 1.0, "speed_ratio": 2.5}, ["reset", 10, 10]),
        ({"eta": 0.5, "speed_ratio": 2.5}, ["reset", 10, 4, 10]),
    ],
)
def test_a_method_starts_anew_and_misses_batches_as_the_recipe_says(model, tmp_path, options, expected):
    stream = {**STREAM, "run": {**STREAM["run"], **options}}
    rows = adapt(model, stream, "fashion", tmp_path, methods=[Counting], device="cpu")
    assert Counting.asked == expected
    own = rows[rows["method"] == "counting"]
    assert np.array_equal(own["prediction"], rows[rows["method"] == "source"]["prediction"])


def test_a_ratio_lets_the_stream_flow_on(model, tmp_path, monkeypatch):
    adapt(model, STREAM, "fashion", tmp_path / "a", methods=[Counting], ratio=3, device="cpu")
    assert Counting.asked == ["reset", 10, 10]  # batches 0 and 3
    monkeypatch.setattr(run.Job, "measure_ratio", lambda self, name: 1.2)
    adapt(model, STREAM, "fashion", tmp_path / "b", methods=[Counting], ratio="measured", device="cpu")
    assert Counting.asked == ["reset", 10, 4, 10]
    how = json.loads((tmp_path / "b/runs/counting.json").read_text())
    assert (how["measured_ratio"], how["period"], how["batches"], how["adapted"]) == (1.2, 2, 6, 3)
    for ratio in (0, float("inf"), "fast"):
        with pytest.raises(ValueError, match="ratio must be a number above 0"):
            adapt(model, STREAM, "fashion", tmp_path / "c", ratio=ratio)


def test_a_ratio_can_be_measured(model, tmp_path):
    plan = AdaptationStudy(model, STREAM, "fashion", tmp_path, methods=["tent"], device="cpu").plan()
    assert plan.work.job.measure_ratio("tent") > 0


METHODS = ["bn-ema", "eata", "rdumb:every=2"]  # with source, as many as there are kinds of state


def test_a_run_that_is_cut_goes_on_with_identical_rows(model, tmp_path, monkeypatch):
    expected = adapt(model, STREAM, "fashion", tmp_path / "whole", methods=METHODS, device="cpu")
    monkeypatch.setattr(run, "SAVED_EVERY", 0.0)
    predict, calls, plugs = run._predict, [], []

    def fail_now_and_then(*given):
        calls.append(given)
        if len(calls) % 5 == 0:
            plugs.append(given)
            raise ValueError("somebody pulled the plug")
        return predict(*given)

    monkeypatch.setattr(run, "_predict", fail_now_and_then)
    rows = None
    while rows is None:
        with contextlib.suppress(CellsFailed, ValueError):
            rows = adapt(model, STREAM, "fashion", tmp_path / "cut", methods=METHODS, device="cpu")
    assert len(plugs) >= 4
    assert len(calls) == 4 * 6 + len(plugs)  # no batch twice, but those that failed
    assert rows.equals(expected)
    assert not list((tmp_path / "cut/partial").glob("*"))


def test_a_checkpoint_of_other_options_is_not_used(model, tmp_path, monkeypatch):
    monkeypatch.setattr(run, "SAVED_EVERY", 0.0)
    plan = AdaptationStudy(model, STREAM, "fashion", tmp_path, methods=["tent"], device="cpu").plan()
    partial, (method, _) = run.Partial(plan.work.job, "tent"), plan.work.job.open("tent")
    partial.add(torch.zeros(10, 2))
    partial.save(method)
    fresh = run.Partial(plan.work.job, "tent")
    fresh.resume(method)
    assert fresh.batches == 1
    other = run.Partial(plan.work.job, "tent")
    other.origin["seed"] = 1
    other.resume(method)
    assert other.batches == 0


def test_methods_join_a_folder_and_other_settings_are_refused(model, tmp_path):
    adapt(model, STREAM, "fashion", tmp_path, methods="bn", device="cpu")
    rows = adapt(model, STREAM, "fashion", tmp_path, methods=["bn-prior:prior=4"], device="cpu")
    assert list(rows["method"].unique()) == ["source", "bn", "bn-prior:prior=4"]
    assert read_adaptation(tmp_path).equals(rows)
    with pytest.raises(ValueError, match="seed was 0, is now 1"):
        adapt(model, STREAM, "fashion", tmp_path, methods="bn", seed=1, device="cpu")


def test_what_a_method_is_made_with_and_its_code_are_noted(model, tmp_path):
    def first():
        class Chosen(Counting):
            def __init__(self, network, optimiser=torch.optim.SGD, factor=2):
                super().__init__(network)

        return Chosen

    def second():
        class Chosen(Counting):
            """The same in other words."""

        return Chosen

    adapt(model, STREAM, "fashion", tmp_path, methods=first(), device="cpu")
    how = json.loads((tmp_path / "runs/chosen.json").read_text())
    assert how["options"]["factor"] == 2
    adapt(model, STREAM, "fashion", tmp_path, methods=first(), device="cpu")
    with pytest.raises(ValueError, match=r"the code of chosen is not what it was .*; delete .*chosen.parquet"):
        adapt(model, STREAM, "fashion", tmp_path, methods=second(), device="cpu")
    (tmp_path / "rows/chosen.parquet").unlink()
    adapt(model, STREAM, "fashion", tmp_path, methods=second(), device="cpu")
    assert json.loads((tmp_path / "runs/chosen.json").read_text())["options"] == {}


def test_a_state_that_cannot_be_saved_is_explained(model, tmp_path, monkeypatch):
    class Nested(Counting):
        def state_dict(self):
            return {"network": self.network.state_dict()}

    monkeypatch.setattr(run, "SAVED_EVERY", 0.0)
    adapt(model, STREAM, "fashion", tmp_path / "a", methods=[Nested], device="cpu")  # it could not go on anyway
    Nested.load_state_dict = lambda self, state: None
    with pytest.raises(CellsFailed, match=r"state_dict\(\) of the method nested must be tensors by name"):
        adapt(model, STREAM, "fashion", tmp_path / "b", methods=[Nested], device="cpu")


def test_a_network_that_breaks_down_is_wrong(model, tmp_path):
    class Broken(Counting):
        def adapt(self, images):
            return torch.full((len(images), 10), float("nan"))

    rows = adapt(model, STREAM, "fashion", tmp_path, methods=[Broken], device="cpu")
    assert set(rows[rows["method"] == "broken"]["prediction"]) == {-1}


def test_models_and_methods_that_do_not_suit_are_refused(model, tmp_path):
    with pytest.raises(ValueError, match="only torch modules can be adapted"):
        Network(scuff.Classifier(lambda images: images.mean((2, 3)), name="f"))
    with pytest.raises(ValueError, match="did you mean tent"):
        adapt(model, STREAM, "fashion", tmp_path, methods="tnet")


def test_the_command_says_what_it_costs_runs_and_reports(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "short.yaml").write_text(json.dumps({**STREAM, "together": 2}))
    demo = Path(assets.__file__).parent / "demo/standard.safetensors"
    words = ["adapt", str(demo), "--stream", "short.yaml", "--data", "fashion", "--methods", "tent", "--device", "cpu"]
    dry = CliRunner().invoke(app, [*words, "--out", "run", "--dry-run"])
    assert dry.exit_code == 0, dry.output
    assert "48 images of fashion in 2 segments" in dry.output
    assert not (tmp_path / "run").exists()
    done = CliRunner().invoke(app, [*words, "--out", "run"])
    assert done.exit_code == 0, done.output
    assert "negative flips" in done.output
    page = Path(write_report("run")).read_text(encoding="utf-8")
    for text in ("Error over time", "contrast + brightness", "scuff adapt", "--methods tent", "5 + 5"):
        assert text in page
    refused = CliRunner().invoke(app, [*words, "--out", "run", "--ratio", "fast"])
    assert refused.exit_code == 2
    assert "--ratio takes a number" in refused.output
