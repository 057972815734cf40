"""Corrupted copies of annotated pictures: they open as sources again, with annotations that moved."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pytest
import torch
from tool_modules import load_tool

import scuff
from scuff.door import motions
from scuff.engine import LocalEngine
from scuff.export import export as export_by_all
from scuff.moved import moved_objects

shapes = load_tool("painted_shapes")
PAINTED = shapes.paint_many(3, sizes=((60, 80), (64, 64)))
MOVING = "suite: moving\nversion: 1\nsize: 64\nentries:\n  flip: {}\n  brightness: {shift: 0.1}\n"
export = partial(export_by_all, engine=LocalEngine(1))


@pytest.fixture
def place(tmp_path):
    (tmp_path / "moving.yaml").write_text(MOVING)
    for name, write in shapes.WRITERS.items():
        write(tmp_path / name, PAINTED)
    return tmp_path


@pytest.mark.parametrize("form", ["coco", "voc", "yolo"])
def test_boxes_move_with_their_pictures(place, form) -> None:
    result = export(f"{form}:{place}/{form}", place / "out", place / "moving.yaml")
    assert result.written == 6
    before = scuff.open_source(f"{form}:{place}/{form}")
    still = scuff.open_source(f"coco:{place}/out/brightness")
    assert still.class_names == before.class_names
    for a, b in zip(still.objects, before.objects, strict=True):
        np.testing.assert_allclose(a.boxes, b.boxes, atol=2e-3)
        assert a.labels.tolist() == b.labels.tolist()
    moved = scuff.open_source(f"coco:{place}/out/flip")
    for k, (a, b) in enumerate(zip(moved.objects, before.objects, strict=True)):
        size = tuple(int(side) for side in before.sizes[k])
        (motion,) = motions("flip", None, size=size, ids=[int(before.ids[k])], suite=place / "moving.yaml")
        np.testing.assert_allclose(a.boxes, moved_objects([b], motion)[0].boxes, atol=2e-3)
    assert not list((place / "out").rglob(".annotations/*"))
    assert export(f"{form}:{place}/{form}", place / "out", place / "moving.yaml").written == 0


def test_maps_move_with_their_pictures(place) -> None:
    export(f"masks:{place}/masks", place / "out", place / "moving.yaml")
    moved = scuff.open_source(f"masks:{place}/out/flip")
    assert moved.class_names == ("background", *shapes.SHAPES)
    for position, painted in enumerate(PAINTED):
        size = painted.classes.shape
        picture = moved.read([position])[0].permute(1, 2, 0).numpy()
        classes = moved.maps.read(position, size)
        ways = [painted.pixels[::-1], painted.pixels[:, ::-1], painted.pixels[::-1, ::-1]]
        maps = [painted.classes[::-1], painted.classes[:, ::-1], painted.classes[::-1, ::-1]]
        way = next(k for k, turned in enumerate(ways) if np.array_equal(turned, picture))
        assert np.array_equal(classes, maps[way])


def test_an_evaluation_of_what_was_written_is_that_of_the_suite(place) -> None:
    export(f"coco:{place}/coco", place / "out", "coco-c", only=["elastic_transform"], severities=[5])
    options = {"task": "detection"}

    def find(images: list) -> list:
        means = [image.mean() * 40 for image in images]
        boxes = [torch.tensor([[0.0, 0.0, float(m) + 10, float(m) + 10]]) for m in means]
        return [{"boxes": box, "scores": torch.ones(1), "labels": torch.zeros(1).long()} for box in boxes]

    written = scuff.evaluate(find, None, f"coco:{place}/out/elastic_transform/5", **options)
    made = scuff.evaluate(find, "coco-c", f"coco:{place}/coco", only=["elastic_transform"], severities=[5], **options)
    made = made[made["corruption"] != "clean"]
    for column in ("boxes", "true_boxes"):
        for a, b in zip(written[column], made[column], strict=True):
            np.testing.assert_allclose(a, b, atol=2e-3)


def test_outlines_and_keypoints_of_coco_move(place) -> None:
    file = place / "coco" / "annotations.json"
    content = json.loads(file.read_text())
    x, y, wide, tall = content["annotations"][0]["bbox"]
    content["annotations"][0] |= {
        "segmentation": [[x, y, x + wide, y, x + wide, y + tall]],
        "keypoints": [x, y, 2, 0, 0, 0],
        "num_keypoints": 1,
    }
    file.write_text(json.dumps(content))
    export(f"coco:{place}/coco", place / "out", place / "moving.yaml")
    (one,) = [
        each
        for each in json.loads((place / "out/flip/annotations.json").read_text())["annotations"]
        if "segmentation" in each
    ]
    x0, y0, w, h = one["bbox"]
    outline = np.array(one["segmentation"][0]).reshape(-1, 2)
    np.testing.assert_allclose([*outline.min(0), *outline.max(0)], [x0, y0, x0 + w, y0 + h], atol=0.02)
    assert one["num_keypoints"] == 1
    assert one["keypoints"][3:] == [0, 0, 0]


def test_what_cannot_be_is_refused(place) -> None:
    with pytest.raises(ValueError, match="annotated pictures keep their sizes"):
        export(f"coco:{place}/coco", place / "out", "coco-c", resize=32)
