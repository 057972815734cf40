"""Reports in a real browser: they open without a complaint, sort, switch, show labels, fit on a phone and on paper."""

import json
import re

import pytest
from chromium import Chromium, find_chromium
from made_evaluations import make_evaluation

from scuff.report.build import render
from scuff.report.colours import PAGE

DRAWN = "document.documentElement.dataset.drawn === 'yes'"
HOSTILE = "</script><script>window.hurt = 1</script><img src=x onerror='window.hurt = 1'><b>\"&amp;"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    path = find_chromium()
    assert path is not None, "no chromium found; install one (Debian: apt install chromium) or set CHROMIUM to its path"
    with Chromium(path, tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture(scope="module")
def address(browser, tmp_path_factory):
    """Where the report of three models lies."""
    folder = tmp_path_factory.mktemp("report")
    (folder / "report.html").write_text(render(make_evaluation(folder, images=40), "runs/three"), encoding="utf-8")
    return (folder / "report.html").as_uri()


@pytest.fixture
def page(browser, address):
    browser.window(1280)
    browser.open(address)
    browser.wait_for(DRAWN)
    return browser


def rgb(colour: str) -> str:
    return f"rgb({', '.join(str(int(colour[k : k + 2], 16)) for k in (1, 3, 5))})"


def test_it_opens_without_a_complaint_and_draws_everything(page):
    assert page.complaints() == []
    assert page.run("document.querySelectorAll('.chart').length") == 8
    assert page.run("[...document.querySelectorAll('.chart')].every(p => p.querySelector('.scatterlayer .trace'))")


FIRST = "[...document.querySelectorAll('#summary tbody th')].map(e => e.textContent)"
VALUES = "[...document.querySelectorAll('#summary tbody tr')].map(r => Number(r.cells[3].dataset.value))"
ORDERS = "[...document.querySelectorAll('#summary thead th')].map(e => e.getAttribute('aria-sort'))"


def test_a_click_on_a_head_sorts_and_a_second_one_turns_it_around(page):
    assert page.run(ORDERS)[:4] == ["none", "none", "ascending", "none"]
    head = "#summary thead th:nth-child(4) button"
    page.click(head)
    values = page.run(VALUES)
    assert values == sorted(values)
    assert page.run(ORDERS)[:4] == ["none", "none", "none", "ascending"]
    page.click(head)
    assert page.run(VALUES) == sorted(values, reverse=True)
    assert page.run(ORDERS)[3] == "descending"
    page.run("document.querySelector('#summary thead th button').focus()")
    page.press("Enter", 13, "\r")
    assert page.run(FIRST) == sorted(page.run(FIRST))


SHOWN = "[...document.querySelectorAll('#{}  .panel')].filter(p => p.offsetHeight).map(p => p.innerText)"


def test_the_switch_changes_heat_map_details_and_images(page):
    cells, images = page.run(SHOWN.format("cells")), page.run(SHOWN.format("images"))
    assert len(cells) == len(images) == 1
    assert cells[0].startswith("resnet20")
    page.run("document.querySelector('#model-cells').focus()")
    page.press("ArrowDown", 40)
    page.wait_for("document.querySelector('#model-images').value === '1'")  # the other switch follows
    cells_then, images_then = page.run(SHOWN.format("cells")), page.run(SHOWN.format("images"))
    assert cells_then[0].startswith("wide-resnet")
    assert images_then[0].startswith("wide-resnet")
    numbers, numbers_then = (re.findall(r"\d+\.\d", text) for text in (cells[0], cells_then[0]))
    assert len(numbers) == len(numbers_then) > 90
    assert numbers != numbers_then


def test_a_cell_shows_its_interval_to_pointer_and_keyboard(page):
    cell = "#cells .panel:not([hidden]) td[data-tip]"
    assert page.run("document.querySelector('#tip').hidden")
    page.hover(cell)
    label = page.run("document.querySelector('#tip').innerText")
    assert re.search(r"gaussian noise, severity 1\n.*% error\n95 % interval .* to .*\nn = 40", label)
    assert page.run("document.querySelector('#tip').offsetHeight") > 40
    page.run(f"document.querySelector({json.dumps(cell)}).focus()")
    page.press("ArrowRight", 39)
    page.press("ArrowDown", 40)
    assert page.run("document.querySelector('#tip').innerText").startswith("shot noise, severity 2\n")
    page.press("Escape", 27)
    assert page.run("document.querySelector('#tip').hidden")


def test_a_point_of_a_figure_shows_its_label(page):
    page.hover("[data-figure=curve0] .scatterlayer .trace:nth-child(2) .point")
    page.wait_for("document.querySelector('[data-figure=curve0] .hovertext')")
    assert "95 % interval" in page.run("document.querySelector('[data-figure=curve0] .hovertext').textContent")


@pytest.mark.parametrize("width", [375, 768])
def test_nothing_sticks_out_of_a_narrow_window(page, width):
    page.window(width)
    page.wait_for(f"document.querySelector('[data-figure=curve0] .main-svg').clientWidth <= {width}")
    assert page.run("document.documentElement.scrollWidth") == width
    # All heat maps fit; wide tables scroll inside their boxes.
    assert page.run("[...document.querySelectorAll('#cells .scroll')].every(e => e.scrollWidth <= e.clientWidth + 1)")
    page.wait_for(
        "[...document.querySelectorAll('.main-svg')].every(e => e.getBoundingClientRect().right <= innerWidth)"
    )


def test_page_and_figures_follow_the_preference_for_dark(page):
    ground = "getComputedStyle(document.body).backgroundColor"
    ticks = "getComputedStyle(document.querySelector('.chart .xtick text')).fill"
    for dark, theme in ((True, "dark"), (False, "light")):
        page.window(1280, dark=dark)
        page.wait_for(f"{ticks} === {json.dumps(rgb(PAGE[theme]['ink']))}")
        assert page.run(ground) == rgb(PAGE[theme]["paper"])


def test_paper_is_light_has_no_controls_and_every_model(page):
    page.window(1280, dark=True)
    page.send("Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    assert len(page.run(SHOWN.format("cells"))) == 3
    hidden = ".switch, nav, details"
    assert page.run(f"[...document.querySelectorAll({json.dumps(hidden)})].every(e => !e.offsetHeight)")
    assert page.run("getComputedStyle(document.documentElement).getPropertyValue('--ink')") == PAGE["light"]["ink"]
    page.window(1280, dark=True)
    widths = "[...document.querySelectorAll('.chart')].map(e => e.querySelector('.main-svg').clientWidth)"
    page.run(f"addEventListener('beforeprint', () => {{ window.onPaper = {widths}; }})")
    assert page.pdf().startswith(b"%PDF")
    assert set(page.run("window.onPaper")) == {330, 680}
    page.wait_for(f"{widths}.some(width => width !== 330 && width !== 680)")  # the screen is as it was
    assert page.complaints() == []


def test_hostile_names_do_nothing(browser, tmp_path):
    names = (HOSTILE, "square", "triangle", "ring", "cross", "stripes", "checks", "diamond")
    evaluation = make_evaluation(tmp_path, "cifar10-c-bar", (HOSTILE, "mlp"), images=12, class_names=names)
    (tmp_path / "hostile.html").write_text(render(evaluation, "x", title=HOSTILE), encoding="utf-8")
    browser.window(1280)
    browser.open((tmp_path / "hostile.html").as_uri())
    browser.wait_for(DRAWN)
    browser.hover("[data-figure=curve0] .scatterlayer .trace:nth-child(2) .point")
    browser.wait_for("document.querySelector('[data-figure=curve0] .hovertext')")
    assert browser.run("document.querySelector('.hovertext').textContent").startswith("</script><script>")
    assert browser.complaints() == []
    assert browser.run("window.hurt === undefined && document.scripts.length === 3")
    assert browser.run("document.querySelector('h1').textContent") == HOSTILE
