"""Nothing that goes wrong costs a finished cell of an evaluation."""

import errno
import os
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import torch
from made_predictors import FEW, files, linear

import scuff
from scuff.data import open_source
from scuff.engine import CellsFailed
from scuff.evaluation import EvaluationStopped, read_evaluation
from scuff.models import Classifier


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
