"""Average precision of boxes, as COCO has it: means over IoU thresholds .50, .55 to .95 and over classes.

pycocotools finds out which box matches which object. What follows is added up here, by its own rule, so that it can be
done again without some of the images.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

RECALLS = np.linspace(0.0, 1.0, 101)
THRESHOLDS = 10
MOST_FOUND = 100  # boxes that count, per image and class
TINY = np.spacing(1)

Columns = Mapping[str, Sequence[Any]]  # of one cell: for each image, boxes, scores, labels and what is true


@dataclass(frozen=True, eq=False)
class Matches:
    """For one class: of all boxes, best first, the image, the score, at each threshold whether it is right or does not
    count; and how many objects every image has.
    """

    images: np.ndarray
    right: np.ndarray
    wrong: np.ndarray
    objects: np.ndarray


def average_precision(cell: Columns, groups: np.ndarray) -> tuple[float, np.ndarray]:
    """AP of a cell, and without each of the groups; NaN where there are no objects."""
    matches = match_boxes(cell)
    count = int(groups.max()) + 1 if len(groups) else 0
    left_out = [None, *range(count)]
    table = np.array([[_precision(of, groups, without) for of in matches] for without in left_out]).reshape(
        count + 1, -1
    )
    known = ~np.isnan(table)
    means = np.where(known.any(1), np.nansum(table, 1) / np.maximum(known.sum(1), 1), np.nan)
    return float(means[0]), means[1:]


def _precision(of: Matches, groups: np.ndarray, without: int | None) -> float:
    """The mean over thresholds and recalls of one class, as COCOeval.accumulate has it."""
    kept = slice(None) if without is None else groups[of.images] != without
    objects = of.objects.sum() if without is None else of.objects[groups != without].sum()
    if not objects:
        return np.nan
    right, wrong = of.right[:, kept].cumsum(1), of.wrong[:, kept].cumsum(1)
    if not right.shape[1]:
        return 0.0
    recall, precision = right / objects, right / (right + wrong + TINY)
    precision = np.maximum.accumulate(precision[:, ::-1], axis=1)[:, ::-1]
    total = 0.0
    for line, values in zip(recall, precision, strict=True):
        places = np.searchsorted(line, RECALLS, side="left")
        total += values[places[places < len(line)]].sum()
    return total / (len(recall) * len(RECALLS))


def match_boxes(cell: Columns) -> list[Matches]:
    """Match the boxes of every class that has objects; boxes on mirror images are left out before."""
    if importlib.util.find_spec("pycocotools") is None:
        raise ValueError('average precision needs pycocotools; run pip install "scuff[detection]"')
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    true = _annotations(cell["true_boxes"], cell["true_labels"], crowd=cell["true_crowd"])
    kept = [~np.asarray(ghosts, bool) for ghosts in cell["ghosts"]]
    boxes = [np.asarray(b).reshape(-1, 4)[k] for b, k in zip(cell["boxes"], kept, strict=True)]
    labels, scores = ([np.asarray(v)[k] for v, k in zip(cell[c], kept, strict=True)] for c in ("labels", "scores"))
    classes = sorted({one["category_id"] for one in true})
    images = range(len(boxes))
    with contextlib.redirect_stdout(io.StringIO()):  # which would hear how long everything takes
        truth, found = COCO(), COCO()
        for coco, annotations in ((truth, true), (found, _annotations(boxes, labels, scores=scores))):
            coco.dataset = {"images": [{"id": k} for k in images], "annotations": annotations}
            coco.dataset["categories"] = [{"id": k} for k in classes]
            coco.createIndex()
        evaluation = COCOeval(truth, found, "bbox")
        evaluation.params.areaRng, evaluation.params.areaRngLbl = [[0, 1e10]], ["all"]
        evaluation.params.maxDets, evaluation.params.imgIds = [MOST_FOUND], list(images)
        evaluation.params.catIds = classes
        evaluation.evaluate()
    per_class = len(images)
    pairs = evaluation.evalImgs  # by class, then by image
    return [_gather(pairs[k * per_class : (k + 1) * per_class], per_class) for k in range(len(classes))]


def _gather(results: Sequence[Any], images: int) -> Matches:
    objects = np.zeros(images, np.int64)
    where, scores, matched, ignored = [], [], [np.zeros((THRESHOLDS, 0), bool)], [np.zeros((THRESHOLDS, 0), bool)]
    for image, result in enumerate(results):
        if result is None:
            continue
        objects[image] = int((~np.asarray(result["gtIgnore"], bool)).sum())
        where += [image] * len(result["dtScores"])
        scores += result["dtScores"]
        matched.append(np.asarray(result["dtMatches"]) > 0)
        ignored.append(np.asarray(result["dtIgnore"], bool))
    order = np.argsort(-np.array(scores, np.float64), kind="mergesort")
    is_matched, counts = np.concatenate(matched, 1)[:, order], ~np.concatenate(ignored, 1)[:, order]
    return Matches(np.array(where, np.int64)[order], is_matched & counts, ~is_matched & counts, objects)


def _annotations(boxes: Sequence[Any], labels: Sequence[Any], **more: Sequence[Any]) -> list[dict[str, Any]]:
    """Boxes of all images as COCO has them, numbered from 1: 0 would say that nothing is matched."""
    found: list[dict[str, Any]] = []
    keys = {"crowd": "iscrowd", "scores": "score"}
    for image, (of, whose) in enumerate(zip(boxes, labels, strict=True)):
        values = {keys[key]: np.asarray(value[image]).tolist() for key, value in more.items()}
        for k, (x0, y0, x1, y1) in enumerate(np.asarray(of, np.float64).reshape(-1, 4).tolist()):
            box = [x0, y0, x1 - x0, y1 - y0]
            one = {"id": len(found) + 1, "image_id": image, "category_id": int(whose[k]), "bbox": box}
            own = {key: int(value[k]) if key == "iscrowd" else value[k] for key, value in values.items()}
            found.append({**one, "area": box[2] * box[3], "iscrowd": 0, **own})
    return found
