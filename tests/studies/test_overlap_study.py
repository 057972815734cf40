"""The overlap study: all six steps on tiny images, interrupted and gone on with, in one process and in several."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from made_images import bars
from typer.testing import CliRunner

import scuff
from scuff.cli import app
from scuff.data.source import array_source
from scuff.engine import CellsFailed, LocalEngine
from scuff.metrics import overlaps
from scuff.models import read_origin
from scuff.studies import OverlapStudy, overlap, read_overlap
from scuff.studies.overlap.plan import choose_addresses
from scuff.suites import combine_suites, load_suite
from scuff.training import Recipe

ONE = LocalEngine(processes=1)
QUICK = Recipe("quick", "small_cnn", epochs=1, batch_size=64, learning_rate=0.1, optimiser="muon")
NAMES = ("noc-candidates/brightness", "cifar10-c/brightness", "border")
SUITES = ("noc-candidates", "cifar10-c")
TRAIN, TEST = bars(256), bars(200, seed=1)


def study(out, **options):
    options = {"recipe": QUICK, "only": NAMES, "test": TEST, "device": "cpu", "engine": ONE, **options}
    return overlap(SUITES, TRAIN, out, **options)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A study of three corruptions with two seeds, and a model trained on a whole suite."""
    out = tmp_path_factory.mktemp("study")
    return out, study(out, seeds=2, together=["imagenet-noc"])


def test_accuracies_are_those_of_evaluating_every_model_by_hand(finished):
    out, _ = finished
    table = read_overlap(out)
    addresses = ("noc-candidates/brightness", "cifar10-c/brightness", "noc-candidates/border")
    assert table.trained_on == ("standard", *addresses, "all:imagenet-noc")
    assert table.tested_on == ("clean", *addresses)
    assert table.seeds == (0, 1)
    suite = combine_suites("overlap", addresses, draws_levels=True)
    path = out / "models" / "seed-1" / "cifar10-c-brightness.safetensors"
    rows = scuff.evaluate(path, suite, TEST, device="cpu")
    right = (rows["label"] == rows["prediction"]).groupby(rows["corruption"], observed=True).mean()
    entries = {"clean": "clean", "noc-candidates-brightness": addresses[0], "cifar10-c-brightness": addresses[1]}
    for entry, address in {**entries, "border": addresses[2]}.items():
        assert table.of(addresses[1], address)[1] == pytest.approx(right[entry], abs=1e-12)
    assert len(np.unique(table.values)) > 4  # not one number everywhere


def test_models_are_trained_on_what_their_names_say(finished):
    models = finished[0] / "models" / "seed-0"
    assert read_origin(models / "standard.safetensors")["corrupted"] is None
    drawn = read_origin(models / "cifar10-c-brightness.safetensors")["corrupted"]
    assert list(drawn) == ["overlap/cifar10-c-brightness"]
    assert drawn["overlap/cifar10-c-brightness"]["size"] == 32
    together = read_origin(models / "all-imagenet-noc.safetensors")["corrupted"]
    assert set(together) == {f"imagenet-noc/{entry}" for entry in load_suite("imagenet-noc").benchmark()}


def test_the_files_tell_what_the_study_returns(finished):
    out, matrix = finished
    again = overlaps(read_overlap(out))
    assert np.array_equal(again.values, matrix.values, equal_nan=True)
    from_csv = overlaps(scuff.metrics.read_accuracies(out / "accuracies.csv"))
    assert np.allclose(from_csv.values, matrix.values, equal_nan=True)
    assert scuff.metrics.read_overlaps(out / "overlap.csv").names == matrix.names
    pairs, expected = pd.read_csv(out / "overlap-pairs.csv"), matrix.pairs()
    np.testing.assert_allclose(pairs[["overlap", "low", "high"]], expected[["overlap", "low", "high"]])
    assert "Student t over seeds" in matrix.interval


def test_what_is_there_is_not_computed_again_and_what_is_lost_is(finished):
    out, matrix = finished
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*.safetensors")}
    rows = sorted(out.rglob("*.parquet"))
    lost = next(iter(before)), rows[3]
    for path in lost:
        path.unlink()
    seen = []
    again = study(out, seeds=2, together=["imagenet-noc"], progress=lambda what, done, total: seen.append(what))
    assert np.array_equal(again.values, matrix.values, equal_nan=True)
    changed = [path for path in before if path.stat().st_mtime_ns != before[path]]
    assert changed == [lost[0]]
    assert [what for what in dict.fromkeys(seen) if what.startswith("train ")] == [f"train {lost[0].stem}"]


def test_interrupted_anywhere_it_ends_the_same(tmp_path):
    whole = study(tmp_path / "whole")

    def stop_at(word, times):
        count = iter(range(times + 1))

        def progress(what, done, total):
            if what.startswith(word) and next(count) == times:
                raise KeyboardInterrupt

        return progress

    for word, times in (("train", 2), ("train", 7), ("train border", 3), ("test border", 0), ("collecting", 1)):
        with pytest.raises(KeyboardInterrupt):
            study(tmp_path / "cut", progress=stop_at(word, times))
        with (
            pytest.raises(ValueError, match="is not finished; run the same command again")
            if word != "collecting"
            else (pytest.raises(StopIteration))
        ):
            read_overlap(tmp_path / "cut")
            raise StopIteration
    cut = study(tmp_path / "cut")
    assert np.array_equal(read_overlap(tmp_path / "cut").hits, read_overlap(tmp_path / "whole").hits)
    assert np.array_equal(cut.values, whole.values, equal_nan=True)
    assert not list(tmp_path.rglob("*.partial.safetensors"))


@pytest.mark.slow
def test_several_processes_give_the_same_bits(tmp_path, finished):
    study(tmp_path, seeds=1, together=["imagenet-noc"], engine=LocalEngine(processes=2))
    assert np.array_equal(read_overlap(tmp_path).hits[0], read_overlap(finished[0]).hits[0])


def test_fine_tuning_begins_from_the_standard_models_of_another_study(tmp_path, finished):
    out, _ = finished
    study(tmp_path, fine_tune=1, standard_from=out)
    ours, theirs = (folder / "models" / "seed-0" / "standard.safetensors" for folder in (tmp_path, out))
    assert ours.read_bytes() == theirs.read_bytes()
    origin = read_origin(tmp_path / "models" / "seed-0" / "border.safetensors")
    assert origin["recipe"]["learning_rate"] == pytest.approx(0.01)
    assert origin["start"] is not None
    table, before = read_overlap(tmp_path), read_overlap(out)
    assert table.of("standard", "clean")[0] == before.of("standard", "clean")[0]
    with pytest.raises(ValueError, match=r"there is no standard model .*; standard_from must be a study"):
        study(tmp_path / "other", fine_tune=1, seeds=[7], standard_from=out)


def test_seeds_may_join_but_nothing_else_may_change(tmp_path):
    study(tmp_path, only=NAMES[:2])
    study(tmp_path, only=NAMES[:2], seeds=[4])
    assert read_overlap(tmp_path).seeds == (0, 4)
    with pytest.raises(ValueError, match=r"was made with other settings: .*recipe.epochs was 1, is now 3"):
        study(tmp_path, only=NAMES[:2], epochs=3)
    with pytest.raises(ValueError, match="was made with other settings: corruptions was"):
        study(tmp_path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"only": ["fgo", "border"]}, "has no entry 'fgo'"),
        ({"only": ["brightness", "border"]}, "brightness is in noc-candidates and in cifar10-c; say which"),
        (
            {"only": ["imagenet-c/fog", "border"]},
            "there is no suite 'imagenet-c' in this study; it has noc-candidates, c",
        ),
        ({"only": ["border"]}, "overlap takes at least two corruptions, got noc-candidates/border"),
        ({"seeds": 0}, "expected at least one seed, each of them once, got 0"),
        ({"seeds": [1, 1]}, "expected at least one seed, each of them once"),
        ({"test": None}, "these data have no test split of their own; say where the test images are"),
        ({"recipe": "quick"}, "no recipe is called 'quick'; there are fashion"),
        ({"together": ["imagenet-nok"]}, "no suite is called 'imagenet-nok'"),
        ({"limit": 0}, "limit must be at least 1, got 0"),
        ({"test": TEST.take([])}, "bars has no images"),
        (
            {"test": replace(TEST, class_names=("b", "a", "c", "d"))},
            "test images must have the classes of the training",
        ),
        (
            {"test": array_source("x", TEST.images.array, TEST.labels + 3)},
            "must have the classes of the training images",
        ),
    ],
)
def test_what_makes_no_sense_is_explained(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        study(tmp_path, **options)


def test_sequences_and_twins_are_refused(tmp_path):
    for options in ({"suites": "cifar10-p"}, {"together": "cifar10-p"}):
        suites = options.pop("suites", "noc-candidates")
        with pytest.raises(ValueError, match="is a sequence of frames; overlap takes single corruptions"):
            OverlapStudy(suites, TRAIN, tmp_path, recipe=QUICK, test=TEST, device="cpu", **options).plan()
    with pytest.raises(ValueError, match="two suites have the same name"):
        choose_addresses([load_suite("imagenet-c")] * 2)
    assert choose_addresses([load_suite("noc-candidates")], ["low_res", "hue"])[0] == "noc-candidates/thumbnail_resize"


def test_names_that_would_mix_models_up_are_refused(tmp_path):
    fog = {"corruption": "fog", "strength": 1.0, "decay": 2.0}
    for name, message in (
        ("standard", "no model can be called"),
        ("clean", "no model can be called"),
        ("my fog", "letters"),
    ):
        suite = scuff.Suite("mine", 1, 32, {name: fog, "other": fog})
        with pytest.raises(ValueError, match=message):
            OverlapStudy(suite, TRAIN, tmp_path, recipe=QUICK, test=TEST, device="cpu").plan()
    suites = [scuff.Suite("a", 1, 8, {"fog": fog}), scuff.Suite("b", 1, 8, {"fog": fog})]
    suites.append(scuff.Suite("c", 1, 8, {"a-fog": fog}))
    with pytest.raises(ValueError, match="two entries would be called a-fog"):
        OverlapStudy(suites, TRAIN, tmp_path, recipe=QUICK, test=TEST, device="cpu").plan()
    bad = scuff.Suite("mine", 1, 32, {"fog": {"strength": 1.0}, "other": fog})
    with pytest.raises(ValueError, match="missing: decay"):
        OverlapStudy(bad, TRAIN, tmp_path, recipe=QUICK, test=TEST, device="cpu").plan()
    assert not list(tmp_path.iterdir())


def test_models_of_another_training_are_not_taken_for_those_of_the_study(tmp_path):
    study(tmp_path / "one", only=NAMES[:2])
    models = tmp_path / "one" / "models" / "seed-0"
    brightness = models / "cifar10-c-brightness.safetensors"
    (models / "noc-candidates-brightness.safetensors").write_bytes(brightness.read_bytes())
    with pytest.raises(ValueError, match=r"is there already, and was trained otherwise \(corrupted differ\)"):
        study(tmp_path / "one", only=NAMES[:2])
    (tmp_path / "one" / "overlap.json").unlink()
    with pytest.raises(ValueError, match=r"was trained otherwise \(recipe"):
        study(tmp_path / "one", only=NAMES[:2], epochs=2)
    study(tmp_path / "two", only=NAMES[:2], epochs=2)
    with pytest.raises(ValueError, match=r"two was made with other settings: recipe.epochs was 2, is now 1"):
        study(tmp_path / "three", only=NAMES[:2], fine_tune=1, standard_from=tmp_path / "two")
    assert not (tmp_path / "three").exists()


def test_an_unfinished_or_damaged_study_is_not_read(tmp_path):
    study(tmp_path, only=NAMES[:2], limit=500)
    assert json.loads((tmp_path / "overlap.json").read_text())["limit"] is None  # there are no more than 200 images

    def stop(what, done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        study(tmp_path, only=NAMES[:2], seeds=2, progress=stop)
    with pytest.raises(ValueError, match="is not finished; run the same command again"):
        read_overlap(tmp_path)
    study(tmp_path, only=NAMES[:2], seeds=2)
    hits = (tmp_path / "hits.npz").read_bytes()
    (tmp_path / "hits.npz").write_bytes(hits[:1000])
    with pytest.raises(ValueError, match=r"hits.npz or overlap.json is damaged .*; delete hits.npz and run the study"):
        read_overlap(tmp_path)
    rows = next(tmp_path.rglob("*.parquet"))
    rows.write_bytes(rows.read_bytes()[:50])
    with pytest.raises(ValueError, match=f"{rows.name} is damaged .*; delete it and run the evaluation again"):
        study(tmp_path, only=NAMES[:2], seeds=2)
    rows.unlink()
    study(tmp_path, only=NAMES[:2], seeds=2)
    assert (tmp_path / "hits.npz").read_bytes() == hits


def test_a_folder_that_is_no_study_is_explained(tmp_path):
    with pytest.raises(ValueError, match=r"is not the folder of an overlap study: there is no overlap.json in it"):
        read_overlap(tmp_path)


def save(source, path):
    np.savez(path, images=source.images.array, labels=source.labels)
    return f"npz:{path}"


def command(tmp_path, *more):
    data, test = save(TRAIN, tmp_path / "train.npz"), save(TEST, tmp_path / "test.npz")
    options = ["--data", data, "--test", test, "--recipe", "fashion", "--epochs", "1", "--out", str(tmp_path / "out")]
    return ["overlap", "cifar10-c", "--only", "contrast,fog", *options, "--device", "cpu", *more]


def test_the_command_line_says_what_it_will_do_and_what_came_out(tmp_path):
    runner = CliRunner()
    dry = runner.invoke(app, command(tmp_path, "--dry-run"))
    assert dry.exit_code == 0
    assert "Models: 3 (1 seed), 0 trained already" in dry.output
    assert "Tests: 9, each model on clean images" in dry.output
    assert not (tmp_path / "out").exists()
    done = runner.invoke(app, command(tmp_path, "--processes", "1"))
    assert done.exit_code == 0, done.output
    assert "2 cifar10-c/fog" in done.output
    assert f"Benchmark: scuff design nonoverlapping {tmp_path}/out" in done.output
    assert "3 trained already" in runner.invoke(app, command(tmp_path, "--dry-run")).output
    settings = json.loads((tmp_path / "out" / "overlap.json").read_text())
    assert settings["recipe"]["name"] == "fashion"


def test_a_killed_study_goes_on_and_keeps_its_models(tmp_path):
    words = command(tmp_path, "--processes", "1")
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, "-c", "from scuff.cli import app; app()", *words], env=environment, stderr=subprocess.PIPE
    )
    standard = tmp_path / "out" / "models" / "seed-0" / "standard.safetensors"
    for _ in range(2400):
        if standard.exists() or process.poll() is not None:
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert standard.exists()
    before = standard.stat().st_mtime_ns
    assert CliRunner().invoke(app, words).exit_code == 0
    assert standard.stat().st_mtime_ns == before
    assert read_overlap(tmp_path / "out").values.shape == (1, 3, 3)


def test_the_plan_names_every_model_and_nothing_is_written_by_it(tmp_path):
    plan = OverlapStudy(
        SUITES, TRAIN, tmp_path / "out", recipe=QUICK, only=NAMES, test=TEST, device="cpu", seeds=2
    ).plan()
    assert [cell.trained_on for cell in plan.work.cells[:4]] == [
        "standard",
        NAMES[0],
        NAMES[1],
        "noc-candidates/border",
    ]
    assert [cell.seed for cell in plan.work.cells] == [0] * 4 + [1] * 4
    assert plan.work.device == torch.device("cpu")
    assert not (tmp_path / "out").exists()
    plan.run()
    assert not plan.work.missing()


def test_a_model_that_cannot_be_trained_does_not_stop_the_others(tmp_path):
    out = tmp_path / "out"
    plan = OverlapStudy(SUITES, TRAIN, out, recipe=QUICK, only=NAMES, test=TEST, device="cpu", engine=ONE).plan()
    broken = next(cell for cell in plan.work.cells if cell.name == "border")
    object.__setattr__(broken, "seed", "three")  # which is refused when it is to be trained
    with pytest.raises(
        CellsFailed, match=r"a cell failed; .*\n  train border: seed must be a whole number, got 'three'"
    ):
        plan.run()
    assert len(list((out / "models").rglob("*.safetensors"))) == 3
    assert len(list((out / "evaluation" / "rows").rglob("*.parquet"))) == 3 * 4
    with pytest.raises(ValueError, match="is not finished; run the same command again"):
        read_overlap(out)
    assert len(study(out).names) == 3
