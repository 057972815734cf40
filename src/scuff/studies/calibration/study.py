"""Severity ranges of a suite for a model and images of your own."""

import os
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Annotated, Any, Required, TypedDict

from scuff.options import NUMBER, REQUIRED, TEXT, WHOLE, WORDS, Option
from scuff.studies.base import StudySettings, as_function, study
from scuff.studies.one_model import OneModelStudy
from scuff.vocabulary import Data, Limit, MaybeOut, Only

if TYPE_CHECKING:
    import pandas as pd  # noqa: F401  (of the base class)

    from scuff.suites import Suite

MODEL = "torchvision:NAME, timm:NAME, onnx:FILE, FILE.safetensors, FILE.pt, package.module:object; usually trained on "
MODEL += "clean images."
START = "Suite whose ranges to start from: its name (see scuff list), or its file."
IMAGES = "Clean images: fashion, cifar10:DIR, folder:DIR, npz:FILE, hf:DIR, ..."
WRITTEN = "Suite to write. Finished entries are kept beside it, in NAME.calibration.json, and are not searched again."
ENTRIES = "Entries to calibrate, each with exactly one range, as in rain,hue. Default: the benchmark of the suite."


class FinishedEntry(TypedDict, total=False):
    """A line of the table, as far as the suite is made of it."""

    parameter: Required[str]
    low: Required[float | None]
    high: Required[float | None]
    note: Required[str]
    measured: Required[list[Any]]


class CalibrationSettings(StudySettings, total=False):
    """The form of NAME.calibration.json."""

    entries: Required[dict[str, FinishedEntry]]


@study
class CalibrationStudy(OneModelStudy["tuple[Suite, pd.DataFrame]"]):
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
    form = CalibrationSettings

    model: Annotated[Any, Option(MODEL, TEXT, "MODEL", is_argument=True)]
    suite: Annotated["Suite | str | os.PathLike[str]", Option(START, TEXT, command_default="noc-candidates")]
    data: Annotated[Data, Option(IMAGES, TEXT, "SOURCE")]
    _: KW_ONLY
    out: Annotated[MaybeOut, Option(WRITTEN, TEXT, "FILE.yaml", command_default=REQUIRED)] = None
    only: Annotated[Only, Option(ENTRIES, WORDS, "NAMES")] = None
    limit: Annotated[Limit, Option("Number of images, evenly spread; 2000 give R to about 0.03.", WHOLE, "N")] = None
    upper: Annotated[float, Option("Share of the clean accuracy that is left at the mild end.", NUMBER, "R")] = 0.95
    lower: Annotated[float, Option("Share that is left at the severe end.", NUMBER, "R")] = 0.5
    suite_name: Annotated[
        str | None,
        Option("Name of the new suite. Default: that of its file, or of both.", TEXT, flag="--name"),
    ] = None


calibrate_suite = as_function(CalibrationStudy, "calibrate_suite")
