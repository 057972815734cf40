"""Plan a study of MSCR: what it trains and tests, checked before anything but the separation is computed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from itertools import product
from numbers import Integral
from typing import Any

import numpy as np
import torch

from scuff.balls import BOUNDS
from scuff.data import Points
from scuff.metrics.norms import norm_name, parse_norm
from scuff.metrics.separation.robust_accuracies import RobustAccuracies
from scuff.models.open import default_name
from scuff.options import OBJECT
from scuff.ranges import is_number
from scuff.store import Store
from scuff.studies.base import Plan, check_folder, complete_settings, open_engine_of
from scuff.studies.separation.cells import MscrCell, Protocol
from scuff.studies.separation.distances import SeparationWork, open_study_points
from scuff.studies.separation.models import Estimator, open_contenders
from scuff.studies.separation.study import MscrStudy, Noise, PointsStudy, SeparationStudy
from scuff.studies.separation.work import MscrWork
from scuff.studies.sources import left_out_of

OFFSETS = ("independent", "shared")
MULTIPLE = "x"  # 0.5x is half of epsilon_min
DEFAULT_NOISE = ("0", "0.25x", "0.5x", "1x", "1.5x", "2x")
DEFAULT_RUNS = 10
MOST_COPIES = 65535  # cells count copies in 16 bits
QUICK = 1 << 36  # differences of coordinates that take seconds; up to here all distances are found, for the report


def plan_mscr(study: MscrStudy) -> Plan[RobustAccuracies]:
    """Open models and points, check them, find epsilon_min, and list the trainings."""
    store, norm = Store(study.out), parse_norm(study.norm)
    engine, device = open_engine_of(study)
    contenders, points = open_contenders(study.models), open_study_points(study)
    bounds = _choose_bounds(study.bounds, norm, points.x.dtype == np.uint8)
    noise = (norm, bounds, study.offsets == "shared", study.keep_originals)
    protocol = Protocol(store, points, contenders, *noise, study.test_share, str(device))
    are_given = protocol.are_given
    _check_options(study, protocol)
    copies = sorted(_whole_numbers([study.copies] if isinstance(study.copies, Integral) else study.copies))
    if not copies or not all(1 <= k <= MOST_COPIES for k in copies) or len(set(copies)) < len(copies):
        raise ValueError(
            f"copies must be whole numbers of at least 1 and at most {MOST_COPIES}, each of them once, got "
            f"{study.copies!r}"
        )
    runs = _choose_runs(study.runs, are_given)
    _check_split(protocol)
    epsilon_min = _find_epsilon(study, points, device)
    train_noise = (0.0,) if are_given else read_noise(study.train_noise, epsilon_min, "train_noise")
    test_noise = tuple(sorted({*read_noise(study.test_noise, epsilon_min, "test_noise"), 0.0, epsilon_min}))
    settings = {
        "data": study.data if isinstance(study.data, str) else points.name,
        "data_fingerprint": points.fingerprint(),
        "models": {name: contender.describe() for name, contender in contenders.items()},
        "norm": "inf" if math.isinf(norm) else norm,
        "addresses": {name: contender.address for name, contender in contenders.items()},
        "are_given": are_given,
        "epsilon_min": epsilon_min,
        "epsilon_given": study.epsilon_min is not None,
        "quantile": study.quantile,
        "train_noise": list(train_noise),
        "test_noise": list(test_noise),
        "copies": copies,
        "runs": runs,
        "bounds": bounds,
        "offsets": study.offsets,
        "keep_originals": study.keep_originals,
        "test_share": None if points.is_test is not None else 1.0 if are_given else study.test_share,
        **{name: getattr(study, name) for name in ("label", "scale", "resize", "crop", "drop_duplicates")},
        **left_out_of(points),
    }
    settings = complete_settings(study, settings, device)
    before = check_folder(study, store, settings)
    if before is not None:
        _join(settings, before)
    words = [  # models as the command takes them, with their names where these do not follow from the addresses
        {OBJECT: name} if address is None else address if default_name(address) == name else f"{name}={address}"
        for name, address in settings["addresses"].items()
    ]
    settings["options"] |= {"models": words, "runs": settings["runs"]}
    order = product(runs, contenders, copies, train_noise)
    cells = [MscrCell(model, k, radius, run) for run, model, k, radius in order]
    return Plan(study, settings, MscrWork(settings, replace(protocol, test_noise=test_noise), cells), store, engine)


def _check_options(study: MscrStudy, protocol: Protocol) -> None:
    """Refuse models that do not suit the points, and options that do not suit the models."""
    points, are_given = protocol.points, protocol.are_given
    are_estimators = all(isinstance(contender, Estimator) for contender in protocol.contenders.values())
    if points.x.dtype != np.uint8 and not are_estimators:
        raise ValueError(
            f"networks classify images of bytes (uint8); {points.name} holds {points.x.dtype} of shape "
            f"{points.x.shape[1:]}: use an estimator of scikit-learn"
        )
    if points.classes is not None and not are_given:
        raise ValueError(f"{points.name} stands for some outputs of a model of ImageNet; train on data of its own")
    if study.offsets not in OFFSETS:
        raise ValueError(f"offsets must be one of {', '.join(OFFSETS)}, got {study.offsets!r}")
    if (study.offsets == "shared" or study.keep_originals) and not are_estimators:
        raise ValueError(
            "shared offsets and kept originals are for estimators: a network draws fresh noise in every epoch, and a "
            "model that is trained already learns nothing"
        )
    if not is_number(study.test_share) or not 0 < study.test_share < 1:
        raise ValueError(f"test_share must be between 0 and 1, got {study.test_share!r}")
    if are_given and study.train_noise is not None:
        raise ValueError("train_noise is for models that are trained here; these are trained already")


def _check_split(protocol: Protocol) -> None:
    """Refuse data of which too little is left to train or to test with."""
    points, share = protocol.points, protocol.test_share
    try:
        train, test = protocol.split(0)
    except ValueError as error:
        raise ValueError(f"{len(points)} points cannot be split by a test_share of {share}: {error}") from error
    if not len(test):
        raise ValueError(f"{points.name} has no test points")
    for name, contender in ({} if protocol.are_given else protocol.contenders).items():
        if len(train) < contender.fewest_points:
            raise ValueError(
                f"{name} looks at {contender.fewest_points} neighbours, but only {len(train)} points are left for "
                "training"
            )
    if len(train) and len(np.unique(points.labels[train])) < 2:
        raise ValueError(
            f"{len(train)} of {len(points)} points are left for training, all of one class; take more points"
        )


def _find_epsilon(study: MscrStudy, points: Points, device: torch.device) -> float:
    """The radius that was given; else half the separation of the classes, or half a quantile of all distances."""
    if study.epsilon_min is not None:
        if not is_number(study.epsilon_min) or study.epsilon_min <= 0:
            raise ValueError(f"epsilon_min must be a number above 0, got {study.epsilon_min!r}")
        if study.quantile:
            raise ValueError("give epsilon_min, or the quantile to measure it by, not both")
    elif not is_number(study.quantile) or not 0 <= study.quantile < 1:
        raise ValueError(f"quantile must be at least 0 and below 1, got {study.quantile!r}")
    here = device if torch.cuda.is_available() else torch.device("cpu")  # the GPUs may be a cluster's
    is_quick = here.type == "cuda" or points.x.size * len(points) <= QUICK
    shared: dict[str, Any] = {field.name: getattr(study, field.name) for field in fields(PointsStudy)}
    shared |= {"per_class": is_quick, "per_point": is_quick or study.quantile > 0}
    work = SeparationWork(SeparationStudy(study.data, study.out, **shared), points, here)
    work.check_folder()
    if study.epsilon_min is not None:
        return float(study.epsilon_min)
    work.measure(study.progress)
    if study.quantile:
        assert work.neighbours is not None
        return work.neighbours.quantile(study.quantile) / 2
    return work.collect().epsilon_min


def read_noise(noise: Noise | str | float, epsilon_min: float, what: str) -> tuple[float, ...]:
    """Radii, ascending; "0.5x" is half of epsilon_min.

    >>> read_noise(["0", "0.5x", 0.03], 0.01, "train_noise")
    (0.0, 0.005, 0.03)
    """
    if noise is None:
        noise = DEFAULT_NOISE
    words: Any = noise.split(",") if isinstance(noise, str) else [noise] if is_number(noise) else noise
    radii = []
    for word in words:
        is_multiple = isinstance(word, str) and word.strip().endswith(MULTIPLE)
        try:
            radius = float(word.strip().removesuffix(MULTIPLE) if isinstance(word, str) else word)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"{what} takes radii, as 0.01, and multiples of epsilon_min, as 0.5x; got {word!r}"
            ) from error
        if not math.isfinite(radius) or radius < 0:
            raise ValueError(f"{what} takes radii of at least 0, got {word!r}")
        radii.append(radius * epsilon_min if is_multiple else radius)
    if not radii or len(set(radii)) < len(radii):
        raise ValueError(f"{what} needs at least one radius, each of them once, got {noise!r}")
    return tuple(sorted(radii))


def _choose_runs(runs: int | Sequence[int] | None, are_given: bool) -> list[int]:
    """Seeds. A model that is trained already has no randomness but that of the noise, which images average out."""
    if runs is None:
        runs = 1 if are_given else DEFAULT_RUNS
    numbers = list(range(runs)) if isinstance(runs, Integral) else _whole_numbers(runs)
    if not numbers or len(set(numbers)) < len(numbers) or min(numbers) < 0:
        raise ValueError(f"expected at least one run, or different whole numbers as their seeds, got {runs!r}")
    return numbers


def _whole_numbers(numbers: Any) -> list[int]:
    if not all(isinstance(number, Integral) for number in numbers):
        raise ValueError(f"expected whole numbers, got {numbers!r}")
    return [int(number) for number in numbers]


def _choose_bounds(bounds: str | None, norm: float, is_image: bool) -> str:
    """What happens at the ends of [0, 1], by default as in the paper: no pixel leaves it, and vectors may."""
    if bounds is None:
        return ("truncate" if norm == math.inf else "clip") if is_image else "none"
    if bounds not in BOUNDS:
        raise ValueError(f"bounds must be one of {', '.join(BOUNDS)}, got {bounds!r}")
    if bounds == "truncate" and norm != math.inf:
        raise ValueError(f"a ball of {norm_name(norm)} cannot be truncated to [0, 1]; use bounds 'clip' or 'none'")
    return bounds


def _join(settings: dict[str, Any], before: Mapping[str, Any]) -> None:
    """Let models and runs join those of the folder. A model of the same name must be the same model."""
    for name, description in before.get("models", {}).items():
        if settings["models"].get(name, description) != description:
            raise ValueError(f"the model {name} of this study was another one; give this one another name")
    for key in ("models", "addresses"):
        settings[key] = {**before.get(key, {}), **settings[key]}
    settings["runs"] = sorted({*before.get("runs", ()), *settings["runs"]})
