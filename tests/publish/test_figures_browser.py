"""Figures as files, drawn by a real browser."""

import io

import pytest
from made_evaluations import make_evaluation, save_evaluation
from PIL import Image

from scuff.publish import export_results


@pytest.mark.parametrize(("form", "first"), [("svg", b"<svg"), ("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_every_figure_of_the_report(tmp_path, form, first):
    pytest.importorskip("plotly")
    folder = save_evaluation(
        make_evaluation(tmp_path, "cifar10-c-bar", models=("mlp", "resnet20"), images=16), tmp_path
    )
    places = export_results(folder, form)
    assert {"curve0", "differences", "reliability-clean", "cells-mlp"} <= {
        place.rpartition("/")[2].partition(".")[0] for place in places
    }
    for place in places:
        with open(place, "rb") as file:
            content = file.read()
        assert content.startswith(first)
        assert len(content) > 5000
        if form == "svg":
            assert b"mlp" in content or b"brownish noise" in content  # the legend, or the heat map
            assert b"@" not in content
        if form == "png":
            assert Image.open(io.BytesIO(content)).size[0] == 2040
        if form == "pdf":
            assert content.count(b"/Type /Page\n") == 1
