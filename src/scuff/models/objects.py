"""Models that are Python objects: modules, functions, and whatever makes them."""

from __future__ import annotations

import contextlib
import difflib
import importlib
import inspect
import operator
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from torch import nn

from scuff.failures import explaining_errors
from scuff.models.classifier import Classifier, address_of


def open_python(address: str, schemes: tuple[str, ...] = ()) -> Classifier:
    """The classifier that `package.module:object` is, or makes; `schemes` as in `import_object`."""
    with _current_folder_importable():  # what makes a model may import more
        return open_object(import_object(address, schemes), address)


def import_object(address: str, schemes: tuple[str, ...] = ()) -> Any:
    """`package.module:object`, where the current folder counts as a place of packages.

    `schemes` are the words that may stand before a colon instead of a package, for the case that one is misspelled.
    """
    module, _, name = address.partition(":")
    with _current_folder_importable():
        try:
            imported = importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{module}.".startswith(f"{error.name}."):
                raise  # the module is there; what it imports is not
            near = difflib.get_close_matches(module, schemes, n=1)
            hint = f"did you mean {near[0]}:{name}?" if near else f"looked in {os.getcwd()} and among the packages"
            raise ValueError(f"no module is called {error.name!r} ({address}); {hint}") from error
        try:
            return operator.attrgetter(name)(imported)
        except AttributeError as error:
            near = difflib.get_close_matches(name, dir(imported), n=3)
            hint = f"; did you mean {', '.join(near)}?" if near else ""
            raise ValueError(f"module {module} has no {name!r}{hint}") from error


def open_object(thing: Any, address: str = "") -> Classifier:
    """A classifier, a torch module, what makes one of them when it is called with nothing, or a callable to logits."""
    address = address or address_of(thing)
    if _makes_a_model(thing):
        with explaining_errors(address):
            thing = thing()
    if isinstance(thing, Classifier):
        return thing if thing.address else replace(thing, address=address)
    if not callable(thing):
        raise ValueError(
            f"{address} is of type {type(thing).__name__}; expected a Classifier, a torch module, a class or function "
            "without required parameters that makes one, or a callable from images (N, C, H, W) to logits (N, K)"
        )
    classifier = Classifier(thing, channels=_channels_of(thing), address=address)
    return classifier.on(classifier.device)


def _makes_a_model(thing: Any) -> bool:
    """Whether it is called to get a model. Anything that needs an argument is taken to be the model itself."""
    if isinstance(thing, (Classifier, nn.Module)) or not callable(thing):
        return False
    try:
        parameters = inspect.signature(thing).parameters.values()
    except ValueError:  # something built in, which does not tell
        return isinstance(thing, type)
    required = [p.name for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    if required and isinstance(thing, type):
        raise ValueError(
            f"{address_of(thing)} needs arguments ({', '.join(required)}); write a function without any that makes it"
        )
    return not required


def _channels_of(thing: Any) -> int | None:
    """3 where the first convolution takes three channels, so that grey images can be tripled; else nobody knows."""
    modules = thing.modules() if isinstance(thing, nn.Module) else ()
    first = next((m for m in modules if isinstance(m, nn.Conv2d)), None)
    return 3 if first is not None and first.in_channels == 3 else None


@contextlib.contextmanager
def _current_folder_importable() -> Iterator[None]:
    folder = os.getcwd()
    sys.path.insert(0, folder)
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(folder)
