"""Recipes: everything that determines how a network is trained, as data.

Each YAML file of this folder is a recipe. It is changed by `dataclasses.replace(find_recipe("cifar-fast"), epochs=20)`,
or by a file of one's own that is `based_on` it; a new one is a new `Recipe`, or a file.
"""

from __future__ import annotations

import difflib
import math
import os
from collections.abc import Callable
from dataclasses import MISSING, asdict, dataclass, fields, replace
from importlib import resources
from pathlib import Path
from typing import Any

from scuff.files import NAME_RULE, is_file_name
from scuff.models import list_architectures
from scuff.models.classifier import PRECISIONS
from scuff.pictures import Cut
from scuff.ranges import is_number
from scuff.readers import read_yaml
from scuff.words import near_names

SCHEDULES = ("one-cycle", "cosine", "epoch-cosine", "steps")
INITIALISATIONS = ("default", "xavier", "zero-gamma")
OPTIMISERS = ("sgd", "muon")
RESTARTS = ("never", "decay", "epoch")
FILES = (".yaml", ".yml")
# Fields that came later. Where they say nothing they are not written down, so that older weights stay what they are.
ADDED = ("crop_area", "sides", "grows_at", "mean", "std")


@dataclass(frozen=True)
class Recipe:
    """How to train.

    An epoch passes over all images once; the last batch is left out if it is not full. If a corruption is trained with,
    half of every batch is corrupted. The loss is the cross-entropy, unless the treatment of the images adds to it.

    Parameters
    ----------
    name, about
        What it is called, and where it comes from.
    architecture
        One of `scuff.models.list_architectures()`.
    epochs, batch_size, learning_rate, momentum, nesterov, weight_decay, label_smoothing
        As usual; `learning_rate` is the highest one.
    optimiser, matrix_rate, matrix_momentum
        "sgd", or "muon": then these two are for convolutions, and SGD is for the rest.
    schedule
        "one-cycle": rises linearly for the share `warm_up` of all steps, then falls linearly to almost zero.
        "cosine": the same, but falls as a half cosine. "epoch-cosine": a half cosine that falls once per epoch,
        without a warm-up. "steps": times `decay` at each of the shares `decay_at`.
    restarts_momentum
        Momentum begins anew after every "decay" of "steps", or in every "epoch", or "never".
    flip, crop
        Half of the images are mirrored; images are padded by `crop` zeros on each side, and cut to their size anywhere.
    crop_area, sides, grows_at
        Random resized crops: every picture is cut anew to a rectangle of a share of its area in the range `crop_area`,
        with sides in a ratio from 3/4 to 4/3, and that is brought to `sides` pixels squared: to the first of these, and
        to the next one from each of the shares `grows_at` of all epochs on. Without a `crop_area`, there are none.
    normalises, mean, std
        Whether the network sees (pixel - mean) / std, or pixels in 0..1. Both are measured on the training images
        where none are given.
    initialisation
        "default": as the architecture does it. "xavier": uniform for weights, 0.01 for the biases of linear layers,
        N(1, 0.02) for the weights of batch normalisations. "zero-gamma": the default, but the last batch normalisation
        of every residual block begins with weights of 0.
    precision, compile
        The arithmetic on a GPU; on a CPU it is float32. Whether torch.compile pays on a GPU.
    cut
        How pictures are brought to one size, with a `crop_area` in tests only; arrays keep theirs.
    fine_tuning
        The factor of all learning rates when training goes on from given weights.
    """

    name: str
    architecture: str
    epochs: int
    batch_size: int
    learning_rate: float
    schedule: str = "one-cycle"
    warm_up: float = 0.25
    decay_at: tuple[float, ...] = ()
    decay: float = 0.1
    restarts_momentum: str = "never"
    momentum: float = 0.9
    nesterov: bool = True
    weight_decay: float = 5e-4
    optimiser: str = "sgd"
    matrix_rate: float = 0.1
    matrix_momentum: float = 0.6
    label_smoothing: float = 0.0
    flip: bool = False
    crop: int = 0
    crop_area: tuple[float, ...] = ()
    sides: tuple[int, ...] = (224,)
    grows_at: tuple[float, ...] = ()
    normalises: bool = True
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    initialisation: str = "default"
    precision: str = "bfloat16"
    compile: bool = False
    cut: Cut | None = None
    fine_tuning: float = 0.1
    about: str = ""

    def __post_init__(self) -> None:
        _check(self)

    def settings(self) -> dict[str, Any]:
        """What determines the weights, as plain data: all but the words."""
        silent = ("name", "about", *(key for key in ADDED if getattr(self, key) == DEFAULTS[key]))
        return {key: value for key, value in asdict(self).items() if key not in silent}

    def side(self, epoch: int) -> int:
        """The side of the crops of an epoch, in pixels.

        >>> recipe = find_recipe("imagenet-fast")
        >>> [recipe.side(epoch) for epoch in (0, 11, 12, 15)]
        [160, 160, 192, 192]
        """
        return self.sides[sum(epoch >= share * self.epochs for share in self.grows_at)]

    def share(self, step: int, steps: int) -> float:
        """The share of the highest learning rate that a step has; steps are counted from 0.

        >>> recipe = Recipe("mine", "small_cnn", epochs=1, batch_size=8, learning_rate=0.4, warm_up=0.5)
        >>> [recipe.share(step, 4) for step in range(4)]
        [0.25, 0.75, 0.75, 0.25]
        """
        done = (step + 0.5) / steps  # in the middle of the step, so that neither end is zero
        if self.schedule == "steps":
            return self.decay ** sum(done > share for share in self.decay_at)
        if self.schedule == "epoch-cosine":
            return (1 + math.cos(math.pi * math.floor(done * self.epochs) / self.epochs)) / 2
        if done < self.warm_up:
            return done / self.warm_up
        left = (1 - done) / (1 - self.warm_up)
        return left if self.schedule == "one-cycle" else (1 - math.cos(math.pi * left)) / 2


DEFAULTS = {field.name: field.default for field in fields(Recipe)}


def _check(recipe: Recipe) -> None:
    def need(good: bool, what: str) -> None:
        if not good:
            raise ValueError(f"the recipe {recipe.name}: {what}")

    need(is_file_name(recipe.name), f"its name must be {NAME_RULE}")  # networks are called after it
    known = list_architectures()
    need(recipe.architecture in known, f"architecture must be one of {', '.join(known)}, got {recipe.architecture!r}")
    for key, least in (("epochs", 1), ("batch_size", 2), ("crop", 0)):  # half of a batch is corrupted: at least two
        value = getattr(recipe, key)
        need(type(value) is int and value >= least, f"{key} must be a whole number of at least {least}, got {value!r}")
    for key in ("learning_rate", "matrix_rate", "fine_tuning", "decay"):
        value = getattr(recipe, key)
        need(is_number(value) and value > 0, f"{key} must be a number above 0, got {value!r}")
    for key in ("warm_up", "label_smoothing", "momentum", "matrix_momentum"):
        value = getattr(recipe, key)
        need(is_number(value) and 0 <= value < 1, f"{key} must be at least 0 and below 1, got {value!r}")
    for key in ("nesterov", "flip", "normalises", "compile"):
        need(isinstance(getattr(recipe, key), bool), f"{key} must be true or false, got {getattr(recipe, key)!r}")
    for key, of in (("decay_at", "steps"), ("grows_at", "epochs")):
        value = getattr(recipe, key)
        shares = all(is_number(share) and 0 < share < 1 for share in value)
        need(shares, f"{key} are shares of all {of} between 0 and 1, got {value!r}")
    _check_crops(recipe, need)
    words = {
        "schedule": SCHEDULES,
        "restarts_momentum": RESTARTS,
        "initialisation": INITIALISATIONS,
        "optimiser": OPTIMISERS,
        "precision": PRECISIONS,
    }
    for key, choices in words.items():
        value = getattr(recipe, key)
        need(value in choices, f"{key} must be one of {', '.join(choices)}, got {value!r}")
    at_decays = recipe.restarts_momentum == "decay"  # any other schedule than steps falls all the time
    need(recipe.schedule == "steps" or not at_decays, "momentum restarts at a decay of the schedule of steps only")
    need(recipe.precision != "float16", "float16 needs its gradients scaled; use bfloat16")


def _check_crops(recipe: Recipe, need: Callable[[bool, str], None]) -> None:
    area, sides = recipe.crop_area, recipe.sides
    is_range = len(area) == 2 and all(map(is_number, area)) and 0 < area[0] <= area[1] <= 1
    need(not area or is_range, f"crop_area must be two shares of a picture's area, the least and the most, got {area}")
    need(not area or not recipe.crop, "pictures are cropped by crop or by crop_area, not by both")
    whole = all(type(side) is int and side >= 1 for side in sides)
    need(whole, f"sides must be whole numbers of pixels, got {sides}")
    need(len(sides) == len(recipe.grows_at) + 1, f"sides must be one more than grows_at, got {sides}")
    look = all(map(is_number, (*recipe.mean, *recipe.std))) and min(recipe.std, default=1) > 0
    need(look, f"mean and std must be numbers, std above 0, got {recipe.mean} and {recipe.std}")
    need(len(recipe.mean) == len(recipe.std), "mean and std need as many numbers each as pictures have channels")


def read_recipe(text: str | bytes, name: str, where: str) -> Recipe:
    """A recipe from YAML: the fields of `Recipe`, or those that differ from the recipe that it is `based_on`.

    >>> read_recipe("{based_on: cifar, epochs: 30}", "mine", "mine.yaml").batch_size
    128
    """
    given = read_yaml(text, where)
    base = given.pop("based_on", None)
    values = {key: _value(key, value, where) for key, value in given.items()}
    if base is not None:
        return replace(_bundled(str(base)), name=name, **values)
    missing = [key for key, default in DEFAULTS.items() if default is MISSING and key not in ("name", *values)]
    if missing:
        raise ValueError(f"{where}: {', '.join(missing)} is missing; give it, or a recipe that this one is based_on")
    return Recipe(name, **values)


def _value(key: str, value: Any, where: str) -> Any:
    known = [name for name in DEFAULTS if name != "name"]
    if key not in known:
        raise ValueError(f"{where}: a recipe has no {key!r}; {near_names(key, [*known, 'based_on'])}")
    if isinstance(DEFAULTS[key], tuple):
        if not isinstance(value, list):
            raise ValueError(f"{where}: {key} must be a list, got {value!r}")
        return tuple(value)
    if key == "cut" and isinstance(value, dict):
        try:
            return Cut(**value)
        except TypeError as error:
            raise ValueError(
                f"{where}: a cut has resize, crop, filter and keeps_ratio, got {', '.join(value)}"
            ) from error
    return value


def find_recipe(name: str | Recipe) -> Recipe:
    """A recipe by its name, or from a YAML file of your own; a recipe is returned as it is."""
    if isinstance(name, Recipe):
        return name
    if not isinstance(name, (str, os.PathLike)):
        raise ValueError(f"expected the name of a recipe, or a Recipe, got {type(name).__name__}")
    name = os.fspath(name)
    if not name.endswith(FILES):
        return _bundled(name)
    try:
        return read_recipe(Path(name).read_bytes(), Path(name).stem, name)
    except OSError as error:
        raise ValueError(f"cannot read the recipe file {name}: {error.strerror}") from error


def _bundled(name: str) -> Recipe:
    if name not in RECIPES:
        near = difflib.get_close_matches(name, RECIPES, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(RECIPES)}."
        raise ValueError(f"no recipe is called {name!r}; {hint} A file of your own ends in .yaml")
    return RECIPES[name]


RECIPES: dict[str, Recipe] = {}
_files = {file.name: file.read_bytes() for file in resources.files(__package__).iterdir() if file.name.endswith(FILES)}
for _file in sorted(_files, key=lambda file: (b"based_on" in _files[file], file)):  # after those they are based on
    RECIPES[Path(_file).stem] = read_recipe(_files[_file], Path(_file).stem, _file)
for _recipe in sorted(RECIPES.values(), key=lambda recipe: recipe.epochs):  # the shortest training comes first
    RECIPES[_recipe.name] = RECIPES.pop(_recipe.name)
