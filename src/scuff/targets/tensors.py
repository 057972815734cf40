"""Targets as torchvision's TVTensors, anywhere in tuples, lists and dictionaries, as its v2 transforms take them.

As there, boxes are never left out: one that cannot be seen, or not enough of it, becomes empty, and
`v2.SanitizeBoundingBoxes` removes it with its label.
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
        placed = _upright(places, form, motion, rules) if form in FORMATS else _turned(places, form, motion)
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


def _turned(boxes: Tensor, form: str, motion: Motion) -> Tensor:
    """Boxes with an angle, counter-clockwise in degrees, or as four corners: their corners move; 0 if one is lost."""
    if form == "xyxyxyxy":
        corners = boxes.view(-1, 4, 2)
    else:
        place, size, angle = boxes[:, :2], boxes[:, 2:4], torch.deg2rad(boxes[:, 4])
        right, down = _axes(angle)
        half = right * size[:, :1] / 2, down * size[:, 1:] / 2
        middle = place + half[0] + half[1] if form == "xywhr" else place
        corners = torch.stack([middle + a * half[0] + b * half[1] for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))], 1)
    moved, _ = move_points(corners.reshape(-1, 2) - 0.5, motion)
    corners = (moved + 0.5).view(-1, 4, 2)
    if form == "xyxyxyxy":
        return corners.reshape(-1, 8).nan_to_num(0.0) * corners.isfinite().all(2).all(1)[:, None]
    top_left, top_right, bottom_right, bottom_left = corners.unbind(1)
    across, upright = (top_right - top_left + bottom_right - bottom_left) / 2, bottom_left - top_left
    angle = torch.atan2(-across[:, 1], across[:, 0])
    right, down = _axes(angle)
    size = torch.stack((across.norm(dim=1), (upright + bottom_right - top_right).norm(dim=1) / 2), dim=1)
    place = corners.mean(1)
    if form == "xywhr":
        place = place - right * size[:, :1] / 2 - down * size[:, 1:] / 2
    return torch.cat((place, size, torch.rad2deg(angle)[:, None]), dim=1).nan_to_num(0.0)


def _axes(angle: Tensor) -> tuple[Tensor, Tensor]:
    """The directions of a box's width and height."""
    sine, cosine = angle.sin(), angle.cos()
    return torch.stack((cosine, -sine), dim=1), torch.stack((sine, cosine), dim=1)
