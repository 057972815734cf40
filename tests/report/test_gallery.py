"""`scuff gallery`, and the gallery in docs/: its text is what the suites and the registry say today."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import scuff
from scuff import gallery
from scuff.cli import app
from scuff.corruptions import get, names
from scuff.dials import dialled_entries, distance_curve, draw_dials
from scuff.pictures import bundled_picture, fit_square
from scuff.ranges import Range
from scuff.sheets import GAP, entry_row
from scuff.suites.tables import severity_rule

DOCS = Path(__file__).parents[2] / "docs" / "gallery"
SUITES = [scuff.load_suite(name) for name in scuff.list_suites()]
SVG = "{http://www.w3.org/2000/svg}"
STALE = "docs/gallery is out of date: run make gallery, and commit what it writes"


# --- the committed gallery ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.name)
def test_committed_pages_are_up_to_date(suite: scuff.Suite) -> None:
    assert (DOCS / f"{suite.name}.md").read_text(encoding="utf-8") == gallery.suite_page(suite), STALE


def test_committed_index_is_up_to_date() -> None:
    assert (DOCS / gallery.INDEX).read_text(encoding="utf-8") == gallery.index_page(SUITES), STALE


def test_committed_files_are_those_of_the_pages() -> None:
    pages = {gallery.INDEX, *(f"{suite.name}.md" for suite in SUITES)}
    strips = {gallery.strip_name(suite, entry) for suite in SUITES for entry in suite.entries}
    files = {path.relative_to(DOCS).as_posix(): path.stat().st_size for path in DOCS.rglob("*") if path.is_file()}
    plots = {gallery.dials_name(suite) for suite in SUITES if dialled_entries(suite)}
    assert set(files) == pages | strips | plots, STALE
    assert sum(files.values()) < 4e6


@pytest.mark.parametrize("suite", [suite for suite in SUITES if dialled_entries(suite)], ids=lambda suite: suite.name)
def test_every_entry_with_levels_has_a_plot_of_its_distances(suite: scuff.Suite) -> None:
    plot = ElementTree.parse(DOCS / gallery.dials_name(suite)).getroot()
    panels = plot.findall(f"{SVG}g")
    assert [panel[0].text for panel in panels] == [entry.replace("_", " ") for entry in dialled_entries(suite)], STALE
    for panel, entry in zip(panels, dialled_entries(suite), strict=True):
        assert len(panel.findall(f"{SVG}circle")) == len(suite.listed_levels(entry))
        assert len(panel.findall(f"{SVG}polyline")) == 1 + bool(suite.monotone.get(entry))


def test_committed_plots_are_up_to_date() -> None:
    suite = scuff.load_suite("cifar10-c-bar")
    committed = (DOCS / gallery.dials_name(suite)).read_text(encoding="utf-8")
    assert committed == draw_dials(suite, fit_square(bundled_picture(), suite.size)), STALE


def test_curves_start_at_the_picture_and_end_at_the_last_level() -> None:
    suite, clean = scuff.load_suite("cifar10-c"), fit_square(bundled_picture(), 32)
    curve = distance_curve(suite, "contrast", clean)
    assert curve[0] == (0.0, 0.0)
    end = scuff.corrupt(clean, "cifar10-c/contrast", 5, draws="shared")
    assert curve[-1] == (5.0, scuff.metrics.vif_distance(clean, end)[0])
    steps = np.diff([distance for _, distance in curve])
    assert (steps > 0).all()  # contrast only ever takes away
    plain, monotone = (distance_curve(suite, "saturate", clean, path) for path in ("levels", "monotone"))
    assert plain[:11] != monotone[:11]
    assert plain[12:] == monotone[12:]  # both meet levels 3 to 5


def _anchors(page: Path) -> set[str]:
    """The anchors that GitHub makes of headings, as far as ours go: small letters, digits, - and _ stay."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {heading.lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.stem)
def test_links_of_a_page_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)]+)\)", page.read_text(encoding="utf-8"))
    assert len(links) > 8
    for link in links:
        path, _, anchor = unquote(link).partition("#")
        target = page.parent / path if path else page
        assert target.is_file(), link
        assert not anchor or anchor in _anchors(target), link


def test_the_index_knows_every_corruption_of_the_package() -> None:
    text = gallery.index_page(SUITES)
    ours = [name for name in names() if (get(name).apply.__module__ or "").startswith("scuff.")]
    assert len(ours) > 100
    assert [name for name in ours if f"| `{name}` |" not in text] == []
    assert [address for address in scuff.list_corruptions() if f"[{address}](" not in text] == []


# --- what a page says -----------------------------------------------------------------------------------------------


@pytest.fixture
def mixed() -> scuff.Suite:
    """A suite with every kind of entry."""
    return scuff.Suite(
        "all kinds",
        3,
        32,
        {
            "fog": {"strength": [0.5, 1.0], "decay": 1.8},
            "drops": {"corruption": "rain", "count": Range(12, 14), "scale": 1.0},
            "flip": {},
            "to_sepia": {},
            "pan": {"corruption": "translate_frames", "frames": 3, "first": -1.0, "step": 1.0},
        },
        2,
        validation=("flip",),
        about="one <of> each kind",
        aliases={"wet": "drops"},
        categories={"weather": ["fog", "drops"], "plain": ["flip", "to_sepia"]},
        compare_to_first=("pan",),
    )


@pytest.mark.parametrize(
    ("entry", "rule", "captions"),
    [
        ("fog", "levels 1 to 2", ["severity 1", "severity 2"]),
        ("drops", "a range, drawn per image or fixed", ["severity 12", "severity 13", "severity 14"]),
        ("flip", "none", [f"draw {k}" for k in range(1, 6)]),
        ("to_sepia", "none", ["always"]),
        ("pan", "frames, alike at all difficulties", ["frame 0", "frame 1", "frame 2"]),
    ],
)
def test_views_of_an_entry(mixed: scuff.Suite, entry: str, rule: str, captions: list[str]) -> None:
    clean = fit_square(bundled_picture(), 32)
    assert severity_rule(mixed, entry, get(mixed.corruption(entry)).sequence) == rule
    assert [caption for caption, _ in entry_row(mixed, entry, clean)] == captions


def test_ten_levels_are_thinned_out_on_request() -> None:
    suite, clean = scuff.load_suite("c-bar-candidates-32"), fit_square(bundled_picture(), 32)
    few = entry_row(suite, "color_balance", clean, all_levels=False)
    assert [caption for caption, _ in few] == [f"severity {s}" for s in (1, 3, 5, 8, 10)]
    every = dict(entry_row(suite, "color_balance", clean))
    assert len(every) == 10
    assert all(every[caption].tobytes() == tile.tobytes() for caption, tile in few)


def test_a_page_has_everything(mixed: scuff.Suite) -> None:
    page = gallery.suite_page(mixed)
    for line in (
        "# all kinds",
        "One &lt;of> each kind.",
        "- Version 3",
        "- Entries: 4 scored, 1 not scored",
        "- Aliases: `wet` for `drops`",
        "**weather:** [fog](#fog) · [drops](#drops)",
        "## weather",
        "### fog",
        "| parameter | always | 1 | 2 |",
        "| strength |  | 0.5 | 1 |",
        "| decay | 1.8 |  |  |",
        "`all kinds/drops` · family: weather · corruption: `rain`",
        "![all kinds/drops](all%20kinds/drops.webp)",
        "| count | 12 .. 14 |",
        "Lengths, for 32-pixel images; they scale with the image: `scale`.",
        "`all kinds/flip` · family: geometry · not scored",
        "No parameters.",
        get("to_sepia").text,
        f"Reference: {get('fog').reference}",
    ):
        assert line in page.splitlines(), line
    headings = [line for line in page.splitlines() if line.startswith("##")]
    entries = ["## weather", "### fog", "### drops", "## plain", "### flip", "### to_sepia", "## pan"]
    assert headings == [*entries, f"## {gallery.DIALS}"]


def test_one_reference_of_all_entries_is_given_once() -> None:
    assert gallery.suite_page(scuff.load_suite("imagenet-c")).count("Reference: ") == 1


# --- the command ----------------------------------------------------------------------------------------------------


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run the command in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(app, ["gallery", *map(str, arguments)])


def test_gallery_of_a_suite_of_your_own(run, mixed, tmp_path) -> None:
    mixed.save("mine.yaml")
    result = run("deep/out", "--suite", "mine.yaml")
    assert result.exit_code == 0, result.output
    assert result.stdout == "deep/out/all kinds.md\n"
    out = tmp_path / "deep" / "out"
    page = (out / "all kinds.md").read_text(encoding="utf-8")
    assert page == gallery.suite_page(mixed, large=True)
    tiles = {"fog": 3, "drops": 4, "flip": 6, "to_sepia": 2, "pan": 4}
    names = sorted(f"{entry}.webp" for entry in tiles)
    assert sorted(path.name for path in (out / "all kinds").glob("*.webp")) == names
    assert sorted(path.name for path in (out / "all kinds" / "large").iterdir()) == names
    for entry, count in tiles.items():
        assert f"[![all kinds/{entry}](all%20kinds/{entry}.webp)](all%20kinds/large/{entry}.webp)" in page  # a click
        for side, large in ((gallery.TILE, False), (224, True)):
            with Image.open(out / gallery.strip_name(mixed, entry, large)) as strip:
                assert strip.width == count * (side + GAP) - GAP


def test_large_strips_can_be_left_out(run, mixed, tmp_path) -> None:
    mixed.save("mine.yaml")
    assert run("out", "--suite", "mine.yaml", "--no-large").exit_code == 0
    assert (tmp_path / "out" / "all kinds.md").read_text(encoding="utf-8") == gallery.suite_page(mixed)
    assert not (tmp_path / "out" / "all kinds" / "large").exists()


def test_large_pictures_are_reduced(run, tmp_path) -> None:
    Image.new("L", (300, 260), 200).save("mine.png")
    scuff.Suite("large", 1, 224, {"to_sepia": {}}).save("large.yaml")
    assert run("out", "--suite", "large.yaml", "--image", "mine.png").exit_code == 0
    with Image.open(tmp_path / "out" / "large" / "to_sepia.webp") as strip:
        assert strip.width == 2 * (gallery.TILE + GAP) - GAP
        assert strip.getpixel((gallery.TILE // 2, strip.height // 2)) == pytest.approx((200, 200, 200), abs=2)


def test_gallery_of_all_suites_has_an_index(run, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr("scuff.cli.gallery.list_suites", lambda: ["cifar10-c-bar", "imagenet-noc"])
    result = run("out")
    assert result.exit_code == 0, result.output
    assert result.stdout == "out/README.md\n"
    suites = [scuff.load_suite("cifar10-c-bar"), scuff.load_suite("imagenet-noc")]
    assert (tmp_path / "out" / "README.md").read_text(encoding="utf-8") == gallery.index_page(suites)
    assert len(list((tmp_path / "out").rglob("*.webp"))) == 2 * 18


def test_seeds_choose_the_realisation(run, tmp_path) -> None:
    scuff.Suite("noisy", 1, 32, {"gaussian_noise": {"std": 0.1}}).save("noisy.yaml")

    def strip(*options: object) -> bytes:
        assert run("out", "--suite", "noisy.yaml", *options).exit_code == 0
        return (tmp_path / "out" / "noisy" / "gaussian_noise.webp").read_bytes()

    assert strip() == strip() != strip("--seed", 1)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["taken"], "taken is a file; a gallery needs a folder"),
        (["taken/out"], "Not a directory: taken/out"),
        (["out", "--suite", "imagenetc"], "no suite is called 'imagenetc'; did you mean imagenet-c"),
        (["out", "--suite", "odd.yaml"], "no corruption is called 'fogg'; did you mean fog?"),
        (["out", "--image", "gone.png"], "No such file or directory: gone.png"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_written(run, tmp_path, arguments, words) -> None:
    Path("taken").write_text("a file")
    scuff.Suite("odd", 1, 32, {"fog": {"strength": 1.0, "decay": 2.0}, "fogg": {}}).save("odd.yaml")
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"Error: {words}")
    assert len(result.stderr.splitlines()) == 1
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["odd.yaml", "taken"]


def test_a_page_never_names_a_picture_that_is_not_there(run, mixed, monkeypatch, tmp_path) -> None:
    def fails_at_the_third(suite: scuff.Suite, entry: str, *rest, **options):
        if entry == "flip":
            raise ValueError("no ink")
        return entry_row(suite, entry, *rest, **options)

    monkeypatch.setattr("scuff.gallery.entry_row", fails_at_the_third)
    mixed.save("mine.yaml")
    assert "no ink" in run("out", "--suite", "mine.yaml").stderr
    assert sorted(path.name for path in (tmp_path / "out").rglob("*.*")) == ["drops.webp"] * 2 + ["fog.webp"] * 2
