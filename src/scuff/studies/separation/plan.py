"""Plan a study of MSCR: what it trains and tests, checked before anything but the separation is computed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
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
from scuff.studies.separation.cells import MscrCell, Protocol, split_rows
from scuff.studies.separation.distances import SeparationWork, open_study_points
from scuff.studies.separation.models import Contender, Estimator, Given, count_neighbours, open_contenders
from scuff.studies.separation.study import MscrStudy, Noise, PointsStudy, SeparationStudy
from scuff.studies.separation.work import MscrWork

OFFSETS = ("independent", "shared")
MULTIPLE = "x"  # 0.5x is half of epsilon_min
DEFAULT_NOISE = ("0", "0.25x", "0.5x", "1x", "1.5x", "2x")
DEFAULT_RUNS = 10
MOST_COPIES = 65535  # cells count copies in 16 bits
QUICK = 1 << 36  # differences of coordinates that take seconds; up to here all distances are found, for the report


def plan_mscr(study: MscrStudy) -> Plan[RobustAccuracies]:
    """Open models and points, check them, find epsilon_min, and list the trainings."""
    store = Store(study.out)
    norm = parse_norm(study.norm)
    engine, device = open_engine_of(study)
    contenders = open_contenders(study.models)
    are_given = all(isinstance(contender, Given) for contender in contenders.values())
    points = open_study_points(study)
    is_image = points.x.dtype == np.uint8
    _check_models(study, contenders, points)
    copies, runs = _choose_copies(study.copies), _choose_runs(study.runs, are_given)
    bounds = _choose_bounds(study.bounds, norm, is_image)
    _check_split(points, contenders, study.test_share)
    epsilon_min = _find_epsilon(study, points, device)
    train_noise = (0.0,) if are_given else read_noise(study.train_noise, epsilon_min, "train_noise")
    test_noise = read_noise(study.test_noise, epsilon_min, "test_noise")
    test_noise = tuple(sorted({*test_noise, 0.0, epsilon_min}))
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
        "copies": list(copies),
        "runs": runs,
        "bounds": bounds,
        "offsets": study.offsets,
        "keep_originals": study.keep_originals,
        "test_share": None if points.is_test is not None else 1.0 if are_given else study.test_share,
        **{name: getattr(study, name) for name in ("label", "scale", "resize", "crop", "drop_duplicates")},
    }
    settings = complete_settings(study, settings, device)
    before = check_folder(study, store, settings)
    if before is not None:
        _join(settings, before)
    settings["options"] |= {"models": _model_words(settings["addresses"]), "runs": settings["runs"]}
    noise = (test_noise, norm, bounds, study.offsets == "shared", study.keep_originals)
    protocol = Protocol(store, points, contenders, *noise, study.test_share, str(device))
    order = product(runs, contenders, copies, train_noise)
    cells = [MscrCell(model, k, radius, run) for run, model, k, radius in order]
    return Plan(study, settings, MscrWork(settings, protocol, cells), store, engine)


def _check_models(study: MscrStudy, contenders: Mapping[str, Contender], points: Points) -> None:
    """Refuse models that do not suit the points, and options that do not suit the models."""
    are_estimators = all(isinstance(contender, Estimator) for contender in contenders.values())
    are_given = all(isinstance(contender, Given) for contender in contenders.values())
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
    asked = {"per_class": is_quick, "per_point": is_quick or study.quantile > 0}
    shared = {field.name: getattr(study, field.name) for field in fields(PointsStudy)}
    work = SeparationWork(SeparationStudy(study.data, study.out, **shared, **asked), points, here)  # type: ignore[arg-type]
    work.check_folder()
    if study.epsilon_min is not None:
        return float(study.epsilon_min)
    work.measure(study.progress)
    return work.neighbours.quantile(study.quantile) / 2 if study.quantile else work.separation.epsilon_min


def read_noise(noise: Noise, epsilon_min: float, what: str) -> tuple[float, ...]:
    """Radii, ascending; "0.5x" is half of epsilon_min.

    >>> read_noise(["0", "0.5x", 0.03], 0.01, "train_noise")
    (0.0, 0.005, 0.03)
    """
    noise = noise.split(",") if isinstance(noise, str) else [noise] if is_number(noise) else noise  # type: ignore[list-item]
    radii = []
    for word in DEFAULT_NOISE if noise is None else noise:
        try:
            is_multiple = isinstance(word, str) and word.strip().endswith(MULTIPLE)
            radius = float(word.strip().removesuffix(MULTIPLE)) if isinstance(word, str) else float(word)
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


def _choose_copies(copies: int | Sequence[int]) -> tuple[int, ...]:
    numbers = _whole_numbers((copies,) if isinstance(copies, Integral) else copies)  # type: ignore[arg-type]
    good = all(1 <= k <= MOST_COPIES for k in numbers)
    if not numbers or not good or len(set(numbers)) < len(numbers):
        raise ValueError(
            f"copies must be whole numbers of at least 1 and at most {MOST_COPIES}, each of them once, got {copies!r}"
        )
    return tuple(sorted(numbers))


def _choose_runs(runs: int | Sequence[int] | None, are_given: bool) -> list[int]:
    """Seeds. A model that is trained already has no randomness but that of the noise, which images average out."""
    if runs is None:
        runs = 1 if are_given else DEFAULT_RUNS
    numbers = list(range(runs)) if isinstance(runs, Integral) else _whole_numbers(runs)  # type: ignore[arg-type]
    if not numbers or len(set(numbers)) < len(numbers) or min(numbers) < 0:
        raise ValueError(f"expected at least one run, or different whole numbers as their seeds, got {runs!r}")
    return numbers


def _whole_numbers(numbers: Sequence[int]) -> list[int]:
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


def _check_split(points: Points, contenders: Mapping[str, Contender], test_share: float) -> None:
    """Refuse data of which too little is left to train or to test with."""
    try:
        train, test = split_rows(points, contenders, test_share, 0)
    except ValueError as error:
        raise ValueError(f"{len(points)} points cannot be split by a test_share of {test_share}: {error}") from error
    if not len(test):
        raise ValueError(f"{points.name} has no test points")
    for name, contender in contenders.items():
        needed = count_neighbours(contender)
        if not isinstance(contender, Given) and len(train) < needed:
            raise ValueError(f"{name} looks at {needed} neighbours, but only {len(train)} points are left for training")
    if len(train) and len(np.unique(points.labels[train])) < 2:
        raise ValueError(
            f"{len(train)} of {len(points)} points are left for training, all of one class; take more points"
        )


def _join(settings: dict[str, Any], before: Mapping[str, Any]) -> None:
    """Let models and runs join those of the folder. A model of the same name must be the same model."""
    for name, description in before["models"].items():
        if settings["models"].get(name, description) != description:
            raise ValueError(f"the model {name} of this study was another one; give this one another name")
    for key in ("models", "addresses"):
        settings[key] = {**before[key], **settings[key]}
    settings["runs"] = sorted({*before["runs"], *settings["runs"]})


def _model_words(addresses: Mapping[str, str | None]) -> list[Any]:
    """Models as the command takes them, with their names where these do not follow from the addresses."""
    return [
        {OBJECT: name} if address is None else address if default_name(address) == name else f"{name}={address}"
        for name, address in addresses.items()
    ]
