"""The package as it is published: built from the sdist, installed without the source tree, and run."""

import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BUILD = "from setuptools import build_meta; import sys; print(getattr(build_meta, sys.argv[1])(sys.argv[2]))"


def run(*command, cwd: Path) -> str:
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}  # which may name a source tree
    done = subprocess.run([*map(str, command)], cwd=cwd, capture_output=True, text=True, env=plain)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """A wheel that was built from the sdist of the files that git knows, and of nothing else."""
    place = tmp_path_factory.mktemp("build")
    files = run("git", "ls-files", "-z", cwd=ROOT).split("\0")
    for name in filter(None, files):
        if (ROOT / name).is_file() and not name.startswith("tests/"):
            (place / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
            (place / "tree" / name).write_bytes((ROOT / name).read_bytes())
    sdist = run(sys.executable, "-c", BUILD, "build_sdist", place, cwd=place / "tree").split()[-1]
    with tarfile.open(place / sdist) as archive:
        archive.extractall(place / "unpacked", filter="data")
    (source,) = (place / "unpacked").iterdir()
    return place / run(sys.executable, "-c", BUILD, "build_wheel", place, cwd=source).split()[-1]


def test_the_wheel_has_every_file_of_the_package(wheel):
    with zipfile.ZipFile(wheel) as archive:
        inside = set(archive.namelist())
    known = run("git", "ls-files", "-z", "src/scuff", cwd=ROOT).split("\0")
    wanted = {name.removeprefix("src/") for name in known if name and (ROOT / name).is_file()}
    assert wanted <= inside
    assert not [name for name in inside if name.startswith("tests/")]


def test_it_runs_in_a_fresh_environment_without_the_source_tree(wheel, tmp_path):
    run(sys.executable, "-m", "venv", "fresh", cwd=tmp_path)
    python = tmp_path / "fresh" / "bin" / "python"
    run(python, "-m", "pip", "install", "--no-deps", "--no-index", "--quiet", wheel, cwd=tmp_path)
    site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=tmp_path).strip())
    # What it depends on is taken from here. Links of that folder, as to a source tree, are not followed.
    (site / "others.pth").write_text(sysconfig.get_path("purelib"))
    where = run(python, "-c", "import scuff; print(scuff.__file__)", cwd=tmp_path).strip()
    assert Path(where).is_relative_to(tmp_path / "fresh")
    command = tmp_path / "fresh" / "bin" / "scuff"
    assert "Corruption robustness of image classifiers" in run(command, "--help", cwd=tmp_path)
    made = "import scuff; from scuff.pictures import bundled_picture as cat; cat().save('cat.png')"
    run(python, "-c", made, cwd=tmp_path)
    run(command, "corrupt", "cat.png", "out", "--only", "frost", "--severity", "3", cwd=tmp_path)
    assert (tmp_path / "out" / "frost" / "3" / "cat.png").is_file()
    assert "scuff explorer" in run(
        python,
        "-c",
        "from scuff.explore.server import _static; print(_static('index.html').body.decode())",
        cwd=tmp_path,
    )
