"""Schemes by their addresses: "augmix", "autoaugment:imagenet", "randaugment:count=3,level=4", "powerset:rotate".

An address is a kind, and after a colon its options: `name=value`, with commas between. The first option needs no name.
A list of operations has + between them.
"""

from __future__ import annotations

import dataclasses
import difflib
import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from scuff.augment.ant import AdversarialNoise, open_generator
from scuff.augment.augmix import NINE, AugMix
from scuff.augment.autoaugment import AutoAugment
from scuff.augment.corruption import RandomCorruption
from scuff.augment.noise import GaussianNoise, PatchGaussian, UniformNoise
from scuff.augment.randaugment import RandAugment
from scuff.augment.scheme import NoAugmentation, Scheme

_NOISES = (PatchGaussian, GaussianNoise, UniformNoise)
_CLASSES = (NoAugmentation, AugMix, AutoAugment, RandAugment, *_NOISES, RandomCorruption)
KINDS: dict[str, type[Scheme]] = {scheme.kind: scheme for scheme in _CLASSES}
SUBSETS = 2 ** len(NINE)


def open_scheme(address: str) -> Scheme:
    """The scheme of an address.

    >>> open_scheme("augmix:severity=1,whole=true").severity
    1.0
    >>> open_scheme("powerset:rotate+shear_x").operations
    ('shear_x', 'rotate')
    """
    kind, _, options = address.strip().partition(":")
    if kind == AdversarialNoise.kind:
        if not options:
            raise ValueError(
                "'ant' without a file is for training (scuff train --augment ant), where network and generator learn "
                "against each other; a scheme is the noise of a generator that has learnt: ant:FILE, where FILE is the "
                "NAME.generator.safetensors that such a training leaves beside NAME.safetensors"
            )
        return open_generator(options)
    if kind == "powerset":
        return AugMix(subset_of(_subset_number(options)))
    return _find_kind(kind)(**_parse_options(address, _find_kind(kind), options))


def expand_schemes(addresses: Sequence[str]) -> list[str]:
    """Addresses of single schemes, each once and each in one way of writing.

    "powerset" stands for all subsets of AugMix's nine operations, "powerset-64" for 64 of them. A subset that is also
    asked for by another name, as "none" or "augmix", has that name only.

    >>> expand_schemes(["powerset:16", "powerset:rotate", "powerset:511", "patch-gaussian:width=25", "augmix"])
    ['powerset:rotate', 'augmix', 'patch-gaussian']
    """
    forms: list[str] = []
    for address in addresses:
        whole = re.fullmatch(r"powerset(?:-(\d+))?", address.strip())
        forms += powerset(int(whole[1]) if whole[1] else None) if whole else [_canonical(address.strip())]
    names: dict[str, str] = {}  # by what they do
    for address in forms:
        meaning = _meaning(address)
        if meaning not in names or names[meaning].startswith("powerset:"):
            names[meaning] = address
    return list(names.values())


def _meaning(address: str) -> str:
    """What a scheme does: two of one meaning do the same."""
    scheme = open_scheme(address)
    is_nothing = isinstance(scheme, AugMix) and not scheme.operations
    return repr((NoAugmentation() if is_nothing else scheme).settings())


def scheme_address(scheme: Scheme) -> str:
    """The shortest address of a scheme that has no file.

    >>> scheme_address(RandAugment(3, 4)), scheme_address(GaussianNoise(0.1))
    ('randaugment:count=3,level=4', 'gaussian:0.1')
    """
    if isinstance(scheme, AugMix) and not scheme.operations:
        return subset_address(0)
    options = []
    for place, field in enumerate(dataclasses.fields(scheme)):
        value = getattr(scheme, field.name)
        if value != field.default:
            needs_no_name = place == 0 and (field.default is dataclasses.MISSING or isinstance(value, str))
            options.append(_write(value) if needs_no_name else f"{field.name}={_write(value)}")
    return f"{scheme.kind}:{','.join(options)}" if options else scheme.kind


def _canonical(address: str) -> str:
    scheme = open_scheme(address)  # a mistake is found here
    kind, _, options = address.partition(":")
    if kind == "powerset":
        return subset_address(_subset_number(options))
    return address if kind == AdversarialNoise.kind else scheme_address(scheme)


def _find_kind(kind: str) -> type[Scheme]:
    if kind not in KINDS:
        known = [*KINDS, "powerset", AdversarialNoise.kind]
        plain = kind.removesuffix("-jsd")
        if plain != kind and plain in known:
            raise ValueError(
                f"{kind!r} is for training (scuff train --augment {kind}), and means {plain} with a loss: the scheme "
                f"is called {plain!r}, the loss is scuff.augment.consistency_loss"
            )
        near = difflib.get_close_matches(kind, known, n=3, cutoff=0.5) or known
        raise ValueError(f"no scheme is called {kind!r}; did you mean {', '.join(near)}?")
    return KINDS[kind]


def _subset_number(text: str) -> int:
    if not text:
        raise ValueError(
            "'powerset' is many schemes; name one, as in powerset:rotate+shear_x, powerset:none or its number"
        )
    if text.isdecimal():
        return subset_number(subset_of(int(text)))
    return subset_number([] if text == "none" else text.split("+"))


def _parse_options(address: str, kind: type[Scheme], text: str) -> dict[str, Any]:
    fields = {field.name: field for field in dataclasses.fields(kind)}
    options: dict[str, Any] = {}
    for place, part in enumerate(text.split(",") if text else []):
        name, equals, value = (word.strip() for word in part.partition("="))
        if not equals and place == 0 and fields:
            name, value = next(iter(fields)), name
        if name not in fields or name in options or not value:
            known = (
                f"its options are {', '.join(fields)}, each once and as name=value" if fields else "it has no options"
            )
            raise ValueError(f"cannot read {part!r} of the scheme {address!r}; {known}")
        try:
            options[name] = _READERS[fields[name].type](value)
        except (ValueError, KeyError) as error:
            raise ValueError(f"{name} of the scheme {address!r} cannot be {value!r}") from error
    if missing := [n for n, field in fields.items() if field.default is dataclasses.MISSING and n not in options]:
        raise ValueError(f"the scheme {address!r} needs {missing[0]}, as in {kind.kind}:0.1")
    return options


# by the annotation of a field, which is text
_READERS: dict[Any, Callable[[str], Any]] = {
    "bool": lambda text: {"true": True, "false": False}[text.lower()],
    "int": int,
    "float": float,
    "str": str,
    "tuple[str, ...]": lambda text: tuple(text.split("+")),
    "tuple[int, ...]": lambda text: tuple(map(int, text.split("+"))),
}


def _write(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return "+".join(map(str, value))
    short = f"{value:g}" if isinstance(value, float) else str(value)
    return short if not isinstance(value, float) or float(short) == value else repr(value)


# --- all 512 subsets of AugMix's nine operations: schemes that are as different as schemes of one kind can be --------


def subset_number(names: Iterable[str]) -> int:
    """The number of a subset: bit k stands for operation k of `NINE`.

    >>> subset_number([]), subset_number(["shear_x", "translate_x"]), subset_number(NINE)
    (0, 5, 511)
    """
    names = list(names)
    if unknown := [name for name in names if name not in NINE]:
        raise ValueError(f"the powerset has no operation {unknown[0]!r}; there are {', '.join(NINE)}")
    return sum(1 << NINE.index(name) for name in set(names))


def subset_of(number: int) -> tuple[str, ...]:
    """The operations of a subset, in the order of `NINE`.

    >>> subset_of(5)
    ('shear_x', 'translate_x')
    """
    if not 0 <= number < SUBSETS:
        raise ValueError(f"subsets of the nine operations have the numbers 0 to {SUBSETS - 1}, got {number}")
    return tuple(name for k, name in enumerate(NINE) if number >> k & 1)


def subset_address(number: int) -> str:
    """How a subset is called among all schemes.

    >>> subset_address(5), subset_address(0)
    ('powerset:shear_x+translate_x', 'powerset:none')
    """
    return f"powerset:{'+'.join(subset_of(number)) or 'none'}"


def powerset(count: int | None = None, seed: int = 0) -> list[str]:
    """The addresses of all 512 subsets, or of `count` of them.

    The empty and the full subset are always among them. All sizes between have equally many, as far as there are so
    many; the seed decides which. More of them include those that fewer were.

    >>> len(powerset()), len(powerset(64)), powerset(64)[0]
    (512, 64, 'powerset:none')
    """
    count = SUBSETS if count is None else count
    if not 2 <= count <= SUBSETS:
        raise ValueError(f"the powerset has 2 to {SUBSETS} subsets to give, got {count}")
    drawn = sorted(range(1, SUBSETS - 1), key=lambda number: _digest(seed, number))
    seen = [0] * len(NINE)
    rank = {}
    for number in drawn:  # the first of each size come before the second of any
        rank[number] = seen[number.bit_count()]
        seen[number.bit_count()] += 1
    chosen = sorted(drawn, key=rank.__getitem__)[: count - 2]
    return [subset_address(number) for number in sorted([0, SUBSETS - 1, *chosen])]


def _digest(seed: int, number: int) -> bytes:
    return hashlib.blake2b(f"{seed}|{number}".encode(), digest_size=8).digest()
