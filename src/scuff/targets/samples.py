"""A picture and what belongs to it, as a dictionary: boxes, masks, keypoints, depth, flow.

    {"image": ..., "boxes": (n, 4), "labels": (n,), "masks": (n, H, W) or (H, W), "keypoints": (n, 2), ...}

What comes in as numpy or torch comes out as that; entries that nobody knows pass as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from scuff.corruptions.motion import Motion
from scuff.targets.boxes import area_of, move_boxes
from scuff.targets.maps import move_flow, move_map
from scuff.targets.points import LOST, move_points
from scuff.targets.rules import Rules, TargetError

MASKS = ("masks", "mask")
KNOWN = {"boxes", *MASKS, "keypoints", "depth", "flow"}
DROP = "correct the annotations, or leave such boxes out with targets=scuff.targets.Rules(bad='drop')"

Restore = Callable[[Tensor], Any]


@dataclass(frozen=True)
class Sample:
    """A dictionary with an image, and the way back to one."""

    given: Mapping[str, Any]

    @property
    def image(self) -> Any:
        if "image" not in self.given:
            raise TargetError(f"expected a dictionary with the key 'image', got {', '.join(map(str, self.given))}")
        return self.given["image"]

    @property
    def has_targets(self) -> bool:
        return bool(KNOWN & self.given.keys())

    def with_image(self, image: Any) -> Any:
        return {**self.given, "image": image}

    def moved(self, image: Any, motion: Motion, rules: Rules) -> Any:
        """The same with another image, and everything that belongs to it where that shows it."""
        return {**move({k: v for k, v in self.given.items() if k != "image"}, motion, rules), "image": image}


def move(targets: Mapping[str, Any], motion: Motion, rules: Rules | None = None) -> dict[str, Any]:
    """Targets of one picture, moved as its motion says.

    With boxes come `visibility`, the visible share of each; `kept`, the places of those boxes that are left among those
    that came in; and `dropped`, how many are gone for which reason. Keypoints get `keypoints_seen`: 0 for a point that
    cannot be seen, 1 behind something, 2 in plain sight.

    >>> import numpy as np
    >>> import scuff
    >>> motion, = scuff.motions("noc-candidates/translation", 20, size=(100, 100), ids=[0])
    >>> moved = move({"boxes": np.array([[40.0, 40.0, 60.0, 60.0]]), "labels": np.array([7])}, motion)
    >>> moved["boxes"].tolist(), moved["labels"].tolist(), moved["visibility"].tolist()
    ([[31.0, 31.0, 51.0, 51.0]], [7], [1.0])
    """
    rules = rules or Rules()
    moved = dict(targets)
    for name in MASKS:
        if name in targets:
            moved[name] = _moved_masks(targets[name], name, motion, rules)
    if "keypoints" in targets:
        moved["keypoints"], moved["keypoints_seen"] = _moved_keypoints(targets["keypoints"], motion, rules)
    if "depth" in targets:
        depth, restore = _opened(targets["depth"], "depth", motion)
        _check_size(depth, "depth", motion)
        moved["depth"] = restore(move_map(depth, motion, rules.invalid))
    if "flow" in targets:
        flow, restore = _opened(targets["flow"], "flow", motion)
        if tuple(flow.shape) != (*motion.size, 2):
            raise TargetError(f"flow must be (H, W, 2) as the picture, {(*motion.size, 2)}, got {tuple(flow.shape)}")
        moved["flow"] = restore(move_flow(flow, motion))
    return _with_boxes(moved, targets["boxes"], motion, rules) if "boxes" in targets else moved


def _with_boxes(moved: dict[str, Any], given: Any, motion: Motion, rules: Rules) -> dict[str, Any]:
    """The moved targets, with boxes; rows of what belongs to boxes are chosen as those are."""
    boxes, restore = _opened(given, "boxes", motion)
    count = len(boxes)
    if boxes.numel() == 0:
        boxes = boxes.reshape(0, 4)
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        raise TargetError(f"boxes must be (n, 4), got {tuple(boxes.shape)}")
    corners = to_xyxy(boxes.double(), rules.boxes)
    good, dropped = check_boxes(corners, boxes, motion.size, rules)
    placed, visible = torch.full_like(corners, torch.nan), torch.zeros_like(corners[:, 0])
    placed[good], visible[good] = move_boxes(corners[good], motion, rules.clip)
    is_left = good & is_enough(placed, visible, rules)
    dropped["out of sight"] = int((good & ~is_left).sum())
    kept = is_left.nonzero().flatten()
    moved["boxes"] = restore(from_xyxy(placed[kept], rules.boxes))
    _, as_given = _opened(given, "boxes", motion, exact=False)
    moved["visibility"], moved["kept"] = as_given(visible[kept].float()), as_given(kept)
    moved["dropped"] = {reason: n for reason, n in dropped.items() if n}
    if "area" in moved:
        moved["area"] = as_given(area_of(placed[kept]).float())
    followers = [name for name in rules.follow if name in moved]
    followers += [
        name for name, plain in (("masks", 2), ("keypoints", 2), ("keypoints_seen", 1)) if _rank(moved, name) > plain
    ]
    for name in followers:
        if len(moved[name]) != count:
            raise TargetError(f"{name} must have one row per box, {count}, got {len(moved[name])}")
        moved[name] = _chosen(moved[name], kept)
    return moved


def check_boxes(boxes: Tensor, given: Tensor, size: tuple[int, int], rules: Rules) -> tuple[Tensor, dict[str, int]]:
    """Which boxes (n, 4), left, top, right, bottom, are good, and how many are not, by reason; or an error, as ruled.

    `given` are the same boxes as the user has them.
    """
    height, width = size
    finite = boxes.isfinite().all(1)
    left, top, right, bottom = boxes.unbind(1)
    empty = finite & ((right <= left) | (bottom <= top))
    outside = finite & ~empty & ((left >= width) | (top >= height) | (right <= 0) | (bottom <= 0))
    wrong = {"not finite": ~finite, "empty or negative": empty, "outside": outside}
    for reason, which in wrong.items() if rules.bad == "raise" else ():
        for place in which.nonzero().flatten().tolist():
            row = ", ".join(f"{value:g}" for value in given[place].tolist())
            raise TargetError(f"box {place}, [{row}], is {reason} in a picture of {width} x {height} pixels; {DROP}")
    return finite & ~empty & ~outside, {reason: int(which.sum()) for reason, which in wrong.items()}


def is_enough(boxes: Tensor, visible: Tensor, rules: Rules) -> Tensor:
    """Whether enough is left of each box; none is of one that is NaN."""
    sides = boxes[:, 2:] - boxes[:, :2]
    return (sides >= rules.min_size).all(1) & (sides.prod(1) >= rules.min_area) & (visible >= rules.min_visibility)


def to_xyxy(boxes: Tensor, form: str) -> Tensor:
    """Left, top, right, bottom."""
    if form == "xyxy":
        return boxes
    corner, size = boxes.split(2, dim=1)
    corner = corner - size / 2 if form == "cxcywh" else corner
    return torch.cat((corner, corner + size), dim=1)


def from_xyxy(boxes: Tensor, form: str) -> Tensor:
    """The way back."""
    if form == "xyxy":
        return boxes
    low, high = boxes.split(2, dim=1)
    return torch.cat(((low + high) / 2 if form == "cxcywh" else low, high - low), dim=1)


def _moved_masks(given: Any, name: str, motion: Motion, rules: Rules) -> Any:
    """Masks of objects are 0 where nothing is seen; label maps, (H, W) of whole numbers, have their ignored label."""
    masks, restore = _opened(given, name, motion)
    _check_size(masks, name, motion)
    if motion.stays:
        return given
    is_labels = masks.ndim == 2 and masks.dtype != torch.bool
    return restore(move_map(masks, motion, rules.ignore if is_labels else 0))


def _moved_keypoints(given: Any, motion: Motion, rules: Rules) -> tuple[Any, Any]:
    """Keypoints (..., 2), lost ones NaN; or (..., 3) with COCO's visibility, lost ones 0, 0, 0 and hidden ones 1."""
    points, restore = _opened(given, "keypoints", motion)
    if points.ndim < 2 or points.shape[-1] not in (2, 3):
        raise TargetError(f"keypoints must be (n, 2), or (..., k, 3) with COCO's visibility, got {tuple(points.shape)}")
    half = 0.5 if rules.keypoints == "edge" else 0.0
    places, seen = move_points(points[..., :2].reshape(-1, 2) - half, motion)
    places, seen = (places + half).view(*points.shape[:-1], 2), seen.view(points.shape[:-1])
    if points.shape[-1] == 3:
        seen = torch.minimum(seen, points[..., 2].to(seen.dtype))
        places = torch.where(seen[..., None] != LOST, places, 0.0)
        places = torch.cat((places, seen[..., None].double()), dim=-1)
    elif motion.matrix is None:
        places = torch.where(seen[..., None] != LOST, places, torch.nan)
    _, as_given = _opened(given, "keypoints", motion, exact=False)
    return restore(places), as_given(seen.to(torch.uint8))


# --- arrays ---------------------------------------------------------------------------------------------------------


def _opened(given: Any, name: str, motion: Motion, exact: bool = True) -> tuple[Tensor, Restore]:
    """An array as a tensor on the motion's device, and the way back: to its own type if `exact` and that can be.

    Whole numbers stay so if all results are whole; else they become float32.
    """
    is_tensor = isinstance(given, Tensor)
    try:
        array = given if is_tensor else torch.from_numpy(_torch_ready(np.asarray(given)))
    except (TypeError, ValueError) as error:
        raise TargetError(f"{name} must be an array of numbers, got {type(given).__name__}: {error}") from error
    dtype: Any = given.dtype if is_tensor else np.asarray(given).dtype
    is_whole = not array.is_floating_point()

    def restore(values: Tensor) -> Any:
        is_exact = exact and not (is_whole and values.is_floating_point() and bool((values % 1 != 0).any()))
        if exact and not is_exact:
            values = values.float()
        if is_tensor:
            return values.to(device=given.device, dtype=dtype if is_exact else None)
        back = values.cpu().numpy()
        return back.astype(dtype, copy=False) if is_exact else back

    return array.to(motion.device), restore


def _torch_ready(array: np.ndarray) -> np.ndarray:
    """A copy in a type that torch can index."""
    wide = {"uint16": np.int32, "uint32": np.int64, "uint64": np.int64}.get(array.dtype.name, array.dtype)
    return np.array(array, dtype=wide)


def _check_size(values: Tensor, name: str, motion: Motion) -> None:
    """Refuse an array of another size than the picture's."""
    if values.ndim < 2 or tuple(values.shape[-2:]) != motion.size:
        raise TargetError(f"{name} must be (..., H, W) as the picture, {motion.size}, got {tuple(values.shape)}")


def _rank(targets: Mapping[str, Any], name: str) -> int:
    return np.ndim(targets[name]) if name in targets else 0


def _chosen(values: Any, kept: Tensor) -> Any:
    if isinstance(values, Tensor):
        return values[kept.to(values.device)]
    return values[kept.cpu().numpy()] if isinstance(values, np.ndarray) else [values[k] for k in kept.tolist()]
