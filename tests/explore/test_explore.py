"""The explorer's answers: the pictures and words of a corruption, what models see, wrong files, and who may ask."""

import asyncio
import base64
import io
import signal
import struct
import subprocess
import sys
import urllib.request
import zlib

import numpy as np
import pytest
from made_explorer import running
from PIL import Image

import scuff
from scuff.data import open_source
from scuff.explore import pictures
from scuff.explore.corruptions import Turn
from scuff.explore.guard import Guard
from scuff.explore.looks import difference, spectrum
from scuff.explore.open import open_explorer
from scuff.explore.panel import Panel
from scuff.explore.pictures import Picture, Shelf
from scuff.explore.server import Explorer
from scuff.models import Classifier
from scuff.pictures import bundled_picture

NAMES = ("dark", "bright")


def photo(side: int) -> Image.Image:
    return bundled_picture().resize((side, side))


def brightness(images):
    """Logits of a model that looks at nothing but the mean brightness: bright above a third."""
    mean = images.mean((1, 2, 3))
    return 20 * (mean[:, None] - 1 / 3) * images.new_tensor([[-1.0, 1.0]])


@pytest.fixture(scope="module")
def client():
    model = Classifier(brightness, name="brightness", class_names=NAMES)
    suites = {name: scuff.load_suite(name) for name in ("imagenet-c", "cifar10-c", "imagenet-noc", "cifar10-p")}
    with running(Explorer(suites, Shelf(open_source("fashion")), Panel([model]))) as client:
        yield client


def opened(address: str) -> Image.Image:
    return Image.open(io.BytesIO(base64.b64decode(address.partition(",")[2])))


def file_of(image: Image.Image, form: str = "PNG") -> bytes:
    file = io.BytesIO()
    image.save(file, form)
    return file.getvalue()


# --- corruptions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "asked",
    [
        {"suite": "cifar10-c", "entry": "gaussian_noise", "severity": 2.35, "seed": 3, "draws": "shared"},
        {"suite": "cifar10-c", "entry": "contrast", "severity": 4},
        {"suite": "imagenet-noc", "entry": "rain"},
        {"suite": "imagenet-noc", "entry": "rain", "severity": 40, "seed": 1},
        {"suite": "cifar10-p", "entry": "translate", "severity": 3, "seed": 2},
    ],
)
@pytest.mark.parametrize("picture", ["cat", "data-3"])
def test_the_line_of_python_makes_the_picture_that_is_shown(client, asked, picture):
    status, answer = client.ask("corrupt", picture=picture, size=48, **asked)
    assert status == 200
    image = Image.open(io.BytesIO(client.picture("picture", picture=picture, size=48)))
    assert image.size == (48, 48)
    names = {"scuff": scuff, "image": image}
    exec(answer["line"], names)
    made = names.get("corrupted", names.get("frame"))
    shown = np.asarray(opened(answer["pictures"]["corrupted"]))
    assert np.array_equal(np.asarray(made), shown)
    assert answer["change"] == pytest.approx(np.sqrt(np.mean((shown - np.asarray(image, float)) ** 2)), rel=1e-5)
    saved = client.picture("picture", picture=picture, size=48, **asked)
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(saved))), shown)
    assert opened(answer["pictures"]["difference"]).size == opened(answer["pictures"]["spectrum"]).size == (48, 48)


def test_words_say_where_a_severity_lies_and_what_that_means(client):
    _, answer = client.ask("corrupt", picture="cat", size=32, suite="cifar10-c", entry="gaussian_noise", severity=2.5)
    assert answer["sentences"] == ["50 % of the way from level 2 to level 3."]
    assert answer["parameters"] == [["std", "0.07"]]  # between 0.06 and 0.08
    _, answer = client.ask("corrupt", picture="cat", size=32, suite="cifar10-c", entry="gaussian_noise", severity=3)
    assert (answer["sentences"], answer["parameters"]) == (["Level 3 of 5."], [["std", "0.08"]])
    _, answer = client.ask("corrupt", picture="cat", size=32, suite="cifar10-c", entry="gaussian_noise", severity=0)
    assert (answer["sentences"], answer["change"]) == (["Severity 0 is the picture itself."], 0)
    _, answer = client.ask("corrupt", picture="cat", size=32, suite="imagenet-noc", entry="rain")
    assert answer["sentences"][0] == "This picture draws its own severity."
    assert ["count", "12 to 120"] in answer["parameters"]
    assert answer["sentences"][1].endswith("are made for 224 pixels and scaled to 32.")


def test_every_entry_of_every_suite_answers_where_its_dial_begins():
    image = photo(32)
    for name in scuff.list_suites():
        suite = scuff.load_suite(name)
        start = {"suites": {name: suite}}
        explorer = Explorer(**start, shelf=Shelf(), panel=Panel([]))
        for entry in explorer.start(None)["suites"][0]["entries"]:
            turn = Turn(suite, entry["name"], entry["dial"] and entry["dial"]["start"])
            assert turn.explain(32)["sentences"], entry["name"]
            assert turn.line().count("(") == turn.line().count(")")
    assert turn.apply(image).size == image.size


def test_a_difference_is_centred_and_amplified_and_a_spectrum_shows_its_frequency():
    flat = Image.fromarray(np.full((64, 64, 3), 100, np.uint8))
    wave = 10 * np.sign(np.sin(2 * np.pi * 8 * (np.arange(64) + 0.5) / 64))  # 8 periods across
    waved = Image.fromarray((100 + np.broadcast_to(wave[:, None], (64, 64, 3))).astype(np.uint8))
    shown, gain = difference(flat, waved)
    assert gain == 8
    assert set(np.unique(np.asarray(shown))) == {128 - 80, 128 + 80}
    rays = np.asarray(spectrum(flat, waved)).astype(int).sum(2)
    bright = {tuple(place) for place in np.argwhere(rays > rays.min() + 300).tolist()}
    assert {(32, 24), (32, 40)} <= bright | {(a, b) for b, a in bright}
    assert np.unique(np.asarray(spectrum(flat, flat)).reshape(-1, 3), axis=0).shape == (1, 3)


def test_a_dial_beyond_a_sequence_stays_at_its_ends(client):
    asked = {"picture": "cat", "size": 16, "suite": "cifar10-p", "entry": "translate"}
    shown = [client.ask("corrupt", **asked, severity=severity)[1]["pictures"] for severity in ("-inf", 0, 10**6, "inf")]
    assert shown[0] == shown[1] != shown[2] == shown[3]


# --- models -----------------------------------------------------------------------------------------------------------


def test_a_model_says_what_it_sees_and_where_it_fails(client):
    white = file_of(Image.fromarray(np.full((40, 40, 3), 110, np.uint8)))
    asked = {"picture": client.drop(white)[1]["picture"], "suite": "cifar10-c", "entry": "brightness", "size": 40}
    _, answer = client.ask("corrupt", **asked, severity=5)
    (model,) = answer["models"]
    assert (model["name"], model["right"], model["known"]) == ("brightness", True, False)
    assert [each["class"] for each in model["top"]] == ["bright", "dark"]
    assert model["top"][0]["share"] > model["clean"]["share"] > 0.5
    _, found = client.ask("failures", **asked)
    assert (found["models"][0]["failure"], found["models"][0]["sentence"]) == (None, "Says bright up to severity 5.")
    dark = file_of(Image.fromarray(np.full((40, 40, 3), 60, np.uint8)))
    asked["picture"] = client.drop(dark)[1]["picture"]
    _, found = client.ask("failures", **asked)
    (model,) = found["models"]
    image = Image.fromarray(np.full((40, 40, 3), 60, np.uint8))
    is_dark = {
        s: np.mean(scuff.corrupt(image, "cifar10-c/brightness", s)) < 85 for s in (0.0625 * k for k in range(81))
    }
    first = next(severity for severity, dark in is_dark.items() if not dark)
    assert model["failure"] == pytest.approx(first, abs=0.0626)
    assert model["sentence"] == f"Says dark until it fails at severity {model['failure']:.2f}."
    severities = [severity for severity, _ in model["points"]]
    assert severities == sorted(severities)
    assert {0, 1, 2, 3, 4, 5} <= set(severities)


def test_a_label_decides_what_is_right_and_a_model_that_cannot_look_says_why():
    def narrow(images):
        raise RuntimeError("expected 3 channels")

    models = [Classifier(brightness, name="b"), Classifier(narrow, name="narrow")]
    panel = Panel(models, open_source("fashion"))
    dark = Image.fromarray(np.zeros((28, 28), np.uint8))
    answers = panel.answers(Picture(dark, "", label=1), dark)
    assert (answers[0]["known"], answers[0]["right"]) == (True, False)
    assert answers[0]["top"][1] == {"class": "Trouser", "share": pytest.approx(0, abs=1e-5), "wanted": True}
    assert "expected 3 channels" in answers[1]["error"]
    turn = Turn(scuff.load_suite("cifar10-c"), "fog", 3)
    assert panel.failures(Picture(dark, "", label=1), turn)[0]["failure"] == 0


# --- pictures of one's own --------------------------------------------------------------------------------------------


def test_a_dropped_picture_is_cut_to_its_middle_and_found_again(client):
    image = photo(60).resize((90, 60))
    status, answer = client.drop(file_of(image))
    assert status == 200
    same = client.drop(file_of(image))[1]
    assert same == answer
    square = Image.open(io.BytesIO(client.picture("picture", picture=answer["picture"])))
    assert np.array_equal(np.asarray(square), np.asarray(image.crop((15, 0, 75, 60))))


@pytest.mark.parametrize("content", [b"", b"no picture", b"\x89PNG\r\n\x1a\n", b"GIF89a", file_of(photo(32))[:200]])
def test_what_is_no_picture_is_refused_with_a_sentence(client, content):
    status, answer = client.drop(content)
    assert status == 400
    assert answer["error"].startswith("this file cannot be used: ")


def test_pictures_that_other_programs_would_open_are_refused(client):
    """Pillow hands PostScript to Ghostscript."""
    file = io.BytesIO()
    photo(16).save(file, "EPS")
    assert Image.open(file).format == "EPS"
    assert client.drop(file.getvalue()) == (400, {"error": "this file cannot be used: not a picture"})


@pytest.mark.parametrize("form", ["PNG", "JPEG", "BMP", "GIF", "TIFF", "WEBP"])
def test_usual_pictures_are_taken(client, form):
    assert client.drop(file_of(photo(32), form))[0] == 200


def test_a_bomb_is_refused_before_it_is_read(client):
    """A file of a few bytes that says that it has 50000 x 50000 pixels."""
    head = struct.pack(">IIBBBBB", 50_000, 50_000, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(bytes(1000))), (b"IEND", b""))
    pieces = [
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    ]
    status, answer = client.drop(b"\x89PNG\r\n\x1a\n" + b"".join(pieces))
    assert status == 400
    assert answer["error"] == "this file cannot be used: it has far too many pixels; at most 60 million are taken"


def test_huge_pictures_are_bounded(client, monkeypatch):
    wide = Image.new("L", (20_000, 4_000))
    status, answer = client.drop(file_of(wide))
    assert (status, answer["error"]) == (
        400,
        "this file cannot be used: it has 20000 x 4000 pixels; at most 60 million are taken",
    )
    status, answer = client.drop(file_of(Image.new("RGB", (3000, 2000), (9, 8, 7)), "JPEG"))
    assert status == 200
    kept = Image.open(io.BytesIO(client.picture("picture", picture=answer["picture"])))
    assert kept.size == (pictures.LONGEST, pictures.LONGEST)
    status, _, body = client.send(client.below("api/pictures"), "POST", bytes(pictures.MOST_BYTES + 1))
    assert (status, b"at most 32 MB" in body) == (413, True)


def test_the_oldest_picture_goes_and_says_so():
    shelf = Shelf()
    names = [shelf.drop(file_of(Image.new("L", (9, 9), shade))) for shade in range(pictures.KEPT + 1)]
    assert shelf.find(names[1]).image.size == (9, 9)
    with pytest.raises(pictures.Gone, match="drop it again"):
        shelf.find(names[0])


def test_a_picture_that_is_gone_has_a_status_of_its_own(client):
    words = {"suite": "cifar10-c", "entry": "fog", "severity": 1}
    status, headers, body = client.send(client.below("api/corrupt", picture="own-0123", **words))
    assert (status, headers["cache-control"]) == (410, "no-store")  # browsers would remember that it is gone
    assert b"the explorer has let go of this picture; drop it again" in body


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"picture": "/etc/passwd"}, "there is no picture '/etc/passwd'"),
        ({"picture": "data-../../x"}, "there is no picture 'data-../../x'"),
        ({"picture": "data-5000"}, "fashion has 5000 images, counted from 0; there is no 5000"),
        ({"suite": "../x.yaml"}, "there is no suite '../x.yaml' here"),
        ({"suite": "/etc/hostname"}, "there is no suite '/etc/hostname' here"),
        ({"entry": "fogg"}, "the suite cifar10-c has no entry 'fogg'"),
        ({"severity": "x"}, "severity must be a number, got 'x'"),
        ({"severity": "9"}, "cifar10-c/fog needs a severity from 0 to 5, got 9"),
        ({"severity": "nan"}, "cifar10-c/fog needs a severity from 0 to 5, got nan"),
        ({"seed": "1.5"}, "seed must be a whole number, got '1.5'"),
        ({"size": "100000"}, "size must be from 8 to 1024 pixels, got 100000"),
        ({"size": "-3"}, "size must be from 8 to 1024 pixels, got -3"),
        ({"severity": "inf"}, "cifar10-c/fog needs a severity from 0 to 5, got inf"),
        ({"seed": "9" * 5000}, "seed must be a whole number, got '999"),
    ],
)
def test_a_wrong_question_is_answered_with_a_sentence(client, words, message):
    asked = {"picture": "cat", "suite": "cifar10-c", "entry": "fog", "severity": "2"} | words
    status, answer = client.ask("corrupt", **asked)
    assert status == 400
    assert answer["error"].startswith(message)


# --- who may ask ------------------------------------------------------------------------------------------------------


def test_nothing_is_served_without_the_secret(client):
    for path in ("/", "/api/start", "/index.html", "/wrong/api/start", f"{client.place.path[:-2]}/api/start"):
        status, headers, body = client.send(path)
        assert (status, headers["content-type"]) == (404, "application/json")
        assert b"scuff explore printed last" in body


def test_the_secret_is_another_one_every_time():
    with running(open_explorer()) as one, running(open_explorer()) as other:
        assert one.place.path != other.place.path
        assert len(one.place.path) > 20
        assert one.place.hostname == "127.0.0.1"


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "evil.example:80"},
        {"Host": "127.0.0.1"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_no_other_origin_can_drive_it(client, headers):
    for path, method in (("api/start", "GET"), ("", "GET"), ("api/pictures", "POST")):
        status, answered, body = client.send(client.below(path), method, b"x" if method == "POST" else None, headers)
        assert (status, b"its own page only" in body) == (403, True)
        assert "access-control-allow-origin" not in answered


def test_its_own_page_may_ask_and_nothing_else_is_loaded(client):
    own = {"Origin": f"http://127.0.0.1:{client.place.port}", "Sec-Fetch-Site": "same-origin"}
    status, headers, body = client.send(client.below(""), headers=own)
    assert status == 200
    assert b"<title>scuff explorer</title>" in body
    assert "default-src 'none'" in headers["content-security-policy"]
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    for name in ("main.js", "explore.css", "report.css", "colours.css"):
        assert client.send(client.below(name), headers=own)[0] == 200


@pytest.mark.parametrize(
    "path",
    [
        "../server.py",
        "..%2fserver.py",
        "%2e%2e/server.py",
        "..%5cserver.py",
        "static/../../server.py",
        "%2fetc%2fpasswd",
        "/etc/passwd",
        "//etc/passwd",
        "report.css/../template.html",
        "main.js%00.css",
        "__init__.py",
        "api/../../../../etc/passwd",
        "api/picture/../../server.py",
    ],
)
def test_nothing_outside_of_the_page_is_served(client, path):
    status, _, body = client.send(f"{client.place.path}{path}")
    assert status in (400, 404)
    assert b"root:" not in body
    assert b"import" not in body
    assert b"{{" not in body


def test_a_body_without_a_stated_length_is_cut_off():
    sent, taken = [], []

    async def app(scope, receive, send):
        while (message := await receive()).get("more_body"):
            taken.append(len(message["body"]))

    async def receive():
        return {"type": "http.request", "body": bytes(1000), "more_body": True}

    async def send(message):
        sent.append(message)

    headers = [(b"host", b"127.0.0.1:5")]
    asyncio.run(
        Guard(app, "secret", 5, 10_500)({"type": "http", "path": "/secret/", "headers": headers}, receive, send)
    )
    assert len(taken) == 10
    assert sent[0]["status"] == 413


# --- from the command line --------------------------------------------------------------------------------------------


def test_the_command_prints_its_address_and_ctrl_c_ends_it(tmp_path):
    command = [sys.executable, "-m", "scuff", "explore", "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    address = process.stdout.readline().split()[1]
    assert process.stdout.readline() == "Ctrl-C ends it.\n"
    with urllib.request.urlopen(address) as page:
        assert b"scuff explorer" in page.read()
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=240)
    assert (process.returncode, out, errors) == (0, "The explorer has ended.\n", "")
