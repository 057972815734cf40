"""What trainings cost: found in the journals of their study, or by a few steps and a few treated images.

A training's time is that of its steps, which is the same for all networks of a recipe, and that of treating its images,
which is not: some corruptions take longer than the step.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from scuff.data import Source, load_pixels
from scuff.engine.cost import (
    NOW,
    CellCost,
    StudyCost,
    in_this_folder,
    is_here,
    kind_of,
    seconds_before,
    time_warm,
)
from scuff.environment import environment, find_device
from scuff.evaluation.cost import IN_MEMORY
from scuff.models import Classifier, save_model
from scuff.pictures import Cut
from scuff.pool import threads_limited
from scuff.store import Store, find_file
from scuff.studies.cells import TrainingCell
from scuff.training.augment import augment
from scuff.training.fit import begin, count_steps, repeatable
from scuff.training.images import TrainingImages, cut_of, measure_pixels, normalisation_of, open_training_source
from scuff.training.recipes import Recipe, find_recipe
from scuff.training.run import adapt, first_weights
from scuff.training.step import make_step
from scuff.training.treatment import Augmented, Treatment, choose_treatment

# Values of the images that are tried. On a GPU they are many, as in training; on a processor the time of an image does
# not depend on how many there are, once there are some.
TRIED = {"cpu": 1 << 19, "cuda": 1 << 27}
LEAST_TRIED = 16  # images
MAX_DECODED_HERE = 256  # pictures up to which other processes are not worth starting to decode them


@dataclass(frozen=True, eq=False)
class Trial:
    """A few images of a recipe on a device, to try its steps and treatments with."""

    images: TrainingImages
    recipe: Recipe
    device: torch.device

    def classifier(self) -> Classifier:
        """The network before its first step."""
        network = first_weights(self.recipe, self.images, None, 0).eval()
        look = {"mean": self.images.mean, "std": self.images.std} if self.recipe.normalises else {}
        return Classifier(network, class_names=self.images.class_names, cut=self.images.cut, **look)  # type: ignore[arg-type]

    def size(self, origin: dict) -> int:
        """Bytes of its file, which is made in memory."""
        store, name = Store(IN_MEMORY), "model.safetensors"
        save_model(self.classifier(), store.address(name), architecture=self.recipe.architecture, origin=origin)
        size = len(store.read(name))
        store.remove(name)
        return size

    def step(self, consistency: float = 0.0) -> tuple[float, float]:
        """Seconds per image of a step, and those that the first one takes longer: it compiles."""
        device, recipe = self.device, self.recipe
        training = begin(first_weights(recipe, self.images, None, 0), recipe, device)
        batch = self.images.pixels[: recipe.batch_size].to(device)
        labels = self.images.labels[: len(batch)].to(device)
        if consistency:
            batch = batch[:, None].expand(-1, 3, -1, -1, -1).float().contiguous()
        with repeatable(), torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            look = normalisation_of(self.images, recipe, device)
            step = make_step(training.network, training.optimiser, recipe, look, consistency)
            seconds, more = time_warm(lambda: step(batch, labels), device)
        return seconds / len(batch), more

    def treating(self, treatment: Treatment | None) -> float:
        """Seconds per image of bringing it to the network: mirrored, shifted, and treated."""
        images, recipe = self.images.pixels.to(self.device), self.recipe
        ids = torch.arange(len(images), device=self.device)

        def prepare() -> None:
            block = augment(images, ids, 0, flip=recipe.flip, crop=recipe.crop)
            if treatment is not None:
                treatment.treat(block, ids, 0, min(recipe.batch_size, len(images)))

        return time_warm(prepare, self.device)[0] / len(images)


def try_recipe(source: Source, recipe: Recipe, device: torch.device, least: int = 0) -> Trial:
    """A trial with some images of a source, from all over it."""
    cut = cut_of(source, recipe)
    values = math.prod(source.read([0], cut).shape)
    wanted = max(TRIED.get(device.type, TRIED["cpu"]) // values, LEAST_TRIED, least)
    if device.type == "cuda":  # where a step must have the size that it has in training
        wanted = max(wanted, recipe.batch_size)
    places = np.linspace(0, len(source) - 1, min(len(source), wanted)).astype(int)
    few = source.take(places)
    pixels = load_pixels(few, cut, device, None if len(few) > MAX_DECODED_HERE else 0).images
    mean, std = measure_pixels(pixels)
    side = min(pixels.shape[2:])
    labels = torch.from_numpy(few.labels)
    images = TrainingImages(pixels, labels, mean, std, source.class_names, "", cut or Cut(side, side))
    return Trial(images, recipe, device)


def estimate_trainings(cells: Sequence[TrainingCell], store: Store) -> StudyCost:
    """What the trainings of some cells cost, each by its treatment; the study is in the store. Nothing is written."""
    if not cells:
        return StudyCost((), "")
    device = torch.device(cells[0].device)
    before = seconds_before(store, "train")
    by_recipe: dict[str, list[TrainingCell]] = {}
    for cell in cells:
        by_recipe.setdefault(_key(cell.recipe.settings()), []).append(cell)
    parts, warm_up = [], 0.0
    measures = before is None and is_here(device)
    where = device if measures else torch.device("cpu")  # where only sizes are asked for
    with threads_limited(1 if device.type == "cpu" else None):
        for same in by_recipe.values():
            trial = try_recipe(same[0].source, same[0].recipe, where)
            rates = _Rates(trial)
            for cell in same:
                seconds, how = math.nan, f"not measured: there is no {device.type} here"
                if before is not None:
                    seconds, how = before[0] / before[1], in_this_folder(before[1])
                elif measures:
                    steps = count_steps(cell.recipe, len(cell.source))
                    seconds, how = steps * cell.recipe.batch_size * rates.image(cell.treatment), NOW
                origin = {} if cell.start is not None else cell.origin()
                parts.append(CellCost("train", 1, seconds, trial.size(origin), kind_of(device), how, cell.name))
            warm_up += rates.warm_up
    return StudyCost(tuple(parts), environment(device)["device"], warm_up)


def estimate_training(
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
) -> StudyCost:
    """What one training costs; arguments are those of `scuff.train`. Nothing is written.

    A finished training costs nothing, whatever it was made with: `scuff.train` says if that was something else.
    """
    store, name = find_file(out)
    if store.exists(name):
        return StudyCost((), "")
    treatment = choose_treatment(*(treated.get(key) for key in ("corruption", "suite", "noise", "augment")))
    chosen = adapt(find_recipe(recipe), architecture, epochs, start is not None)
    source = open_training_source(data, classes)
    cell = TrainingCell(name, name, treatment, 0, chosen, start, out, source, str(find_device(device)))
    return estimate_trainings([cell], store)


class _Rates:
    """Seconds per image of a recipe's trainings, each kind of step and each treatment measured once."""

    def __init__(self, trial: Trial) -> None:
        self._trial = trial
        self._steps: dict[float, float] = {}
        self._treating: dict[str, float] = {}
        self.warm_up = 0.0

    def image(self, treatment: Treatment | None) -> float:
        consistency = treatment.consistency if isinstance(treatment, Augmented) else 0.0
        if consistency not in self._steps:
            self._steps[consistency], more = self._trial.step(consistency)
            self.warm_up += more
        key = "" if treatment is None else _key(treatment.settings())
        if key not in self._treating:
            self._treating[key] = self._trial.treating(treatment)
        return self._steps[consistency] + self._treating[key]


def _key(settings: dict) -> str:
    return json.dumps(settings, sort_keys=True, default=str)
