"""What a study of MSCR will train and test, found out before anything is computed."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import torch

import scuff
from scuff.balls import BOUNDS
from scuff.data import Points, open_points
from scuff.engine import Engine, LocalEngine, Progress
from scuff.environment import environment
from scuff.metrics.norms import norm_name, parse_norm
from scuff.ranges import is_number
from scuff.store import Store, check_settings, read_settings
from scuff.studies.separation.cells import MscrCell, Protocol, split_rows
from scuff.studies.separation.distances import check_folder, measure_separation
from scuff.studies.separation.models import Contender, Estimator, Given, count_neighbours, open_contenders
from scuff.studies.separation.results import SETTINGS

# Data may move, and models and runs may join.
NOTED_ONLY = ("data", "models", "addresses", "runs", "device", "environment", "scuff")
OFFSETS = ("independent", "shared")
TIMES = "x"  # 0.5x is half of epsilon_min
DEFAULT_NOISE = ("0", "0.25x", "0.5x", "1x", "1.5x", "2x")
RUNS, COPIES, TEST_SHARE = 10, 10, 0.2
MOST_COPIES = 65535  # which is as far as cells count
QUICK = 1 << 36  # differences of coordinates: so many take seconds, and show how all points are separated

Noise = Sequence[float | str] | None


@dataclass(frozen=True)
class MscrPlan:
    """A study that is ready to run: its cells, what they share, and what all of it depends on."""

    settings: dict[str, Any]
    protocol: Protocol
    cells: list[MscrCell]
    engine: Engine

    @property
    def store(self) -> Store:
        """The folder of the study."""
        return self.protocol.store

    def missing(self) -> list[MscrCell]:
        """The cells that are not computed yet."""
        there = set(self.store.names("cells", ".npz"))
        return [cell for cell in self.cells if cell.file not in there]


def plan_mscr(
    models: Any,
    data: Any,
    out: str | os.PathLike[str],
    *,
    train_noise: Noise = None,
    test_noise: Noise = None,
    copies: int | Sequence[int] = COPIES,
    runs: int | Sequence[int] | None = None,
    norm: float | str = "inf",
    epsilon_min: float | None = None,
    quantile: float = 0.0,
    bounds: str | None = None,
    offsets: str = "independent",
    keep_originals: bool = False,
    test_share: float = TEST_SHARE,
    label: str | None = None,
    scale: str | None = None,
    resize: int | None = None,
    crop: int | None = None,
    drop_duplicates: bool = False,
    device: str | torch.device | None = None,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> MscrPlan:
    """Plan a study, for which only the separation of the classes is computed; the arguments are those of `mscr`."""
    store = Store(out)
    engine, norm = engine or LocalEngine(), parse_norm(norm)
    device = engine.find_device(device)
    contenders = open_contenders(models)
    are_given = all(isinstance(one, Given) for one in contenders.values())
    points = _open(data, label=label, scale=scale, resize=resize, crop=crop)
    is_image = points.x.dtype == np.uint8
    if not is_image and not all(isinstance(one, Estimator) for one in contenders.values()):
        raise ValueError(
            f"networks classify images of bytes (uint8); {points.name} holds {points.x.dtype} of shape "
            f"{points.x.shape[1:]}: use an estimator of scikit-learn"
        )
    if points.classes is not None and not are_given:
        raise ValueError(f"{points.name} stands for some outputs of a model of ImageNet; train on data of its own")
    copies, runs = _choose_copies(copies), _choose_runs(runs, are_given)
    bounds = _choose_bounds(bounds, norm, is_image)
    if offsets not in OFFSETS:
        raise ValueError(f"offsets must be one of {', '.join(OFFSETS)}, got {offsets!r}")
    if (offsets == "shared" or keep_originals) and not all(isinstance(one, Estimator) for one in contenders.values()):
        raise ValueError(
            "shared offsets and kept originals are for estimators: a network draws fresh noise in every epoch, and a "
            "model that is trained already learns nothing"
        )
    if not is_number(test_share) or not 0 < test_share < 1:
        raise ValueError(f"test_share must be between 0 and 1, got {test_share!r}")
    _check_split(points, contenders, test_share)
    if are_given and train_noise is not None:
        raise ValueError("train_noise is for models that are trained here; these are trained already")
    is_measured = epsilon_min is None
    if is_measured:
        here = device if torch.cuda.is_available() else torch.device("cpu")  # the GPUs may be a cluster's
        epsilon_min = _measure_epsilon(points, out, norm, quantile, drop_duplicates, here, progress)
    elif not is_number(epsilon_min) or epsilon_min <= 0:
        raise ValueError(f"epsilon_min must be a number above 0, got {epsilon_min!r}")
    elif quantile:
        raise ValueError("give epsilon_min, or the quantile to measure it by, not both")
    else:
        check_folder(out, points, norm, drop_duplicates)
    train_noise = (0.0,) if are_given else read_noise(train_noise, epsilon_min, "train_noise")
    test_noise = read_noise(test_noise, epsilon_min, "test_noise")
    test_noise = tuple(sorted({*test_noise, 0.0, float(epsilon_min)}))
    settings = {
        "data": data if isinstance(data, str) else points.name,
        "data_fingerprint": points.fingerprint(),
        "models": {name: one.describe() for name, one in contenders.items()},
        "norm": "inf" if math.isinf(norm) else norm,
        "addresses": {name: one.address for name, one in contenders.items()},
        "are_given": are_given,
        "epsilon_min": float(epsilon_min),
        "epsilon_given": not is_measured,
        "quantile": quantile,
        "train_noise": list(train_noise),
        "test_noise": list(test_noise),
        "copies": list(copies),
        "runs": list(runs),
        "bounds": bounds,
        "offsets": offsets,
        "keep_originals": keep_originals,
        "test_share": None if points.is_test is not None else 1.0 if are_given else test_share,
        "label": label,
        "scale": scale,
        "resize": resize,
        "crop": crop,
        "drop_duplicates": drop_duplicates,
        "device": str(device),
        "environment": environment(device),
        "scuff": scuff.__version__,
    }
    protocol = Protocol(
        store,
        points,
        contenders,
        test_noise,
        norm,
        bounds,
        offsets == "shared",
        keep_originals,
        test_share,
        str(device),
    )
    if check_settings(store, SETTINGS, settings, NOTED_ONLY):
        _join(settings, read_settings(store, SETTINGS))
    cells = [
        MscrCell(model, k, radius, run)
        for run in runs
        for model in contenders
        for k in copies
        for radius in train_noise
    ]
    return MscrPlan(settings, protocol, cells, engine)


def _open(data: Any, **options: Any) -> Points:
    """The points; options are for those that are not opened yet."""
    if not isinstance(data, Points):
        return open_points(data, **options)
    if any(value is not None for value in options.values()):
        raise ValueError(f"{', '.join(options)} are for data that are not opened yet; {data.name} is")
    return data


def _measure_epsilon(
    points: Points,
    out: str | os.PathLike[str],
    norm: float,
    quantile: float,
    drop_duplicates: bool,
    device: torch.device,
    progress: Progress | None,
) -> float:
    """Half the separation of the classes, or half a quantile of the distances to the nearest point of another class."""
    if not is_number(quantile) or not 0 <= quantile < 1:
        raise ValueError(f"quantile must be at least 0 and below 1, got {quantile!r}")
    is_quick = device.type == "cuda" or points.x.size * len(points) <= QUICK
    found = measure_separation(
        points,
        out,
        norm=norm,
        drop_duplicates=drop_duplicates,
        per_class=is_quick,
        per_point=is_quick or quantile > 0,
        device=device,
        progress=progress,
    )
    return found.neighbours.quantile(quantile) / 2 if quantile else found.separation.epsilon_min


def read_noise(noise: Noise, epsilon_min: float, what: str) -> tuple[float, ...]:
    """Radii, ascending; "0.5x" is half of epsilon_min.

    >>> read_noise(["0", "0.5x", 0.03], 0.01, "train_noise")
    (0.0, 0.005, 0.03)
    """
    noise = noise.split(",") if isinstance(noise, str) else [noise] if is_number(noise) else noise
    radii = []
    for word in DEFAULT_NOISE if noise is None else noise:
        try:
            is_multiple = isinstance(word, str) and word.strip().endswith(TIMES)
            radius = float(word.strip().removesuffix(TIMES)) if isinstance(word, str) else float(word)
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
    numbers = _whole_numbers((copies,) if isinstance(copies, Integral) else copies)
    good = all(1 <= k <= MOST_COPIES for k in numbers)
    if not numbers or not good or len(set(numbers)) < len(numbers):
        raise ValueError(
            f"copies must be whole numbers of at least 1 and at most {MOST_COPIES}, each of them once, got {copies!r}"
        )
    return tuple(sorted(numbers))


def _choose_runs(runs: int | Sequence[int] | None, are_given: bool) -> list[int]:
    """Seeds. A model that is there already has no randomness but that of the noise, which images average out."""
    if runs is None:
        runs = 1 if are_given else RUNS
    numbers = list(range(runs)) if isinstance(runs, Integral) else _whole_numbers(runs)
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


def _join(settings: dict[str, Any], before: dict[str, Any]) -> None:
    """Let models and runs join those that are there. A model that is there must be what it was."""
    for name, description in before["models"].items():
        if settings["models"].get(name, description) != description:
            raise ValueError(f"the model {name} of this study was another one; give this one another name")
    for key in ("models", "addresses"):
        settings[key] = {**before[key], **settings[key]}
    settings["runs"] = sorted({*before["runs"], *settings["runs"]})
