"""Reports of overlap studies: what they show is what metrics and design say, whatever was measured."""

import itertools
import json
import re
import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from made_evaluations import make_evaluation, save_evaluation
from made_overlaps import made_settings, make_accuracies, save_study
from pages import Page, rendered, table_of
from typer.testing import CliRunner

from scuff import design, metrics
from scuff.cli import app
from scuff.metrics import Accuracies
from scuff.report import page as report
from scuff.report import write_report
from scuff.report.colours import themes
from scuff.report.overlap.overlap import overlap_page, overlap_sections, overlap_verdicts
from scuff.report.overlap.scores import find_benchmarks, measure_overlap, turned
from scuff.report.settings import all_facts
from scuff.studies import OverlapStudy
from scuff.studies.base import again
from scuff.suites import load_suite
from scuff.words import short_names

SECTIONS = ["overlap", "categories", "benchmark", "coverage", "balance", "accuracies", "overlap-settings"]
OF_SEEDS = [*SECTIONS[:3], "stability", *SECTIONS[3:]]
USELESS = "noc-candidates/hue"
pytestmark = pytest.mark.usefixtures("same_means")


@pytest.fixture(scope="module")
def accuracies():
    """Two suites, a corruption against which training does not help, and a model of a whole benchmark each."""
    return make_accuracies(useless=(USELESS,), whole=("imagenet-noc", "cifar10-c"))


@pytest.fixture(scope="module")
def scores(accuracies):
    return measure_overlap(accuracies, 0.1)


@pytest.fixture(scope="module")
def page(accuracies, scores):
    sections = overlap_sections(scores, made_settings(accuracies))
    return Page(rendered(report.Page, "Overlaps", "", overlap_verdicts(scores), sections))


@pytest.fixture(scope="module")
def few():
    """Six corruptions of one suite, with three seeds."""
    return make_accuracies(("cifar10-c",), seeds=3, most=6)


@pytest.fixture(scope="module")
def page_of_few(few):
    return Page(rendered(overlap_page, few, {}))


def cells_of(page: Page, section: str) -> list[tuple[str, dict[str, str], list[str]]]:
    """The cells of a section's matrix."""
    names = page.sections()
    starts = [page.elements.index(page.find("section", id=name)[0]) for name in names] + [len(page.elements)]
    place = names.index(section)
    inside = page.elements[starts[place] : starts[place + 1]]
    return [element for element in inside if element[0] == "td" and "data-tip" in element[1]]


def test_all_sections_are_there(page):
    assert page.sections() == SECTIONS
    assert {attributes["href"][1:] for _, attributes, _ in page.find("a")} == set(SECTIONS)
    ids = [attributes["id"] for _, attributes, _ in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert len(page.find("table")) == len([text for text in page.texts("caption") if text])
    assert all(attributes["aria-label"] for _, attributes, _ in page.find("div", class_="chart"))
    assert "nan" not in " ".join(page.texts("main")).lower().split()


def test_the_matrix_has_every_pair_with_its_interval(page, scores):
    tips = [attributes["data-tip"] for _, attributes, _ in cells_of(page, "overlap")]
    names, shown = scores.overlaps.names, scores.shown
    assert len(tips) == len(names) ** 2
    by_pair = {tip.split("\n")[0]: tip for tip in tips}
    for a, b in itertools.permutations(set(names) - {USELESS}, 2):
        score = scores.overlaps.score(a, b)
        expected = f"overlap {score.value:.2f}\n95 % interval {score.low:.2f} to {score.high:.2f}\n"
        assert expected in by_pair[f"{shown[a]} and {shown[b]}"]


def test_the_label_of_a_pair_says_what_its_score_rests_on(page, accuracies):
    a, b = "noc-candidates/rain", "cifar10-c/fog"
    r = metrics.robustness_scores(accuracies)
    (tip,) = (t[1]["data-tip"] for t in cells_of(page, "overlap") if t[1]["data-tip"].startswith("rain and fog\n"))
    assert tip.endswith(
        f"robustness to rain: {r[a]['standard']:.3f}; with fog {r[a][b]:.3f}, with itself {r[a][a]:.3f}\n"
        f"robustness to fog: {r[b]['standard']:.3f}; with rain {r[b][a]:.3f}, with itself {r[b][b]:.3f}"
    )


def test_undefined_corruptions_are_striped_and_explained(page, scores):
    cells = cells_of(page, "overlap")
    striped = [attributes["data-tip"] for _, attributes, _ in cells if attributes["class"].startswith("undefined")]
    assert len(striped) == 2 * len(scores.overlaps.names) - 1
    assert all("not defined: training with" in tip for tip in striped)
    assert "too little to divide by." in page.section("overlap")
    assert "hue · " not in json.dumps(page.data()["figures"]["dendrogram"])


def test_rows_and_columns_are_ordered_by_category(page, scores):
    order = [scores.shown[name] for _, members in scores.groups for name in members]
    rows, columns = ([t for t in page.texts("th", scope=s) if t in order] for s in ("row", "col"))
    assert rows[: len(order)] == columns[: len(order)] == order
    assert order[-1] == "hue"
    groups = scores.categories.groups()
    assert {g: set(m) for g, m in scores.groups if g} == {g: set(m) for g, m in groups.items()}
    assert page.texts("th", scope="colgroup")[: len(groups)] == list(groups)


def test_few_corruptions_have_numbers_that_are_shown(few, page_of_few, page):
    small = page_of_few
    assert [a["class"] for _, a, _ in small.find("table") if "matrix" in a["class"]] == ["heat matrix numbered"] * 2
    assert [a["class"] for _, a, _ in page.find("table") if "matrix" in a["class"]] == ["heat matrix"] * 2
    values = metrics.overlaps(few).values
    shown = sorted(float("".join(inside)) for _, _, inside in cells_of(small, "overlap"))
    np.testing.assert_allclose(shown, np.sort(values.ravel()), atol=0.005001)  # two digits


def test_intervals_over_seeds_say_so(few, page_of_few):
    page = page_of_few
    assert "Student t over seeds 95 %, 3 seeds." in page.section("overlap-settings")
    tips = [attributes["data-tip"] for _, attributes, _ in cells_of(page, "accuracies")]
    values = few.of("standard", "cifar10-c/shot_noise")
    words = ", ".join(f"{100 * v:.1f}" for v in values[:2]) + f" and {100 * values[2]:.1f}"
    start = "trained on standard, tested on shot noise\n"
    assert f"{start}{100 * values.mean():.1f}\u00a0% right\nby seed: {words}" in tips


def test_the_dendrogram_joins_what_the_linkage_joins(page, scores):
    lines, joins = page.data()["figures"]["dendrogram"]["data"]
    tree = design.linkage(scores.overlaps.defined())
    np.testing.assert_allclose(np.sort(joins["x"]), np.sort(1 - tree[:, 2]), atol=1e-5)  # as figures are rounded
    assert len(lines["x"]) == 5 * len(tree)
    assert all("with" in text for text in joins["text"])
    leaves = page.data()["figures"]["dendrogram"]["layout"]["yaxis"]["ticktext"]
    category = {scores.shown[name]: group for group, members in scores.groups for name in members}
    assert sorted(leaves) == sorted(f"{name} · {group}" for name, group in category.items() if name != "hue")


def test_turning_a_tree_keeps_it_and_brings_low_orders_to_the_front():
    from scipy.cluster.hierarchy import is_valid_linkage, to_tree

    tree = design.linkage(metrics.overlaps(make_accuracies(("cifar10-c",))).defined())
    order = np.random.default_rng(0).permutation(len(tree) + 1)
    other = turned(tree, order)
    assert is_valid_linkage(other)
    np.testing.assert_array_equal(other[:, 2:], tree[:, 2:])
    np.testing.assert_array_equal(np.sort(other[:, :2]), np.sort(tree[:, :2]))
    _, nodes = to_tree(other, rd=True)
    joins = [node for node in nodes if not node.is_leaf()]
    assert len(joins) == len(tree)
    assert all(order[join.left.pre_order()].mean() <= order[join.right.pre_order()].mean() for join in joins)


def test_the_sweep_and_the_chosen_benchmark(page, scores):
    chosen = design.find_nonoverlapping(scores.overlaps, 0.1)
    names = [scores.shown[name] for name in chosen.members]
    assert set(table_of(page, "The chosen corruptions")) == set(names)
    assert f"{len(names)} corruptions overlap less than 0.1; mean overlap" in page.section("benchmark")
    sweep = design.sweep(scores.overlaps)
    shown = table_of(page, "The largest benchmarks by threshold")
    assert {float(t): row["size"] for t, row in shown.items()} == dict(
        zip(sweep["threshold"], sweep["size"], strict=True)
    )
    (line,) = page.data()["figures"]["sweep"]["data"]
    assert line["y"] == sweep["size"].tolist()


def test_another_threshold_is_part_of_the_sweep(few):
    page = Page(rendered(overlap_page, few, {}, threshold=0.62))
    assert "0.62" in table_of(page, "The largest benchmarks by threshold")
    assert "overlap less than 0.62" in page.section("benchmark")


def test_every_suite_is_held_against_every_other(page, scores):
    chosen = "chosen at 0.1"
    assert list(scores.coverage) == [
        ("noc-candidates", "cifar10-c"),
        ("cifar10-c", "noc-candidates"),
        ("imagenet-noc", "noc-candidates"),
        ("imagenet-noc", "cifar10-c"),
        (chosen, "noc-candidates"),
        (chosen, "cifar10-c"),
    ]
    shown = table_of(page, "Coverage by overlaps")
    for (benchmark, others), frame in scores.coverage.items():
        expected = metrics.coverage(scores.overlaps, scores.benchmarks[benchmark], list(frame["corruption"]))
        assert shown[f"{benchmark} against {others}"]["covers"] == expected["covered"].mean()
        assert not set(frame["corruption"]) & set(scores.benchmarks[benchmark])


def test_the_direct_experiment(page, accuracies, scores):
    shown = table_of(page, "Robustness scores with training on a whole benchmark")
    assert list(scores.direct) == ["imagenet-noc", "cifar10-c"]
    frame = metrics.direct_coverage(accuracies, "all:cifar10-c").set_index("corruption")
    assert shown["rain"]["difference"] == pytest.approx(frame.loc["noc-candidates/rain", "difference"], abs=1e-12)
    assert set(scores.direct["cifar10-c"]["corruption"]) == set(scores.benchmarks["noc-candidates"])


def test_help_is_counted_by_intervals_unless_the_papers_rule_is_asked_for(page, scores):
    for suite, frame in scores.direct.items():
        helped, harmed = (frame["low"] > 0).sum(), (frame["high"] < 0).sum()
        words = f"all of {suite} helped against {helped} of {len(frame)} corruptions and harmed {harmed} (95 %"
        assert words in page.section("coverage")


def test_the_matrix_of_every_threshold_and_the_errors_on_every_benchmark(page, accuracies, scores):
    for row in scores.sweep.itertuples():
        shown = table_of(page, f"Overlaps of the benchmark at a threshold of {row.threshold:g};")
        matrix = scores.overlaps.take(row.members).values
        np.testing.assert_array_equal([list(line.values()) for line in shown.values()], matrix)
    for name, members in scores.benchmarks.items():
        shown = table_of(page, f"Corruption errors on {name} in per cent")
        expected = metrics.ce_table(accuracies, members).query("model == 'standard' and corruption == 'all'")
        assert shown["standard"]["mCE"] == pytest.approx(expected["value"].iloc[0])
        assert "all of imagenet-noc" in shown


def test_members_of_a_benchmark_are_found_among_its_candidates(accuracies):
    found = find_benchmarks(accuracies)
    assert [name.removeprefix("noc-candidates/") for name in found["imagenet-noc"]] == [
        "quantization",
        "blur",
        "vertical_artifacts",
        "rain",
        "border",
        "shear",
        "brightness",
        "hue",
    ]
    assert list(find_benchmarks(replace(accuracies, suites=()))) == ["noc-candidates", "cifar10-c"]


def test_balance_is_that_of_the_metrics(page, accuracies, scores):
    shown = table_of(page, "Spread of the mean corruption errors")
    assert list(shown) == list(scores.benchmarks)
    for name, members in scores.benchmarks.items():
        expected = metrics.balance(accuracies, members)
        assert shown[name]["range of mCE"] == expected.range.value
        assert shown[name]["standard deviation of mCE"] == expected.std.value
    bars = page.data()["figures"]["balance0"]["data"][0]["x"]
    assert bars == pytest.approx(list(metrics.balance(accuracies, scores.benchmarks["noc-candidates"]).mces.values()))


def test_accuracies_are_shown_with_wilsons_interval(page, accuracies):
    cells = [attributes["data-tip"] for _, attributes, _ in cells_of(page, "accuracies")]
    assert len(cells) == len(accuracies.trained_on) * len(accuracies.tested_on)
    value = accuracies.of("all:imagenet-noc", "cifar10-c/fog")[0]
    low, high = metrics.wilson(400 * value, 400)
    words = "trained on all of imagenet-noc, tested on fog\n"
    assert f"{words}{100 * value:.1f}\u00a0% right\n95 % interval {100 * low:.1f} to {100 * high:.1f}" in cells


def test_settings_are_shown_whatever_they_are(page):
    words = page.section("overlap-settings")
    for text in (
        "cifar10:data",
        "noc-candidates, version 2; cifar10-c, version 2",
        "cifar-fast",
        "Recipe, epochs12",
        "Recipe, flipyes",
    ):
        assert text in words
    assert "Recipe, cut" not in words  # not set
    assert all_facts({"a": True, "b_c": 0, "d": [], "e": None}) == [("A", "yes"), ("B c", "0")]


def test_the_verdicts_name_what_was_found(page, scores):
    a, b = max(itertools.combinations(scores.leaves, 2), key=lambda pair: scores.overlaps.score(*pair).value)
    first, chosen, categories, balance = page.texts("li")[:4]
    assert f"most between {scores.shown[a]} and {scores.shown[b]}, {scores.overlaps.score(a, b).value:.2f}" in first
    assert chosen.startswith(f"Benchmark without overlaps: {len(scores.selection.members)} of 37 corruptions")
    assert categories.startswith(f"Categories: {scores.categories.k}: ")
    assert f"noc-candidates {scores.balances['noc-candidates'].std.value:.1f} (95 %" in balance


def test_figures_are_what_plotly_understands(page):
    from plotly.graph_objects import Figure

    theme = themes()["light"]
    text = json.dumps(page.data()["figures"])
    figures = json.loads(re.sub(r'"@([a-z0-9-]+)(?:/[0-9.]+)?"', lambda m: f'"{theme[m.group(1)]}"', text))
    assert len(figures) == 1 + 1 + 6 + 2 + 4
    for figure in figures.values():
        Figure(figure)


# --- studies that lack something -------------------------------------------------------------------------------------


def table(values, names=("a/fog", "a/snow")) -> Accuracies:
    return Accuracies(("standard", *names), ("clean", *names), np.array([values], float))


def test_accuracies_alone_make_a_report_without_intervals():
    two = table([[0.9, 0.5, 0.6], [0.9, 0.8, 0.7], [0.9, 0.65, 0.8]])
    page = Page(rendered(overlap_page, two, {}))
    assert page.sections() == [key for key in SECTIONS if key != "categories"]
    tips = [attributes["data-tip"] for _, attributes, _ in cells_of(page, "overlap")]
    assert "fog and snow\noverlap 0.50\nno interval\n" in tips[1]
    assert "nan" not in " ".join(page.texts("main")).lower().split()


def test_a_study_in_which_nothing_helped_says_so():
    page = Page(rendered(overlap_page, table(np.full((3, 3), 0.5)), {}))
    assert page.sections() == ["overlap", "accuracies", "overlap-settings"]
    assert "of no pair" in page.texts("li")[0]


def test_one_corruption_is_a_report_too():
    page = Page(rendered(overlap_page, table([[0.9, 0.5], [0.9, 0.8]], ("a/fog",)), {}))
    assert page.sections() == ["overlap", "benchmark", "accuracies", "overlap-settings"]


HOSTILE = "x/</script><script>window.hurt = 1</script><b>"


def test_names_are_text_and_nothing_else():
    names = (HOSTILE, "a/b", "a/c", "a/d")
    values = np.full((5, 5), 0.5) + 0.3 * np.eye(5) + 0.05 * np.random.default_rng(0).uniform(size=(5, 5))
    values[:, 0] = 0.9
    page = Page(rendered(overlap_page, table(values, names), {"where": HOSTILE}, title=HOSTILE))
    assert len(page.find("script")) == 3
    assert page.texts("h1") == [HOSTILE]
    assert not page.find("b")
    assert "<" not in page.texts("script", id="data")[0].replace("\\u003c", "")
    assert '<b>"' not in json.dumps(page.data())


def test_names_are_short_where_that_is_enough():
    assert short_names(["a/fog", "a/snow", "b/fog"]) == {"a/fog": "fog (a)", "a/snow": "snow", "b/fog": "fog (b)"}


# --- on the page of an evaluation, and from a folder -----------------------------------------------------------------


def test_the_folder_of_a_study_becomes_a_page(few, tmp_path):
    folder = save_study(few, tmp_path / "study")
    path = write_report(folder, title="Mine")
    assert path == str(folder / "report.html")
    page = Page((folder / "report.html").read_text(encoding="utf-8"))
    assert page.texts("h1") == ["Mine"]
    assert page.sections() == OF_SEEDS
    assert "cifar10:data" in page.section("overlap-settings")


def test_the_sections_go_onto_the_page_of_an_evaluation(few, tmp_path):
    study = save_study(few, tmp_path / "study")
    evaluation = save_evaluation(make_evaluation(tmp_path, "cifar10-c-bar", ("resnet20", "mlp"), 12), tmp_path / "run")
    page = Page(Path(write_report(evaluation, overlap=study, threshold=0.3)).read_text(encoding="utf-8"))
    assert page.sections() == [
        *["summary", "cells", "severity", "comparison", "images", "calibration"],
        *OF_SEEDS,
        "settings",
    ]
    ids = [attributes["id"] for _, attributes, _ in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {"curve0", "dendrogram", "sweep"} <= set(page.data()["figures"])
    assert "overlap less than 0.3" in page.section("benchmark")


def test_the_command_finds_out_what_a_folder_is(few, tmp_path):
    study = save_study(few, tmp_path / "study")
    result = CliRunner().invoke(app, ["report", str(study), "--threshold", "0.25"])
    assert result.exit_code == 0, result.output
    assert result.output.splitlines()[-1] == f"Report: {study / 'report.html'}"
    page = Page((study / "report.html").read_text(encoding="utf-8"))
    assert "overlap less than 0.25" in page.section("benchmark")
    for options, words in (
        ([str(study), "--data", "fashion"], "(overlap.json) takes no option data; it takes threshold"),
        ([str(tmp_path)], "there is no evaluation.json in it, and no overlap.json"),
    ):
        result = CliRunner().invoke(app, ["report", *options])
        assert result.exit_code == 2
        assert words in result.output


def test_a_csv_table_becomes_a_page_beside_it(tmp_path):
    accuracies, file = make_accuracies(most=10, whole=("imagenet-noc", "cifar10-c")), tmp_path / "mine.csv"
    accuracies.to_frame().to_csv(file, index=False)
    words = ["report", str(file), "--baseline", "all:cifar10-c", "--use", "accuracy", "--as-paper"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert result.output.splitlines()[-1] == f"Report: {tmp_path / 'mine.html'}"
    page = Page((tmp_path / "mine.html").read_text(encoding="utf-8"))
    assert page.sections() == SECTIONS
    assert "mCE against the model of all:cifar10-c of the table" in page.section("balance")
    assert "counted by the sign of the difference, as in the paper" in page.section("coverage")
    assert "imagenet-noc" in table_of(page, "Spread of the mean corruption errors")  # a part of its candidates
    score = metrics.overlaps(accuracies, use="accuracy").score("noc-candidates/rain", "cifar10-c/frost")
    tips = [attributes["data-tip"] for _, attributes, _ in cells_of(page, "overlap")]
    assert any(tip.startswith(f"rain and frost\noverlap {score.value:.2f}\nno interval") for tip in tips)
    refused = CliRunner().invoke(app, ["report", str(file), "--data", "fashion"])
    assert refused.exit_code == 2
    assert "takes no option data" in refused.output


def test_the_command_runs_the_same_study_again(tmp_path):
    accuracies = replace(make_accuracies(("noc-candidates", "cifar10-c"), seeds=2, most=2), seeds=(3, 7))
    folder = save_study(accuracies, tmp_path / "my study")
    page = Page(Path(write_report(folder)).read_text(encoding="utf-8"))
    (line,) = [text for text in page.texts("code") if text.startswith("scuff overlap")]
    words = shlex.split(line)
    assert words[:4] == ["scuff", "overlap", "noc-candidates", "cifar10-c"]
    options = dict(zip(words[4::2], words[5::2], strict=True))
    assert options == {
        "--only": ",".join(accuracies.corruptions),
        "--data": "cifar10:data",
        "--limit": "200",
        "--recipe": "cifar-fast",
        "--epochs": "12",
        "--seeds": "3,7",
        "--out": str(folder),
    }
    assert "Options" not in page.section("overlap-settings")


def test_all_non_default_options_are_repeated():
    mine = replace(load_suite("noc-candidates"), version=7)
    study = OverlapStudy([mine], "folder:train", "x", recipe="cifar-fast", together="imagenet-noc", test="folder:val")
    words = again(OverlapStudy, replace(study, fine_tune=2).options(), "x").words
    for part in ("overlap noc-candidates.yaml ", "--together imagenet-noc", "--test folder:val", "--fine-tune 2"):
        assert part in words


def test_a_folder_of_an_earlier_version_has_no_command(few, tmp_path):
    folder = save_study(few, tmp_path / "study")
    settings = json.loads((folder / "overlap.json").read_text())
    settings.pop("options")
    (folder / "overlap.json").write_text(json.dumps(settings))
    page = Page(Path(write_report(folder)).read_text(encoding="utf-8"))
    assert "The same again" not in page.section("overlap-settings")
    assert "cifar10:data" in page.section("overlap-settings")


def test_several_seeds_are_held_against_each_other(few):
    scores, found = measure_overlap(few, 0.1), design.stability(few, 0.1)
    verdicts = dict(overlap_verdicts(scores))
    page = Page(
        rendered(report.Page, "Overlaps", "", overlap_verdicts(scores), overlap_sections(scores, made_settings(few)))
    )
    two = table_of(page, "How far two seeds agree")
    assert list(two) == ["0 and 1", "0 and 2", "1 and 2"]
    for row, line in zip(two.values(), found.compare().itertuples(), strict=True):
        assert row["adjusted Rand index"] == pytest.approx(line.rand)
        assert (row["chosen by both"], row["by either"]) == (line.shared, line.chosen)
    alone = table_of(page, "Designs of single seeds")
    assert [row["categories"] for row in alone.values()] == [categories.k for categories in found.categories]
    assert f"{len(found.changing())} of 15 pairs" in verdicts["Stability"]


def test_one_seed_has_nothing_to_be_held_against(scores):
    assert scores.stability is None
    assert "Stability" not in dict(overlap_verdicts(scores))
