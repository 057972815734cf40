"""`scuff list`, `scuff show`, and how the command line fails."""

import importlib
import inspect
from typing import get_type_hints

import pytest
from PIL import Image
from typer.models import OptionInfo
from typer.testing import CliRunner

import scuff
from scuff.cli import app
from scuff.cli.verbs import FILES
from scuff.pictures import bundled_picture
from scuff.sheets import GAP, MARGIN, TEXT_SIZE, corruption_sheet

VERBS = (
    "list",
    "show",
    "gallery",
    "corrupt",
    "evaluate",
    "train",
    "overlap",
    "separation",
    "mscr",
    "report",
    "progress",
    "demo",
)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a command in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture
def small_suite(tmp_path):
    """A suite of two corruptions, one of them for validation, at 32 pixels."""
    entries = {"contrast": {"gain": [0.5, 0.1]}, "brightness": {"shift": [0.1, 0.5]}}
    suite = scuff.Suite("small", 3, 32, entries, 2, validation=("brightness",), about="for [tests]")
    return suite.save(tmp_path / "small.yaml")


def assert_refused(result, *words: str) -> None:
    """Exit code 2, one line on stderr, no traceback."""
    assert result.exit_code == 2, result.output
    assert isinstance(result.exception, SystemExit)
    lines = result.stderr.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("Error: ")
    for word in words:
        assert word in lines[0]


# --- help -----------------------------------------------------------------------------------------------------------


def test_version(run):
    assert run("--version").stdout == f"scuff {scuff.__version__}\n"


def test_help_names_every_verb_in_order(run):
    text = run("--help").stdout
    listed = text[text.index("Commands:") :]
    assert sorted(VERBS, key=lambda v: listed.index(f"  {v} ")) == list(VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_examples_and_explains_every_option(run, verb):
    text = run(verb, "--help").stdout
    assert "Example" in text
    assert f"  scuff {verb}" in text
    options = text[text.index("Options:") :].splitlines()[1:]
    starts = [n for n, line in enumerate(options) if line.startswith("  --")]
    for start, stop in zip(starts, [*starts[1:], len(options)], strict=True):
        words = " ".join(options[start:stop]).split()
        assert len(words) >= 4, f"no explanation: {words}"


@pytest.mark.parametrize("verb", VERBS)
def test_options_say_their_name_where_their_placeholder_is_the_same_word(verb):
    """Typer 0.27 takes the placeholder of `data: Annotated[str, Option(metavar="DATA")]` for the name: --DATA."""
    command = getattr(importlib.import_module(f"scuff.cli.{FILES.get(verb, verb)}"), f"{verb}_command")
    for name, hint in get_type_hints(command, include_extras=True).items():
        for option in getattr(hint, "__metadata__", ()):
            if isinstance(option, OptionInfo) and option.metavar == name.upper():
                assert option.default == f"--{name}"  # which typer takes for a name, inside of Annotated
    for name, parameter in inspect.signature(command).parameters.items():
        if isinstance(parameter.default, OptionInfo) and parameter.default.metavar == name.upper():
            assert f"--{name}" in parameter.default.param_decls


# --- list -----------------------------------------------------------------------------------------------------------


def test_list_has_a_row_for_every_suite(run):
    result = run("list")
    assert result.exit_code == 0
    for name in scuff.list_suites():
        suite = scuff.load_suite(name)
        (row,) = [line for line in result.stdout.splitlines() if line.split()[:1] == [name]]
        assert row.split()[1:3] == [str(suite.version), str(suite.size)]
        split = f"{len(suite.benchmark())} + {len(suite.validation)}" if suite.validation else str(len(suite.entries))
        assert f" {split} " in row
        assert row.rstrip().endswith(suite.about)


def test_list_of_a_suite_has_every_parameter_at_every_severity(run):
    text = run("list", "imagenet-c").stdout
    suite = scuff.load_suite("imagenet-c")
    assert "\x1b" not in text
    for entry, parameters in suite.entries.items():
        assert (f"{entry} (not scored)" in text) == (entry in suite.validation)
        assert all(f" {p} " in text for p in parameters)
    (fog,) = [line.split() for line in text.splitlines() if line.split()[:1] == ["fog"]]
    assert fog == ["fog", "strength", "1.5", "2", "2.5", "2.5", "3"]


def test_list_says_once_what_holds_at_all_levels(run):
    lines = [line.split() for line in run("list", "imagenet-p").stdout.splitlines()]
    assert ["corruption", "parameter", "always", "1", "2", "3"] in lines
    assert lines.count(["std", "0.03", "0.05", "0.08"]) == 1
    assert ["gaussian_noise", "frames", "31"] in lines


def test_list_of_a_suite_without_levels_has_one_column(run):
    text = run("list", "noc-candidates").stdout
    lines = [line.split() for line in text.splitlines()]
    assert ["corruption", "parameter", "value"] in lines
    assert ["rain", "count", "12", "..", "120"] in lines
    assert ["arlequin", "(not", "scored)", "count", "3", "..", "36"] in lines
    assert "Aliases: low_res for thumbnail_resize, color_disortion for color_distortion" in text


def test_list_names_a_category_once(run):
    text = run("list", "imagenet-syn2nat").stdout
    lines = [line.split() for line in text.splitlines()]
    assert ["category", "corruption", "parameter", "value"] in lines
    assert ["heterogeneous", "solarize", "threshold", "200"] in lines
    assert ["to_sepia", "(none)"] in lines
    assert all(text.count(f" {category} ") == 1 for category in scuff.load_suite("imagenet-syn2nat").categories)


def test_list_is_not_cut_to_80_columns(run, tmp_path):
    about = "a benchmark with a long story, " * 12 + "and an end"
    scuff.Suite("long", 1, 32, {"contrast": {"gain": [k / 7 for k in range(30)]}}, 30, about=about).save("long.yaml")
    lines = run("list", "long.yaml").stdout.splitlines()
    assert lines[0].endswith(about)
    (row,) = [line.split() for line in lines if line.split()[:1] == ["contrast"]]
    assert len(row) == 2 + 30


def test_list_of_a_file_takes_text_literally(run, small_suite):
    assert "small, version 3: for [tests]" in run("list", small_suite).stdout


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("imagenetc", ["'imagenetc'", "imagenet-c"]),
        ("gone.yaml", ["gone.yaml", "No such file"]),
    ],
)
def test_list_refuses(run, name, words):
    assert_refused(run("list", name), *words)


def test_a_broken_suite_file_is_explained_in_one_line(run, tmp_path):
    (tmp_path / "bad.yaml").write_text("suite: [\n  oh: {")
    assert_refused(run("list", "bad.yaml"), "bad.yaml is not valid YAML")


# --- show -----------------------------------------------------------------------------------------------------------


def test_show_explains_an_entry_and_draws_it(run, tmp_path):
    result = run("show", "cifar10-c/motion_blur")
    assert result.exit_code == 0, result.output
    assert "family: blur" in result.stdout
    assert "Hendrycks" in result.stdout
    assert "scale with the image: radius, sigma" in result.stdout
    assert ["sigma", "1", "1.5", "2", "2", "2.5"] in [line.split() for line in result.stdout.splitlines()]
    assert result.stdout.splitlines()[-1] == "Pictures: cifar10-c-motion_blur.png"
    with Image.open(tmp_path / "cifar10-c-motion_blur.png") as sheet:
        assert sheet.format == "PNG"
        assert sheet.width > 6 * 112


def test_show_tells_what_is_not_scored(run, small_suite):
    assert "not scored" in run("show", f"{small_suite}/brightness").stdout
    assert "not scored" not in run("show", f"{small_suite}/contrast").stdout


RANGE = "a range, drawn per image or fixed"


@pytest.mark.parametrize(
    ("name", "title", "severity"),
    [
        ("uniform", "noc-candidates/uniform  (family: noise, corruption: uniform_noise, not scored)", RANGE),
        ("noc-candidates/low_res", "noc-candidates/thumbnail_resize  (family: digital)", RANGE),
        (
            "three_point_warp",
            "syn2nat-candidates/elastic_transform  (family: geometry, corruption: three_point_warp)",
            "none",
        ),
        ("imagenet-syn2nat/posterize", "imagenet-syn2nat/posterize  (family: digital, category: fine_grain)", "none"),
        (
            "cifar10-p/shot_noise",
            "cifar10-p/shot_noise  (family: sequence, corruption: shot_noise_frames)",
            "frames at difficulties 1 to 3",
        ),
    ],
)
def test_show_finds_an_entry_and_says_what_it_is(run, name, title, severity):
    """A bare name, alias or corruption will do where only one suite has it."""
    lines = run("show", name, "--out", "s.png").stdout.splitlines()
    assert lines[0] == title
    assert f"Severity: {severity}" in lines


def test_show_of_a_suite_has_a_row_per_entry(run, small_suite, tmp_path):
    result = run("show", small_suite, "--out", "deep/sheet.png")
    assert result.exit_code == 0, result.output
    assert "contrast" in result.stdout
    with Image.open(tmp_path / "deep" / "sheet.png") as sheet:
        assert sheet.height > 3 * 112


def test_show_takes_a_picture_and_a_seed(run, tmp_path):
    Image.new("L", (60, 40), 200).save("mine.png")

    def sheet(*options):
        assert run("show", "cifar10-c/gaussian_noise", "--out", "s.png", *options).exit_code == 0
        return (tmp_path / "s.png").read_bytes()

    assert sheet() == sheet()
    assert sheet("--seed", 1) != sheet()
    assert sheet("--image", "mine.png") != sheet()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["imagenet-c/fgo"], ["'fgo'", "fog"]),
        (["imagenet-d/fog"], ["'imagenet-d'", "imagenet-c"]),
        (["fog"], ["which one?", "imagenet-c/fog"]),
        (["tilt_frames"], ["which one?", "imagenet-p/tilt", "cifar10-p/tilt"]),
        (["imagenet-c/fog", "--out", "fog.gif"], ["fog.gif", ".png"]),
        (["imagenet-c/fog", "--image", "gone.png"], ["No such file or directory: ", "gone.png"]),
    ],
)
def test_show_refuses(run, tmp_path, arguments, words):
    assert_refused(run("show", *arguments), *words)
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_corruption_is_named_without_extra_quotes(run, tmp_path):
    scuff.Suite("odd", 1, 32, {"fogg": {"a": 1}}).save("odd.yaml")
    assert_refused(run("show", "odd.yaml/fogg"), "Error: no corruption is called 'fogg'; did you mean fog?")
    assert run("show", "odd.yaml/fogg").stderr.endswith("fog?\n")


def test_a_mistake_of_ours_keeps_its_traceback(run, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError

    monkeypatch.setattr("scuff.sheets.corruption_sheet", broken)
    assert isinstance(run("show", "imagenet-c/fog").exception, ZeroDivisionError)


# --- sheets ---------------------------------------------------------------------------------------------------------


def test_a_sheet_shows_the_pixels_themselves():
    suite, picture = scuff.load_suite("cifar10-c"), bundled_picture().resize((32, 32))
    sheet = corruption_sheet(suite, ["pixelate"], picture, seed=4)
    step, side = 4 * 32 + GAP, 4 * 32
    top = sheet.height - MARGIN - side
    tiles = [picture, *(scuff.corrupt(picture, "cifar10-c/pixelate", s, seed=4) for s in range(1, 6))]
    for column, tile in enumerate(tiles):
        left = MARGIN + step * column
        shown = sheet.crop((left, top, left + side, top + side))
        assert shown.tobytes() == tile.resize((side, side), Image.Resampling.NEAREST).tobytes()


def test_captions_stand_over_rows_that_need_them():
    suite, picture = scuff.load_suite("syn2nat-candidates"), Image.new("RGB", (224, 224))
    alike, mixed = (corruption_sheet(suite, entries, picture) for entries in (["flip", "cutout"], ["flip", "rotate"]))
    assert mixed.height - alike.height == TEXT_SIZE + GAP


def test_a_sheet_is_wide_enough_for_its_title():
    suite = scuff.Suite("a name that needs much more room than one small tile", 1, 32, {"to_sepia": {}})
    sheet = corruption_sheet(suite, ["to_sepia"], bundled_picture())
    assert sheet.width > 3 * 128
    edge = sheet.crop((sheet.width - MARGIN, 0, sheet.width, sheet.height))
    assert edge.getextrema() == ((255, 255),) * 3


def test_a_sheet_reports_its_progress():
    rows = []
    suite = scuff.load_suite("cifar10-c")
    corruption_sheet(suite, ["contrast", "brightness"], bundled_picture(), progress=rows.append)
    assert rows == ["contrast", "brightness"]


def test_the_bundled_picture():
    assert bundled_picture().size == (224, 224)
    assert bundled_picture().mode == "RGB"


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("fog: {scael: [1, 2]}", "mine/fog: fog takes the parameters"),
        ("foog: {}", "mine/foog: no corruption is called"),
    ],
)
def test_a_suite_with_a_wrong_parameter_is_not_listed(run, tmp_path, entry, words):
    (tmp_path / "mine.yaml").write_text(
        f"suite: mine\nversion: 1\nsize: 32\nseverities: 2\nentries:\n  {entry}\n", encoding="utf-8"
    )
    assert_refused(run("list", "mine.yaml"), words)
