"""The figures of a report as files for papers, drawn by Plotly in a Chromium on this machine."""

from __future__ import annotations

import base64
import os
import re
import shutil
from collections.abc import Iterator
from functools import partial
from typing import Any

from scuff.packages import need
from scuff.publish.evaluations import write_text
from scuff.publish.grids import grids_for_paper
from scuff.report.colours import mark, themes
from scuff.report.figure import LEGEND, Figure
from scuff.report.page import Page
from scuff.report.parts import figures_of
from scuff.report.write import read_page

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
WIDTH = 680  # pixels: a line of A4
SCALE = 3  # pixels of a PNG per pixel of the page: about 300 per inch in a column
DRAW = "([figure, options]) => Plotly.toImage(figure, options)"
COLOUR = re.compile(r"color(scale)?$")


def _write(directory: str, out: str | None, baseline: str | None, form: str) -> list[str]:
    """Every figure as a file of its own: SVG and PDF in vectors, PNG on white."""
    need(f"a figure as {form.upper()}", "playwright", "plotly")
    page = read_page(directory, **({} if baseline is None else {"baseline": baseline}))
    drawn = dict(figures_for_paper(page)) | dict(grids_for_paper(page, WIDTH))
    if not drawn:
        raise ValueError(f"the report of {directory} has no figures")
    folder = out or os.path.join(os.path.dirname(directory) if directory.endswith(".csv") else directory, "figures")
    contents = zip(drawn, _draw(drawn, form), strict=True)
    return [write_text(os.path.join(folder, f"{key}.{form}"), content) for key, content in contents]


write_svg, write_png, write_pdf = (partial(_write, form=form) for form in ("svg", "png", "pdf"))


def figures_for_paper(page: Page) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every figure of a page by its key: on white, in the colours of daylight, with a legend of several models."""
    colours = themes()["light"] | {"paper": "#ffffff"}
    for section in page.sections:
        for figure in [] if section is None else figures_of(section):
            legend = _legend(figure, page.models)
            layout = figure.layout | {"width": WIDTH, "height": figure.height, "paper_bgcolor": "@paper"}
            if legend:
                room = 24 * (1 + len(legend) // 4)
                margin = layout["margin"] | {"t": layout["margin"]["t"] + room}
                layout |= {"showlegend": True, "legend": LEGEND, "margin": margin, "height": figure.height + room}
            hidden = [{**trace, "showlegend": False} for trace in figure.traces] if legend else figure.traces
            yield figure.key, {"data": _painted([*hidden, *legend], colours), "layout": _painted(layout, colours)}


def _legend(figure: Figure, models: Any) -> list[dict[str, Any]]:
    """Traces without points, for the models whose colours a figure uses: on the page, the legend stands beside it."""
    if len(models) < 2 or "scene" in figure.layout or figure.layout["showlegend"]:
        return []
    used = str(figure.traces)
    legend = []
    for place, model in enumerate(models):
        look = mark(place)
        if f"'@{look['colour']}'" in used:
            line = {"color": f"@{look['colour']}", "dash": look["dash"], "width": 2}
            points = {"x": [None], "y": [None], "mode": "lines+markers", "name": model, "showlegend": True}
            legend.append({**points, "line": line, "marker": {"symbol": look["symbol"], "size": 6}})
    return legend


def _painted(value: Any, colours: dict[str, str], key: str = "") -> Any:
    """A figure with its colours in place of their names: "@ink", "@series2/0.15"."""
    if isinstance(value, dict):
        return {inner: _painted(each, colours, inner) for inner, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_painted(each, colours, key) for each in value]
    if isinstance(value, str) and value.startswith("@") and COLOUR.search(key):
        name, _, opacity = value[1:].partition("/")
        return colours[name] + (f"{round(float(opacity) * 255):02x}" if opacity else "")
    return value


def _draw(figures: dict[str, dict[str, Any]], form: str) -> Iterator[bytes]:
    """Each figure as the content of a file. Nothing is asked of the network."""
    from playwright.sync_api import Error, sync_playwright
    from plotly.offline import get_plotlyjs

    with sync_playwright() as playwright:
        found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
        try:
            browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        except Error as error:
            raise ValueError(
                "no Chromium that would draw the figures; install one (Debian: apt install chromium; or playwright "
                f"install chromium), or set CHROMIUM to its path: {str(error).splitlines()[0]}"
            ) from error
        page = browser.new_page()
        page.set_content("<!doctype html><meta charset=utf-8><style>body{margin:0}svg{display:block}</style>")
        page.add_script_tag(content=get_plotlyjs())
        for figure in figures.values():
            size = {name: figure["layout"][name] for name in ("width", "height")}
            options = size | {"format": "png" if form == "png" else "svg", "scale": SCALE if form == "png" else 1}
            address = page.evaluate(DRAW, [figure, options])
            yield _content(address) if form != "pdf" else _print(browser, _content(address), size)
        browser.close()


def _content(address: str) -> bytes:
    """The content of a data: address, as Plotly makes it."""
    from urllib.parse import unquote_to_bytes

    head, _, body = address.partition(",")
    return base64.b64decode(body) if head.endswith(";base64") else unquote_to_bytes(body)


def _print(browser: Any, svg: bytes, size: dict[str, int]) -> bytes:
    """A page that is as large as its picture."""
    page = browser.new_page()
    page.set_content(
        f"<!doctype html><meta charset=utf-8><style>body{{margin:0}}svg{{display:block}}</style>{svg.decode()}"
    )
    width, height = (f"{size[name]}px" for name in ("width", "height"))
    content = page.pdf(width=width, height=height, print_background=True, page_ranges="1")
    page.close()
    return content
