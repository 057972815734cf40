"""The view of an evaluation: its heat map, the pictures behind every cell, and one picture through all cells.

Pictures are shown as the models saw them. Ids of images travel as text, since they are larger than the numbers of a
page can be.
"""

from __future__ import annotations

import json
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from scuff.evaluation import CLEAN, Evaluation
from scuff.explore.pictures import as_image, to_png
from scuff.explore.view import View
from scuff.metrics import by_model, cell_errors
from scuff.report.evaluation.evaluation import evaluation_title
from scuff.report.evaluation.pictures import DataUnavailable, SeenImages, open_seen
from scuff.report.heatmap import heat_groups, levels_of, scale, top_of_scale
from scuff.words import class_name, entry_name, percent

if TYPE_CHECKING:
    from scuff.explore.server import Ask

AT_ONCE = 24  # pictures of a cell
KINDS = {
    "all": "all pictures",
    "wrong": "wrong",
    "broken": "right when clean, wrong here",
    "repaired": "wrong when clean, right here",
    "disagree": "the two models disagree",
}


class EvaluationView(View):
    """What a page may ask about the evaluation of a folder; `data` is where its images are, if they have moved."""

    def __init__(self, evaluation: Evaluation, directory: str, data: str | None = None) -> None:
        self.evaluation = evaluation
        self.images, self.note = _open(self.evaluation, data)
        rows = self.evaluation.rows
        groups = rows.groupby(["model", "corruption", "severity"], observed=True, sort=False)
        self.cells: dict[tuple[str, str, int], pd.DataFrame] = {
            (str(model), str(entry), int(severity)): cell.set_index("image_id")
            for (model, entry, severity), cell in groups
        }
        self.models = list(by_model(rows))
        self.source = None if self.images is None else self.images.images.clean
        suite, read = self.evaluation.suite, f"scuff.evaluation.read_evaluation({json.dumps(directory)})"
        self.suites = [(suite, f"{read}.suite")] if suite.entries else []

    def start(self) -> dict[str, Any]:
        """The heat maps, and what pictures can be chosen by."""
        return self._start

    @cached_property
    def _start(self) -> dict[str, Any]:
        errors = {model: cell_errors(rows) for model, rows in by_model(self.evaluation.rows).items()}
        order = {entry: place for place, entry in enumerate(self.evaluation.suite.entries)}
        shown = pd.concat([frame[frame["corruption"] != CLEAN] for frame in errors.values()])
        shown = shown.sort_values("corruption", key=lambda names: names.map(order), kind="stable")
        kinds = {key: words for key, words in KINDS.items() if self._offers(key)}
        return {
            "title": evaluation_title(self.evaluation, self.models),
            "suite": self.evaluation.suite.name,
            "models": self.models,
            "levels": levels_of(shown) or [0],
            "scale": scale("0 %", f"{percent(top_of_scale(shown), 0)} % error"),
            "maps": {model: self._map(frame, shown) for model, frame in errors.items()},
            "clean": {model: self._share_wrong(model) for model in self.models},
            "classes": list(self.evaluation.settings["class_names"]),
            "kinds": kinds,
            "has_clean": self.source is not None,
            "note": self.note,
        }

    def answers(self) -> dict[str, Any]:
        return {"cell": self.cell, "through": self.through}

    def pictures(self) -> dict[str, Any]:
        return {"seen": self.seen}

    def cell(self, ask: Ask) -> dict[str, Any]:
        """Pictures of a cell, surest mistakes first, then what was right, least sure first."""
        model, entry, severity = self._key(ask)
        rows, other = self.cells[model, entry, severity], ask.text("other", "")
        clean, theirs = self.cells.get((model, CLEAN, 0)), self.cells.get((other, entry, severity))
        chosen = self._chosen(rows, ask.text("kind", "all"), clean, theirs)
        label = ask.whole("label")
        chosen = chosen if label is None else chosen[chosen["label"] == label]
        is_right = (chosen["label"] == chosen["prediction"]).to_numpy()
        sure = chosen["confidence"].to_numpy()
        chosen = chosen.iloc[np.lexsort((np.where(is_right, sure, -sure), is_right))]
        first = ask.whole("first") or 0
        page = chosen.iloc[first : first + AT_ONCE]
        cards = [self._card(image, entry, severity, page.loc[image], clean, theirs) for image in page.index]
        wrong = int((rows["label"] != rows["prediction"]).sum())
        return {"count": len(rows), "wrong": wrong, "found": len(chosen), "cards": cards}

    def through(self, ask: Ask) -> dict[str, Any]:
        """One picture in all cells of a model."""
        model, image = ask.text("model"), ask.whole("image")
        found: dict[str, dict[int, Any]] = {}
        for (name, entry, severity), rows in self.cells.items():
            if name == model and image in rows.index:
                found.setdefault(entry, {})[severity] = self._answer(rows.loc[image])
        if not found:
            raise ValueError(f"{model} has not seen an image {image}")
        label = next(int(rows.at[image, "label"]) for key, rows in self.cells.items() if image in rows.index)
        order = [entry for entry in self.evaluation.suite.entries if entry in found]
        return {
            "label": self._class(label),
            "clean": found.get(CLEAN, {}).get(0),
            "rows": [{"entry": entry, "name": entry_name(entry), "cells": found[entry]} for entry in order],
            "position": self._position(image),
        }

    def seen(self, ask: Ask) -> bytes:
        """A picture as a cell showed it; of the clean cell, the clean one."""
        if self.images is None:
            raise ValueError(self.note)
        image, entry, severity = ask.whole("image"), ask.text("entry"), ask.whole("severity") or 0
        if image is None or entry not in {CLEAN, *self.evaluation.suite.entries} or self._position(image) is None:
            raise ValueError(f"there is no image {image} of {entry}")
        if entry != CLEAN:
            return to_png(as_image(self.images.corrupted_pixels(image, entry, severity).numpy()))
        assert self.source is not None
        return to_png(as_image(self.images.read(self.source, image, "clean_cut").numpy()))

    def _key(self, ask: Ask) -> tuple[str, str, int]:
        key = ask.text("model"), ask.text("entry"), ask.whole("severity") or 0
        if key not in self.cells:
            raise ValueError(f"{key[0]} was not evaluated on {key[1]} at severity {key[2]}")
        return key

    def _offers(self, kind: str) -> bool:
        if kind in ("broken", "repaired"):
            return any(entry == CLEAN for _, entry, _ in self.cells)
        return kind != "disagree" or len(self.models) > 1

    def _chosen(
        self, rows: pd.DataFrame, kind: str, clean: pd.DataFrame | None, theirs: pd.DataFrame | None
    ) -> pd.DataFrame:
        is_right = rows["label"] == rows["prediction"]
        if kind == "wrong":
            return rows[~is_right]
        if kind in ("broken", "repaired") and clean is not None:
            was_right = (clean["label"] == clean["prediction"]).reindex(rows.index)
            return rows[was_right.eq(kind == "broken") & is_right.eq(kind == "repaired")]
        if kind == "disagree" and theirs is not None:
            return rows[theirs["prediction"].reindex(rows.index).ne(rows["prediction"])]
        return rows

    def _map(self, errors: pd.DataFrame, all_errors: pd.DataFrame) -> list[dict[str, Any]]:
        """The groups of a model's heat map, with the entry of every row."""
        of_model = errors[errors["corruption"] != CLEAN]
        groups = heat_groups(of_model, of_model.iloc[:0], self.evaluation.settings["families"], all_errors)
        entries = {entry_name(entry): entry for entry in self.evaluation.suite.entries}
        count = len(levels_of(all_errors)) or 1  # the means are left out
        return [
            {
                "family": group.family,
                "rows": [
                    {
                        "name": row.name,
                        "entry": entries[row.name],
                        "cells": [None if cell is None else vars(cell) for cell in row.cells[:count]],
                    }
                    for row in group.rows
                ],
            }
            for group in groups
        ]

    def _share_wrong(self, model: str) -> float | None:
        clean = self.cells.get((model, CLEAN, 0))
        return None if clean is None else float((clean["label"] != clean["prediction"]).mean())

    def _card(
        self,
        image: int,
        entry: str,
        severity: int,
        row: pd.Series,
        clean: pd.DataFrame | None,
        theirs: pd.DataFrame | None,
    ) -> dict[str, Any]:
        def of(rows: pd.DataFrame | None) -> dict[str, Any] | None:
            return self._answer(rows.loc[image]) if rows is not None and image in rows.index else None

        name = "" if self.images is None else self.images.name(int(image), entry, severity)
        label = self._class(int(row["label"]))
        mine = self._answer(row)
        return {"image": str(image), "name": name, "label": label, **mine, "clean": of(clean), "other": of(theirs)}

    def _answer(self, row: pd.Series) -> dict[str, Any]:
        number, confidence = int(row["prediction"]), float(row["confidence"])
        sure = None if np.isnan(confidence) else confidence
        return {"class": self._class(number), "sure": sure, "right": number == int(row["label"])}

    def _class(self, number: int) -> str:
        return class_name(self.evaluation.settings["class_names"], number)

    def _position(self, image: int | None) -> int | None:
        """Where an image stands among the clean ones, or among those that were evaluated."""
        if self.images is None:
            return None
        places = np.flatnonzero((self.source or self.images.images.example()).ids == image)
        return int(places[0]) if len(places) else None


def _open(evaluation: Evaluation, data: str | None) -> tuple[SeenImages | None, str]:
    """The images of an evaluation, or a sentence that says why they cannot be shown."""
    try:
        return open_seen(evaluation, data), ""
    except DataUnavailable as error:
        return None, f"There are no pictures: {error}. If the images have moved, say where they are with --data."
