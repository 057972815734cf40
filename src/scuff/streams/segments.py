"""The table of segments of a stream: what comes when, made once from the recipe."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from scuff import random
from scuff.streams.orders import PER_CLASS, keys, shuffled
from scuff.streams.recipe import Recipe
from scuff.suites import Suite

Level = float | None
Step = tuple[str, Level]  # an entry of the suite and its level; None where the entry has none
Steps = tuple[Step, ...]

CODES = {
    "gn": "gaussian_noise", "sn": "shot_noise", "in": "impulse_noise", "db": "defocus_blur", "gb": "glass_blur",
    "mb": "motion_blur", "zb": "zoom_blur", "sw": "snow", "fr": "frost", "fg": "fog", "br": "brightness",
    "co": "contrast", "el": "elastic_transform", "px": "pixelate", "jp": "jpeg_compression",
}  # fmt: skip
COTTA = (  # the ten random orders of CoTTA's program, in its numbering
    "br px gn mb zb gb in jp db el sn fr sw fg co",
    "jp sn zb fr co fg db el gn br gb in px sw mb",
    "co db gn sn sw fr gb zb el jp px br in mb fg",
    "sn fg gb px sw el br in db fr co gn mb jp zb",
    "px gb zb sw fg in br mb fr jp gn sn co db el",
    "mb sw fg sn db co zb br fr el gb gn px jp in",
    "fr in jp co zb gb px sw db mb br el sn fg gn",
    "gb zb in fg sw jp gn fr sn br co mb px db el",
    "db mb zb sn gn gb jp fg co px fr sw br el in",
    "co gn db zb fr gb jp fg px el sn in sw mb br",
)
CLEAN = "clean"
MIXED = "mixed"


@dataclass(frozen=True)
class Segment:
    """Images that follow each other under one corruption, or under several that are mixed.

    `domains` are what an image may go through: one tuple of steps (entry, level), or as many as are mixed. `reset` says
    whether a model returns to its start before it. `visit` counts the passes of a run through its corruptions, and
    `expected` is the accuracy in percent that the matrix of a walk promises.
    """

    number: int
    start: int
    length: int
    domains: tuple[Steps, ...]
    reset: bool
    run: int = 0
    visit: int = 0
    severity_unit: float = 1.0  # levels of one severity
    expected: float | None = None

    @property
    def stop(self) -> int:
        return self.start + self.length

    @property
    def steps(self) -> Steps:
        """What every image goes through; of a mixed segment nothing that holds for all."""
        return self.domains[0] if len(self.domains) == 1 else ()

    @property
    def corruption(self) -> str:
        return corruption_label(self.domains[0]) if len(self.domains) == 1 else MIXED

    @property
    def severity(self) -> str:
        labels = {severity_label(steps, self.severity_unit) for steps in self.domains}
        return labels.pop() if len(labels) == 1 else MIXED


def corruption_label(steps: Steps) -> str:
    """The names of the steps, or "clean"."""
    return " + ".join(entry for entry, _ in steps) or CLEAN


def severity_label(steps: Steps, unit: float = 1.0) -> str:
    """The severities of the steps; 0 for none, and nothing where an entry has no levels."""
    return " + ".join("" if level is None else f"{level / unit:g}" for _, level in steps) if steps else "0"


def find_orders(recipe: Recipe, suite: Suite, seed: int) -> list[tuple[str, ...]]:
    """The corruptions of every run, as names of entries, with + between two that come together."""
    wanted = recipe.corruptions
    names = suite.benchmark()
    if not isinstance(wanted, str):
        return [tuple(_found(suite, name) for name in wanted)]
    if wanted == "std":
        return [tuple(names)]
    if wanted == "random":
        return [tuple(names[k] for k in shuffled(len(names), "corruptions", 0, seed))]
    if wanted == "cotta":
        return [_cotta(suite, k) for k in range(len(COTTA))]
    number = wanted.removeprefix("cotta-")
    if wanted.startswith("cotta-") and number.isdecimal() and int(number) < len(COTTA):
        return [_cotta(suite, int(number))]
    if wanted.startswith("cotta"):
        raise ValueError(
            f"the orders of CoTTA are cotta-0 to cotta-{len(COTTA) - 1}, and cotta for all; got {wanted!r}"
        )
    return [(_found(suite, wanted),)]


def _found(suite: Suite, name: str) -> str:
    return "+".join(suite.find(part.strip()) for part in name.split("+"))


def _cotta(suite: Suite, number: int) -> tuple[str, ...]:
    names = tuple(CODES[code] for code in COTTA[number].split())
    if missing := [name for name in names if name not in suite.entries]:
        raise ValueError(f"the orders of CoTTA are for the corruptions of ImageNet-C; {suite.name} has no {missing[0]}")
    return names


def plan_segments(recipe: Recipe, suite: Suite, images: int, classes: int, seed: int) -> list[Segment]:
    """All segments of a stream that is no walk."""
    length = (recipe.samples or PER_CLASS * classes) if recipe.order == "imbalance" else images
    segments: list[Segment] = []
    for run, names in enumerate(find_orders(recipe, suite, seed)):
        for visit in range(recipe.visits):
            domains = list(_domains(recipe, suite, names, seed, run * recipe.visits + visit))
            parts = [tuple(domains)] if recipe.mixed else [(steps,) for steps in domains]
            for k, of_part in enumerate(parts):
                number = len(segments)
                is_first = k == 0 and visit == 0
                start = segments[-1].stop if segments else 0
                part = Segment(number, start, length * len(of_part), of_part, False, run, visit)
                segments.append(replace(part, reset=_resets(recipe.reset, part, segments[-1:], is_first)))
    return segments


def _resets(rule: str, segment: Segment, before: Sequence[Segment], is_first: bool) -> bool:
    if rule == "corruption":
        return not before or is_first or before[-1].corruption != segment.corruption
    return {"first": is_first, "segment": True, "never": False}[rule]


def _domains(recipe: Recipe, suite: Suite, names: Sequence[str], seed: int, group: int) -> Iterator[Steps]:
    """What one pass through the corruptions consists of, in its order."""
    stops = list(_levels(recipe, suite, names, seed, group))
    for k, (place, level) in enumerate(stops):
        yield tuple((entry, _level_of(suite, entry, level, recipe)) for entry in _entries(recipe, names, place))
        if recipe.clean and (k + 1 == len(stops) or stops[k + 1][0] != place):
            yield ()


def _entries(recipe: Recipe, names: Sequence[str], place: int) -> tuple[str, ...]:
    entries = names[place].split("+")
    if recipe.together == 2:
        if any("+" in name for name in names) or len(names) < 2:
            raise ValueError(
                "together: 2 joins each corruption with the next one: give at least two, none of them a + b"
            )
        entries.append(names[(place + 1) % len(names)])
    if len(entries) > 2 or len(set(entries)) < len(entries):
        raise ValueError(f"at most two different corruptions come together, got {' + '.join(entries)}")
    return tuple(entries)


def _levels(recipe: Recipe, suite: Suite, names: Sequence[str], seed: int, group: int) -> Iterator[tuple[int, float]]:
    """Places in the order of corruptions and the levels that go with them."""
    severities = recipe.severities
    if "outer" in severities:
        yield from ((place, level) for level in severities["outer"] for place in range(len(names)))
    elif "walk" in severities:
        steps, most = severities["walk"], suite.severities or 1
        turns = random.integers(keys("severities", group, seed), "turn", (steps * len(names),), low=0, high=1)[0]
        level = 0
        for k, turn in enumerate(turns.tolist()):
            up = turn if 1 < level < most else level <= 1
            level = min(most, level + 1) if up else level - 1
            yield k // steps, level
    else:
        for place in range(len(names)):
            yield from ((place, level) for level in severities["then" if place else "first"])


def _level_of(suite: Suite, entry: str, level: float, recipe: Recipe) -> Level:
    """A level of an entry, or None where it has none to choose from."""
    if suite.levels(entry) == (None,):
        if any(isinstance(levels, int) or len(levels) > 1 for levels in recipe.severities.values()):
            raise ValueError(f"{suite.name}/{entry} has no levels, between which severities could change")
        return None
    if level > (suite.severities or 0):
        raise ValueError(f"{suite.name} has severities 1 to {suite.severities}, got {level:g}")
    return int(level) if float(level).is_integer() else float(level)
