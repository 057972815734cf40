"""The command lines that run a study of MSCR, or find a class separation, again, or the call in Python that does."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from scuff.metrics.norms import parse_norm
from scuff.models.open import default_name
from scuff.report.settings import Again
from scuff.report.words import listed

FLAGS = ("keep_originals", "drop_duplicates")


def mscr_again(settings: Mapping[str, Any], out: str, *, epsilon_given: bool) -> Again:
    """`scuff mscr ...`, with everything that was not left to itself; in Python, if a command line cannot say it."""
    addresses, runs = settings["addresses"], settings["runs"]
    objects = [name for name, address in addresses.items() if address is None]
    notes = []
    if objects:
        were, them = ("was a Python object", "it") if len(objects) == 1 else ("were Python objects", "them")
        notes.append(f"{listed(objects)} {were}, which no command line can name: put {them} in place of the dots.")
    if runs != list(range(len(runs))):
        notes.append(
            f"The runs are not the first {len(runs)}, from 0 on, and a command line can only say how many: so this is "
            "Python."
        )
    are_given = settings.get("are_given", False)
    options = {
        "train_noise": None if are_given else settings["train_noise"],
        "test_noise": settings["test_noise"],
        "copies": settings["copies"],
        "runs": runs,
        "epsilon_min": settings["epsilon_min"] if epsilon_given else None,
        "quantile": settings.get("quantile") or None,
        "offsets": settings["offsets"],
        "bounds": settings["bounds"],
        "test_share": None if are_given else settings["test_share"],  # models that are given are tested on all points
        **_data_options(settings),
        "keep_originals": settings["keep_originals"] or None,
    }
    if notes:
        return Again(_python_call(addresses, settings["data"], out, options), tuple(notes))
    models = [word for name, address in addresses.items() for word in ("--model", _model_word(name, address))]
    radii = {key: _radii(options[key], settings) for key in ("train_noise", "test_noise") if options[key] is not None}
    written = {**options, **radii, "copies": ",".join(map(str, settings["copies"])), "runs": len(runs)}
    return Again(shlex.join(["scuff", "mscr", *models, *_words({"data": settings["data"], **written, "out": out})]))


def separation_again(found: Mapping[str, Any], out: str, *, per_class: bool, per_point: bool) -> Again:
    """`scuff separation ...`, with everything that was not left to itself."""
    words = _words({**_data_options(found), "out": out})
    flags = [flag for flag, asked in (("--per-class", per_class), ("--per-point", per_point)) if asked]
    return Again(shlex.join(["scuff", "separation", found["data"], *words, *flags]))


def _data_options(settings: Mapping[str, Any]) -> dict[str, Any]:
    p = parse_norm(settings["norm"])
    return {
        "norm": None if p == float("inf") else f"{p:g}",
        **{key: settings.get(key) for key in ("label", "scale", "resize", "crop")},
        "drop_duplicates": settings.get("drop_duplicates") or None,
    }


def _python_call(addresses: Mapping[str, str | None], data: str, out: str, options: Mapping[str, Any]) -> str:
    """The call of `scuff.studies.mscr`, an argument per line; models that are objects are dots."""
    models = ", ".join(
        f"{name!r}: {'...' if address is None else repr(address)}" for name, address in addresses.items()
    )
    arguments = [f"{{{models}}}", repr(data), repr(out)]
    arguments += [f"{key}={value!r}" for key, value in options.items() if value is not None]
    return "\n".join(["import scuff.studies", "scuff.studies.mscr(", *(f"    {each}," for each in arguments), ")"])


def _radii(radii: list[float], settings: Mapping[str, Any]) -> str:
    """Radii as the command takes them: short numbers, or multiples of epsilon_min, as 0.5x, that give the same bits."""
    epsilon = settings["epsilon_min"]
    words = []
    for radius in radii:
        plain, multiple = f"{radius:g}", f"{radius / epsilon:g}"
        is_multiple = float(multiple) * epsilon == radius != 0
        words.append(plain if float(plain) == radius else f"{multiple}x" if is_multiple else str(radius))
    return ",".join(words)


def _model_word(name: str, address: str) -> str:
    """A model as the command takes it, with its name where that does not follow from the address."""
    return address if default_name(address) == name else f"{name}={address}"


def _words(options: Mapping[str, Any]) -> list[str]:
    """Options of Python as those of the command line; what is None was left to itself."""
    words = []
    for key, value in options.items():
        option = f"--{key.replace('_', '-')}"
        words += [] if value is None else [option] if key in FLAGS else [option, str(value)]
    return words
