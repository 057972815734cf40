"""The reference, written from the package: a page for each public module, and one for each command.

What belongs on the pages of modules is what `__all__` names, so that no public name can be missing. Names get pages of
their own by autosummary. Commands are read from the app of the command line.
"""

from __future__ import annotations

import importlib
import inspect
import itertools
import re
import typing
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import click
import typer
from sphinx.addnodes import desc_signature, pending_xref
from sphinx.util.inspect import stringify_signature

import scuff
from scuff.cli import app as command_line
from scuff.cli.verbs import VERBS

GENERATED = Path("reference", "generated")
TYPES = re.compile(r" <(str|int|float|list\[str\])>")  # of options without a word for their values
PLACES = {"str": " TEXT", "int": " N", "float": " X", "list[str]": ""}
MODULES = ("scuff", *(f"scuff.{name}" for name in scuff._MODULES))


def write_reference(app: Any) -> None:
    """Write all pages anew; those that have not changed keep their times, and are not read again."""
    folder = Path(app.srcdir, GENERATED)
    pages = {f"{module}.rst": module_page(module) for module in MODULES}
    root = typer.main.get_command(command_line)
    for path, command in all_commands(root, "scuff"):
        pages[f"commands/{path.replace(' ', '-')}.rst"] = command_page(path, command)
    known = {folder / name for name in pages} | {folder / f"names/{name}.rst" for name in all_names()}
    for gone in {*folder.rglob("*.rst")} - known:
        gone.unlink()
    for name, text in pages.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    app.env.find_files(app.config, app.builder)  # so that autosummary knows them


# --- modules --------------------------------------------------------------------------------------------------------


def module_page(name: str) -> str:
    """The docstring of a module, and a table of its public names, each with a page."""
    module = importlib.import_module(name)
    about = inspect.getdoc(module) or ""
    names, elsewhere = public_names(module)
    lines = [name, "=" * len(name), "", f".. module:: {name}", "", as_rst(about), ""]
    for title, members in names.items():
        lines += [title, "-" * len(title), ""]
        if title == "Values":
            for member in members:
                lines += [f".. py:data:: {member}", f"   :value: {short_value(getattr(module, member))}", ""]
        else:
            lines += [".. autosummary::", "   :toctree: names", "   :nosignatures:", ""]
            lines += [f"   {member}" for member in members] + [""]
    if elsewhere:
        links = ", ".join(f":py:obj:`scuff.{member}`" for member in elsewhere)
        lines += [f"Also here, by their shorter names: {links}.", ""]
    return "\n".join(lines)


def short_value(value: Any) -> str:
    """What a constant holds, in one line: the names in a table or a set, everything else as it is."""
    if isinstance(value, str) or typing.get_origin(value) is not None:
        return repr(value)
    return ", ".join(sorted(value) if isinstance(value, set) else map(str, value))


def public_names(module: Any) -> tuple[dict[str, list[str]], list[str]]:
    """The names of a module by kind, and those that `scuff` itself has; modules inside it have pages of their own."""
    groups: dict[str, list[str]] = {"Functions": [], "Classes": [], "Values": []}
    elsewhere = []
    for name in names_of(module):
        value = getattr(module, name)
        if inspect.ismodule(value):
            continue
        if module is not scuff and name in scuff._PUBLIC and getattr(scuff, name) is value:
            elsewhere.append(name)
            continue
        is_alias = typing.get_origin(value) is not None
        kind = "Classes" if inspect.isclass(value) else "Functions" if callable(value) and not is_alias else "Values"
        groups[kind].append(name)
    return {title: names for title, names in groups.items() if names}, elsewhere


@cache
def all_names() -> list[str]:
    """The full addresses of all names that have a page: values stand on the page of their module."""
    groups = {name: public_names(importlib.import_module(name))[0] | {"Values": []} for name in MODULES}
    return [f"{name}.{member}" for name in MODULES for member in itertools.chain(*groups[name].values())]


@cache
def public_addresses() -> dict[str, str]:
    """The full address of each public name that stands for one thing only."""
    names = Counter(address.rpartition(".")[2] for address in all_names())
    return {name: address for address in all_names() if names[name := address.rpartition(".")[2]] == 1}


def link_types(app: Any, tree: Any) -> None:
    """Let the types in signatures lead to our public names, where there is one of that name, and nowhere else."""
    addresses = public_addresses()
    for signature in tree.findall(desc_signature):
        for link in list(signature.findall(pending_xref)):
            if address := addresses.get(link["reftarget"].rpartition(".")[2]):
                link["reftarget"] = address
                link["reftype"] = "obj"
            else:
                link.replace_self(link.children)


def plain_prose(app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Docstrings are plain text: stars are products, and bars are absolute values."""
    lines[:] = [line if line.lstrip().startswith((">>>", "...", "*")) else starred(line) for line in lines]


def is_bare_field(app: Any, what: str, name: str, value: Any, skip: bool, options: Any) -> bool | None:
    """Leave out fields of named tuples: their signature names them, and Python says only their number."""
    return True if (getattr(value, "__doc__", None) or "").startswith("Alias for field number") else None


def names_of(module: Any) -> list[str]:
    """What a module declares as public; without a declaration, the functions that it defines."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    return [n for n, value in vars(module).items() if not n.startswith("_") and defined_in(value, module)]


def defined_in(value: Any, module: Any) -> bool:
    return inspect.isfunction(value) and value.__module__ == module.__name__


def plain_signature(
    app: Any, what: str, name: str, value: Any, options: Any, signature: str | None, returned: str | None
) -> tuple[str, str] | None:
    """The signature with types as they were written: what the command line needs to know of an option is left out."""
    if what not in ("function", "class", "method") or signature is None:
        return None
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return None
    parameters = [p.replace(annotation=plain_type(p.annotation)) for p in found.parameters.values()]
    if what == "method" and parameters and parameters[0].name in ("self", "cls"):
        parameters = parameters[1:]
    result = found.return_annotation if what != "class" else inspect.Signature.empty
    found = found.replace(parameters=parameters, return_annotation=plain_type(result))
    return stringify_signature(found, unqualified_typehints=True), ""


def plain_type(annotation: Any) -> Any:
    if typing.get_origin(annotation) is typing.Annotated:
        annotation = typing.get_args(annotation)[0]
    return annotation.__forward_arg__ if isinstance(annotation, typing.ForwardRef) else annotation


# --- commands -------------------------------------------------------------------------------------------------------


def all_commands(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    """The command itself, and those below it, with what one types."""
    yield path, command
    for name, below in subcommands(command).items():
        yield from all_commands(below, f"{path} {name}")


def subcommands(command: Any) -> dict[str, Any]:
    """In the order of the help."""
    found = getattr(command, "commands", {})
    return {name: found[name] for name in sorted(found, key=lambda n: VERBS.index(n) if n in VERBS else len(VERBS))}


def command_page(path: str, command: Any) -> str:
    """What `COMMAND --help` says, with an anchor for each option."""
    context = click.Context(command, info_name=path)
    usage = command.get_usage(context).removeprefix("Usage: ")
    lines = [path, "=" * len(path), "", ".. code-block:: text", "", *indented(usage), ""]
    lines += [help_text(command.help or ""), ""]
    for title, kind, entry in (("Arguments", "argument", argument_entry), ("Options", "option", option_entry)):
        parameters = [parameter for parameter in command.params if parameter.param_type_name == kind]
        records = [record for parameter in parameters if (record := parameter.get_help_record(context))]
        if records:
            lines += [title, "-" * len(title), "", f".. program:: {path}", ""]
        for names, text in records:
            lines += [entry(names), *indented(escaped(text)), ""]
    below = subcommands(command)
    if below:
        lines += ["Commands", "--------", "", ".. toctree::", "   :maxdepth: 1", ""]
        lines += [f"   {path} {name} <{path.replace(' ', '-')}-{name}>" for name in below] + [""]
    return "\n".join(lines)


def argument_entry(names: str) -> str:
    return f"``{TYPES.sub('', names)}``"


def option_entry(names: str) -> str:
    names = TYPES.sub(lambda match: PLACES[match[1]], names)
    return f".. option:: {names.replace(' / ', ', ')}\n"


def help_text(text: str) -> str:
    """Paragraphs of a help text; what keeps its lines there (after \\b) becomes a block."""
    parts = []
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        if not paragraph.lstrip("\n").startswith("\b") and "\n  " not in paragraph:
            parts.append(escaped(" ".join(paragraph.split())))
            continue
        first, *rest = paragraph.replace("\b", "").strip("\n").splitlines()
        title = first.strip().removesuffix(":")
        parts.append(f"{escaped(title)}:")
        parts.append("\n".join([".. code-block:: text", "", *indented(inspect.cleandoc("\n".join(rest)))]))
    return "\n\n".join(parts)


# --- reStructuredText -----------------------------------------------------------------------------------------------


def as_rst(text: str) -> str:
    """A docstring of plain prose; examples stay as they are."""
    return "\n\n".join(block if block.startswith(">>>") else starred(block) for block in text.split("\n\n"))


def starred(text: str) -> str:
    """Stars and bars as they are, but for those in `code`, which are so anyway."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([*|])", r"\\\1", part) for part in parts)


def escaped(text: str) -> str:
    return re.sub(r"([*`|_\\])", r"\\\1", text)


def indented(text: str) -> list[str]:
    return [f"   {line}".rstrip() for line in text.splitlines()]


def setup(app: Any) -> dict[str, Any]:
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("builder-inited", write_reference, priority=100)
    app.connect("autodoc-process-signature", plain_signature)
    app.connect("autodoc-process-docstring", plain_prose, priority=100)  # before numpydoc
    app.connect("autodoc-skip-member", is_bare_field)
    app.connect("doctree-read", link_types)
    return {"parallel_read_safe": True}
