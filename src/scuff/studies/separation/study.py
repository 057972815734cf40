"""How far apart classes are, and how much accuracy noise within that distance costs (MSCR)."""

import difflib
import math
import os
from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Annotated, Any, Generic, Required, TypeAlias

from scuff.options import NUMBER, OBJECT, REPEATED, SEEDS, SWITCH, TEXT, WHOLES, WORDS, Option
from scuff.studies.base import R, Study, StudySettings, as_function, study
from scuff.vocabulary import Crop, MaybeOut, Out, Resize, SkipUnreadable

if TYPE_CHECKING:
    import pandas as pd

    from scuff.data import Points, Source
    from scuff.metrics.separation.classes import Separation  # noqa: F401  (of the base class)
    from scuff.metrics.separation.robust_accuracies import RobustAccuracies  # noqa: F401  (of the base class)

DATA = "FILE.csv, FILE.npz, or images: fashion, cifar10:DIR, folder:DIR, hf:DIR, ..."
LABEL = "Column of a table that holds the classes. Default: label, class, target or y, else the last."
SCALE = "What to do with features outside 0..1: rescale each, or leave them."
DROPPED = "Leave points that coincide with points of another class out of the separation."
PER_CLASS = "Also find the separation of every pair of classes (pairs.csv)."
PER_POINT = "Also find the nearest point of another class for each point (nearest.npz)."
MODELS = "random-forest, 1-nn, recipe:NAME, any scikit-learn classifier as in sklearn.svm:SVC, or a trained model. "
MODELS += "Repeat it for several."
TRAIN_NOISE = "Radii of training noise, as in 0,0.01,1x, where 1x is epsilon_min. Default: 0,0.25x,0.5x,1x,1.5x,2x."
TEST_NOISE = "Radii of test noise. 0 and 1x are always tested. Default: as for training."
COPIES = "Number of noisy points drawn around each point; several, as in 1,5,10, to compare."
RUNS = "Number of runs, or their seeds, as in 3,7. Default: 10, and 1 for trained models."
QUANTILE = "Take half of this quantile of the distances to the nearest point of another class as epsilon_min, instead "
QUANTILE += "of half the smallest."
OFFSETS = "independent: every point draws its own noise. shared: all points of a run are moved by the same offsets "
OFFSETS += "(scikit-learn models only)."
BOUNDS = "What happens to noise that leaves [0, 1]. Default: none for vectors; for images truncate in L-infinity, clip "
BOUNDS += "in other norms."
ORIGINALS = "Train on clean points as well as noisy ones (scikit-learn models only)."

Data: TypeAlias = "str | os.PathLike[str] | Source | Points | pd.DataFrame | tuple[Any, Any]"
Noise = Sequence[float | str] | None


class SeparationSettings(StudySettings, total=False):
    """The form of separation.json: the distance, and the pair of points that attains it."""

    norm: Required[str | float]
    distance: Required[float]
    epsilon_min: Required[float]
    rows: Required[list[int]]
    labels: Required[list[int]]
    points: Required[int]
    dropped: Required[list[int]]
    class_names: Required[list[str]]


class MscrSettings(StudySettings, total=False):
    """The form of mscr.json."""

    norm: Required[str | float]
    epsilon_min: Required[float]
    quantile: float | None
    models: dict[str, Any]
    addresses: dict[str, Any]
    runs: list[int]


@study
class PointsStudy(Study[R], Generic[R]):
    """A question about distances between labelled points: how the points are opened, and in which norm they differ."""

    question = "separation"

    _: KW_ONLY
    norm: Annotated[float | str, Option("Norm of distances and balls: inf, 2, 1 or any p from 1 to 100.", TEXT)] = "inf"
    label: Annotated[str | None, Option(LABEL, TEXT, "COLUMN")] = None
    scale: Annotated[str | None, Option(SCALE, TEXT, "minmax|none")] = None
    skip_unreadable: SkipUnreadable = False
    resize: Resize = None
    crop: Crop = None
    drop_duplicates: Annotated[bool, Option(DROPPED, SWITCH)] = False

    def options(self) -> dict[str, Any]:
        """The options as JSON; arrays and tables are named, not written out."""
        data, options = vars(self)["data"], super().options()  # each study declares its data, at a place of its own
        if self.norm == math.inf:
            options.pop("norm")
        if not isinstance(data, (str, os.PathLike)):
            options["data"] = {OBJECT: getattr(data, "name", "points")}
        return options


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
    form = MscrSettings
    noted = ("addresses",)

    models: Annotated[Any, Option(MODELS, REPEATED, "MODEL", flag="--model", resume="joins")]
    data: Annotated[Data, Option(DATA, TEXT, "DATA", resume="noted")]
    out: Out
    _: KW_ONLY
    train_noise: Annotated[Noise, Option(TRAIN_NOISE, WORDS, "RADII")] = None
    test_noise: Annotated[Noise, Option(TEST_NOISE, WORDS, "RADII")] = None
    copies: Annotated[int | Sequence[int], Option(COPIES, WHOLES, "K")] = 10
    runs: Annotated[int | Sequence[int] | None, Option(RUNS, SEEDS, "N", resume="joins")] = None
    epsilon_min: Annotated[float | None, Option("Half the separation, if it is known already.", NUMBER, "RADIUS")] = (
        None
    )
    quantile: Annotated[float, Option(QUANTILE, NUMBER, "Q")] = 0.0
    offsets: Annotated[str, Option(OFFSETS, TEXT, "independent|shared")] = "independent"
    bounds: Annotated[str | None, Option(BOUNDS, TEXT, "none|clip|truncate")] = None
    keep_originals: Annotated[bool, Option(ORIGINALS, SWITCH)] = False
    test_share: Annotated[
        float, Option("Share of points to test on, for data without a test split.", NUMBER, "SHARE")
    ] = 0.2


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
    form = SeparationSettings
    resumes = has_cells = False

    data: Annotated[Data, Option(DATA, TEXT, "DATA", is_argument=True, resume="noted")]
    out: MaybeOut = None
    _: KW_ONLY
    per_class: Annotated[bool, Option(PER_CLASS, SWITCH, resume="noted")] = False
    per_point: Annotated[bool, Option(PER_POINT, SWITCH, resume="noted")] = False


mscr = as_function(MscrStudy)
separation = as_function(SeparationStudy)


# --- the experiments of the paper, as options of a study of MSCR ------------------------------------------------------

_PLANE = (0, 0.001, 0.002, "1x", 0.007, 0.01, 0.015, 0.02, 0.03)
_CIFAR = (0, 0.01, 0.02, 0.03, 0.05, 0.07, "1x", 0.15)
_FINE = (0, 0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.09, 0.1, "1x", 0.125, 0.15, 0.175, 0.2)

PROTOCOLS: dict[str, dict[str, Any]] = {
    # Table 2 and figure 5: data in two dimensions
    "paper-2d": {"models": ["random-forest", "1-nn"], "train_noise": _PLANE, "test_noise": _PLANE}
    | {"copies": 10, "runs": 1200, "offsets": "shared"},
    # Figure 4: the effect of the number of copies; its caption has a radius of 0.001, the notebook epsilon_min
    "paper-copies": {"models": ["random-forest"], "train_noise": ("1x",), "test_noise": ("1x",)}
    | {"copies": (1, 2, 3, 5, 8, 10, 15, 20, 30, 40, 50), "runs": 300, "offsets": "shared"},
    # Table 3 and figure 7: CIFAR-10
    "paper-cifar10": {"models": ["recipe:cifar-separation"], "train_noise": _CIFAR, "test_noise": _FINE}
    | {"copies": 1, "runs": 20},
}


def find_protocol(name: str) -> dict[str, Any]:
    """The arguments of an experiment by its name."""
    if name not in PROTOCOLS:
        near = difflib.get_close_matches(name, PROTOCOLS, n=1, cutoff=0.4)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(PROTOCOLS)}"
        raise ValueError(f"no protocol is called {name!r}; {hint}")
    return dict(PROTOCOLS[name])
