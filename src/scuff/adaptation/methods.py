"""Methods by their names: `tent`, `tent:rate=0.01,optimiser=sgd`, `mine.py:Mine`, or a class.

Options that are not given are those that the papers and their benchmarks use: for CIFAR-10 the defaults of the classes,
for others what `PUBLISHED` says.
"""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from torch import Tensor, nn

from scuff.adaptation.cotta import CoTTA
from scuff.adaptation.entropy import Eata, Eta, RDumb, Tent
from scuff.adaptation.norm import BatchNorm, PriorNorm, RunningNorm, Source
from scuff.models.classifier import address_of
from scuff.plugins import import_object, load_plugins
from scuff.words import near_names

METHODS: dict[str, Any] = {
    "source": Source,
    "bn": BatchNorm,
    "bn-prior": PriorNorm,
    "bn-ema": RunningNorm,
    "tent": Tent,
    "eta": Eta,
    "eata": Eata,
    "cotta": CoTTA,
    "rdumb": RDumb,
}
_SLOWLY = {"optimiser": "sgd", "rate": 2.5e-4}
PUBLISHED: dict[str, dict[str, dict[str, Any]]] = {
    "cifar10": {},
    "cifar100": {"eta": {"margin": 0.1}, "eata": {"margin": 0.1}, "cotta": {"unsure": 0.72}},
    "imagenet": {
        "tent": _SLOWLY,
        "eta": {**_SLOWLY, "margin": 0.05},
        "eata": {**_SLOWLY, "margin": 0.05, "hold": 2000.0},
        "rdumb": {**_SLOWLY, "margin": 0.05},
        "cotta": {"optimiser": "nesterov", "rate": 0.01, "unsure": 0.1, "restore": 0.001, "symmetric": True},
    },
}
LARGEST_SMALL = 64  # pixels: up to this side, images are taken to be like those of CIFAR
CLASSES_OF_CIFAR10 = 10


class Adapts(Protocol):
    """What a method must be able to do."""

    def adapt(self, images: Tensor) -> Tensor:
        """The logits of the next batch, from which it may learn."""

    def reset(self) -> None:
        """Be again as in the beginning."""


@dataclass(frozen=True)
class AskedMethod:
    """A method that was asked for: what it is called, its class, and the options that were given."""

    name: str
    make: Any = field(repr=False)
    given: Mapping[str, Any] = field(default_factory=dict)

    def options(self, benchmark: str, seed: int = 0) -> dict[str, Any]:
        """All its options on one of the benchmarks of `PUBLISHED`; if it draws, its seed is that of the run."""
        kind = next((kind for kind, known in METHODS.items() if known is self.make), "")
        defaults = _defaults(self.make)
        draws = {"seed": seed} if "seed" in defaults else {}
        return {**defaults, **PUBLISHED[benchmark].get(kind, {}), **draws, **self.given}

    def open(self, network: nn.Module, benchmark: str, seed: int = 0) -> Adapts:
        """The method, about to adapt a network, which is its own."""
        method = self.make(network, **self.options(benchmark, seed))
        missing = [name for name in ("adapt", "reset") if not callable(getattr(method, name, None))]
        if missing:
            raise ValueError(f"the method {self.name} has no function {missing[0]}; it needs adapt(images) and reset()")
        return method

    @property
    def code(self) -> str:
        """A hash of the text of a user's own class, if it can be found; nothing for the methods of this package."""
        try:
            text = "" if self.make in METHODS.values() else inspect.getsource(self.make)
        except (OSError, TypeError):
            text = ""
        return text and hashlib.blake2b(text.encode(), digest_size=8).hexdigest()

    @property
    def file_name(self) -> str:
        """The name in a form that files may have."""
        return file_name(self.name)


def file_name(method: str) -> str:
    """The name of a method in a form that files may have.

    >>> file_name("tent:rate=0.01,optimiser=sgd")
    'tent-rate-0.01-optimiser-sgd'
    """
    return re.sub(r"[^\w.-]+", "-", method)


def ask_methods(methods: Any) -> dict[str, AskedMethod]:
    """Methods by name, from one or several names, addresses or classes, in their order."""
    several = methods if isinstance(methods, Iterable) and not isinstance(methods, str) else [methods]
    asked = [ask_method(method) for method in several]
    names = [method.file_name for method in asked]
    if not asked:
        raise ValueError(f"expected a method: {', '.join(METHODS)}, FILE.py:CLASS")
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"the method {name} was asked for twice")
    return {method.name: method for method in asked}


def ask_method(method: Any) -> AskedMethod:
    """A method by its name, with options or without, by its address, or its class itself.

    >>> ask_method("tent:rate=0.01").options("imagenet")
    {'optimiser': 'sgd', 'rate': 0.01}
    """
    if not isinstance(method, str):
        return AskedMethod(_called(method), method)
    kind, _, options = method.partition(":")
    if kind in METHODS:
        return AskedMethod(method, METHODS[kind], _parse(method, METHODS[kind], options))
    name, _, options = options.partition(":")
    if not name:
        raise ValueError(f"no method is called {method!r}; {near_names(kind, METHODS)}; or FILE.py:CLASS")
    if kind.endswith(".py"):
        load_plugins([kind])
    made = import_object(f"{Path(kind).stem if kind.endswith('.py') else kind}:{name}", METHODS)
    return AskedMethod(f"{_called(made)}{options and f':{options}'}", made, _parse(method, made, options))


def similar_benchmark(side: int, classes: int) -> str:
    """The published benchmark whose options suit images of that side, in pixels, and so many classes."""
    if side > LARGEST_SMALL:
        return "imagenet"
    return "cifar10" if classes <= CLASSES_OF_CIFAR10 else "cifar100"


def _called(made: Any) -> str:
    """The name of a class, in small letters, if it may be a method."""
    if not callable(made):
        raise ValueError(f"expected the class of a method, which is called with a network; got {made!r}")
    name = address_of(made).rpartition(":")[2].lower()
    if METHODS.get(name, made) is not made:
        raise ValueError(f"{name} is a method of scuff's own; call yours by another name")
    others = list(inspect.signature(made).parameters.values())[1:]
    for other in others:
        if other.default is other.empty and other.kind not in (other.VAR_POSITIONAL, other.VAR_KEYWORD):
            raise ValueError(f"a method is made with a network alone, so {other.name} of {name} needs a default")
    return name


def _defaults(made: Any) -> dict[str, Any]:
    parameters = inspect.signature(made).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not p.empty}


def _parse(method: str, made: Any, text: str) -> dict[str, Any]:
    """Options as name=value; each is read as its default is."""
    defaults, options = _defaults(made), {}
    for part in text.split(",") if text else []:
        name, _, value = (word.strip() for word in part.partition("="))
        if name not in defaults or name in options or not value:
            known = f"its options are {', '.join(defaults)}, as name=value" if defaults else "it has no options"
            raise ValueError(f"cannot read {part!r} of the method {method!r}; {known}")
        kind = type(defaults[name])
        try:
            options[name] = {"true": True, "false": False}[value.lower()] if kind is bool else kind(value)
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{name} of the method {method!r} cannot be {value!r}") from error
    return options
