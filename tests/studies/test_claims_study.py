"""`scuff check`: claims about a model or about rows, exit codes, JUnit, going on after a kill."""

import json
import xml.etree.ElementTree as ET
from importlib import resources

import numpy as np
import pytest
import torch
from torch import nn
from typer.testing import CliRunner

import scuff
from scuff.cli import app
from scuff.data import array_source
from scuff.models import Classifier
from scuff.report.claims import evidence_figure
from scuff.report.write import read_page
from scuff.studies.claims import answers as answers_module

WEIGHTS = str(resources.files("scuff") / "assets" / "demo" / "standard.safetensors")
TOP = "claims: 1\nsuite: cifar10-c\nconfidence: 0.95\n"
EASY = "easy: {of: contrast, severity: 1, at_least: 0.2}"
HARD = "hard: {of: contrast, severity: 1, at_least: 0.99}"
UNCLEAR = "unclear: {of: contrast, severity: 1, at_least: 0.2, budget: 2}"


def claims_file(folder, *claims, top=TOP, name="claims"):
    path = folder / f"{name}.yaml"
    path.write_text(top + "list:\n" + "".join(f"  {claim}\n" for claim in claims))
    return str(path)


@pytest.fixture(scope="module")
def source():
    """Four classes that a fixed linear network tells apart by brightness alone."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 300)
    images = np.clip(40 + 50 * labels[:, None, None, None] + rng.normal(0, 12, (300, 8, 8, 3)), 0, 255)
    return array_source("grey", images.astype(np.uint8), labels)


def net(offset=0.0, name="net"):
    """Nearest of four grey values; `offset` shifts them, so that it errs."""
    layer = nn.Linear(8 * 8 * 3, 4)
    means = (40 + 50 * torch.arange(4.0) + offset) / 255
    with torch.no_grad():
        layer.weight.copy_((2 * means / 192)[:, None].expand(4, 192))
        layer.bias.copy_(-(means**2))
    return Classifier(nn.Sequential(nn.Flatten(), layer), name=name)


SHIFTED = net(offset=5.0)  # a baseline by its address


def test_verdicts_and_what_is_kept(source, tmp_path):
    file = claims_file(tmp_path, EASY, HARD, UNCLEAR)
    checked = scuff.studies.check(file, net(offset=24.0), data=source, out=tmp_path / "gate")
    assert {claim.name: claim.verdict for claim in checked.claims} == {
        "easy": "holds",
        "hard": "fails",
        "unclear": "undecided",
    }
    assert (checked.verdict, checked.exit_code, bool(checked)) == ("fails", 1, False)
    content = json.loads((tmp_path / "gate" / "claims.json").read_text())
    assert content["verdict"] == "fails"
    again = scuff.studies.read_claims_study(tmp_path / "gate")
    assert [claim.outcomes for claim in again.claims] == [claim.outcomes for claim in checked.claims]
    assert again.exit_code == 1


def test_a_ratio_to_nothing_is_no_number_and_undecided(source, tmp_path):
    blind = net(offset=1e6)  # right about the darkest class alone
    file = claims_file(
        tmp_path,
        "keeps: {metric: robustness_score, of: contrast, severity: 1, at_least: 0.5}",
        "these: {metric: robustness_score, of: contrast, severity: 1, at_least: 0.5, population: these}",
    )
    bright = source.take(source.labels > 0)
    checked = scuff.studies.check(file, blind, data=bright, out=tmp_path / "gate")
    for claim in checked.claims:
        assert (claim.verdict, claim.worst.estimate) == ("undecided", None)
        assert "right about none of the clean images" in claim.notes[0]
    text = (tmp_path / "gate" / "claims.json").read_text()
    assert "NaN" not in text
    again = scuff.studies.read_claims_study(tmp_path / "gate")
    assert [claim.outcomes for claim in again.claims] == [claim.outcomes for claim in checked.claims]
    assert "none [" in str(read_page(str(tmp_path / "gate")).sections)
    with pytest.raises(ValueError, match="the folder above it has the page"):
        scuff.write_report(tmp_path / "gate" / "answers")


def test_rows_decide_as_the_model_does(source, tmp_path):
    scuff.evaluate(net(), "cifar10-c", source, tmp_path / "rows", only=["contrast", "fog"], severities=[1, 2])
    file = claims_file(tmp_path, EASY, HARD, "both: {of: [contrast, fog], severity: {to: 2}, at_most: 0.9}")
    by_model = scuff.studies.check(file, net(), data=source, out=tmp_path / "a")
    by_rows = scuff.studies.check(file, rows=tmp_path / "rows", out=tmp_path / "b")
    for one, other in zip(by_model.claims, by_rows.claims, strict=True):
        assert (one.verdict, one.outcomes) == (other.verdict, other.outcomes)


def test_baselines_are_paired_by_folder_and_by_model(source, tmp_path):
    scuff.evaluate(net(), "cifar10-c", source, tmp_path / "old", only=["contrast"], severities=[1])
    claim = "not-worse: {against: baseline, margin: 0.1, of: contrast, severity: 1}"
    file = claims_file(tmp_path, claim, top=f"{TOP}baseline: {tmp_path / 'old'}\n")
    same = scuff.studies.check(file, net(), data=source, out=tmp_path / "same")
    worse = scuff.studies.check(file, net(offset=120.0), data=source, out=tmp_path / "worse")
    assert (same.verdict, worse.verdict) == ("holds", "fails")
    assert same.claims[0].worst.estimate == 0
    other = array_source("other", source.images.array[::-1].copy(), source.labels[::-1].copy())
    with pytest.raises(ValueError, match="another source fingerprint"):
        scuff.studies.check(file, net(), data=other, out=tmp_path / "other")


def test_classes_and_groups_of_a_table(source, tmp_path):
    table = tmp_path / "groups.csv"
    table.write_text("image_id,place\n" + "".join(f"{k},{'in' if k % 2 else 'out'}\n" for k in range(300)))
    by_table = f"place: {{of: contrast, severity: 1, at_least: 0.2, by: {{table: '{table}', column: place}}}}"
    by_class = "classes: {of: contrast, severity: 1, at_least: 0.2, by: class, least_images: 70}"
    checked = scuff.studies.check(claims_file(tmp_path, by_table, by_class), net(), data=source, out=tmp_path / "g")
    places, classes = checked.claims
    assert [outcome.name for outcome in places.outcomes] == ["in", "out"]
    small = [int((source.labels == label).sum()) < 70 for label in range(4)]
    assert len(classes.outcomes) == 4 - sum(small)
    if any(small):
        assert "fewer than 70 images" in classes.notes[0]


def test_killed_and_run_again_it_asks_nothing_twice(source, tmp_path, monkeypatch):
    file = claims_file(tmp_path, "close: {of: [contrast, fog], severity: 1, at_least: 0.5}")
    whole = scuff.studies.check(file, net(offset=20.0), data=source, out=tmp_path / "whole")
    asked = []
    real = answers_module.predict_pairs

    def count(runner, images, cells, models):
        asked.append(len(images))
        return real(runner, images, cells, models)

    monkeypatch.setattr(answers_module, "predict_pairs", count)
    monkeypatch.setattr(scuff.studies.claims.plan, "judge", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        scuff.studies.check(file, net(offset=20.0), data=source, out=tmp_path / "cut")
    before = sum(asked)
    monkeypatch.undo()
    monkeypatch.setattr(answers_module, "predict_pairs", count)
    asked.clear()
    cut = scuff.studies.check(file, net(offset=20.0), data=source, out=tmp_path / "cut")
    assert before > 0
    assert sum(asked) == 0
    assert cut.claims[0].outcomes == whole.claims[0].outcomes


def test_what_claims_between_levels_have_asked_is_kept_for_the_next_run(tmp_path, source, monkeypatch):
    claim = "not-worse: {metric: survival, against: baseline, of: fog, severity: [0.5, 1.3], population: these%s}"
    top = f"{TOP}baseline: {__name__}:SHIFTED\n"
    monkeypatch.setattr(scuff.studies.claims.plan, "BLOCK", 16)
    asked = []
    real = answers_module.predict_pairs

    def count(runner, images, cells, models):
        asked.append(len(images))
        return real(runner, images, cells, models)

    monkeypatch.setattr(answers_module, "predict_pairs", count)
    for more in (", budget: 400", "", ""):
        file = claims_file(tmp_path, claim % more, top=top)
        asked.clear()
        checked = scuff.studies.check(file, net(), data=source, out=tmp_path / "gate")
        kept = [len(list(folder.iterdir())) for folder in (tmp_path / "gate" / "answers" / "sampled").iterdir()]
        assert sum(kept) > 2
    assert sum(asked) == 0  # although both models have answered in several files, in two runs
    assert len({*kept}) == 1
    assert checked.claims[0].verdict == "holds"


def test_baselines_that_lack_something_are_refused_before_the_first_pass(source, tmp_path):
    scuff.evaluate(net(), "cifar10-c", source, tmp_path / "old", only=["contrast"], severities=[1])
    scuff.evaluate(net(), "imagenet-c", source, tmp_path / "other", only=["contrast"], severities=[1])
    claim = "not-worse: {against: baseline, margin: 0.1, of: [contrast, fog], severity: 1}"
    for baseline, said in [("old", "lack 1 cell that"), ("other", "another suite"), ("none", "neither the folder")]:
        file = claims_file(tmp_path, claim, top=f"{TOP}baseline: {tmp_path / baseline}\n")
        with pytest.raises(ValueError, match=said):
            scuff.studies.check(file, net(), data=source, out=tmp_path / "gate")
        assert not (tmp_path / "gate").exists()


def test_published_images_that_lack_something_are_refused_before_the_first_pass(tmp_path):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "fog.npy", rng.integers(0, 256, (50, 8, 8, 3), np.uint8))
    np.save(tmp_path / "labels.npy", np.tile(np.arange(10), 5))
    for claim, said in [
        ("a: {severity: 2, at_least: 0.5}", "lack 14 cells"),
        ("a: {metric: drop, of: fog, at_most: 0.5}", "lack 1 cell .* clean"),
        ("a: {of: fog, severity: 2.5, at_least: 0.5}", "have none; give clean ones"),
    ]:
        file = claims_file(tmp_path, claim)
        with pytest.raises(ValueError, match=said):
            scuff.studies.check(file, net(), data=f"cifar10-c:{tmp_path}", out=tmp_path / "gate")


def test_a_baseline_may_be_a_file_of_weights(tmp_path):
    file = claims_file(
        tmp_path, "same: {against: baseline, margin: 0.2, of: fog, severity: 1}", top=f"{TOP}baseline: {WEIGHTS}\n"
    )
    checked = scuff.studies.check(file, WEIGHTS, data="fashion", limit=50, out=tmp_path / "gate")
    assert checked.claims[0].worst.estimate == 0


def test_budgets_and_groups_that_are_too_small_are_refused_before_the_first_pass(source, tmp_path):
    for claim, said in [
        ("a: {metric: survival, of: fog, severity: 4.5, at_least: 0.3, budget: 5}", "at least 6 passes, got 5"),
        ("a: {of: fog, severity: 1, at_least: 0.3, by: class, least_images: 1000}", "no group has 1000 images"),
    ]:
        with pytest.raises(ValueError, match=said):
            scuff.studies.ClaimsStudy(claims_file(tmp_path, claim), net(), data=source, out=tmp_path / "gate").plan()


def test_what_is_certain_is_told_in_plain_json(source, tmp_path):
    file = claims_file(tmp_path, "sure: {of: brightness, severity: 1, at_least: 0.001, population: these}")
    scuff.studies.check(file, net(), data=source, out=tmp_path / "gate")

    def refuse(word):
        raise AssertionError(f"{word} is no JSON")

    content = json.loads((tmp_path / "gate" / "claims.json").read_text(), parse_constant=refuse)
    assert content["claims"][0]["verdict"] == "holds"


@pytest.mark.parametrize(
    ("claims", "code"),
    [((EASY,), 0), ((EASY, HARD), 1), ((EASY, UNCLEAR), 3), ((UNCLEAR.replace("}", ", undecided: allow}"),), 0)],
)
def test_exit_codes_and_junit(claims, code, tmp_path):
    command = ["check", claims_file(tmp_path, *claims), WEIGHTS, "--data", "fashion", "--limit", "200"]
    result = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "gate"), "--junit", str(tmp_path / "gate.xml")])
    assert result.exit_code == code, result.output
    suite = ET.parse(tmp_path / "gate.xml").getroot()[0]
    assert suite.get("tests") == str(len(claims))
    assert suite.get("failures") == str(sum(claim in (HARD, UNCLEAR) for claim in claims))
    kinds = [element.get("type") for element in suite.iter("failure")]
    assert kinds == ["fails"] * (HARD in claims) + ["undecided"] * (UNCLEAR in claims)


def test_an_error_stands_in_the_junit_file_too(tmp_path):
    command = ["check", claims_file(tmp_path, EASY), str(tmp_path / "gone.safetensors"), "--data", "fashion"]
    result = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "gate"), "--junit", str(tmp_path / "gate.xml")])
    assert result.exit_code == 2, result.output
    suite = ET.parse(tmp_path / "gate.xml").getroot()[0]
    assert {key: suite.get(key) for key in ("tests", "failures", "errors", "skipped")} == {
        "tests": "1",
        "failures": "0",
        "errors": "1",
        "skipped": "0",
    }
    (error,) = suite.iter("error")
    assert "gone.safetensors" in error.get("message")


def test_wrong_files_and_arguments_exit_with_2(tmp_path):
    for arguments, said in [
        (
            [claims_file(tmp_path, "a: {of: fogg, at_least: 0.5}", name="wrong"), WEIGHTS, "--data", "fashion"],
            "did you mean fog",
        ),
        ([str(tmp_path / "none.yaml"), WEIGHTS, "--data", "fashion"], "none.yaml"),
        ([claims_file(tmp_path, EASY)], "give a model"),
        ([claims_file(tmp_path, EASY), WEIGHTS], "with --data"),
        ([claims_file(tmp_path, EASY), "--rows", str(tmp_path)], "not the folder of an evaluation"),
        ([claims_file(tmp_path, EASY), "--rows", str(tmp_path), "--limit", "5"], "leave out limit"),
    ]:
        result = CliRunner().invoke(app, ["check", *arguments, "--out", str(tmp_path / "gate")])
        assert result.exit_code == 2, result.output
        assert said in result.output


def test_a_page_does_not_say_that_what_is_undecided_holds(source, tmp_path):
    each = "each: {of: [contrast, fog], severity: 1, over: each, at_least: 0.2, budget: 4, undecided: allow}"
    checked = scuff.studies.check(claims_file(tmp_path, EASY, each), net(), data=source, out=tmp_path / "gate")
    assert (checked.verdict, checked.claims[1].verdict) == ("holds", "undecided")
    page = read_page(str(tmp_path / "gate"))
    assert "those that are undecided may be" in page.verdicts[0][1]
    plain, two = (evidence_figure(claim).traces for claim in checked.claims)
    assert (len(plain), len(two)) == (3, 4)  # of two trials, each needs twice the evidence to fail
    assert two[-1]["y"][0] == pytest.approx(np.log10(2 / 0.05))


def test_many_claims_are_corrected_and_shown_on_a_page(source, tmp_path):
    file = claims_file(tmp_path, EASY, "other: {of: fog, severity: 1, at_least: 0.2}", top=f"{TOP}family: holm\n")
    checked = scuff.studies.check(file, net(), data=source, out=tmp_path / "gate")
    # With two claims, evidence that is just enough for one is not enough for both; the first to be tested needs twice.
    largest = max(claim.worst.p_value for claim in checked.claims)
    smallest = min(claim.worst.p_value for claim in checked.claims)
    expected = "holds" if 2 * smallest <= 0.05 and largest <= 0.05 else "undecided"
    assert {claim.holm for claim in checked.claims} <= {expected, "holds"}
    page = scuff.write_report(tmp_path / "gate")
    with open(page, encoding="utf-8") as text:
        shown = text.read()
    assert "The model passes: all claims hold." in shown
    assert "accuracy over contrast 1 is at least 0.2" in shown


def test_survival_is_what_the_study_of_failures_finds(source, tmp_path):
    """Brightness leads all images one way, so none flips back: first failures and the way up to 2.5 agree."""
    model = net(offset=-10.0)
    failures = scuff.studies.survival(model, "cifar10-c", source, tmp_path / "survival", only=["brightness"])
    survive = float((failures["failure"] > 2.5).mean())
    assert 0.2 < survive < 0.8
    claim = "survives: {metric: survival, of: brightness, severity: 2.5, at_least: %.4f, population: these}"
    low, high = (claims_file(tmp_path, claim % (survive + by), name=f"{by}") for by in (-0.01, 0.01))
    holds = scuff.studies.check(low, model, data=source, out=tmp_path / "low")
    fails = scuff.studies.check(high, model, data=source, out=tmp_path / "high")
    assert (holds.verdict, fails.verdict) == ("holds", "fails")
    again = scuff.studies.check(low, model, data=source, out=tmp_path / "low")  # from what was kept
    assert again.claims[0].outcomes == holds.claims[0].outcomes


def test_severities_between_levels_are_tried_and_not_read(source, tmp_path):
    file = claims_file(tmp_path, "between: {of: brightness, severity: 1.5, at_least: 0.2, population: these}")
    checked = scuff.studies.check(file, net(), data=source, out=tmp_path / "gate")
    shown = scuff.corrupt(source.images.array, "cifar10-c/brightness", 1.5, ids=source.ids)
    right = net().on("cpu")(torch.from_numpy(shown).permute(0, 3, 1, 2)).argmax(1).numpy() == source.labels
    first = checked.claims[0].worst
    assert first.verdict == ("holds" if right.mean() >= 0.2 else "fails")
    assert first.low <= right.mean() <= first.high
    scuff.evaluate(net(), "cifar10-c", source, tmp_path / "rows", only=["brightness"], severities=[1, 2])
    with pytest.raises(ValueError, match="claim between needs severities between levels"):
        scuff.studies.check(file, rows=tmp_path / "rows", out=tmp_path / "no")


def test_with_holm_claims_are_tried_until_they_hold_together(source, tmp_path):
    """Evidence that is just enough for one claim would leave every correction undecided."""
    claims = [f"{entry}: {{of: {entry}, severity: 1, at_least: 0.2}}" for entry in ("contrast", "fog", "frost")]
    alone = scuff.studies.check(claims_file(tmp_path, *claims), net(), data=source, out=tmp_path / "alone")
    file = claims_file(tmp_path, *claims, top=f"{TOP}family: holm\n", name="holm")
    together = scuff.studies.check(file, net(), data=source, out=tmp_path / "together")
    assert [claim.verdict for claim in alone.claims] == [claim.verdict for claim in together.claims]
    proved = [(a, t) for a, t in zip(alone.claims, together.claims, strict=True) if a.verdict == "holds"]
    assert len(proved) >= 2
    assert all(t.holm == "holds" and t.passes > a.passes for a, t in proved)
    assert together.model == "net"
