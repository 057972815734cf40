"""Evaluations: rows are what plain torch gives, runs resume, and nothing that goes wrong costs a finished cell."""

import errno
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

import scuff
from scuff.data import array_source, open_source
from scuff.data.source import ClassMap
from scuff.engine import CellsFailed, LocalEngine
from scuff.evaluation import CLEAN, EvaluationStopped, plan_evaluation, read_evaluation, run_plan
from scuff.export import export
from scuff.models import Classifier

FEW = {"only": ["contrast", "gaussian_noise"], "severities": [1, 5]}
CELLS = [(CLEAN, 0), ("gaussian_noise", 1), ("gaussian_noise", 5), ("contrast", 1), ("contrast", 5)]


def linear(seed=0, pixels=12 * 10 * 3, classes=7, name="net"):
    """A network whose predictions spread over its classes: on centred pixels, random directions win equally often."""
    torch.manual_seed(seed)
    return Classifier(
        nn.Sequential(nn.Flatten(), nn.Linear(pixels, classes)), name=name, mean=(0.5,) * 3, std=(0.1,) * 3
    )


@pytest.fixture(scope="module")
def source():
    rng = np.random.default_rng(0)
    return array_source("noise", rng.integers(0, 256, (50, 12, 10, 3), dtype=np.uint8), rng.integers(0, 7, 50))


def by_hand(classifier, source, entry, severity, suite="cifar10-c"):
    """Predictions and confidences, by plain torch on all images at once."""
    images = torch.from_numpy(source.images.array).permute(0, 3, 1, 2)
    if entry != CLEAN:
        images = scuff.corrupt(images, f"{suite}/{entry}", severity, ids=source.ids)
    pixels = (images.float() / 255 - 0.5) / 0.1
    with torch.no_grad():
        probabilities = classifier.model(pixels).softmax(1)
    best = probabilities.max(1)
    return best.indices.numpy(), best.values.numpy()


def files(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*.parquet"))}


# --- rows -----------------------------------------------------------------------------------------------------------


def test_rows_are_what_plain_torch_gives(source):
    classifier = linear()
    rows = scuff.evaluate(classifier, "cifar10-c", source, **FEW)
    assert list(rows.columns) == [
        "model", "source", "suite", "corruption", "severity", "image_id", "label", "prediction", "confidence",
    ]  # fmt: skip
    assert len(rows) == 5 * 50
    for entry, severity in CELLS:
        cell = rows[(rows["corruption"] == entry) & (rows["severity"] == severity)]
        predictions, confidences = by_hand(classifier, source, entry, severity or None)
        assert cell["prediction"].tolist() == predictions.tolist()
        # float32 products of 360 terms, summed in another order
        np.testing.assert_allclose(cell["confidence"], confidences, rtol=1e-4)
        assert cell["label"].tolist() == source.labels.tolist()
        assert cell["image_id"].tolist() == source.ids.tolist()
    assert rows["prediction"].nunique() > 3  # a network that always says the same would prove nothing
    assert set(rows["model"]) == {"net"}
    assert set(rows["source"]) == {"noise"}
    assert set(rows["suite"]) == {"cifar10-c"}


def test_the_published_layout_gives_the_rows_of_its_files(tmp_path):
    """CIFAR-10-C's files, 20 images at 5 severities, against reading them by hand."""
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 10, 20)
    stored = {}
    for entry in ("fog", "jpeg_compression"):
        stored[entry] = rng.integers(0, 256, (100, 32, 32, 3), dtype=np.uint8)
        np.save(tmp_path / f"{entry}.npy", stored[entry])
    np.save(tmp_path / "labels.npy", np.tile(labels, 5))
    classifier = linear(pixels=32 * 32 * 3, classes=10)
    rows = scuff.evaluate(classifier, None, f"cifar10-c:{tmp_path}")
    assert len(rows) == 2 * 5 * 20
    for entry in stored:
        pixels = (torch.from_numpy(stored[entry]).permute(0, 3, 1, 2).float() / 255 - 0.5) / 0.1
        with torch.no_grad():
            best = classifier.model(pixels).softmax(1).max(1)
        ours = rows[rows["corruption"] == entry].sort_values(["severity", "image_id"])
        assert ours["prediction"].tolist() == best.indices.tolist()
        np.testing.assert_allclose(ours["confidence"], best.values, rtol=1e-4)  # sums in another order
        assert ours["label"].tolist() == np.tile(labels, 5).tolist()
        assert ours["severity"].tolist() == np.repeat([1, 2, 3, 4, 5], 20).tolist()


def test_published_data_may_have_a_clean_counterpart(tmp_path, source):
    np.save(tmp_path / "fog.npy", np.tile(source.images.array, (5, 1, 1, 1)))
    np.save(tmp_path / "labels.npy", np.tile(source.labels, 5))
    rows = scuff.evaluate(linear(classes=10), None, f"cifar10-c:{tmp_path}", clean=source, severities=[2])
    clean, fog = (rows[rows["corruption"] == entry].reset_index(drop=True) for entry in (CLEAN, "fog"))
    pd.testing.assert_series_equal(clean["prediction"], fog["prediction"])  # the same pixels


@pytest.fixture
def pictures(tmp_path):
    """JPEGs of 300 x 260 pixels in two classes, and their corrupted copies as ImageNet-C was made, but lossless."""
    from PIL import Image

    rng = np.random.default_rng(0)
    for k, name in enumerate(["n01440764/a", "n01440764/b", "n01443537/c"]):
        path = tmp_path / "clean" / f"{name}.JPEG"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 256, (260, 300 + k, 3), dtype=np.uint8)).save(path)
    export(
        tmp_path / "clean",
        tmp_path / "c",
        "imagenet-c",
        only=["contrast"],
        severities=[2],
        resize=256,
        crop=224,
        engine=LocalEngine(1),
    )
    return tmp_path


def test_published_pictures_and_their_clean_ones_each_have_their_cut(pictures):
    """What was published is cropped to 224, its clean counterpart resized first: as if we had corrupted it."""
    torch.manual_seed(0)
    network = nn.Sequential(nn.AdaptiveAvgPool2d(8), nn.Flatten(), nn.Linear(192, 1000))
    options = {"workers": 0, "severities": [2]}
    published = scuff.evaluate(
        {"net": network}, None, f"imagenet-c:{pictures / 'c'}", clean=f"folder:{pictures / 'clean'}", **options
    )
    ours = scuff.evaluate({"net": network}, "imagenet-c", f"folder:{pictures / 'clean'}", only="contrast", **options)
    assert len(published) == len(ours) == 6
    for column in ("corruption", "severity", "label", "prediction", "confidence"):
        assert published[column].tolist() == ours[column].tolist()
    assert published.groupby("image_id").size().tolist() == [2, 2, 2]  # clean and corrupted know each other


def test_a_saved_dataset_can_be_the_clean_counterpart_of_arrays(tmp_path):
    import datasets

    pixels = np.random.default_rng(0).integers(0, 256, (4, 32, 32, 3), dtype=np.uint8)
    np.save(tmp_path / "fog.npy", np.tile(pixels, (5, 1, 1, 1)))
    np.save(tmp_path / "labels.npy", np.arange(4))
    names = list(open_source(f"cifar10-c:{tmp_path}").cell("fog", 1).class_names)
    kinds = datasets.Features({"image": datasets.Image(), "label": datasets.ClassLabel(names=names)})
    datasets.Dataset.from_dict({"image": list(pixels), "label": range(4)}, kinds).save_to_disk(tmp_path / "hf")
    models = {"net": linear(pixels=32 * 32 * 3, classes=10)}
    options = {"clean": f"hf:{tmp_path / 'hf'}", "severities": [1], "crop": 32, "workers": 0}
    rows = scuff.evaluate(models, None, f"cifar10-c:{tmp_path}", **options)
    clean, fog = (rows[rows["corruption"] == entry]["prediction"].tolist() for entry in (CLEAN, "fog"))
    assert clean == fog  # the same pixels


def test_other_clean_images_are_refused_before_anything_runs(pictures, tmp_path):
    (pictures / "clean" / "n01440764" / "b.JPEG").unlink()
    with pytest.raises(ValueError, match="of 2 clean and 3 corrupted ones 2 have the same place and label"):
        scuff.evaluate(
            linear(), None, f"imagenet-c:{pictures / 'c'}", tmp_path / "out", clean=f"folder:{pictures / 'clean'}"
        )
    assert not (tmp_path / "out").exists()


def test_several_models_share_every_corrupted_batch(source, monkeypatch):
    calls = []
    corrupt = scuff.evaluation.runner.corrupt
    monkeypatch.setattr("scuff.evaluation.runner.corrupt", lambda *a, **k: calls.append(a[1]) or corrupt(*a, **k))
    models = {"a": linear(0), "b": linear(1)}
    rows = scuff.evaluate(models, "cifar10-c", source, **FEW)
    assert sorted(calls) == ["contrast"] * 2 + ["gaussian_noise"] * 2  # one batch a cell, for both
    alone = scuff.evaluate({"b": linear(1)}, "cifar10-c", source, **FEW)
    ours = rows[rows["model"] == "b"].reset_index(drop=True)
    assert ours["prediction"].tolist() == alone["prediction"].tolist()
    assert rows[rows["model"] == "a"]["prediction"].tolist() != ours["prediction"].tolist()


def test_without_a_suite_images_are_evaluated_as_they_are(source, tmp_path):
    rows = scuff.evaluate(linear(), None, source, tmp_path)
    assert set(rows["corruption"]) == {CLEAN}
    assert rows["prediction"].tolist() == by_hand(linear(), source, CLEAN, None)[0].tolist()
    evaluation = read_evaluation(tmp_path)
    assert (evaluation.suite.name, dict(evaluation.suite.entries)) == ("none", {})


def test_data_may_move(source, tmp_path):
    """An address is noted, but it is the images that must stay the same."""
    for name in ("here", "there"):
        np.savez(tmp_path / f"{name}.npz", images=source.images.array, labels=source.labels)
    scuff.evaluate(linear(), "cifar10-c", f"npz:{tmp_path / 'here.npz'}", tmp_path / "out", **FEW)
    plan = plan_evaluation(linear(), "cifar10-c", f"npz:{tmp_path / 'there.npz'}", tmp_path / "out", **FEW)
    assert plan.missing() == {}
    np.savez(tmp_path / "other.npz", images=255 - source.images.array, labels=source.labels)
    with pytest.raises(ValueError, match="source_fingerprint was"):
        plan_evaluation(linear(), "cifar10-c", f"npz:{tmp_path / 'other.npz'}", tmp_path / "out", **FEW)


def test_entries_without_levels_have_severity_0(source):
    rows = scuff.evaluate(linear(), "imagenet-noc", source, only=["hue", "rain"])
    assert rows.groupby("corruption", observed=True)["severity"].unique().map(list).to_dict() == {
        CLEAN: [0], "hue": [0], "rain": [0],
    }  # fmt: skip


def test_batches_do_not_change_the_predictions(source):
    one, other = (scuff.evaluate(linear(), "cifar10-c", source, batch_size=size, **FEW) for size in (7, 64))
    assert one["prediction"].tolist() == other["prediction"].tolist()
    np.testing.assert_allclose(
        one["confidence"], other["confidence"], rtol=1e-5
    )  # a product's sums depend on the batch


def test_only_outputs_of_the_source_s_classes_count(source):
    """Outputs 2, 5 and 6 stand for the classes 0, 1 and 1: the largest of them wins, whatever the others say."""
    restricted = array_source("few", source.images.array, source.labels % 2)
    object.__setattr__(restricted, "classes", ClassMap((2, 5, 6), (0, 1, 1)))
    rows = scuff.evaluate(linear(), "cifar10-c", restricted, only=["contrast"], severities=[1])
    pixels = (torch.from_numpy(source.images.array).permute(0, 3, 1, 2).float() / 255 - 0.5) / 0.1
    with torch.no_grad():
        probabilities = linear().model(pixels)[:, [2, 5, 6]].softmax(1)
    clean = rows[rows["corruption"] == CLEAN]
    assert clean["prediction"].tolist() == np.array([0, 1, 1])[probabilities.argmax(1).numpy()].tolist()
    np.testing.assert_allclose(clean["confidence"], probabilities.max(1).values, rtol=1e-4)


def test_a_limit_spreads_over_the_data_and_keeps_the_ids(source):
    rows = scuff.evaluate(linear(), "cifar10-c", source, limit=10, **FEW)
    whole = scuff.evaluate(linear(), "cifar10-c", source, **FEW)
    assert rows["image_id"].unique().tolist() == list(range(0, 50, 5))
    same = whole[whole["image_id"].isin(range(0, 50, 5))]
    assert rows["prediction"].tolist() == same["prediction"].tolist()  # an image's noise is its own


def test_sequences_have_a_row_for_every_frame(source):
    classifier = linear()
    rows = scuff.evaluate(
        classifier, "cifar10-p", source, only=["translate", "gaussian_noise"], severities=[2], limit=6
    )
    assert set(rows["corruption"]) == {"translate", "gaussian_noise"}
    few = source.take(np.arange(6) * 50 // 6)
    for entry, difficulty, severity in (("translate", 1, 0), ("gaussian_noise", 2, 2)):
        images = torch.from_numpy(few.images.array).permute(0, 3, 1, 2)
        film = scuff.sequence(images, f"cifar10-p/{entry}", difficulty, ids=few.ids)
        pixels = (film.float() / 255 - 0.5) / 0.1
        with torch.no_grad():
            logits = classifier.model(pixels.flatten(0, 1))
        order = logits.argsort(dim=1, descending=True, stable=True)
        cell = rows[rows["corruption"] == entry].sort_values(["image_id", "frame"])
        assert set(cell["severity"]) == {severity}
        assert cell["frame"].tolist() == [*range(film.shape[1])] * 6
        for rank, column in enumerate(["prediction", "rank2", "rank3", "rank4", "rank5"]):
            assert cell[column].tolist() == order[:, rank].tolist()


def test_a_film_of_pictures_has_surroundings(tmp_path):
    """ImageNet-P's views move on the larger picture, and what models see is cut out of it."""
    from PIL import Image

    for label in ("a", "b"):
        (tmp_path / label).mkdir()
        Image.new("RGB", (50, 40), (200, 100, 50)).save(tmp_path / label / "x.png")
    seen = []

    def look(batch):
        seen.append(batch)
        return torch.zeros(len(batch), 2)

    scuff.evaluate(look, "imagenet-p", f"folder:{tmp_path}", only=["translate"], resize=40, crop=30, workers=0)
    assert {tuple(batch.shape) for batch in seen} == {(2, 3, 30, 30)}
    # the first frame is moved by 20 pixels of 224, which is 3 of 30: inside the margin of 5, no black comes into sight
    assert seen[0].min() > 0


# --- resuming -------------------------------------------------------------------------------------------------------


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


# --- what goes wrong ------------------------------------------------------------------------------------------------


def test_a_full_disk_keeps_every_finished_cell(source, tmp_path, monkeypatch):
    room, replace = 6, os.replace

    def rename_while_there_is_room(*names):
        nonlocal room
        room -= 1
        if room < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        replace(*names)

    monkeypatch.setattr("os.replace", rename_while_there_is_room)  # two files of settings, then four cells
    with pytest.raises(EvaluationStopped, match="is full; finished cells are valid: make room and run the same again"):
        scuff.evaluate(linear(), "cifar10-c", source, tmp_path / "full", **FEW)
    monkeypatch.setattr("os.replace", replace)
    finished = files(tmp_path / "full")
    assert len(finished) == 4
    assert not list((tmp_path / "full").rglob("*.tmp"))
    scuff.evaluate(linear(), "cifar10-c", source, tmp_path / "full", **FEW)
    scuff.evaluate(linear(), "cifar10-c", source, tmp_path / "roomy", **FEW)
    assert files(tmp_path / "full") == files(tmp_path / "roomy")
    assert finished.items() <= files(tmp_path / "full").items()


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory"),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 1 bytes"),
        MemoryError(),
    ],
    ids=["gpu", "cpu", "numpy"],
)
def test_out_of_memory_halves_the_batch_and_goes_on(source, error):
    network, sizes, one_cell = linear().model, [], {"only": ["contrast"], "severities": [1]}

    def hungry(batch):
        sizes.append(len(batch))
        if len(batch) > 9:
            raise error
        return network(batch)

    classifier = Classifier(hungry, name="net", mean=(0.5,) * 3, std=(0.1,) * 3)
    rows = scuff.evaluate(classifier, "cifar10-c", source, batch_size=32, device="cpu", **one_cell)
    expected = scuff.evaluate(linear(), "cifar10-c", source, device="cpu", **one_cell)
    assert rows["prediction"].tolist() == expected["prediction"].tolist()
    assert sizes[:3] == [32, 16, 8]
    assert max(sizes[3:]) <= 8  # what did not fit once is not tried again


def test_a_model_that_never_fits_is_given_up(source):
    def hungry(batch):
        raise torch.OutOfMemoryError("CUDA out of memory")

    with pytest.raises(MemoryError, match="not even one image at a time"):
        scuff.evaluate(hungry, "cifar10-c", source, **FEW)


def test_other_errors_of_a_model_are_told_with_their_place(source):
    def broken(batch):
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    with pytest.raises(ValueError, match=r"model broken failed on images \(50, 3, 12, 10\) .*cannot be multiplied"):
        scuff.evaluate(broken, "cifar10-c", source, **FEW)


def test_nan_is_refused_and_names_the_cell(source, tmp_path):
    def sick(batch):
        logits = torch.zeros(len(batch), 7)
        if (batch.amax((1, 2, 3)) < 0.95).all():  # only where the contrast is low
            logits[3:5] = torch.nan
        return logits

    with pytest.raises(CellsFailed, match="gave NaN for 2 predictions of contrast"):
        scuff.evaluate({"sick": sick}, "cifar10-c", source, tmp_path, only=["contrast"], severities=[5])
    assert [name.split("-")[0] for name in files(tmp_path)] == ["rows/sick/clean"]


def test_labels_beyond_the_outputs_are_refused(source):
    with pytest.raises(ValueError, match="net has 3 outputs, but noise needs outputs for labels up to 6"):
        scuff.evaluate(linear(classes=3), "cifar10-c", source, **FEW)


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        (("cifar10-d", "fashion"), {}, "no suite is called .cifar10-d.; did you mean"),
        (("cifar10-c", "fashion"), {"only": ["fogg"]}, "did you mean fog"),
        (("cifar10-c", "fashion"), {"severities": [6]}, "from 1 to 5, got 6"),
        (("cifar10-c", "fashion"), {"severities": []}, "no severity is chosen"),
        ((None, "fashion"), {"only": ["fog"]}, "the suite none has no entry 'fog'"),
        (("cifar10-c", "fashion"), {"limit": 0}, "limit must be at least 1"),
        (("cifar10-c", "fashion"), {"resize": 20}, "resize and crop are for pictures"),
        (("cifar10-c", "fashion"), {"clean": "fashion"}, "clean is for published"),
        (("cifar10-c", "fashion"), {"precision": "float8"}, "float8"),
        (("cifar10-c", "cifar11:here"), {}, "cifar11"),
        (("cifar10-c", Path("here")), {}, "must be an address, .* got PosixPath"),
        (("imagenet-noc", "fashion"), {"severities": [1]}, "have no severities to choose from"),
        (("cifar10-p", "fashion"), {"as_published": True}, "as_published is for single corruptions"),
        (("cifar10-c", "fashion"), {"seed": 1.5}, "seed must be a whole number, got 1.5"),
        (("cifar10-c", "fashion"), {"classes": "nonsense"}, "nonsense"),
        (("cifar10-c", "fashion"), {"batch_size": 0}, "batch_size must be at least 1, got 0"),
        (("cifar10-c", "fashion"), {"device": "cuda:99"}, "torch finds . CUDA devices"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_written(tmp_path, arguments, options, words):
    with pytest.raises((ValueError, KeyError), match=words):
        scuff.evaluate(linear(), *arguments, tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_an_unknown_device_is_refused(source):
    with pytest.raises(ValueError, match="no device is called 'gpu'"):
        scuff.evaluate(linear(), "cifar10-c", source, device="gpu")


def test_an_entry_called_clean_is_refused(source):
    suite = scuff.Suite("mine", 1, 32, {"clean": {"corruption": "contrast", "gain": 0.5}})
    with pytest.raises(ValueError, match="rows call uncorrupted images clean"):
        scuff.evaluate(linear(), suite, source)


def test_a_changed_suite_is_told_by_its_numbers(source, tmp_path):
    for gain, words in ((0.5, None), (0.6, r"suite\.entries\.contrast\.gain was 0\.5, is now 0\.6")):
        suite = scuff.Suite("mine", 1, 32, {"contrast": {"gain": gain}})
        if words is None:
            scuff.evaluate(linear(), suite, source, tmp_path)
        else:
            with pytest.raises(ValueError, match=words):
                scuff.evaluate(linear(), suite, source, tmp_path)


def test_a_model_of_other_classes_is_refused():
    """Fashion-MNIST has ten named classes; a model of 1000 outputs means something else by them."""
    with pytest.raises(ValueError, match="net has 1000 outputs, but fashion has 10 classes"):
        scuff.evaluate({"net": lambda batch: torch.zeros(len(batch), 1000)}, "cifar10-c", "fashion", limit=5)


def test_images_that_share_an_id_are_refused(source):
    with pytest.raises(ValueError, match="the ids of images must differ"):
        scuff.evaluate(linear(), "cifar10-c", replace(source, ids=source.ids // 2))


def test_a_folder_that_is_no_evaluation_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"there is no evaluation\.json in it"):
        read_evaluation(tmp_path)


def test_any_fsspec_path_will_do(source):
    rows = scuff.evaluate(linear(), "cifar10-c", source, "memory://evaluation/test", **FEW)
    again = read_evaluation("memory://evaluation/test").rows
    columns = ["corruption", "severity", "image_id"]
    left, right = (r.astype({"corruption": str}).sort_values(columns).reset_index(drop=True) for r in (rows, again))
    pd.testing.assert_frame_equal(left, right, check_categorical=False)


def test_embedded_data_evaluate_from_their_address(tmp_path):
    rows = scuff.evaluate(linear(pixels=28 * 28, classes=10).model, "cifar10-c", "fashion", limit=20, **FEW)
    assert len(rows) == 5 * 20
    assert rows["image_id"].nunique() == 20
    assert set(rows["label"]) <= set(range(len(open_source("fashion").class_names)))


def test_a_model_that_fails_takes_no_other_of_its_group_with_it(source, tmp_path):
    def sick(batch):
        raise RuntimeError("I am ill")

    with pytest.raises(ValueError, match=r"sick failed on images .*I am ill"):
        scuff.evaluate({"well": linear(), "sick": sick}, "cifar10-c", source, tmp_path, **FEW)
    kept = files(tmp_path)
    assert kept
    assert {name.split("/")[1] for name in kept} == {"well"}
