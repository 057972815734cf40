"""A package of somebody else's, found by its entry point: a part of every kind reaches every command."""

import importlib.metadata
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import scuff
from scuff import plugins
from scuff.cli import app
from scuff.corruptions import registry
from scuff.data import open as sources
from scuff.metrics.evaluation import own as metrics
from scuff.models import open as models
from scuff.studies import base as studies
from scuff.suites import catalogue as suites

EXAMPLE = Path(__file__).parents[2] / "examples" / "scuff-stripes"
TABLES = (plugins._parts, registry._registry, sources._own, metrics._registry, models._own, studies._own, suites._own)


@pytest.fixture
def clean(tmp_path, monkeypatch):
    """An empty folder, and no parts of other tests; afterwards nothing is registered that was not before."""
    before = [dict(table) for table in TABLES], [*plugins._files], [*plugins._modules], [*sys.path], {*sys.modules}
    plugins._parts.clear()
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for table, content in zip(TABLES, before[0], strict=True):
        table.clear()
        table.update(content)
    plugins._files[:], plugins._modules[:], sys.path[:] = before[1:4]
    for name in [
        name for name in sys.modules if name not in before[4] and name.startswith(("scuff_stripes", "classes"))
    ]:
        del sys.modules[name]


def install(monkeypatch, value):
    """As if a package with this entry point were installed."""
    point = importlib.metadata.EntryPoint("mine", value, "scuff.plugins")
    real = importlib.metadata.entry_points  # which others ask, too

    def entry_points(**by):
        return [point] if by == {"group": "scuff.plugins"} else real(**by)

    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)
    monkeypatch.setattr(plugins, "_has_looked", False)


@pytest.fixture
def stripes(clean, monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLE / "src")
    install(monkeypatch, "scuff_stripes")
    return clean


def succeed(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result.output


def test_the_list_names_every_part(stripes):
    output = succeed("list")
    assert "striped-32" in output.split("for streams")[0]  # among the suites
    for line in (
        "corruptions of plug-ins: stripes (",
        "sources of plug-ins: bars (",
        "metrics of plug-ins: worst_class (",
    ):
        assert line in output
    assert "models of plug-ins: brightest:NAME (scuff_stripes)" in output
    assert "studies of plug-ins: classes (scuff_stripes.classes)" in output
    assert "Dark stripes" in succeed("show", "striped-32/stripes", "--out", "stripes.png")
    assert "plug-ins" in succeed("doctor")


def test_evaluate_knows_suite_source_model_and_metric(stripes):
    output = succeed(
        *("evaluate", "quarters=brightest:20", "--suite", "striped-32", "--data", "bars", "--out", "runs"),
        *("--device", "cpu"),
    )
    rows = scuff.read_evaluation("runs").rows
    strongest = rows[(rows["corruption"] == "stripes") & (rows["severity"] == 3)]
    right = (strongest["prediction"] == strongest["label"]).groupby(strongest["label"]).mean()
    assert right.tolist() == [1, 0, 1, 0]  # stripes hide the second and the fourth quarter
    assert (rows[rows["corruption"] == "clean"].eval("prediction == label")).all()
    worst = (rows["prediction"] == rows["label"]).groupby(rows["label"]).mean().min()
    (line,) = [line for line in output.splitlines() if "worst class" in line]
    assert line.split()[-1] == f"{worst:.3f}"


def test_a_study_has_its_command_and_its_page(stripes):
    command = ("classes", "brightest:20", "--suite", "striped-32", "--data", "bars", "--out", "runs", "--device", "cpu")
    assert "Tests: 4" in succeed(*command, "--dry-run")
    assert "corrupted" in succeed(*command)
    assert "Tests: 4" in succeed(*command)  # a second time, from what is there
    pytest.importorskip("plotly")
    succeed("report", "runs")
    page = Path("runs/report.html").read_text()
    assert "33.3 % of its corrupted images are misclassified" in page
    assert "scuff classes brightest:20 --suite striped-32" in page


def test_python_and_the_gallery_know_it(stripes):
    assert "striped-32" in scuff.list_suites()
    picture = np.full((32, 32, 3), 200, np.uint8)
    dark = scuff.corrupt(picture, "striped-32/stripes", 3)
    assert dark[0, 0, 0] == 200
    assert dark[0, 8, 0] == pytest.approx(20, abs=1)
    succeed("gallery", "pages", "--suite", "striped-32", "--no-large")
    assert "Dark stripes" in Path("pages/striped-32.md").read_text()
    train, test = scuff.open_source("bars", "train"), scuff.open_source("bars")
    assert train.fingerprint() != test.fingerprint()


def test_the_explorer_knows_it(stripes):
    pytest.importorskip("starlette")
    from scuff.explore.open import open_explorer

    assert "striped-32" in open_explorer(models=["brightest:20"], data="bars", device="cpu").suites


def test_a_study_from_a_plain_file_named_before_or_after_the_verb(stripes, monkeypatch):
    monkeypatch.setattr(plugins, "_has_looked", True)  # nothing is installed
    file = EXAMPLE / "src" / "scuff_stripes" / "classes.py"
    assert "error of each class" in succeed("classes", "--plugin", file, "--help")
    assert "error of each class" in succeed("--plugin", file, "classes", "--help")
    assert CliRunner().invoke(app, ["clases"]).exit_code == 2


def test_a_package_that_fails_is_left_out(clean, monkeypatch):
    install(monkeypatch, "no_such_module_anywhere")
    with pytest.warns(UserWarning, match="the plug-in no_such_module_anywhere of an unknown package is left out"):
        assert "imagenet-c" in scuff.list_suites()


def test_names_that_are_taken(stripes):
    succeed("list")
    taken = scuff.load_suite("imagenet-c")
    with pytest.raises(ValueError, match="there is a suite imagenet-c already"):
        scuff.suites.register(taken)
    with pytest.raises(ValueError, match="a form of sources 'cifar10' already"):
        scuff.data.register(name="cifar10")(lambda place: None)
    with pytest.raises(ValueError, match="there are models timm:NAME already"):
        scuff.models.register(name="timm")(lambda name: None)
    with pytest.raises(ValueError, match="expected a place and, perhaps, a split"):
        scuff.data.register(name="wide")(lambda one, two: None)


def test_a_source_with_a_place_and_one_that_fails(clean):
    @scuff.data.register(name="dots")
    def dots(folder, split):
        assert split == "test", "there is no other"
        return np.zeros((3, 8, 8, 3), np.uint8), np.arange(len(list(folder.iterdir())))

    Path("here").mkdir()
    for name in "abc":
        Path("here", name).touch()
    assert len(scuff.open_source("dots:here")) == 3
    with pytest.raises(ValueError, match="dots needs a place: dots:FOLDER"):
        scuff.open_source("dots")
    with pytest.raises(ValueError, match="the source dots fails: AssertionError: there is no other"):
        scuff.open_source("dots:here", "train")


MINE = '''
from pathlib import Path
import numpy as np
import scuff

@scuff.register(family="light")
def veil(x, *, strength):
    """A veil in front of the lens."""
    return x * (1 - strength) + strength

scuff.suites.register(Path(__file__).with_name("veils.yaml"))

@scuff.data.register()
def black():
    return np.zeros((4, 32, 32, 3), np.uint8), np.arange(4)
'''


def test_worker_processes_know_suites_of_a_plain_file(tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "veils.yaml").write_text(
        "suite: veils\nversion: 1\nsize: 32\nseverities: 2\nentries:\n  veil: {strength: [0.3, 0.6]}\n"
    )
    command = ["corrupt", "black", "out", "--suite", "veils", "--workers", "2", "--plugin", "mine.py"]
    done = subprocess.run([sys.executable, "-m", "scuff", *command], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert np.load(tmp_path / "out" / "veil.npy").max() == 153  # 0.6 of 255


def test_the_example_installs_with_pip(tmp_path):
    shutil.copytree(EXAMPLE, tmp_path / "source")
    target = tmp_path / "target"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    made = subprocess.run([*pip, "--target", target, tmp_path / "source"], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    places = [str(target), str(Path(scuff.__file__).parents[1])]
    done = subprocess.run(
        [sys.executable, "-m", "scuff", "list"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(places)},
    )
    assert done.returncode == 0, done.stderr
    assert "suites of plug-ins: striped-32 (scuff_stripes)" in done.stdout
