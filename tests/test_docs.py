"""Every block of README.md, CONTRIBUTING.md and docs/ runs, or says right above it why it cannot.

Python runs on small data, page by page, from the first block to the last, and must print what its comments say. Shell
lines that call `scuff` are parsed by the command line, and those that end soon run too. A block that cannot run has an
HTML comment before it, `<!-- not run: REASON -->`; even then the functions and commands it calls must exist, with these
arguments.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import re
from functools import cache
from pathlib import Path
from typing import Any

import click
import pandas as pd
import pytest
import torch
import typer
import yaml
from doc_blocks import FENCE, PAGES, PRELUDES, ROOT, Block, read_blocks, scuff_commands
from typer.testing import CliRunner

import scuff
from scuff.cli import app
from scuff.corruptions import registry
from scuff.training import RECIPES

BLOCKS = read_blocks()
LANGUAGES = {"python", "bash", "yaml", "text"}
PYTHON = [block for block in BLOCKS if block.language == "python"]
RUNNABLE = {
    page: [block for block in blocks if block.reason is None]
    for page, blocks in itertools.groupby(PYTHON, lambda block: block.page)
}
LONG = (
    "README.md",
    *(f"docs/{page}.md" for page in ("claims", "coming-from", "evaluation", "export", "report", "samples", "survival")),
    *(f"docs/tutorials/{page}.md" for page in ("adapt", "benchmark", "compare", "evaluate")),
)  # seconds
COMMAND = typer.main.get_command(app)
COMMANDS = [(block, words) for block in BLOCKS if block.language == "bash" for words in scuff_commands(block)]
QUICK_COMMANDS = {  # what runs, and the page whose data it runs on
    "docs/README.md": ("list", "show"),
    "docs/separation.md": ("separation points.csv", "separation table.csv"),
    "docs/mscr.md": ("mscr --model random-forest", "mscr --model sklearn.svm:SVC", "report runs/points"),
    "docs/validity.md": ("validity table.csv --mapping mapping.yaml --out runs/valid", "report runs/valid"),
    "docs/corrupt.md": ("corrupt photos/",),
    "docs/training.md": ("train --data fashion",),
}


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty folder to run in, and the recipes and corruptions as they were afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry, "_registry", dict(registry._registry))
    before = dict(RECIPES)
    yield tmp_path
    RECIPES.clear()
    RECIPES.update(before)


def test_every_block_says_what_it_is() -> None:
    assert len(BLOCKS) > 50
    assert [str(block) for block in BLOCKS if block.language not in LANGUAGES] == []


def test_reasons_stand_right_above_their_blocks() -> None:
    for page in sorted({block.page for block in BLOCKS}):
        text = (ROOT / page).read_text(encoding="utf-8")
        marked = [block for block in BLOCKS if block.page == page and block.reason]
        assert text.count("<!-- not run:") == len(marked), page


# --- links ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    """To files of the repository, and to headings, by the names that GitHub gives them."""
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", FENCE.sub("", page.read_text(encoding="utf-8"))):
        path, _, anchor = link.partition("#")
        if re.match(r"\w+:", link):
            continue
        target = page.parent / path if path else page
        if not target.exists() or (anchor and anchor not in headings(target)):
            broken.append(link)
    assert broken == []


@cache
def headings(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text(encoding="utf-8")), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


# --- Python ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.slow] * (page in LONG)) for page, blocks in RUNNABLE.items() if blocks],
)
def test_python_runs_and_prints_what_it_says(page: str, place, capsys) -> None:
    names = {"scuff": scuff, "torch": torch, **PRELUDES.get(page, dict)()}
    for block in RUNNABLE[page]:
        code = compile("\n" * block.line + block.text, block.page, "exec")
        capsys.readouterr()
        exec(code, names)
        printed, expected = capsys.readouterr().out, expected_output(block.text)
        if expected:
            assert [line.rstrip() for line in printed.splitlines()] == expected, str(block)
        following = next(iter(BLOCKS[BLOCKS.index(block) + 1 :]), block)
        if page == "README.md" and following.language == "text":  # trained here: close, not equal
            printed, promised = (float(text.split()[0]) for text in (printed, following.text))
            assert printed == pytest.approx(promised, abs=0.05)


def expected_output(code: str) -> list[str]:
    """The comments that fill lines of their own after a print: what it prints."""
    shown, after_print = [], False
    for line in code.splitlines():
        if line.startswith("#") and after_print:
            shown.append(line.removeprefix("#").removeprefix(" ").rstrip())
        else:
            after_print = line.startswith("print(")
    return shown


@pytest.mark.parametrize("block", PYTHON, ids=str)
def test_what_python_calls_takes_these_arguments(block: Block) -> None:
    """For every block, also for those that cannot run."""
    names: dict[str, Any] = {"scuff": scuff, "pd": pd, "torch": torch}
    tree = ast.parse(block.text)
    for node in [n for other in PYTHON if other.page == block.page for n in ast.walk(ast.parse(other.text))]:
        if isinstance(node, ast.ImportFrom) and node.module.startswith("scuff"):
            exec(ast.unparse(node), names)
    for node in ast.walk(tree):
        target = resolve(node.func, names) if isinstance(node, ast.Call) else None
        if target is None or not is_ours(target):
            continue
        signature = inspect.signature(target)
        stars = any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords)
        bind = signature.bind_partial if stars else signature.bind
        try:
            bind(
                *[a for a in node.args if not isinstance(a, ast.Starred)], **{k.arg: 0 for k in node.keywords if k.arg}
            )
        except TypeError as error:
            pytest.fail(f"{block}: {ast.unparse(node)}: {error}")


def resolve(node: ast.expr, names: dict[str, Any]) -> Any:
    """What a dotted name stands for, if it begins with a name that is known; an unknown attribute is an error."""
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if not isinstance(node, ast.Attribute):
        return None
    owner = resolve(node.value, names)
    return getattr(owner, node.attr) if inspect.ismodule(owner) and owner.__name__.startswith("scuff") else None


def is_ours(target: Any) -> bool:
    return callable(target) and (getattr(target, "__module__", None) or "").startswith("scuff")


# --- the command line ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("block", "words"), COMMANDS, ids=lambda value: value if isinstance(value, str) else None)
def test_commands_are_understood(block: Block, words: list[str]) -> None:
    """Every command, option and value is one that the command line takes; nothing is run."""
    words = [word for word in words if word != "..."]
    parse(COMMAND, words or ["--help"], str(block))


def parse(command: click.Command, words: list[str], where: str, parent: click.Context | None = None) -> None:
    try:
        context = command.make_context(command.name or "scuff", list(words), parent=parent)
    except click.UsageError as error:
        pytest.fail(f"{where}: scuff {' '.join(words)}: {error.format_message()}")
    if isinstance(command, click.Group):
        left = [*context._protected_args, *context.args]
        _, inner, rest = command.resolve_command(context, left)
        parse(inner, rest, where, context)


@pytest.mark.slow
@pytest.mark.parametrize("page", QUICK_COMMANDS)
def test_quick_commands_run(page: str, place) -> None:
    PRELUDES.get(page, dict)()
    lines = [words for block, words in COMMANDS if block.page == page and block.reason is None]
    chosen = [words for words in lines if " ".join(words).startswith(QUICK_COMMANDS[page])]
    assert len(chosen) >= len(QUICK_COMMANDS[page])
    for words in chosen:
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, f"{page}: scuff {' '.join(words)}\n{result.output}"


# --- YAML ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.language == "yaml"], ids=str)
def test_yaml_can_be_read(block: Block, tmp_path) -> None:
    assert yaml.safe_load(block.text)
    if block.text.startswith("suite:"):
        name = re.match(r"suite: (\S+)", block.text)[1]
        (tmp_path / f"{name}.yaml").write_text(block.text, encoding="utf-8")
        assert scuff.load_suite(tmp_path / f"{name}.yaml").entries
