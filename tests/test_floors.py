"""Every import goes down to lower floors, as the table in CONTRIBUTING.md allows, and never round in a circle."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import scuff

PACKAGE = Path(scuff.__file__).parent
TABLE = Path(__file__).parents[1] / "CONTRIBUTING.md"


@cache
def files() -> dict[str, Path]:
    """Every module of the package, by its dotted name."""
    paths = {path: list(path.relative_to(PACKAGE.parent).with_suffix("").parts) for path in PACKAGE.rglob("*.py")}
    return {".".join(parts[:-1] if parts[-1] == "__init__" else parts): path for path, parts in paths.items()}


def imports_of(path: Path) -> Iterator[str]:
    """The modules of ours that a file imports, at the top or in a function; not those for type checkers alone.

    `scuff.corrupt`, which is imported on first use, counts as an import of the module that defines it.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    blocks = [node for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)]
    unused = {inner for block in blocks for statement in block.body for inner in ast.walk(statement)}
    for node in ast.walk(tree):
        if node in unused:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in files())
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports are not used here"
            for alias in node.names:
                yield from _defining(node.module, alias.name)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "scuff":
            yield from _defining("scuff", node.attr)


def _defining(module: str, name: str) -> Iterator[str]:
    if f"{module}.{name}" in files():
        yield f"{module}.{name}"
    elif module == "scuff" and name in scuff._PUBLIC:
        yield scuff._PUBLIC[name]
    elif module in files():
        yield module


@cache
def graph() -> dict[str, set[str]]:
    return {module: set(imports_of(path)) - {module} for module, path in files().items()}


def member(module: str) -> str:
    """The file or folder of the package that a module belongs to, as the table writes it."""
    first = PACKAGE / (module.split(".")[1] if "." in module else "__init__")
    return f"{first.name}/" if first.is_dir() else f"{first.name}.py"


@cache
def table() -> dict[str, tuple[int, set[str]]]:
    """Of each file and folder the number of its row, and what it may import."""
    _, _, after = TABLE.read_text(encoding="utf-8").partition("| file or folder |")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in after.split("\n\n")[0].splitlines()[2:]]
    allowed: dict[str, tuple[int, set[str]]] = {}
    for number, (members, _, permitted) in enumerate(rows):
        if permitted == "everything above":
            names = set(allowed)
        else:
            names = set(re.findall(r"`([^`]+)`", permitted))
            assert names or permitted == "nothing of ours", f"cannot read {permitted!r} of {members}"
        assert names <= set(allowed), f"{members} may only import rows above: {names - set(allowed)}"
        own = re.findall(r"`([^`]+)`", members)
        assert not set(own) & set(allowed), f"two rows of {members}"
        allowed |= dict.fromkeys(own, (number, names))
    return allowed


def test_every_file_and_folder_has_a_row_and_every_row_a_file_or_folder():
    there = {f"{path.name}/" if path.is_dir() else path.name for path in PACKAGE.iterdir()}
    assert set(table()) == {name for name in there if name.endswith((".py", "/")) and name != "__pycache__/"}


def test_every_import_goes_to_what_the_table_allows():
    wrong = {
        f"{module} imports {target}: {member(module)} may not import {member(target)}"
        for module, targets in graph().items()
        for target in targets
        if member(target) != member(module) and member(target) not in table()[member(module)][1]
    }
    assert not wrong


def test_no_import_goes_up():
    wrong = {
        f"{module} imports {target}"
        for module, targets in graph().items()
        for target in targets
        if member(target) != member(module) and table()[member(target)][0] >= table()[member(module)][0]
    }
    assert not wrong


def test_no_files_import_each_other_in_a_circle():
    try:
        TopologicalSorter(graph()).prepare()
    except CycleError as error:
        raise AssertionError(f"a circle of imports: {' -> '.join(error.args[1])}") from None
