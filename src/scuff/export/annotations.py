"""Annotated pictures become annotated pictures: DST/<corruption>/<severity> can be opened as a source again.

Boxes are written in COCO's form, `annotations.json` beside the pictures; maps of classes to `masks`, beside `images`.
Workers write what they moved beside their pictures, and the end of an export puts boxes of a cell into one file.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from PIL import Image

from scuff.data.annotated import IGNORED, AnnotatedSource, Objects
from scuff.data.sized import with_sizes
from scuff.export.folder import cell_folder
from scuff.export.images import Batch, PictureJob, output_name
from scuff.moved import cell_motion, moved_objects
from scuff.readers import read_json
from scuff.targets.maps import move_map

FILE, PARTS = "annotations.json", ".annotations"


@dataclass(frozen=True)
class AnnotatedJob(PictureJob):
    """What all tasks of such an export share."""

    annotated: AnnotatedSource

    def output(self, name: str) -> str:
        """The name of a corrupted picture in the folder of its cell."""
        made = output_name(name, self.save)
        return made if self.annotated.maps is None else f"images/{made.removeprefix('images/')}"

    def beside(self, batch: Batch, entry: str, severity: int | None) -> dict[str, bytes]:
        """The moved annotations of some pictures of one size, by their files in the folder of the cell."""
        places = [self.position(name) for name, _ in batch]
        size = batch[0][1].shape[:2]
        for place in places:
            self.annotated.check_size(place, *size)
        ids = torch.tensor([self.images.id(name) for name, _ in batch])
        motion = cell_motion(self.suite, entry, severity, ids, size, self.seed)
        if self.annotated.maps is not None:
            maps = [torch.from_numpy(self.annotated.maps.read(place, size)) for place in places]
            if motion is not None:
                maps = [move_map(one, motion[k], IGNORED) for k, one in enumerate(maps)]
            return {self._map(name): _png(one.numpy()) for (name, _), one in zip(batch, maps, strict=True)}
        if motion is None:
            return {}
        assert self.annotated.objects is not None
        moved = moved_objects([self.annotated.objects[place] for place in places], motion)
        return {f"{PARTS}/{name}.json": _pack(one) for (name, _), one in zip(batch, moved, strict=True)}

    def _map(self, name: str) -> str:
        return f"masks/{name.removeprefix('images/').rpartition('.')[0]}.png"

    def position(self, name: str) -> int:
        """The place of a picture among the annotations."""
        return self._places()[name]

    def _places(self) -> dict[str, int]:
        if "_known" not in self.__dict__:
            known = {name: place for place, name in enumerate(self.annotated.images.names)}
            object.__setattr__(self, "_known", known)
        return self.__dict__["_known"]

    def finish(self, names: Sequence[str]) -> list[int]:
        """The files of every cell that say what its pictures show."""
        for entry, levels in self.levels.items():
            for severity in levels:
                folder = cell_folder(entry, severity)
                if self.annotated.maps is not None:
                    classes = "\n".join(self.annotated.class_names) + "\n"
                    self.store.write(f"{folder}/classes.txt", classes.encode())
                elif not self.store.exists(f"{folder}/{FILE}"):
                    self._join(folder, names)
        return []

    def _join(self, folder: str, names: Sequence[str]) -> None:
        """One file of all objects: those that moved are in files of their own, the others are as they were."""
        parts = set(self.store.names(f"{folder}/{PARTS}", ".json"))
        assert self.annotated.objects is not None
        assert self.annotated.sizes is not None
        images: list[Any] = []
        annotations: list[Any] = []
        for number, name in enumerate(names, 1):
            place = self.position(name)
            height, width = (int(side) for side in self.annotated.sizes[place])
            images.append({"id": number, "file_name": self.output(name), "width": width, "height": height})
            part = f"{folder}/{PARTS}/{name}.json"
            if part in parts:
                found: list[Any] = read_json(self.store.read(part), f"{self.store.root}/{part}", list)
            else:
                found = json.loads(_pack(self.annotated.objects[place]))
            for one in found:
                annotations.append({"id": len(annotations) + 1, "image_id": number, **one})
        categories = [{"id": k + 1, "name": name} for k, name in enumerate(self.annotated.class_names)]
        content = {"images": images, "annotations": annotations, "categories": categories}
        self.store.write(f"{folder}/{FILE}", json.dumps(content).encode())
        for part in parts:
            self.store.remove(part)


def annotated_job(source: AnnotatedSource, images: Any, chosen: dict[str, Any]) -> AnnotatedJob:
    """The job of an annotated source."""
    return AnnotatedJob(images, **chosen, annotated=with_sizes(source))


def _pack(objects: Objects) -> bytes:
    """Objects as COCO has them, but for their numbers."""
    found = []
    more = objects.more or ({},) * len(objects)
    for (x0, y0, x1, y1), label, crowd, own in zip(
        objects.boxes.round(3).tolist(), objects.labels.tolist(), objects.crowd.tolist(), more, strict=True
    ):
        box = [x0, y0, round(x1 - x0, 3), round(y1 - y0, 3)]
        area = round(box[2] * box[3], 3)
        found.append({"category_id": label + 1, "bbox": box, "area": area, "iscrowd": int(crowd), **own})
    return json.dumps(found).encode()


def _png(classes: np.ndarray) -> bytes:
    file = io.BytesIO()
    Image.fromarray(classes).save(file, "PNG", compress_level=1)
    return file.getvalue()
