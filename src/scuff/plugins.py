"""Code of the user's: plug-ins, which are plain Python files or installed packages, and objects by their addresses.

A plug-in is imported as the module of its name, so that `mine.py` may register corruptions, suites, sources, models,
metrics and studies, and whatever else it holds has an address: `mine:Net` for a model, `mine:images` for data. Worker
processes import the same modules. A package names such a module by an entry point of the group `scuff.plugins`.
"""

from __future__ import annotations

import contextlib
import difflib
import importlib
import importlib.util
import operator
import os
import re
import sys
import traceback
import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

PROJECT = "pyproject.toml"
ADDRESS = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")  # package.module:object

GROUPS = ("scuff.plugins", "scuff.corruptions")  # of entry points; the second is that of version 0.1

_files: list[str] = []
_modules: list[str] = []
_parts: dict[str, dict[str, str]] = {}  # by kind and name, the module that has registered it
_has_looked = False


def plugin_files() -> list[str]:
    """The plug-ins that were loaded, as they were given."""
    return [*_files]


def own_modules() -> list[str]:
    """The modules of plug-ins and all others that have registered something: worker processes must import them too."""
    return [*_modules]


def note_module(name: str | None) -> None:
    """Remember a module that registers something."""
    if name and name not in _modules and name.partition(".")[0] != __package__:
        _modules.append(name)


def note_part(kind: str, name: str, module: str | None) -> None:
    """Remember what a module of somebody else's registers, and the module."""
    note_module(module)
    if module in _modules:
        _parts.setdefault(kind, {})[name] = str(module)


def own_parts() -> Mapping[str, Mapping[str, str]]:
    """What modules of other people have registered so far: by kind ("suite") and name, the module."""
    return _parts


def load_installed() -> None:
    """Import the modules that installed packages name by entry points, once. One that fails is told and left out."""
    global _has_looked
    if _has_looked:
        return
    _has_looked = True  # before the imports, which may come back to here
    from importlib.metadata import entry_points

    for point in (point for group in GROUPS for point in entry_points(group=group)):
        try:
            point.load()
        except Exception as error:  # whatever a user's code may raise
            package = point.dist.name if point.dist is not None else "an unknown package"
            message = f"the plug-in {point.value} of {package} is left out: {type(error).__name__}: {error}"
            warnings.warn(message, stacklevel=2)
        else:
            note_module(point.module)


def import_modules(names: Iterable[str]) -> None:
    """Import them in a worker process. What cannot be imported there is told when something of it is needed."""
    for name in names:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


def load_plugins(files: Iterable[str | os.PathLike[str]]) -> None:
    """Import Python files, each once and under its own name."""
    for file in files:
        path = Path(file).expanduser().resolve()
        _load(path)
        note_module(path.stem)
        if os.fspath(file) not in _files:
            _files.append(os.fspath(file))


def project_plugins(folder: str | os.PathLike[str] = ".") -> list[Path]:
    """The plug-ins of a project: `plugins` under `[tool.scuff]` of its pyproject.toml, relative to that file."""
    file = Path(folder, PROJECT)
    if not file.is_file():
        return []
    import tomllib

    try:
        settings = tomllib.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{file} is not readable as TOML: {error}") from error
    tool = settings.get("tool")
    ours = tool.get("scuff", {}) if isinstance(tool, dict) else {}
    files = ours.get("plugins", []) if isinstance(ours, dict) else None
    if not isinstance(files, list) or not all(isinstance(one, str) for one in files):
        raise ValueError(f'{file}: expected plugins = ["FILE.py", ...] under [tool.scuff], got {files!r}')
    return [Path(folder, one) for one in files]


def _load(path: Path) -> None:
    if not path.is_file():
        raise ValueError(f"there is no plug-in {path}")
    if path.suffix != ".py" or not path.stem.isidentifier():
        raise ValueError(
            f"a plug-in is a Python file, whose name is a name in Python, as in my_corruptions.py; got {path}"
        )
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))  # what it imports may lie beside it
    importlib.invalidate_caches()
    try:
        spec = importlib.util.find_spec(path.stem)
    except ValueError:  # a module without a specification, such as __main__
        spec = None
    if spec is None or spec.origin is None or not os.path.exists(spec.origin) or not path.samefile(spec.origin):
        there = f" ({spec.origin})" if spec is not None else ""
        raise ValueError(f"the plug-in {path} has the name of another module{there}; rename it")
    try:
        importlib.import_module(path.stem)
    except Exception as error:  # whatever a user's code may raise
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        where = f", line {lines[-1]}" if lines else ""
        raise ValueError(f"the plug-in {path} fails{where}: {type(error).__name__}: {error}") from error


# --- objects by their addresses -------------------------------------------------------------------------------------


def import_object(address: str, instead: Iterable[str] = ()) -> Any:
    """The object at `package.module:object`; the current folder counts as a place of packages.

    `instead` are words that may have been meant, if there is no such module.
    """
    module, _, name = address.partition(":")
    with current_folder_importable():
        try:
            imported = importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{module}.".startswith(f"{error.name}."):
                raise  # the module is there; what it imports is not
            near = difflib.get_close_matches(module, list(instead), n=1)
            looked = f"looked in {os.getcwd()} and among the packages; --plugin FILE.py loads it from elsewhere"
            hint = f"did you mean {near[0]}:{name}?" if near else looked
            raise ValueError(f"no module is called {error.name!r} ({address}); {hint}") from error
        try:
            return operator.attrgetter(name)(imported)
        except AttributeError as error:
            near = difflib.get_close_matches(name, dir(imported), n=3)
            hint = f"; did you mean {', '.join(near)}?" if near else ""
            raise ValueError(f"module {module} has no {name!r}{hint}") from error


def is_importable(module: str) -> bool:
    """Whether there is a module of that name, here or among the packages; its parents are imported to find out."""
    with current_folder_importable():
        try:
            return importlib.util.find_spec(module) is not None
        except (ImportError, ValueError):
            return False


@contextlib.contextmanager
def current_folder_importable() -> Iterator[None]:
    """Let modules of the current folder be found in the block."""
    folder = os.getcwd()
    sys.path.insert(0, folder)
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(folder)
