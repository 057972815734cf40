"""Links that are meant for readers of the repository, made to work on the site.

Pages name files next to docs/ by their paths. Some of these are pages of the site too; other files can be downloaded.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

PAGES = {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "examples/scuff-stripes/README.md": "plugin-example.md",
    "README.md": "index.rst",
}
SHOWN = {page.removesuffix(".md"): name for name, page in PAGES.items() if page.endswith(".md")}
OUTSIDE = re.compile(r"\]\((?P<path>(?:\.\./)+[\w./-]+)(?P<anchor>#[\w-]*)?\)")


def read_source(app: Any, docname: str, source: list[str]) -> None:
    """Let a page that only names a file beside docs/ show it, and lead links out of docs/ to what the site has."""
    docs = Path(app.srcdir).resolve()
    if docname in SHOWN:
        path = docs.parent / SHOWN[docname]
        app.env.note_dependency(str(path))
        source[0] = re.sub(r"\]\((\.\./)*docs/", "](", path.read_text(encoding="utf-8"))
    elif (docs / f"{docname}.md").exists():
        source[0] = OUTSIDE.sub(lambda link: _inside(link, (docs / docname).parent, docs), source[0])


def _inside(link: re.Match[str], folder: Path, docs: Path) -> str:
    target = (folder / link["path"]).resolve()
    name = target.relative_to(docs.parent).as_posix()
    if name in PAGES:
        return f"](/{PAGES[name]}{link['anchor'] or ''})"
    if target.is_relative_to(docs) or target.is_file():
        return link[0]
    module = name.removeprefix("src/").replace("/", ".")  # a folder of the package
    return f"](/reference/generated/{module}.rst)"


def setup(app: Any) -> dict[str, Any]:
    app.connect("source-read", read_source)
    return {"parallel_read_safe": True}
