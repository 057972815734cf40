"""How far corruptions overlap: one model per corruption, every model on every corruption."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING

from scuff.studies.base import Study, as_function, study
from scuff.studies.options import REPEATED, SEEDS, TEXT, WHOLE, WORDS, option

if TYPE_CHECKING:
    from scuff.data import Source
    from scuff.suites import Suite
    from scuff.training.recipes import Recipe


@study
class OverlapStudy(Study["Overlaps"]):
    """Train, test, and return the matrix of overlapping scores.

    The six steps of the paper on non-overlapping corruptions. (1, 2) Train a standard model on clean images, and for
    every corruption one whose training images are half corrupted; (3, 4) test all of them on clean images and on every
    corruption; (5, 6) compute robustness and overlapping scores from the accuracies. Every image draws its severity.
    `read_overlap(out)` gives the accuracies, for coverage and balance.
    """

    name = question = command = "overlap"
    planner = "scuff.studies.overlap.plan:plan_overlap"
    reader = "scuff.studies.overlap.results:read_overlap"

    suites: str | Suite | Sequence[str | Suite] = option(
        "Suites whose corruptions are compared.", kind=REPEATED, metavar="SUITE", is_argument=True
    )
    data: str | Source = option(
        "Training images: fashion, cifar10:DIR, folder:DIR, npz:FILE, hf:DIR.",
        kind=TEXT,
        metavar="DATA",
        resume="noted",
    )
    out: str | os.PathLike[str] = option(
        "Folder for models and results; existing results are reused.", kind=TEXT, metavar="DIR", resume="noted"
    )
    _: KW_ONLY
    recipe: str | Recipe = option(
        "Training recipe: fashion, cifar-fast, imagenet-100, ... (see scuff train --help).", kind=TEXT, metavar="NAME"
    )
    only: Sequence[str] | None = option(
        "Compare only these corruptions, as in fog,noc-candidates/rain.", None, kind=WORDS, metavar="NAMES"
    )
    together: str | Sequence[str] = option(
        "Suites on all of whose corruptions one further model is trained: the direct test of coverage.",
        (),
        kind=WORDS,
        metavar="SUITES",
    )
    seeds: int | Sequence[int] = option(
        "Number of trainings of everything, or their seeds, as in 3,7; at least 3 for intervals over trainings.",
        1,
        kind=SEEDS,
        metavar="N",
        resume="joins",
    )
    test: str | Source | None = option(
        "Test images. Default: the test split of the data.", None, kind=TEXT, metavar="DATA", resume="noted"
    )
    classes: str | None = option(
        "Class subset: imagenet-100 is every tenth class of ImageNet.", None, kind=TEXT, metavar="NAME"
    )
    limit: int | None = option("Number of test images, evenly spread.", None, kind=WHOLE, metavar="N")
    architecture: str | None = option("Network to train instead of the recipe's.", None, kind=TEXT)
    epochs: int | None = option("Number of epochs instead of the recipe's.", None, kind=WHOLE, metavar="N")
    fine_tune: int | None = option(
        "Fine-tune the models of corruptions from the standard model for this many epochs.",
        None,
        kind=WHOLE,
        metavar="EPOCHS",
    )
    standard_from: str | os.PathLike[str] | None = option(
        "Study whose standard models are used for fine-tuning.", None, kind=TEXT, metavar="DIR", resume="noted"
    )


overlap = as_function(OverlapStudy)
