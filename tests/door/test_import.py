"""Help and lists come at once: nothing heavy is imported before it is needed."""

import subprocess
import sys

import pytest

from scuff.pictures import bundled_picture

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


FIRST_PICTURE = """
import sys, numpy, scuff
scuff.corrupt(numpy.zeros((64, 64, 3), numpy.uint8), sys.argv[1], 3)
"""


@pytest.mark.parametrize("entry", ["imagenet-c/fog", "imagenet-c/glass_blur", "c-bar-candidates-224/perlin_noise"])
def test_a_first_picture_does_not_wait_for_a_compiler(entry):
    assert {"numba", "pandas", "scipy"}.isdisjoint(heavy_imports(FIRST_PICTURE, entry))


def test_nor_does_the_command(tmp_path):
    bundled_picture().save(tmp_path / "cat.png")
    words = ["corrupt", str(tmp_path / "cat.png"), str(tmp_path / "out"), "--only", "fog", "--severity", "1"]
    assert {"numba", "pandas", "scipy"}.isdisjoint(heavy_imports(RUN, *words, "--workers", "1"))
