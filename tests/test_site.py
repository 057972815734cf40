"""The site is built without a warning, names everything that is public, and no link of it leads nowhere."""

from __future__ import annotations

import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from browser import Browser, has_browser
from sphinx.util.inventory import InventoryFile
from test_public_names import public_names

import scuff

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The whole site, built as `make docs` does, with warnings as errors."""
    folder = tmp_path_factory.mktemp("site")
    options = ["--builder", "html", "--fail-on-warning", "--keep-going", "--quiet"]
    source = Path(scuff.__file__).parents[1]
    command = [sys.executable, "-m", "sphinx", *options, str(ROOT / "docs"), str(folder)]
    done = subprocess.run(
        command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(source)}, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder


class Page(HTMLParser):
    """What a page links to, what it loads, and the anchors that it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = {name: value for name, value in attributes if value is not None}
        self.anchors |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        elif tag == "link" and found.get("rel") in ("stylesheet", "icon", "preload"):
            self.loaded.append(found["href"])
        elif tag in ("script", "img", "iframe", "source") and "src" in found:
            self.loaded.append(found["src"])


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    written = [path for path in site.rglob("*.html") if not path.is_relative_to(site / "_static")]
    return {path: Page(path.read_text(encoding="utf-8")) for path in written}


def test_every_page_of_docs_is_there(site: Path) -> None:
    docs = [path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")]
    assert len(docs) > 60
    assert [str(path) for path in docs if not (site / path).with_suffix(".html").exists()] == []


def test_links_lead_somewhere(site: Path, pages: dict[Path, Page]) -> None:
    files = {str(path) for path in site.rglob("*") if path.is_file()}
    anchors = {str(path): page.anchors for path, page in pages.items()}
    broken = []
    for path, page in pages.items():
        for link in {*page.links, *page.loaded}:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = os.path.normpath(path.parent / unquote(parts.path)) if parts.path else str(path)
            anchor = unquote(parts.fragment)
            if target not in files or (anchor and target in anchors and anchor not in anchors[target]):
                broken.append(f"{path.relative_to(site)}: {link}")
    assert broken == []


def test_nothing_is_loaded_from_the_network(site: Path, pages: dict[Path, Page]) -> None:
    outside = {link for page in pages.values() for link in page.loaded if urlsplit(link).netloc}
    assert outside == set()


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    """Names of Python, commands and their options."""
    inventory = InventoryFile.loads((site / "objects.inv").read_bytes(), uri="")
    python = {name for kind in inventory.data if kind.startswith("py:") for name in inventory.data[kind]}
    options = {*inventory.data["std:cmdoption"]}
    pages = {path.stem for path in (site / "reference" / "generated").rglob("*.html")}
    missing = []
    for name in public_names():
        command, _, option = name.rpartition(" ")
        path = command.replace(" ", "-")
        if option.startswith("--"):
            is_there = f"{path}.{option}" in options
        elif option.isupper():
            is_there = path in pages  # where an argument has the word of its help
        else:
            is_there = name in python or name.replace(" ", "-") in pages or short_name(name) in python
        if not is_there:
            missing.append(name)
    assert missing == []


def short_name(name: str) -> str:
    """`scuff.Augment` for `scuff.augment.Augment`, under which it stands in the reference."""
    return f"scuff.{name.rpartition('.')[2]}"


if has_browser():

    @pytest.mark.parametrize("dark", [False, True])
    @pytest.mark.parametrize("width", [390, 1280])
    def test_it_opens_without_a_complaint(site: Path, width: int, dark: bool) -> None:
        with Browser() as page:
            page.window(width, dark=dark)
            for name in ("index", "tutorials/evaluate", "gallery/imagenet-c", "reference/generated/scuff.metrics"):
                page.open(f"{(site / name).as_uri()}.html")
                assert page.complaints() == [], name
                assert page.run("document.documentElement.scrollWidth <= window.innerWidth"), name

    def test_search_works_without_a_server(site: Path) -> None:
        with Browser() as page:
            page.open(f"{(site / 'search').as_uri()}.html?q=glass_blur")
            page.wait_for("document.querySelectorAll('#search-results li a').length > 3")
            links = page.run("[...document.querySelectorAll('#search-results li a')].map(a => a.textContent)")
            assert any("glass_blur" in text for text in links)
            assert page.complaints() == []
