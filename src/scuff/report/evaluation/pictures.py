"""The worst images: right when clean, confidently wrong when corrupted, shown exactly as the models saw them."""

from __future__ import annotations

import base64
import io
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from PIL import Image
from torch import Tensor

from scuff.corruptions import get
from scuff.data import CorruptedSource, Source
from scuff.data.readable import without
from scuff.door import corrupt
from scuff.evaluation import CLEAN, EvaluatedImages, Evaluation, open_images
from scuff.metrics import by_model
from scuff.pictures import Cut
from scuff.words import cell_name, class_name, percent_sign

SMALL = 96  # pixels; images up to that size are enlarged without smoothing
MANY, FEW = 12, 6  # how many small or large images are shown per model, so that the file stays small


class DataUnavailable(ValueError):
    """The images of an evaluation cannot be shown; the message says why."""


Card = dict[str, Any]  # pictures of an image, clean (where that is known) and corrupted, and what a model took it for


def worst_rows(rows: pd.DataFrame, most: int = MANY) -> pd.DataFrame:
    """The rows of one model that are wrong with the highest confidence: no image twice, corruptions in turn.

    Where the clean images were evaluated too, only images that are right when clean count. Of an evaluation with many
    corruptions none comes twice; with few of them, each comes as often as is needed to show `most` images.
    """
    clean = rows["corruption"] == CLEAN
    wrong = rows[~clean & (rows["prediction"] != rows["label"])]
    if clean.any():
        right = rows.loc[clean & (rows["prediction"] == rows["label"]), "image_id"]
        wrong = wrong[wrong["image_id"].isin(right)]
    groups = wrong.groupby("corruption", observed=True, sort=False)
    each = -(-most // max(1, groups.ngroups))
    # The first of every corruption are enough: fewer than `most` of them can be lost to images that are shown already.
    best = [group.nlargest(most + each, "confidence") for _, group in groups]
    candidates = pd.concat(best).sort_values("confidence", ascending=False, kind="stable") if best else wrong
    chosen: list[int] = []
    images, used = set(), Counter[str]()
    for place, (image, corruption) in enumerate(zip(candidates["image_id"], candidates["corruption"], strict=True)):
        if len(chosen) < most and image not in images and used[corruption] < each:
            chosen.append(place)
            images.add(image)
            used[corruption] += 1
    return candidates.iloc[chosen]


def worst_cards(evaluation: Evaluation, data: str | Source | CorruptedSource | None = None) -> dict[str, list[Card]]:
    """The worst images of every model; raises DataUnavailable if they cannot be opened."""
    images = open_seen(evaluation, data)
    return {model: _cards(images, rows) for model, rows in by_model(evaluation.rows).items()}


def open_seen(evaluation: Evaluation, data: str | Source | CorruptedSource | None = None) -> SeenImages:
    """Open the images of an evaluation, and check that they are the same ones."""
    settings = evaluation.settings
    source = settings["source"] if data is None else data
    try:
        images = open_images(source, settings["clean"], settings["classes"], settings["limit"])
        if settings.get("unreadable"):
            rest = without(images.source, settings["unreadable"])  # type: ignore[arg-type]
            images = replace(images, source=rest, clean=rest)
    except (ValueError, KeyError, OSError, ImportError) as error:
        raise DataUnavailable(f"they could not be opened: {error}") from error
    opened = images.settings()
    if any(opened[key] != settings[key] for key in ("source_fingerprint", "clean_fingerprint")):
        raise DataUnavailable(f"{images.source.name} holds other images than those that were evaluated")
    try:
        for entry in () if images.are_corrupted else set(evaluation.rows["corruption"]) - {CLEAN}:
            get(evaluation.suite.corruption(entry))
    except KeyError as error:
        raise DataUnavailable(str(error.args[0])) from error
    return SeenImages(evaluation, images)


@dataclass(frozen=True)
class SeenImages:
    """The images of an evaluation, clean and as each cell showed them to the models."""

    evaluation: Evaluation
    images: EvaluatedImages

    def corrupted_pixels(self, image: int, entry: str, severity: int) -> Tensor:
        """An image as a cell showed it, uint8 (C, H, W): read, or corrupted again with the same seed and id."""
        pixels = self.read(self._source(entry, severity), image, "cut")
        if self.images.are_corrupted:
            return pixels
        settings = self.evaluation.settings
        return corrupt(
            pixels[None],
            entry,
            severity or None,  # rows write 0 where there are no levels
            suite=self.evaluation.suite,
            seed=settings["seed"],
            ids=[image],
            as_published=settings["as_published"],
        )[0]

    def name(self, image: int, entry: str, severity: int) -> str:
        """What the source calls an image."""
        source = self._source(entry, severity)
        return source.image_name(_position(source, image))

    def _source(self, entry: str, severity: int) -> Source:
        source = self.images.source
        return source.cell(entry, severity or None) if self.images.are_corrupted else source  # type: ignore[return-value, union-attr]

    def read(self, source: Source, image: int, key: str) -> Tensor:
        """An image of a source as the settings of this key cut it, uint8 (C, H, W)."""
        cut = self.evaluation.settings[key]
        return source.read([_position(source, image)], None if cut is None else Cut(**cut))[0]


def _position(source: Source, image: int) -> int:
    return int(np.flatnonzero(source.ids == image)[0])


def _cards(images: SeenImages, rows: pd.DataFrame) -> list[Card]:
    worst = worst_rows(rows)
    if len(worst):
        first = worst.iloc[0]
        pixels = images.corrupted_pixels(int(first["image_id"]), first["corruption"], int(first["severity"]))
        worst = worst.head(MANY if _is_small(pixels) else FEW)
    return [_card(images, row) for row in worst.itertuples()]


def _card(images: SeenImages, row: Any) -> Card:
    names = images.evaluation.settings["class_names"]
    label, prediction = class_name(names, row.label), class_name(names, row.prediction)
    seen = int(row.image_id), str(row.corruption), int(row.severity)
    cell, known = cell_name(*seen[1:]), images.images.clean
    clean = None if known is None else images.read(known, seen[0], "clean_cut")
    corrupted = _picture(images.corrupted_pixels(*seen), f"{label if clean is None else 'the same'} with {cell}")
    return {
        "pictures": [*([] if clean is None else [_picture(clean, f"{label}, clean")]), corrupted],
        "corruption": cell,
        "name": images.name(*seen),
        "label": label,
        "prediction": prediction,
        "confidence": f"{percent_sign(row.confidence)} sure",
    }


def _picture(pixels: Tensor, alt: str) -> dict[str, Any]:
    """A picture inside the page; of `small` ones, the pixels should be seen one by one."""
    array = pixels.permute(1, 2, 0).numpy()
    image = Image.fromarray(array[..., 0] if array.shape[2] == 1 else array)
    file = io.BytesIO()
    image.save(file, "PNG", optimize=True)
    address = f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"
    return {"address": address, "width": image.width, "height": image.height, "alt": alt, "small": _is_small(pixels)}


def _is_small(pixels: Tensor) -> bool:
    return max(pixels.shape[-2:]) <= SMALL
