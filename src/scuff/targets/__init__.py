"""What belongs to a picture follows it: boxes, masks, keypoints, depth, flow. Pure torch; no pixels are looked at."""

from collections.abc import Mapping
from typing import Any

from scuff.corruptions.motion import Motion
from scuff.targets.boxes import move_boxes
from scuff.targets.maps import move_flow, move_map
from scuff.targets.points import move_points
from scuff.targets.rules import Rules, TargetError
from scuff.targets.samples import KNOWN, Sample, move
from scuff.targets.tensors import open_tree

__all__ = [
    "KNOWN",
    "Motion",
    "Rules",
    "Sample",
    "TargetError",
    "move",
    "move_boxes",
    "move_flow",
    "move_map",
    "move_points",
    "open_sample",
    "open_tree",
]


def open_sample(given: Any) -> Sample | None:
    """A picture with its targets: a dictionary, or a tree with TVTensors; or None if it comes alone."""
    return open_tree(given) or (Sample(given) if isinstance(given, Mapping) else None)
