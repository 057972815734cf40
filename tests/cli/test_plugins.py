"""What users write themselves reaches the command line: corruptions, models, data and metrics from plain files."""

import os
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
from scuff.metrics.evaluation import own

MINE = '''
"""Everything of one's own."""
import numpy as np
import torch

import scuff
import mine_helper  # lies beside it


@scuff.register(family="light")
def veil(x, *, strength):
    """A veil in front of the lens."""
    return x * (1 - strength) + strength * mine_helper.WHITE


@scuff.metrics.register(higher_is_better=True)
def worst_class(rows):
    """The accuracy of the worst class."""
    right = rows["prediction"] == rows["label"]
    return right.groupby(rows["label"]).mean().min()


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.head = torch.nn.Linear(3, 4)

    def forward(self, x):
        return self.head(x.mean((2, 3)))


def images(split="test"):
    draw = np.random.default_rng(split == "train")
    return draw.integers(0, 256, (12, 32, 32, 3), np.uint8), np.arange(12) % 4
'''
SUITE = "suite: veils\nversion: 1\nsize: 32\nseverities: 2\nentries:\n  veil: {strength: [0.3, 0.6]}\n"


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """A plug-in in a folder of its own, and a suite, with nothing of it loaded."""
    tables = (registry._registry, own._registry, plugins._parts)
    before = [*plugins._files], [*plugins._modules], [*sys.path], [dict(table) for table in tables]
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "mine.py").write_text(MINE)
    (tmp_path / "code" / "mine_helper.py").write_text("WHITE = 1.0\n")
    (tmp_path / "veils.yaml").write_text(SUITE)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    plugins._files[:], plugins._modules[:], sys.path[:] = before[:3]
    for table, content in zip(tables, before[3], strict=True):
        table.clear()
        table.update(content)
    for name in ("mine", "mine_helper"):
        sys.modules.pop(name, None)


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def succeed(*arguments):
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.output


PLUGIN = ("--plugin", "code/mine.py")
EVALUATE = (
    "evaluate",
    "mine:Net",
    "--suite",
    "veils.yaml",
    "--data",
    "mine:images",
    "--out",
    "runs",
    "--device",
    "cpu",
)


def test_a_corruption_a_model_data_and_a_metric_from_one_file(mine):
    output = succeed(*EVALUATE, *PLUGIN)
    assert "worst class" in output
    rows = scuff.read_evaluation("runs").rows
    assert set(rows["corruption"]) == {"clean", "veil"}
    pytest.importorskip("plotly")
    succeed("report", "runs", *PLUGIN)
    page = Path("runs/report.html").read_text()
    assert "worst class" in page
    assert "The accuracy of the worst class." in page
    assert "--plugin code/mine.py" in page
    assert "images cannot be shown" not in page


def test_every_verb_takes_it_before_and_after_its_name(mine):
    assert "veil" in succeed("list", "veils.yaml", *PLUGIN)
    assert "A veil in front of the lens." in succeed(*PLUGIN, "show", "veils.yaml/veil", "--out", "veil.png")


def test_the_line_of_a_project(mine):
    (mine / "pyproject.toml").write_text('[tool.scuff]\nplugins = ["code/mine.py"]\n')
    assert "A veil in front of the lens." in succeed("show", "veils.yaml/veil", "--out", "veil.png")


def test_help_loads_nothing(mine):
    (mine / "pyproject.toml").write_text('[tool.scuff]\nplugins = ["not-there.py"]\n')
    assert "--plugin FILE.py" in succeed("evaluate", "--help")
    assert "not-there.py" in run("list").output


def test_worker_processes_know_it(mine):
    """In a process of its own, as a user would run it; corrupting is shared by two workers."""
    np.savez("images.npz", images=np.zeros((4, 32, 32, 3), np.uint8), labels=np.arange(4))
    command = ["corrupt", "images.npz", "out", "--suite", "veils.yaml", "--workers", "2", *PLUGIN]
    done = subprocess.run([sys.executable, "-m", "scuff", *command], capture_output=True, text=True, env=os.environ)
    assert done.returncode == 0, done.stderr
    assert np.load("out/veil.npy").max() == 153  # 0.6 of 255


def test_ray_workers_know_it(mine):
    pytest.importorskip("ray")
    command = [*EVALUATE, *PLUGIN, "--engine", "ray"]
    done = subprocess.run([sys.executable, "-m", "scuff", *command], capture_output=True, text=True, env=os.environ)
    assert done.returncode == 0, done.stderr
    assert set(scuff.read_evaluation("runs").rows["corruption"]) == {"clean", "veil"}


def test_a_corruption_of_a_module_that_a_script_imports_reaches_its_workers(mine):
    np.savez("images.npz", images=np.zeros((4, 32, 32, 3), np.uint8), labels=np.arange(4))
    Path("code/script.py").write_text(
        "import mine\nfrom scuff.engine import LocalEngine\nfrom scuff.export import export\n"
        "export('images.npz', 'out', 'veils.yaml', engine=LocalEngine(2))\n"
    )
    subprocess.run([sys.executable, "code/script.py"], check=True)
    assert np.load("out/veil.npy").max() == 153


def test_a_report_on_what_python_has_written(mine):
    """Without the plug-in there is a page, which says what it lacks; with it, the page has pictures."""
    pytest.importorskip("plotly")
    sys.path.append("code")
    import mine as module

    images, labels = module.images()
    np.savez("images.npz", images=images, labels=labels)
    scuff.evaluate({"net": module.Net()}, "veils.yaml", "npz:images.npz", "runs")
    del registry._registry["veil"]
    assert "needs --plugin FILE.py" in " ".join(succeed_and_read("runs").split())
    del sys.modules["mine"]
    own._registry.pop("worst_class")
    assert "images cannot be shown" not in succeed_and_read("runs", *PLUGIN)


def succeed_and_read(folder, *more):
    succeed("report", folder, *more)
    return Path(folder, "report.html").read_text()


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("code/none.py", None, "there is no plug-in"),
        ("code/my-file.py", "", "whose name is a name in Python"),
        ("code/random.py", "", "has the name of another module"),
        ("code/bad.py", "x = 1\ny = x +\n", "fails: SyntaxError"),
        ("code/late.py", "import scuff\n\n1 / 0\n", "late.py fails, line 3: ZeroDivisionError"),
        ("code/twice.py", "import scuff\n@scuff.register(family='x')\ndef fog(x): return x\n", "registered already"),
        ("code/score.py", "import scuff\n@scuff.metrics.register()\ndef mce(r): return 1\n", "a score is called 'mce'"),
    ],
)
def test_plugins_that_cannot_be_used(mine, name, content, words):
    if content is not None:
        Path(name).write_text(content)
    result = run("list", "--plugin", name)
    assert result.exit_code == 2
    assert words in " ".join(result.output.split())


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[tool.scuff\n", "is not readable as TOML"),
        ('[tool.scuff]\nplugins = "mine.py"\n', 'expected plugins = ["FILE.py", ...] under [tool.scuff]'),
        ('[tool.scuff]\nplugins = ["none.py"]\n', "there is no plug-in"),
    ],
)
def test_projects_that_make_no_sense(mine, content, words):
    (mine / "pyproject.toml").write_text(content)
    result = run("list")
    assert result.exit_code == 2
    assert words in " ".join(result.output.split())


def test_other_projects_are_left_alone(mine):
    (mine / "pyproject.toml").write_text('[project]\nname = "other"\n')
    succeed("list")


def test_a_metric_that_fails_is_named(mine):
    Path("code/wrong.py").write_text("import scuff\n@scuff.metrics.register()\ndef odd(rows): return rows['x']\n")
    result = run(*EVALUATE, *PLUGIN, "--plugin", "code/wrong.py")
    assert result.exit_code == 2
    assert "the metric odd fails: KeyError: 'x'" in result.output


def test_modules_are_attributes_as_the_documents_write_them():
    words = "data.open_source models.build training.train export.export evaluation.evaluate random.image_id"
    script = (
        f"import scuff\nfor path in {words.split()!r}:\n    a, b = path.split('.')\n    getattr(getattr(scuff, a), b)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
