"""The adapters for MAITE: they have the shape of its protocols, and its own tasks run with them."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np
import pytest
import torch
from maite.protocols import generic
from maite.protocols import object_detection as od
from maite.tasks import evaluate
from tool_modules import load_tool

import scuff
from scuff.maite import Augmentation, Dataset, Metric, Model, Perturber, Target, datum_id, sweep
from scuff.metrics import mean_error, performance, task_scores

shapes = load_tool("painted_shapes")
IMAGES = 6


def guess(images: torch.Tensor) -> torch.Tensor:
    """Logits that know nothing."""
    return torch.stack([images.mean((1, 2, 3)) * k for k in range(10)], 1)


class Bright:
    """Finds what is brighter than its surroundings."""

    class_names = ("triangle", "square", "disc")

    def __call__(self, images: list) -> list:
        box = torch.tensor([[10.0, 10.0, 40.0, 40.0]])
        return [{"boxes": box, "scores": torch.ones(1), "labels": torch.ones(1).long()} for _ in images]


@pytest.fixture(scope="module")
def coco(tmp_path_factory) -> str:
    folder = tmp_path_factory.mktemp("maite") / "coco"
    return f"coco:{shapes.write_coco(folder, shapes.paint_many(IMAGES, sizes=((60, 80), (64, 64))))}"


def few() -> scuff.data.Source:
    return scuff.open_source("fashion").take(range(IMAGES))


def test_they_have_the_shape_of_the_protocols(coco) -> None:
    for kind, data, model in (("classification", few(), guess), ("detection", coco, Bright())):
        assert isinstance(Dataset(data), generic.Dataset)
        assert isinstance(Model(model, kind), generic.Model)
        assert isinstance(Metric(kind), generic.Metric)
        assert isinstance(Augmentation("imagenet-c/fog", 3), generic.Augmentation)
    assert isinstance(Dataset(coco)[0][1], get_args(od.ObjectDetectionTarget)[0])


@pytest.mark.slow
def test_a_type_checker_agrees(tmp_path) -> None:
    text = """
        from maite.protocols import image_classification as ic, object_detection as od
        from scuff.maite import Augmentation, Dataset, Metric, Model

        a: ic.Augmentation = Augmentation("imagenet-c/fog", 3)
        b: ic.Dataset = Dataset("fashion")
        c: ic.Model = Model(None)
        d: ic.Metric = Metric()
        e: od.Augmentation = Augmentation("imagenet-c/fog", 3)
        f: od.Dataset = Dataset("coco:DIR")
        g: od.Model = Model(None, "detection")
        h: od.Metric = Metric("detection")
    """
    (tmp_path / "use.py").write_text(textwrap.dedent(text))
    command = [sys.executable, "-m", "mypy", "--ignore-missing-imports", "--follow-imports=silent", "use.py"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout


def test_their_evaluation_of_a_classifier_is_ours() -> None:
    dataset, model = Dataset(few()), Model(guess)
    change = Augmentation("cifar10-c/fog", 3, seed=5)
    results, _, augmented = evaluate(
        model=model, metric=Metric(), dataset=dataset, batch_size=4, augmentation=change, return_augmented_data=True
    )
    theirs = np.stack([image for images, _, _ in augmented for image in images])
    ours = scuff.corrupt(few().read(range(IMAGES)), "cifar10-c/fog", 3, ids=few().ids, seed=5)
    assert np.array_equal(theirs, ours.numpy())
    rows = scuff.evaluate(guess, "cifar10-c", few(), only=["fog"], severities=[3], seed=5)
    rows = rows[rows["corruption"] == "fog"]
    assert results["accuracy"] == pytest.approx((rows["label"] == rows["prediction"]).mean())
    assert results["low"] <= results["accuracy"] <= results["high"]
    metadata = augmented[0][2][0]
    assert metadata["scuff"] == {"entry": "cifar10-c/fog", "severity": 3, "seed": 5}


def test_their_evaluation_of_a_detector_is_ours(coco) -> None:
    dataset = Dataset(coco)
    model = Model(Bright(), "detection", class_names=dataset.source.class_names)
    rows = sweep(model, dataset, "coco-c", "detection", only=["elastic_transform"], severities=[5])
    ours = scuff.evaluate(Bright(), "coco-c", coco, task="detection", only=["elastic_transform"], severities=[5])
    for a, b in zip(performance(rows).values, performance(ours).values, strict=True):
        assert a == pytest.approx(b, abs=1e-6)
    assert set(task_scores(performance(rows))) == {"P", "mPC", "rPC"}


def test_a_sweep_gives_rows_for_all_scores() -> None:
    rows = sweep(Model(guess), Dataset(few()), "cifar10-c", only=["fog", "contrast"], severities=[1, 2])
    ours = scuff.evaluate(guess, "cifar10-c", few(), only=["fog", "contrast"], severities=[1, 2])
    assert mean_error(rows, partial=True).value == mean_error(ours, partial=True).value


def test_boxes_move_and_inputs_stay(coco) -> None:
    image, target, about = Dataset(coco)[0]
    before, boxes = image.copy(), np.array(target.boxes)
    (made,), (moved,), (told,) = Augmentation("syn2nat-candidates/flip", seed=3)(([image], [target], [about]))
    assert np.array_equal(image, before)
    assert np.array_equal(target.boxes, boxes)
    assert made.dtype == np.uint8
    assert told["id"] == about["id"]
    assert moved.boxes.shape == boxes.shape
    assert not np.array_equal(moved.boxes, boxes)
    nothing = Target(np.zeros((0, 4)), np.zeros(0, int), np.zeros(0))
    _, (still_nothing,), _ = Augmentation("syn2nat-candidates/flip")(([image], [nothing], [about]))
    assert still_nothing.boxes.shape == (0, 4)


def test_values_keep_their_scale() -> None:
    image = np.random.default_rng(0).integers(0, 256, (3, 16, 16)).astype(np.uint8)
    change = Augmentation("cifar10-c/contrast", 2)
    (as_bytes,), _, _ = change(([image], [0], [{"id": "a/b.png"}]))
    (as_shares,), _, _ = change(([image / np.float32(255)], [0], [{"id": "a/b.png"}]))
    (as_levels,), _, _ = Augmentation("cifar10-c/contrast", 2, levels=255)(
        ([image.astype(np.float32)], [0], [{"id": 1}])
    )
    np.testing.assert_allclose(as_shares * 255, as_bytes, atol=1e-3)
    np.testing.assert_allclose(as_levels, as_bytes, atol=1e-3)
    with pytest.raises(ValueError, match="expected floats from 0 to 1, got"):
        change(([image.astype(np.float32)], [0], [{"id": 1}]))
    assert datum_id({"id": 7}) == 7
    assert datum_id({"id": "a/b.png"}) == scuff.image_id("a/b.png")


def test_what_is_no_dataset_is_told(coco) -> None:
    dataset = Dataset(coco)
    with pytest.raises(IndexError, match="there are 6 images, got 6"):
        dataset[6]
    assert len(list(dataset)) == IMAGES
    assert dataset.metadata["index2label"] == dict(enumerate(shapes.SHAPES))


@dataclass
class Vertices:
    """A box of nrtk's."""

    min_vertex: Sequence[float]
    max_vertex: Sequence[float]


def test_a_perturber_is_called_as_those_of_nrtk() -> None:
    image = np.random.default_rng(0).integers(0, 256, (60, 80, 3), dtype=np.uint8)
    flip = Perturber("syn2nat-candidates/flip", seed=3)
    boxes = [(Vertices((10, 20), (30, 45)), {"cat": 0.5}), (Vertices((90, 0), (95, 9)), {"dog": 0.25})]
    made, moved = flip(image=image, boxes=iter(boxes), id="a")
    expected = {"image": image, "boxes": np.array([[10.0, 20.0, 30.0, 45.0]])}
    expected = scuff.corrupt(expected, "syn2nat-candidates/flip", seed=3, ids=[datum_id({"id": "a"})])
    np.testing.assert_array_equal(made, expected["image"])
    ((box, scores),) = moved  # the other one is outside
    assert [*box.min_vertex, *box.max_vertex] == expected["boxes"][0].tolist()
    assert scores == {"cat": 0.5}
    again, nothing = flip(image=image)
    assert nothing is None
    np.testing.assert_array_equal(again, scuff.corrupt(image, "syn2nat-candidates/flip", seed=3))
    assert Perturber(**flip.get_config()).name == flip.name
