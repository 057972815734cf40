"""What the user decides about targets."""

from __future__ import annotations

from dataclasses import dataclass

FORMATS = ("xyxy", "xywh", "cxcywh")
CONVENTIONS = ("content", "published")
BAD = ("raise", "drop")
CENTRES = ("index", "edge")


class TargetError(ValueError):
    """Annotations that cannot be carried along; the message says which, why, and what to do."""


@dataclass(frozen=True)
class Rules:
    """How targets are given, and what becomes of those that leave the picture.

    Parameters
    ----------
    convention
        "content": targets follow what is seen. "published": under the corruptions of ImageNet-C they stay, although
        motion blur, zoom blur, glass blur and elastic move the scene, since COCO-C is scored so.
    boxes
        "xyxy", "xywh" (COCO) or "cxcywh" (YOLO, in pixels). The picture reaches from 0 to its width and height.
    keypoints
        "index": whole numbers are the centres of pixels (COCO). "edge": the first pixel's centre is at 1/2.
    clip
        Cut boxes at the frame. False leaves them whole where the motion is known beyond it: shifts, turns, perspective.
    min_size, min_area, min_visibility
        Boxes are dropped if a side or the area is smaller, in pixels, or the visible share of the object.
    bad
        What is done with boxes that are not finite, empty or outside of the picture: "raise", or "drop" and count them.
    ignore
        What label maps (H, W) of whole numbers get where nothing of the scene is seen.
    invalid
        What depth gets there.
    follow
        Entries with one row per box, which are chosen as the boxes are.
    """

    convention: str = "content"
    boxes: str = "xyxy"
    keypoints: str = "index"
    clip: bool = True
    min_size: float = 1.0
    min_area: float = 1.0
    min_visibility: float = 0.0
    bad: str = "raise"
    ignore: int = 255
    invalid: float = 0.0
    follow: tuple[str, ...] = ("labels", "scores", "iscrowd", "difficult", "annotation_ids")

    def __post_init__(self) -> None:
        choices = {"convention": CONVENTIONS, "boxes": FORMATS, "keypoints": CENTRES, "bad": BAD}
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {getattr(self, name)!r}")
