"""Docstrings as the site reads them: what stands below a section's heading belongs to that section."""

import ast
import re
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[1] / "src" / "scuff"
HEADING = re.compile(r"^(\w+)\n-{3,}$", re.M)
FIRST_EXAMPLE = re.compile(r"^>>>", re.M)


def misplaced(text: str) -> bool:
    """Whether the first example of a docstring stands in a section about something else."""
    example = FIRST_EXAMPLE.search(text)
    above = [] if example is None else HEADING.findall(text[: example.start()])
    return bool(above) and above[-1] != "Examples"


@pytest.mark.parametrize("folder", sorted({file.parent for file in SOURCES.rglob("*.py")}), ids=lambda f: f.name)
def test_examples_have_a_heading_of_their_own_after_other_sections(folder):
    found = []
    for file in sorted(folder.glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and misplaced(ast.get_docstring(node) or ""):
                found.append(f"{file.name}: {node.name}")
    assert found == []


def test_a_misplaced_example_is_found():
    assert misplaced("Do.\n\nParameters\n----------\nx\n    It.\n\n>>> do(1)")
    assert not misplaced("Do.\n\nParameters\n----------\nx\n    It.\n\nExamples\n--------\n>>> do(1)")
    assert not misplaced("Do.\n\n>>> do(1)")
