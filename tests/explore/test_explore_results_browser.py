"""Evaluations and overlap studies in the explorer, in a real browser: from a cell to its pictures, and on to play."""

import json

import pytest
from browser import Browser
from made_evaluations import make_evaluation, save_evaluation
from made_explorer import running
from made_overlaps import make_accuracies, save_study

from scuff.explore.open import open_explorer


@pytest.fixture(scope="module")
def browser():
    with Browser("http://127.0.0.1:") as browser:
        yield browser


@pytest.fixture(scope="module")
def results(browser, tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    save_evaluation(make_evaluation(folder, "cifar10-c-bar", images=40), folder)
    with running(open_explorer(str(folder))) as client:
        browser.window(1280)
        browser.open(client.address)
        browser.wait_for("document.documentElement.dataset.cell")
        yield browser


def chosen(page) -> dict:
    return json.loads(page.run("document.documentElement.dataset.cell"))


def test_a_cell_of_the_heat_map_shows_its_pictures(results):
    assert chosen(results)["kind"] == "broken"
    results.click("td[data-cell='brownish_noise:4']")
    results.wait_for("JSON.parse(document.documentElement.dataset.cell).severity === '4'")
    assert results.run("document.getElementById('cell-title').textContent").startswith("brownish noise, severity 4")
    results.wait_for("[...document.querySelectorAll('#cards img')].some(image => image.naturalWidth === 32)")
    results.press("ArrowRight")
    results.press("ArrowDown")
    results.press("Enter")
    results.wait_for("JSON.parse(document.documentElement.dataset.cell).severity === '5'")
    assert chosen(results)["entry"] != "brownish_noise"
    results.page.select_option("#of-kind", "all")
    results.wait_for("document.getElementById('found').textContent.includes('Shown: 40')")
    results.click("#more")
    results.wait_for("document.querySelectorAll('#cards li').length === 40")
    assert results.run("document.getElementById('more').hidden")
    results.page.select_option("#of-label", "2")
    results.wait_for("document.getElementById('found').textContent.includes('Shown: 5,')")
    assert results.complaints() == []


def test_one_picture_through_all_cells_and_on_to_play(results):
    results.page.select_option("#of-label", "")
    results.wait_for("document.querySelectorAll('#cards li').length > 5")
    results.click("#cards .card")
    results.wait_for("document.getElementById('through').open")
    assert results.run("document.querySelectorAll('#through td.right, #through td.wrong').length") == 50
    results.page.click("#through a")
    results.wait_for("!document.getElementById('corruptions').hidden && document.documentElement.dataset.seen")
    results.wait_for("JSON.parse(document.documentElement.dataset.seen).picture.startsWith('data-')")
    assert not results.run("document.getElementById('through').open")
    results.page.click("#tabs a[data-view=evaluation]")
    results.wait_for("!document.getElementById('evaluation').hidden")
    results.window(375)
    assert results.run("document.documentElement.scrollWidth") == 375
    assert results.complaints() == []


def test_the_report_is_a_page_in_the_page(results):
    results.window(1280)
    results.page.click("#tabs a[data-view=report]")
    frame = results.page.wait_for_selector("#report iframe").content_frame()
    frame.wait_for_selector(".js-plotly-plot .main-svg", state="attached")  # the figures are drawn
    assert "3 models on cifar10-c-bar" in frame.text_content("h1")
    colour = "getComputedStyle(document.body).backgroundColor"
    for dark in (False, True):
        results.window(1280, dark=dark)
        assert frame.evaluate(colour) == results.run(colour)
    assert results.complaints() == []
    asked = "fetch('api/start').then(() => 'answered', () => 'refused')"
    assert frame.evaluate(asked) == "refused"  # whatever is in a report cannot drive the explorer


def test_a_report_alone_is_there_to_print(results):
    with results.page.expect_popup() as opened:
        results.page.click("#report .note a")
    alone = opened.value
    alone.wait_for_selector("h1")
    assert alone.url.endswith("/report")
    alone.close()


def test_a_pair_of_an_overlap_study_shows_both_corruptions(browser, tmp_path):
    save_study(make_accuracies(("cifar10-c", "noc-candidates"), images=50, most=4), tmp_path)
    page = browser
    with running(open_explorer(str(tmp_path))) as client:
        page.window(1280)
        page.open(client.address)
        page.wait_for("document.querySelectorAll('#pair figure').length === 2")  # the strongest overlap
        page.click("#overlap td[data-pair='0:3']")
        heads = "[...document.querySelectorAll('#overlap tbody th[scope=row]')].map(e => e.textContent)"
        names = page.run(heads)
        shown = "[...document.querySelectorAll('#pair figcaption strong')].map(e => e.textContent)"
        page.wait_for(f"{shown}.join() === {json.dumps(f'{names[0]},{names[3]}')}")
        page.wait_for("[...document.querySelectorAll('#pair img')].some(image => image.naturalWidth === 32)")
        page.page.click("#pair a")
        page.wait_for("!document.getElementById('corruptions').hidden && document.documentElement.dataset.seen")
        assert page.complaints() == []
