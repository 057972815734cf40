"""What trainings and tests of networks cost: found in the journals of their study, or by a few steps and a few images.

A training's time is that of its steps, which is the same for all networks of a recipe, and that of treating its images,
which is not: some corruptions take longer than the step. Tests are timed with untrained networks, which are as fast.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from scuff.ahead import count_processors
from scuff.data import Source, load_pixels
from scuff.engine.cost import Estimate, StudyCost, size_in_memory
from scuff.environment import find_device
from scuff.evaluation.cost import Tests
from scuff.evaluation.plan import Plan
from scuff.evaluation.tasks import MODELS, Task
from scuff.models import Classifier, save_model
from scuff.pictures import Cut
from scuff.random import sent
from scuff.store import Store, find_file
from scuff.studies.trainings import TrainingCell
from scuff.training.augment import augment
from scuff.training.fit import begin, block_size, count_steps, own_generators, repeatable
from scuff.training.images import TrainingImages, cut_of, measure_pixels, normalisation_of, open_training_source
from scuff.training.recipes import Recipe, find_recipe
from scuff.training.run import adapt, first_weights
from scuff.training.step import make_step
from scuff.training.stream import Stream, fetch
from scuff.training.treatment import Augmented, Treatment, choose_treatment

# Values of the images that are tried. On a GPU they are many, as in training; on a processor the time of an image does
# not depend on how many there are, once there are some.
TRIED = {"cpu": 1 << 19, "cuda": 1 << 27}
LEAST_TRIED = 16  # images
MAX_DECODED_HERE = 256  # pictures up to which other processes are not worth starting to decode them
STAND_IN = "untrained"


@dataclass(frozen=True, eq=False)
class Trial:
    """A few images of a recipe on a device, to try its steps and treatments with, and how they are decoded if anew."""

    images: TrainingImages
    recipe: Recipe
    device: torch.device
    stream: Stream | None = None

    def classifier(self) -> Classifier:
        """The network before its first step."""
        network = first_weights(self.recipe, self.images, None, 0).eval()
        return self.images.classifier(network, self.recipe)

    def size(self, origin: dict) -> int:
        """Bytes of its file: of the weights, and of what is said about them."""
        return self._size_of_weights + len(json.dumps(origin))

    @cached_property
    def _size_of_weights(self) -> int:
        """Found by writing them once: a study may have hundreds of networks of one size."""
        classifier, architecture = self.classifier(), self.recipe.architecture
        return size_in_memory(
            "model.safetensors",
            lambda store, name: save_model(classifier, store.address(name), architecture=architecture, origin={}),
        )

    def seconds(self, estimate: Estimate, treatment: Treatment | None, images: int) -> float:
        """Seconds of a training on that many images: each kind of step and each treatment is timed once.

        Beside a GPU, as many processes decode as there are processors; on a processor, what decodes does not compute.
        """
        recipe, decode = self.recipe, self._decoding(estimate)
        sides = Counter(map(recipe.side, range(recipe.epochs)))
        busy = {side: self._computing(estimate, treatment, side) for side in sides}
        if self.device.type == "cuda":
            seconds = sum(epochs * max(busy[side], decode / count_processors()) for side, epochs in sides.items())
        else:
            seconds = sum(epochs * (busy[side] + decode) for side, epochs in sides.items())
        return count_steps(recipe, images) * recipe.batch_size * seconds / recipe.epochs

    def _decoding(self, estimate: Estimate) -> float:
        """Seconds of one image."""
        if self.stream is None:
            return 0.0
        places, ids = torch.arange(len(self.stream)), torch.from_numpy(self.stream.source.ids)
        look = self.stream, places, ids, 0, self.recipe.sides[-1], len(places), torch.device("cpu")
        return estimate.time((self, "decode"), lambda: lambda: list(fetch(*look))) / len(places)

    def _computing(self, estimate: Estimate, treatment: Treatment | None, side: int) -> float:
        """Seconds of one image in an epoch whose crops have that side."""
        consistency = treatment.consistency if isinstance(treatment, Augmented) else 0.0
        pixels = self._pixels()[..., :side, :side] if self.recipe.crop_area else self._pixels()
        with repeatable(), own_generators(self.device):
            step = estimate.time((self, consistency, side), lambda: self._step(pixels, consistency))
        key = "" if treatment is None else _key(treatment.settings())
        # A GPU prepares a large block in little more time than a small one, and has large ones in training.
        times = max(1, block_size(self.device, treatment) // pixels.numel()) if self.device.type == "cuda" else 1
        prepare = estimate.time((self, key, side), lambda: self._prepare(pixels.repeat(times, 1, 1, 1), treatment))
        return step / min(self.recipe.batch_size, len(pixels)) + prepare / (times * len(pixels))

    def _pixels(self) -> Tensor:
        assert isinstance(self.images.pixels, Tensor)
        return self.images.pixels

    def _step(self, pixels: Tensor, consistency: float) -> Callable[[], object]:
        device, recipe = self.device, self.recipe
        training = begin(first_weights(recipe, self.images, None, 0), recipe, device)
        batch, labels = (values[: recipe.batch_size].to(device) for values in (pixels, self.images.labels))
        if consistency:
            batch = batch[:, None].expand(-1, 3, -1, -1, -1).float().contiguous()
        look = normalisation_of(self.images, recipe, device)
        step = make_step(training.network, training.optimiser, recipe, look, consistency)
        return lambda: step(batch, labels)

    def _prepare(self, pixels: Tensor, treatment: Treatment | None) -> Callable[[], object]:
        """Bring images to the network: mirrored, shifted, and treated."""
        images, recipe = pixels.contiguous().to(self.device), self.recipe
        ids = torch.arange(len(images))

        def act() -> None:
            block = augment(images, sent(ids, self.device), 0, flip=recipe.flip, crop=recipe.crop)
            if treatment is not None:
                treatment.treat(block, ids, 0, min(recipe.batch_size, len(images)))

        return act


def try_recipe(source: Source, recipe: Recipe, device: torch.device) -> Trial:
    """A trial with some images of a source, from all over it."""
    tested, side = cut_of(source, recipe), recipe.sides[-1]
    cut = Cut(side, side) if recipe.crop_area and source.has_pictures else tested
    wanted = max(TRIED.get(device.type, TRIED["cpu"]) // math.prod(source.read([0], cut).shape), LEAST_TRIED)
    if device.type == "cuda":  # where a step must have the size that it has in training
        wanted = max(wanted, recipe.batch_size)
    few = source.take(np.linspace(0, len(source) - 1, min(len(source), wanted)).astype(int))
    loaded = load_pixels(few, cut, device, None if len(few) > MAX_DECODED_HERE else 0)
    pixels = loaded.images
    assert pixels is not None
    side = min(pixels.shape[2:])
    labels, look = torch.from_numpy(few.labels), measure_pixels(pixels)
    images = TrainingImages(pixels, labels, *look, source.class_names, "", tested or Cut(side, side))
    stream = Stream(few.take(range(min(len(few), LEAST_TRIED))), cut, recipe.crop_area, loaded.shape, 0)
    return Trial(images, recipe, device, stream if recipe.crop_area else None)


@dataclass(eq=False)
class Trials:
    """The trainings of a study: what each takes, by trials that all trainings of a recipe share."""

    estimate: Estimate
    _made: dict[tuple[str, torch.device], Trial] = field(default_factory=dict, repr=False)

    def cost(self, cells: Iterable[TrainingCell]) -> StudyCost:
        """The cost of some trainings, each by its treatment."""
        for cell in cells:
            like = replace(cell, source=cell.source.take([]))  # whose fingerprint is as long, and found at once
            size = self._trial(cell, torch.device("cpu")).size({} if cell.start is not None else like.origin())
            self.estimate.add("train", partial(self._seconds, cell), size, cell.name)
        return self.estimate.total()

    def _seconds(self, cell: TrainingCell) -> float:
        estimate = self.estimate
        return self._trial(cell, estimate.device).seconds(estimate, cell.treatment, len(cell.source))

    def _trial(self, cell: TrainingCell, device: torch.device) -> Trial:
        key = _key(cell.recipe.settings()), device
        if key not in self._made:
            self._made[key] = try_recipe(cell.source, cell.recipe, device)
        return self._made[key]


def estimate_trainings(cells: Sequence[TrainingCell], store: Store) -> StudyCost:
    """What the trainings of some cells cost, each by its treatment; the study is in the store. Nothing is written."""
    if not cells:
        return StudyCost((), "")
    return Trials(Estimate(torch.device(cells[0].device), store, threads=1)).cost(cells)


def estimate_training(data: str | Source, recipe: str | Recipe, out: str, **options: Any) -> StudyCost:
    """What one training costs; arguments are those of `scuff.train`. Nothing is written.

    A finished training costs nothing, whatever it was made with: `scuff.train` says if that was something else.
    """
    store, name = find_file(out)
    if store.exists(name):
        return StudyCost((), "")
    return estimate_trainings([training_cell(data, recipe, out, **options)], store)


def training_cell(
    data: str | Source,
    recipe: str | Recipe,
    out: str,
    *,
    start: str | None = None,
    architecture: str | None = None,
    epochs: int | None = None,
    classes: str | None = None,
    device: str | torch.device | None = None,
    **treated: Any,
) -> TrainingCell:
    """One training as a cell; arguments are those of `scuff.train`."""
    _, name = find_file(out)
    treatment = choose_treatment(*(treated.get(key) for key in ("corruption", "suite", "noise", "augment")))
    chosen = adapt(find_recipe(recipe), architecture, epochs, start is not None)
    source = open_training_source(data, classes)
    return TrainingCell(name, name, treatment, 0, chosen, start, out, source, str(find_device(device)))


def estimate_tests(
    store: Store,
    plan_tests: Callable[[Mapping[str, Any]], Plan],
    cells: Sequence[TrainingCell],
    models: Sequence[str],
) -> StudyCost:
    """The tests that models still lack; `models` are the names of the networks of all training cells.

    `plan_tests` plans the evaluation of models; here it is given one untrained network. Nothing is written.
    """
    first = cells[0]
    evaluation = plan_tests({STAND_IN: try_recipe(first.source, first.recipe, torch.device("cpu")).classifier()})
    rows = [name.split("/") for name in evaluation.store.names("rows", ".parquet")]
    tested = Counter(file.rpartition("-")[0] for _, model, file in rows if model in set(models))
    tasks = []
    for cell in evaluation.cells:
        lacking = len(models) - tested[cell.entry if cell.severity is None else f"{cell.entry}-{cell.severity}"]
        tasks += [Task(cell, (STAND_IN,) * min(MODELS, lacking - k)) for k in range(0, lacking, MODELS)]
    return Tests(evaluation, Estimate(torch.device(first.device), store), first.recipe.compile).cost(tasks)


def _key(settings: dict) -> str:
    return json.dumps(settings, sort_keys=True, default=str)
