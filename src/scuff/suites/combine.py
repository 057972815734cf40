"""A suite made of entries of other suites."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from scuff.suites.catalogue import load_suite
from scuff.suites.suite import ABOUT_ENTRY, Suite, SuiteError


def combine_suites(
    name: str,
    addresses: Sequence[str],
    suites: Sequence[Suite] = (),
    *,
    about: str = "",
    categories: Mapping[str, Sequence[str]] | None = None,
    draws_levels: bool = False,
) -> Suite:
    """A suite of the entries at these addresses, `suite/entry`, each with the parameters that it has there.

    Suites are looked up among `suites`, then among those that come with the package. An entry keeps its name, unless
    two suites have it: then it becomes `suite-entry`; `entry_names` tells which. `categories` groups addresses.

    >>> made = combine_suites("mine", ["imagenet-c/fog", "noc-candidates/rain", "noc-candidates/brightness"])
    >>> list(made.entries), made.size, made.parameters("brightness")
    (['fog', 'rain', 'brightness'], 224, {'shift': Range(low=0.16, high=0.51)})
    """
    if not addresses:
        raise SuiteError(f"the suite {name} needs at least one entry, got none")
    entries = {address: _find(address, suites) for address in addresses}
    names = entry_names(entries)
    if len(set(names.values())) < len(names):
        twice = next(address for address in names if list(names.values()).count(names[address]) > 1)
        raise SuiteError(f"two entries would be called {names[twice]}, one of them {twice}; give it another name")
    size = next(iter(entries.values()))[0].size
    levels = {suite.severities or 0 for suite, entry in entries.values() if suite.listed_levels(entry)}
    if len(levels) > 1:
        raise SuiteError(f"these entries have different numbers of severities: {', '.join(map(str, sorted(levels)))}")
    if len({suite.fixed_lengths for suite, _ in entries.values()}) > 1:
        fixed = next(suite.name for suite, _ in entries.values() if suite.fixed_lengths)
        raise SuiteError(f"lengths of {fixed} are the same at any size, and those of the others scale: do not mix them")
    references = dict.fromkeys(suite.reference for suite, _ in entries.values() if suite.reference)
    groups = {group: [names[a] for a in members] for group, members in (categories or {}).items()}
    return Suite(
        name,
        1,
        size,
        {names[address]: _entry(suite, entry, names[address], size) for address, (suite, entry) in entries.items()},
        severities=next(iter(levels), None),
        about=about,
        reference="; ".join(references),
        categories=groups,
        draws_levels=draws_levels,
        fixed_lengths=next(iter(entries.values()))[0].fixed_lengths,
        monotone={names[a]: suite.monotone[entry] for a, (suite, entry) in entries.items() if entry in suite.monotone},
    )


def entry_names(addresses: Sequence[str] | Mapping[str, Any]) -> dict[str, str]:
    """What entries at these addresses are called when they are put together: their own names as far as these differ.

    >>> entry_names(["a/fog", "b/fog", "b/rain"])
    {'a/fog': 'a-fog', 'b/fog': 'b-fog', 'b/rain': 'rain'}
    """
    plain = {address: address.rpartition("/")[2] for address in addresses}
    shared = {entry for entry in plain.values() if list(plain.values()).count(entry) > 1}
    return {address: address.replace("/", "-") if entry in shared else entry for address, entry in plain.items()}


def _find(address: str, suites: Sequence[Suite]) -> tuple[Suite, str]:
    suite, slash, entry = address.rpartition("/")
    if not slash:
        raise SuiteError(f"expected an address suite/entry, as in imagenet-c/fog, got {address!r}")
    known = next((s for s in suites if s.name == suite), None) or load_suite(suite)
    return known, known.find(entry)


def _entry(suite: Suite, entry: str, name: str, size: int) -> dict[str, Any]:
    """An entry's values, and what its new surroundings no longer say: its corruption and the size it was made for."""
    about: dict[str, Any] = {}
    if suite.corruption(entry) != name:
        about["corruption"] = suite.corruption(entry)
    if suite.size_of(entry) not in (size, None):
        about["image_size"] = suite.size_of(entry)
    plain = {key: value for key, value in suite.entries[entry].items() if key not in ABOUT_ENTRY}
    return about | plain
