"""What is true of annotated pictures, and of what a cell makes of them: boxes and maps that moved along."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from scuff.corruptions.motion import Motion
from scuff.data.annotated import IGNORED, AnnotatedSource, Objects
from scuff.data.sized import with_sizes
from scuff.evaluation.choices import CLEAN
from scuff.evaluation.plan import Cell, Plan
from scuff.moved import cell_motion, moved_objects
from scuff.targets.maps import move_map


@dataclass(frozen=True, eq=False)
class Seen:
    """What is true of a batch: the objects of each picture, or maps (N, H, W); and how pictures moved, if they did."""

    objects: Sequence[Objects]
    maps: Tensor | None
    motion: Motion | None

    def ghosts(self) -> Tensor | None:
        """Which pixels do not come from their pictures, or a second time: (N, H, W); None if all come once."""
        return None if self.motion is None else self.motion.filled().expand(len(self.objects), -1, -1)


class Truth:
    """The annotations of a source, as each cell moves them; maps are kept if `keeps`."""

    def __init__(self, source: AnnotatedSource, plan: Plan, keeps: bool) -> None:
        self.given, self.source, self.plan, self.keeps = source, with_sizes(source), plan, keeps
        self._maps: dict[int, np.ndarray] = {}

    def after(self, cell: Cell, places: np.ndarray, ids: Tensor, images: Tensor) -> Seen:
        """What is true of some pictures after a cell has corrupted them, on the device of `images`."""
        size = (images.shape[-2], images.shape[-1])
        motion = self._motion(cell, ids, size)
        if self.source.objects is not None:
            objects = [self.source.objects[place] for place in places]
            return Seen(objects if motion is None else moved_objects(objects, motion), None, motion)
        maps = torch.from_numpy(np.stack(self._read(places, size))).to(images.device)
        if motion is not None:
            maps = torch.stack([move_map(one, motion[k], IGNORED) for k, one in enumerate(maps)])
        return Seen((), maps, motion)

    def _motion(self, cell: Cell, ids: Tensor, size: tuple[int, int]) -> Motion | None:
        """How pictures of a cell moved; None if nothing did."""
        settings = self.plan.settings
        if cell.entry == CLEAN or settings["targets"] == "still":
            return None
        return cell_motion(self.plan.suite, cell.entry, cell.severity, ids, size, settings["seed"])

    def _read(self, places: np.ndarray, size: tuple[int, int]) -> list[np.ndarray]:
        maps = self.source.maps
        assert maps is not None
        missing = [int(place) for place in places if int(place) not in self._maps]
        with ThreadPoolExecutor() as pool:
            new = dict(zip(missing, pool.map(lambda place: maps.read(place, size), missing), strict=True))
        if self.keeps:
            self._maps |= new
        return [self._maps[int(place)] if int(place) in self._maps else new[int(place)] for place in places]
