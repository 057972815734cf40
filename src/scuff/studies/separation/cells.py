"""The cells of a study of MSCR: one model, trained with one noise in one run, tested with every noise.

A cell leaves one file: for every radius of test noise and every test point, how many of its noisy copies were
recognised.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
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
from scuff.store import Store, write_arrays
from scuff.studies.calibration.bench import Bench
from scuff.studies.separation.models import Contender, Estimator, Given
from scuff.training.images import TrainingImages, load_training_images
from scuff.training.recipes import Recipe
from scuff.training.run import train_on
from scuff.training.treatment import Noise

Advance = Callable[[int, int], None]  # steps done, steps to do
CountRight = Callable[[float], np.ndarray]  # radius of test noise -> how many copies of each point were recognised


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

    def __str__(self) -> str:
        return f"{self.model} {self.train_noise:.3g} run {self.run}"


@dataclass(frozen=True, eq=False)
class Protocol:
    """What all cells of a study have in common: the points, and how noise is drawn and trained with."""

    store: Store
    points: Points = field(repr=False)
    contenders: dict[str, Contender] = field(repr=False)
    norm: float
    bounds: str
    shares_offsets: bool
    keeps_originals: bool
    test_share: float
    device: str
    test_noise: tuple[float, ...] = ()

    @property
    def are_given(self) -> bool:
        """Whether all models are trained already."""
        return all(isinstance(contender, Given) for contender in self.contenders.values())

    def split(self, run: int) -> tuple[np.ndarray, np.ndarray]:
        """Rows to train and to test on in a run: the split of the data if they have one, else one drawn for every run.

        Models that are trained already are tested on all rows of data that come without a split.
        """
        rows = np.arange(len(self.points))
        if self.points.is_test is not None:
            return rows[~self.points.is_test], rows[self.points.is_test]
        if self.are_given:
            return rows[:0], rows
        from sklearn.model_selection import train_test_split

        return tuple(train_test_split(rows, test_size=self.test_share, random_state=run))

    def uses_gpu(self, cell: MscrCell) -> bool:
        """Whether a cell computes on a GPU: estimators never do."""
        return self.device.startswith("cuda") and not isinstance(self.contenders[cell.model], Estimator)

    def treatment(self, cell: MscrCell) -> Noise | None:
        """The noise that a network is trained with."""
        return Noise(cell.train_noise, self.norm, self.bounds) if cell.train_noise else None

    def images(self, rows: np.ndarray) -> Source:
        """Some of the points as labelled images."""
        points = self.points
        source = array_source(points.name, points.x, points.labels, points.class_names)
        return replace(source, classes=points.classes).take(rows)


def run_cell(protocol: Protocol, cell: MscrCell, advance: Advance | None = None) -> None:
    """Train, test, and write how many copies of each test point were recognised: (test noise, points)."""
    contender = protocol.contenders[cell.model]
    train, test = protocol.split(cell.run)
    if isinstance(contender, Estimator):
        model = fit_estimator(protocol, cell, contender, train)
    elif isinstance(contender, Given):
        model = contender.model.on(protocol.device)
    else:
        model = _train_network(protocol, cell, contender.model, advance)
    write_result(protocol.store, cell.file, count_right(protocol, cell, model, test), test)


def count_right(protocol: Protocol, cell: MscrCell, model: Any, rows: np.ndarray) -> np.ndarray:
    """How many copies of the points in these rows a model recognises: (test noise, points)."""
    test = _test_network if isinstance(model, Classifier) else _test_estimator
    count = test(protocol, cell, model, rows)
    return np.stack([count(radius) for radius in protocol.test_noise])


def write_result(store: Store, name: str, right: np.ndarray, rows: np.ndarray) -> None:
    """Write the file of a cell: how many copies were recognised (test noise, points), and which points these are."""
    write_arrays(store, name, {"right": right.astype(np.uint16), "rows": rows}, is_compressed=True)


def forget() -> None:
    """Free what was kept for the next cell, such as images on the device."""
    _training_images.cache_clear()
    _vectors.cache_clear()


# --- estimators -------------------------------------------------------------------------------------------------------


def fit_estimator(protocol: Protocol, cell: MscrCell, contender: Estimator, rows: np.ndarray) -> Any:
    """The estimator, fitted to noisy copies of the training points; without noise, to the points themselves."""
    x, labels = _vectors(protocol.points)[rows], protocol.points.labels[rows]
    if cell.train_noise:
        noisy = noisy_copies(protocol, x, rows, cell.train_noise, cell, is_training=True)
        x = np.concatenate([x, noisy]) if protocol.keeps_originals else noisy
        labels = np.tile(labels, len(x) // len(rows))
    estimator = contender.make(cell.run)
    try:
        estimator.fit(x, labels)
    except ValueError as error:
        raise ValueError(f"{cell.model} cannot be fitted to these points: {error}") from error
    return estimator


def _test_estimator(protocol: Protocol, cell: MscrCell, estimator: Any, rows: np.ndarray) -> CountRight:
    x, labels = _vectors(protocol.points)[rows], protocol.points.labels[rows]

    def count(radius: float) -> np.ndarray:
        tested = noisy_copies(protocol, x, rows, radius, cell, is_training=False) if radius else x
        predicted = np.asarray(estimator.predict(tested))
        if predicted.shape != (len(tested),) or predicted.dtype.kind not in "biuf":
            raise ValueError(
                f"{cell.model} must predict one of the labels that it was fitted to for every point, got "
                f"{predicted.dtype} {predicted.shape} for {len(tested)} points"
            )
        return (predicted.reshape(-1, len(rows)) == labels).sum(axis=0)

    return count


@lru_cache(maxsize=1)  # of images, it is a copy in floats
def _vectors(points: Points) -> np.ndarray:
    return points.vectors()


def noisy_copies(
    protocol: Protocol, x: np.ndarray, rows: np.ndarray, radius: float, cell: MscrCell, is_training: bool
) -> np.ndarray:
    """All copies of points (n, d) one after the other: (copies * n, d).

    Training and test points draw from different seeds, and every point draws its own offsets; or, as in the
    paper's code, all points of a run share the same few offsets, in training and testing.
    """
    seed, ids = cell.run, np.zeros_like(rows) if protocol.shares_offsets else rows
    if is_training and not protocol.shares_offsets:
        digest = hashlib.blake2b(f"mscr training|{cell.run}".encode(), digest_size=8).digest()
        seed = int.from_bytes(digest, "little") >> 1
    return torch.cat(list(_copies(protocol, cell, torch.from_numpy(x), torch.from_numpy(ids), radius, seed))).numpy()


def _copies(
    protocol: Protocol, cell: MscrCell, centres: torch.Tensor, ids: torch.Tensor, radius: float, seed: int
) -> Iterator[torch.Tensor]:
    for copy in range(cell.copies):
        yield sample_ball(centres, ids, radius, protocol.norm, copy=copy, seed=seed, bounds=protocol.bounds)


# --- networks ---------------------------------------------------------------------------------------------------------


def _train_network(protocol: Protocol, cell: MscrCell, recipe: Recipe, advance: Advance | None) -> Classifier:
    """The network, trained with noise that every image draws anew in every epoch."""
    images = _training_images(protocol, cell.model, cell.run if protocol.points.is_test is None else 0)
    out, device = protocol.store.address(cell.weights), torch.device(protocol.device)
    noise = protocol.treatment(cell)
    path = train_on(images, recipe, out, noise, seed=cell.run, device=device, progress=advance)
    return on_device(open_model(str(path)), recipe, device)


def on_device(classifier: Classifier, recipe: Recipe, device: torch.device) -> Classifier:
    """A network ready to be tested, on a GPU in the precision in which it was trained."""
    on_gpu = device.type == "cuda"
    return classifier.on(device, recipe.precision if on_gpu else "float32", compile=recipe.compile and on_gpu)


@lru_cache(maxsize=1)  # so that images stay on the device for the next cell
def _training_images(protocol: Protocol, model: str, run: int) -> TrainingImages:
    source = protocol.images(protocol.split(run)[0])
    return load_training_images(source, protocol.contenders[model].model, torch.device(protocol.device))


def _test_network(protocol: Protocol, cell: MscrCell, classifier: Classifier, rows: np.ndarray) -> CountRight:
    device, source = torch.device(protocol.device), protocol.images(rows)
    pixels = load_pixels(source, None, device)
    limit = BatchLimit(suitable_batch(pixels.shape[1:], device))
    bench = Bench(classifier, source, None, pixels, torch.from_numpy(rows).to(device), limit, Clock(device))

    def count(radius: float) -> np.ndarray:
        def distort(images: torch.Tensor, ids: torch.Tensor) -> Iterator[torch.Tensor]:
            return _copies(protocol, cell, images.to(torch.float32) / 255, ids, radius, cell.run)

        return bench.hits(distort).sum(axis=1) if radius else bench.clean

    return count
