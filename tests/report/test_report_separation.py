"""Reports of class separations, alone and on the page of a study of MSCR."""

import numpy as np
import pytest
from made_mscr import made_settings, make_separation
from pages import Page, rendered, table_of, tips_of
from typer.testing import CliRunner

from scuff.cli import app
from scuff.report import write_report
from scuff.report.separation.mscr import mscr_page
from scuff.report.separation.separation import (
    Distances,
    bin_edges,
    group_distances,
    separation_page,
)


@pytest.fixture(scope="module")
def page(accuracies, separation):
    return Page(rendered(mscr_page, accuracies, made_settings(accuracies), Distances(*separation)))


def test_every_distance_is_counted_once(page, separation):
    _, neighbours, is_test, _ = separation
    figure = page.data()["figures"]["distances"]
    assert sum(sum(trace["y"]) for trace in figure["data"]) == len(neighbours.distances)
    assert len(figure["data"]) == 3
    both = (~is_test[neighbours.points] & ~is_test[neighbours.rows]).sum()
    assert figure["data"][0]["name"] == "both for training"
    assert sum(figure["data"][0]["y"]) == both
    assert figure["layout"]["shapes"][0]["x0"] == pytest.approx(54 / 255)
    *curves, marked = page.data()["figures"]["distances-cumulative"]["data"]
    assert marked["x"] == pytest.approx(np.quantile(neighbours.distances, [0.01, 0.1, 0.5]), rel=1e-5)
    assert all(curve["y"][0] == 0 and curve["y"][-1] == 100 for curve in curves)
    assert curves[0]["x"][-1] == pytest.approx(
        group_distances(neighbours, is_test)["both for training"].max(), abs=1e-5
    )


def test_without_splits_there_is_one_group(separation):
    found, neighbours, _, _ = separation
    page = Page(rendered(separation_page, Distances(found, neighbours)))
    (trace,) = page.data()["figures"]["distances"]["data"]
    assert sum(trace["y"]) == len(neighbours.distances)
    assert page.data()["figures"]["distances"]["layout"]["showlegend"] is False


@pytest.mark.parametrize("steps", [1, 3, 100, 5000])
def test_bins_hold_all_values_and_whole_steps(steps):
    values = np.random.default_rng(0).integers(54, 55 + steps, 2000) / 255
    edges = bin_edges(values)
    counts, _ = np.histogram(values, edges)
    assert counts.sum() == 2000
    assert 1 <= len(counts) <= 130
    if steps <= 100:  # each bin holds the same number of possible distances
        inside, _ = np.histogram(np.arange(54, 55 + steps) / 255, edges)
        assert len(set(inside[:-1])) <= 1


def test_quantiles_and_pairs_are_those_of_the_metrics(page, separation):
    _, neighbours, _, pairs = separation
    shown = table_of(page, "Distances to the nearest point of another class")
    assert shown["smallest, as in the paper"]["distance"] == 54 / 255
    assert shown["5 % quantile"]["distance"] == neighbours.quantile(0.05)
    assert shown["5 % quantile"]["half of it"] == neighbours.quantile(0.05) / 2
    cells = tips_of(page, "Smallest distance of every pair of classes")
    assert len(cells) == 4 * 3
    line = pairs[(pairs["label_a"] == 1) & (pairs["label_b"] == 3)].iloc[0]
    tip = f"class b and class d\ndistance {line['distance']:.4f}\nrows {line['row_a']:.0f} and {line['row_b']:.0f}"
    assert [attributes["data-tip"] for attributes, _ in cells].count(tip) == 2
    assert "All pairs of classes" in page.section("separation")


def test_two_classes_have_a_table_and_no_matrix():
    page = Page(rendered(separation_page, Distances(*make_separation(2))))
    assert page.sections() == ["separation", "settings"]
    assert "matrix" not in " ".join(attributes["class"] for _, attributes, _ in page.find("table"))
    assert table_of(page, "All pairs of classes")["class a"]["distance"] == 54 / 255


def test_points_of_the_plane_are_drawn_with_their_nearest_pair(tmp_path):
    rng = np.random.default_rng(0)
    x = (rng.random((60, 2)) + (np.arange(60) % 2)[:, None]) / 2
    data = tmp_path / "plane.npz"
    np.savez(data, x=x, y=np.arange(60) % 2)
    out = tmp_path / "out"
    assert CliRunner().invoke(app, ["separation", str(data), "--per-point", "--out", str(out)]).exit_code == 0
    write_report(out, tmp_path / "page.html")
    *classes, nearest = Page((tmp_path / "page.html").read_text(encoding="utf-8")).data()["figures"]["points"]["data"]
    drawn = [np.column_stack([trace["x"], trace["y"]]) for trace in classes]
    for label, points in enumerate(drawn):
        assert np.allclose(points, x[label::2], rtol=1e-5)
    gaps = np.abs(drawn[0][:, None] - drawn[1][None]).max(axis=2)
    first, second = np.unravel_index(gaps.argmin(), gaps.shape)
    pair = sorted(zip(nearest["x"], nearest["y"], strict=True))
    assert np.allclose(pair, sorted([tuple(drawn[0][first]), tuple(drawn[1][second])]), rtol=1e-5)


def test_the_separation_of_the_same_data_has_no_note(page):
    assert "other data" not in page.section("settings")
