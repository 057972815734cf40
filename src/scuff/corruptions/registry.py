"""What a corruption is, and the one table that knows them all.

A corruption is two functions. `draw` turns keys into random tensors, one row per image. `apply` turns pixels and those
tensors into pixels, deterministically. So every draw can be looked at, replayed, or replaced by one of your own:

    @register(family="weather", draw=_draw_fog)
    def fog(x, cloud, *, strength): ...

After `x`, positional arguments of `apply` are drawn tensors, keyword-only arguments are parameters. Keyword-only
arguments of `draw` are parameters too. A parameter that both need appears in both. Suites give parameters their values.
A `motion`, if there is one, says what happens to places; see `scuff.corruptions.motion`.
A parameter listed in `ranges` may also be a `Range`: `draw` picks each image's own value from it. An `apply` that asks
for such a parameter gets the range itself, to know how far values reach.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, TypeVar

from torch import Tensor

from scuff.corruptions.motion import Motion, Motions
from scuff.plugins import load_installed, note_part
from scuff.ranges import Range, is_number

Parameters = Mapping[str, Any]
Apply = Callable[..., Tensor | Iterator[Tensor]]
Memory = Callable[[int, tuple[int, ...], Parameters], float]
AnyApply = TypeVar("AnyApply", bound=Apply)

HENDRYCKS = "Hendrycks and Dietterich, Benchmarking Neural Network Robustness to Common Corruptions, ICLR 2019"
MINTUN = "Mintun, Kirillov and Xie, On Interaction Between Augmentations and Corruptions, NeurIPS 2021"
NOC = "Laugros, Caplier and Ospici, Robustness Benchmarks by Using Non-Overlapping Corruptions, ICLR 2021 submission"
MICHAELIS = (
    "Michaelis et al., Benchmarking Robustness in Object Detection: Autonomous Driving when Winter is Coming, 2019"
)
SYN2NAT = "Laugros, Caplier and Ospici, Using Synthetic Corruptions to Measure Natural Robustness, BMVC 2021"

DOMAINS = ("unit", "real", "byte")


@dataclass(frozen=True)
class Corruption:
    """One registered corruption; see the module's text for `draw` and `apply`.

    `domain` is "unit" (float32 in [0, 1] in, any float out: the door clips and truncates to bytes), "real" (the same,
    but the door rounds to the nearest byte) or "byte" (uint8 in, uint8 out). One of reals that takes `bytes_too` makes
    of bytes what the door would make of its floats. `colour` asks for three channels: grey images are tripled before
    and folded back after. `lengths` names the parameters measured in pixels, which scale with the image, and `ranges`
    those that may be a Range. The `apply` of a `sequence` is a generator that yields frames, one batch after the other;
    one that moves the view is made `before_crop`, so that the picture's surroundings come into sight. `limits` says
    what parameters may be: whole numbers where both ends are whole. `memory` is a function of the number of images,
    their shape and the parameters, for what needs much more memory than some copies of the images: how many numbers it
    holds at once. `shared_draw` takes the place of `draw` where severities share their draws, if `draw` would turn a
    small step of a parameter into another picture. `motion` says what becomes of places. It takes the shape of an
    image, then the draws and parameters that it names; without one, all places stay. `copies` says how many copies of
    the images, in float32, there are at once on a GPU, if these are more than two: what is drawn, what is made on the
    way, and the result.
    """

    name: str
    family: str
    draw: Callable[..., dict[str, Tensor]]
    apply: Apply
    domain: str = "unit"
    colour: bool = False
    lengths: tuple[str, ...] = ()
    ranges: tuple[str, ...] = ()
    sequence: bool = False
    before_crop: bool = False
    reference: str = ""
    bytes_too: bool = False
    limits: Mapping[str, Range] = field(default_factory=dict)
    memory: Memory | None = None
    shared_draw: Callable[..., dict[str, Tensor]] | None = None
    motion: Motions | None = None
    copies: float = 2.0

    def __hash__(self) -> int:  # `limits` has none
        return hash(self.name)

    @property
    def text(self) -> str:
        """The docstring of `apply`."""
        return inspect.getdoc(self.apply) or ""

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of all parameters, in the order of their first appearance."""
        return tuple(dict.fromkeys((*_keywords(self.apply), *_keywords(self.draw))))

    def check_parameters(self, parameters: Parameters) -> None:
        """Refuse missing or unknown parameters, and values beyond their limits."""
        missing = [p for p in self.parameters if p not in parameters]
        unknown = [p for p in parameters if p not in self.parameters]
        if missing or unknown:
            raise ValueError(
                f"{self.name} takes the parameters {', '.join(self.parameters) or '(none)'}; "
                f"missing: {', '.join(missing) or 'none'}; unknown: {', '.join(unknown) or 'none'}"
            )
        for parameter, value in parameters.items():
            if isinstance(value, Range) and parameter not in self.ranges:
                raise ValueError(f"{self.name} cannot draw its {parameter} from a range; give one number, got {value}")
            limit = self.limits.get(parameter)
            ends = (value.low, value.high) if isinstance(value, Range) else (value,)
            if limit is not None and not all(is_number(end) and limit.contains(end) for end in ends):
                kind = "a whole number" if limit.is_whole else "a number"
                kind += ", or a range of them," if parameter in self.ranges else ""
                raise ValueError(f"{self.name}: {parameter}: expected {kind} within {limit}, got {value}")

    def sharing_draws(self) -> Corruption:
        """The same distribution, by draws that let a rising severity change one scene."""
        return replace(self, draw=self.shared_draw) if self.shared_draw else self

    def taking_bytes(self) -> Corruption:
        """The same from bytes to bytes, where it can do that: without a copy of the batch in floats."""
        return replace(self, domain="byte") if self.bytes_too else self

    def scaled(self, parameters: Parameters, factor: float) -> dict[str, Any]:
        """Multiply lengths by `factor`: real ones freely, whole ones rounded and at least 1; within their limits."""

        def scale(value: float) -> float:
            return max(1, round(value * factor)) if isinstance(value, int) else value * factor

        def scale_any(value: float | Range) -> float | Range:
            return Range(scale(value.low), scale(value.high)) if isinstance(value, Range) else scale(value)

        scaled = {p: scale_any(v) if p in self.lengths else v for p, v in parameters.items()}
        for parameter in self.lengths:
            value, limit = scaled[parameter], self.limits.get(parameter)
            if limit is not None and (value.high if isinstance(value, Range) else value) > limit.high:
                raise ValueError(
                    f"{self.name}: {parameter} becomes {value} on these images, {factor:g} times as large as the "
                    f"suite is meant for, and must be within {limit}; make the images smaller"
                )
        return scaled

    def __call__(self, x: Tensor, keys: Tensor, parameters: Parameters) -> Any:
        """Draw, then apply."""
        drawn = self.drawn(keys, x.shape[1:], parameters)
        return self.apply(x, **drawn, **{p: parameters[p] for p in _keywords(self.apply)})

    def drawn(self, keys: Tensor, shape: Sequence[int], parameters: Parameters) -> dict[str, Tensor]:
        """The random tensors for images of `shape` (C, H, W), one row per key."""
        return self.draw(keys, tuple(shape), **{p: parameters[p] for p in _keywords(self.draw)})

    def motion_of(self, keys: Tensor, shape: Sequence[int], parameters: Parameters) -> Any:
        """What becomes of places in the pictures that `self(x, keys, parameters)` makes: a Motion, or one per frame."""
        if self.motion is None:
            return Motion((shape[-2], shape[-1]))
        drawn = self.drawn(keys, shape, parameters)
        given = {p: drawn[p] for p in _positional(self.motion)[1:]}
        return self.motion(tuple(shape), **given, **{p: parameters[p] for p in _keywords(self.motion)})


@cache
def _keywords(function: Callable) -> tuple[str, ...]:
    parameters = inspect.signature(function).parameters.values()
    return tuple(p.name for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY)


@cache
def _positional(function: Callable) -> tuple[str, ...]:
    return tuple(p for p in inspect.signature(function).parameters if p not in _keywords(function))


def draw_nothing(keys: Tensor, shape: tuple[int, int, int]) -> dict[str, Tensor]:
    """The `draw` of a deterministic corruption."""
    return {}


_registry: dict[str, Corruption] = {}


def register(
    *,
    family: str,
    draw: Callable[..., dict[str, Tensor]] = draw_nothing,
    domain: str = "unit",
    colour: bool = False,
    lengths: tuple[str, ...] = (),
    ranges: tuple[str, ...] = (),
    sequence: bool = False,
    before_crop: bool = False,
    reference: str = "",
    bytes_too: bool = False,
    limits: Mapping[str, Range] | None = None,
    memory: Memory | None = None,
    shared_draw: Callable[..., dict[str, Tensor]] | None = None,
    motion: Motions | None = None,
    copies: float = 2.0,
) -> Callable[[AnyApply], AnyApply]:
    """Register the decorated `apply` under its own name. Plug-ins use the same decorator.

    `limits` may name more than the parameters of this corruption, so that a module has one table of them. A package
    makes its corruptions known by an entry point of the group `scuff.plugins` that names the module.
    """
    if domain not in DOMAINS:
        raise ValueError(f"domain must be one of {', '.join(DOMAINS)}, got {domain!r}")

    def add(apply: AnyApply) -> AnyApply:
        name = apply.__name__
        if not name.isidentifier():  # suites name their entries after it, and these become folders
            raise ValueError(f"a corruption needs the name of a function, got {name!r}")
        if name in _registry:
            raise ValueError(f"the corruption {name!r} is registered already, by {_registry[name].apply.__module__}")
        corruption = Corruption(
            name, family, draw, apply, domain, colour, lengths, ranges, sequence, before_crop, reference, bytes_too
        )
        own = {p: limit for p, limit in (limits or {}).items() if p in corruption.parameters}
        corruption = replace(
            corruption, limits=own, memory=memory, shared_draw=shared_draw, motion=motion, copies=copies
        )
        for what, given in (("a length", lengths), ("a range", ranges)):
            unknown = [p for p in given if p not in corruption.parameters]
            if unknown:
                raise ValueError(f"{name} has no parameter {', '.join(unknown)} to be {what}")
        _registry[name] = corruption
        note_part("corruption", name, apply.__module__)
        return apply

    return add


def get(name: str) -> Corruption:
    """The corruption of that name; a wrong name is answered with near ones."""
    load_installed()
    if name not in _registry:
        near = difflib.get_close_matches(name, _registry, n=3, cutoff=0.5)
        hint = f"did you mean {', '.join(near)}?" if near else f"there are {', '.join(sorted(_registry))}."
        if not difflib.get_close_matches(name, _registry, cutoff=0.8):
            hint += " One of your own needs --plugin FILE.py, or the import of its module"
        raise KeyError(f"no corruption is called {name!r}; {hint}")
    return _registry[name]


def names(family: str | None = None) -> list[str]:
    """All registered names, or those of one family, in the order of registration."""
    load_installed()
    return [c.name for c in _registry.values() if family in (None, c.family)]
