"""Reports: what they show is what the metrics say, whatever was evaluated, and the file needs nothing but itself."""

import base64
import io
import itertools
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from made_evaluations import CLASS_NAMES, make_evaluation, save_evaluation
from pages import Page, rendered, table_of
from PIL import Image

import scuff
from scuff import metrics
from scuff.cli.scores import print_scores
from scuff.data import open_source
from scuff.engine import LocalEngine
from scuff.evaluation import read_evaluation
from scuff.export import export
from scuff.metrics.evaluation.versus import versus
from scuff.report import write_report
from scuff.report.colours import HEAT, PAGE, SERIES, STEPS, blend, contrast, luminance, themes
from scuff.report.evaluation.evaluation import evaluation_page
from scuff.report.evaluation.pictures import worst_rows
from scuff.report.evaluation.settings import command
from scuff.words import entry_name

THOUSAND = tuple(f"n{number:08}" for number in range(1000))  # as many classes as ImageNet has


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The folder of an evaluation of three models, with the report that is written by default."""
    folder = tmp_path_factory.mktemp("three")
    return save_evaluation(make_evaluation(folder / "data", images=40), folder / "run")


@pytest.fixture(scope="module")
def evaluation(folder):
    return read_evaluation(folder)


@pytest.fixture(scope="module")
def html(folder):
    path = write_report(folder)
    assert path == str(folder / "report.html")
    return (folder / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(html):
    return Page(html)


@pytest.fixture
def small(tmp_path):
    """An evaluation that is quick to report: one model, few images."""

    def make(suite="cifar10-c-bar", models=("resnet20",), images=12, **options):
        return make_evaluation(tmp_path / "data", suite, models, images, **options)

    return make


# --- the file --------------------------------------------------------------------------------------------------------


def test_the_file_needs_nothing_but_itself(page):
    for tag, attributes, _ in page.elements:
        for name in ("src", "href", "srcset", "action", "poster", "data"):
            address = attributes.get(name, "data:")
            assert address.startswith(("data:", "#")), f"<{tag} {name}={address[:80]}>"
    for style in page.texts("style"):
        assert "url(" not in style
        assert "@import" not in style
    ours = page.texts("script")[-1]
    assert not re.search(r"fetch|XMLHttpRequest|import\(|https?:", ours)
    assert sum("plotly.js v" in text for text in page.texts("script")) == 1


def test_links_lead_to_sections(page):
    ids = {attributes["id"] for _, attributes, _ in page.elements if "id" in attributes}
    links = {attributes["href"][1:] for _, attributes, _ in page.find("a")}
    assert links == set(page.sections())
    assert links <= ids


def test_ids_are_unique_and_labels_have_their_controls(page):
    ids = [attributes["id"] for _, attributes, _ in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {attributes["for"] for _, attributes, _ in page.find("label")} <= set(ids)


def test_headings_are_in_order_and_tables_and_pictures_have_words(page):
    levels = [int(tag[1]) for tag, _, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert levels.count(1) == 1
    assert all(later <= earlier + 1 for earlier, later in itertools.pairwise(levels))
    assert len(page.find("table")) == len([text for text in page.texts("caption") if text])
    assert all(attributes["alt"] for _, attributes, _ in page.find("img"))
    assert all(attributes["aria-label"] for _, attributes, _ in page.find("div", class_="chart"))


def test_another_file_and_title(small, tmp_path):
    folder = save_evaluation(small(), tmp_path / "run")
    path = write_report(folder, tmp_path / "new" / "mine.html", baseline=None, title="Mine & <yours>")
    assert path == str(tmp_path / "new" / "mine.html")
    assert [p.name for p in (tmp_path / "new").iterdir()] == ["mine.html"]
    assert Page((tmp_path / "new" / "mine.html").read_text(encoding="utf-8")).texts("h1") == ["Mine & <yours>"]


def test_a_folder_without_an_evaluation_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"no evaluation\.json"):
        write_report(tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_file_does_not_grow_with_the_images(small):
    both = (small(images=n) for n in (20, 200))
    gone = {"source": "npz:/nowhere.npz"}  # pictures would make a difference
    few, many = (rendered(evaluation_page, replace(e, settings=e.settings | gone), "x") for e in both)
    assert len(many) < len(few) + 5000  # more bins of confidence are filled; 9000 more rows would be 300 000 bytes


# --- numbers ---------------------------------------------------------------------------------------------------------


def test_the_summary_is_that_of_the_metrics(page, evaluation):
    expected = metrics.summary(evaluation.rows, suite=evaluation.suite).set_index("model")
    shown = table_of(page, "Scores")
    assert set(shown) == set(expected.index)
    for model, scores in shown.items():
        assert scores["clean error %"] == expected.loc[model, "clean_error"]
        assert scores["mean error %"] == expected.loc[model, "mean_error"]
        assert scores["ECE corrupted %"] == expected.loc[model, "ece_corrupted"]
    assert "mCE" not in page.section("summary")  # CIFAR-10-C has no published reference


def test_every_model_has_a_sentence_with_its_interval(page, evaluation):
    for model, rows in metrics.by_model(evaluation.rows).items():
        score = metrics.mean_error(rows)
        words = f"{model}: mean error {100 * score.value:.1f}\u00a0% (95 % interval "
        assert any(
            text.startswith(f"{words}{100 * score.low:.1f} to {100 * score.high:.1f})") for text in page.texts("li")
        )


def test_the_heat_maps_show_every_cell_of_every_model(page, evaluation):
    tips = [attributes["data-tip"] for tag, attributes, _ in page.elements if "data-tip" in attributes]
    assert len(tips) == 3 * 15 * 6
    for rows in metrics.by_model(evaluation.rows).values():
        for row in metrics.cell_errors(rows).iloc[1:].itertuples():
            name = f"{row.corruption.replace('_', ' ')}, severity {row.severity}"
            between = f"95 % interval {100 * row.low:.1f} to {100 * row.high:.1f}"
            assert f"{name}\n{100 * row.value:.1f}\u00a0% error\n{between}\nn = 40" in tips


def test_the_curves_are_those_of_the_metrics(page, evaluation):
    figures = page.data()["figures"]
    families = evaluation.settings["families"]
    assert len([key for key in figures if key.startswith("curve")]) == 1 + len(set(families.values()))
    model, rows = next(iter(metrics.by_model(evaluation.rows).items()))
    for severity in (1, 5):
        own = rows[rows["severity"] == severity]
        expected = metrics.mean_error(own, suite=evaluation.suite, partial=True)
        line = next(t for t in figures["curve0"]["data"] if model in t.get("text", [""])[0])
        # Figures are rounded to a thousandth of a per cent.
        assert line["y"][severity - 1] == pytest.approx(100 * expected.value, abs=1e-3)


def test_differences_are_paired(page, evaluation):
    models = metrics.by_model(evaluation.rows)
    shown = table_of(page, "Differences")
    assert len(shown) == 3
    for pair, columns in shown.items():
        a, b = pair.split(" minus ")
        expected = metrics.difference(models[a], models[b])
        assert expected.interval.startswith("paired")
        assert columns["difference, points"] == pytest.approx(expected.value, abs=1e-12)
    fog = table_of(page, "Error minus that of")["fog"]
    (best,) = models.keys() - fog.keys()
    for model, value in fog.items():
        a, b = (models[m][models[m]["corruption"] == "fog"] for m in (model, best))
        assert value == pytest.approx(metrics.difference(a, b, "error").value, abs=1e-12)


def test_differences_by_severity_are_those_of_scuff_compare(page, evaluation):
    models = metrics.by_model(evaluation.rows)
    fog = table_of(page, "Error minus that of")["fog"]
    (best,) = models.keys() - fog.keys()
    for model in fog:
        shown = table_of(page, f"Differences in points by severity: {model} minus {best}; * marks p < 0.05")
        cells = versus(models[best], models[model], evaluation.suite).cells
        assert len(cells) == 15 * 5
        for cell in cells.itertuples():
            row = shown[cell.corruption.replace("_", " ")]
            assert row[str(cell.severity)] == pytest.approx(cell.value, abs=1e-12)
        stars = page.section("comparison").count("*")
    expected = [versus(models[best], models[m], evaluation.suite).cells["p_holm"].lt(0.05).sum() for m in fog]
    assert stars == sum(expected) + len(fog)  # and one in each caption


def test_ranks_are_those_of_the_metrics(page, evaluation):
    ranks = metrics.ranks(evaluation.rows, baseline=None, suite=evaluation.suite).set_index(["corruption", "model"])
    shown = table_of(page, "Ranks by corruption")
    assert len(shown) == 15
    for corruption, columns in shown.items():
        for model, rank in columns.items():
            assert rank == ranks.loc[(corruption.replace(" ", "_"), model), "rank"]
    overall = table_of(page, "Rank by mean error")
    assert {m: row["rank"] for m, row in overall.items()} == ranks.loc["all"]["rank"].to_dict()


def test_figures_are_what_plotly_understands(page):
    """Its own check of every property; colours stand by name until the page is opened."""
    from plotly.graph_objects import Figure

    theme = themes()["light"]

    def paint(match):
        return f'"{theme[match.group(1)]}"'

    text = re.sub(r'"@([a-z0-9-]+)(?:/[0-9.]+)?"', paint, json.dumps(page.data()["figures"]))
    figures = json.loads(text)
    assert len(figures) == 5 + 1 + 2
    for figure in figures.values():
        Figure(figure)


# --- other evaluations -----------------------------------------------------------------------------------------------

STILL = ["summary", "cells", "severity", "comparison", "images", "calibration", "settings"]


def test_all_sections_are_there_for_three_models(page):
    assert page.sections() == STILL
    assert len(page.find("select")) == 2


def test_one_model_is_not_compared(small):
    page = Page(rendered(evaluation_page, small(), "runs/one"))
    assert page.sections() == [key for key in STILL if key != "comparison"]
    assert not page.find("select")
    assert "p-value" not in page.section("settings")


def test_a_suite_without_levels_has_one_column_and_bars(small):
    evaluation = small("imagenet-noc", ("resnet20", "mlp"), class_names=THOUSAND)
    page = Page(rendered(evaluation_page, evaluation, "runs/noc"))
    assert page.sections() == STILL
    tips = [attributes["data-tip"] for _, attributes, _ in page.elements if "data-tip" in attributes]
    assert len(tips) == 2 * 8
    figure = page.data()["figures"]["bars"]
    bars, names = figure["data"], figure["layout"]["yaxis"]["ticktext"]
    assert [trace["type"] for trace in bars] == ["bar", "bar"]
    expected = metrics.cell_errors(metrics.by_model(evaluation.rows)["mlp"]).set_index("corruption")["value"]
    assert dict(zip([names[row] for row in bars[1]["y"]], bars[1]["x"], strict=True)) == pytest.approx(
        {entry.replace("_", " "): 100 * expected[entry] for entry in evaluation.suite.entries}, abs=1e-3
    )
    # NOC has published errors of AlexNet, relative to which its authors report.
    mce = metrics.mce(metrics.by_model(evaluation.rows)["mlp"])
    assert f"mlp: relative mCE {mce.value:.1f}".replace("-", "\u2212") in " ".join(page.texts("li"))
    assert [name for name in table_of(page, "Scores")["mlp"] if "mCE" in name] == ["relative mCE %"]


def test_imagenet_c_has_the_mce_of_alexnet(small):
    evaluation = small("imagenet-c", ("resnet20", "mlp"), class_names=THOUSAND)
    page = Page(rendered(evaluation_page, evaluation, "runs/c"))
    shown = table_of(page, "Scores")
    for model, rows in metrics.by_model(evaluation.rows).items():
        mce = metrics.mce(rows)
        assert shown[model]["mCE %"] == pytest.approx(mce.value, abs=1e-9)
        assert shown[model]["relative mCE %"] == pytest.approx(metrics.mce(rows, relative=True).value, abs=1e-9)
        words = (
            f"{model}: mCE {mce.value:.1f}\u00a0% (95 % interval {mce.low:.1f} to {mce.high:.1f}), where AlexNet has"
        )
        assert any(text.startswith(words) for text in page.texts("li"))
    assert "Rank by mCE, 1 is best" in page.section("comparison")


@pytest.mark.parametrize(
    ("classes", "size", "why"),
    [
        (CLASS_NAMES, 32, "measured on 1000 classes at 224 pixels, and these data have 8 at 32 pixels."),
        (THOUSAND, 64, "measured on 1000 classes at 224 pixels, and these data have 1000 at 64 pixels."),
    ],
)
def test_other_data_have_no_mce_of_alexnet(small, classes, size, why):
    evaluation = small("imagenet-c", ("resnet20", "mlp"), class_names=classes)
    page = Page(rendered(evaluation_page, replace(evaluation, settings=evaluation.settings | {"size": size}), "runs/c"))
    assert not [name for name in table_of(page, "Scores")["mlp"] if "mCE" in name]
    assert "mCE" not in " ".join(page.texts("li"))
    assert why in page.section("summary")
    assert "Rank by mean error, 1 is best" in page.section("comparison")


def test_headings_are_those_of_the_terminal(page):
    from scuff.cli.scores import SCORES
    from scuff.report.evaluation.sections import KINDS

    printed = [KINDS[key].name for key in SCORES]
    shown = [" ".join(text.split()) for text in page.texts("button")]
    assert [heading for heading in printed if heading in shown] == [
        heading for heading in printed if "mCE" not in heading
    ]
    meanings = page.texts("dt")
    assert {"mean error", "robustness score", "residual robustness"} <= set(meanings)


def test_without_clean_images_there_is_nothing_relative_to_them(small):
    page = Page(rendered(evaluation_page, small(models=("resnet20", "mlp"), clean=False), "x"))
    assert page.sections() == STILL
    assert "clean error" not in page.section("summary")
    assert "Clean images" not in page.section("calibration")
    assert page.section("images").startswith("Worst imagesWrong with the highest confidence")


def test_one_image_has_no_intervals_that_say_nothing(small):
    page = Page(rendered(evaluation_page, small(images=1, models=("resnet20", "mlp")), "x"))
    assert page.sections() == STILL
    assert "nan" not in " ".join(page.texts("main")).lower()


def test_sequences_show_flips(small):
    evaluation = small("cifar10-p", ("resnet20", "mlp"))
    page = Page(rendered(evaluation_page, evaluation, "runs/p"))
    assert page.sections() == ["summary", "sequences", "settings"]
    rows = metrics.by_model(evaluation.rows)["mlp"]
    flips, moves = (score(rows, suite=evaluation.suite) for score in (metrics.flip_probability, metrics.top5_distance))
    shown, moved = table_of(page, "Flip probability"), table_of(page, "Top-5 distance")
    assert len(shown) == len(moved) == 10
    for entry in flips:
        assert shown[entry.replace("_", " ")]["mlp"] == flips[entry].value
        assert moved[entry.replace("_", " ")]["mlp"] == moves[entry].value


def test_an_unfinished_evaluation_is_shown_as_far_as_it_is(small):
    evaluation = small(models=("resnet20", "mlp"))
    rows = evaluation.rows
    late = (rows["model"] == "mlp") & rows["corruption"].isin(rows["corruption"].unique()[4:])
    page = Page(rendered(evaluation_page, replace(evaluation, rows=rows[~late]), "x"))
    assert "So far 15 of 50 cells of the suite." in " ".join(page.texts("li"))
    assert "Only the cells that all models have are compared." in page.section("comparison")
    assert len(table_of(page, "Ranks by corruption")) == 3


def test_a_finished_evaluation_has_no_section_on_progress(tmp_path):
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(784, 10))
    scuff.evaluate(net, "cifar10-c", "fashion", tmp_path / "run", limit=4, only=["contrast"], severities=[1])
    assert "progress" not in Page(Path(write_report(tmp_path / "run")).read_text(encoding="utf-8")).sections()
    journal = next((tmp_path / "run" / "progress").glob("*.json"))
    journal.write_text(journal.read_text().replace('"finished"', '"interrupted"'))
    assert "progress" in Page(Path(write_report(tmp_path / "run")).read_text(encoding="utf-8")).sections()


def test_clean_images_alone_make_a_report(small):
    evaluation = small()
    only_clean = evaluation.rows[evaluation.rows["corruption"] == "clean"]
    page = Page(rendered(evaluation_page, replace(evaluation, rows=only_clean), "x"))
    assert page.sections() == ["summary", "calibration", "settings"]


def test_entries_for_validation_count_where_there_are_no_others(small):
    evaluation = small("cifar10-c")
    suite = replace(evaluation.suite, validation=tuple(evaluation.suite.benchmark()))
    page = Page(rendered(evaluation_page, replace(evaluation, suite=suite), "x"))
    assert page.sections() == [key for key in STILL if key != "comparison"]


def test_corruption_errors_against_any_model_of_any_evaluation(small, tmp_path, capsys):
    evaluation, alone = small(models=("mlp", "resnet20")), small(models=("wide-resnet",))
    folder = str(save_evaluation(evaluation, tmp_path / "both"))
    page = Page(rendered(evaluation_page, alone, "x", baseline=f"{folder}:mlp"))
    own = metrics.by_model(evaluation.rows)["mlp"]
    expected = metrics.ce(alone.rows, baseline=own, suite=alone.suite)
    shown = table_of(page, f"Corruption errors in per cent of those of {folder}:mlp, with 95 % intervals")
    assert {name: line["wide-resnet"] for name, line in shown.items()} == pytest.approx(
        {entry_name(entry): score.value for entry, score in expected.items()}
    )
    print_scores(alone, f"{folder}:mlp")
    assert f"Corruption errors in per cent of those of {folder}:mlp" in capsys.readouterr().out
    print_scores(alone, "none")
    assert "Corruption errors" not in capsys.readouterr().out
    with pytest.raises(ValueError, match=r"which one\? Write"):
        rendered(evaluation_page, alone, "x", baseline=folder)
    other = save_evaluation(small("cifar10-c"), tmp_path / "other")
    with pytest.raises(ValueError, match="was evaluated on cifar10-c, these models on cifar10-c-bar"):
        rendered(evaluation_page, alone, "x", baseline=str(other))


def test_the_terminal_has_flip_rates_relative_to_a_baseline(small, capsys):
    evaluation = small("cifar10-p", ("mlp", "resnet20"))
    print_scores(evaluation, "mlp")
    text = capsys.readouterr().out
    assert "mFR % (1)" in text
    assert "100.00" in text
    print_scores(evaluation, "none")
    assert "flip probability % (1)" in capsys.readouterr().out


def test_a_model_can_be_the_baseline(small):
    evaluation = small(models=("resnet20", "mlp"))
    page = Page(rendered(evaluation_page, evaluation, "x", baseline="mlp"))
    assert table_of(page, "Scores")["mlp"]["mCE %"] == pytest.approx(100)
    with pytest.raises(ValueError, match=r"no reference is called 'vgg'.*Models of this evaluation: resnet20, mlp"):
        rendered(evaluation_page, evaluation, "x", baseline="vgg")


# --- pictures --------------------------------------------------------------------------------------------------------


def test_worst_images_are_what_the_model_saw(page, evaluation):
    images = np.load(evaluation.settings["source"].removeprefix("npz:"))["images"]
    rows = next(iter(metrics.by_model(evaluation.rows).values()))
    worst = worst_rows(rows)
    pictures = [attributes for _, attributes, _ in page.find("img")][: 2 * len(worst)]
    assert len(worst) == 12
    for row, clean, corrupted in zip(worst.itertuples(), pictures[::2], pictures[1::2], strict=True):
        original = images[row.image_id]
        np.testing.assert_array_equal(decode(clean["src"]), original)
        expected = scuff.corrupt(original[None], row.corruption, row.severity, suite="cifar10-c", ids=[row.image_id])[0]
        np.testing.assert_array_equal(decode(corrupted["src"]), expected)
        assert clean["alt"] == f"{CLASS_NAMES[row.label]}, clean"


def decode(address: str) -> np.ndarray:
    kind, _, content = address.partition(",")
    assert kind == "data:image/png;base64"
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(content))))


def test_worst_rows_were_right_when_clean_and_are_surest(evaluation):
    rows = metrics.by_model(evaluation.rows)["mlp"]
    worst = worst_rows(rows)
    clean = rows[rows["corruption"] == "clean"].set_index("image_id")
    right = clean.index[clean["prediction"] == clean["label"]]
    assert worst["image_id"].isin(right).all()
    assert (worst["prediction"] != worst["label"]).all()
    assert worst["image_id"].is_unique
    assert worst["corruption"].is_unique
    wrong = rows[(rows["corruption"] != "clean") & (rows["prediction"] != rows["label"]) & rows["image_id"].isin(right)]
    assert worst["confidence"].iloc[0] == wrong["confidence"].max()
    alone = rows[rows["corruption"].isin(["clean", "fog"])]
    assert len(worst_rows(alone)) == 12


def test_images_that_were_evaluated_as_they_are_have_no_suite_in_the_words(small):
    evaluation = small()
    rows = evaluation.rows[evaluation.rows["corruption"] == "clean"]
    settings = evaluation.settings | {"source": "imagenet-a:pictures"}
    page = rendered(
        evaluation_page,
        replace(evaluation, rows=rows, settings=settings, suite=replace(evaluation.suite, entries={})),
        "x",
    )
    assert "images of imagenet-a:pictures, as they are." in page
    assert " on imagenet-a:pictures</h1>" in page
    assert "corrupted by" not in page


def test_without_the_data_the_report_says_why_and_what_to_do(small, tmp_path):
    evaluation = small()
    (tmp_path / "data" / "images.npz").rename(tmp_path / "moved.npz")
    without = Page(rendered(evaluation_page, evaluation, "runs/one"))
    words = without.section("images")
    assert "could not be opened: there is no file or folder" in words
    assert "scuff report runs/one --data SOURCE" in words
    assert not without.find("img")
    assert Page(rendered(evaluation_page, evaluation, "runs/one", data=f"npz:{tmp_path / 'moved.npz'}")).find("img")


def test_other_images_are_not_shown_for_those_that_were_evaluated(small, tmp_path):
    evaluation = small()
    np.savez(tmp_path / "other.npz", images=np.zeros((12, 32, 32, 3), np.uint8), labels=np.arange(12) % 8)
    with pytest.raises(ValueError, match="holds other images than those that were evaluated"):
        rendered(evaluation_page, evaluation, "x", data=f"npz:{tmp_path / 'other.npz'}")
    (tmp_path / "other.npz").replace(tmp_path / "data" / "images.npz")
    page = Page(rendered(evaluation_page, evaluation, "x"))
    assert "holds other images than those that were evaluated" in page.section("images")


def test_published_images_are_shown_as_they_were_published(small, tmp_path):
    evaluation = small()
    export(tmp_path / "data" / "images.npz", tmp_path / "published", "cifar10-c-bar", engine=LocalEngine(1))
    address = f"cifar10-c-bar:{tmp_path / 'published'}"
    fingerprint = open_source(address).fingerprint()
    settings = evaluation.settings | {"source": address, "source_fingerprint": fingerprint, "published": True}
    settings["clean"] = evaluation.settings["source"]
    pictures = Page(rendered(evaluation_page, replace(evaluation, settings=settings), "x")).find("img")
    worst = worst_rows(evaluation.rows)
    assert len(pictures) == 2 * len(worst) > 0
    for row, (_, shown, _) in zip(worst.itertuples(), pictures[1::2], strict=True):
        published = np.load(tmp_path / "published" / f"{row.corruption}.npy")
        np.testing.assert_array_equal(decode(shown["src"]), published[(row.severity - 1) * 12 + row.image_id])
    without_clean = replace(evaluation, settings=settings | {"clean": None, "clean_fingerprint": None})
    assert len(Page(rendered(evaluation_page, without_clean, "x")).find("img")) == len(worst)


# --- names from outside ----------------------------------------------------------------------------------------------

HOSTILE = "</script><script>window.hurt = 1</script><img src=x onerror='window.hurt = 1'>\"&amp;"


def test_names_are_text_and_nothing_else(small):
    names = (HOSTILE, *CLASS_NAMES[1:])
    clean = Page(rendered(evaluation_page, small(models=("resnet20", "mlp")), "x"))
    text = rendered(evaluation_page, small(models=(HOSTILE, "mlp"), class_names=names), "x", title=HOSTILE)
    page = Page(text)
    assert [e[0] for e in page.elements if e[0] == "script"] == ["script"] * 3
    assert not [attributes for _, attributes, _ in page.elements if any(name.startswith("on") for name in attributes)]
    assert all(attributes["src"].startswith("data:image/png") for _, attributes, _ in page.find("img"))
    assert page.sections() == clean.sections()
    assert page.texts("option")[0] == HOSTILE
    assert page.texts("title") == [HOSTILE]
    data = page.texts("script", id="data")[0]
    assert "<" not in data
    assert HOSTILE not in json.dumps(page.data())  # Plotly would read its tags
    assert "&lt;/script&gt;" in json.dumps(page.data())


def test_the_command_gives_the_same_again(small):
    evaluation = small(models=("resnet20", "my net"))
    assert command(evaluation, "runs/a b") == (
        f"scuff evaluate timm:resnet20 'timm:my net' --suite cifar10-c-bar --data {evaluation.settings['source']} "
        "--out 'runs/a b'"
    )
    settings = evaluation.settings | {"seed": 3, "limit": 7, "as_published": True, "precision": "bfloat16"}
    settings["cut"] = {"resize": 256, "crop": 224, "filter": "bilinear"}
    rows = evaluation.rows[
        evaluation.rows["corruption"].isin(["clean", "sparkles"]) & (evaluation.rows["severity"] < 3)
    ]
    text = command(replace(evaluation, settings=settings, rows=rows), "x")
    for words in ("--seed 3", "--limit 7", "--precision bfloat16", "--resize 256", "--crop 224", "--as-published"):
        assert words in text
    assert "--only sparkles --severity 1,2" in text


# --- colours ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colours_can_be_read(theme):
    """The guidelines (WCAG 2, level AA): 4.5 for text, 3 for lines of figures."""
    paper = PAGE[theme]["paper"]
    for name in ("ink", "muted", "accent"):
        assert contrast(PAGE[theme][name], paper) >= 4.5, name
        assert contrast(PAGE[theme][name], PAGE[theme]["panel"]) >= 4.5, name
    assert contrast(PAGE[theme]["best-ink"], PAGE[theme]["best"]) >= 4.5
    assert all(contrast(colour, paper) >= 3 for colour in SERIES[theme])
    steps = [blend(HEAT[theme], step / (STEPS - 1)) for step in range(STEPS)]
    assert all(max(contrast(ink, step) for ink in ("#000000", "#ffffff")) >= 4.5 for step in steps)
    light = [luminance(step) for step in steps]
    assert light == sorted(light, reverse=theme == "light")  # so the order survives without hue, and in grey
