"""How far apart classes are, and how much accuracy noise within that distance costs (MSCR)."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Generic

from scuff.studies.base import R, Study, as_function, study
from scuff.studies.options import NUMBER, OBJECT, REPEATED, SEEDS, SWITCH, TEXT, WHOLE, WHOLES, WORDS, option

if TYPE_CHECKING:
    import pandas as pd

    from scuff.data import Points, Source

    Data = str | os.PathLike[str] | Source | Points | pd.DataFrame | tuple[Any, Any]

DATA = "FILE.csv, FILE.npz, or images: fashion, cifar10:DIR, folder:DIR, hf:DIR, ..."
Noise = Sequence[float | str] | None


@study
class PointsStudy(Study[R], Generic[R]):
    """A question about distances between labelled points: how the points are opened, and in which norm they differ."""

    question = "separation"

    _: KW_ONLY
    norm: float | str = option("Norm of distances and balls: inf, 2, 1 or any p from 1 to 100.", "inf", kind=TEXT)
    label: str | None = option(
        "Column of a table that holds the classes. Default: label, class, target or y, else the last.",
        None,
        kind=TEXT,
        metavar="COLUMN",
    )
    scale: str | None = option(
        "What to do with features outside 0..1: rescale each, or leave them.", None, kind=TEXT, metavar="minmax|none"
    )
    resize: int | None = option(
        "Resize pictures so that the shorter side has this length.", None, kind=WHOLE, metavar="PIXELS"
    )
    crop: int | None = option("Then crop the central square of this size.", None, kind=WHOLE, metavar="PIXELS")
    drop_duplicates: bool = option(
        "Leave points that coincide with points of another class out of the separation.", False, kind=SWITCH
    )

    def options(self) -> dict[str, Any]:
        """The options as JSON; arrays and tables are named, not written out."""
        data, options = vars(self)["data"], super().options()  # each study declares its data, at a place of its own
        if self.norm == math.inf:
            options.pop("norm")
        if not isinstance(data, (str, os.PathLike)):
            options["data"] = {OBJECT: getattr(data, "name", "points")}
        return options


@study
class SeparationStudy(PointsStudy["Separation"]):
    """Find the smallest distance between points of different classes, exactly.

    Half of it is epsilon_min: balls of that radius around points of different classes do not overlap, so no noise
    within them excuses a mistake. The distances themselves are found by `scuff.metrics.class_separation` and siblings.

    >>> import numpy as np
    >>> separation((np.array([[0.0, 0.0], [0.1, 0.3], [1.0, 1.0]]), ["a", "b", "b"])).epsilon_min
    0.15
    """

    name = command = "separation"
    planner = "scuff.studies.separation.distances:plan_separation"
    reader = "scuff.studies.separation.distances:read_separation"
    resumes = has_cells = False

    data: Data = option(DATA, kind=TEXT, metavar="DATA", is_argument=True, resume="noted")
    out: str | os.PathLike[str] | None = option(
        "Folder for the results; existing results are reused.", None, kind=TEXT, metavar="DIR", resume="noted"
    )
    _: KW_ONLY
    per_class: bool = option(
        "Also find the separation of every pair of classes (pairs.csv).", False, kind=SWITCH, resume="noted"
    )
    per_point: bool = option(
        "Also find the nearest point of another class for each point (nearest.npz).",
        False,
        kind=SWITCH,
        resume="noted",
    )


@study
class MscrStudy(PointsStudy["RobustAccuracies"]):
    """Measure minimal separation corruption robustness: Algorithm 1 of the paper on class separation.

    Every model is trained, in several runs, on points that are moved at random within balls of several radii, and
    tested on points as they are and moved by several radii, epsilon_min among them. The accuracies that are returned
    become robustness by `scuff.metrics.mscr_scores`, and the paper's matrices by `scuff.metrics.accuracy_table`.
    """

    name = command = "mscr"
    planner = "scuff.studies.separation.plan:plan_mscr"
    reader = "scuff.studies.separation.results:read_mscr"
    noted = ("addresses",)

    models: Any = option(
        "random-forest, 1-nn, recipe:NAME, any scikit-learn classifier as in sklearn.svm:SVC, or a trained model. "
        "Repeat it for several.",
        kind=REPEATED,
        metavar="MODEL",
        flag="--model",
        resume="joins",
    )
    data: Data = option(DATA, kind=TEXT, metavar="DATA", resume="noted")
    out: str | os.PathLike[str] = option(
        "Folder for the study; existing results are reused.", kind=TEXT, metavar="DIR", resume="noted"
    )
    _: KW_ONLY
    train_noise: Noise = option(
        "Radii of training noise, as in 0,0.01,1x, where 1x is epsilon_min. Default: 0,0.25x,0.5x,1x,1.5x,2x.",
        None,
        kind=WORDS,
        metavar="RADII",
    )
    test_noise: Noise = option(
        "Radii of test noise. 0 and 1x are always tested. Default: as for training.", None, kind=WORDS, metavar="RADII"
    )
    copies: int | Sequence[int] = option(
        "Number of noisy points drawn around each point; several, as in 1,5,10, to compare.",
        10,
        kind=WHOLES,
        metavar="K",
    )
    runs: int | Sequence[int] | None = option(
        "Number of runs, or their seeds, as in 3,7. Default: 10, and 1 for trained models.",
        None,
        kind=SEEDS,
        metavar="N",
        resume="joins",
    )
    epsilon_min: float | None = option(
        "Half the separation, if it is known already.", None, kind=NUMBER, metavar="RADIUS"
    )
    quantile: float = option(
        "Take half of this quantile of the distances to the nearest point of another class as epsilon_min, instead of "
        "half the smallest.",
        0.0,
        kind=NUMBER,
        metavar="Q",
    )
    offsets: str = option(
        "independent: every point draws its own noise. shared: all points of a run are moved by the same offsets "
        "(scikit-learn models only).",
        "independent",
        kind=TEXT,
        metavar="independent|shared",
    )
    bounds: str | None = option(
        "What happens to noise that leaves [0, 1]. Default: none for vectors; for images truncate in L-infinity, clip "
        "in other norms.",
        None,
        kind=TEXT,
        metavar="none|clip|truncate",
    )
    keep_originals: bool = option(
        "Train on clean points as well as noisy ones (scikit-learn models only).", False, kind=SWITCH
    )
    test_share: float = option(
        "Share of points to test on, for data without a test split.", 0.2, kind=NUMBER, metavar="SHARE"
    )


separation = as_function(SeparationStudy)
mscr = as_function(MscrStudy)
