"""What studies will cost: sums, journals, sizes of files that are not written, and what a dry run prints."""

import math
import re
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from made_images import bars
from tool_modules import load_tool
from typer.testing import CliRunner

from scuff.cli import app
from scuff.cli.jobs import print_costs
from scuff.engine import LocalEngine
from scuff.engine.cost import CellCost, Estimate, StudyCost, seconds_before
from scuff.evaluation import plan_evaluation, run_plan
from scuff.evaluation.cost import estimate
from scuff.models import build
from scuff.store import Store
from scuff.studies import (
    CorrelationStudy,
    DissimilarStudy,
    DistancesStudy,
    MixingStudy,
    MscrStudy,
    OverlapStudy,
    SubsetsStudy,
)
from scuff.studies import cost as cost_module
from scuff.studies.cost import Trials
from scuff.training import Recipe
from scuff.training.treatment import Corrupted

ONE = LocalEngine(processes=1)
QUICK = Recipe("quick", "small_cnn", epochs=1, batch_size=64, learning_rate=0.1, optimiser="muon")
TRAIN, TEST = bars(256), bars(200, seed=1)


def plan_study(out, **options):
    options = {"only": ["fog", "contrast"], "seeds": 2, **options}
    return OverlapStudy(["cifar10-c"], TRAIN, out, recipe=QUICK, test=TEST, device="cpu", engine=ONE, **options).plan()


def files(folder: Path) -> dict[str, int]:
    return {str(p.relative_to(folder)): p.stat().st_size for p in folder.rglob("*") if p.is_file()}


def test_costs_add_up():
    train, shared = CellCost("train", 4, 1800.0, 10.0, "gpu"), CellCost("train", 4, 1800.0, 10.0, "gpu", units=0.5)
    fit, test = CellCost("fit", 10, 360.0, 1.0, "cpu"), CellCost("test", 2, 360.0, 5.0, "cpu", units=4)
    cost = StudyCost((train, shared), "here", 10.0) + StudyCost((fit, test), "here")
    assert (cost.gpu_hours, cost.cpu_hours) == (3.0, 1.8)
    assert (cost.bytes, cost.cells) == (100.0, 20)
    # Of 2 workers with a GPU and 4 processors each: 3 GPU hours, an hour of processors, then two cells of all of them.
    assert cost.wall_seconds(2) == 10 + 5400 + 450 + 360
    assert cost.wall_seconds(100) == 10 + 1800 + 360 + 360  # no faster than the longest cells
    unknown = StudyCost((CellCost("train", 2, math.nan, 10.0, "gpu"), CellCost("fit", 0, math.nan, 1.0, "cpu")), "here")
    assert math.isnan(unknown.gpu_hours)
    assert unknown.cpu_hours == 0
    assert unknown.bytes == 20


def test_an_overlap_study_leaves_as_many_bytes_as_was_said(tmp_path):
    out = tmp_path / "study"
    cost = plan_study(out).cost()
    assert not out.exists()
    assert {kind: sum(part.cells for part in parts) for kind, parts in cost.kinds().items()} == {"train": 6, "test": 3}
    assert all(part.seconds_per_cell > 0 and part.how.startswith("measured now") for part in cost.parts)
    plan_study(out).run()
    written = files(out)
    for kind, ending in (("train", ".safetensors"), ("test", ".parquet")):
        real = sum(size for name, size in written.items() if name.endswith(ending))
        assert sum(part.bytes for part in cost.kinds()[kind]) == pytest.approx(real, rel=0.1)
    assert cost.bytes == pytest.approx(sum(written.values()), rel=0.25)
    assert plan_study(out).cost().cells == 0
    # A further seed costs what the journal tells of the first two.
    seconds, cells = seconds_before(Store(out), "train")
    more = plan_study(out, seeds=[2]).cost().kinds()
    assert cells == 6
    assert [part.seconds_per_cell for part in more["train"]] == [seconds / 6] * 3
    assert {part.how for part in more["train"]} == {"measured in this folder: 6 cells"}
    tested = seconds_before(Store(out), "test")
    assert [part.how for part in more["test"]] == ["measured in this folder: 3 cells"] * 3
    assert [part.seconds_per_cell for part in more["test"]] == pytest.approx([3 * tested[0] / 18] * 3)
    assert files(out).keys() == written.keys()


def test_a_training_costs_what_its_corruption_costs(tmp_path, monkeypatch):
    treated = []

    def treat(self, images, ids, seed, batch_size):
        treated.append(self.entries)
        return images

    monkeypatch.setattr(Corrupted, "treat", treat)
    plan_study(tmp_path / "study").cost()
    assert set(treated) == {("fog",), ("contrast",)}


def test_what_was_timed_serves_the_next_cost():
    acts, estimate = [], Estimate(torch.device("cpu"))

    def timed(key):
        return estimate.time(key, lambda: lambda: acts.append(key) or time.sleep(0.03))

    estimate.add("train", lambda: timed("a") + timed("b"), 1.0)
    first, count = estimate.total(), len(acts)
    estimate.begin_another()
    assert estimate.total().cells == estimate.total().warm_up == 0
    estimate.add("train", lambda: timed("b"), 2.0)
    assert len(acts) == count
    assert estimate.total().bytes == 2
    assert estimate.total().warm_up <= first.warm_up
    assert estimate.total().parts[0].seconds < first.parts[0].seconds


def test_trainings_of_one_recipe_share_their_trials(tmp_path, monkeypatch):
    made, written = [], []
    for name, calls in (("try_recipe", made), ("save_model", written)):
        real = getattr(cost_module, name)
        note = lambda *args, real=real, calls=calls, **options: calls.append(1) or real(*args, **options)  # noqa: E731
        monkeypatch.setattr(cost_module, name, note)
    trials, names = Trials(Estimate(torch.device("cpu"), threads=1)), []
    for cell in plan_study(tmp_path / "study").work.cells:
        trials.estimate.begin_another()
        (part,) = trials.cost([cell]).parts
        names.append(part.name)
        assert part.seconds_per_cell > 0
    assert names == ["standard", "fog", "contrast"] * 2
    assert len(made) == len(written) == 1


def test_every_model_of_an_evaluation_counts(tmp_path, monkeypatch):
    monkeypatch.setattr("scuff.evaluation.tasks.MODELS", 2)
    models = {f"net{number}": build("small_cnn", 4, 1) for number in range(3)}
    options = {"only": ["fog"], "severities": [1, 2], "limit": 50}
    plan = plan_evaluation(models, "cifar10-c", TEST, tmp_path / "out", **options)
    cost = estimate(plan, "cpu")
    assert not (tmp_path / "out").exists()
    assert [part.name for part in cost.parts] == 2 * ["clean", "fog 1", "fog 2"]  # of two models, and of the third
    assert cost.parts[0].bytes == 2 * cost.parts[3].bytes
    run_plan(plan_evaluation({"net0": models["net0"]}, "cifar10-c", TEST, tmp_path / "out", **options), device="cpu")
    rows = [size for name, size in files(tmp_path / "out").items() if name.endswith(".parquet")]
    assert len(rows) == 3
    assert cost.parts[3].bytes == pytest.approx(np.mean(rows), rel=0.1)
    left = estimate(plan, "cpu")
    seconds, cells = seconds_before(plan.store, "test")
    assert cells == 3
    assert [part.bytes for part in left.parts] == 6 * [cost.parts[3].bytes]
    assert [part.seconds_per_cell for part in left.parts] == pytest.approx(6 * [seconds / 3])
    assert left.parts[0].how == "measured in this folder: 3 cells"


def test_mscr_of_estimators_and_networks(tmp_path):
    random = np.random.default_rng(0)
    x, labels = random.random((300, 2)), np.arange(300) % 2
    options = {"train_noise": [0, "1x"], "test_noise": [0, "1x"], "runs": 2, "engine": ONE, "device": "cpu"}
    plan = MscrStudy(["1-nn"], (x, labels), tmp_path / "points", epsilon_min=0.01, **options).plan()
    cost = plan.cost()
    assert not (tmp_path / "points").exists()
    assert [(part.cells, part.device) for part in cost.parts] == [(2, "cpu"), (2, "cpu")]
    assert {part.how for part in cost.parts} == {"measured now on one cell"}
    plan.run()
    real = sum(size for name, size in files(tmp_path / "points").items() if name.startswith("cells"))
    assert cost.bytes == pytest.approx(real, rel=0.25)
    again = MscrStudy(["1-nn"], (x, labels), tmp_path / "points", epsilon_min=0.01, **{**options, "runs": 3}).plan()
    assert {part.how for part in again.cost().parts} == {"measured in this folder: 4 cells"}
    images = (TRAIN.images.array, TRAIN.labels)
    network = MscrStudy({"net": QUICK}, images, tmp_path / "images", epsilon_min=0.01, **options).plan()
    parts = network.cost().parts
    assert [part.cells for part in parts] == [2, 2]
    assert all(part.seconds_per_cell > 0 and part.bytes_per_cell > 90_000 for part in parts)  # weights of 24 000 floats
    assert not (tmp_path / "images").exists()


def test_distances(tmp_path):
    plan = DistancesStudy(["none", "augmix"], "cifar10-c", TRAIN, tmp_path / "out", recipe=QUICK, only=["fog"],
                          images=10, samples=3, augmentations=20, device="cpu", engine=ONE).plan()  # fmt: skip
    cost = plan.cost()
    assert [(part.kind, part.name) for part in cost.parts] == [
        ("train", "extractor"), ("centres", "fog"), ("scheme", "none"), ("scheme", "augmix"),
    ]  # fmt: skip
    assert all(part.seconds_per_cell > 0 for part in cost.parts)
    assert not (tmp_path / "out").exists()


def test_what_is_not_known_is_said(capsys):
    print_costs(StudyCost((CellCost("train", 2, math.nan, 1e6, "gpu", "not measured: there is no cuda here"),), "cpu"))
    said = capsys.readouterr().out
    assert "not measured: there is no cuda here" in said
    assert "To compute: ? GPU hours; 2 MB of files." in said
    assert "On 8" not in said
    print_costs(StudyCost((CellCost("train", 16, 3600.0, 1e6, "gpu"),), "a GPU", 60.0), "ray")
    said = capsys.readouterr().out
    assert "Measured on this machine: a GPU, which may not be like those of the cluster." in said
    assert "On 8 GPUs: about 2.0 h." in said
    assert "warms up: about 60 s" in said


def test_a_dry_run_prints_hours_and_bytes(tmp_path):
    words = ["--device", "cpu", "--out", str(tmp_path / "out"), "--dry-run"]
    for name, source in (("train", TRAIN), ("test", TEST)):
        np.savez(tmp_path / f"{name}.npz", images=source.images.array, labels=source.labels)
    data = ["--data", f"npz:{tmp_path}/train.npz"]
    test = ["--test", f"npz:{tmp_path}/test.npz", "--recipe", "fashion"]
    commands = {
        "train": ["overlap", "cifar10-c", "--only", "fog,contrast", *data, *test, *words],
        "fit": ["mscr", "--model", "1-nn", "--epsilon-min", "0.02", *data, *words],
    }
    for kind, command in commands.items():
        result = CliRunner().invoke(app, command)
        assert result.exit_code == 0, result.output
        assert re.search(rf"\n {kind} +\d+ +\S.* CPU +[\d.]+ [kM]B +measured now", result.output)
        assert re.search(r"To compute: \S+ CPU hours; [\d.]+ [kM]B of files\.\n", result.output)
        assert re.search(r"\nOn 8 (machines|processors)", result.output)
    assert not (tmp_path / "out").exists()


def test_the_table_of_the_documentation_is_between_its_marks(tmp_path):
    tool = load_tool("study_costs")
    lines = [tool.describe(("evaluate", "two nets", StudyCost((CellCost("test", 8, 900.0, 5e6, "gpu"),), "a GPU")))]
    table = tool.join(tool.pd.DataFrame(lines), tmp_path / "costs.csv")
    table.to_csv(tmp_path / "costs.csv", index=False)
    page = tmp_path / "page.md"
    page.write_text(f"Before\n{tool.BEGIN}\nold\n{tool.END}\nafter\n")
    for _ in range(2):  # the same lines take the place of the old
        table = tool.join(tool.pd.DataFrame(lines), tmp_path / "costs.csv")
        tool.fill(page, tool.markdown(table))
    text = page.read_text()
    assert "| `scuff evaluate` | two nets | 8 | 2.0 |  | 40 MB | 15 min |" in text
    assert text.startswith("Before\n")
    assert text.endswith("after\n")
    assert "old" not in text
    assert text.count("two nets") == 1


def test_lines_are_written_as_they_are_measured(tmp_path):
    tool = load_tool("study_costs")
    page, file = tmp_path / "page.md", tmp_path / "new" / "costs.csv"
    page.write_text(f"{tool.BEGIN}\n{tool.END}\n")
    lines = []
    for count, words in enumerate(("one net", "two nets"), 1):
        lines.append(("train", words, StudyCost((CellCost("train", count, 1800.0, 5e6, "gpu"),), "a GPU")))
        tool.keep(tool.pd.DataFrame(list(map(tool.describe, lines))), file, page)
        assert pd.read_csv(file)["what"].tolist() == [line[1] for line in lines]
        assert f"| {words} | {count} | {count / 2} |" in page.read_text()
    assert tool.in_words(lines[0]) == "train, one net: 0.5 GPU hours, 0 CPU hours, 5 MB"
    tool.keep(tool.pd.DataFrame([tool.describe(lines[1])]), file, None)  # of a later run
    assert sorted(pd.read_csv(file)["what"]) == ["one net", "two nets"]


def test_the_folders_of_links_are_made_when_they_are_needed(tmp_path):
    tool = load_tool("study_costs")
    scale = tool.Scale(tmp_path, torch.device("cpu"), is_quick=True)
    assert not any(tmp_path.iterdir())
    source = tool.open_source(scale.folder("classes"))
    assert (len(source), len(source.class_names)) == (100, 20)
    assert scale.folder("classes") == f"folder:{tmp_path / 'classes'}"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["classes", "pictures"]
    assert source.read([0, 99]).shape == (2, 3, 375, 500)


def test_the_table_of_the_documentation_is_that_of_the_file():
    tool = load_tool("study_costs")
    docs = Path(tool.__file__).parent.parent / "docs"
    table = tool.markdown(pd.read_csv(docs / "results" / "costs.csv"))
    page = (docs / "costs.md").read_text()
    assert page.partition(tool.BEGIN)[2].partition(tool.END)[0].strip() == table
    assert "130 corruptions" in table


def test_all_studies_of_transform_space_have_costs(tmp_path):
    options = {"recipe": QUICK, "test": TEST, "limit": 50, "device": "cpu", "engine": ONE, "images": 10, "samples": 3}
    some = {"only": ["fog"], "severities": [1, 3]}
    network, out = build("small_cnn", 4, 1), tmp_path / "out"
    studies = {
        "correlation": CorrelationStudy(
            ["none", "augmix"], "cifar10-c", TRAIN, out, augmentations=20, **some, **options
        ),
        "mixing": MixingStudy(
            "cifar10-c/fog", "cifar10-c/snow", TRAIN, out, augmentations=20, shares=[0, 1], **options
        ),
        "subsets": SubsetsStudy("augmix", "cifar10-c", TRAIN, out, draws=20, sizes=[1, 3], **some, **options),
        "dissimilar": DissimilarStudy(
            *("cifar10-c", "c-bar-candidates-32", TRAIN, out),
            **{key: options[key] for key in ("test", "limit", "device", "engine", "images", "samples")},
            models=network,
            extractors=network,
            size=2,
            only=["lines", "ripple"],
        ),
    }
    counts = {}
    for name, study in studies.items():
        cost = study.plan().cost()
        assert all(part.seconds_per_cell > 0 and part.bytes_per_cell > 0 for part in cost.parts)
        counts[name] = {kind: sum(part.cells for part in parts) for kind, parts in cost.kinds().items()}
    assert not out.exists()
    assert counts == {
        "correlation": {"train": 3, "test": 3, "centres": 1, "scheme": 2},  # clean images and two severities
        "mixing": {"train": 3, "test": 2, "centres": 1, "scheme": 2},
        "subsets": {"train": 8, "test": 3, "centres": 1, "order": 1},
        "dissimilar": {"test": 2 + 15 * 5 + 2 * 10, "centres": 15 + 2},
    }
