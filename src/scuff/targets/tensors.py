"""Targets as torchvision's TVTensors, anywhere in tuples, lists and dictionaries, as its v2 transforms take them.

As there, boxes are never left out: one that cannot be seen, or not enough of it, becomes empty, and
`v2.SanitizeBoundingBoxes` removes it with its label. Of rotated boxes the corners move, and a rectangle is fitted to
them again: its angle is that of their upper and lower sides, its sides are as long as theirs are on average.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import TreeSpec, tree_flatten, tree_unflatten

from scuff.corruptions.motion import Motion
from scuff.targets.boxes import move_boxes
from scuff.targets.points import move_points
from scuff.targets.rules import FORMATS, Rules, TargetError
from scuff.targets.samples import Sample, check_boxes, from_xyxy, is_enough, move, to_xyxy


@dataclass(frozen=True)
class Tree(Sample):
    """A tree with one image in it, and the way back to one."""

    leaves: tuple[Any, ...]
    spec: TreeSpec
    place: int

    @property
    def image(self) -> Any:
        return self.leaves[self.place]

    @property
    def has_targets(self) -> bool:
        return True

    def moved(self, image: Any, motion: Motion, rules: Rules) -> Any:
        leaves = [image if k == self.place else _moved(leaf, motion, rules) for k, leaf in enumerate(self.leaves)]
        return tree_unflatten(leaves, self.spec)


def open_tree(given: Any) -> Tree | None:
    """A picture with TVTensors of targets; None if there are none, or several pictures."""
    if "torchvision.tv_tensors" not in sys.modules:  # then none can be there
        return None
    from PIL.Image import Image
    from torchvision import tv_tensors

    leaves, spec = tree_flatten(given)
    if not any(isinstance(leaf, (tv_tensors.BoundingBoxes, tv_tensors.Mask, tv_tensors.KeyPoints)) for leaf in leaves):
        return None
    images = [k for k, leaf in enumerate(leaves) if isinstance(leaf, (tv_tensors.Image, Image))]
    images = images or [k for k, leaf in enumerate(leaves) if type(leaf) is Tensor][:1]  # as v2 has it
    return Tree({}, tuple(leaves), spec, images[0]) if len(images) == 1 else None


def _moved(leaf: Any, motion: Motion, rules: Rules) -> Any:
    from torchvision import tv_tensors

    if isinstance(leaf, (tv_tensors.BoundingBoxes, tv_tensors.KeyPoints)) and tuple(leaf.canvas_size) != motion.size:
        kind, size = type(leaf).__name__, tuple(leaf.canvas_size)
        raise TargetError(f"{kind} are for a picture of {size}, height and width, and it has {motion.size}")
    if isinstance(leaf, tv_tensors.Mask):
        moved = move({"masks": leaf.as_subclass(Tensor)}, motion, rules)["masks"]
    elif isinstance(leaf, tv_tensors.KeyPoints):
        points = leaf.as_subclass(Tensor)
        moved = move({"keypoints": points.reshape(-1, 2)}, motion, rules)["keypoints"].view(points.shape)
    elif isinstance(leaf, tv_tensors.BoundingBoxes):
        form, boxes = leaf.format.value.lower(), leaf.as_subclass(Tensor)
        places = boxes.double().to(motion.device)
        placed = (_upright if form in FORMATS else _turned)(places, form, motion, rules)
        is_whole = not boxes.is_floating_point() and bool((placed % 1 == 0).all())
        dtype = boxes.dtype if is_whole or boxes.is_floating_point() else torch.float32
        moved = placed.to(device=boxes.device, dtype=dtype)
    else:
        return leaf
    return tv_tensors.wrap(moved, like=leaf)


def _upright(boxes: Tensor, form: str, motion: Motion, rules: Rules) -> Tensor:
    corners = to_xyxy(boxes, form)
    good = check_boxes(corners, boxes, motion.size, rules)[0]
    placed = torch.zeros_like(corners)
    moved, visible = move_boxes(corners[good], motion, rules.clip)
    placed[good] = torch.where(is_enough(moved, visible, rules)[:, None], moved, 0.0)
    return from_xyxy(placed, form)


def _turned(boxes: Tensor, form: str, motion: Motion, rules: Rules) -> Tensor:
    """Boxes with an angle, counter-clockwise in degrees, or as four corners; 0 if one of the corners is lost."""
    corners = _corners(boxes, form)
    hulls = torch.cat((corners.amin(1), corners.amax(1)), dim=1)
    if form != "xyxyxyxy":  # sides that are negative or 0 are no box
        hulls[:, 2:] = torch.where((boxes[:, 2:4] > 0).all(1, keepdim=True), hulls[:, 2:], hulls[:, :2])
    good = check_boxes(hulls, boxes, motion.size, rules)[0]
    went_round = _sides(corners)[2]
    moved, _ = move_points(corners.reshape(-1, 2) - 0.5, motion)
    corners = (moved + 0.5).view(-1, 4, 2)
    mirrored = (_sides(corners)[2] * went_round < 0)[:, None, None]
    corners = torch.where(mirrored, corners[:, [1, 0, 3, 2]], corners)  # as torchvision flips them
    if form == "xyxyxyxy":
        placed = corners.flatten(1)
    else:
        across, down, _ = _sides(corners)
        angle = torch.atan2(-across[:, 1], across[:, 0])
        size = torch.stack((across.norm(dim=1), down.norm(dim=1)), dim=1)
        place = corners.mean(1)
        if form == "xywhr":
            right, below = _axes(angle)
            place = place - right * size[:, :1] / 2 - below * size[:, 1:] / 2
        placed = torch.cat((place, size, torch.rad2deg(angle)[:, None]), dim=1)
    return torch.where((good & corners.isfinite().flatten(1).all(1))[:, None], placed, 0.0)


def _corners(boxes: Tensor, form: str) -> Tensor:
    """Top left, top right, bottom right and bottom left of rotated boxes, (n, 4, 2)."""
    if form == "xyxyxyxy":
        return boxes.view(-1, 4, 2)
    place, size = boxes[:, :2], boxes[:, 2:4]
    right, down = (
        axis * side for axis, side in zip(_axes(torch.deg2rad(boxes[:, 4])), size.split(1, dim=1), strict=True)
    )
    first = place if form == "xywhr" else place - (right + down) / 2
    return torch.stack((first, first + right, first + right + down, first + down), dim=1)


def _sides(corners: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The mean of the upper and lower side, that of the others, and the area: negative if the corners go round left."""
    top_left, top_right, bottom_right, bottom_left = corners.unbind(1)
    across = (top_right - top_left + bottom_right - bottom_left) / 2
    down = (bottom_left - top_left + bottom_right - top_right) / 2
    return across, down, across[:, 0] * down[:, 1] - across[:, 1] * down[:, 0]


def _axes(angle: Tensor) -> tuple[Tensor, Tensor]:
    """The directions of a box's width and height."""
    sine, cosine = angle.sin(), angle.cos()
    return torch.stack((cosine, -sine), dim=1), torch.stack((sine, cosine), dim=1)
