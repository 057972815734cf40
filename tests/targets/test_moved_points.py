"""Points and boxes under motions of every kind, on pictures of any size."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import scuff
from scuff.corruptions.motion import Motion, joined, matrix_motion
from scuff.door import motion_of
from scuff.kernels.grids import pixel_grid
from scuff.suites import load_suite
from scuff.targets import move_boxes, move_flow, move_map, move_points

SUITES = ("imagenet-c", "c-bar-candidates-32", "noc-candidates", "syn2nat-candidates")


@pytest.mark.parametrize("size", [(1, 1), (2, 3), (1, 9), (17, 30)])
def test_every_corruption_moves_targets_of_pictures_of_any_size(size):
    height, width = size
    sample = {
        "image": np.full((height, width, 3), 100, np.uint8),
        "boxes": np.array([[0.0, 0.0, width, height]]),
        "keypoints": np.array([[0.0, 0.0], [width - 1.0, height - 1.0]]),
        "masks": np.ones((1, height, width), bool),
    }
    for suite in map(scuff.load_suite, SUITES):
        for entry in suite.entries:
            moved = scuff.corrupt(sample, entry, suite.levels(entry)[-1], suite=suite, ids=[2])
            boxes = moved["boxes"]
            assert (boxes[:, :2] >= 0).all(), entry
            assert (boxes[:, 2:] <= (width, height)).all(), entry
            assert ((moved["visibility"] >= 0) & (moved["visibility"] <= 1.0001)).all(), entry
            assert len(boxes) == len(moved["masks"]), entry
            seen = moved["keypoints_seen"] > 0
            assert np.isfinite(moved["keypoints"][seen]).all(), entry


@pytest.mark.parametrize("name", ["imagenet-c/elastic_transform", "c-bar-candidates-224/caustic_refraction"])
def test_a_point_is_read_where_it_came_from_even_in_folds(name):
    motions = scuff.motions(name, 5, size=(64, 80), ids=range(2))
    points = torch.rand(200, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) * 50 + 6
    for motion in motions:
        moved, seen = move_points(points, motion)
        inside = (seen > 0) & ((moved >= 1) & (moved < torch.tensor([78, 62]))).all(1)
        assert inside.float().mean() > 0.7
        x, y = moved[inside].unbind(1)
        left, top = x.floor().long(), y.floor().long()
        u, w = x - left, y - top
        for source, axis in zip(motion.sources(), (1, 0), strict=True):
            nw, ne, sw, se = (source[0, top + i, left + j].double() for i in (0, 1) for j in (0, 1))
            lower = nw + u * (ne - nw) + w * (sw - nw)
            upper = se + (1 - u) * (sw - se) + (1 - w) * (ne - se)
            read = torch.where(u + w <= 1, lower, upper)
            torch.testing.assert_close(read, points[inside, axis], atol=1e-3, rtol=0)


def test_the_box_of_a_moved_mask_lies_within_the_moved_box():
    for name, level in (("imagenet-c/elastic_transform", 4), ("noc-candidates/rotation", None)):
        (motion,) = scuff.motions(name, level, size=(90, 120), ids=[3])
        mask = torch.zeros(1, 90, 120, dtype=torch.bool)
        mask[:, 30:60, 40:90] = True
        rows, columns = move_map(mask, motion, 0)[0].nonzero().unbind(1)
        box = torch.tensor([columns.min(), rows.min(), columns.max() + 1, rows.max() + 1])
        moved = move_boxes(torch.tensor([[40.0, 30.0, 90.0, 60.0]]), motion)[0][0]
        assert (box[:2] >= moved[:2] - 1).all()
        assert (box[2:] <= moved[2:] + 1).all()


def test_a_turned_box_that_leaves_is_cut_with_its_corner():
    s = 0.5**0.5
    about = torch.tensor([[[s, s, 50 - 100 * s], [-s, s, 50.0], [0.0, 0.0, 1.0]]], dtype=torch.float64)
    motion = Motion((101, 101), matrix=about)  # 45 degrees about the middle
    (box,), (visible,) = move_boxes(torch.tensor([[30.5, 30.5, 70.5, 70.5]]), motion)
    torch.testing.assert_close(box, torch.tensor([50.5 - 20 / s] * 2 + [50.5 + 20 / s] * 2).double())
    assert float(visible) == pytest.approx(1.0)
    (box,), (visible,) = move_boxes(torch.tensor([[0.0, 0.0, 40.0, 40.0]]), motion)
    rows, columns = motion.sources()
    shown = ((rows >= -0.5) & (rows < 39.5) & (columns >= -0.5) & (columns < 39.5))[0]
    assert float(visible) == pytest.approx(float(shown.sum()) / 1600, abs=0.03)
    at = shown.nonzero()
    assert box[[1, 0]].tolist() == pytest.approx(at.amin(0).tolist(), abs=1.0)
    assert box[[3, 2]].tolist() == pytest.approx((at.amax(0) + 1).tolist(), abs=1.0)


def test_flow_between_two_motions():
    still, flow = Motion((20, 30)), torch.zeros(20, 30, 2)
    (shift,) = scuff.motions("translation", size=(20, 30), ids=[0], parameters={"distance": 3})
    down, across = (-shift.matrix[0, axis, 2] for axis in (1, 0))
    moved = move_flow(flow, still, shift)
    assert torch.equal(moved, torch.stack((across, down)).float().expand(20, 30, 2))
    both = move_flow(flow, shift)
    assert torch.equal(both.isnan().any(2), shift.filled()[0])
    assert not both.nan_to_num(0.0).any()


@pytest.mark.parametrize(
    "name",
    [
        "imagenet-c/elastic_transform",  # a field with mirror images
        "imagenet-c/zoom_blur",  # one field for all
        "c-bar-candidates-224/fish_eye",
        "noc-candidates/rotation",  # matrices
        "syn2nat-candidates/perspective",
        "syn2nat-candidates/random_grid_shuffle",  # tiles
        "noc-candidates/obstruction",  # a cover
    ],
)
def test_many_pictures_at_once_are_as_one_at_a_time(name):
    size, ids = (45, 60), torch.arange(5)
    plan = scuff.door.resolve(name, load_suite(name.split("/")[0]).levels(name.split("/")[1])[-1])
    together = motion_of(plan, ids, (3, *size), 0, True)
    low = torch.rand(17, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) * 40
    boxes, of = torch.cat((low - 3, low + 12), dim=1), torch.arange(17) % 5
    for clip in (True, False):
        moved, visible = move_boxes(boxes, together, clip, of=of)
        for k, motion in enumerate(scuff.door.motions_of(plan, ids, (3, *size), 0, True, "content")):
            alone = move_boxes(boxes[of == k], motion, clip)
            torch.testing.assert_close(moved[of == k], alone[0], atol=1e-9, rtol=0, equal_nan=True)
            torch.testing.assert_close(visible[of == k], alone[1], atol=1e-9, rtol=0)
            points = move_points(low[of == k], motion)
            torch.testing.assert_close(move_points(low, together, of)[0][of == k], points[0], equal_nan=True)
            assert torch.equal(move_points(low, together, of)[1][of == k], points[1])


def test_motions_of_any_kinds_are_joined():
    size = (30, 40)
    rows, columns = (at.expand(1, *size) + 1.0 for at in pixel_grid(*size, torch.device("cpu")))
    covered = torch.zeros(1, *size, dtype=torch.bool)
    covered[:, :, :20] = True
    kinds = [
        Motion(size),
        matrix_motion((3, *size), (1.0, 0.0, -5.0, 0.0, 1.0, 0.0)),
        Motion(size, rows=rows, columns=columns),
        Motion(size, covered=covered),
    ]
    boxes = torch.tensor([[10.0, 10.0, 30.0, 20.0]]).double()
    for some in (kinds, kinds[1:2] * 2, kinds[:1] * 2, kinds[::3]):
        moved, visible = move_boxes(boxes.repeat(len(some), 1), joined(some), of=torch.arange(len(some)))
        for k, motion in enumerate(some):
            alone = move_boxes(boxes, motion)
            torch.testing.assert_close(moved[k : k + 1], alone[0], atol=1e-4, rtol=0)
            torch.testing.assert_close(visible[k : k + 1], alone[1], atol=1e-4, rtol=0)


def test_boxes_that_no_pixel_is_near_are_lost():
    size = (20, 30)
    far = torch.full((1, *size), -500.0)
    for motion in (
        Motion(size, rows=far, columns=far),
        Motion(size, rows=far, columns=far, tiles=torch.zeros(1, *size, dtype=torch.long)),
    ):
        moved, visible = move_boxes(torch.tensor([[5.0, 5.0, 9.0, 9.0]]), motion)
        assert moved.isnan().all()
        assert visible.tolist() == [0.0]
