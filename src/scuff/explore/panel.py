"""Models that look at a picture while it is corrupted: what they see in it, how sure they are, and where they fail."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from PIL import Image

from scuff.data import Source
from scuff.explore.corruptions import Turn
from scuff.explore.pictures import Picture
from scuff.images import open_images
from scuff.models import Classifier
from scuff.studies.survival import first_failures
from scuff.words import class_name, hundredths

TOP = 5  # classes that are shown
REMEMBERED = 64  # answers to clean pictures


class Panel:
    """Some models, and the source whose classes they name, where there is one.

    A model is right if it names the label. Of a picture without one, it should go on naming what it names when clean.
    """

    def __init__(self, classifiers: Sequence[Classifier], source: Source | None = None) -> None:
        self.classifiers = list(classifiers)
        self.classes = None if source is None else source.classes
        self.class_names = () if source is None else source.class_names
        self._clean: dict[tuple[str, bytes], np.ndarray] = {}

    def answers(self, clean: Picture, corrupted: Image.Image) -> list[dict[str, Any]]:
        """What every model says about a corrupted picture; of one that fails to look, why."""
        return [self._trying(self._answer, classifier, clean, corrupted) for classifier in self.classifiers]

    def failures(self, clean: Picture, turn: Turn) -> list[dict[str, Any]]:
        """The first severity at which every model fails, and how sure it was of the right class on the way there."""
        return [self._trying(self._failure, classifier, clean, turn) for classifier in self.classifiers]

    def _trying(self, ask: Callable[..., dict[str, Any]], classifier: Classifier, *about: Any) -> dict[str, Any]:
        try:
            return {"name": classifier.name, **ask(classifier, *about)}
        except (ValueError, RuntimeError) as error:
            return {"name": classifier.name, "error": " ".join(str(error).split())}

    def _answer(self, classifier: Classifier, clean: Picture, corrupted: Image.Image) -> dict[str, Any]:
        wanted, before = self._wanted(classifier, clean)
        shares = self._shares(classifier, corrupted)
        top = np.argsort(-shares, kind="stable")[:TOP]
        return {
            "known": clean.label is not None,
            "right": self._class(int(top[0])) == wanted,
            "clean": self._named(classifier, int(before.argmax()), before),
            "top": [self._named(classifier, int(k), shares) | {"wanted": self._class(int(k)) == wanted} for k in top],
        }

    def _failure(self, classifier: Classifier, clean: Picture, turn: Turn) -> dict[str, Any]:
        levels = turn.suite.listed_levels(turn.entry)
        wanted, before = self._wanted(classifier, clean)
        points = [(0.0, self._share_of(wanted, before))]

        def is_right(severities: np.ndarray) -> np.ndarray:
            severity = float(severities[0])
            if math.isnan(severity):
                return np.array([False])
            image = replace(turn, severity=severity, shared=True).apply(clean.image)
            shares = self._shares(classifier, image)
            points.append((severity, self._share_of(wanted, shares)))
            return np.array([self._class(int(shares.argmax())) == wanted])

        is_right_clean = self._class(int(before.argmax())) == wanted
        failure = float(first_failures(np.array([is_right_clean]), levels, is_right)[0][0])
        name = self._class_name(classifier, wanted)
        if failure == 0:
            words = f"Wrong about the clean picture: it is no {name} to it."
        elif math.isinf(failure):
            words = f"Says {name} up to severity {levels[-1]}."
        else:
            words = f"Says {name} until it fails at severity {hundredths(failure)}."
        failing = None if math.isinf(failure) else failure
        return {"failure": failing, "sentence": words, "points": sorted(points), "highest": levels[-1]}

    def _wanted(self, classifier: Classifier, clean: Picture) -> tuple[int, np.ndarray]:
        """The class that is right, and the answer to the clean picture."""
        key = (classifier.name, clean.image.tobytes())
        before = self._clean.get(key)
        if before is None:
            if len(self._clean) >= REMEMBERED:
                self._clean.clear()
            before = self._clean[key] = self._shares(classifier, clean.image)
        return self._class(int(before.argmax())) if clean.label is None else clean.label, before

    def _shares(self, classifier: Classifier, image: Image.Image) -> np.ndarray:
        """The probabilities of all outputs that count."""
        logits = classifier(open_images(image).batch)[0]
        if self.classes is not None:
            logits = logits[list(self.classes.outputs)]
        return torch.softmax(logits.double(), 0).cpu().numpy()

    def _share_of(self, wanted: int, shares: np.ndarray) -> float:
        if self.classes is None:
            return float(shares[wanted]) if wanted < len(shares) else 0.0
        return float(shares[np.array(self.classes.classes) == wanted].sum())

    def _class(self, output: int) -> int:
        """The class that an output stands for."""
        return output if self.classes is None else self.classes.classes[output]

    def _class_name(self, classifier: Classifier, number: int) -> str:
        return class_name(self.class_names or classifier.class_names or (), number)

    def _named(self, classifier: Classifier, output: int, shares: np.ndarray) -> dict[str, Any]:
        return {"class": self._class_name(classifier, self._class(output)), "share": float(shares[output])}
