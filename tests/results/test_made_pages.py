"""Pages that tools write as a whole: from the tables that are committed beside them, and from nothing else."""

import shutil

import pytest
from tool_modules import ROOT, load_tool

RESULTS = ROOT / "docs" / "results"
PAGES = {
    "noc_tables": "noc-cifar10",
    "augmentation_figures": "augmentation-figures-cifar10",
    "held_out_tables": "held-out-cifar10",
    "lite_tables": "imagenet-lite",
    "dissimilar_tables": "dissimilar-cifar10",
}


@pytest.mark.parametrize(("tool", "page"), PAGES.items())
def test_a_page_is_made_of_its_tables(tmp_path, tool, page):
    shutil.copytree(RESULTS / page, tmp_path / page)
    again = tmp_path / f"{page}.md"
    load_tool(tool).main(str(tmp_path / "no runs"), str(again))
    assert again.read_text(encoding="utf-8") == (RESULTS / again.name).read_text(encoding="utf-8")


@pytest.mark.parametrize("tool", [*PAGES, "powerset_tables"])
def test_nothing_to_read_is_an_error(tmp_path, tool):
    with pytest.raises(SystemExit, match="there are no results"):
        load_tool(tool).main(str(tmp_path), str(tmp_path / "page.md"))
