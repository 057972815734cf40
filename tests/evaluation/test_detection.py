"""Detectors and segmenters through whole evaluations: models that see all, so that only what moves can be wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from tool_modules import load_tool

import scuff
from scuff.evaluation import plan_evaluation, read_evaluation, run_plan
from scuff.evaluation.detection import _on_mirror_images, _sums
from scuff.metrics import performance, task_scores
from scuff.models.detectors import class_table, open_task_model
from scuff.report import write_report

shapes = load_tool("painted_shapes")

MOVING = """
suite: moving
version: 1
size: 64
entries:
  flip: {}
  brightness: {shift: 0.0}
"""


def white_square(seed: int, size: tuple[int, int]):
    """A white square on black, near a corner."""
    random = np.random.default_rng(seed)
    side = int(random.integers(10, 16))
    x, y = int(random.integers(2, 8)), int(random.integers(2, 8))
    classes = np.zeros(size, np.uint8)
    classes[y : y + side, x : x + side] = 2
    pixels = np.repeat((classes[..., None] > 0) * np.uint8(255), 3, 2)
    return shapes.Painted(pixels, np.array([[x, y, x + side, y + side]], float), np.array([1]), classes)


def see_boxes(images: list) -> list:
    """What is bright."""
    found = []
    for image in images:
        rows, columns = (image.mean(0) > 0.5).nonzero(as_tuple=True)
        box = [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]
        found.append({"boxes": torch.tensor([box]).float(), "scores": torch.ones(1), "labels": torch.ones(1).long()})
    return found


def see_regions(images: torch.Tensor) -> torch.Tensor:
    return 2 * (images.mean(1) > 0.5).long()


SEERS = {"detection": see_boxes, "segmentation": see_regions}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("detection")
    painted = [white_square(k, ((48, 64), (56, 56))[k % 2]) for k in range(7)]
    shapes.write_coco(folder / "coco", painted)
    shapes.write_masks(folder / "masks", painted)
    (folder / "moving.yaml").write_text(MOVING)
    return folder


def data_of(place, task: str) -> str:
    return f"coco:{place}/coco" if task == "detection" else f"masks:{place}/masks"


@pytest.mark.parametrize("task", ["detection", "segmentation"])
def test_what_is_true_moves_with_the_pictures(place, tmp_path, task) -> None:
    options = {"task": task, "batch_size": 2}
    rows = scuff.evaluate(SEERS[task], str(place / "moving.yaml"), data_of(place, task), **options)
    assert len(rows) == 3 * 7
    scores = task_scores(performance(rows))
    assert {name: score.value for name, score in scores.items()} == pytest.approx({"P": 100, "mPC": 100, "rPC": 100})
    still = scuff.evaluate(SEERS[task], str(place / "moving.yaml"), data_of(place, task), targets="still", **options)
    of = dict(zip(performance(still).cells, performance(still).values, strict=True))
    assert of["clean", 0] == of["brightness", 0] == pytest.approx(1)
    assert of["flip", 0] < 0.8


@pytest.mark.parametrize("task", ["detection", "segmentation"])
def test_a_folder_is_resumed_and_reported(place, tmp_path, task) -> None:
    options = {"task": task, "only": ["flip"]}
    arguments = ({"one": SEERS[task]}, str(place / "moving.yaml"), data_of(place, task), tmp_path)
    plan = plan_evaluation(*arguments, **options)
    assert run_plan(plan).predictions == 14
    assert run_plan(plan_evaluation(*arguments, **options)).predictions == 0
    with pytest.raises(ValueError, match="targets"):
        plan_evaluation(*arguments, **options, targets="still")
    evaluation = read_evaluation(tmp_path)
    assert evaluation.settings["task"] == task
    page = Path(write_report(tmp_path)).read_text(encoding="utf-8")
    measure = "AP" if task == "detection" else "mIoU"
    assert f"{measure} clean (P)" in page
    assert f"--task {task}" in page
    assert "No picture is worse when corrupted." in page


def test_the_worst_pictures_are_drawn(place, tmp_path) -> None:
    for task, seer in SEERS.items():
        folder = tmp_path / task
        options = {"task": task, "targets": "still", "only": ["flip"], "out": folder}
        scuff.evaluate({"one": seer}, str(place / "moving.yaml"), data_of(place, task), **options)
        page = Path(write_report(folder)).read_text(encoding="utf-8")
        assert page.count('<img src="data:image/png') == 2  # one picture of the only corruption, clean and corrupted
        assert ("1 object → 0 found, 1 box" in page) == (task == "detection")


def test_sizes_and_batches_do_not_matter(place) -> None:
    found = [
        scuff.evaluate(see_boxes, "coco-c", data_of(place, "detection"), task="detection", batch_size=size, **CHOSEN)
        for size in (1, 32)
    ]
    for column in ("image_id", "boxes", "true_boxes"):
        for a, b in zip(found[0][column], found[1][column], strict=True):
            assert np.array_equal(a, b)


CHOSEN = {"only": ["elastic_transform", "gaussian_noise"], "severities": [3]}


# --- what is refused ------------------------------------------------------------------------------------------------


def test_data_and_task_must_be_for_each_other(place) -> None:
    suite, coco = str(place / "moving.yaml"), data_of(place, "detection")
    with pytest.raises(ValueError, match="annotated for detection, not with classes; say --task detection"):
        scuff.evaluate(see_boxes, suite, coco)
    with pytest.raises(ValueError, match="fashion has no annotations for detection; give coco:DIR"):
        scuff.evaluate(see_boxes, suite, "fashion", task="detection")
    with pytest.raises(ValueError, match="coco has no annotations for segmentation"):
        scuff.evaluate(see_boxes, suite, coco, task="segmentation")
    with pytest.raises(ValueError, match="task must be classification, detection, segmentation, got 'depth'"):
        scuff.evaluate(see_boxes, suite, coco, task="depth")
    with pytest.raises(ValueError, match="crop is for classifiers"):
        scuff.evaluate(see_boxes, suite, coco, task="detection", crop=32)
    with pytest.raises(ValueError, match="sequences of frames are for classifiers"):
        scuff.evaluate(see_boxes, "cifar10-p", coco, task="detection")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([], "a list with a mapping for each of"),
        ([{"boxes": torch.zeros(1, 4)}], "must return boxes, scores and labels of every image, got boxes"),
        (
            [{"boxes": torch.zeros(2, 4), "scores": torch.zeros(1), "labels": torch.zeros(1)}],
            r"must return boxes \(n, 4\), scores \(n,\) and labels \(n,\), got \(2, 4\), \(1,\), \(1,\)",
        ),
    ],
)
def test_answers_of_another_form_are_told(answer, message) -> None:
    detector = open_task_model(lambda images: answer, "detection", "mine")
    with pytest.raises(ValueError, match=message):
        detector(torch.zeros(1, 3, 8, 8, dtype=torch.uint8))


def test_labels_are_matched_by_their_names() -> None:
    class Named:
        class_names = ("__background__", "traffic light", "cat", "dog")

        def __call__(self, images):
            return []

    model = open_task_model(Named(), "detection", "named")
    assert class_table(model, ["dog", "Traffic_Light"]).tolist() == [-1, 1, -1, 0]
    with pytest.raises(ValueError, match="named knows none of the classes of the data"):
        class_table(model, ["plane"])
    assert class_table(open_task_model(see_boxes, "detection", "plain"), ["dog"]) is None


def test_boxes_on_what_was_filled_are_ghosts() -> None:
    filled = torch.zeros(10, 20, dtype=torch.bool)
    filled[:, 10:] = True
    boxes = np.array([[0, 0, 10, 10], [12, 0, 20, 10], [4, 0, 15, 4], [6, 0, 15, 4.0]])
    boxes = torch.from_numpy(boxes)
    assert _on_mirror_images(boxes, _sums(filled[None])[0]).tolist() == [False, True, False, True]
    assert _on_mirror_images(boxes, None).tolist() == [False] * 4


def test_segmenters_may_answer_small_logits() -> None:
    model = open_task_model(
        lambda x: {"out": torch.stack([x[:, 0, ::2, ::2], 1 - x[:, 0, ::2, ::2]], 1)}, "segmentation"
    )
    image = torch.zeros(1, 3, 8, 8, dtype=torch.uint8)
    image[..., :4] = 255
    assert torch.equal(model(image), (image[:, 0] == 0).long())
    with pytest.raises(ValueError, match=r"must return logits \(N, K, H, W\) or classes \(N, H, W\)"):
        open_task_model(lambda x: x[:, 0], "segmentation")(image)
