"""Recipes: which corruption comes when, how severe, on which images, and when a model starts anew.

    stream: my-stream
    suite: cifar10-c            # by default that of the source, or the one for its image size
    corruptions: cotta-3        # std (the suite's own order), cotta-0 to cotta-9, cotta (all ten), random, or a list
    severities: {first: [5, 4, 3, 2, 1], then: [1, 2, 3, 4, 5, 4, 3, 2, 1]}
    images: {order: file, limit: 1000, draws: image}
    run: {reset: first, visits: 1, batch: 200, across: false}

An address changes a recipe that has a name: `gradual:order=chunks,corruptions=cotta-3`.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from math import ceil
from pathlib import Path
from typing import Any

import yaml

from scuff.ranges import is_number
from scuff.readers import read_yaml
from scuff.streams.refusals import check_recipe
from scuff.words import near_names

PROFILES = ({"first", "then"}, {"outer"}, {"walk"})


@dataclass(frozen=True)
class Walk:
    """A walk of CCC: from one corruption to the next, on a way whose mean accuracy is the target.

    `target` is in percent; `matrix` is a file of accuracies, see `scuff stream calibrate`. Every node of a path has
    `speed` images, and the walk ends with the first node that reaches `length`. `chain` says who draws the corruptions:
    "published" is Python's generator, as the authors' own program does it, "keyed" ours. `join` starts every path at
    the severity at which the one before has ended.
    """

    target: float
    matrix: str | None = None
    speed: int = 1000
    length: int = 7_500_000
    chain: str = "published"
    join: bool = False


@dataclass(frozen=True)
class Recipe:
    """A stream as data.

    Parameters
    ----------
    name, about
        What it is called, and what it is.
    suite
        The suite of its corruptions; by default that of the source's image size.
    corruptions
        "std": the suite's benchmark in its order. "cotta-0" to "cotta-9": CoTTA's orders; "cotta": all ten, one run
        each. "random": an order that the seed draws. Or names, where "fog+snow" is one after the other.
    severities
        What each corruption goes through: levels `[5]`; or `{first, then}`, the first corruption and all others; or
        `{outer: [5, 4]}`, all corruptions at the first level, then all at the next; or `{walk: 9}`, as many steps of a
        random walk up and down the levels.
    together
        2: every image also goes through the next corruption of the order.
    mixed
        One segment in place of many: all images of all corruptions, in one order.
    clean
        Uncorrupted images after every corruption.
    order
        Of the images of a segment. "file"; "shared": shuffled, alike in all segments; "fresh": shuffled anew; "class":
        sorted by label; "chunks", "slots", "imbalance": correlated labels, see `scuff.streams.orders`.
    limit
        Take so many images of the source, drawn by the seed.
    concentration, ratio, samples
        Of "chunks" and "slots": small is more correlated. Of "imbalance": how much likelier a class is than any other
        while it is its turn, and the length of a segment, by default 100 images for each class.
    draws
        "image": an image is corrupted alike whenever it comes. "position": each time anew.
    view
        "none": images as they are. "centre": pictures at 256 pixels, the middle 224 of them. "random": a random resized
        crop, of pictures to 224 pixels, of arrays to their own size, half of them mirrored. By default "none" for
        arrays; for pictures "random" on a walk, else "centre".
    as_published
        Send every image through a JPEG of quality 85 in the end.
    reset
        Before which segments a model returns to its start: the "first" of a run, each new "corruption", each "segment".
    visits
        How often a run goes through all its corruptions.
    batch, across, least
        Images of a batch, by default 200, or 64 above 64 pixels; whether batches cross the borders of segments; smaller
        batches than `least` are left out.
    eta, speed_ratio
        The constant-speed protocol: 0 waits for a method, 1 lets the stream flow on; and how much longer than a plain
        prediction a method takes, if that is not to be measured.
    walk
        A walk of CCC in place of severities.
    """

    name: str
    about: str = ""
    suite: str | None = None
    corruptions: str | tuple[str, ...] = "std"
    severities: Mapping[str, Any] = dataclasses.field(default_factory=lambda: {"first": [5], "then": [5]})
    together: int = 1
    mixed: bool = False
    clean: bool = False
    order: str = "shared"
    limit: int | None = None
    concentration: float = 0.1
    ratio: float = 500_000.0
    samples: int | None = None
    draws: str = "image"
    view: str | None = None
    as_published: bool = False
    reset: str = "first"
    visits: int = 1
    batch: int | None = None
    across: bool = False
    least: int = 1
    eta: float = 0.0
    speed_ratio: float | None = None
    walk: Walk | None = None

    def __post_init__(self) -> None:
        check_recipe(self, _flat(self))

    def replace(self, **changes: Any) -> Recipe:
        """The same with some settings changed; those of a walk too, by their own names.

        >>> load_recipe("continual").replace(corruptions="cotta-3", order="chunks").order
        'chunks'
        """
        return recipe_from_dict(_flat(self) | {_known(key, self.name): value for key, value in changes.items()}, "")

    def to_dict(self) -> dict[str, Any]:
        """The content of the YAML file, without what is there by default."""
        plain = {
            f.name: _plain(getattr(self, f.name))
            for f in dataclasses.fields(self)
            if f.name not in ("name", "walk") and getattr(self, f.name) != _default(f)
        }
        content = {"stream": self.name, **{key: value for key, value in plain.items() if key not in GROUP_OF}}
        if self.walk is not None:
            content["walk"] = dataclasses.asdict(self.walk)
        for group, keys in GROUPS.items():
            if of_group := {key: plain[key] for key in keys if key in plain}:
                content[group] = of_group
        return content

    def to_yaml(self) -> str:
        """The text of the file that `load_recipe` reads."""
        return yaml.safe_dump(self.to_dict(), sort_keys=False, default_flow_style=None, width=120)

    def period(self, speed_ratio: float | None = None) -> int:
        """Under the constant-speed protocol batches 0, C, 2 C, ... are adapted to; this is C.

        `speed_ratio` is how much longer than a plain prediction the method takes; the recipe's own goes first.

        >>> load_recipe("continual:eta=1").period(2.2), load_recipe("continual").period(2.2)
        (3, 1)
        """
        ratio = self.speed_ratio if self.speed_ratio is not None else speed_ratio
        if self.eta and ratio is None:
            raise ValueError(
                "a stream of constant speed needs to know how much longer than a prediction a method takes"
            )
        return max(1, ceil(self.eta * (ratio or 0.0)))


GROUPS: dict[str, tuple[str, ...]] = {
    "images": ("order", "limit", "concentration", "ratio", "samples", "draws", "view", "as_published"),
    "run": ("reset", "visits", "batch", "across", "least", "eta", "speed_ratio"),
}
GROUP_OF = {key: group for group, keys in GROUPS.items() for key in keys}
WALK_KEYS = tuple(f.name for f in dataclasses.fields(Walk))
KEYS = tuple(f.name for f in dataclasses.fields(Recipe) if f.name not in ("name", "walk"))


def list_recipes() -> list[str]:
    """The names of the recipes that come with the package."""
    return list(_bundled())


@lru_cache
def _bundled() -> dict[str, Any]:
    text = (resources.files(__package__) / "recipes.yaml").read_text(encoding="utf-8")
    return read_yaml(text, "recipes.yaml", dict[str, dict[str, Any]])


def load_recipe(recipe: str | os.PathLike[str] | Mapping[str, Any] | Recipe) -> Recipe:
    """A recipe by its name or address, from a YAML file, or from the content of one.

    >>> load_recipe("recurring:visits=2,order=fresh").visits
    2
    """
    if isinstance(recipe, Recipe):
        return recipe
    if isinstance(recipe, Mapping):
        return recipe_from_dict(recipe, "the recipe")
    text = os.fspath(recipe)
    name, _, options = text.partition(":")
    if name in _bundled():
        changes = dict(_option(part, text) for part in options.split(",") if part)
        return recipe_from_dict({"stream": name, **_bundled()[name]}, name).replace(**changes)
    if text.endswith((".yaml", ".yml")):
        try:
            content = Path(text).expanduser().read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"cannot read the recipe {text}: {getattr(error, 'strerror', None) or error}") from error
        return recipe_from_dict(read_yaml(content, text), text)
    raise ValueError(
        f"no stream is called {name!r}; {near_names(name, list_recipes(), most=30)}. A file of your own ends in .yaml"
    )


def _option(part: str, address: str) -> tuple[str, Any]:
    key, equals, value = (word.strip() for word in part.partition("="))
    if not equals or not value:
        raise ValueError(f"cannot read {part!r} of the stream {address!r}; options are name=value, with commas between")
    if key == "corruptions" and ";" in value:
        return key, value.split(";")
    if key == "severities":
        return key, [read_yaml(level, part, Any) for level in value.split(";")]
    return key, read_yaml(value, part, Any)


def recipe_from_dict(content: Mapping[str, Any], where: str) -> Recipe:
    """A recipe from the content of its file, in groups or flat."""
    flat: dict[str, Any] = {}
    for key, value in content.items():
        if key in GROUPS or (key == "walk" and value is not None):
            if not isinstance(value, Mapping):
                raise ValueError(f"{where}: {key} must be a mapping, got {value!r}")
            allowed = WALK_KEYS if key == "walk" else GROUPS[key]
            if wrong := [k for k in value if k not in allowed]:
                raise ValueError(f"{where}: {key} has no {wrong[0]!r}; {near_names(str(wrong[0]), allowed, most=30)}")
            flat |= value
        elif key not in ("walk", "stream", "name"):
            flat[_known(key, where)] = value
    name = content.get("stream", content.get("name", "unnamed"))
    of_walk = {key: flat.pop(key) for key in WALK_KEYS if key in flat}
    if of_walk and "target" not in of_walk:
        raise ValueError(f"the stream {name} is no walk, which {', '.join(of_walk)} would be for; give it a target too")
    if isinstance(flat.get("corruptions"), (list, tuple)):
        flat["corruptions"] = tuple(flat["corruptions"])
    if "severities" in flat:
        flat["severities"] = _profile(flat["severities"], name)
    return Recipe(name, walk=Walk(**of_walk) if of_walk else None, **flat)


def _known(key: str, where: str) -> str:
    if key not in (*KEYS, *WALK_KEYS):
        raise ValueError(f"{where}: a stream has no {key!r}; {near_names(str(key), [*KEYS, *WALK_KEYS], most=40)}")
    return key


def _profile(severities: Any, name: str) -> dict[str, Any]:
    """Severities in one form: what the first corruption goes through and all others, or `outer`, or `walk`."""
    if is_number(severities):
        severities = [severities]
    if isinstance(severities, (list, tuple)):
        severities = {"first": list(severities), "then": list(severities)}
    if not isinstance(severities, Mapping) or set(severities) not in PROFILES:
        forms = "a list of levels, {first: [...], then: [...]}, {outer: [...]} or {walk: 9}"
        raise ValueError(f"the stream {name}: severities must be {forms}, got {severities!r}")
    for key, value in severities.items():
        if key == "walk":
            good = type(value) is int and value >= 1
        else:
            good = isinstance(value, (list, tuple)) and len(value) > 0 and all(is_number(v) and v > 0 for v in value)
        if not good:
            raise ValueError(f"the stream {name}: severities.{key} must be levels above 0, got {value!r}")
    return dict(severities)


def _flat(recipe: Recipe) -> dict[str, Any]:
    walk = dataclasses.asdict(recipe.walk) if recipe.walk else {}
    return {f.name: getattr(recipe, f.name) for f in dataclasses.fields(recipe) if f.name != "walk"} | walk


def _default(field: dataclasses.Field) -> Any:
    return field.default_factory() if field.default_factory is not dataclasses.MISSING else field.default


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping) and value.get("first") == value.get("then", 0):
        return list(value["first"])
    return list(value) if isinstance(value, tuple) else value
