"""Which benchmarks a table of shifts can score: suites whose corruptions are all there, and categories of them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from scuff.corruptions import get
from scuff.design import find_categories
from scuff.design.overlap.files import read_categories
from scuff.metrics import overlaps
from scuff.metrics.words import name_some
from scuff.studies.overlap.results import read_overlap
from scuff.suites import Suite, list_suites, load_suite
from scuff.suites.suite import ABOUT_ENTRY

FAMILIES = "families"  # categories as the registry of corruptions has them
ALL = "all"

Categories = Mapping[str, Sequence[str]] | str | os.PathLike[str] | None
Members = dict[str, list[str]]


def find_suites(corruptions: Sequence[str], suites: Sequence[Suite | str] | None = None) -> Members:
    """The suites that can be scored, with the corruptions, `suite/entry`, that are their entries in the table.

    An entry may be there under the name of another suite if that has the same corruption with the same parameters:
    ImageNet-NOC is a part of its candidates. Suites are those of the package, or the given ones, of which each must be
    there; suites that only the table knows; and "all", if that is none of these. The largest comes first, "all" last.

    >>> find_suites([f"noc-candidates/{entry}" for entry in load_suite("noc-candidates").entries])["imagenet-noc"][:2]
    ['noc-candidates/quantization', 'noc-candidates/blur']
    """
    known, given = _known(suites)
    if ALL in (*known, *map(_suite_of, corruptions)):
        raise ValueError(f"a suite must not be called {ALL!r}, which is the benchmark of all corruptions; rename it")
    laws = {law: address for address in reversed(corruptions) if (law := _law(address, known)) is not None}
    found: Members = {}
    for suite in given if suites else known.values():
        places = {entry: _place(suite, entry, corruptions, laws) for entry in suite.benchmark()}
        missing = [entry for entry, place in places.items() if place is None]
        if suites and missing:
            raise ValueError(
                f"the table lacks {len(missing)} of the {len(places)} corruptions of {suite.name}: {name_some(missing)}"
            )
        if places and not missing:
            found[suite.name] = list(places.values())
    for address in corruptions:
        name = _suite_of(address)
        if name and name not in known:
            found.setdefault(name, []).append(address)
    found = {name: found[name] for name in sorted(found, key=lambda name: -len(found[name]))}
    if corruptions and not any(set(members) == set(corruptions) for members in found.values()):
        found[ALL] = list(corruptions)
    return found


def note_incomplete(corruptions: Sequence[str], scored: Members) -> list[str]:
    """Notes on suites of the package of which the table has but a part, so that they are not scored.

    >>> note_incomplete(["imagenet-c/fog", "imagenet-c/snow", "mine/fog"], {})
    ['imagenet-c: 2 of 15 corruptions, not scored as such']
    """
    notes = []
    for name in dict.fromkeys(map(_suite_of, corruptions)):
        if name in list_suites() and name not in scored:
            entries = load_suite(name).benchmark()
            there = sum(f"{name}/{entry}" in corruptions for entry in entries)
            notes.append(f"{name}: {there} of {len(entries)} corruptions, not scored as such")
    return notes


def refuse_ambiguous(suites: Members, scores: Iterable[str]) -> None:
    """One name must mean one benchmark."""
    both = [name for name in scores if name in suites]
    if both:
        raise ValueError(f"{both[0]} is both a suite of corruptions and another score; rename one of them")


def resolve_categories(
    corruptions: Sequence[str], categories: Categories, *, suites: Sequence[Suite | str] | None = None, seed: int = 0
) -> tuple[Members, list[str]]:
    """The categories of the corruptions of a table, and notes on what has none.

    Categories are a mapping, or a YAML or JSON file of one; the folder or the CSV file of an overlap study, in which
    they are found; or "families", also None. They may name corruptions by another suite: where there is no
    `imagenet-c/fog`, `cifar10-c/fog` will do, first of all if the two are the same corruption.
    """
    known, _ = _known(suites)
    if categories is None or categories == FAMILIES:
        labels, unused = {address: _family(address, known) for address in corruptions}, []
        order = dict.fromkeys(labels.values())
    else:
        order = _read_groups(categories, seed)
        label_of = {name: category for category, members in order.items() for name in members}
        names = {address: _same_corruption(address, label_of, known) for address in corruptions}
        choices = {address: {label_of[name] for name in its} for address, its in names.items()}
        labels = {address: its.pop() if len(its) == 1 else None for address, its in choices.items()}
        matched = {name for its in names.values() for name in its}
        unused = [name for name in label_of if name not in matched]
    found = {category: [a for a in corruptions if labels[a] == category] for category in order if category is not None}
    without = [address for address, category in labels.items() if category is None]
    notes = [f"in no category: {name_some(without)}"] if without else []
    if unused:
        notes.append(f"in a category, but not in the table: {name_some(unused)}")
    return {category: members for category, members in found.items() if members}, notes


def _known(suites: Sequence[Suite | str] | None) -> tuple[dict[str, Suite], list[Suite]]:
    """All suites by name, and those that were given."""
    given = [suite if isinstance(suite, Suite) else load_suite(suite) for suite in suites or ()]
    return {name: load_suite(name) for name in list_suites()} | {suite.name: suite for suite in given}, given


def _suite_of(address: str) -> str:
    """The name of the suite of a corruption; none of a corruption alone."""
    return address.rpartition("/")[0]


# --- suites ---------------------------------------------------------------------------------------------------------


def _law(address: str, known: Mapping[str, Suite]) -> tuple | None:
    """All that decides what an entry does to pixels; None if its suite is not known."""
    suite, _, entry = address.rpartition("/")
    if suite not in known or entry not in known[suite].entries:
        return None
    return _law_of(known[suite], entry)


def _law_of(suite: Suite, entry: str) -> tuple:
    values = {key: value for key, value in suite.entries[entry].items() if key not in ABOUT_ENTRY}
    plain = tuple(sorted((key, str(value)) for key, value in values.items()))
    return suite.corruption(entry), suite.size_of(entry), suite.draws_levels, plain


def _place(suite: Suite, entry: str, corruptions: Sequence[str], laws: Mapping[tuple, str]) -> str | None:
    address = f"{suite.name}/{entry}"
    return address if address in corruptions else laws.get(_law_of(suite, entry))


# --- categories -----------------------------------------------------------------------------------------------------


def _read_groups(categories: Mapping[str, Sequence[str]] | str | os.PathLike[str], seed: int) -> Members:
    if isinstance(categories, Mapping):
        for category, members in categories.items():
            if isinstance(members, str) or not isinstance(members, Iterable):
                raise ValueError(f"the category {category} must be a list of corruptions, got {members!r}")
        groups = {str(category): list(map(str, members)) for category, members in categories.items()}
    else:
        path = Path(categories)
        if path.is_dir():
            groups = find_categories(overlaps(read_overlap(path)), seed=seed).groups()
        elif not path.exists():
            raise ValueError(
                f"categories are {FAMILIES}, a file of them, or the folder or CSV file of an overlap study; there is "
                f"no {path}"
            )
        elif path.suffix in (".yaml", ".yml", ".json"):
            groups = read_categories(path)
        else:
            groups = find_categories(path, seed=seed).groups()
    seen: dict[str, str] = {}
    for category, members in groups.items():
        for name in members:
            if seen.setdefault(name, category) != category:
                raise ValueError(f"a corruption has one category, and {name} has two: {seen[name]} and {category}")
    return groups


def _family(address: str, known: Mapping[str, Suite]) -> str | None:
    try:
        return get(_corruption(address, known) or address.rpartition("/")[2]).family
    except KeyError:
        return None


def _same_corruption(address: str, names: Iterable[str], known: Mapping[str, Suite]) -> list[str]:
    """The names that mean a corruption: its address; or its entry in other suites, those that do the same if any do."""
    if address in names:
        return [address]
    entry, corruption = address.rpartition("/")[2], _corruption(address, known)
    namesakes = [name for name in names if name.rpartition("/")[2] == entry]
    same = [name for name in namesakes if corruption is not None and _corruption(name, known) == corruption]
    return same or namesakes


def _corruption(address: str, known: Mapping[str, Suite]) -> str | None:
    suite, _, entry = address.rpartition("/")
    return known[suite].corruption(entry) if suite in known and entry in known[suite].entries else None
