"""What can take part in a study of MSCR: scikit-learn estimators, networks by recipe, and models as they are."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from scuff.models import Classifier, open_model
from scuff.models.open import NAME, default_name, split_name
from scuff.training.recipes import Recipe, find_recipe

RECIPE = "recipe:"
SHORT_NAMES = ("random-forest", "1-nn")  # the two models of the paper for data in two dimensions


@dataclass(frozen=True, eq=False)
class Estimator:
    """A scikit-learn estimator, which is copied and fitted anew for every cell."""

    name: str
    estimator: Any = field(repr=False)

    def describe(self) -> str:
        """What decides over what it learns, as text: its class and all parameters."""
        kind = type(self.estimator)
        parameters = {key: str(value) for key, value in sorted(self.estimator.get_params(deep=True).items())}
        return f"{kind.__module__}.{kind.__qualname__} {parameters}"

    def make(self, seed: int) -> Any:
        """A fresh copy whose every random_state is the seed."""
        from sklearn.base import clone

        fresh = clone(self.estimator)
        states = [key for key in fresh.get_params(deep=True) if key.rpartition("__")[2] == "random_state"]
        return fresh.set_params(**dict.fromkeys(states, seed))


@dataclass(frozen=True, eq=False)
class Network:
    """A network that is trained by a recipe for every cell."""

    name: str
    recipe: Recipe = field(repr=False)

    def describe(self) -> str:
        """What decides over its weights, as text."""
        return f"{RECIPE}{self.recipe.name} {self.recipe.settings()}"


@dataclass(frozen=True, eq=False)
class Given:
    """A classifier that is trained already, and tested as it is."""

    name: str
    classifier: Classifier = field(repr=False)

    def describe(self) -> str:
        """Where it is from, and a hash of it."""
        return f"{self.classifier.address} {self.classifier.fingerprint()}"


Contender = Estimator | Network | Given


def open_contenders(models: Any) -> dict[str, Contender]:
    """Models by their names, from one, several, or a mapping of names.

    A model is `"random-forest"` (100 trees), `"1-nn"`, the address of an estimator as in
    `"sklearn.svm:SVC"`, a recipe as in `"recipe:cifar-fast"`, anything that `open_model` opens, or one of these as an
    object. `NAME=` before an address gives it a name.
    """
    if isinstance(models, Mapping):
        opened = [_named(_open(model), name) for name, model in models.items()]
    else:
        several = list(models) if isinstance(models, (list, tuple)) else [models]
        opened = [_open(model) for model in several]
    if not opened:
        raise ValueError("no model is given")
    names = [one.name for one in opened]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"two models are called {twice}; name one of them, as in other=ADDRESS")
    if len({isinstance(one, Given) for one in opened}) > 1:
        given = [one.name for one in opened if isinstance(one, Given)]
        raise ValueError(
            f"{', '.join(given)} is trained already, the other models are trained here, with noise; measure them apart"
        )
    return dict(zip(names, opened, strict=True))


def _open(model: Any) -> Contender:
    if isinstance(model, (Estimator, Network, Given)):
        return model
    if isinstance(model, Recipe):
        return Network(model.name, model)
    if not isinstance(model, (str, os.PathLike)):
        if _is_estimator(model):
            return Estimator(type(model).__name__, model)
        opened = open_model(model)
        return Given(opened.name, opened)
    name, address = split_name(os.fspath(model))
    if address in SHORT_NAMES:
        found = Estimator(address, _short(address))
    elif address.startswith(RECIPE):
        found = Network(address.removeprefix(RECIPE), find_recipe(address.removeprefix(RECIPE)))
    else:
        estimator = _import_estimator(address)
        if estimator is not None:
            found = Estimator(default_name(address), estimator)
        else:
            opened = open_model(address)
            found = Given(opened.name, opened)
    return _named(found, name) if name else found


def _named(contender: Contender, name: str) -> Contender:
    if not NAME.fullmatch(name):
        raise ValueError(f"a model's name may hold up to 100 letters, digits and . _ - only, got {name!r}")
    return replace(contender, name=name)


def _short(name: str) -> Any:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.neighbors import KNeighborsClassifier

    return RandomForestClassifier(100) if name == "random-forest" else KNeighborsClassifier(1)


def _is_estimator(thing: Any) -> bool:
    return all(hasattr(thing, method) for method in ("fit", "predict", "get_params"))


def _import_estimator(address: str) -> Any | None:
    """The estimator of `package.module:object`, an instance or a class of its own; None if it is something else."""
    from scuff.models.objects import import_object
    from scuff.models.open import is_python_address

    if not is_python_address(address):
        return None
    thing = import_object(address)
    if not _is_estimator(thing):
        return None
    return thing() if isinstance(thing, type) else thing


def count_neighbours(contender: Contender) -> int:
    """How many training points a model needs at least: those of a nearest-neighbour rule, else one."""
    parameters: Mapping[str, Any] = contender.estimator.get_params() if isinstance(contender, Estimator) else {}
    wanted: Sequence[Any] = [value for key, value in parameters.items() if key.rpartition("__")[2] == "n_neighbors"]
    return max([value for value in wanted if isinstance(value, int)], default=1)
