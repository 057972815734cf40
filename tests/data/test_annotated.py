"""Annotated pictures: every format says the same, and what cannot be meant is dropped or refused."""

from __future__ import annotations

import json

import numpy as np
import pytest
from PIL import Image
from tool_modules import load_tool

from scuff.data import AnnotatedSource, open_source
from scuff.data.annotated import dropped_words
from scuff.data.masks import CITYSCAPES
from scuff.data.sized import load_sized
from scuff.images import ImageError

shapes = load_tool("painted_shapes")
PAINTED = shapes.paint_many(5, sizes=((60, 80), (72, 72)))


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("annotated")
    for name, write in shapes.WRITERS.items():
        write(folder / name, PAINTED)
    return folder


@pytest.mark.parametrize("form", ["coco", "voc", "yolo"])
def test_all_formats_of_boxes_say_the_same(place, form) -> None:
    source = open_source(f"{form}:{place}/{form}")
    assert isinstance(source, AnnotatedSource)
    assert source.task == "detection"
    assert set(source.class_names) == set(shapes.SHAPES)
    for painted, objects, size in zip(PAINTED, source.objects, source.sizes, strict=True):
        assert tuple(size) == painted.classes.shape
        np.testing.assert_allclose(objects.boxes, painted.boxes, atol=1e-9)
        assert [source.class_names[k] for k in objects.labels] == [shapes.SHAPES[k] for k in painted.labels]
        assert not objects.crowd.any()
    assert np.array_equal(source.read([0])[0].permute(1, 2, 0), PAINTED[0].pixels)


def test_maps_of_classes(place) -> None:
    source = open_source(f"masks:{place}/masks")
    assert source.task == "segmentation"
    assert source.class_names == ("background", *shapes.SHAPES)
    for position, painted in enumerate(PAINTED):
        assert np.array_equal(source.maps.read(position, painted.classes.shape), painted.classes)
    with pytest.raises(ImageError, match="has 80 x 60 pixels, and its picture 10 x 10"):
        source.maps.read(0, (10, 10))


def test_a_part_keeps_ids_and_annotations(place) -> None:
    source = open_source(f"coco:{place}/coco")
    part = source.take([3, 1])
    assert part.ids.tolist() == source.ids[[3, 1]].tolist()
    assert part.objects[0] is source.objects[3]
    assert part.sizes.tolist() == source.sizes[[3, 1]].tolist()
    assert part.fingerprint() != source.fingerprint() == open_source(f"coco:{place}/coco").fingerprint()


def test_the_fingerprint_notices_a_moved_box(place, tmp_path) -> None:
    before = open_source(f"coco:{place}/coco").fingerprint()
    folder = shapes.write_coco(tmp_path / "coco", PAINTED)
    assert open_source(f"coco:{folder}").fingerprint() == before
    content = json.loads((folder / "annotations.json").read_text())
    content["annotations"][0]["bbox"][0] += 1
    (folder / "annotations.json").write_text(json.dumps(content))
    assert open_source(f"coco:{folder}").fingerprint() != before


def test_pictures_of_one_size_come_together(place) -> None:
    source = open_source(f"coco:{place}/coco")
    pixels = load_sized(source, "cpu", workers=1)
    for _ in range(2):  # decoded, and kept
        seen = []
        for positions, images in pixels.batches(60 * 80 * 3 * 2):
            assert len(positions) == len(images) <= 2
            seen += positions.tolist()
            for position, image in zip(positions, images, strict=True):
                assert np.array_equal(image.permute(1, 2, 0), PAINTED[position].pixels)
        assert sorted(seen) == list(range(5))


# --- what cannot be meant -------------------------------------------------------------------------------------------


def _coco(folder, **changes):
    shapes.write_coco(folder, PAINTED[:1])
    content = json.loads((folder / "annotations.json").read_text())
    for key, value in changes.items():
        content["annotations"][0][key] = value
    (folder / "annotations.json").write_text(json.dumps(content))
    return f"coco:{folder}"


@pytest.mark.parametrize(
    ("bbox", "words"),
    [
        ([5, 5, 0, 4], "1 empty"),
        ([5, 5, -3, 4], "1 empty"),
        ([5, 5, float("nan"), 4], "1 not a number"),
        ([500, 5, 10, 4], "1 outside of the picture"),
    ],
)
def test_boxes_that_cannot_be_meant_are_dropped_and_counted(tmp_path, bbox, words) -> None:
    source = open_source(_coco(tmp_path, bbox=bbox))
    assert len(source.objects[0]) == len(PAINTED[0].labels) - 1
    assert dropped_words(source) == f"Of all annotations, 1 were dropped: {words}"


@pytest.mark.parametrize(
    ("key", "value", "left", "words"),
    [
        ("segmentation", [[1, 2, 3, 4, 5], [1, 2, 9, 2, 9, 9]], [[1, 2, 9, 2, 9, 9]], "outlines that are no polygons"),
        ("segmentation", [[1, 2, 3, float("nan"), 5, 6]], [], "outlines that are no polygons"),
        ("segmentation", ["a"], [], "outlines that are no polygons"),
        ("keypoints", [1, 2], None, "keypoints that are no points"),
        ("keypoints", "none", None, "keypoints that are no points"),
    ],
)
def test_outlines_and_keypoints_that_cannot_be_meant_are_dropped_and_counted(tmp_path, key, value, left, words) -> None:
    source = open_source(_coco(tmp_path, **{key: value}))
    assert len(source.objects[0]) == len(PAINTED[0].labels)
    assert source.objects[0].more[0].get(key) == left
    assert source.dropped == {words: 1}


def test_boxes_that_reach_out_are_clipped(tmp_path) -> None:
    source = open_source(_coco(tmp_path, bbox=[-5, -5, 500, 20]))
    assert source.objects[0].boxes[0].tolist() == [0, 0, 80, 15]
    assert dropped_words(source) == ""


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"bbox": [1, 2, 3]}, r"expected a bbox \[x, y, width, height\]"),
        ({"bbox": "big"}, "annotations.0.bbox: expected a list"),
        ({"category_id": 99}, "of the category 99, which is not listed"),
        ({"image_id": 99}, "of the picture 99, which is not listed"),
    ],
)
def test_files_that_contradict_themselves_are_refused(tmp_path, changes, message) -> None:
    with pytest.raises(ValueError, match=message):
        open_source(_coco(tmp_path, **changes))


def test_a_picture_of_another_size_is_refused(tmp_path) -> None:
    shapes.write_coco(tmp_path, PAINTED[:1])
    Image.fromarray(PAINTED[1].pixels).save(tmp_path / "images" / "00000.png")
    pixels = load_sized(open_source(f"coco:{tmp_path}"), "cpu", workers=1)
    with pytest.raises(ImageError, match="72 x 72 pixels, and its annotations are of a picture of 80 x 60"):
        list(pixels.batches(1))


def test_wrong_places_are_told(tmp_path) -> None:
    with pytest.raises(ValueError, match="needs one JSON file of instances, found none"):
        open_source(f"coco:{tmp_path}")
    with pytest.raises(ValueError, match="needs the folders images and labels"):
        open_source(f"yolo:{tmp_path}")
    with pytest.raises(ValueError, match="no folder of Pascal VOC"):
        open_source(f"voc:{tmp_path}")
    with pytest.raises(ValueError, match="needs the folders images and masks"):
        open_source(f"masks:{tmp_path}")
    shapes.write_coco(tmp_path, PAINTED[:2])
    (tmp_path / "images" / "00001.png").unlink()
    with pytest.raises(ValueError, match="1 of 2 pictures are not in"):
        open_source(f"coco:{tmp_path}")


def test_bad_lines_of_yolo(tmp_path) -> None:
    shapes.write_yolo(tmp_path, PAINTED[:1])
    text = tmp_path / "labels" / "00000.txt"
    for line, message in (
        ("0 much", "expected numbers"),
        ("0 1 2", "expected a class and x, y"),
        ("nan .5 .5 1 1", "expected a class and x, y"),
        ("7 .5 .5 1 1", "class 7"),
    ):
        text.write_text(line)
        with pytest.raises(ValueError, match=message):
            open_source(f"yolo:{tmp_path}")
    text.write_text("1 0.25 0.5 0.75 0.5 0.5 0.25")  # an outline
    objects = open_source(f"yolo:{tmp_path}").objects[0]
    assert objects.boxes.tolist() == [[20, 15, 60, 30]]
    assert objects.more == ({"segmentation": [[20, 30, 60, 30, 40, 15]]},)
    text.write_text("1 0.25 0.5 0.75 nan 0.5 0.25\n1 .5 .5 .5 .5")
    source = open_source(f"yolo:{tmp_path}")
    assert source.dropped == {"not a number": 1}
    assert source.objects[0].more == ({},)


def test_difficult_objects_of_voc_do_not_count(tmp_path) -> None:
    shapes.write_voc(tmp_path, PAINTED[:1])
    file = tmp_path / "Annotations" / "00000.xml"
    file.write_text(file.read_text().replace("</name>", "</name><difficult>1</difficult>"))
    assert open_source(f"voc:{tmp_path}").objects[0].crowd.all()
    file.write_text("<!DOCTYPE x><annotation/>")
    with pytest.raises(ValueError, match="cannot be read as an annotation of Pascal VOC"):
        open_source(f"voc:{tmp_path}")


def test_cityscapes_has_the_classes_that_are_scored(tmp_path) -> None:
    pictures, maps = tmp_path / "leftImg8bit/val/ulm", tmp_path / "gtFine/val/ulm"
    for folder in (pictures, maps):
        folder.mkdir(parents=True)
    Image.fromarray(np.zeros((2, 3, 3), np.uint8)).save(pictures / "ulm_1_leftImg8bit.png")
    numbers = np.array([[7, 33, 0], [4, 26, 255]], np.uint8)
    Image.fromarray(numbers).save(maps / "ulm_1_gtFine_labelIds.png")
    source = open_source(f"cityscapes:{tmp_path}")
    assert source.class_names == tuple(CITYSCAPES.values())
    assert source.maps.read(0, (2, 3)).tolist() == [[0, 18, 255], [255, 13, 255]]
