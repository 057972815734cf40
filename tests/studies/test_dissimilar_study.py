"""The search for a dissimilar benchmark: the scan against evaluations and features by hand, interrupted, done anew."""

import json

import numpy as np
import pandas as pd
import pytest
import torch
from made_encoders import open_encoder
from typer.testing import CliRunner

import scuff
from scuff.cli import app
from scuff.data import Source
from scuff.data.source import array_source
from scuff.design import Scan, find_dissimilar
from scuff.models import build, open_model, save_model
from scuff.studies import DissimilarStudy, dissimilar, read_dissimilar
from scuff.studies.transform_space.features import corruption_transform, resampling_seed
from scuff.suites import Suite, load_suite
from scuff.training import Recipe, train

QUICK = Recipe("quick", "small_cnn", epochs=2, batch_size=64, learning_rate=0.1, optimiser="muon")
REFERENCE = """
suite: known
version: 1
size: 8
severities: 3
validation: [brightness]
entries:
  gaussian_noise: {std: [0.1, 0.2, 0.4]}
  contrast: {gain: [0.5, 0.4, 0.3]}
  brightness: {shift: [0.1, 0.2, 0.3]}
"""
DRAWN = """
suite: drawn
version: 1
size: 8
entries:
  uniform_noise: {amplitude: {from: 0.3, to: 0.6}}
  level_shift: {shift: {from: 0.2, to: 0.5}}
"""
CANDIDATES = """
suite: pool
version: 2
size: 8
severities: 6
entries:
  blue_noise_sample: {amount: [1, 2, 3, 4, 6, 9]}
  brownish_noise: {amount: [2, 3, 4, 6, 9, 12]}
  caustic_refraction: {amount: [1, 2, 3, 4, 6, 9]}
  checkerboard_cutout: {amount: [6, 8, 10, 12, 14, 16]}
  inverse_sparkles: {amount: [0.5, 1, 1.5, 2, 3, 4]}
  strong: {corruption: gaussian_noise, std: [0.1, 0.2, 0.3, 0.5, 0.7, 0.9]}
  dark: {corruption: contrast, gain: [0.6, 0.5, 0.4, 0.3, 0.25, 0.2]}
"""


def faint(count: int, seed: int) -> Source:
    """Images of noise, a little brighter in one of four corners, which is the class: what is easily spoilt."""
    chance = np.random.default_rng(seed)
    labels = chance.integers(0, 4, count)
    images = chance.integers(0, 200, (count, 8, 8, 1), np.uint8)
    for image, label in zip(images, labels, strict=True):
        top, left = 4 * (label // 2), 4 * (label % 2)
        image[top : top + 4, left : left + 4] += 55
    return array_source("faint", images, labels, ("a", "b", "c", "d"))


TRAIN, TEST = faint(512, 0), faint(240, 1)
SMALL = {"images": 24, "sampling": "joint", "limit": 120, "size": 4, "tolerance": 0.2, "benchmarks": 200}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Two suites, and two networks: each is the classifier of one repetition and the extractor of the other."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "known.yaml").write_text(REFERENCE)
    (folder / "drawn.yaml").write_text(DRAWN)
    (folder / "pool.yaml").write_text(CANDIDATES)
    for seed, name in enumerate(("a", "b")):
        train(TRAIN, QUICK, folder / f"{name}.safetensors", seed=seed, device="cpu")
    return folder


def search(made, out, **options):
    options = {
        "models": [made / "a.safetensors", made / "b.safetensors"],
        "extractors": [made / "b.safetensors", made / "a.safetensors"],
        "test": TEST,
        "device": "cpu",
        **SMALL,
        **options,
    }
    return dissimilar(load_suite(made / "known.yaml"), load_suite(made / "pool.yaml"), TRAIN, out, **options)


@pytest.fixture(scope="module")
def finished(made, tmp_path_factory):
    out = tmp_path_factory.mktemp("study")
    return out, search(made, out, suite_name="far")


def read_scan(out, repetition: int) -> Scan:
    """The files of a scan, put together."""
    table = pd.read_csv(out / "scans" / f"{repetition}.csv")
    centres = []
    for role in ("reference", "candidate"):
        for address in dict.fromkeys(table.loc[table["role"] == role, "corruption"]):
            file = out / "centres" / str(repetition) / role / f"{address.partition('/')[2]}.npz"
            centres.append(np.load(file)["centres"])
    return Scan(table.drop(columns="distance"), np.concatenate(centres).astype(float))


def test_errors_and_centres_are_those_of_measuring_them_by_hand(made, finished):
    out, _ = finished
    lines, centres, seed = [], [], resampling_seed(0, 1)
    encoder = open_encoder(made / "a.safetensors", TRAIN, images=24, seed=seed, device="cpu")
    for role, file in (("reference", "known"), ("candidate", "pool")):
        suite = load_suite(made / f"{file}.yaml")
        rows = scuff.evaluate(made / "b.safetensors", suite, TEST, limit=120, device="cpu")
        wrong = rows["label"] != rows["prediction"]
        wrong = wrong.groupby([rows["corruption"], rows["severity"]], observed=True).mean()
        for entry in suite.benchmark():  # of the reference without its validation entry
            for level in suite.levels(entry):
                transform = corruption_transform(suite, entry, level, seed)
                features = encoder.extractor(transform(encoder.images, torch.arange(24)))  # every image its own draw
                centres.append(features.double().mean(0).numpy())
                lines.append((role, f"{file}/{entry}", level, wrong[entry, level]))
    scan = read_scan(out, 1)
    assert scan.table["error"].tolist() == pytest.approx([line[3] for line in lines], abs=1e-12)
    assert scan.table[["role", "corruption", "severity"]].to_numpy().tolist() == [list(line[:3]) for line in lines]
    np.testing.assert_allclose(scan.centres, centres, rtol=1e-5, atol=1e-5)  # sums of float32
    assert scan.table["error"].std() > 0.02  # not one number everywhere


def test_the_choice_is_the_design_of_the_scans(finished):
    out, found = finished
    wanted = find_dissimilar([read_scan(out, k) for k in range(2)], size=4, tolerance=0.2, candidates=200)
    pd.testing.assert_frame_equal(found.shifts, wanted.shifts)
    pd.testing.assert_frame_equal(found.picks, wanted.picks)
    assert (found.members, found.error, found.target) == (wanted.members, wanted.error, wanted.target)
    for repetition in range(2):
        kept, scan = pd.read_csv(out / "scans" / f"{repetition}.csv"), read_scan(out, repetition)
        assert kept["distance"].isna().tolist() == (kept["role"] == "reference").tolist()
        own = kept[kept["corruption"] == "pool/strong"]["distance"]
        np.testing.assert_allclose(own, scan.distances()["pool/strong"], rtol=1e-12)


def test_the_repetitions_differ(finished):
    one, two = (pd.read_csv(finished[0] / "scans" / f"{k}.csv") for k in range(2))
    assert (one["error"] != two["error"]).any()
    differ = (one["distance"] != two["distance"])[one["role"] == "candidate"]
    assert set(one["corruption"][differ.index[~differ]]) <= {"pool/dark"}
    known = one[(one["corruption"] == "pool/dark") & one["severity"].isin([2, 3, 4])]  # the contrasts of the reference
    assert known["distance"].tolist() == [0, 0, 0]


def test_the_folder_gives_back_what_was_found(finished):
    out, found = finished
    again = read_dissimilar(out)
    assert (again.members, again.levels, again.spreads) == (found.members, found.levels, found.spreads)
    assert (again.target, again.error, again.distance) == (found.target, found.error, found.distance)
    assert (again.matched_sets, again.sets, again.all_sets) == (found.matched_sets, found.sets, True)
    assert np.array_equal(again.candidate_distances, found.candidate_distances)
    assert np.array_equal(again.candidate_errors, found.candidate_errors)
    pd.testing.assert_frame_equal(again.picks, found.picks, rtol=1e-15)
    pd.testing.assert_frame_equal(again.shifts, found.shifts, rtol=1e-15)


def test_the_suite_is_fit_for_use(finished):
    out, found = finished
    suite = load_suite(out / "suite.yaml")
    assert (suite.name, suite.size, suite.severities) == ("far", 8, 5)
    assert [f"pool/{entry}" for entry in suite.entries] == list(found.members)
    image = torch.from_numpy(np.asarray(TRAIN.read([0], None)))
    entry = next(iter(suite.entries))
    assert scuff.corrupt(image, entry, 5, suite=suite).shape == image.shape


@pytest.mark.slow
def test_interrupted_anywhere_it_ends_the_same(made, finished, tmp_path):
    def stop_at(word):
        def progress(what, done, total):
            if what.startswith(word):
                raise KeyboardInterrupt

        return progress

    for word in ("test strong 3", "centres contrast", "drawing"):
        with pytest.raises(KeyboardInterrupt):
            search(made, tmp_path / "cut", progress=stop_at(word))
        with pytest.raises(ValueError, match="is not finished; run the same command again"):
            read_dissimilar(tmp_path / "cut")
    found = search(made, tmp_path / "cut")
    pd.testing.assert_frame_equal(found.shifts, finished[1].shifts)
    pd.testing.assert_frame_equal(found.picks, finished[1].picks)


def test_what_is_there_is_not_measured_again_when_another_size_is_chosen(made, finished):
    out, _ = finished
    before = {path: path.stat().st_mtime_ns for path in (*out.rglob("*.parquet"), *out.rglob("centres/**/*.npz"))}
    assert len(before) == 2 * (1 + 6) + 2 * (1 + 42) + 2 * (2 + 7)  # clean images belong to both evaluations
    seen = []
    some = ["blue_noise_sample", "strong", "dark", "inverse_sparkles", "brownish_noise"]
    smaller = search(made, out, size=2, tolerance=0.9, only=some, progress=lambda what, done, total: seen.append(what))
    assert len(smaller.members) == 2
    assert len(smaller.shifts) == 5
    assert set(seen) == {"drawing benchmarks"}
    assert before == {path: path.stat().st_mtime_ns for path in before}
    assert read_dissimilar(out).members == smaller.members
    search(made, out, suite_name="far")


def test_a_choice_that_fails_leaves_the_one_before_it(made, finished):
    out, found = finished
    files = ["dissimilar.json", "suite.yaml", "members.csv", "shifts.csv", "candidates.npz", "scans/0.csv"]
    before = {name: (out / name).read_bytes() for name in files}
    # Each of the two would need exactly the error of the reference. Whether one has it depends on the networks, and so
    # on the processor they were trained on: no sets, or one, and another message.
    with pytest.raises(ValueError, match="larger tolerance"):
        search(made, out, only=["dark", "inverse_sparkles"], size=2, tolerance=1e-7, suite_name="other")
    assert {name: (out / name).read_bytes() for name in files} == before
    assert read_dissimilar(out).members == found.members


def test_a_choice_that_is_interrupted_while_it_is_written_is_not_taken_for_finished(made, finished, monkeypatch):
    out, found = finished

    def stop(*given, **named):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Suite, "to_yaml", stop)
        with pytest.raises(KeyboardInterrupt):
            search(made, out, size=2, tolerance=0.9, suite_name="other")
    with pytest.raises(ValueError, match="is not finished; run the same command again"):
        read_dissimilar(out)
    assert search(made, out, suite_name="far").members == found.members
    assert read_dissimilar(out).members == found.members


def test_lost_centres_are_measured_again(made, finished):
    out, found = finished
    (out / "centres" / "1" / "candidate" / "brownish_noise.npz").unlink()
    seen = []
    again = search(made, out, suite_name="far", progress=lambda what, done, total: seen.append((what, done, total)))
    assert [one for one in seen if one[0].startswith("centres")] == [("centres brownish_noise 2", 144, 144)]
    pd.testing.assert_frame_equal(again.shifts, found.shifts)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"seed": 1}, "was made with other settings: seed was 0, is now 1"),
        ({"images": 13}, "images was 24, is now 13"),
        ({"limit": 100}, "was made with other settings"),
        ({"size": 3}, "an even number"),
        ({"size": 8}, "a benchmark of 8 corruptions needs as many candidates, better more; there are 7"),
        ({"only": ["dark", "strong"]}, "needs as many candidates, better more; there are 2"),
        ({"only": ["stron"]}, "did you mean strong"),
        ({"images": 1000}, "has 512 images, fewer than the 1000"),
        ({"sampling": "both"}, "sampling must be one of independent, joint, got 'both'"),
        ({"samples": 0}, "samples must be a whole number of at least 1"),
        ({"suite_name": "a/b"}, "suite 'a/b': the name must be text without /"),
        ({"suite_name": ""}, "the name must be text"),
        ({"spread": 0.0}, "a spread above 0"),
    ],
)
def test_settings_that_make_no_sense_are_refused_before_anything_is_computed(made, finished, options, what):
    def progress(*at):
        raise AssertionError("nothing was to be computed")

    with pytest.raises(ValueError, match=what):
        search(made, finished[0], progress=progress, **options)


def test_suites_and_models_that_do_not_fit_are_refused(made, tmp_path):
    pool, known = load_suite(made / "pool.yaml"), load_suite(made / "known.yaml")
    models = {"models": made / "a.safetensors", "extractors": made / "b.safetensors", "test": TEST, "device": "cpu"}
    with pytest.raises(ValueError, match="every candidate needs at least 5 severities; in known these have fewer"):
        DissimilarStudy(known, known, TRAIN, tmp_path, size=2, **models).plan()
    with pytest.raises(
        ValueError, match=r"at least 3 severities; in noc-candidates .*\. Say with spread .or --spread. by how much"
    ):
        DissimilarStudy("noc-candidates", pool, TRAIN, tmp_path, size=4, **models).plan()
    with pytest.raises(ValueError, match=r"at least 5 severities; in noc-candidates .*\. Leave them out"):
        DissimilarStudy(known, "noc-candidates", TRAIN, tmp_path, size=4, spread=0.5, **models).plan()
    several = dict.fromkeys("xyz", made / "a.safetensors")
    two = dict.fromkeys("xy", made / "b.safetensors")
    with pytest.raises(ValueError, match="as many of both, or one for all; got 3 models and 2 extractors"):
        DissimilarStudy(known, pool, TRAIN, tmp_path, size=4, **{**models, "models": several, "extractors": two}).plan()
    with pytest.raises(ValueError, match="is not the folder of a dissimilar benchmark"):
        read_dissimilar(tmp_path)


def test_one_extractor_serves_all_classifiers_and_remarks_are_made(made, tmp_path):
    known, pool = load_suite(made / "known.yaml"), load_suite(made / "pool.yaml")
    options = {
        "test": TEST,
        "device": "cpu",
        "size": 4,
        "models": {"one": made / "a.safetensors", "two": made / "a.safetensors"},
    }
    plan = DissimilarStudy(known, pool, TRAIN, tmp_path, extractors=made / "b.safetensors", **options).plan()
    assert [(name, own.name) for name, own in plan.work.repetitions] == [("one", "b"), ("two", "b")]
    assert plan.work.remarks() == []
    same = DissimilarStudy(known, pool, TRAIN, tmp_path, extractors=made / "a.safetensors", **options).plan()
    assert len(same.work.remarks()) == 1
    assert "both classifier and extractor" in same.work.remarks()[0]


# --- the command ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def command(made):
    for name, source in (("train", TRAIN), ("test", TEST)):
        images = source.read(range(len(source)), None)
        np.savez(made / f"{name}.npz", images=np.asarray(images).transpose(0, 2, 3, 1), labels=source.labels)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        untrained = build("small_cnn", classes=4).eval()
    save_model(open_model(untrained, name="untrained"), made / "raw.safetensors")
    words = ["design", "dissimilar", str(made / "known.yaml"), str(made / "pool.yaml"), "--device", "cpu"]
    words += ["--data", f"npz:{made}/train.npz", "--test", f"npz:{made}/test.npz", "--limit", "120", "--size", "4"]
    words += ["--model", f"{made}/a.safetensors", "--extractor", f"{made}/raw.safetensors", "--images", "8"]
    return [*words, "--sampling", "joint", "--tolerance", "0.3", "--benchmarks", "100"]


def test_the_command_says_what_it_will_do_and_does_it(command, tmp_path):
    out = str(tmp_path / "out")
    dry = CliRunner().invoke(app, [*command, "--out", out, "--dry-run"])
    assert dry.exit_code == 0, dry.output
    assert "Reference: known, 2 corruptions, 6 severities in all" in dry.output
    assert "Candidates: pool, 7 corruptions, 42 severities in all" in dry.output
    assert "Tests: 50 of 120 images, 0 already done" in dry.output
    assert "Centres: 48 of 8 images, 0 already done" in dry.output
    assert "Note: one repetition" in dry.output
    assert not (tmp_path / "out").exists()
    done = CliRunner().invoke(app, [*command, "--out", out, "--suite-name", "mine"])
    assert done.exit_code == 0, done.output
    found = read_dissimilar(out)
    for member in found.members:
        assert member in done.output
    assert f"Error {found.error:.4f}, that of the reference is {found.target:.4f}" in done.output
    assert load_suite(tmp_path / "out" / "suite.yaml").name == "mine"
    assert json.loads((tmp_path / "out" / "dissimilar.json").read_text())["models"][0]["name"] == "a"
    again = CliRunner().invoke(app, [*command, "--out", out, "--dry-run"])
    assert "Tests: 50 of 120 images, 50 already done" in again.output
    assert "Centres: 48 of 8 images, 48 already done" in again.output


def test_a_reference_without_severities_needs_the_spread(command, made, tmp_path):
    words = [str(made / "drawn.yaml") if one == str(made / "known.yaml") else one for one in command]
    words += ["--out", str(tmp_path / "out"), "--tolerance", "0.9"]
    failed = CliRunner().invoke(app, words)
    assert failed.exit_code == 2
    assert "Say with spread" in " ".join(failed.output.split())
    done = CliRunner().invoke(app, [*words, "--spread", "0.4"])
    assert done.exit_code == 0, done.output
    assert "Reference: drawn, 2 corruptions, without severities" in done.output
    found = read_dissimilar(tmp_path / "out")
    assert found.spreads == (0.4,)
    scan = read_scan(tmp_path / "out", 0).table
    assert scan.loc[scan["role"] == "reference", "severity"].tolist() == [0, 0]
    rows = scuff.evaluate(made / "a.safetensors", load_suite(made / "drawn.yaml"), TEST, limit=120, device="cpu")
    rows = rows[rows["corruption"] != "clean"]
    assert found.target == pytest.approx((rows["label"] != rows["prediction"]).mean(), abs=1e-12)
    assert (found.picks["severity"] >= 1).all()
    assert json.loads((tmp_path / "out" / "dissimilar.json").read_text())["spread"] == 0.4
    assert CliRunner().invoke(app, ["report", str(tmp_path / "out")]).exit_code == 0


def test_draws_of_a_centre_are_shared_by_all_images_unless_they_are_joint(made, tmp_path):
    pool = load_suite(made / "pool.yaml")
    options = {"models": made / "a.safetensors", "extractors": made / "b.safetensors", "only": ["strong", "dark"]}
    search(made, tmp_path, images=8, samples=3, sampling="independent", **{**options, "size": 2, "tolerance": 0.9})
    encoder = open_encoder(made / "b.safetensors", TRAIN, images=8, seed=0, device="cpu")
    wanted = encoder.encode(corruption_transform(pool, "strong", 4, 0), torch.arange(3)).mean(0)
    found = np.load(tmp_path / "centres" / "0" / "candidate" / "strong.npz")["centres"][3]
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)  # sums of float32


def test_mistakes_end_in_one_line(command, tmp_path):
    failed = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "x"), "--size", "5"])
    assert failed.exit_code == 2
    assert "an even number, because it has two halves; got 5" in failed.output
    for dry in ([], ["--dry-run"]):
        failed = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "x"), "--suite-name", "a/b", *dry])
        assert failed.exit_code == 2
        assert "the name must be text without /" in failed.output
    assert not (tmp_path / "x").exists()
