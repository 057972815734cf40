"""`coco:DIR`: pictures and the annotations of their objects in one JSON file."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any, NotRequired, TypedDict

import numpy as np

from scuff.data.annotated import AnnotatedSource, Collector, picture_size
from scuff.readers import read_json

IMAGES = ("images", ".")
KEPT = ("segmentation", "keypoints", "num_keypoints")


class _Image(TypedDict):
    id: int
    file_name: str
    width: NotRequired[int]
    height: NotRequired[int]


class _Annotation(TypedDict):
    image_id: int
    category_id: int
    bbox: list[float]
    iscrowd: NotRequired[int]


class _Category(TypedDict):
    id: int
    name: str


class _File(TypedDict):
    images: list[_Image]
    annotations: list[_Annotation]
    categories: list[_Category]


def open_coco(path: Path) -> AnnotatedSource:
    """`coco:DIR`, or `coco:FILE.json` where there are several such files; classes are in the order of their ids."""
    file = path if path.is_file() else _find_file(path)
    content: Any = read_json(file.read_bytes(), str(file), _File)
    categories = sorted(content["categories"], key=lambda category: category["id"])
    numbers = {category["id"]: number for number, category in enumerate(categories)}
    of_image: dict[int, list[Any]] = {image["id"]: [] for image in content["images"]}
    for annotation in content["annotations"]:
        if annotation["image_id"] not in of_image:
            raise ValueError(f"{file}: an annotation is of the picture {annotation['image_id']}, which is not listed")
        if annotation["category_id"] not in numbers:
            raise ValueError(f"{file}: an object is of the category {annotation['category_id']}, which is not listed")
        if len(annotation["bbox"]) != 4:
            raise ValueError(f"{file}: expected a bbox [x, y, width, height], got {annotation['bbox']}")
        of_image[annotation["image_id"]].append(annotation)
    root = _find_pictures(path, file, content["images"])
    found = Collector(
        file.parent.name if path.is_file() else path.resolve().name, root, [c["name"] for c in categories]
    )
    for image in content["images"]:
        given = of_image[image["id"]]
        known = "width" in image and "height" in image
        size = (image["height"], image["width"]) if known else picture_size(root / image["file_name"])
        found.add(
            image["file_name"],
            size,
            [(x, y, x + wide, y + tall) for x, y, wide, tall in (one["bbox"] for one in given)],
            [numbers[one["category_id"]] for one in given],
            [bool(one.get("iscrowd")) for one in given],
            [_more(one, found.dropped) for one in given],
        )
    return found.source()


def _more(annotation: Any, dropped: Counter[str]) -> dict[str, Any]:
    """Outline and keypoints of an object, without those that cannot be meant."""
    more = {key: annotation[key] for key in KEPT if key in annotation}
    if isinstance(more.get("segmentation"), list):
        given = more.pop("segmentation")
        more["segmentation"] = [outline for outline in given if _are_places(outline, 2, 6)]
        dropped["outlines that are no polygons"] += len(given) - len(more["segmentation"])
    if "keypoints" in more and not _are_places(more["keypoints"], 3, 3):
        more = {key: value for key, value in more.items() if "keypoints" not in key}
        dropped["keypoints that are no points"] += 1
    return more


def _are_places(values: Any, step: int, least: int) -> bool:
    """Whether it is a list of finite numbers, `step` for each place."""
    try:
        numbers = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        return False
    return numbers.ndim == 1 and len(numbers) >= least and len(numbers) % step == 0 and bool(np.isfinite(numbers).all())


def _find_file(path: Path) -> Path:
    """The one JSON file with instances: of several, the one for validation."""
    files = sorted(file for folder in (path, path / "annotations") for file in folder.glob("*.json"))
    instances = [file for file in files if file.name.startswith("instances")] or files
    if len(instances) > 1:
        instances = [file for file in instances if re.search("val|test", file.stem)] or instances
    if len(instances) != 1:
        names = ", ".join(str(file.relative_to(path)) for file in instances) or "none"
        raise ValueError(f"coco:{path} needs one JSON file of instances, found {names}; say which: coco:FILE.json")
    return instances[0]


def _find_pictures(path: Path, file: Path, images: list[_Image]) -> Path:
    """The folder in which the pictures are: as COCO has it, `val2017` beside `annotations/instances_val2017.json`."""
    if not images:
        raise ValueError(f"{file} lists no pictures")
    top = path if path.is_dir() else file.parent.parent if file.parent.name == "annotations" else file.parent
    places = [top / file.stem.rpartition("_")[2], *(top / place for place in IMAGES)]
    first = images[0]["file_name"]
    root = next((place for place in places if (place / first).is_file()), None)
    if root is None:
        looked = ", ".join(str(place) for place in places)
        raise ValueError(f"{file} lists {first}, which is in none of {looked}")
    return root
