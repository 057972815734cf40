"""Severity ranges of a suite for a model and images of your own."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any

from scuff.studies.base import Study, as_function, study
from scuff.studies.options import NUMBER, NUMBERS, REQUIRED, TEXT, WHOLE, WORDS, option

if TYPE_CHECKING:
    from scuff.data import Source
    from scuff.suites import Suite


@study
class CalibrationStudy(Study["tuple[Suite, pd.DataFrame]"]):
    """Give the entries of a suite ranges at whose ends the model keeps `upper` and `lower` of its clean accuracy.

    Returns the suite, for images of this size, without entries that have no effect on them; and a table with a line per
    entry: the range `before`, scaled to this size; the severities found, `low` to `high`, and which of the two is the
    `mildest` and which the `severest`; the robustness at these, with intervals over images; whether both are what was
    wanted (`reached`); the number of `evaluations`, each a pass over all images; and a `note`. If even the physical
    limit of a parameter does not bring robustness down to `lower`, the range ends there.
    """

    name = question = "calibration"
    command = "design calibrate"
    planner = "scuff.studies.calibration.plan:plan_calibration"
    reader = "scuff.suites:load_suite"

    model: Any = option(
        "torchvision:NAME, timm:NAME, onnx:FILE, FILE.safetensors, FILE.pt, package.module:object; usually trained on "
        "clean images.",
        kind=TEXT,
        metavar="MODEL",
        is_argument=True,
    )
    suite: Suite | str | os.PathLike[str] = option(
        "Suite whose ranges to start from: its name (see scuff list), or its file.",
        kind=TEXT,
        command_default="noc-candidates",
    )
    data: str | Source = option(
        "Clean images: fashion, cifar10:DIR, folder:DIR, npz:FILE, hf:DIR, ...", kind=TEXT, metavar="SOURCE"
    )
    _: KW_ONLY
    out: str | os.PathLike[str] | None = option(
        "Suite to write. Finished entries are kept beside it, in NAME.calibration.json, and are not searched again.",
        None,
        kind=TEXT,
        metavar="FILE.yaml",
        command_default=REQUIRED,
    )
    only: Sequence[str] | None = option(
        "Entries to calibrate, each with exactly one range, as in rain,hue. Default: the benchmark of the suite.",
        None,
        kind=WORDS,
        metavar="NAMES",
    )
    limit: int | None = option(
        "Number of images, evenly spread over the data; 2000 give R to about 0.03.", None, kind=WHOLE, metavar="N"
    )
    upper: float = option("Share of the clean accuracy that is left at the mild end.", 0.95, kind=NUMBER, metavar="R")
    lower: float = option("Share that is left at the severe end.", 0.5, kind=NUMBER, metavar="R")
    suite_name: str | None = option(
        "Name of the new suite. Default: that of its file, or of suite and data.", None, kind=TEXT, flag="--name"
    )
    resize: int | None = option("Resize each picture's shorter side to this first.", None, kind=WHOLE, metavar="PIXELS")
    crop: int | None = option(
        "Then cut out the middle square. Default: as the model expects it.", None, kind=WHOLE, metavar="PIXELS"
    )
    seed: int = option("Another seed, another realisation of everything random.", 0, kind=WHOLE)
    mean: Sequence[float] | None = option(
        "Normalisation: (pixel - mean) / std, pixels in 0..1.", None, kind=NUMBERS, metavar="NUMBERS"
    )
    std: Sequence[float] | None = option("As in 0.229,0.224,0.225.", None, kind=NUMBERS, metavar="NUMBERS")


calibrate_suite = as_function(CalibrationStudy)
calibrate_suite.__name__ = calibrate_suite.__qualname__ = "calibrate_suite"
