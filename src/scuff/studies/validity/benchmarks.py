"""Which benchmarks a table of shifts can score: suites whose corruptions it has, and categories of corruptions."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from scuff.corruptions import get
from scuff.design import find_categories
from scuff.design.overlap.categories import read_categories
from scuff.metrics import overlaps
from scuff.studies.overlap.results import read_overlap
from scuff.suites import Suite, list_suites, load_suite
from scuff.suites.suite import ABOUT_ENTRY
from scuff.words import name_some

FAMILIES = "families"  # categories are the families in the registry of corruptions
ALL = "all"  # the benchmark of all corruptions

Categories = Mapping[str, Sequence[str]] | str | os.PathLike[str] | None
Members = dict[str, list[str]]


def find_suites(corruptions: Sequence[str], suites: Sequence[Suite | str] | None = None) -> Members:
    """The suites that can be scored, with the corruptions, `suite/entry`, that are their entries in the table.

    An entry may be there under the name of another suite that has the same corruption with the same parameters, as
    ImageNet-NOC is a part of its candidates. Candidates are the suites of the package, or the given ones, which must be
    complete; suites that only the table knows; and "all", if it equals none of these. The largest comes first.

    >>> find_suites([f"noc-candidates/{entry}" for entry in load_suite("noc-candidates").entries])["imagenet-noc"][:2]
    ['noc-candidates/quantization', 'noc-candidates/blur']
    """
    known, given = _load_suites(suites)
    suite_of = {address: address.rpartition("/")[0] for address in corruptions}  # empty for a corruption alone
    if ALL in (*known, *suite_of.values()):
        raise ValueError(f"a suite must not be called {ALL!r}, which is the benchmark of all corruptions; rename it")
    by_law = {law: address for address in reversed(corruptions) if (law := _law(address, known)) is not None}
    members: Members = {}
    for name in given or known:
        addresses = {entry: f"{name}/{entry}" for entry in known[name].benchmark()}
        places = {e: a if a in corruptions else by_law.get(_law(a, known) or ()) for e, a in addresses.items()}
        missing = [entry for entry, place in places.items() if place is None]
        if given and missing:
            raise ValueError(
                f"the table lacks {len(missing)} of the {len(places)} corruptions of {name}: {name_some(missing)}"
            )
        if places and not missing:
            members[name] = [place for place in places.values() if place is not None]
    for address, name in suite_of.items():
        if name and name not in known:
            members.setdefault(name, []).append(address)
    members = dict(sorted(members.items(), key=lambda item: -len(item[1])))
    if corruptions and not any(set(each) == set(corruptions) for each in members.values()):
        members[ALL] = list(corruptions)
    return members


def note_incomplete(corruptions: Sequence[str], scored: Members) -> list[str]:
    """Notes on suites of the package that are not scored because the table has only a part of them.

    >>> note_incomplete(["imagenet-c/fog", "imagenet-c/snow", "mine/fog"], {})
    ['imagenet-c: 2 of 15 corruptions, not scored as such']
    """
    names = dict.fromkeys(address.rpartition("/")[0] for address in corruptions)
    entries = {name: load_suite(name).benchmark() for name in names if name in list_suites() and name not in scored}
    present = {name: sum(f"{name}/{entry}" in corruptions for entry in them) for name, them in entries.items()}
    return [f"{name}: {present[name]} of {len(entries[name])} corruptions, not scored as such" for name in entries]


def resolve_categories(
    corruptions: Sequence[str], categories: Categories, *, suites: Sequence[Suite | str] | None = None, seed: int = 0
) -> tuple[Members, list[str]]:
    """The categories of the corruptions of a table, and notes on what has none.

    Categories are a mapping, or a YAML or JSON file of one; the folder or the CSV file of an overlap study, in which
    they are found; or "families" (also None). They may name corruptions by another suite: in place of `imagenet-c/fog`,
    `cifar10-c/fog` will do, preferably if the two are the same corruption.
    """
    known, _ = _load_suites(suites)
    notes = []
    if categories is None or categories == FAMILIES:
        label_of = {address: _family(address, known) for address in corruptions}
        order = list(dict.fromkeys(filter(None, label_of.values())))
    else:
        given = _read_categories(categories, seed)
        order = list(given)
        label_by_name = {name: category for category, members in given.items() for name in members}
        matches = {address: _same_corruption(address, label_by_name, known) for address in corruptions}
        labels = {address: {label_by_name[name] for name in names} for address, names in matches.items()}
        label_of = {address: next(iter(each)) if len(each) == 1 else None for address, each in labels.items()}
        matched = {name for names in matches.values() for name in names}
        unused = [name for name in label_by_name if name not in matched]
        notes = [f"in a category, but not in the table: {name_some(unused)}"] if unused else []
    without = [address for address, category in label_of.items() if category is None]
    if without:
        notes.insert(0, f"in no category: {name_some(without)}")
    members = {category: [a for a in corruptions if label_of[a] == category] for category in order}
    return {category: addresses for category, addresses in members.items() if addresses}, notes


def _load_suites(suites: Sequence[Suite | str] | None) -> tuple[dict[str, Suite], list[str]]:
    """All suites by name, and the names of the given ones."""
    given = {s.name: s for s in (suite if isinstance(suite, Suite) else load_suite(suite) for suite in suites or ())}
    return {name: load_suite(name) for name in list_suites()} | given, list(given)


def _law(address: str, known: Mapping[str, Suite]) -> tuple | None:
    """All that determines what an entry does to pixels, first its corruption; None if its suite is not known."""
    name, _, entry = address.rpartition("/")
    if name not in known or entry not in known[name].entries:
        return None
    suite = known[name]
    values = sorted((key, str(v)) for key, v in suite.entries[entry].items() if key not in ABOUT_ENTRY)
    return suite.corruption(entry), suite.size_of(entry), suite.draws_levels, tuple(values)


def _read_categories(categories: Mapping[str, Sequence[str]] | str | os.PathLike[str], seed: int) -> Members:
    if isinstance(categories, Mapping):
        for category, members in categories.items():
            if isinstance(members, str) or not isinstance(members, Iterable):
                raise ValueError(f"the category {category} must be a list of corruptions, got {members!r}")
        groups = {str(category): list(map(str, members)) for category, members in categories.items()}
    elif not (path := Path(categories)).exists():
        raise ValueError(
            f"categories are {FAMILIES}, a file of them, or the folder or CSV file of an overlap study; there is no "
            f"{path}"
        )
    elif path.suffix in (".yaml", ".yml", ".json"):
        groups = read_categories(path)
    else:
        groups = find_categories(overlaps(read_overlap(path)) if path.is_dir() else path, seed=seed).groups()
    category_of: dict[str, str] = {}
    for category, name in ((category, name) for category, members in groups.items() for name in members):
        if category_of.setdefault(name, category) != category:
            raise ValueError(f"a corruption has one category, and {name} has two: {category_of[name]} and {category}")
    return groups


def _family(address: str, known: Mapping[str, Suite]) -> str | None:
    law = _law(address, known)
    try:
        return get(law[0] if law else address.rpartition("/")[2]).family
    except KeyError:
        return None


def _same_corruption(address: str, names: Iterable[str], known: Mapping[str, Suite]) -> list[str]:
    """The names that mean a corruption: its address; or its entry in other suites, preferably the same corruption."""
    if address in names:
        return [address]
    entry, law = address.rpartition("/")[2], _law(address, known)
    namesakes = [name for name in names if name.rpartition("/")[2] == entry]
    same = [name for name in namesakes if law and (other := _law(name, known)) and other[0] == law[0]]
    return same or namesakes
