"""The explorer in a real browser: dragging, dropping, keys, a second tab, a server that is away, a phone, the dark."""

import io
import json

import numpy as np
import pytest
from browser import Browser
from made_explorer import running
from PIL import Image

import scuff
from scuff.explore import pictures
from scuff.explore.panel import Panel
from scuff.explore.pictures import Shelf
from scuff.explore.server import Explorer
from scuff.models import Classifier
from scuff.report.colours import PAGE

SUITES = ("cifar10-c", "imagenet-noc", "cifar10-p")
READY = "document.documentElement.dataset.ready === 'yes' && document.documentElement.dataset.seen"


def brightness(images):
    mean = images.mean((1, 2, 3))
    return 20 * (mean[:, None] - 1 / 3) * images.new_tensor([[-1.0, 1.0]])


@pytest.fixture(scope="module")
def explorer():
    model = Classifier(brightness, name="brightness", class_names=("dark", "bright"))
    return Explorer({name: scuff.load_suite(name) for name in SUITES}, Shelf(), Panel([model]))


@pytest.fixture(scope="module")
def client(explorer):
    with running(explorer) as client:
        yield client


@pytest.fixture(scope="module")
def browser(client):
    with Browser(client.address) as browser:
        yield browser


def show(browser, address: str, state: str = "") -> None:
    browser.open("about:blank")  # so that only the part after # may change
    browser.open(f"{address}#{state}")
    browser.wait_for(READY)


@pytest.fixture
def page(browser, client):
    browser.window(1280)
    show(browser, client.address, "entry=gaussian_noise&severity=2&size=48")
    return browser


def seen(page) -> dict:
    """What the pictures on the page are an answer to, once all turns are answered."""
    page.wait_for(
        "(hash => { const seen = JSON.parse(document.documentElement.dataset.seen), w = new URLSearchParams(hash); "
        "return ['entry', 'seed', 'picture'].every(k => w.get(k) === String(seen[k])) && "
        "w.get('severity') === String(seen.severity ?? 'drawn'); })(location.hash.slice(1))"
    )
    return json.loads(page.run("document.documentElement.dataset.seen"))


def text(page, place: str) -> str:
    return page.run(f"document.getElementById({json.dumps(place)}).textContent")


def test_it_opens_without_a_complaint_and_shows_four_pictures(page):
    assert seen(page)["severity"] == 2
    sizes = "['clean', 'corrupted', 'difference', 'spectrum'].map(id => document.getElementById(id).naturalWidth)"
    page.wait_for(f"{sizes}.every(width => width === 48)")
    assert text(page, "line") == 'corrupted = scuff.corrupt(image, "cifar10-c/gaussian_noise", 2, draws="shared")'
    assert text(page, "sentences") == "Level 2 of 5."
    assert page.complaints() == []


def test_the_pointer_and_the_arrow_keys_turn_the_dial(page):
    x, y = page.middle("#severity")
    width = page.run("document.getElementById('severity').clientWidth")
    page.page.mouse.move(x, y)
    page.page.mouse.down()
    page.page.mouse.move(x + 0.2 * width, y, steps=8)
    page.page.mouse.up()
    assert 3.3 < seen(page)["severity"] < 3.7
    before = seen(page)["severity"]
    page.press("ArrowRight")
    assert seen(page)["severity"] == pytest.approx(before + 0.05)
    assert "of the way from level 3 to level 4." in text(page, "sentences")
    page.run("document.activeElement.blur()")
    page.press("ArrowLeft")
    assert seen(page)["severity"] == pytest.approx(before)


def test_suites_entries_seeds_and_draws_are_chosen(page):
    page.page.select_option("#entry", "contrast")
    assert (seen(page)["entry"], seen(page)["severity"]) == ("contrast", 2)  # the dial stays where it was
    page.click("#reseed")
    assert seen(page)["seed"] == 1
    page.page.select_option("#suite", "imagenet-noc")
    page.page.select_option("#entry", "rain")
    assert seen(page)["severity"] == 66  # the middle of 12 to 120
    page.page.check("#draw")
    assert seen(page)["severity"] is None
    assert text(page, "value") == "drawn"
    assert page.run("document.getElementById('severity').disabled")
    page.page.select_option("#suite", "cifar10-p")
    page.page.select_option("#entry", "translate")
    assert seen(page)["entry"] == "translate"
    assert text(page, "line").endswith('"cifar10-p/translate", seed=1)[15]')
    assert page.run("document.getElementById('severity').max") == "15"  # as many frames as there are
    assert page.complaints() == []


def test_a_model_answers_while_the_dial_turns_and_says_where_it_fails(page):
    page.page.select_option("#entry", "brightness")
    page.wait_for("document.querySelectorAll('.model .bars li').length === 2")
    page.wait_for("document.querySelector('.way svg')")
    assert "bright" in page.run("document.querySelector('.verdict').textContent")
    page.wait_for("/Says (dark|bright)/.test(document.querySelector('.way p').textContent)")


def test_where_a_model_fails_is_shown_even_if_it_is_known_first(page, client):
    held = []

    def hold(route) -> None:  # the first answer may take seconds
        held.append(route)

    page.page.route("**/api/corrupt*", hold)
    page.open("about:blank")
    with page.page.expect_response("**/api/failures*"):
        page.open(f"{client.address}#entry=brightness&severity=2&size=48")
    assert page.run("document.querySelectorAll('.model .bars li').length") == 0
    held[0].continue_()
    page.page.unroute("**/api/corrupt*")
    page.wait_for("document.querySelector('.way svg') && document.querySelectorAll('.model .bars li').length === 2")


def test_c_shows_the_clean_picture_while_it_is_held(page):
    seen(page)
    corrupted = page.run("document.getElementById('corrupted').src")
    page.page.keyboard.down("c")
    page.wait_for("document.getElementById('corrupted').src === document.getElementById('clean').src")
    page.page.keyboard.up("c")
    page.wait_for(f"document.getElementById('corrupted').src === {json.dumps(corrupted)}")
    x, y = page.middle("#compare")
    page.page.mouse.move(x, y)
    page.page.mouse.down()
    page.wait_for("document.getElementById('corrupted').src === document.getElementById('clean').src")
    page.page.mouse.up()
    page.wait_for(f"document.getElementById('corrupted').src === {json.dumps(corrupted)}")


def picture_file(shade: int = 90) -> dict:
    file = io.BytesIO()
    Image.fromarray(np.full((50, 70, 3), shade, np.uint8)).save(file, "PNG")
    return {"name": "mine.png", "mimeType": "image/png", "buffer": file.getvalue()}


def test_a_picture_of_ones_own_and_a_wrong_file(page, explorer):
    page.page.set_input_files("#file", picture_file())
    page.wait_for("document.getElementById('title').textContent === 'your picture'")
    name = seen(page)["picture"]
    assert name.startswith("own-")
    wrong = {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"no picture"}
    page.page.set_input_files("#file", wrong)
    page.wait_for("!document.getElementById('trouble').hidden")
    assert text(page, "trouble") == "notes.txt: this file cannot be used: not a picture"
    assert seen(page)["picture"] == name
    page.click("#reseed")
    page.wait_for("document.getElementById('trouble').hidden")  # the page goes on
    explorer.shelf._dropped.clear()  # as after many others: the page sends it again
    explorer.shelf._last = None
    page.click("#reseed")
    assert seen(page)["picture"] == name
    page.wait_for("document.getElementById('line').textContent.includes('seed=2')")
    assert list(explorer.shelf._dropped) == [name]
    page.click("#back")
    assert seen(page)["picture"] == pictures.CAT


def test_a_drop_on_the_page_is_taken(page):
    made = page.run(
        "(async () => { const canvas = new OffscreenCanvas(30, 30); canvas.getContext('2d').fillRect(0, 0, 30, 30); "
        "const file = new File([await canvas.convertToBlob()], 'x.png', { type: 'image/png' }); "
        "const data = new DataTransfer(); data.items.add(file); "
        "window.dispatchEvent(new DragEvent('dragover', { dataTransfer: data, cancelable: true })); "
        "const shown = !document.getElementById('over').hidden; "
        "window.dispatchEvent(new DragEvent('drop', { dataTransfer: data, cancelable: true })); return shown; })()"
    )
    assert made
    page.wait_for("document.getElementById('title').textContent === 'your picture'")
    assert page.run("document.getElementById('over').hidden")


def test_a_reload_and_a_second_tab_begin_where_the_first_is(page, client):
    page.page.select_option("#entry", "fog")
    page.click("#reseed")
    seen(page)
    address = page.run("location.href")
    other = page.page.context.browser.new_page()
    other.goto(address)
    while other.evaluate("document.documentElement.dataset.seen ?? ''") == "":
        other.wait_for_timeout(20)
    assert json.loads(other.evaluate("document.documentElement.dataset.seen")) == seen(page)
    other.select_option("#entry", "snow")  # which does not move the first
    other.close()
    page.page.reload()
    page.wait_for(READY)
    assert (seen(page)["entry"], seen(page)["seed"]) == ("fog", 1)


def test_it_waits_for_a_server_that_is_away_and_goes_on(page):
    away = "**/api/corrupt*"
    page.page.route(away, lambda route: route.abort())
    page.click("#reseed")
    page.wait_for("!document.getElementById('trouble').hidden")
    assert text(page, "trouble").startswith("The explorer does not answer.")
    page.page.unroute(away)
    page.run("window.dispatchEvent(new Event('focus'))")  # the laptop is opened again
    page.wait_for("document.getElementById('trouble').hidden")
    assert seen(page)["seed"] == 1


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_nothing_sticks_out_and_the_dial_stays_in_sight(page, width):
    page.window(width, 700)
    assert page.run("document.documentElement.scrollWidth") == width
    box = page.run("(b => [b.top, b.bottom])(document.getElementById('dial').getBoundingClientRect())")
    assert 0 < box[0] < box[1] <= 700
    targets = "[...document.querySelectorAll('#controls select, #controls button, #severity')].map(e => e.offsetHeight)"
    assert min(height for height in page.run(targets) if height) >= 30  # for fingers


def test_it_follows_the_preference_for_dark(page):
    ground = "getComputedStyle(document.body).backgroundColor"
    for theme in ("dark", "light"):
        page.window(1280, dark=theme == "dark")
        colour = PAGE[theme]["paper"]
        wanted = f"rgb({', '.join(str(int(colour[k : k + 2], 16)) for k in (1, 3, 5))})"
        page.wait_for(f"{ground} === {json.dumps(wanted)}")


def test_every_control_has_a_name(page):
    nameless = (
        "[...document.querySelectorAll('select, input, button')].filter(e => e.offsetHeight)"
        ".filter(e => !(e.labels?.length || e.textContent.trim() || e.ariaLabel)).map(e => e.id)"
    )
    assert page.run(nameless) == []
    assert page.run("[...document.images].every(image => image.alt)")
