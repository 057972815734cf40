"""Results reach papers and other programs with the numbers that the report has."""

import csv
import re
from pathlib import Path

import pytest
import yaml
from made_evaluations import make_evaluation, save_evaluation
from typer.testing import CliRunner

from scuff import metrics
from scuff.cli import app
from scuff.publish import FORMS, export_results
from scuff.publish.figures import figures_for_paper
from scuff.publish.grids import grids_for_paper
from scuff.publish.tables import latex, markdown
from scuff.report.evaluation.evaluation import evaluation_page
from scuff.report.figure import layout_of, line_trace
from scuff.report.page import Page
from scuff.report.parts import figures, section
from scuff.tables import Cell, Head, Table
from scuff.words import percent


@pytest.fixture(scope="module")
def evaluation(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    made = make_evaluation(folder, "cifar10-c-bar", images=40)
    save_evaluation(made, folder)
    return folder, made


def errors_of(rows):
    """The mean error of each model, by hand: over levels, then over corruptions."""
    corrupted = rows[rows["corruption"] != "clean"]
    wrong = (corrupted["prediction"] != corrupted["label"]).groupby(
        [corrupted["model"], corrupted["corruption"], corrupted["severity"]], observed=True
    )
    return wrong.mean().groupby("model", observed=True).mean()


def test_latex_has_every_score_with_its_interval(evaluation):
    folder, made = evaluation
    (place,) = export_results(folder, "latex")
    text = Path(place).read_text()
    assert text.startswith("% resnet20, wide-resnet and mlp on 40 images")
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") == text.count(r"\midrule") == 2
    score = metrics.mean_error(made.rows[made.rows["model"] == "mlp"])
    ends = f"{percent(score.value)} {{\\scriptsize [{percent(score.low)}, {percent(score.high)}]}}"
    (line,) = [line for line in text.splitlines() if line.startswith("mlp &")]
    assert ends in line
    bold = [line for line in text.splitlines() if line.startswith("brownish noise &")]
    assert len(bold) == 1
    assert bold[0].count(r"\textbf") >= 1
    columns = {
        len(re.split(r"(?<!\\)&", line))
        for line in text.split(r"\midrule")[1].split(r"\bottomrule")[0].split("\\\\\n")
        if line.strip()
    }
    assert columns == {7}


def test_the_best_of_a_row_is_the_model_with_the_lowest_error(evaluation):
    folder, made = evaluation
    (place,) = export_results(folder, "markdown")
    lines = [line for line in Path(place).read_text().splitlines() if line.startswith("| ") and "---" not in line]
    heads = next(line for line in lines if line.startswith("| corruption")).strip("| ").split(" | ")
    row = next(line for line in lines if line.startswith("| brownish noise")).strip("| ").split(" | ")
    rows = made.rows[made.rows["corruption"] == "brownish_noise"]
    errors = (rows["prediction"] != rows["label"]).groupby(rows["model"], observed=True).mean()
    best = heads[next(place for place, cell in enumerate(row) if cell.startswith("**"))]
    assert best == errors.idxmin()


def test_words_that_mean_something_to_latex_and_markdown():
    cells = [Cell("a_b & c|d", is_text=True), Cell("\u22121.0", -1.0, "\u22122.0 to 0.0", best=True)]
    table = Table("50 % of $x$", [Head("model", is_number=False), Head("points")], [cells])
    written = latex(table, "tab:x")
    assert r"\caption{50 \% of \$x\$}\label{tab:x}" in written
    assert r"a\_b \& c|d & \textbf{$-$1.0} {\scriptsize [$-$2.0, 0.0]} \\" in written
    assert markdown(table).splitlines()[-1] == "| a_b & c\\|d | **\u22121.0** \\[\u22122.0, 0.0\\] |"
    assert markdown(table).splitlines()[-2] == "| --- | ---: |"


def test_a_long_table_goes_over_pages():
    table = Table.of_texts(["name", "value"], [[str(number), "1"] for number in range(41)])
    written = latex(table, "tab:long")
    assert written.startswith("\\begin{longtable}{lr}\n\\caption{}\\label{tab:long}\\\\\n\\toprule\n")
    assert "\\midrule\\endhead" in written
    assert written.endswith("\\bottomrule\n\\end{longtable}\n")


def test_timm_csv_has_timms_columns_and_our_numbers(evaluation):
    folder, made = evaluation
    corrupted, clean = export_results(folder, "timm-csv")
    lines = list(csv.DictReader(Path(corrupted).read_text().splitlines()))
    before = list(csv.DictReader(Path(clean).read_text().splitlines()))
    timm = "model,top1,top1_err,top5,top5_err,param_count,img_size,crop_pct,interpolation,top1_diff,top5_diff,rank_diff"
    assert list(lines[0])[:12] == timm.split(",")
    errors = errors_of(made.rows)
    assert [line["model"] for line in lines] == list(errors.sort_values().index)
    for line in lines:
        assert float(line["top1_err"]) == pytest.approx(100 * errors[line["model"]], abs=6e-4)
        assert float(line["top1"]) + float(line["top1_err"]) == pytest.approx(100, abs=2e-3)
        (same,) = [each for each in before if each["model"] == line["model"]]
        assert float(line["top1_diff"]) == pytest.approx(float(line["top1"]) - float(same["top1"]), abs=2e-3)
        assert int(line["rank_diff"]) == before.index(same) - lines.index(line)
        assert float(line["top1_low"]) < float(line["top1"]) < float(line["top1_high"])
        assert (line["param_count"], line["img_size"], line["top5"]) == ("0.27", "32", "")


def test_a_hugging_face_dataset_loads_by_its_card(evaluation, tmp_path):
    datasets = pytest.importorskip("datasets")
    folder, made = evaluation
    card, *_ = export_results(folder, "huggingface", tmp_path / "set")
    text = Path(card).read_text()
    front = yaml.safe_load(text.split("---")[1])
    assert [config["config_name"] for config in front["configs"]] == ["scores", "cells", "predictions", "classes"]
    datasets.disable_progress_bars()
    load = {
        name: datasets.load_dataset(str(tmp_path / "set"), name, split="train", cache_dir=str(tmp_path / "cache"))
        for name in ("scores", "predictions", "classes")
    }
    rows = load["predictions"].to_pandas()
    assert len(rows) == len(made.rows)
    assert errors_of(rows).to_dict() == pytest.approx(errors_of(made.rows).to_dict())
    scores = load["scores"].to_pandas().set_index("model")["mean_error"]
    assert scores.to_dict() == pytest.approx(errors_of(made.rows).to_dict())
    assert load["classes"]["name"][:2] == ["disc", "square"]


def test_figures_have_colours_and_a_legend_of_their_own():
    traces = [line_trace(place, [1, 2], [3, 4], ["a", "b"]) for place in (0, 1)]
    from scuff.report.figure import Figure

    drawn = Figure("curve", "title", "about", 200, traces, layout_of({}, {}))
    page = Page("t", "l", [], [section("s", "S", figures([drawn], legend=True))], ["one", "two"])
    ((key, figure),) = figures_for_paper(page)
    assert key == "curve"
    assert "@" not in str(figure).replace("@media", "")
    names = {trace["name"]: trace["line"]["color"] for trace in figure["data"] if trace["showlegend"]}
    assert names == {"one": "#0072b2", "two": "#c04f00"}
    assert [trace["line"]["color"] for trace in figure["data"][:2]] == list(names.values())


def test_the_command_names_what_it_writes_and_refuses_the_rest(evaluation, tmp_path):
    folder, _ = evaluation
    run = CliRunner().invoke(app, ["export", str(folder), "--as", "markdown", "--out", str(tmp_path / "a.md")])
    assert (run.exit_code, run.output) == (0, f"Written: {tmp_path / 'a.md'}\n")
    wrong = CliRunner().invoke(app, ["export", str(folder), "--as", "markdwon"])
    assert wrong.exit_code == 2
    assert "did you mean markdown?" in wrong.output
    empty = CliRunner().invoke(app, ["export", str(tmp_path), "--as", "timm-csv"])
    assert empty.exit_code == 2
    assert "no evaluation of classifiers" in empty.output
    for form in FORMS:
        assert form in CliRunner().invoke(app, ["export", "--help"]).output


def test_sequences_have_tables_too(tmp_path):
    pytest.importorskip("plotly")
    save_evaluation(make_evaluation(tmp_path, "cifar10-p", models=("mlp",), images=16), tmp_path)
    (place,) = export_results(tmp_path, "markdown")
    assert "flip" in Path(place).read_text()
    with pytest.raises(ValueError, match="no evaluation of classifiers on still images"):
        export_results(tmp_path, "timm-csv")


def test_heat_maps_become_figures(evaluation):
    pytest.importorskip("plotly")
    folder, made = evaluation
    page = evaluation_page(made, str(folder), data=None)
    grids = dict(grids_for_paper(page, 600))
    assert set(grids) == {"cells-resnet20", "cells-wide-resnet", "cells-mlp"}
    figure = grids["cells-mlp"]
    (trace,) = figure["data"]
    assert figure["layout"]["xaxis"]["ticktext"] == ["1", "2", "3", "4", "5", "mean"]
    row = figure["layout"]["yaxis"]["ticktext"].index("brownish noise")
    noise = made.rows[(made.rows["model"] == "mlp") & (made.rows["corruption"] == "brownish_noise")]
    errors = (noise["prediction"] != noise["label"]).groupby(noise["severity"]).mean()
    assert trace["text"][row] == [percent(error) for error in (*errors, errors.mean())]
    assert all(0 <= step < 20 for step in trace["z"][row])
