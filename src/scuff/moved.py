"""Annotations that follow what an entry of a suite does to their pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from scuff.corruptions.motion import Motion
from scuff.data import Objects
from scuff.door import motion_of, resolve_still
from scuff.suites import Suite
from scuff.targets.boxes import move_boxes
from scuff.targets.points import COVERED, LOST, move_points

LEAST_SIDE = 1.0  # pixels of a box that is still one


def cell_motion(
    suite: Suite, entry: str, severity: int | None, ids: Tensor, size: tuple[int, int], seed: int
) -> Motion | None:
    """How pictures of `size` (height, width) move in a cell, on the device of their ids; None if none does."""
    motion = motion_of(resolve_still(entry, severity, suite=suite), ids, (3, *size), seed, True)
    return None if motion.stays else motion


def moved_objects(pictures: Sequence[Objects], motion: Motion) -> list[Objects]:
    """The objects of pictures as they are seen after a motion; those of which less than a pixel is left are gone.

    The box of an object whose outline is known is that of the moved outline: tight, where a moved box only grows. All
    boxes move at once, and so do all points.
    """
    if motion.stays or not any(map(len, pictures)):
        return list(pictures)
    counts = [len(objects) for objects in pictures]
    boxes = torch.from_numpy(np.concatenate([objects.boxes for objects in pictures])).to(motion.device)
    of = torch.repeat_interleave(torch.arange(len(pictures)), torch.tensor(counts)).to(motion.device)
    found = move_boxes(boxes, motion, of=of)[0].cpu().numpy()
    more = [dict(one) for objects in pictures for one in objects.more or ({},) * len(objects)]
    for place, box in _move_more(more, motion, of).items():
        found[place] = box
    is_left = np.nan_to_num(found[:, 2:] - found[:, :2], nan=0.0).min(axis=1) >= LEAST_SIDE
    ends = np.cumsum([0, *counts])
    moved = []
    for objects, start, end in zip(pictures, ends[:-1], ends[1:], strict=True):
        kept = np.flatnonzero(is_left[start:end])
        own = tuple(more[start + k] for k in kept) if objects.more else ()
        moved.append(Objects(found[start:end][kept], objects.labels[kept], objects.crowd[kept], own))
    return moved


def _move_more(more: list[dict[str, Any]], motion: Motion, of: Tensor) -> dict[int, np.ndarray]:
    """Move outlines and keypoints of COCO in their places; and say which boxes moved outlines have.

    Outlines that are runs of pixels are left out, and so are points out of sight. Outlines count from the first pixel's
    corner, points from its middle.
    """
    points: list[np.ndarray] = []
    owners: list[tuple[int, str]] = []
    for place, one in enumerate(more):
        outlines = one.pop("segmentation", None)
        for outline in outlines if isinstance(outlines, list) else ():
            points.append(_dense(outline) - 0.5)
            owners.append((place, "segmentation"))
        if isinstance(outlines, list):
            one["segmentation"] = []
        if "keypoints" in one:
            points.append(np.asarray(one["keypoints"], np.float64).reshape(-1, 3)[:, :2])
            owners.append((place, "keypoints"))
    if not points:
        return {}
    whose = np.repeat([place for place, _ in owners], [len(some) for some in points])
    given = torch.from_numpy(np.concatenate(points)).to(motion.device)
    places, seen = move_points(given, motion, of[torch.from_numpy(whose).to(of.device)])
    ends = np.cumsum([len(some) for some in points])[:-1]
    boxes: dict[int, np.ndarray] = {}
    far = np.array([motion.size[1], motion.size[0]], np.float64)
    for (place, kind), where, how in zip(
        owners, np.split(places.cpu().numpy(), ends), np.split(seen.cpu().numpy(), ends), strict=True
    ):
        if kind == "keypoints":
            more[place].update(_coco_keypoints(more[place]["keypoints"], where, how))
            continue
        corners = (where + 0.5)[how != LOST]
        if len(corners) >= 3:
            more[place]["segmentation"].append(corners.round(2).ravel().tolist())
        if len(corners):
            low, high = np.clip(corners.min(0), 0, far), np.clip(corners.max(0), 0, far)
            old = boxes.get(place, np.concatenate([low, high]))
            boxes[place] = np.concatenate([np.minimum(old[:2], low), np.maximum(old[2:], high)])
    return boxes


def _dense(outline: Any) -> np.ndarray:
    """The corners of a polygon, and points between them, at most two pixels apart: (n, 2)."""
    corners = np.asarray(outline, np.float64).reshape(-1, 2)
    steps = np.roll(corners, -1, axis=0) - corners
    counts = np.maximum(1, np.ceil(np.linalg.norm(steps, axis=1) / 2).astype(np.int64))
    whose = np.repeat(np.arange(len(corners)), counts)
    share = (np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)) / counts[whose]
    return corners[whose] + share[:, None] * steps[whose]


def _coco_keypoints(given: Any, places: np.ndarray, seen: np.ndarray) -> dict[str, Any]:
    """Keypoints (x, y, v) where they are seen now, 0, 0, 0 for those that are not; and how many are."""
    level = np.asarray(given, np.float64).reshape(-1, 3)[:, 2]
    gone = (seen == LOST) | (level == 0)
    level = np.where(seen == COVERED, np.minimum(level, 1), level)
    kept = np.where(gone[:, None], 0.0, np.column_stack([places, level]))
    return {"keypoints": kept.round(2).ravel().tolist(), "num_keypoints": int((~gone).sum())}
