"""Dictionaries of a picture and its targets, through the door."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import scuff
from scuff.corruptions.motion import Motion, matrix_motion
from scuff.targets import Rules, TargetError, move

H, W = 60, 80
FLIP = "syn2nat-candidates/flip"


def sample(**more):
    rng = np.random.default_rng(0)
    image = rng.integers(0, 256, (H, W, 3), dtype=np.uint8)
    boxes = np.array([[10.0, 20.0, 30.0, 45.0], [50.0, 5.0, 75.5, 15.25]])
    masks = np.zeros((2, H, W), bool)
    masks[0, 20:45, 10:30] = masks[1, 5:15, 50:75] = True
    return {"image": image, "boxes": boxes, "labels": np.array([3, 8]), "masks": masks, "name": "a", **more}


def flipped_twice(given: dict, **options) -> dict:
    once = scuff.corrupt(given, FLIP, ids=[4], **options)
    return scuff.corrupt({k: once[k] for k in given}, FLIP, ids=[4], **options)


def test_two_flips_give_everything_back():
    rng = np.random.default_rng(1)
    points = np.stack((rng.uniform(0, W - 1, 6), rng.uniform(0, H - 1, 6)), axis=1)
    depth, flow = rng.random((H, W), dtype=np.float32), rng.normal(size=(H, W, 2)).astype(np.float32)
    given = sample(keypoints=points, depth=depth, flow=flow, mask=rng.integers(0, 9, (H, W)))
    back = flipped_twice(given)
    assert back.keys() == given.keys() | {"visibility", "kept", "dropped", "keypoints_seen"}
    for name in ("image", "boxes", "masks", "mask", "depth", "labels"):
        np.testing.assert_array_equal(back[name], given[name])
        assert back[name].dtype == given[name].dtype
    np.testing.assert_allclose(back["keypoints"], points, atol=1e-9)
    np.testing.assert_allclose(back["flow"], flow, atol=1e-4)
    assert back["visibility"].tolist() == [1.0, 1.0]
    assert back["kept"].tolist() == [0, 1]
    assert back["dropped"] == {}
    assert back["name"] == "a"


def test_the_picture_is_the_one_that_comes_without_targets():
    given = sample()
    before = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in given.items()}
    for name in ("imagenet-c/elastic_transform", "imagenet-c/fog"):
        out = scuff.corrupt(given, name, 3, seed=5)
        np.testing.assert_array_equal(out["image"], scuff.corrupt(given["image"], name, 3, seed=5))
    assert all(np.array_equal(given[k], before[k]) for k in given)


def test_a_list_of_samples_and_pictures_keeps_its_ids():
    given = sample()
    first, second = scuff.corrupt([given, given["image"]], FLIP, ids=[7, 9])
    alone = scuff.corrupt(given, FLIP, ids=[7])
    np.testing.assert_array_equal(first["boxes"], alone["boxes"])
    np.testing.assert_array_equal(second, scuff.corrupt(given["image"], FLIP, ids=[9]))


def test_tensors_come_back_as_tensors_and_whole_numbers_stay_if_they_can():
    given = {"image": torch.rand(3, H, W), "boxes": torch.tensor([[10, 20, 30, 45]]), "labels": torch.tensor([1])}
    flipped = scuff.corrupt(given, FLIP, ids=[0])
    assert flipped["boxes"].dtype == torch.int64
    turned = scuff.corrupt(given, "noc-candidates/rotation", ids=[0])
    assert turned["boxes"].dtype == torch.float32
    assert isinstance(turned["visibility"], torch.Tensor)


@pytest.mark.parametrize("form", ["xywh", "cxcywh"])
def test_all_formats_are_alike(form):
    corners = sample()["boxes"]
    size = corners[:, 2:] - corners[:, :2]
    given = np.concatenate((corners[:, :2] + (size / 2 if form == "cxcywh" else 0), size), axis=1)
    (motion,) = scuff.motions("noc-candidates/rotation", 12, size=(H, W), ids=[1])
    plain, other = move({"boxes": corners}, motion)["boxes"], move({"boxes": given}, motion, Rules(boxes=form))["boxes"]
    np.testing.assert_allclose(other[:, 2:], plain[:, 2:] - plain[:, :2])


SHIFT = matrix_motion((3, H, W), (1.0, 0.0, -70.0, 0.0, 1.0, 0.0))  # 70 pixels to the right


def test_boxes_that_leave_are_dropped_with_all_that_belongs_to_them():
    given = {k: v for k, v in sample(scores=[0.5, 0.25], area=np.array([500.0, 261.0])).items() if k != "image"}
    out = move(given, SHIFT)
    assert out["kept"].tolist() == []
    assert out["dropped"] == {"out of sight": 2}
    assert out["boxes"].shape == (0, 4)
    assert out["masks"].shape == (0, H, W)
    assert out["scores"] == []
    half = matrix_motion((3, H, W), (1.0, 0.0, -17.25, 0.0, 1.0, 0.0))
    out = move(given, half)
    assert out["boxes"].tolist() == [[27.25, 20.0, 47.25, 45.0], [67.25, 5.0, 80.0, 15.25]]
    assert out["visibility"].tolist() == pytest.approx([1.0, 0.5])
    assert out["area"].tolist() == pytest.approx([500.0, 12.75 * 10.25])
    assert move(given, half, Rules(min_visibility=0.6))["kept"].tolist() == [0]
    assert move(given, half, Rules(clip=False))["boxes"][1, 2] == 92.75


BAD = {
    "not finite": [np.nan, 0, 5, 5],
    "empty or negative": [5, 5, 5, 9],
    "outside": [80, 0, 90, 10],
}


@pytest.mark.parametrize("reason", BAD)
def test_bad_boxes_are_named_or_dropped_and_counted(reason):
    given = {"boxes": np.array([[1.0, 2.0, 9.0, 9.0], BAD[reason]]), "labels": ["cat", "dog"]}
    with pytest.raises(TargetError, match=f"box 1.*{reason}.*80 x 60.*bad='drop'"):
        move(given, SHIFT)
    out = move(given, Motion((H, W)), Rules(bad="drop"))
    assert out["labels"] == ["cat"]
    assert out["dropped"] == {reason: 1}


@pytest.mark.parametrize(
    ("targets", "words"),
    [
        ({"masks": np.zeros((2, H, W + 1))}, "masks must be .* as the picture"),
        ({"mask": np.zeros(5)}, "mask must be"),
        ({"depth": np.zeros((W, H))}, "depth must be"),
        ({"flow": np.zeros((H, W))}, "flow must be"),
        ({"boxes": np.zeros((2, 5))}, r"boxes must be \(n, 4\)"),
        ({"boxes": [[0, 0, 5, 5]], "labels": [1, 2]}, "labels must have one row per box, 1, got 2"),
        ({"boxes": [[0, 0, 5, 5]], "masks": np.zeros((2, H, W))}, "masks must have one row per box"),
        ({"boxes": "none"}, "array of numbers"),
        ({"keypoints": np.zeros((2, 4))}, "keypoints must be"),
    ],
)
def test_wrong_targets_are_refused_in_words(targets, words):
    with pytest.raises(TargetError, match=words):
        move(targets, SHIFT)
    with pytest.raises(TargetError, match=words):
        scuff.corrupt({"image": np.zeros((H, W, 3), np.uint8), **targets}, FLIP)


def test_a_batch_has_no_targets_and_a_dictionary_needs_an_image():
    with pytest.raises(scuff.ImageError, match="one image with its targets, got 2"):
        scuff.corrupt({"image": np.zeros((2, H, W, 3), np.uint8), "boxes": np.zeros((0, 4))}, FLIP)
    with pytest.raises(TargetError, match="the key 'image'"):
        scuff.corrupt({"img": np.zeros((H, W, 3), np.uint8)}, FLIP)
    with pytest.raises(ValueError, match="bad must be one of raise, drop"):
        Rules(bad="ignore")


def test_no_boxes_are_fine():
    for boxes in ([], np.zeros((0, 4)), torch.zeros(0, 4)):
        out = scuff.corrupt({"image": np.zeros((H, W, 3), np.uint8), "boxes": boxes, "labels": []}, FLIP)
        assert out["boxes"].shape == (0, 4)
        assert out["labels"] == []


def test_coco_keypoints_carry_their_visibility():
    points = np.array([[[5.0, 5.0, 2], [75.0, 5.0, 1], [0.0, 0.0, 0]]])
    out = move({"keypoints": points}, matrix_motion((3, H, W), (1.0, 0.0, -10.0, 0.0, 1.0, 0.0)))
    assert out["keypoints"].tolist() == [[[15.0, 5.0, 2.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]]
    covered = torch.zeros(1, H, W, dtype=torch.bool)
    covered[:, :, :10] = True
    out = move({"keypoints": points, "boxes": [[0.0, 0, 20, 10]]}, Motion((H, W), covered=covered))
    assert out["keypoints_seen"].tolist() == [[1, 1, 0]]
    assert out["visibility"].tolist() == pytest.approx([0.5])


def test_published_targets_stay_under_imagenet_c_only():
    given = sample()
    stays = scuff.corrupt(given, "imagenet-c/elastic_transform", 2, targets=Rules(convention="published"))
    np.testing.assert_array_equal(stays["boxes"], given["boxes"])
    moves = scuff.corrupt(given, FLIP, targets=Rules(convention="published"))
    assert not np.array_equal(moves["boxes"], given["boxes"])


def test_label_maps_are_ignored_where_nothing_is_seen_and_masks_are_empty():
    labels = np.ones((H, W), np.uint8)
    out = move({"mask": labels, "masks": labels[None], "depth": labels.astype(np.float32)}, SHIFT, Rules(invalid=-1))
    assert set(out["mask"][:, :70].flat) == {255}
    assert out["mask"][:, 70:].all()
    assert not out["masks"][:, :, :70].any()
    assert set(out["depth"][:, :70].flat) == {-1.0}


def test_severities_between_levels_move_by_the_mean_of_places():
    given = sample()
    at = [scuff.corrupt(given, "imagenet-c/zoom_blur", s, ids=[0])["boxes"] for s in (2, 2.5, 3)]
    np.testing.assert_allclose(at[1], (at[0] + at[2]) / 2, atol=0.1)


def test_the_module_moves_targets_too():
    given = sample()
    flip = scuff.Corrupt(FLIP)
    expected = scuff.corrupt(given, FLIP, ids="content")
    np.testing.assert_array_equal(flip(given)["boxes"], expected["boxes"])
    np.testing.assert_array_equal(flip(**given)["boxes"], expected["boxes"])
    image, target, other = flip(given["image"], {k: v for k, v in given.items() if k != "image"}, "label")
    np.testing.assert_array_equal(image, expected["image"])
    np.testing.assert_array_equal(target["boxes"], expected["boxes"])
    assert other == "label"
    batch = torch.rand(2, 3, 8, 8)
    assert flip({"image": batch, "label": [1, 2]})["label"] == [1, 2]
