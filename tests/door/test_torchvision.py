"""`scuff.Corrupt` among torchvision's transforms. Collected only where torchvision can be imported."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision import tv_tensors
from torchvision.transforms import v2

import scuff
from scuff.random import content_ids


def _pictures() -> list[Image.Image]:
    rng = np.random.default_rng(0)
    return [Image.fromarray(rng.integers(0, 256, (40, 50, 3), dtype=np.uint8)) for _ in range(3)]


def test_between_torchvision_transforms() -> None:
    pipeline = v2.Compose(
        [
            v2.Resize(36),
            v2.CenterCrop(32),
            scuff.Corrupt("cifar10-c/gaussian_noise", severity=3),
            v2.PILToTensor(),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize([0.5] * 3, [0.25] * 3),
        ]
    )
    first = torch.stack([pipeline(p) for p in _pictures()])
    assert first.shape == (3, 3, 32, 32)
    again = torch.stack([pipeline(p) for p in reversed(_pictures())]).flip(0)
    assert torch.equal(first, again)


def test_tv_tensors_and_batches() -> None:
    x = tv_tensors.Image(torch.stack([v2.functional.pil_to_tensor(p) for p in _pictures()]))
    y = v2.Compose([scuff.Corrupt("imagenet-c/fog", severity=2)])(x)
    assert y.shape == x.shape
    assert y.dtype == torch.uint8
    assert torch.equal(y, scuff.corrupt(torch.as_tensor(x), "imagenet-c/fog", 2, ids="content"))
    assert isinstance(y, tv_tensors.Image)


def test_labels_pass_untouched_and_are_no_ids() -> None:
    x = tv_tensors.Image(torch.stack([v2.functional.pil_to_tensor(p) for p in _pictures()]))
    labels = torch.zeros(3, dtype=torch.int64)
    noise = scuff.Corrupt("cifar10-c/gaussian_noise", severity=3)
    images, same = v2.Compose([noise, v2.Identity()])(x, labels)
    assert same is labels
    assert isinstance(images, tv_tensors.Image)
    assert torch.equal(images, noise(x))


def _target(size=(60, 80)):
    boxes = torch.tensor([[10.0, 20.0, 30.0, 45.0], [50.0, 5.0, 75.0, 15.0]])
    masks = torch.zeros(2, *size, dtype=torch.bool)
    masks[0, 20:45, 10:30] = masks[1, 5:15, 50:75] = True
    return {
        "boxes": tv_tensors.BoundingBoxes(boxes, format="XYXY", canvas_size=size),
        "masks": tv_tensors.Mask(masks),
        "points": tv_tensors.KeyPoints(torch.tensor([[10.0, 20.0], [79.0, 59.0]]), canvas_size=size),
        "labels": torch.tensor([1, 2]),
    }


@pytest.mark.parametrize("name", ["syn2nat-candidates/flip", "imagenet-c/elastic_transform", "noc-candidates/rotation"])
def test_tvtensors_move_as_a_dictionary_does(name):
    level = 2 if name.startswith("imagenet") else None
    image, target = tv_tensors.Image(torch.randint(0, 256, (3, 60, 80), dtype=torch.uint8)), _target()
    out, moved = v2.Compose([scuff.Corrupt(name, level)])(image, target)
    twins = {"boxes": "boxes", "masks": "masks", "points": "keypoints"}
    plain = {"image": image, **{twin: target[key] for key, twin in twins.items()}}
    plain = {key: value.as_subclass(torch.Tensor) for key, value in plain.items()}
    expected = scuff.corrupt(plain, name, level, ids="content", targets=scuff.targets.Rules(min_area=0.0, min_size=0.0))
    assert isinstance(out, tv_tensors.Image)
    assert torch.equal(out, expected["image"])
    for key, twin in twins.items():
        assert type(moved[key]) is type(target[key])
        torch.testing.assert_close(moved[key].as_subclass(torch.Tensor), expected[twin], equal_nan=True)
    assert moved["labels"] is target["labels"]


def _rotated(boxes):
    """The same boxes with a format of those that may be turned; torchvision converts only among these."""
    corners = boxes.as_subclass(torch.Tensor)[:, [0, 1, 2, 1, 2, 3, 0, 3]]
    return tv_tensors.BoundingBoxes(corners, format="XYXYXYXY", canvas_size=boxes.canvas_size)


def _hull(boxes):
    if boxes.format.value in ("XYXY", "XYWH", "CXCYWH"):
        return v2.functional.convert_bounding_box_format(boxes, new_format="XYXY").as_subclass(torch.Tensor)
    corners = v2.functional.convert_bounding_box_format(boxes, new_format="XYXYXYXY").as_subclass(torch.Tensor)
    return torch.cat((corners.view(-1, 4, 2).amin(1), corners.view(-1, 4, 2).amax(1)), dim=1)


FORMATS = ["XYWH", "CXCYWH", "XYWHR", "CXCYWHR", "XYXYXYXY"]
FLIP = "syn2nat-candidates/flip"


@pytest.mark.parametrize("seed", range(4))  # flips all ways
@pytest.mark.parametrize("form", FORMATS)
def test_all_formats_of_boxes_are_alike(form, seed):
    image, target = torch.zeros(3, 60, 80, dtype=torch.uint8), _target()
    given = _rotated(target["boxes"]) if form in FORMATS[2:] else target["boxes"]
    boxes = v2.functional.convert_bounding_box_format(given, new_format=form)
    turn = scuff.Corrupt(FLIP, seed=seed)
    plain, other = turn(tv_tensors.Image(image), target["boxes"])[1], turn(tv_tensors.Image(image), boxes)[1]
    assert other.format.value == form
    torch.testing.assert_close(_hull(other), plain.as_subclass(torch.Tensor), atol=1e-3, rtol=0)
    if form == "XYXYXYXY":  # the corners go round as torchvision wants them
        again = v2.functional.convert_bounding_box_format(other, new_format="XYWHR")
        torch.testing.assert_close(_hull(again), plain.as_subclass(torch.Tensor), atol=1e-3, rtol=0)


@pytest.mark.parametrize("form", FORMATS[2:])
def test_rotated_boxes_turn_with_the_picture(form):
    at = torch.tensor([[40.0, 30.0, 20.0, 10.0, 25.0]])
    given = tv_tensors.BoundingBoxes(at, format="CXCYWHR", canvas_size=(60, 80))
    image, name = tv_tensors.Image(torch.zeros(3, 60, 80, dtype=torch.uint8)), "noc-candidates/rotation"
    boxes = v2.functional.convert_bounding_box_format(given, new_format=form)
    moved = scuff.Corrupt(name, 12)(image, boxes)[1]
    assert moved.format.value == form
    moved = v2.functional.convert_bounding_box_format(moved, new_format="CXCYWHR").as_subclass(torch.Tensor)
    (motion,) = scuff.motions(name, 12, size=(60, 80), ids=content_ids(image[None]))
    turned = torch.rad2deg(torch.atan2(motion.matrix[0, 0, 1], motion.matrix[0, 0, 0]))
    torch.testing.assert_close(moved[0, 2:4], at[0, 2:4], atol=1e-3, rtol=0)
    assert abs(abs(float(moved[0, 4]) - 25.0) - abs(float(turned))) < 1e-2


@pytest.mark.parametrize("row", [[40, 30, -20, 10, 0], [40, 30, torch.nan, 10, 0], [400, 30, 20, 10, 0]])
def test_bad_rotated_boxes_are_named_or_emptied(row):
    boxes = tv_tensors.BoundingBoxes(torch.tensor([row], dtype=torch.float32), format="CXCYWHR", canvas_size=(60, 80))
    image = tv_tensors.Image(torch.zeros(3, 60, 80, dtype=torch.uint8))
    with pytest.raises(scuff.targets.TargetError, match="box 0"):
        scuff.Corrupt(FLIP)(image, boxes)
    assert not scuff.Corrupt(FLIP, targets=scuff.targets.Rules(bad="drop"))(image, boxes)[1].any()


def test_pil_images_trees_and_wrong_sizes():
    turn, target = scuff.Corrupt("noc-candidates/translation"), _target()
    nested = {"a": [Image.new("RGB", (80, 60)), {"b": target["boxes"]}], "name": "x"}
    moved = turn(nested)
    assert isinstance(moved["a"][0], Image.Image)
    assert isinstance(moved["a"][1]["b"], tv_tensors.BoundingBoxes)
    assert moved["name"] == "x"
    with pytest.raises(scuff.targets.TargetError, match=r"for a picture of \(60, 80\)"):
        turn(Image.new("RGB", (81, 60)), target)


def test_what_leaves_the_picture_is_sanitized_away():
    target = _target()
    shift = scuff.Corrupt("translation", parameters={"distance": 70})
    pipeline = v2.Compose([shift, v2.SanitizeBoundingBoxes()])
    _, moved = pipeline(tv_tensors.Image(torch.zeros(3, 60, 80, dtype=torch.uint8)), target)
    assert len(moved["boxes"]) == len(moved["labels"]) < 2
