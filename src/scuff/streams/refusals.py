"""What a recipe may say, and what does not go together, with the reasons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scuff.files import NAME_RULE, is_file_name
from scuff.ranges import is_number

if TYPE_CHECKING:
    from scuff.streams.recipe import Recipe

CHOICES = {
    "order": ("file", "shared", "fresh", "class", "chunks", "slots", "imbalance"),
    "draws": ("image", "position"),
    "view": ("none", "centre", "random"),
    "reset": ("first", "corruption", "segment", "never"),
    "chain": ("published", "keyed"),
}


def check_recipe(recipe: Recipe, values: dict[str, Any]) -> None:
    """Refuse what makes no sense; `values` are all settings by their names, those of a walk too."""

    def need(good: bool, what: str) -> None:
        if not good:
            raise ValueError(f"the stream {recipe.name}: {what}")

    need(is_file_name(recipe.name), f"its name must be {NAME_RULE}")
    for key, choices in CHOICES.items():
        value = values.get(key, choices[0])
        need(
            value in choices or (key == "view" and value is None),
            f"{key} must be {' or '.join(choices)}, got {value!r}",
        )
    for key in ("limit", "samples", "batch", "visits", "least", "together", "speed", "length"):
        value = values.get(key, 1)
        optional = key in ("limit", "samples", "batch") and value is None
        good = optional or (type(value) is int and value >= 1)
        need(good, f"{key} must be a whole number of at least 1, got {value!r}")
    for key in ("mixed", "clean", "as_published", "across", "join"):
        need(isinstance(values.get(key, False), bool), f"{key} must be true or false, got {values.get(key)!r}")
    for key, least, most in (("concentration", 0, 1e6), ("ratio", 0, 1e12), ("eta", 0, 1), ("target", 0, 100)):
        value = values.get(key, 1)
        good = is_number(value) and (least < value or (least == value and key in ("eta", "target"))) and value <= most
        need(good, f"{key} must be a number from {least} to {most:g}, got {value!r}")
    ratio = recipe.speed_ratio
    need(ratio is None or (is_number(ratio) and ratio > 0), f"speed_ratio must be a number above 0, got {ratio!r}")
    for key in ("suite", "matrix"):
        value = values.get(key)
        need(value is None or isinstance(value, str), f"{key} must be a name or a file, got {value!r}")
    names = recipe.corruptions if isinstance(recipe.corruptions, tuple) else (recipe.corruptions,)
    need(bool(names) and all(isinstance(n, str) and n for n in names), f"corruptions must be names, got {names!r}")
    need(recipe.together <= 2, f"at most two corruptions come together, got {recipe.together}")
    _check_together(recipe, need)


def _check_together(recipe: Recipe, need: Any) -> None:
    """What does not go together, with the reason."""
    plain = {"first": [5], "then": [5]}
    if recipe.walk is not None:
        need(recipe.severities == plain, "a walk finds its own severities; leave severities out")
        need(recipe.together == 1, "a walk already leads from one corruption to another; leave together out")
        need(not recipe.mixed, "a walk is an order of segments, which a mixed stream has not; leave one of them out")
        need(recipe.visits == 1, "a walk ends by its length, not after visits; leave visits out")
        need(not recipe.clean, "a walk goes from corruption to corruption without clean images between; leave one out")
        need(recipe.samples is None, "the segments of a walk have `speed` images; leave samples out")
        orders = ("cotta", "random")
        need(recipe.corruptions not in orders, "a walk draws its own order; list its corruptions, or take std")
    if recipe.mixed:
        need(not recipe.clean, "a mixed stream has no place after each corruption for clean images; leave one out")
        need(
            recipe.reset != "corruption", "in a mixed stream corruptions do not begin; reset at first, segment or never"
        )
    need(recipe.samples is None or recipe.order == "imbalance", "samples are for the order imbalance")
    need(
        recipe.view != "random" or recipe.draws == "position", "a random view is drawn by position; set draws: position"
    )
