"""Evaluations go on where they were, and notice what has changed."""

import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from made_predictors import FEW, files, linear

import scuff
from scuff.evaluation import CLEAN, plan_evaluation, read_evaluation, run_plan


def test_finished_cells_are_not_computed_again(source, tmp_path):
    classifier = linear()
    plan = plan_evaluation(classifier, "cifar10-c", source, tmp_path / "out", **FEW)
    assert run_plan(plan).predictions == 250
    before = files(tmp_path / "out")
    assert len(before) == 5
    again = plan_evaluation(classifier, "cifar10-c", source, tmp_path / "out", **FEW)
    assert again.missing() == {}
    assert run_plan(again).predictions == 0
    next((tmp_path / "out").rglob("contrast-5*.parquet")).unlink()
    assert run_plan(again).predictions == 50
    assert files(tmp_path / "out") == before


def test_models_and_cells_can_join_later(source, tmp_path):
    out = tmp_path / "out"
    scuff.evaluate({"a": linear(0)}, "cifar10-c", source, out, only=["fog"], severities=[1])
    plan = plan_evaluation(
        {"a": linear(0), "b": linear(1)}, "cifar10-c", source, out, only=["fog", "snow"], severities=[1]
    )
    assert {c.entry: m for c, m in plan.missing().items()} == {CLEAN: ["b"], "fog": ["b"], "snow": ["a", "b"]}
    run_plan(plan)
    evaluation = read_evaluation(out)
    assert evaluation.rows.groupby(["model", "corruption"], observed=True).size().to_dict() == {
        (m, c): 50 for m in ("a", "b") for c in (CLEAN, "fog", "snow")
    }
    assert list(evaluation.models) == ["a", "b"]
    assert evaluation.suite.to_dict() == scuff.load_suite("cifar10-c").to_dict()
    assert evaluation.settings["families"]["fog"] == "weather"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"seed": 1}, "seed was 0, is now 1"),
        ({"limit": 10}, "limit was not set, is now 10"),
        ({"precision": "bfloat16"}, "precision was float32"),
    ],
)
def test_other_settings_need_another_folder(source, tmp_path, change, words):
    scuff.evaluate(linear(), "cifar10-c", source, tmp_path, **FEW)
    with pytest.raises(ValueError, match=words):
        scuff.evaluate(linear(), "cifar10-c", source, tmp_path, **FEW, **change)


def test_another_model_needs_another_name(source, tmp_path):
    scuff.evaluate(linear(0), "cifar10-c", source, tmp_path, **FEW)
    with pytest.raises(ValueError, match=r"fingerprint was .*, is now"):
        scuff.evaluate(linear(1), "cifar10-c", source, tmp_path, **FEW)


def test_changed_published_images_are_noticed(tmp_path):
    rng = np.random.default_rng(0)
    for entry in ("fog", "snow"):
        np.save(tmp_path / f"{entry}.npy", rng.integers(0, 256, (10, 32, 32, 3), dtype=np.uint8))
    np.save(tmp_path / "labels.npy", np.arange(2))
    models = {"net": linear(pixels=32 * 32 * 3, classes=10)}
    scuff.evaluate(models, None, f"cifar10-c:{tmp_path}", tmp_path / "out")
    np.save(tmp_path / "fog.npy", np.zeros((10, 32, 32, 3), np.uint8))
    with pytest.raises(ValueError, match=r"rows/net/fog-1-\w+\.parquet was computed from other images"):
        scuff.evaluate(models, None, f"cifar10-c:{tmp_path}", tmp_path / "out")
    assert len(scuff.evaluate(models, None, f"cifar10-c:{tmp_path}", tmp_path / "out", only="snow")) == 10


def test_ids_are_part_of_what_was_evaluated(source, tmp_path):
    scuff.evaluate(linear(), "cifar10-c", source, tmp_path, **FEW)
    with pytest.raises(ValueError, match="source_fingerprint was"):  # other ids, other noise
        scuff.evaluate(linear(), "cifar10-c", replace(source, ids=source.ids + 5), tmp_path, **FEW)


def test_a_clean_counterpart_can_join_later(source, tmp_path):
    np.save(tmp_path / "fog.npy", np.tile(source.images.array, (5, 1, 1, 1)))
    np.save(tmp_path / "labels.npy", source.labels)
    models, out = {"net": linear(classes=10)}, tmp_path / "out"
    scuff.evaluate(models, None, f"cifar10-c:{tmp_path}", out)
    assert CLEAN not in set(read_evaluation(out).rows["corruption"])
    scuff.evaluate(models, None, f"cifar10-c:{tmp_path}", out, clean=source)
    scuff.evaluate(models, None, f"cifar10-c:{tmp_path}", out)  # which does not make it forgotten
    evaluation = read_evaluation(out)
    assert (evaluation.rows["corruption"] == CLEAN).sum() == 50
    assert evaluation.settings["clean_fingerprint"] == source.fingerprint()


def test_a_run_that_failed_at_once_binds_nobody(source, tmp_path):
    def broken(batch):
        return batch[:, :, 0, 0].sum()

    with pytest.raises(ValueError, match="the model net"):
        scuff.evaluate({"net": broken}, "cifar10-c", source, tmp_path, seed=3, **FEW)
    assert (tmp_path / "evaluation.json").exists()
    rows = scuff.evaluate(linear(), "cifar10-c", source, tmp_path, **FEW)  # another seed, another model of that name
    assert len(rows) == 250
    assert read_evaluation(tmp_path).settings["seed"] == 0


def test_two_models_of_one_name_are_refused(source):
    with pytest.raises(ValueError, match="two models are called net"):
        scuff.evaluate([linear(0), linear(1)], "cifar10-c", source, **FEW)


SCRIPT = """
import sys, time
import numpy as np, torch, scuff
from scuff.data import array_source
from scuff.models import Classifier

pause = float(sys.argv[2])
torch.manual_seed(0)
weights = torch.randn(12 * 10 * 3, 7)

def slow(batch):
    time.sleep(pause)
    return (batch - 0.5).flatten(1) @ weights.to(batch.device)

rng = np.random.default_rng(0)
source = array_source("noise", rng.integers(0, 256, (50, 12, 10, 3), dtype=np.uint8), rng.integers(0, 7, 50))
scuff.evaluate(Classifier(slow, name="slow", address="slow"), "cifar10-c", source, sys.argv[1], severities=[1, 3])
"""


def start(tmp_path, out, pause):
    (tmp_path / "script.py").write_text(SCRIPT)
    return subprocess.Popen(
        [sys.executable, tmp_path / "script.py", tmp_path / out, str(pause)], stderr=subprocess.PIPE
    )


def finish(process):
    errors = process.communicate(timeout=240)[1].decode()
    assert process.returncode == 0, errors


def wait_for_cells(folder, count):
    end = time.monotonic() + 240
    while len(found := list(folder.rglob("*.parquet"))) < count:
        assert time.monotonic() < end, "no cells were finished in four minutes"
        time.sleep(0.02)
    return found


def test_killed_and_run_again_is_as_if_nothing_had_happened(tmp_path):
    """Kill -9 in the middle: finished cells are left alone, and the rest comes out byte for byte."""
    killed = start(tmp_path, "killed", 0.3)
    wait_for_cells(tmp_path / "killed", 3)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    finished = {p: p.stat().st_mtime_ns for p in (tmp_path / "killed").rglob("*.parquet")}
    assert 3 <= len(finished) < 31
    finish(start(tmp_path, "killed", 0))
    assert {p: p.stat().st_mtime_ns for p in finished} == finished
    finish(start(tmp_path, "whole", 0))
    assert len(files(tmp_path / "whole")) == 31
    assert files(tmp_path / "killed") == files(tmp_path / "whole")


@pytest.mark.slow
def test_two_processes_in_one_folder_do_no_harm(tmp_path):
    both = [start(tmp_path, "both", 0.05) for _ in range(2)]
    for process in both:
        finish(process)
    finish(start(tmp_path, "alone", 0))
    assert files(tmp_path / "both") == files(tmp_path / "alone")
    assert not list((tmp_path / "both").rglob("*.tmp"))
