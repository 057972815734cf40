"""Help and lists come at once: nothing heavy is imported before it is needed."""

import subprocess
import sys

import pytest

HEAVY = ("torch", "numpy", "numba", "pandas", "scipy", "sklearn", "PIL")

RUN = """
import sys
from scuff.cli import app
try:
    app(sys.argv[1:])
except SystemExit as end:
    assert not end.code, end.code
"""


def heavy_imports(code: str, *arguments: str) -> list[str]:
    code += f"\nprint('heavy:', *[m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1].split()[1:]


def test_the_probe_notices_a_heavy_import():
    assert heavy_imports("import sys, PIL") == ["PIL"]


def test_import_scuff_is_light():
    assert heavy_imports("import sys, scuff; scuff.load_suite('imagenet-c'); dir(scuff)") == []


@pytest.mark.parametrize(
    "arguments",
    [
        *([verb, "--help"] for verb in ("show", "gallery", "corrupt")),
        ["--help"],
        ["--version"],
        ["list"],
        ["list", "imagenet-c"],
    ],
    ids=" ".join,
)
def test_commands_that_answer_at_once_are_light(arguments):
    assert heavy_imports(RUN, *arguments) == []
