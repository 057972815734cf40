"""The study of MSCR: cells that can be computed anywhere and in any order, and what they are made of."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from made_images import bars
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from typer.testing import CliRunner

import scuff
from scuff.balls import sample_ball
from scuff.cli import app
from scuff.engine import LocalEngine
from scuff.metrics import class_separation, mscr_scores
from scuff.models import Classifier, open_model
from scuff.store import remove_damaged
from scuff.studies import MscrStudy, mscr, read_mscr
from scuff.studies.base import again_from
from scuff.studies.separation.cells import MscrCell, noisy_copies
from scuff.studies.separation.models import Estimator, Given, Network, open_contenders
from scuff.studies.separation.plan import read_noise
from scuff.studies.separation.study import PROTOCOLS
from scuff.training import Recipe

ONE = LocalEngine(processes=1)
QUICK = Recipe("quick", "small_cnn", epochs=1, batch_size=64, learning_rate=0.1, optimiser="muon")
SMALL = {"train_noise": (0, "1x"), "test_noise": (0, "1x", "4x"), "copies": 3, "runs": 2}


def rings(count=300, seed=0):
    """Two rings around one centre, with a gap of 0.02 between them: (points, labels)."""
    draw = np.random.default_rng(seed)
    labels = np.arange(count) % 2
    radius = np.where(labels == 0, draw.uniform(0.05, 0.19, count), draw.uniform(0.21, 0.4, count))
    angle = draw.uniform(0, 2 * math.pi, count)
    return 0.5 + np.column_stack((radius * np.cos(angle), radius * np.sin(angle))), labels


def cell_files(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.glob("cells/**/*.npz")}


# --- what is computed -------------------------------------------------------------------------------------------------


def test_a_study_of_estimators(tmp_path):
    found = mscr(["random-forest", "1-nn"], rings(), tmp_path, **SMALL, engine=ONE)
    assert found.epsilon_min == class_separation(*rings()).epsilon_min
    assert found.models == ("random-forest", "1-nn")
    assert found.train_noise == (0.0, found.epsilon_min)
    assert found.test_noise == (0.0, found.epsilon_min, 4 * found.epsilon_min)
    assert found.values.shape == (1, 2, 2, 3, 2)
    # A test has 60 points, and three copies of each: accuracies are whole numbers of 60ths, and of 180ths with noise.
    assert np.allclose(found.values[..., 0, :] * 60, np.round(found.values[..., 0, :] * 60), atol=1e-9)
    assert np.allclose(found.values * 180, np.round(found.values * 180), atol=1e-9)
    assert found.values[..., :2, :].min() > 0.9  # two rings that a coin would tell apart in half of the cases
    assert np.allclose(read_mscr(tmp_path).values, found.values, rtol=1e-15)  # text, and back


@pytest.mark.parametrize("offsets", ["independent", "shared"])
def test_a_cell_is_what_algorithm_1_says(tmp_path, offsets):
    """The whole of it again, by hand: the split, the copies, the fit and the two accuracies."""
    x, labels = rings()
    found = mscr("1-nn", (x, labels), tmp_path, **{**SMALL, "runs": [7]}, offsets=offsets, engine=ONE)
    train, test = train_test_split(np.arange(len(x)), test_size=0.2, random_state=7)
    plan = MscrStudy("1-nn", (x, labels), tmp_path, **{**SMALL, "runs": [7]}, offsets=offsets).plan()
    radius = found.epsilon_min
    cell = MscrCell("1-nn", 3, radius, 7)
    noisy = noisy_copies(plan.work.protocol, x[train], train, radius, cell, is_training=True)
    rule = KNeighborsClassifier(1).fit(noisy, np.tile(labels[train], 3))
    tested = noisy_copies(plan.work.protocol, x[test], test, radius, cell, is_training=False)
    assert found.accuracies("1-nn", radius, 0)[0] == (rule.predict(x[test]) == labels[test]).mean()
    assert found.accuracies("1-nn", radius, radius)[0] == (rule.predict(tested) == np.tile(labels[test], 3)).mean()


def test_every_point_draws_its_own_noise_and_test_points_that_of_no_training_point(tmp_path):
    x, labels = rings()
    plan = MscrStudy("1-nn", (x, labels), tmp_path, **SMALL).plan()
    cell, rows = MscrCell("1-nn", 3, 0.1, 0), np.arange(10)
    drawn = [
        noisy_copies(plan.work.protocol, x[:10], rows, 0.1, cell, is_training=t) - np.tile(x[:10], (3, 1))
        for t in (1, 0)
    ]
    both = np.concatenate(drawn)
    assert len(np.unique(both.round(12), axis=0)) == 60
    assert np.abs(both).max() <= 0.1
    again = sample_ball(torch.from_numpy(x[:10]), torch.arange(10), 0.1, copy=2, seed=0).numpy() - x[:10]
    assert np.array_equal(drawn[1][20:], again)


def test_shared_offsets_are_the_same_for_all_points_radii_and_both_sets(tmp_path):
    x, labels = rings()
    plan = MscrStudy("1-nn", (x, labels), tmp_path, **SMALL, offsets="shared").plan()
    cell, rows = MscrCell("1-nn", 3, 0.1, 0), np.arange(10)
    made = {
        (radius, t): noisy_copies(plan.work.protocol, x[:10], rows, radius, cell, is_training=t).reshape(3, 10, 2)
        - x[:10]
        for radius in (0.1, 0.2)
        for t in (True, False)
    }
    first = made[0.1, True]
    assert np.allclose(first, first[:, :1], atol=1e-15)  # of every point; sums with it round differently
    assert np.allclose(made[0.1, False], first, atol=1e-15)
    assert np.allclose(made[0.2, True], 2 * first, atol=1e-15)
    other = noisy_copies(plan.work.protocol, x[:10], rows, 0.1, replace(cell, run=1), is_training=True)
    assert not np.allclose(other.reshape(3, 10, 2) - x[:10], first)


def test_originals_are_trained_on_too_if_asked_for(tmp_path):
    """A rule that looks at the nearest point is right about every training point if it has seen the point itself."""
    x, labels = rings(60)
    labels = labels.copy()
    labels[:4] = 1 - labels[:4]  # points that their neighbours contradict
    options = {"train_noise": ("50x",), "test_noise": (0, "1x"), "copies": 1, "runs": 1, "engine": ONE}
    points = replace(
        scuff.data.open_points((np.concatenate((x, x)), np.concatenate((labels, labels)))),
        is_test=np.repeat([False, True], 60),
    )
    kept = mscr("1-nn", points, tmp_path / "kept", keep_originals=True, epsilon_min=0.001, **options)
    left = mscr("1-nn", points, tmp_path / "left", epsilon_min=0.001, **options)
    assert kept.accuracies("1-nn", 0.05, 0)[0] == 1.0
    assert left.accuracies("1-nn", 0.05, 0)[0] < 1.0


def test_data_with_a_test_split_keep_it_in_all_runs(tmp_path):
    points = replace(scuff.data.open_points(rings(20)), is_test=np.arange(20) >= 15)
    protocol = MscrStudy("1-nn", points, tmp_path, runs=3).plan().work.protocol
    assert [[rows.tolist() for rows in protocol.split(run)] for run in (0, 1)] == [
        [list(range(15)), list(range(15, 20))]
    ] * 2


# --- networks, and models that are there ------------------------------------------------------------------------------


def test_networks_are_trained_with_noise_and_tested_as_evaluations_are(tmp_path):
    images = bars(512)
    data = (images.images.array, images.labels)
    options = {"train_noise": (0, 0.1), "test_noise": (0, 0.2), "copies": 2, "runs": 1}
    found = mscr({"net": QUICK}, data, tmp_path, **options, device="cpu", engine=ONE)
    radius = found.epsilon_min
    weights = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.glob("models/**/*.safetensors"))
    assert weights == [f"models/net/train-{noise}/run-0.safetensors" for noise in (0.0, 0.1)]
    _, test = train_test_split(np.arange(512), test_size=0.2, random_state=0)
    for noise, file in zip((0.0, 0.1), weights, strict=True):
        rows = scuff.evaluate(tmp_path / file, None, images.take(test), device="cpu")
        assert found.accuracies("net", noise, 0)[0] == scuff.metrics.accuracy(rows).value
    model = open_model(str(tmp_path / weights[1]))
    pixels = images.take(test).read(range(len(test))).float() / 255
    hits = [
        model(sample_ball(pixels, torch.from_numpy(test), radius, copy=copy, bounds="truncate")).argmax(1).numpy()
        == images.labels[test]
        for copy in range(2)
    ]
    assert found.accuracies("net", 0.1, radius)[0] == pytest.approx(np.mean(hits), abs=1e-12)


def test_networks_are_trained_once_for_all_numbers_of_copies(tmp_path):
    """In every epoch they see one fresh copy of an image: what is tested makes no difference to them."""
    images = bars(128)
    options = {"train_noise": (0.1,), "test_noise": (0,), "runs": 1, "device": "cpu", "engine": ONE}
    mscr({"net": QUICK}, (images.images.array, images.labels), tmp_path, copies=(1, 2), **options)
    assert len(list(tmp_path.glob("models/**/*.safetensors"))) == 1
    assert len(cell_files(tmp_path)) == 2


def bright_quarter(images):
    """Which corner is brightest: what `bars` are made of."""
    return torch.nn.functional.avg_pool2d(images, 4).flatten(1)


def test_a_model_that_is_there_is_tested_as_it_is(tmp_path):
    images = bars(256)
    data = (images.images.array, images.labels)
    found = mscr(
        Classifier(bright_quarter, name="rule"), data, tmp_path, test_noise=("1x", 0.9), copies=4, device="cpu"
    )
    assert found.train_noise == (0.0,)
    assert found.runs == (0,)
    assert found.right.shape == (1, 1, 1, 3, 256)  # all points are test points
    assert (
        found.accuracies("rule", 0, 0)[0]
        == (bright_quarter(images.read(range(256)).float()).argmax(1).numpy() == images.labels).mean()
    )
    (score,) = mscr_scores(found).itertuples()
    assert score.mscr_low <= score.mscr <= score.mscr_high
    assert "bootstrap over test points" in score.interval or "bootstrap" in score.interval
    assert np.allclose(read_mscr(tmp_path).right, found.right, atol=1e-3)  # kept in half precision
    again = again_from(MscrStudy, json.loads((tmp_path / "mscr.json").read_text()), "x").words
    assert "--train-noise" not in again
    assert "--test-share" not in again


def hesitant(images):
    return torch.full((len(images), 4), torch.nan)


def test_a_model_that_gives_nan_is_refused(tmp_path):
    images = bars(64)
    with pytest.raises(ValueError, match="hesitant gave NaN for 64 predictions"):
        mscr({"hesitant": hesitant}, (images.images.array, images.labels), tmp_path, device="cpu")


def test_only_outputs_that_a_source_counts_are_counted(tmp_path):
    """As in ImageNet-R: the model prefers an output that no class of the source stands for."""
    images = bars(64)
    points = scuff.data.open_points((images.images.array, images.labels))

    def rule(pixels):
        return torch.cat((torch.full((len(pixels), 1), 9.0), bright_quarter(pixels)), 1)

    counted = replace(points, classes=scuff.data.ClassMap(outputs=(1, 2, 3, 4), classes=(0, 1, 2, 3)))
    found = mscr({"rule": rule}, counted, tmp_path, device="cpu", copies=1)
    assert found.accuracies("rule", 0, 0)[0] > 0.9
    with pytest.raises(ValueError, match="stands for some outputs of a model of ImageNet"):
        MscrStudy(QUICK, counted, tmp_path / "trained").plan()


def test_what_models_can_be():
    found = open_contenders(
        ["1-nn", "svm=sklearn.svm:SVC", "recipe:cifar-fast", make_pipeline(StandardScaler(), RandomForestClassifier())]
    )
    kinds = {name: type(one) for name, one in found.items()}
    assert kinds == {"1-nn": Estimator, "svm": Estimator, "cifar-fast": Network, "Pipeline": Estimator}
    forest = found["Pipeline"].make(5)
    assert forest.get_params()["randomforestclassifier__random_state"] == 5
    assert found["Pipeline"].model.get_params()["randomforestclassifier__random_state"] is None
    assert isinstance(open_contenders({"mine": bright_quarter})["mine"], Given)


# --- cells ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_several_processes_write_the_same_files(tmp_path):
    for processes in (1, 2):
        mscr(["random-forest"], rings(), tmp_path / str(processes), **SMALL, engine=LocalEngine(processes))
    one, two = (cell_files(tmp_path / str(processes)) for processes in (1, 2))
    assert one.keys() == two.keys()
    for name in one:
        with np.load(tmp_path / "1" / name) as ours, np.load(tmp_path / "2" / name) as theirs:
            assert np.array_equal(ours["right"], theirs["right"])
    assert len(one) == 4


def test_an_interrupted_study_goes_on_and_computes_nothing_twice(tmp_path):
    def stop(what, done, total):
        if what.startswith("fit 1-nn") and done >= total // 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mscr(["1-nn"], rings(), tmp_path, **SMALL, engine=ONE, progress=stop)
    with pytest.raises(ValueError, match="is not finished; run the same command again"):
        read_mscr(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.glob("cells/**/*.npz")}
    assert 0 < len(before) < 4
    mscr(["1-nn"], rings(), tmp_path, **SMALL, engine=ONE)
    assert all(path.stat().st_mtime_ns == written for path, written in before.items())
    assert len(cell_files(tmp_path)) == 4


def test_runs_and_models_join_a_study(tmp_path):
    mscr(["1-nn"], rings(), tmp_path, **SMALL, engine=ONE)
    before = cell_files(tmp_path)
    found = mscr(["1-nn"], rings(), tmp_path, **{**SMALL, "runs": 3}, engine=ONE)
    assert found.runs == (0, 1, 2)
    found = mscr({"other": KNeighborsClassifier(3)}, rings(), tmp_path, **SMALL, engine=ONE)
    assert found.models == ("1-nn", "other")
    assert found.runs == (0, 1)  # the third is not there of the other one
    assert cell_files(tmp_path).items() >= before.items()
    with pytest.raises(ValueError, match="the model other of this study was another one"):
        MscrStudy({"other": KNeighborsClassifier(5)}, rings(), tmp_path, **SMALL).plan()
    with pytest.raises(ValueError, match="was made with other settings: copies was \\[3\\], is now \\[4\\]"):
        MscrStudy(["1-nn"], rings(), tmp_path, **{**SMALL, "copies": 4}).plan()
    with pytest.raises(ValueError, match="was made with other settings: data_fingerprint"):
        MscrStudy(["1-nn"], rings(seed=1), tmp_path, **SMALL).plan()


def square(x):
    return x**2


def test_a_pipeline_with_a_function_in_it_is_known_again():
    """The text of a function names its place in memory, which is another one in every process."""
    made = [Estimator("p", make_pipeline(FunctionTransformer(square), KNeighborsClassifier(1))) for _ in range(2)]
    assert made[0].describe() == made[1].describe()
    assert "0x" not in made[0].describe()
    other = Estimator("p", make_pipeline(FunctionTransformer(np.sqrt), KNeighborsClassifier(1)))
    assert other.describe() != made[0].describe()


@pytest.mark.slow
def test_models_of_the_current_folder_work_in_several_processes(tmp_path, monkeypatch):
    text = "from sklearn.neighbors import KNeighborsClassifier\nclass Mine(KNeighborsClassifier): pass\n"
    (tmp_path / "mscr_test_models.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    found = mscr(
        "mscr_test_models:Mine", rings(), "study", **{**SMALL, "train_noise": (0,)}, engine=LocalEngine(processes=2)
    )
    assert found.models == ("Mine",)


class Failing(KNeighborsClassifier):
    def fit(self, x, y):
        raise ValueError("not today")


def test_a_model_that_fails_does_not_spoil_what_is_finished(tmp_path):
    before = mscr("1-nn", rings(), tmp_path, **SMALL, engine=ONE)
    with pytest.raises(ValueError, match="failing cannot be fitted to these points: not today"):
        mscr({"failing": Failing()}, rings(), tmp_path, **SMALL, engine=ONE)
    after = mscr("1-nn", rings(), tmp_path, **SMALL, engine=ONE)
    assert after.models == ("1-nn",)
    assert np.array_equal(after.values, before.values)


def test_models_that_are_there_are_not_measured_beside_those_that_are_trained(tmp_path):
    """They are tested on all points, the others on a fifth."""
    images = bars(64)
    data = (images.images.array, images.labels)
    mscr({"rule": bright_quarter}, data, tmp_path, copies=1, test_noise=(0, 0.1), device="cpu")
    with pytest.raises(ValueError, match="was made with other settings: are_given was True, is now False"):
        MscrStudy("1-nn", data, tmp_path, copies=1, test_noise=(0, 0.1), train_noise=(0,), runs=1).plan()


def test_a_folder_with_the_separation_of_other_data_is_refused(tmp_path):
    scuff.studies.separation(rings(seed=1), tmp_path)
    with pytest.raises(ValueError, match="was made with other settings: data_fingerprint"):
        MscrStudy("1-nn", rings(), tmp_path, epsilon_min=0.01).plan()


def test_a_damaged_cell_is_named(tmp_path):
    plan = MscrStudy(["1-nn"], rings(), tmp_path, **SMALL).plan()
    plan.run()
    file = next(tmp_path.glob("cells/**/*.npz"))
    file.write_bytes(file.read_bytes()[:50])
    with pytest.raises(ValueError, match=r"run-\d.npz is damaged .*; delete it and run the same command again"):
        plan.run()


def test_a_changed_cell_is_noticed_and_made_again(tmp_path):
    plan = MscrStudy(["1-nn"], rings(), tmp_path, **SMALL).plan()
    result = plan.run()
    file = next(tmp_path.glob("cells/**/*.npz"))
    whole = file.read_bytes()
    for place in range(0, len(whole) - 60, 97):  # the end is the name of the digest
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(ValueError, match=r"run-\d.npz is damaged .* --repair"):
            plan.run()
    assert remove_damaged(tmp_path) == [file.relative_to(tmp_path).as_posix()]
    again = MscrStudy(["1-nn"], rings(), tmp_path, **SMALL).run()
    assert np.array_equal(again.values, result.values)
    assert file.read_bytes() == whole


# --- the command line -------------------------------------------------------------------------------------------------


def scuff_mscr(*words):
    return CliRunner().invoke(app, ["mscr", *map(str, words)])


@pytest.fixture
def file(tmp_path):
    x, labels = rings()
    np.savez(tmp_path / "rings.npz", x=x, y=labels)
    return tmp_path / "rings.npz"


def test_the_command_line(tmp_path, file):
    out = tmp_path / "study"
    words = ["--model", "1-nn", "--data", file, "--out", out, "--runs", 2, "--train-noise", "0,1x", "--processes", 1]
    dry = scuff_mscr(*words, "--dry-run")
    assert dry.exit_code == 0, dry.output
    assert "Trainings with tests: 4, 0 done already" in dry.output
    done = scuff_mscr(*words)
    assert done.exit_code == 0, done.output
    assert "MSCR %" in done.output
    assert "Student t over runs" in done.output
    again = scuff_mscr(*words, "--as-paper")
    assert "Trainings with tests: 4, 4 done already" in again.output
    assert "1.96" in again.output
    assert "1-nn: training noise minus none, in points" in again.output
    assert "of 1 pair of training noises, " in again.output
    assert (out / "accuracies.csv").exists()
    settings = json.loads((out / "mscr.json").read_text())
    assert settings["epsilon_min"] == class_separation(*rings()).epsilon_min


def test_the_same_again_names_seeds_models_and_radii_that_joined(tmp_path, file):
    out = tmp_path / "study"
    words = ["--data", file, "--out", out, "--train-noise", "0,1x", "--test-noise", "0,0.02", "--processes", 1]
    assert scuff_mscr(*words, "--model", "1-nn", "--runs", "3,7").exit_code == 0
    settings = json.loads((out / "mscr.json").read_text())
    assert settings["runs"] == [3, 7]
    line = "scuff mscr --model 1-nn --data {} --out x --train-noise 0,1x --test-noise 0,0.02 --runs 3,7"
    assert again_from(MscrStudy, settings, "x").words == line.format(file)
    rule = {"mine": KNeighborsClassifier(3), "svm": "sklearn.svm:SVC"}
    options = {"train_noise": "0,1x", "test_noise": [0, 0.02], "engine": ONE}
    mscr(rule, str(file), out, runs=[3, 7, 8], **options)
    again = again_from(MscrStudy, json.loads((out / "mscr.json").read_text()), "x")
    for word in ("--model 1-nn --model mine --model svm=sklearn.svm:SVC", "--runs 3,7,8", "--train-noise 0,1x"):
        assert word in again.words
    assert again.notes == ("Given as Python objects, so put files or addresses in their place: mine.",)


def test_a_protocol_fills_in_what_is_not_given(tmp_path, file):
    dry = scuff_mscr("--protocol", "paper-2d", "--runs", "2", "--data", file, "--out", tmp_path / "study", "--dry-run")
    assert dry.exit_code == 0, dry.output
    for line in ("Models: random-forest, 1-nn", "Runs: 2; copies of each point: 10; offsets: shared"):
        assert line in dry.output.splitlines()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "no model is given"),
        (["--model", "ranom-forest"], "no model is called 'ranom-forest'; did you mean random-forest?"),
        (["--model", "1-nn", "--model", "1-nn"], "two models are called 1-nn"),
        (["--model", "recipe:cifar-fast"], "networks classify images of bytes (uint8); rings holds float64"),
        (["--model", "recipe:cifr"], "no recipe is called 'cifr'"),
        (["--model", "sklearn.svm:SVV"], "module sklearn.svm has no 'SVV'; did you mean SVR, SVC"),
        (["--protocol", "paper-3d"], "no protocol is called 'paper-3d'; did you mean paper-2d?"),
        (["--model", "1-nn", "--train-noise", "0,much"], "train_noise takes radii, as 0.01, and multiples"),
        (["--model", "1-nn", "--train-noise", "0,-1"], "train_noise takes radii of at least 0, got '-1'"),
        (["--model", "1-nn", "--train-noise", "0,0.0"], "each of them once"),
        (["--model", "1-nn", "--copies", "0"], "copies must be whole numbers of at least 1"),
        (["--model", "1-nn", "--copies", "70000"], "at most 65535"),
        (["--model", "1-nn", "--runs", "0"], "expected at least one run"),
        (["--model", "1-nn", "--norm", "0.5"], "0.5"),
        (["--model", "1-nn", "--norm", "2", "--bounds", "truncate"], "a ball of L2 cannot be truncated"),
        (["--model", "1-nn", "--offsets", "equal"], "offsets must be one of independent, shared"),
        (["--model", "1-nn", "--test-share", "1"], "test_share must be between 0 and 1"),
        (["--model", "1-nn", "--epsilon-min", "0"], "epsilon_min must be a number above 0"),
        (
            ["--model", "1-nn", "--epsilon-min", "0.1", "--quantile", "0.1"],
            "or the quantile to measure it by, not both",
        ),
        (["--model", "1-nn", "--quantile", "1"], "quantile must be at least 0 and below 1"),
        (["--model", "1-nn", "--test-share", "0.9999"], "300 points cannot be split by a test_share of 0.9999"),
        (["--model", "sklearn.ensemble:RandomForestRegressor"], "RandomForestRegressor is no classifier"),
        (["--model", "sklearn.cluster:KMeans"], "KMeans is no classifier"),
        (["--model", "sklearn.multioutput:ClassifierChain"], "cannot be made without arguments"),
    ],
)
def test_mistakes_of_users_are_told_in_one_line(tmp_path, file, words, message):
    done = scuff_mscr("--data", file, "--out", tmp_path / "study", *words)
    assert done.exit_code == 2
    assert message in done.output
    assert done.output.strip().count("\n") == 0
    assert not (tmp_path / "study" / "mscr.json").exists()


def test_too_few_points(tmp_path):
    with pytest.raises(ValueError, match="KNeighborsClassifier looks at 9 neighbours, but only 8 points are left"):
        MscrStudy(KNeighborsClassifier(9), rings(10), tmp_path).plan()
    with pytest.raises(ValueError, match="1 of 3 points are left for training, all of one class; take more points"):
        MscrStudy("1-nn", (np.array([[0.1], [0.2], [0.9]]), [0, 0, 1]), tmp_path, test_share=0.5).plan()


def test_models_that_are_trained_and_models_that_are_there_do_not_mix(tmp_path):
    with pytest.raises(ValueError, match="rule is trained already, the other models are trained here"):
        open_contenders({"1-nn": "1-nn", "rule": bright_quarter})
    images = bars(64)
    with pytest.raises(ValueError, match="train_noise is for models that are trained here"):
        MscrStudy(bright_quarter, (images.images.array, images.labels), tmp_path, train_noise=(0, 0.1)).plan()


def test_points_that_are_open_take_no_options(tmp_path):
    with pytest.raises(ValueError, match="are for data that are not opened yet"):
        MscrStudy("1-nn", scuff.data.open_points(rings()), tmp_path, scale="minmax").plan()


def test_numbers_of_numpy_are_numbers(tmp_path):
    plan = MscrStudy(
        "1-nn", rings(), tmp_path, runs=np.int64(2), copies=np.int64(3), train_noise="0,1x", test_noise=0.1
    ).plan()
    assert plan.settings["runs"] == [0, 1]
    assert plan.settings["copies"] == [3]
    assert len(plan.settings["train_noise"]) == 2
    assert 0.1 in plan.settings["test_noise"]
    assert MscrStudy("1-nn", rings(), tmp_path / "2", runs=np.arange(2)).plan().settings["runs"] == [0, 1]


@pytest.mark.parametrize("option", [{"offsets": "shared"}, {"keep_originals": True}])
@pytest.mark.parametrize("model", [QUICK, bright_quarter])
def test_what_is_for_estimators_is_not_silently_left_out_for_networks(tmp_path, model, option):
    images = bars(64)
    with pytest.raises(ValueError, match="shared offsets and kept originals are for estimators"):
        MscrStudy(model, (images.images.array, images.labels), tmp_path, **option).plan()


def test_radii_and_protocols():
    assert read_noise(["2x", 0], 0.25, "noise") == (0.0, 0.5)
    assert read_noise(None, 1.0, "noise") == (0.0, 0.25, 0.5, 1.0, 1.5, 2.0)
    plane, cifar = PROTOCOLS["paper-2d"], PROTOCOLS["paper-cifar10"]
    assert len(plane["train_noise"]) == len(plane["test_noise"]) == 9
    assert len(cifar["train_noise"]) == 8
    assert len(cifar["test_noise"]) == 18
