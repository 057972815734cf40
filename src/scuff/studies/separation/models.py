"""Models in a study of MSCR: scikit-learn estimators, networks trained by a recipe, and trained classifiers."""

from __future__ import annotations

import difflib
import hashlib
import inspect
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from scuff.models import open_model
from scuff.models.open import NAME, default_name, is_python_address, split_name
from scuff.plugins import import_object
from scuff.training.recipes import RECIPES, Recipe, find_recipe

RECIPE = "recipe:"
SHORT_NAMES = ("random-forest", "1-nn")  # the two models of the paper for data in two dimensions


@dataclass(frozen=True, eq=False)
class Contender(ABC):
    """A model of a study; `address` is how it was given, if not as an object."""

    name: str
    model: Any = field(repr=False)
    address: str | None = None

    @property
    def fewest_points(self) -> int:
        """The least number of training points."""
        return 1

    @abstractmethod
    def describe(self) -> str:
        """What determines its predictions, as text."""


class Estimator(Contender):
    """A scikit-learn estimator, which is copied and fitted anew for every cell."""

    @property
    def fewest_points(self) -> int:
        """The neighbours of a nearest-neighbour rule, else one."""
        parameters = self.model.get_params().items()
        counts = [value for key, value in parameters if key.rpartition("__")[2] == "n_neighbors"]
        return max([value for value in counts if isinstance(value, int)], default=1)

    def describe(self) -> str:
        """Its class and all parameters."""
        kind = type(self.model)
        parameters = {key: _describe(value) for key, value in sorted(self.model.get_params(deep=True).items())}
        return f"{kind.__module__}.{kind.__qualname__} {parameters}"

    def make(self, seed: int) -> Any:
        """A fresh copy whose every random_state is the seed."""
        from sklearn.base import clone

        fresh = clone(self.model)
        states = [key for key in fresh.get_params(deep=True) if key.rpartition("__")[2] == "random_state"]
        return fresh.set_params(**dict.fromkeys(states, seed))


class Network(Contender):
    """A recipe, by which a network is trained for every cell."""

    def describe(self) -> str:
        """The recipe."""
        return f"{RECIPE}{self.model.name} {self.model.settings()}"


class Given(Contender):
    """A classifier that is trained already, and tested as it is."""

    def describe(self) -> str:
        """Its address and a hash of it."""
        return f"{self.model.address} {self.model.fingerprint()}"


def open_contenders(models: Any) -> dict[str, Contender]:
    """Models by their names, from one, several, or a mapping of names.

    A model is `"random-forest"` (100 trees), `"1-nn"`, the address of an estimator as in
    `"sklearn.svm:SVC"`, a recipe as in `"recipe:cifar-fast"`, anything that `open_model` opens, or one of these as an
    object. `NAME=` before an address gives it a name.
    """
    if isinstance(models, Mapping):
        opened = [_named(_open(model), name) for name, model in models.items()]
    else:
        opened = [_open(model) for model in (models if isinstance(models, (list, tuple)) else [models])]
    if not opened:
        raise ValueError("no model is given")
    names = [contender.name for contender in opened]
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise ValueError(f"two models are called {repeated}; name one of them, as in other=ADDRESS")
    given = [contender.name for contender in opened if isinstance(contender, Given)]
    if 0 < len(given) < len(opened):
        raise ValueError(
            f"{', '.join(given)} is trained already, the other models are trained here, with noise; measure them apart"
        )
    return dict(zip(names, opened, strict=True))


def _open(model: Any) -> Contender:
    if isinstance(model, Contender):
        return model
    if isinstance(model, Recipe):
        return Network(model.name, model)
    if isinstance(model, (str, os.PathLike)):
        name, address = split_name(os.fspath(model))
        contender = replace(_open_address(address), address=address)
        return _named(contender, name) if name else contender
    if _is_estimator(model):
        return _estimator(type(model).__name__, model)
    opened = open_model(model)
    return Given(opened.name, opened)


def _open_address(address: str) -> Contender:
    if address in SHORT_NAMES:
        from sklearn.ensemble import RandomForestClassifier
        from sklearn.neighbors import KNeighborsClassifier

        return Estimator(
            address, RandomForestClassifier(100) if address == "random-forest" else KNeighborsClassifier(1)
        )
    if address.startswith(RECIPE):
        return Network(address.removeprefix(RECIPE), find_recipe(address.removeprefix(RECIPE)))
    if is_python_address(address) and _is_estimator(thing := import_object(address)):
        try:
            return _estimator(address, thing() if isinstance(thing, type) else thing, default_name(address))
        except TypeError as error:
            raise ValueError(
                f"{address} cannot be made without arguments ({error}); name an object that is made"
            ) from error
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


def _is_estimator(thing: Any) -> bool:
    return all(hasattr(thing, method) for method in ("fit", "predict", "get_params"))


def _estimator(address: str, estimator: Any, name: str | None = None) -> Estimator:
    """Refuse regressors and the like, of which a share of right answers would mean nothing."""
    from sklearn.base import is_classifier

    try:
        is_suitable = is_classifier(estimator)
    except (AttributeError, TypeError):  # of a class that does not know of scikit-learn's tags
        is_suitable = getattr(estimator, "_estimator_type", None) == "classifier"
    if not is_suitable:
        raise ValueError(
            f"{address} is no classifier; expected an estimator that predicts classes (one of your own derives from "
            "sklearn.base.ClassifierMixin and BaseEstimator)"
        )
    return Estimator(name or address, estimator)


def _describe(value: Any) -> str:
    """A parameter as text, the same in every process and different for different values."""
    if isinstance(value, np.ndarray):
        digest = hashlib.blake2b(np.ascontiguousarray(value), digest_size=8).hexdigest()
        return f"array {value.shape} {value.dtype} {digest}"
    if inspect.isroutine(value):
        return f"{value.__module__}.{value.__qualname__}"
    return re.sub(r" at 0x[0-9a-f]+", "", str(value))
