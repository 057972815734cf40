"""Points and boxes under motions of every kind, on pictures of any size."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import scuff
from scuff.corruptions.motion import Motion
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
