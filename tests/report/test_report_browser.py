"""Reports in a real browser: they open without a complaint, sort, switch, show labels, fit on a phone and on paper."""

import json
import re

import pytest
from browser import Browser
from made_evaluations import make_evaluation
from made_mscr import made_settings as made_mscr_settings
from made_mscr import make_robust_accuracies, make_separation
from made_overlaps import made_settings, make_accuracies
from pages import rendered

from scuff.report.colours import HEAT, PAGE
from scuff.report.evaluation.evaluation import evaluation_page
from scuff.report.overlap.overlap import overlap_page
from scuff.report.separation.mscr import mscr_page
from scuff.report.separation.separation import Distances

DRAWN = "document.documentElement.dataset.drawn === 'yes'"
HOSTILE = "</script><script>window.hurt = 1</script><img src=x onerror='window.hurt = 1'><b>\"&amp;"


@pytest.fixture(scope="module")
def browser():
    with Browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def address(browser, tmp_path_factory):
    """Where the report of three models lies."""
    folder = tmp_path_factory.mktemp("report")
    (folder / "report.html").write_text(
        rendered(evaluation_page, make_evaluation(folder, images=40), "runs/three"), encoding="utf-8"
    )
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
    page.press("Enter")
    assert page.run(FIRST) == sorted(page.run(FIRST))


SHOWN = "[...document.querySelectorAll('#{}  .panel')].filter(p => p.offsetHeight).map(p => p.innerText)"


def test_the_switch_changes_heat_map_details_and_images(page):
    cells, images = page.run(SHOWN.format("cells")), page.run(SHOWN.format("images"))
    assert len(cells) == len(images) == 1
    assert cells[0].startswith("resnet20")
    page.run("document.querySelector('#model-cells').focus()")
    page.press("ArrowDown")
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
    page.press("ArrowRight")
    page.press("ArrowDown")
    assert page.run("document.querySelector('#tip').innerText").startswith("shot noise, severity 2\n")
    page.press("Escape")
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
    page.paper(True, dark=True)
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
    (tmp_path / "hostile.html").write_text(rendered(evaluation_page, evaluation, "x", title=HOSTILE), encoding="utf-8")
    browser.window(1280)
    browser.open((tmp_path / "hostile.html").as_uri())
    browser.wait_for(DRAWN)
    browser.hover("[data-figure=curve0] .scatterlayer .trace:nth-child(2) .point")
    browser.wait_for("document.querySelector('[data-figure=curve0] .hovertext')")
    assert browser.run("document.querySelector('.hovertext').textContent").startswith("</script><script>")
    assert browser.complaints() == []
    assert browser.run("window.hurt === undefined && document.scripts.length === 3")
    assert browser.run("document.querySelector('h1').textContent") == HOSTILE


# --- overlap studies -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def overlaps(browser, tmp_path_factory):
    """Where the report of an overlap study of 38 corruptions lies."""
    folder = tmp_path_factory.mktemp("overlaps")
    accuracies = make_accuracies(images=100, useless=("noc-candidates/hue",), whole=("cifar10-c",))
    (folder / "report.html").write_text(rendered(overlap_page, accuracies, made_settings(accuracies)), encoding="utf-8")
    return (folder / "report.html").as_uri()


@pytest.fixture
def study(browser, overlaps):
    browser.window(1280)
    browser.open(overlaps)
    browser.wait_for(DRAWN)
    return browser


def test_an_overlap_study_opens_without_a_complaint_and_draws_everything(study):
    assert study.complaints() == []
    drawn = ".scatterlayer .trace, .barlayer .trace"
    assert study.run(f"[...document.querySelectorAll('.chart')].every(p => p.querySelector({json.dumps(drawn)}))")


def test_a_large_matrix_fits_and_has_square_cells(study):
    box = "document.querySelector('#overlap .scroll')"
    assert study.run(f"{box}.scrollWidth <= {box}.clientWidth")
    size = "(e => [e.width, e.height])(document.querySelector('#overlap tbody tr:nth-child(2) td:nth-of-type(2)')"
    width, height = study.run(f"{size}.getBoundingClientRect())")
    assert width == pytest.approx(height, abs=1.5)  # rows are cut to whole pixels
    assert width >= 16


def test_the_arrow_keys_move_through_the_matrix_across_its_groups(study):
    """The first row of a group has one cell more, the name of the group; the column must not change there."""
    names = study.run("[...document.querySelectorAll('#overlap tbody th[scope=row]')].map(e => e.textContent)")
    study.run("document.querySelector('#overlap td[data-tip]').focus()")
    study.press("ArrowRight")
    for name in names[1:12]:
        study.press("ArrowDown")
        first = study.run("document.querySelector('#tip').innerText").split("\n")[0]
        assert first == f"{name} and {names[1]}" or name == names[1]
    study.press("Escape")
    assert study.run("document.querySelector('#tip').hidden")
    study.hover("#overlap tbody tr:nth-child(2) td[data-tip]")
    assert study.run("document.querySelector('#tip').innerText").startswith(f"{names[1]} and {names[0]}\noverlap ")


def test_a_matrix_scrolls_inside_a_phone_below_its_names(study):
    study.window(375)
    study.wait_for("document.querySelector('[data-figure=sweep] .main-svg').clientWidth <= 375")
    assert study.run("document.documentElement.scrollWidth") == 375
    study.run("document.querySelector('#overlap .scroll').scrollLeft = 200")
    left = "document.querySelector('#overlap tbody th[scope=row]').getBoundingClientRect().left"
    assert 0 <= study.run(left) < 60


def test_matrices_fit_on_paper(study):
    study.window(688)  # A4 without its margins
    study.paper(True)
    widths = study.run("[...document.querySelectorAll('.matrix')].map(e => e.getBoundingClientRect().width)")
    assert len(widths) == 2
    assert max(widths) <= 688
    study.paper(False)


# --- MSCR ------------------------------------------------------------------------------------------------------------

SCENES = "[...document.querySelectorAll('.scene')].filter(e => e.querySelector('canvas'))"
SCENE = "document.querySelector('#surface .panel:not([hidden]) .scene')"
DRIVERS = ("WebGL", "Canvas2D")  # how fast this machine draws in three dimensions is not the page's fault


@pytest.fixture(scope="module")
def mscr(browser, tmp_path_factory):
    """The report of a study of MSCR of two models, opened once: surfaces take long where there is no graphics card."""
    folder = tmp_path_factory.mktemp("mscr")
    accuracies = make_robust_accuracies(copies=(1, 10))
    text = rendered(mscr_page, accuracies, made_mscr_settings(accuracies), Distances(*make_separation()))
    (folder / "report.html").write_text(text, encoding="utf-8")
    browser.window(600)
    browser.open((folder / "report.html").as_uri())
    browser.wait_for(DRAWN)
    return browser


def turn(mscr: Browser) -> None:
    """Drag the surface that is shown to the right, again if the page missed it while it was drawing."""
    eye, mouse = f"{SCENE}._fullLayout.scene._scene.camera.eye[0]", mscr.page.mouse
    before = mscr.run(eye)
    for _ in range(10):
        x, y = mscr.middle("#surface .panel:not([hidden]) .scene")
        mouse.move(x - 10, y)
        mouse.down()
        for step in range(11):
            mouse.move(x + 10 * step, y)
            mscr.page.wait_for_timeout(50)  # several frames: moves within one are merged into the last
        turned = abs(mscr.run(eye) - before) > 0.1
        mouse.up()
        if turned:
            return
    raise AssertionError("the surface does not turn when it is dragged")


@pytest.mark.slow
def test_a_surface_follows_the_preference_for_dark_and_stays_as_it_was_turned(mscr):
    before = mscr.run(f"{SCENE}._fullLayout.scene.camera.eye.x")
    turn(mscr)
    mscr.wait_for(f"Math.abs({SCENE}._fullLayout.scene.camera.eye.x - {before}) > 0.05")
    turned = mscr.run(f"{SCENE}._fullLayout.scene.camera.eye")
    mscr.window(600, dark=True)
    mscr.wait_for(f"{SCENE}._fullLayout.scene.xaxis.color === {json.dumps(PAGE['dark']['ink'])}")
    assert mscr.run(f"{SCENE}._fullData[0].colorscale.map(stop => stop[1])") == list(HEAT["dark"])
    assert mscr.run(f"{SCENE}._fullLayout.scene.camera.eye") == pytest.approx(turned, abs=1e-6)


@pytest.mark.slow
def test_only_the_surface_of_the_model_that_is_shown_is_drawn(mscr):
    mscr.window(600)
    assert mscr.run(f"{SCENES}.map(e => e.dataset.figure)") == ["surface0"]
    mscr.run("document.querySelector('#model-surface').focus()")
    mscr.press("ArrowDown")
    mscr.wait_for("document.querySelector('#model-accuracies').value === '1'")
    mscr.wait_for(f"{SCENE}?.querySelector('canvas')?.clientWidth > 500")
    mscr.wait_for("document.querySelector('[data-figure=runs1] .main-svg')?.clientWidth > 500")
    assert mscr.run(f"{SCENES}.map(e => e.dataset.figure)") == ["surface1"]
    assert [text for text in mscr.complaints() if not any(word in text for word in DRIVERS)] == []


def test_a_study_of_mscr_fits_on_a_phone(mscr):
    mscr.window(375)
    mscr.wait_for("document.querySelector('[data-figure=mscr] .main-svg').clientWidth <= 375")
    assert mscr.run("document.documentElement.scrollWidth") == 375
    assert mscr.run(f"{SCENE}.clientHeight") <= 375
    mscr.run("document.querySelector('#accuracies .panel:not([hidden]) .scroll').scrollLeft = 100")
    left = "document.querySelector('#accuracies .panel:not([hidden]) tbody th').getBoundingClientRect().left"
    assert 0 <= mscr.run(left) < 60


def test_figures_of_hidden_models_are_on_paper(browser, tmp_path):
    accuracies = make_robust_accuracies(train_noise=(0.0,))  # without surfaces
    (tmp_path / "report.html").write_text(rendered(mscr_page, accuracies), encoding="utf-8")
    browser.window(1280)
    browser.open((tmp_path / "report.html").as_uri())
    browser.wait_for(DRAWN)
    size = "(e => e && [e.clientWidth, e.clientHeight])(document.querySelector('[data-figure=runs1] .main-svg'))"
    assert browser.run(size) is None
    shape = "(l => l && [l.width, l.height])(document.querySelector('[data-figure=runs1]')._fullLayout)"
    browser.run(f"addEventListener('beforeprint', () => {{ window.onPaper = {shape}; }})")
    assert browser.pdf().startswith(b"%PDF")
    assert browser.run("window.onPaper") == [680, 340]
    browser.wait_for(f"{size} === null")
    assert browser.complaints() == []
