"""The suites that come with the package, those that plug-ins register, and those in files of your own."""

from __future__ import annotations

import difflib
import os
import sys
from functools import lru_cache
from importlib import resources
from pathlib import Path

from scuff.plugins import load_installed, note_part
from scuff.suites.suite import Suite, SuiteError, parse_suite

WALKS = ("cifar10-ccc", "imagenet-ccc")  # suites of quarter severities, for streams; no benchmarks to be listed


_own: dict[str, Suite] = {}


def register(source: Suite | str | os.PathLike[str]) -> Suite:
    """Make a suite, or that of a YAML file, known by its name, as if it came with the package. For plug-ins."""
    suite = source if isinstance(source, Suite) else load_suite(source)
    if suite.name in (*_bundled_names(), *WALKS) or _own.get(suite.name, suite) != suite:
        raise SuiteError(f"there is a suite {suite.name} already; give yours another name")
    _own[suite.name] = suite
    note_part("suite", suite.name, sys._getframe(1).f_globals.get("__name__"))  # of the plug-in
    return suite


def list_suites() -> list[str]:
    """The names of the suites that come with the package, and of those that plug-ins have registered."""
    load_installed()
    return [*_bundled_names(), *_own]


def is_bundled(name: str) -> bool:
    """Whether a name is enough to load a suite: it comes with the package, listed or not, or with a plug-in."""
    return name in (*_bundled_names(), *WALKS) or name in list_suites()


@lru_cache
def _bundled_names() -> tuple[str, ...]:
    files = resources.files(__package__).iterdir()
    return tuple(sorted(f.name[: -len(".yaml")] for f in files if f.name.endswith(".yaml")))


def list_corruptions(suite: str | os.PathLike[str] | None = None) -> list[str]:
    """The addresses `suite/name` of one suite, or of all that `list_suites` names.

    >>> list_corruptions("cifar10-c")[:2]
    ['cifar10-c/gaussian_noise', 'cifar10-c/shot_noise']
    """
    suites = [load_suite(s) for s in (list_suites() if suite is None else [suite])]
    return [f"{s.name}/{entry}" for s in suites for entry in s.entries]


def load_suite(source: str | os.PathLike[str]) -> Suite:
    """A suite by its name, or from a YAML file of your own.

    >>> load_suite("imagenet-c").parameters("fog", 3)
    {'strength': 2.5, 'decay': 1.7}
    """
    text = os.fspath(source)
    if is_bundled(text):
        return _own[text] if text in _own else _load_bundled(text)
    if text.endswith((".yaml", ".yml")) or os.path.exists(text):
        try:
            return parse_suite(_read(text), text)
        except (OSError, UnicodeDecodeError) as error:
            raise SuiteError(
                f"cannot read the suite file {text}: {getattr(error, 'strerror', None) or error}"
            ) from error
    near = difflib.get_close_matches(text, list_suites(), n=3, cutoff=0.4)
    hint = f"did you mean {', '.join(near)}?" if near else f"there are {', '.join(list_suites())}."
    raise SuiteError(f"no suite is called {text!r}; {hint} A file of your own ends in .yaml")


def _read(address: str) -> str:
    """The text of a file on this machine, or anywhere that fsspec reaches."""
    if "://" not in address:
        return Path(address).read_text(encoding="utf-8")
    from scuff.store import find_file  # which is heavy

    store, name = find_file(address)
    return store.read(name).decode()


@lru_cache
def _load_bundled(name: str) -> Suite:
    folder = resources.files(__package__) / ("walks" if name in WALKS else "")
    return parse_suite((folder / f"{name}.yaml").read_text(encoding="utf-8"), name)
