"""The cells of a study of MSCR: one model, trained with one noise in one run, tested with every noise.

A cell leaves one file: for every radius of test noise and every test point, how many of its noisy copies were
recognised.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np
import torch

from scuff.balls import sample_ball
from scuff.data import Points, Source, array_source, load_pixels
from scuff.evaluation.clock import Clock
from scuff.evaluation.predict import BatchLimit
from scuff.evaluation.runner import suitable_batch
from scuff.models import Classifier, open_model
from scuff.store import Store
from scuff.studies.calibration.bench import Bench
from scuff.studies.separation.models import Contender, Estimator, Given, Network
from scuff.training.images import TrainingImages, load_training_images
from scuff.training.run import train_on
from scuff.training.treatment import Noise

Advance = Callable[[int, int], None]  # steps done, steps to do


@dataclass(frozen=True, eq=False)
class Protocol:
    """What all cells of a study have in common: the points, and how noise is drawn and trained with."""

    store: Store
    points: Points = field(repr=False)
    contenders: dict[str, Contender] = field(repr=False)
    test_noise: tuple[float, ...]
    norm: float
    bounds: str
    shares_offsets: bool
    keeps_originals: bool
    test_share: float
    device: str

    def split(self, run: int) -> tuple[np.ndarray, np.ndarray]:
        """Rows to train and to test on in a run."""
        return split_rows(self.points, self.contenders, self.test_share, run)

    def uses_gpu(self, cell: MscrCell) -> bool:
        """Whether a cell computes on a GPU: estimators never do."""
        return self.device.startswith("cuda") and not isinstance(self.contenders[cell.model], Estimator)


@dataclass(frozen=True)
class MscrCell:
    """One training and its tests."""

    model: str
    copies: int
    train_noise: float
    run: int

    @property
    def file(self) -> str:
        """Its result, in the folder of the study."""
        return f"cells/{self.model}/copies-{self.copies}/train-{self.train_noise!r}/run-{self.run}.npz"

    @property
    def weights(self) -> str:
        """Weights of a network: it trains on a fresh copy of an image in every epoch, however many are tested."""
        return f"models/{self.model}/train-{self.train_noise!r}/run-{self.run}.safetensors"


def run_cell(protocol: Protocol, cell: MscrCell, advance: Advance | None = None) -> None:
    """Train, test, and write how many copies of each test point were recognised: (test noise, points)."""
    contender = protocol.contenders[cell.model]
    train, test = protocol.split(cell.run)
    if isinstance(contender, Estimator):
        right = right_by_estimator(protocol, cell, fit_estimator(protocol, cell, contender, train), test)
    elif isinstance(contender, Network):
        right = right_by_network(protocol, cell, _train(protocol, cell, contender, advance), test)
    else:
        right = right_by_network(protocol, cell, contender.classifier.on(protocol.device), test)
    protocol.store.write(cell.file, pack_result(right, test))


def pack_result(right: np.ndarray, rows: np.ndarray) -> bytes:
    """The file of a cell: how many copies were recognised (test noise, points), and which points these are."""
    file = io.BytesIO()
    np.savez_compressed(file, right=right.astype(np.uint16), rows=rows)
    return file.getvalue()


def forget() -> None:
    """Free what was kept for the next cell, such as images on the device."""
    _training_images.cache_clear()
    _vectors.cache_clear()


def split_rows(
    points: Points, contenders: Mapping[str, Contender], test_share: float, run: int
) -> tuple[np.ndarray, np.ndarray]:
    """Rows to train and to test on: the split of the data if they have one, else one drawn for every run.

    Models that are trained already are tested on all rows of data that come without a split.
    """
    rows = np.arange(len(points))
    if points.is_test is not None:
        return rows[~points.is_test], rows[points.is_test]
    if all(isinstance(contender, Given) for contender in contenders.values()):
        return rows[:0], rows
    from sklearn.model_selection import train_test_split

    return tuple(train_test_split(rows, test_size=test_share, random_state=run))


# --- noise ------------------------------------------------------------------------------------------------------------


def noisy_copies(
    protocol: Protocol, x: np.ndarray, rows: np.ndarray, radius: float, cell: MscrCell, is_training: bool
) -> np.ndarray:
    """All copies of points (n, d) one after the other: (copies * n, d).

    Training and test points draw from different seeds, and every point draws its own offsets; or, as in the
    paper's code, all points of a run share the same few offsets, in training and testing.
    """
    ids = torch.from_numpy(np.zeros_like(rows) if protocol.shares_offsets else rows)
    seed = _training_seed(cell.run) if is_training and not protocol.shares_offsets else cell.run
    centres = torch.from_numpy(x)
    drawn = [
        sample_ball(centres, ids, radius, protocol.norm, copy=copy, seed=seed, bounds=protocol.bounds)
        for copy in range(cell.copies)
    ]
    return torch.cat(drawn).numpy()


def _training_seed(run: int) -> int:
    digest = hashlib.blake2b(f"mscr training|{run}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


# --- estimators -------------------------------------------------------------------------------------------------------


def fit_estimator(protocol: Protocol, cell: MscrCell, contender: Estimator, rows: np.ndarray) -> Any:
    """The estimator, fitted to noisy copies of the training points; without noise, to the points themselves."""
    x, labels = _vectors(protocol.points)[rows], protocol.points.labels[rows]
    if cell.train_noise:
        noisy = noisy_copies(protocol, x, rows, cell.train_noise, cell, is_training=True)
        parts = [x, noisy] if protocol.keeps_originals else [noisy]
        labels = np.tile(labels, cell.copies + (1 if protocol.keeps_originals else 0))
        x = np.concatenate(parts)
    estimator = contender.make(cell.run)
    try:
        estimator.fit(x, labels)
    except ValueError as error:
        raise ValueError(f"{cell.model} cannot be fitted to these points: {error}") from error
    return estimator


def right_by_estimator(protocol: Protocol, cell: MscrCell, estimator: Any, rows: np.ndarray) -> np.ndarray:
    """How many copies of the points in these rows it recognises, by test noise."""
    x, labels = _vectors(protocol.points)[rows], protocol.points.labels[rows]
    right = np.zeros((len(protocol.test_noise), len(rows)), np.int64)
    for place, radius in enumerate(protocol.test_noise):
        tested = noisy_copies(protocol, x, rows, radius, cell, is_training=False) if radius else x
        predicted = np.asarray(estimator.predict(tested))
        if predicted.shape != (len(tested),) or predicted.dtype.kind not in "biuf":
            raise ValueError(
                f"{cell.model} must predict one of the labels that it was fitted to for every point, got "
                f"{predicted.dtype} {predicted.shape} for {len(tested)} points"
            )
        right[place] = (predicted.reshape(-1, len(rows)) == labels).sum(axis=0)
    return right


@lru_cache(maxsize=1)  # of images, it is a copy in floats
def _vectors(points: Points) -> np.ndarray:
    return points.vectors()


# --- networks ---------------------------------------------------------------------------------------------------------


def _train(protocol: Protocol, cell: MscrCell, contender: Network, advance: Advance | None) -> Classifier:
    """The network, trained with noise that every image draws anew in every epoch."""
    device = torch.device(protocol.device)
    treatment = Noise(cell.train_noise, protocol.norm, protocol.bounds) if cell.train_noise else None
    split = cell.run if protocol.points.is_test is None else None
    images = _training_images(protocol, cell.model, split)
    out = protocol.store.address(cell.weights)
    path = train_on(images, contender.recipe, out, treatment, seed=cell.run, device=device, progress=advance)
    on_gpu = device.type == "cuda"
    precision = contender.recipe.precision if on_gpu else "float32"
    return open_model(str(path)).on(device, precision, compile=contender.recipe.compile and on_gpu)


@lru_cache(maxsize=1)  # so that images stay on the device for the next cell
def _training_images(protocol: Protocol, model: str, run: int | None) -> TrainingImages:
    rows, _ = protocol.split(run or 0)
    recipe = protocol.contenders[model].recipe  # type: ignore[union-attr]
    return load_training_images(points_source(protocol.points, rows), recipe, torch.device(protocol.device))


def right_by_network(protocol: Protocol, cell: MscrCell, classifier: Classifier, rows: np.ndarray) -> np.ndarray:
    """How many copies of the images in these rows it recognises, by test noise."""
    device = torch.device(protocol.device)
    source = points_source(protocol.points, rows)
    pixels = load_pixels(source, None, device)
    limit = BatchLimit(suitable_batch(pixels.shape[1:], device))
    ids = torch.from_numpy(np.zeros_like(rows) if protocol.shares_offsets else rows).to(device)
    bench = Bench(classifier, source, None, pixels, ids, limit, Clock(device))
    right = np.zeros((len(protocol.test_noise), len(rows)), np.int64)
    for place, radius in enumerate(protocol.test_noise):

        def distort(images: torch.Tensor, ids: torch.Tensor, radius: float = radius):
            centres = images.to(torch.float32) / 255
            return (
                sample_ball(centres, ids, radius, protocol.norm, copy=copy, seed=cell.run, bounds=protocol.bounds)
                for copy in range(cell.copies)
            )

        right[place] = (bench.hits(distort) if radius else bench.clean[:, None]).sum(axis=1)
    return right


def points_source(points: Points, rows: np.ndarray) -> Source:
    """Some of the points as labelled images."""
    source = array_source(points.name, points.x, points.labels, points.class_names)
    return replace(source, classes=points.classes).take(rows)
