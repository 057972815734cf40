"""The pictures on which detectors and segmenters lose most, with boxes or borders drawn on them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import torch
from PIL import Image, ImageDraw
from torch import Tensor

from scuff.data import Source
from scuff.data.annotated import AnnotatedSource
from scuff.door import motions
from scuff.evaluation import CLEAN, Evaluation
from scuff.metrics import by_model
from scuff.report.evaluation.pictures import FEW, Card, SeenImages, _picture, _position, open_seen
from scuff.targets.maps import move_map
from scuff.words import cell_name, count, percent_sign

SURE = 0.5  # the score of a box from which on it is drawn
OVERLAP = 0.5  # IoU of a box that has found an object
TRUE, FOUND = (255, 255, 255), (255, 140, 0)


def worst_drawn(evaluation: Evaluation, data: str | Source | None = None) -> dict[str, list[Card]]:
    """The worst pictures of every model, clean and corrupted; raises DataUnavailable if they cannot be opened."""
    images = open_seen(evaluation, data)
    return {model: _cards(images, rows) for model, rows in by_model(evaluation.rows).items()}  # type: ignore[arg-type]


def _cards(images: SeenImages, rows: pd.DataFrame) -> list[Card]:
    right = _found_share if "boxes" in rows else _right_share
    rows = rows.assign(right=[right(row) for row in rows.to_dict("records")])
    clean = rows[rows["corruption"] == CLEAN].set_index("image_id")
    worse = rows[rows["corruption"] != CLEAN]
    worse = worse.assign(lost=worse["image_id"].map(clean["right"]).fillna(1.0) - worse["right"])
    worse = worse[worse["lost"] > 0].sort_values("lost", ascending=False, kind="stable")
    chosen = worse.drop_duplicates("image_id").groupby("corruption", observed=True, sort=False).head(1).head(FEW)
    lines = clean.reset_index().set_index("image_id", drop=False)
    return [_card(images, row, lines) for row in chosen.to_dict("records")]


def _card(images: SeenImages, row: dict[str, Any], clean: pd.DataFrame) -> Card:
    image, entry, severity = int(row["image_id"]), str(row["corruption"]), int(row["severity"])
    corrupted = images.corrupted_pixels(image, entry, severity)
    pictures = [(corrupted, row, f"the same with {cell_name(entry, severity)}")]
    if image in clean.index and images.images.clean is not None:
        before = images.read(images.images.clean, image, "clean_cut")
        pictures.insert(0, (before, clean.loc[image].to_dict(), "clean"))
    drawn = [_picture(_draw(images, image, pixels, of), alt) for pixels, of, alt in pictures]
    words = {"label": "", "prediction": "", "confidence": ""}
    if "boxes" in row:
        objects = len(row["true_labels"])
        found = round(row["right"] * objects)
        boxes = int((np.asarray(row["scores"]) >= SURE).sum())
        words = {
            "label": count(objects, "object"),
            "prediction": f"{found} found",
            "confidence": count(boxes, "box", "boxes"),
        }
    else:
        share = float(clean.loc[image]["right"]) if image in clean.index else 1.0
        words = {"label": f"{percent_sign(share)} of pixels right", "prediction": percent_sign(row["right"])}
        words["confidence"] = "when corrupted"
    name = images.name(image, entry, severity)
    return {"pictures": drawn, "corruption": cell_name(entry, severity), "name": name, **words}


def _draw(images: SeenImages, image: int, pixels: Tensor, row: dict[str, Any]) -> Tensor:
    """A picture with the boxes of a row on it, or with the borders of regions."""
    picture = Image.fromarray(pixels.permute(1, 2, 0).numpy())
    canvas = ImageDraw.Draw(picture)
    if "boxes" in row:
        sure = np.asarray(row["scores"]) >= SURE
        for boxes, colour in ((row["true_boxes"], TRUE), (np.asarray(row["boxes"]).reshape(-1, 4)[sure], FOUND)):
            for x0, y0, x1, y1 in np.asarray(boxes, np.float64).reshape(-1, 4).tolist():
                canvas.rectangle((x0, y0, max(x0, x1 - 1), max(y0, y1 - 1)), outline=colour)
        return torch.from_numpy(np.array(picture)).permute(2, 0, 1)
    classes = _map_of(images, image, row, (pixels.shape[-2], pixels.shape[-1]))
    borders = np.zeros(classes.shape, bool)
    borders[:, 1:] |= classes[:, 1:] != classes[:, :-1]
    borders[1:] |= classes[1:] != classes[:-1]
    array = np.array(picture)
    array[borders] = TRUE
    return torch.from_numpy(array).permute(2, 0, 1)


def _map_of(images: SeenImages, image: int, row: dict[str, Any], size: tuple[int, int]) -> np.ndarray:
    source, settings = images.images.source, images.evaluation.settings
    assert isinstance(source, AnnotatedSource)
    assert source.maps is not None
    classes = torch.from_numpy(source.maps.read(_position(source, image), size))
    if row["corruption"] != CLEAN and settings["targets"] == "moved":
        options: dict[str, Any] = {"suite": images.evaluation.suite, "seed": settings["seed"]}
        (motion,) = motions(str(row["corruption"]), row["severity"] or None, size=size, ids=[image], **options)
        classes = move_map(classes, motion, 255)
    return classes.numpy()


def _found_share(row: dict[str, Any]) -> float:
    """The share of objects that a box of their class, at least half sure, covers by half; 1 without objects."""
    true, found = (np.asarray(row[key], np.float64).reshape(-1, 4) for key in ("true_boxes", "boxes"))
    if not len(true):
        return 1.0
    good = np.asarray(row["scores"]) >= SURE
    low, high = np.maximum(true[:, None, :2], found[None, :, :2]), np.minimum(true[:, None, 2:], found[None, :, 2:])
    common = np.clip(high - low, 0, None).prod(-1)
    areas = [(boxes[:, 2:] - boxes[:, :2]).prod(-1) for boxes in (true, found)]
    overlap = common / np.maximum(areas[0][:, None] + areas[1][None] - common, 1e-9)
    same = np.asarray(row["true_labels"])[:, None] == np.asarray(row["labels"])[None]
    return float(((overlap >= OVERLAP) & same & good[None]).any(1).mean()) if len(found) else 0.0


def _right_share(row: dict[str, Any]) -> float:
    """The share of pixels whose class is right."""
    pairs, counts = np.asarray(row["pairs"], np.int64), np.asarray(row["counts"], np.float64)
    width = int(row["classes"]) + 1
    return float(counts[pairs // width == pairs % width].sum() / max(counts.sum(), 1))
