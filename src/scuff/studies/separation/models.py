"""Models in a study of MSCR: scikit-learn estimators, networks trained by a recipe, and trained classifiers."""

from __future__ import annotations

import difflib
import hashlib
import inspect
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from scuff.models import Classifier, open_model
from scuff.models.open import NAME, default_name, split_name
from scuff.training.recipes import RECIPES, Recipe, find_recipe

RECIPE = "recipe:"
SHORT_NAMES = ("random-forest", "1-nn")  # the two models of the paper for data in two dimensions


@dataclass(frozen=True, eq=False)
class Estimator:
    """A scikit-learn estimator, which is copied and fitted anew for every cell."""

    name: str
    estimator: Any = field(repr=False)
    address: str | None = None  # as it was given

    def describe(self) -> str:
        """What determines what it learns, as text: its class and all parameters."""
        kind = type(self.estimator)
        parameters = {key: _describe(value) for key, value in sorted(self.estimator.get_params(deep=True).items())}
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
    address: str | None = None

    def describe(self) -> str:
        """What determines its weights, as text."""
        return f"{RECIPE}{self.recipe.name} {self.recipe.settings()}"


@dataclass(frozen=True, eq=False)
class Given:
    """A classifier that is trained already, and tested as it is."""

    name: str
    classifier: Classifier = field(repr=False)
    address: str | None = None

    def describe(self) -> str:
        """Its address and a hash of it."""
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
    names = [contender.name for contender in opened]
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise ValueError(f"two models are called {repeated}; name one of them, as in other=ADDRESS")
    if len({isinstance(contender, Given) for contender in opened}) > 1:
        given = [contender.name for contender in opened if isinstance(contender, Given)]
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
            return Estimator(type(model).__name__, _checked(model, type(model).__name__))
        opened = open_model(model)
        return Given(opened.name, opened)
    name, address = split_name(os.fspath(model))
    contender = replace(_open_address(address), address=address)
    return _named(contender, name) if name else contender


def _open_address(address: str) -> Contender:
    if address in SHORT_NAMES:
        return Estimator(address, _short(address))
    if address.startswith(RECIPE):
        return Network(address.removeprefix(RECIPE), find_recipe(address.removeprefix(RECIPE)))
    estimator = _import_estimator(address)
    if estimator is not None:
        return Estimator(default_name(address), _checked(estimator, address))
    near = difflib.get_close_matches(address, (*SHORT_NAMES, *RECIPES), n=1)
    if near and not os.path.exists(address):
        hint = f"{RECIPE}{near[0]}" if near[0] in RECIPES else near[0]
        raise ValueError(f"no model is called {address!r}; did you mean {hint}?")
    opened = open_model(address)
    return Given(opened.name, opened)


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
    from scuff.models.open import import_object, is_python_address

    if not is_python_address(address):
        return None
    thing = import_object(address)
    if not _is_estimator(thing):
        return None
    try:
        return thing() if isinstance(thing, type) else thing
    except TypeError as error:
        raise ValueError(
            f"{address} cannot be made without arguments ({error}); name an object that is made"
        ) from error


def _checked(estimator: Any, name: str) -> Any:
    """Refuse regressors and the like, of which a share of right answers would mean nothing."""
    from sklearn.base import is_classifier

    try:
        is_suitable = is_classifier(estimator)
    except (AttributeError, TypeError):  # of a class that does not know of scikit-learn's tags
        is_suitable = getattr(estimator, "_estimator_type", None) == "classifier"
    if not is_suitable:
        raise ValueError(
            f"{name} is no classifier; expected an estimator that predicts classes (one of your own derives from "
            "sklearn.base.ClassifierMixin and BaseEstimator)"
        )
    return estimator


def _describe(value: Any) -> str:
    """A parameter as text, the same in every process and different for different values."""
    if isinstance(value, np.ndarray):
        digest = hashlib.blake2b(np.ascontiguousarray(value), digest_size=8).hexdigest()
        return f"array {value.shape} {value.dtype} {digest}"
    if inspect.isroutine(value):
        return f"{value.__module__}.{value.__qualname__}"
    return re.sub(r" at 0x[0-9a-f]+", "", str(value))


def count_neighbours(contender: Contender) -> int:
    """The least number of training points: the neighbours of a nearest-neighbour rule, else one."""
    parameters: Mapping[str, Any] = contender.estimator.get_params() if isinstance(contender, Estimator) else {}
    counts: Sequence[Any] = [value for key, value in parameters.items() if key.rpartition("__")[2] == "n_neighbors"]
    return max([value for value in counts if isinstance(value, int)], default=1)
