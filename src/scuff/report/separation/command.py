"""The command lines that run a study of MSCR, or find a class separation, again."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from scuff.metrics.norms import parse_norm
from scuff.models.open import default_name
from scuff.studies.mscr_models import RECIPE, SHORT_NAMES


def mscr_command(settings: Mapping[str, Any], out: str, *, has_separation: bool) -> str:
    """`scuff mscr ...`, with everything that was not left to itself.

    A study that has not found the separation of its data was told epsilon_min.
    """
    models = [word for name, about in settings["models"].items() for word in ("--model", _model_word(name, about))]
    options = {
        "--data": settings["data"],
        "--train-noise": _radii(settings["train_noise"], settings) if settings["train_noise"] != [0.0] else None,
        "--test-noise": _radii(settings["test_noise"], settings),
        "--copies": ",".join(map(str, settings["copies"])),
        "--runs": len(settings["runs"]),
        "--epsilon-min": None if has_separation else settings["epsilon_min"],
        "--quantile": settings.get("quantile") or None,
        "--offsets": settings["offsets"],
        "--bounds": settings["bounds"],
        "--test-share": settings["test_share"],
        **_data_options(settings),
        "--out": out,
    }
    flags = ["--keep-originals"] if settings["keep_originals"] else []
    return shlex.join(["scuff", "mscr", *models, *_words(options), *flags, *_drop(settings)])


def separation_command(found: Mapping[str, Any], out: str, *, per_class: bool, per_point: bool) -> str:
    """`scuff separation ...`, with everything that was not left to itself."""
    words = _words({**_data_options(found), "--out": out})
    flags = [flag for flag, asked in (("--per-class", per_class), ("--per-point", per_point)) if asked]
    return shlex.join(["scuff", "separation", found["data"], *words, *_drop(found), *flags])


def _data_options(settings: Mapping[str, Any]) -> dict[str, Any]:
    p = parse_norm(settings["norm"])
    return {
        "--norm": None if p == float("inf") else f"{p:g}",
        **{f"--{key}": settings.get(key) for key in ("label", "scale", "resize", "crop")},
    }


def _radii(radii: list[float], settings: Mapping[str, Any]) -> str:
    """Radii as the command takes them: short numbers, or multiples of epsilon_min, as 0.5x, that give the same bits."""
    epsilon = settings["epsilon_min"]
    words = []
    for radius in radii:
        plain, multiple = f"{radius:g}", f"{radius / epsilon:g}"
        is_multiple = float(multiple) * epsilon == radius != 0
        words.append(plain if float(plain) == radius else f"{multiple}x" if is_multiple else str(radius))
    return ",".join(words)


def _model_word(name: str, about: str) -> str:
    """A model as the command takes it, from its name and what it says of itself: an address, a blank, and more."""
    if name in SHORT_NAMES:
        return name
    if about.endswith("}"):  # parameters of an estimator, or of a recipe
        address = about.partition(" {")[0]
        address = address if address.startswith(RECIPE) else ":".join(address.rpartition(".")[::2])
    else:
        address = about.rpartition(" ")[0]
    return address if default_name(address) == name else f"{name}={address}"


def _drop(settings: Mapping[str, Any]) -> list[str]:
    return ["--drop-duplicates"] if settings.get("drop_duplicates") else []


def _words(options: Mapping[str, Any]) -> list[str]:
    return [word for option, value in options.items() if value is not None for word in (option, str(value))]
