"""Recipes: everything that determines how a network is trained, as data.

A recipe is changed by `dataclasses.replace(find_recipe("cifar-fast"), epochs=20)`, and a new one is a new `Recipe`.
"""

from __future__ import annotations

import difflib
import math
from dataclasses import asdict, dataclass
from typing import Any

from scuff.files import NAME_RULE, is_file_name
from scuff.models import list_architectures
from scuff.models.classifier import PRECISIONS
from scuff.pictures import Cut
from scuff.ranges import is_number

SCHEDULES = ("one-cycle", "cosine", "epoch-cosine", "steps")
INITIALISATIONS = ("default", "xavier")
OPTIMISERS = ("sgd", "muon")
RESTARTS = ("never", "decay", "epoch")


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
    normalises
        Whether the network sees (pixel - mean) / std of the training images, or pixels in 0..1.
    initialisation
        "default": as the architecture does it. "xavier": uniform for weights, 0.01 for the biases of linear layers,
        N(1, 0.02) for the weights of batch normalisations.
    precision, compile
        The arithmetic on a GPU; on a CPU it is float32. Whether torch.compile pays on a GPU.
    cut
        How pictures are brought to one size; arrays keep theirs.
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
    normalises: bool = True
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
        return {key: value for key, value in asdict(self).items() if key not in ("name", "about")}

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
    shares = all(is_number(share) and 0 < share < 1 for share in recipe.decay_at)
    need(shares, f"decay_at are shares of all steps between 0 and 1, got {recipe.decay_at!r}")
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


RECIPES = {
    recipe.name: recipe
    for recipe in (
        Recipe(
            "fashion",
            "small_cnn",
            epochs=2,
            batch_size=128,
            learning_rate=0.1,
            optimiser="muon",
            precision="float32",
            about="a small network for small grey images, in seconds on a processor",
        ),
        Recipe(
            "cifar-fast",
            "resnet18_32",
            epochs=9,
            batch_size=1024,
            learning_rate=0.1,
            warm_up=0.2,
            optimiser="muon",
            matrix_rate=0.15,
            label_smoothing=0.1,
            flip=True,
            crop=2,
            compile=True,
            about="ResNet-18 on CIFAR-10 in a few seconds on a GPU",
        ),
        Recipe(
            "cifar",
            "resnet18_32",
            epochs=200,
            batch_size=128,
            learning_rate=0.1,
            schedule="cosine",
            warm_up=0.0,
            flip=True,
            crop=4,
            compile=True,
            about="the usual long training on CIFAR-10: about 95 % with ResNet-18",
        ),
        Recipe(
            "cifar-augmentation",
            "wide_resnet40_2",
            epochs=100,
            batch_size=128,
            learning_rate=0.1,
            schedule="epoch-cosine",
            flip=True,
            crop=4,
            compile=True,
            about="of the paper on augmentations and corruptions: WideResNet-40-2",
        ),
        Recipe(
            "imagenet-100",
            "resnet18",
            epochs=80,
            batch_size=256,
            learning_rate=0.1,
            schedule="steps",
            decay_at=(0.5, 0.75),
            restarts_momentum="decay",
            nesterov=False,
            weight_decay=1e-4,
            flip=True,
            normalises=False,
            initialisation="xavier",
            compile=True,
            cut=Cut(224, keeps_ratio=False),
            about="of the paper on non-overlapping corruptions; its 40 epochs pass over two copies of the images",
        ),
        Recipe(
            "cifar-separation",
            "wide_resnet28_10_dropout",
            epochs=30,
            batch_size=32,
            learning_rate=0.01,
            schedule="steps",
            decay_at=(2 / 3, 5 / 6),
            decay=0.2,
            restarts_momentum="epoch",
            nesterov=False,
            flip=True,
            crop=4,
            normalises=False,
            precision="float32",
            compile=True,
            about="of the paper on class separation; it makes a new optimiser, without momentum, for every epoch",
        ),
    )
}


def find_recipe(name: str | Recipe) -> Recipe:
    """A recipe by its name; a recipe is returned as it is."""
    if isinstance(name, Recipe):
        return name
    if not isinstance(name, str):
        raise ValueError(f"expected the name of a recipe, or a Recipe, got {type(name).__name__}")
    if name not in RECIPES:
        near = difflib.get_close_matches(name, RECIPES, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(RECIPES)}"
        raise ValueError(f"no recipe is called {name!r}; {hint}")
    return RECIPES[name]
