"""Links that are meant for readers of the repository, made to work on the site.

Pages name files next to docs/ by their paths. Two of these are pages of the site too; all others can be downloaded.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

PAGES = {"CONTRIBUTING.md": "contributing", "CHANGELOG.md": "changelog", "README.md": "index"}
OUTSIDE = re.compile(r"\]\((?P<up>(?:\.\./)+)(?P<path>[\w./-]+)(?P<anchor>#[\w-]*)?\)")


def outside_links(text: str, docname: str, docs: Path) -> str:
    """The text of a page with links to files outside of docs/ as the site has them."""

    def link(match: re.Match[str]) -> str:
        folder = (docs / docname).parent
        target = (folder / match["up"] / match["path"]).resolve()
        if target.is_relative_to(docs):
            return match[0]
        page = PAGES.get(target.relative_to(docs.parent).as_posix())
        if page is not None:
            return f"](/{page}.rst{match['anchor'] or ''})"
        return match[0] if target.is_file() else "](/README.md)"

    return OUTSIDE.sub(link, text)


def read_source(app: Any, docname: str, source: list[str]) -> None:
    if (Path(app.srcdir) / f"{docname}.md").exists():
        source[0] = outside_links(source[0], docname, Path(app.srcdir).resolve())


def read_included(app: Any, path: Path, parent: str, content: list[str]) -> None:
    """CONTRIBUTING.md and CHANGELOG.md lie beside docs/, and their links begin there."""
    content[0] = content[0].replace("](docs/", "](")


def setup(app: Any) -> dict[str, Any]:
    app.connect("source-read", read_source)
    app.connect("include-read", read_included)
    return {"parallel_read_safe": True}
