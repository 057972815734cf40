"""Annotations that follow what an entry of a suite does to their pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from scuff.corruptions.motion import Motion
from scuff.data import Objects
from scuff.door import motions_of, resolve_still
from scuff.suites import Suite
from scuff.targets.boxes import move_boxes
from scuff.targets.points import COVERED, LOST, move_points

LEAST_SIDE = 1.0  # pixels of a box that is still one


def cell_motions(
    suite: Suite, entry: str, severity: int | None, ids: Tensor, size: tuple[int, int], seed: int
) -> Sequence[Motion] | None:
    """How pictures of `size` (height, width) move in a cell, on the device of their ids; None if none does."""
    resolved = resolve_still(entry, severity, suite=suite)
    found = motions_of(resolved, ids, (3, *size), seed, True, "content")
    return None if all(motion.stays for motion in found) else found


def moved_objects(objects: Objects, motion: Motion) -> Objects:
    """Objects as they are seen after a motion; those of which less than a pixel is left are gone.

    The box of an object whose outline is known is that of the moved outline: tight, where a moved box only grows.
    """
    if motion.stays or not len(objects):
        return objects
    boxes, _ = move_boxes(torch.from_numpy(objects.boxes).to(motion.device), motion)
    found = boxes.cpu().numpy()
    for place, box in _outlined(objects, motion).items():
        found[place] = box
    kept = np.flatnonzero(np.nan_to_num(found[:, 2:] - found[:, :2], nan=0.0).min(axis=1) >= LEAST_SIDE)
    more = tuple(_moved_more(objects.more[k], motion) for k in kept) if objects.more else ()
    return Objects(found[kept], objects.labels[kept], objects.crowd[kept], more)


def _outlined(objects: Objects, motion: Motion) -> dict[int, np.ndarray]:
    """The boxes of those objects that have outlines, all points of which move at once."""
    outlines = {
        place: np.concatenate([_dense(np.asarray(one, np.float64)) for one in more["segmentation"]])
        for place, more in enumerate(objects.more)
        if isinstance(more.get("segmentation"), list) and more["segmentation"]
    }
    if not outlines:
        return {}
    points = torch.from_numpy(np.concatenate(list(outlines.values())) - 0.5).to(motion.device)
    places, seen = move_points(points, motion)
    ends = np.cumsum([len(one) for one in outlines.values()])[:-1]
    moved, visible = (np.split(value.cpu().numpy(), ends) for value in (places + 0.5, seen != LOST))
    far = np.array([motion.size[1], motion.size[0]], np.float64)
    boxes = {}
    for place, corners, is_seen in zip(outlines, moved, visible, strict=True):
        if is_seen.any():
            low, high = corners[is_seen].min(0), corners[is_seen].max(0)
            boxes[place] = np.concatenate([np.clip(low, 0, far), np.clip(high, 0, far)])
    return boxes


def _dense(outline: np.ndarray) -> np.ndarray:
    """The corners of a polygon (n, 2), and points between them, at most two pixels apart."""
    corners = outline.reshape(-1, 2)
    steps = np.roll(corners, -1, axis=0) - corners
    counts = np.maximum(1, np.ceil(np.linalg.norm(steps, axis=1) / 2).astype(np.int64))
    whose = np.repeat(np.arange(len(corners)), counts)
    share = np.concatenate([np.arange(count) / count for count in counts])
    return corners[whose] + share[:, None] * steps[whose]


def _moved_more(more: Mapping[str, Any], motion: Motion) -> dict[str, Any]:
    """Outlines and keypoints of COCO; outlines that are runs of pixels are left out, and so are points out of sight."""
    moved = {key: value for key, value in more.items() if key not in ("segmentation", "keypoints", "num_keypoints")}
    outlines = more.get("segmentation")
    if isinstance(outlines, list):
        polygons = [_moved_outline(np.asarray(one, np.float64), motion) for one in outlines]
        moved["segmentation"] = [polygon for polygon in polygons if len(polygon) >= 6]
    if "keypoints" in more:
        points = np.asarray(more["keypoints"], np.float64).reshape(-1, 3)
        places, seen = move_points(torch.from_numpy(points[:, :2]).to(motion.device), motion)
        gone = (seen.cpu().numpy() == LOST) | (points[:, 2] == 0)
        level = np.where(seen.cpu().numpy() == COVERED, np.minimum(points[:, 2], 1), points[:, 2])
        kept = np.column_stack([places.cpu().numpy(), level])
        moved["keypoints"] = np.where(gone[:, None], 0.0, kept).round(2).ravel().tolist()
        moved["num_keypoints"] = int((~gone).sum())
    return moved


def _moved_outline(outline: np.ndarray, motion: Motion) -> list[float]:
    """The corners of a polygon that are in sight. They count from the first pixel's corner, points from its middle."""
    corners = torch.from_numpy(outline.reshape(-1, 2) - 0.5).to(motion.device)
    places, seen = move_points(corners, motion)
    return (places[seen != LOST].cpu().numpy() + 0.5).round(2).ravel().tolist()
