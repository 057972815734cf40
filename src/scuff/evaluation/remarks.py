"""What a user should know before an evaluation is believed: how images reach the models, and what looks wrong."""

from __future__ import annotations

import pandas as pd

from scuff.evaluation.choices import CLASSIFICATION, CLEAN
from scuff.evaluation.plan import Cell, Plan
from scuff.models import Classifier
from scuff.store import read_rows
from scuff.words import listed, percent

LEAST_SKILL = 0.15  # of the way from guessing to perfection
SIZES_APART = 2  # by this factor, corruptions of another image size are no longer those of the benchmark


def input_words(plan: Plan, classifier: Classifier) -> str:
    """How images reach a model: their size, and how they are normalised."""
    side, wanted = plan.settings["size"], classifier.input_size
    pixels = f"images of {side} pixels" if side else "images as they are"
    size = f"{pixels}, resized to {wanted}" if wanted not in (None, side) else pixels
    if plan.task == "detection" and classifier.mean is None:  # which normalises for itself, as torchvision's do
        return f"{size}, with values from 0 to 1"
    if classifier.mean is None or classifier.std is None:
        return f"{size}; not normalised: the model sees values from 0 to 1 (--mean and --std change that)"
    mean, std = (", ".join(f"{value:g}" for value in values) for values in (classifier.mean, classifier.std))
    return f"{size}; normalised by mean {mean} and std {std}"


def doubts(plan: Plan) -> list[str]:
    """What looks like a mistake before anything is computed."""
    found = []
    if plan.untrained:
        found.append(
            f"{listed(plan.untrained)} looks untrained: its weights are as torch makes them. Were they loaded?"
        )
    side, meant = plan.settings["size"], plan.suite.size
    if (
        plan.suite.entries
        and not plan.suite.fixed_lengths
        and side
        and not 1 / SIZES_APART <= side / meant <= SIZES_APART
    ):
        found.append(
            f"{plan.suite.name} is made for images of {meant} pixels, and these have {side}. Lengths are scaled, but "
            "the results are not those of the benchmark; scuff list shows the size of every suite"
        )
    return found


def late_doubts(plan: Plan) -> list[str]:
    """What looks like a mistake in the results: clean accuracies that are hardly better than guessing."""
    if (
        Cell(CLEAN) not in plan.cells or plan.task != CLASSIFICATION or plan.images.example().classes is not None
    ):  # natural shifts may be that hard
        return []
    found = []
    for model in plan.classifiers:
        rows = read_rows(plan.store, [plan.rows_name(model, Cell(CLEAN))])
        right = float((rows["label"] == rows["prediction"]).mean())
        guess = float(pd.Series(rows["label"]).value_counts(normalize=True).max())
        if guess < 1 and (right - guess) / (1 - guess) < LEAST_SKILL:
            found.append(
                f"the clean accuracy of {model}, {percent(right)} %, is near chance ({percent(guess)} %). Check its "
                "normalisation (--mean, --std), its weights, and whether its outputs are the classes of these data"
            )
    return found
