"""Heat maps and matrices, which are tables on the page, as figures for papers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

from scuff.report.colours import HEAT, PAGE, STEPS
from scuff.report.figure import FONT
from scuff.report.heatmap import MOST_NUMBERED, Group
from scuff.report.page import Page

ROW, SMALL_ROW = 24, 14  # pixels; of rows with and without numbers
SHADE = re.compile(r"\bh(\d+)\b")


def grids_for_paper(page: Page, width: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every heat map and matrix of a page by a key of its own."""
    for section in filter(None, page.sections):
        matrices = 0
        for part in section["parts"]:
            if part["kind"] == "heat_maps":
                for panel in part["panels"]:
                    figure = _grid(panel["groups"], part["columns"], part["scale"], width)
                    yield f"{section['key']}-{panel['model']}", figure
            elif part["kind"] == "matrix":
                matrices += 1
                matrix = part["matrix"]
                names = [name for heads in matrix.columns for name in heads.names]
                key = f"{section['key']}-matrix{matrices if matrices > 1 else ''}"
                yield key, _grid(matrix.rows, names, matrix.scale, width)


def _grid(groups: Sequence[Group], columns: Sequence[str], scale: Any, width: int) -> dict[str, Any]:
    """Rows of coloured cells, the first on top, with a bar that explains the colours."""
    rows = [row for group in groups for row in group.rows]
    is_numbered = len(columns) <= MOST_NUMBERED
    ink, muted = PAGE["light"]["ink"], PAGE["light"]["line"]
    font = {"family": FONT, "size": 12 if is_numbered else 10, "color": ink}
    bar = {"tickvals": [0, STEPS - 1], "ticktext": [escape(str(scale[end])) for end in ("low", "high")]}
    trace = {
        "type": "heatmap",
        "z": [[_step(cell) for cell in row.cells] for row in rows],
        "text": [["" if cell is None else cell.text for cell in row.cells] for row in rows],
        "zmin": 0,
        "zmax": STEPS - 1,
        "colorscale": [[place / (len(HEAT["light"]) - 1), colour] for place, colour in enumerate(HEAT["light"])],
        "colorbar": bar | {"thickness": 10, "outlinewidth": 0},
        "xgap": 1,
        "ygap": 1,
        **({"texttemplate": "%{text}"} if is_numbered else {}),
    }
    axis = {"showgrid": False, "zeroline": False, "automargin": True, "linecolor": muted}
    across = {"tickvals": list(range(len(columns))), "ticktext": list(map(escape, columns)), "side": "top"}
    across |= {"tickangle": 0 if is_numbered and max(map(len, columns), default=0) < 9 else -90}
    down = {"tickvals": list(range(len(rows))), "ticktext": [escape(row.name) for row in rows], "autorange": "reversed"}
    height = 90 + (ROW if is_numbered else SMALL_ROW) * len(rows)
    layout = {"width": width, "height": height, "font": font, "paper_bgcolor": "#ffffff", "plot_bgcolor": "#ffffff"}
    layout |= {"margin": {"l": 20, "r": 10, "t": 40, "b": 10}, "xaxis": axis | across, "yaxis": axis | down}
    return {"data": [trace], "layout": layout}


def _step(cell: Any) -> int | None:
    """The place of a cell's colour on the scale; None where it has none."""
    found = None if cell is None else SHADE.search(cell.shade)
    return None if found is None else int(found[1])
